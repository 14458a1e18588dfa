//! Authentication and authorisation at the door.

use std::slice::from_ref;
use std::time::Duration;

use atlas_access::mint::Grant;
use atlas_access::{Scope, Secret, mint, scope};
use atlas_testkit::Issuer;
use atlas_web::Settings;
use atlas_web::auth::Gate;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::clock;
use crate::support::deployment::{Client, Deployment};
use crate::support::tokens::{SECRET, bearer, send, token};

async fn guarded() -> (Deployment, Client) {
    let deployment = Deployment::of_demo().await;
    let client = deployment.set_up(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET)]).await;
    (deployment, client)
}

/// One request of each kind, with the scopes that it needs.
fn requests() -> Vec<(&'static str, &'static str, Value, &'static [Scope])> {
    const READ: &[Scope] = &[Scope::ReadVault];
    const WRITE: &[Scope] = &[Scope::WriteVault];
    vec![
        ("POST", "/context/current", json!({}), READ),
        ("POST", "/find", json!({ "term": "berth" }), READ),
        ("POST", "/query", json!({ "question": "What are the components?" }), READ),
        ("POST", "/search", json!({ "query": "berth" }), READ),
        ("GET", "/notes", Value::Null, READ),
        ("GET", "/notes/vault/Home.md", Value::Null, READ),
        ("GET", "/notes?path=vault/Home.md", Value::Null, READ),
        ("GET", "/history/vault/Home.md", Value::Null, READ),
        ("PUT", "/notes/vault/new.md", json!({ "content": "x" }), WRITE),
        ("POST", "/notes/vault/new.md", json!({ "content": "x" }), WRITE),
        (
            "PATCH",
            "/notes/vault/Home.md",
            json!({ "edits": [{ "op": "append", "text": "x" }] }),
            &[Scope::ReadVault, Scope::WriteVault],
        ),
        ("DELETE", "/notes/vault/new.md", Value::Null, &[Scope::DeleteVault]),
        (
            "POST",
            "/move/vault/Home.md",
            json!({ "to": "vault/House.md" }),
            &[Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault],
        ),
        ("POST", "/restore/vault/new.md", json!({}), WRITE),
        (
            "POST",
            "/approve",
            json!({ "operation": "delete_note", "args_hash": "0".repeat(32) }),
            &[Scope::ApproveVault],
        ),
        ("POST", "/list_approvals", json!({}), &[Scope::ReadVault, Scope::ApproveVault]),
    ]
}

#[tokio::test]
async fn nothing_is_answered_without_a_token() {
    let (_, client) = guarded().await;
    let others =
        [("GET", "/openapi.json"), ("GET", "/metrics"), ("GET", "/nothing"), ("POST", "/health"), ("GET", "/find")];
    let others = others.into_iter().map(|(method, uri)| (method, uri, Value::Null, &[][..]));
    for (method, uri, body, _) in requests().into_iter().chain(others).filter(|(_, uri, ..)| *uri != "/health") {
        let reply = send(&client, method, uri, &[], &body).await;
        assert_eq!(reply.error(401).1, "token_missing", "{method} {uri}");
        assert_eq!(reply.header("allow"), None, "{method} {uri}: which methods a path has is told");
        let challenge = reply.header("www-authenticate").unwrap();
        assert!(challenge.starts_with("Bearer realm=\"atlas-mirror\"") && !challenge.contains("error="), "{challenge}");
        assert_eq!(reply.json()["error"]["details"]["www_authenticate"], challenge);
    }
    let health = client.get("/health").await;
    assert_eq!(health.ok(), json!({ "ok": true }), "not even the generation");
    assert_eq!(health.header("x-atlas-generation"), None);
    assert_eq!(client.requests.take().count(), 0, "the store was asked");
}

