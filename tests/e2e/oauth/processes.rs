//! Processes that check tokens without giving any, and the host's commands.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use atlas_access::authority::AuthorityDocument;
use atlas_access::mint::Grant;
use atlas_access::{Authority, Secret, mint};
use object_store::local::LocalFileSystem;
use serde_json::{Value, json};

use crate::support::clock;
use crate::support::deployment::demo;
use crate::support::programs::{Place, atlas, refusal_of};
use crate::support::tokens::{SECRET, bearer, send};

use super::site::{
    AUTHORITY, BASE, PASSPHRASE, Person, Site, authorize, page, post, process_over, redeemed, registered, text,
};

#[tokio::test]
async fn a_function_without_the_secrets_takes_the_tokens_and_knows_the_person() {
    let site = Site::new().await;
    let id = site.registered().await;
    let tokens = site.tokens(&id, &[("scope", "read:vault"), ("folders", "Projects")]).await;
    let keys = Authority::of(&AUTHORITY).unwrap().public().to_string();
    let variables = [
        ("ATLAS_AUTH", "jwt"),
        ("ATLAS_RESOURCE", BASE),
        ("ATLAS_AUTHORIZATION_SERVERS", BASE),
        ("ATLAS_JWKS", keys.as_str()),
        ("ATLAS_CONFIG", r#"{"auth":{"checkRevocation":true}}"#),
    ];
    let function = site.deployment.set_up(&variables).await;
    let headers = [bearer(text(&tokens, "access_token"))];
    let find = async || send(&function, "POST", "/find", &headers, &json!({ "term": "lighthouse" })).await;
    let found = find().await.ok();
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    // A session of the person, which the function `auth` began, is one here too.
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    let cookie = format!("__Host-atlas-page={}", person.cookie("atlas-page").unwrap());
    let shown = page(&Person::at(&function).send("GET", "/ui/access", &[("cookie", &cookie)], "").await);
    assert!(shown.contains("Clients that you allowed") && shown.contains("claude.ai"), "{shown}");
    // A grant that the function `auth` ends is ended in this process too.
    let revoked = site.post("/oauth/revoke", &[("client_id", &id), ("token", text(&tokens, "refresh_token"))]).await;
    assert_eq!((revoked.status.as_u16(), find().await.status.as_u16()), (200, 401));
}

#[tokio::test]
async fn nobody_else_signs_in_the_servers_name() {
    let site = Site::new().await;
    let keys = AUTHORITY.write().unwrap();
    let variables = [
        ("ATLAS_AUTH", "jwt"),
        ("ATLAS_RESOURCE", BASE),
        ("ATLAS_OAUTH_KEYS", keys.as_str()),
        ("ATLAS_JWT_SECRET", SECRET),
    ];
    let client = site.deployment.set_up(&variables).await;
    for (issuer, status) in [(None, 200), (Some("https://other.example"), 200), (Some(BASE), 401)] {
        let time = Duration::from_secs(60);
        let grant =
            Grant { subject: "x", scopes: "read:vault", vault: None, issuer, audience: None, client: None, time };
        let token = mint(&Secret::new(SECRET).unwrap(), &grant, clock::now()).unwrap();
        assert_eq!(send(&client, "GET", "/notes", &[bearer(&token)], &Value::Null).await.status, status, "{issuer:?}");
    }
    // A setting that would do nothing, or cannot be used, stops the start.
    for (variables, name) in [
        (vec![("ATLAS_OAUTH_KEYS", keys.as_str())], "ATLAS_OAUTH_KEYS"),
        (vec![("ATLAS_AUTH", "jwt"), ("ATLAS_OAUTH_KEYS", keys.as_str())], "ATLAS_RESOURCE"),
        (
            vec![("ATLAS_AUTH", "jwt"), ("ATLAS_OAUTH_KEYS", keys.as_str()), ("ATLAS_RESOURCE", "https://a.example/b")],
            "ATLAS_RESOURCE",
        ),
        (
            vec![("ATLAS_AUTH", "jwt"), ("ATLAS_OAUTH_KEYS", keys.as_str()), ("ATLAS_RESOURCE", "http://a.example")],
            "ATLAS_RESOURCE",
        ),
        (vec![("ATLAS_AUTH", "jwt"), ("ATLAS_OAUTH_KEYS", "{}"), ("ATLAS_RESOURCE", BASE)], "ATLAS_OAUTH_KEYS"),
        (
            vec![("ATLAS_AUTH", "jwt"), ("ATLAS_OAUTH_KEYS_FILE", "no-such.json"), ("ATLAS_RESOURCE", BASE)],
            "ATLAS_OAUTH_KEYS_FILE",
        ),
    ] {
        let error = site.deployment.try_set_up(&variables, Duration::ZERO).await.err().unwrap();
        assert!(error.starts_with(name) && !error.contains("pkcs8"), "{error}");
    }
}

#[test]
fn the_file_of_secrets_is_its_owners_and_keys_in_it_change_by_overlap() {
    let place = Place::new();
    let file = place.path("auth.json");
    let auth = |arguments: &[&str]| {
        let mut command = atlas();
        command.arg("auth").args(arguments).arg("--file").arg(&file);
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (made, said) = auth(&["init", "--generate"]);
    assert!(made && said.contains("Your passphrase: ") && said.contains("otpauth://totp/"), "{said}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0, "others may read it");
    let read = || AuthorityDocument::parse(&fs::read_to_string(&file).unwrap()).unwrap();
    let first = read();
    let passphrase = said.split("Your passphrase: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    assert!(!fs::read_to_string(&file).unwrap().contains(&passphrase));
    assert!(!auth(&["init", "--generate"]).0, "a second one takes the place of the first");
    assert_eq!(auth(&["init", "--generate", "--if-missing"]), (true, String::new()));
    assert!(auth(&["rotate"]).0 && auth(&["rotate"]).0);
    let second = read();
    assert_eq!((second.keys.len(), &second.secret), (2, &first.secret));
    assert!(auth(&["rotate", "--stolen"]).0);
    let third = read();
    assert!(third.keys.len() == 1 && third.secret != first.secret && third.passphrase == first.passphrase);
    let keys: Value = serde_json::from_str(&auth(&["keys"]).1).unwrap();
    assert!(keys["keys"].as_array().unwrap().iter().all(|key| key.get("d").is_none()), "{keys}");
    let said = refusal_of(atlas().args(["auth", "grants", "--json", "--vault", "main", "--store", &place.store]));
    assert!(said.contains("the vault main is not published"), "{said}");
}

#[tokio::test]
async fn the_steps_after_a_theft_leave_the_thief_nothing() {
    let place = Place::new();
    assert!(place.sync(&demo()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    let file = place.path("auth.json");
    let runs = |command: &mut Command, typed: &str| {
        let mut running = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Some ask for nothing.
        let _ = writeln!(running.stdin.take().unwrap(), "{typed}");
        assert!(running.wait().unwrap().success(), "{command:?}");
    };
    runs(atlas().args(["auth", "init", "--without-codes", "--file"]).arg(&file), PASSPHRASE);
    let folder = place.store.strip_prefix("file://").unwrap();
    let started = async || {
        let authority = AuthorityDocument::parse(&fs::read_to_string(&file).unwrap()).unwrap();
        let objects = Arc::new(LocalFileSystem::new_with_prefix(folder).unwrap());
        process_over(objects, &authority, &json!({ "checkRevocation": true }), |app| app).await
    };
    // The thief has everything that there was: tokens, a session, a registration, the passphrase.
    let before = started().await;
    let id = registered(&before).await;
    let person = Person::at(&before);
    assert_eq!(person.tries(PASSPHRASE, "").await.status, 303);
    let code = person.allows(&id, &[("scope", "read:vault")]).await;
    let tokens = redeemed(&before, &id, &code).await.ok();
    let headers = [bearer(text(&tokens, "access_token"))];
    let session = format!("__Host-atlas-page={}", person.cookie("atlas-page").unwrap());
    let refresh =
        [("grant_type", "refresh_token"), ("client_id", &id), ("refresh_token", text(&tokens, "refresh_token"))];

    runs(atlas().args(["auth", "rotate", "--stolen", "--file"]).arg(&file), "");
    runs(atlas().args(["auth", "passphrase", "--file"]).arg(&file), "another horse, another battery");
    // They end what is kept in the deployment's default vault, whichever is named.
    let vaults = json!({ "vaults": [{ "id": "main" }, { "id": "other" }] }).to_string();
    let on_other = ["--vault", "other", "--store", &place.store];
    runs(atlas().args(["auth", "revoke", "--all"]).args(on_other).env("ATLAS_CONFIG", &vaults), "");
    runs(atlas().args(["ui", "--sign-out"]).args(on_other).env("ATLAS_CONFIG", &vaults), "");

    let after = started().await;
    let called = send(&after, "POST", "/find", &headers, &json!({ "term": "berth" })).await;
    assert_eq!(called.status, 401, "the access token works");
    assert_eq!(post(&after, "/oauth/token", &refresh).await.status, 400, "the refresh token works");
    let thief = Person::at(&after);
    assert_eq!(thief.send("GET", "/ui/access", &[("cookie", &session)], "").await.status, 401, "the session goes on");
    assert_eq!(thief.tries(PASSPHRASE, "").await.status, 403, "the passphrase works");
    let person = Person::at(&after);
    assert_eq!(person.tries("another horse, another battery", "").await.status, 303);
    assert_eq!(person.get(&authorize(&id)).await.status, 400, "the registration is known");
    // The client registers and asks again, and goes on.
    let id = registered(&after).await;
    let code = person.allows(&id, &[("scope", "read:vault")]).await;
    redeemed(&after, &id, &code).await.ok();
}