#[tokio::test]
async fn a_token_is_shown_once_and_in_the_header() {
    let (_, client) = guarded().await;
    let good = token("agent", &scope::ALL, None);
    let find = json!({ "term": "berth" });
    let refused = async |headers: &[(String, String)], uri: &str| {
        let reply = send(&client, "POST", uri, headers, &find).await;
        (reply.error(401).1, reply.header("www-authenticate").unwrap().to_owned())
    };
    let basic = ("authorization".to_owned(), format!("Basic {good}"));
    for (headers, uri, reason, error) in [
        (vec![], format!("/find?access_token={good}"), "token_missing", None),
        (vec![bearer(&good), bearer(&good)], "/find".to_owned(), "token_twice", Some("invalid_request")),
        (vec![basic], "/find".to_owned(), "token_invalid", Some("invalid_request")),
        (vec![bearer("x.y.z")], "/find".to_owned(), "token_invalid", Some("invalid_token")),
        (vec![bearer(&"x".repeat(64 << 10))], "/find".to_owned(), "token_invalid", Some("invalid_token")),
        (vec![bearer(&format!("{good}x"))], "/find".to_owned(), "token_invalid", Some("invalid_token")),
    ] {
        let (told, challenge) = refused(&headers, &uri).await;
        assert_eq!(told, reason, "{uri}");
        assert_eq!(challenge.contains("error="), error.is_some());
        assert!(error.is_none_or(|error| challenge.contains(&format!("error=\"{error}\""))), "{challenge}");
    }
    let expired = Grant {
        subject: "agent",
        scopes: "read:vault write:vault",
        vault: None,
        issuer: None,
        audience: None,
        client: None,
        time: Duration::from_secs(1),
    };
    let then = Timestamp::now() - Duration::from_secs(60);
    let expired = mint(&Secret::new(SECRET).unwrap(), &expired, then).unwrap();
    assert_eq!(refused(&[bearer(&expired)], "/find").await.0, "token_expired");
    assert_eq!(client.requests.take().count(), 0, "the store was asked");
    send(&client, "POST", "/find", &[bearer(&good)], &find).await.ok();
}

#[tokio::test]
async fn each_operation_asks_for_its_scopes() {
    for (method, uri, body, needed) in requests() {
        let (_, client) = guarded().await;
        for held in scope::ALL {
            let reply = send(&client, method, uri, &[bearer(&token("agent", &[held], None))], &body).await;
            // An administrator may decide on calls too.
            let is_held = |scope: Scope| scope == held || (scope, held) == (Scope::ApproveVault, Scope::Admin);
            let missing: Vec<&str> =
                needed.iter().filter(|scope| !is_held(**scope)).map(|scope| scope.as_str()).collect();
            if missing.is_empty() {
                let reason = &reply.json()["error"]["details"]["reason"];
                assert!(reply.status.as_u16() != 403 || reason == "elicit_required", "{method} {uri} with {held}");
            } else {
                assert_eq!(reply.error(403).1, "scope_missing", "{method} {uri} with {held}");
                assert_eq!(reply.json()["error"]["details"]["required"], json!(missing));
                let challenge = format!("error=\"insufficient_scope\", scope=\"{}\"", missing.join(" "));
                assert!(reply.header("www-authenticate").unwrap().ends_with(&challenge), "{reply:?}");
            }
        }
    }
}

#[tokio::test]
async fn who_may_only_read_leaves_nothing_behind() {
    let deployment = Deployment::of_demo().await.with_limits(|limits| limits.search_notes = true);
    let client = deployment.set_up(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET)]).await;
    for (scopes, generation) in [(&[Scope::ReadVault][..], 1), (&[Scope::ReadVault, Scope::WriteVault], 2)] {
        let headers = [bearer(&token("agent", scopes, None))];
        send(&client, "POST", "/find", &headers, &json!({ "term": "berth" })).await.ok();
        assert_eq!(deployment.mirror().head().await.unwrap().generation(), generation);
    }
}

#[tokio::test]
async fn a_token_is_for_one_vault() {
    let (_, client) = guarded().await;
    let named = |vault: &str| ("x-atlas-vault".to_owned(), vault.to_owned());
    for (bound, name, reason) in [
        (None, None, None),
        (None, Some("main"), None),
        (None, Some("work"), Some("vault_forbidden")),
        (None, Some("nowhere"), Some("vault_forbidden")),
        (Some("main"), None, None),
        (Some("main"), Some("main"), None),
        (Some("main"), Some("work"), Some("vault_forbidden")),
        (Some("work"), Some("main"), Some("vault_forbidden")),
        (Some("Main"), Some("main"), Some("vault_forbidden")),
        // It is for a vault that is not here.
        (Some("work"), None, Some("vault_forbidden")),
        (Some("work"), Some("work"), Some("vault_forbidden")),
    ] {
        let mut headers = vec![bearer(&token("agent", &scope::ALL, bound))];
        headers.extend(name.map(named));
        let reply = send(&client, "POST", "/find", &headers, &json!({ "term": "berth" })).await;
        match reason {
            None => drop(reply.ok()),
            Some(reason) => assert_eq!(reply.error(403).1, reason, "{bound:?} {name:?}"),
        }
    }
}

/// Each failing gate, alone and with all later ones.
#[tokio::test]
async fn the_first_gate_that_fails_answers() {
    let (_, client) = guarded().await;
    let reads = token("agent", &[Scope::ReadVault], None);
    let (foreign, wrong) = (("x-atlas-vault".to_owned(), "work".to_owned()), json!({ "content": 7 }));
    let right = json!({ "content": "x" });
    for (headers, body, status, reason) in [
        (vec![bearer("x.y.z"), foreign.clone()], &wrong, 401, "token_invalid"),
        (vec![bearer(&reads), foreign.clone()], &wrong, 400, "validation_error"),
        (vec![bearer(&reads), foreign.clone()], &right, 403, "scope_missing"),
        (vec![bearer(&token("agent", &scope::ALL, None)), foreign], &right, 403, "vault_forbidden"),
    ] {
        let reply = send(&client, "PUT", "/notes/vault/new.md", &headers, body).await;
        assert_eq!(reply.error(status).1, reason);
    }
    assert_eq!(client.requests.take().count(), 0, "the store was asked");
}

#[tokio::test]
async fn the_log_says_whose_token_it_was_and_a_key_is_its_callers_own() {
    let (deployment, client) = guarded().await;
    let key = ("idempotency-key".to_owned(), "7".to_owned());
    for name in ["maeve", "ida", "maeve"] {
        let headers = [bearer(&token(name, &scope::ALL, None)), key.clone()];
        let reply = send(&client, "POST", "/notes/log.md", &headers, &json!({ "content": "by me" })).await;
        assert!(reply.status.is_success());
    }
    let history = deployment.mirror().history(3, 2).await.unwrap();
    let authors: Vec<&str> = history.iter().map(|snapshot| snapshot.manifest().author.as_str()).collect();
    assert_eq!(authors, ["ida", "maeve"], "two calls with one key, and one that was repeated");
}

/// The deployment has public keys of two issuers, and its address as the only audience.
#[tokio::test]
async fn a_name_is_another_callers_where_another_issuer_gave_it() {
    let (one, other) = (Issuer::new(), Issuer::new());
    let sets = json!({ "https://one": one.set(), "https://other": other.set() }).to_string();
    let deployment = Deployment::of_demo().await;
    let resource = ("ATLAS_RESOURCE", "https://atlas.example/");
    let client = deployment.set_up(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWKS", &sets), resource]).await;
    let claims = |issuer: &str, audience: &str| {
        let exp = clock::now().as_second() + 600;
        json!({ "iss": issuer, "sub": "ida", "aud": audience, "exp": exp, "scope": "read:vault write:vault delete:vault admin" })
    };
    let of =
        |keys: &Issuer, issuer: &str| bearer(&keys.sign("ES256", Some("ec"), &claims(issuer, "https://atlas.example")));
    let (one, other) = (&one, &other);
    // A key belongs to its issuer, and a token for another service is refused.
    let note = json!({ "content": "by me" });
    for forged in [
        of(one, "https://other"),
        of(other, "https://one"),
        of(one, "https://third"),
        bearer(&one.sign("ES256", Some("ec"), &claims("https://one", "https://elsewhere.example"))),
    ] {
        let reply = send(&client, "POST", "/notes/log.md", &[forged], &note).await;
        assert_eq!(reply.error(401).1, "token_invalid");
    }
    // The MCP door's audience is accepted too.
    let mcp = bearer(&one.sign("EdDSA", Some("ed"), &claims("https://one", "https://atlas.example/mcp")));
    send(&client, "GET", "/notes", &[mcp], &Value::Null).await.ok();
    let callers = [of(one, "https://one"), of(other, "https://other")];
    let key = ("idempotency-key".to_owned(), "7".to_owned());
    for caller in &callers {
        let reply = send(&client, "POST", "/notes/log.md", &[caller.clone(), key.clone()], &note).await;
        assert!(reply.status.is_success(), "{reply:?}");
    }
    let history = deployment.mirror().history(3, 2).await.unwrap();
    let [second, first] = &history[..] else { panic!("the key is not each caller's own") };
    let (first, second) = (first.manifest(), second.manifest());
    assert_eq!((first.generation, second.generation), (2, 3));
    assert!(first.author == second.author && first.caller != second.caller, "one name, two callers");
    // An approval by one issuer's caller is not the other's own.
    let hard = "/notes/log.md?hard=true";
    let [one, other] = callers;
    let asked = send(&client, "DELETE", hard, from_ref(&one), &Value::Null).await.json();
    let what = json!({ "operation": "delete_note", "args_hash": asked["error"]["details"]["args_hash"] });
    for (approver, passes) in [(&one, false), (&other, true)] {
        let approved = send(&client, "POST", "/approve", from_ref(approver), &what).await.ok();
        let shown = ("x-atlas-confirmation".to_owned(), approved["token"].as_str().unwrap().to_owned());
        let reply = send(&client, "DELETE", hard, &[one.clone(), shown], &Value::Null).await;
        assert_eq!(reply.status.is_success(), passes, "{reply:?}");
    }
}

#[tokio::test]
async fn who_looks_for_a_token_is_told_where_to_ask() {
    let deployment = Deployment::of_demo().await;
    let client = deployment
        .set_up(&[
            ("ATLAS_AUTH", "jwt"),
            ("ATLAS_JWT_SECRET", SECRET),
            ("ATLAS_RESOURCE", "https://atlas.example/v1/"),
            ("ATLAS_AUTHORIZATION_SERVERS", "https://login.example"),
        ])
        .await;
    for (path, resource) in [("", "https://atlas.example/v1"), ("/mcp", "https://atlas.example/v1/mcp")] {
        let told = client.get(&format!("/.well-known/oauth-protected-resource{path}")).await.ok();
        assert_eq!((&told["resource"], &told["bearer_methods_supported"]), (&json!(resource), &json!(["header"])));
        assert_eq!(told["authorization_servers"], json!(["https://login.example"]));
        assert_eq!(told["scopes_supported"].as_array().unwrap().len(), 6);
    }
    let challenge = client.get("/notes").await.header("www-authenticate").unwrap().to_owned();
    let there = "resource_metadata=\"https://atlas.example/v1/.well-known/oauth-protected-resource\"";
    assert!(challenge.ends_with(there), "{challenge}");
    let open = deployment.client().get("/.well-known/oauth-protected-resource").await;
    assert_eq!(open.error(404).1, "route_not_found", "there are no tokens to ask for");
}

#[test]
fn keys_that_cannot_be_used_stop_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let jwks = |more: &[(&'static str, &str)]| {
        let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let set = Issuer::new().set().to_string();
        [("ATLAS_AUTH", "jwt".to_owned()), ("ATLAS_JWKS", set)].into_iter().chain(more).collect()
    };
    for (variables, says) in [
        (vec![("ATLAS_AUTH", "jwt".to_owned())], "set ATLAS_JWT_SECRET, ATLAS_JWKS, or both"),
        (vec![("ATLAS_AUTH", "jwt".to_owned()), ("ATLAS_JWKS", "/no/such/file".to_owned())], "the path of a file"),
        (vec![("ATLAS_AUTH", "jwt".to_owned()), ("ATLAS_JWKS", file("empty", ""))], "write a JWKS"),
        (vec![("ATLAS_AUTH", "jwt".to_owned()), ("ATLAS_JWKS", "{\"keys\":[]}".to_owned())], "it has none"),
        (vec![("ATLAS_AUTH", "jwt".to_owned()), ("ATLAS_JWT_SECRET", String::new())], "fewer than 32 bytes"),
        (
            vec![("ATLAS_AUTH", "jwt".to_owned()), ("ATLAS_JWT_SECRET_FILE", "/no/such/file".to_owned())],
            "has the secret",
        ),
        (
            vec![("ATLAS_AUTH", "jwt".to_owned()), ("ATLAS_JWT_SECRET_FILE", file("short", "short\n"))],
            "fewer than 32 bytes",
        ),
        (
            vec![
                ("ATLAS_AUTH", "jwt".to_owned()),
                ("ATLAS_JWT_SECRET_FILE", file("secret", SECRET)),
                ("ATLAS_JWT_SECRET", SECRET.to_owned()),
            ],
            "set one of them",
        ),
        (jwks(&[]), "or set ATLAS_RESOURCE to its address"),
        (
            jwks(&[("ATLAS_JWT_SECRET", SECRET), ("ATLAS_RESOURCE", "https://atlas.example")]),
            "ATLAS_JWT_ISSUER=\"\" cannot be used: there are a secret and a set of keys",
        ),
        (
            jwks(&[("ATLAS_JWT_ISSUER", "https://a,https://b"), ("ATLAS_RESOURCE", "https://atlas.example")]),
            "write the sets as {\"ISSUER\": JWKS, …}",
        ),
    ] {
        let read = Settings::read(variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let refused = read.and_then(|settings| Gate::of(&settings).map(drop)).unwrap_err().to_string();
        assert!(refused.contains(says), "{refused}");
    }
}
