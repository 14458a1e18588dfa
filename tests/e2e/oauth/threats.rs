//! The threats of RFC 9700 and of the page, none of which may work: one test each. `shared/oauth/README.md` lists them.

use std::time::Duration;

use atlas_access::authority::{AuthorityDocument, KeyDocument};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::TryStreamExt as _;
use jiff::Timestamp;
use object_store::ObjectStore as _;
use object_store::ObjectStoreExt as _;
use serde_json::{Value, json};

use crate::support::clock;
use crate::support::tokens::send;

use super::site::{
    AUTHORITY, BASE, CALLBACK, MCP, PASSPHRASE, Person, Site, VERIFIER, authorize, authorize_with, encoded, error_of,
    field, one_time, onward, page, parameter, post, process, redeemed, text,
};

async fn person(site: &Site) -> Person<'_> {
    let mut person = Person::at(&site.client);
    person.signs_in().await;
    person
}

const READ: [(&str, &str); 1] = [("scope", "read:vault")];

#[tokio::test]
async fn mix_up_every_answer_says_who_gave_it() {
    let site = Site::new().await;
    let id = site.registered().await;
    let person = person(&site).await;
    for decision in ["allow", "deny"] {
        let reply = person.decides(&id, &[("decision", decision), ("scope", "read:vault")]).await;
        assert_eq!(parameter(&onward(&reply), "iss"), BASE);
    }
}

#[tokio::test]
async fn code_injection_a_code_is_for_who_asked_for_it() {
    let site = Site::new().await;
    let (id, person) = (site.registered().await, person(&site).await);
    let other = site.registers(&json!({ "redirect_uris": [CALLBACK], "client_name": "Other" })).await;
    let code = person.allows(&id, &READ).await;
    let fields = |client: &str, verifier: &str, address: &str, resource: &str| {
        [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("client_id", client),
            ("code_verifier", verifier),
            ("redirect_uri", address),
            ("resource", resource),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let wrong = "w".repeat(43);
    for (fields, error) in [
        (fields(&other, VERIFIER, CALLBACK, MCP), "invalid_grant"),
        (fields(&id, &wrong, CALLBACK, MCP), "invalid_grant"),
        (fields(&id, "", CALLBACK, MCP), "invalid_request"),
        (fields(&id, VERIFIER, "https://evil.example/", MCP), "invalid_grant"),
        (fields(&id, VERIFIER, CALLBACK, BASE), "invalid_target"),
        (fields("", VERIFIER, CALLBACK, MCP), "invalid_client"),
    ] {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(error_of(&site.post("/oauth/token", &fields).await), error, "{fields:?}");
    }
    // A try without the verifier does not use the code up.
    site.redeemed(&id, &code).await.ok();
}

#[tokio::test]
async fn a_field_that_is_given_twice_is_refused() {
    let site = Site::new().await;
    let id = site.registered().await;
    let twice = [("grant_type", "authorization_code"), ("client_id", &id), ("client_id", &id), ("code", "a")];
    assert_eq!(error_of(&site.post("/oauth/token", &twice).await), "invalid_request");
    let person = person(&site).await;
    let reply = person.get(&format!("{}&client_id=x", authorize(&id))).await;
    assert_eq!(reply.status, 400);
}

#[tokio::test]
async fn pkce_is_not_optional_and_not_plain() {
    let site = Site::new().await;
    let (id, person) = (site.registered().await, person(&site).await);
    for change in [[("code_challenge_method", "")], [("code_challenge_method", "plain")], [("code_challenge", "")]] {
        let reply = person.get(&authorize_with(&id, &change)).await;
        assert_eq!(reply.status, 400, "{change:?}");
        assert!(!String::from_utf8_lossy(&reply.body).contains("name=\"decision\""));
    }
}

#[tokio::test]
async fn open_redirect_nothing_leads_to_a_client_before_the_person_decides() {
    let site = Site::new().await;
    let (id, person) = (site.registered().await, person(&site).await);
    for change in [
        ("redirect_uri", "https://evil.example/"),
        ("redirect_uri", "https://claude.ai/api/mcp/auth_callback/../x"),
        ("redirect_uri", "https://claude.ai@evil.example/api/mcp/auth_callback"),
        ("redirect_uri", "javascript:alert(1)"),
        ("client_id", "unknown"),
        ("response_type", "token"),
        ("resource", "https://other.example/mcp"),
    ] {
        let reply = person.get(&authorize_with(&id, &[change])).await;
        assert_eq!((reply.status.as_u16(), reply.header("location")), (400, None), "{change:?}");
    }
}

#[tokio::test]
async fn a_code_is_good_once_and_a_replay_ends_the_grant() {
    let site = Site::new().await;
    let (id, person) = (site.registered().await, person(&site).await);
    let code = person.allows(&id, &READ).await;
    let tokens = site.redeemed(&id, &code).await.ok();
    assert_eq!(error_of(&site.redeemed(&id, &code).await), "invalid_grant");
    assert_eq!(error_of(&site.refreshed(&id, text(&tokens, "refresh_token")).await), "invalid_grant");
    // A code that is a minute old is good for nothing.
    let late = person.allows(&id, &READ).await;
    clock::pass(Duration::from_secs(61));
    assert_eq!(error_of(&site.redeemed(&id, &late).await), "invalid_grant");
}

#[tokio::test]
async fn of_two_instances_that_race_for_a_code_one_gets_tokens() {
    let site = Site::new().await;
    let other = site.other().await;
    let (id, person) = (site.registered().await, person(&site).await);
    for _ in 0..8 {
        let code = person.allows(&id, &READ).await;
        let (one, two) = futures::future::join(redeemed(&site.client, &id, &code), redeemed(&other, &id, &code)).await;
        assert_eq!([one.status, two.status].iter().filter(|status| status.is_success()).count(), 1);
    }
}

#[tokio::test]
async fn a_refresh_token_that_is_used_again_ends_the_grant() {
    let site = Site::new().await;
    let id = site.registered().await;
    let first = site.tokens(&id, &READ).await;
    let second = site.refreshed(&id, text(&first, "refresh_token")).await.ok();
    // Without an answer a client asks again, until it has used the next one.
    assert_eq!(site.refreshed(&id, text(&first, "refresh_token")).await.ok()["refresh_token"], second["refresh_token"]);
    let third = site.refreshed(&id, text(&second, "refresh_token")).await.ok();
    for ended in [&first, &third] {
        assert_eq!(error_of(&site.refreshed(&id, text(ended, "refresh_token")).await), "invalid_grant");
    }
    // Of two that race with one token both get the same. Half a minute later it is a replay.
    let raced = site.tokens(&id, &READ).await;
    let other = site.other().await;
    let fields =
        [("grant_type", "refresh_token"), ("client_id", &id), ("refresh_token", text(&raced, "refresh_token"))];
    let (one, two) =
        futures::future::join(post(&site.client, "/oauth/token", &fields), post(&other, "/oauth/token", &fields)).await;
    let next = one.ok();
    assert_eq!(two.ok()["refresh_token"], next["refresh_token"]);
    clock::pass(Duration::from_secs(31));
    for ended in [&raced, &next] {
        assert_eq!(error_of(&site.refreshed(&id, text(ended, "refresh_token")).await), "invalid_grant");
    }
}

#[tokio::test]
async fn a_refresh_token_is_of_one_client_and_gives_no_more_than_was_granted() {
    let site = Site::new().await;
    let id = site.registered().await;
    let other = site.registers(&json!({ "redirect_uris": ["https://evil.example/"] })).await;
    let tokens = site.tokens(&id, &READ).await;
    let refresh = text(&tokens, "refresh_token");
    assert_eq!(error_of(&site.refreshed(&other, refresh).await), "invalid_grant");
    let asked = |scope: &'static str, resource: &'static str| [("scope", scope), ("resource", resource)];
    let refreshed = async |more: [(&str, &str); 2]| {
        let own = [("grant_type", "refresh_token"), ("client_id", id.as_str()), ("refresh_token", refresh)];
        site.post("/oauth/token", &[&own[..], &more].concat()).await
    };
    assert_eq!(error_of(&refreshed(asked("write:vault", MCP)).await), "invalid_scope");
    assert_eq!(error_of(&refreshed(asked("read:vault", BASE)).await), "invalid_target");
    // Clients repeat what they asked the person for.
    assert_eq!(refreshed(asked("read:vault write:vault", MCP)).await.ok()["scope"], "read:vault");
}

#[tokio::test]
async fn only_the_client_itself_revokes_its_tokens() {
    let site = Site::new().await;
    let id = site.registered().await;
    let other = site.registers(&json!({ "redirect_uris": ["https://evil.example/"] })).await;
    let tokens = site.tokens(&id, &READ).await;
    for token in ["refresh_token", "access_token"] {
        assert_eq!(
            site.post("/oauth/revoke", &[("client_id", &other), ("token", text(&tokens, token))]).await.status,
            200
        );
    }
    let (grant, _) = text(&tokens, "refresh_token").split_once('.').unwrap();
    let guessed = format!("{grant}.{}", "0".repeat(64));
    assert_eq!(site.post("/oauth/revoke", &[("client_id", &id), ("token", &guessed)]).await.status, 200);
    let next = site.refreshed(&id, text(&tokens, "refresh_token")).await.ok();
    // An access token ends the whole grant too.
    site.post("/oauth/revoke", &[("client_id", &id), ("token", text(&next, "access_token"))]).await.ok();
    assert_eq!(error_of(&site.refreshed(&id, text(&next, "refresh_token")).await), "invalid_grant");
}

#[tokio::test]
async fn a_form_of_another_page_decides_nothing() {
    let site = Site::new().await;
    let (id, person) = (site.registered().await, person(&site).await);
    let asked = person.asked(&id).await;
    let fields = |token: &str| {
        let request = field(&asked, "request");
        encoded(&[
            ("form_token", token),
            ("request", &request),
            ("vault", "main"),
            ("time", "86400"),
            ("scope", "read:vault"),
            ("decision", "allow"),
        ])
    };
    let own = field(&asked, "form_token");
    for (origin, token) in [("https://evil.example", own.as_str()), (BASE, "0123"), (BASE, "")] {
        let reply = person.send("POST", "/ui/authorize", &[("origin", origin)], &fields(token)).await;
        assert_eq!((reply.status.as_u16(), reply.header("location")), (403, None), "{origin} {token}");
    }
    // The page of another session is another page.
    let mut other = Person::at(&site.client);
    other.signs_in().await;
    let reply = other.send("POST", "/ui/authorize", &[("origin", BASE)], &fields(&own)).await;
    assert_eq!(reply.status, 403);
}

#[tokio::test]
async fn the_form_cannot_ask_for_more_than_the_request() {
    let site = Site::new().await;
    let (id, person) = (site.registered().await, person(&site).await);
    let reply = person
        .decides(&id, &[("decision", "allow"), ("scope", "read:vault"), ("scope", "admin"), ("scope", "bulk:vault")])
        .await;
    let tokens = site.redeemed(&id, &parameter(&onward(&reply), "code")).await.ok();
    assert_eq!(tokens["scope"], "read:vault");
    for wrong in [[("vault", "other")], [("time", "99999999999")], [("folders", "../..")]] {
        let fields: Vec<_> = wrong.into_iter().chain([("decision", "allow"), ("scope", "read:vault")]).collect();
        assert!(page(&person.decides(&id, &fields).await).contains("class=\"problem\""), "{wrong:?}");
    }
    let changed = format!("response_type=code&client_id={id}&redirect_uri=https%3A%2F%2Fevil.example%2F");
    let reply =
        person.decides(&id, &[("request", changed.as_str()), ("decision", "allow"), ("scope", "read:vault")]).await;
    assert_eq!((reply.status.as_u16(), reply.header("location")), (400, None));
}

#[tokio::test]
async fn the_consent_page_stands_in_no_frame_and_leads_to_one_place() {
    let site = Site::new().await;
    let (id, person) = (site.registered().await, person(&site).await);
    let reply = person.get(&authorize(&id)).await;
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self';"), "{policy}");
    assert_eq!(reply.header("x-frame-options"), Some("DENY"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    // The page with the code leads on, is not kept, and is told to nobody.
    let reply = person.decides(&id, &[("decision", "allow"), ("scope", "read:vault")]).await;
    assert!(onward(&reply).starts_with(CALLBACK));
    let told = ["cache-control", "referrer-policy"].map(|name| reply.header(name));
    assert_eq!(told, [Some("no-store"), Some("no-referrer")]);
}

#[tokio::test]
async fn what_a_client_calls_itself_is_text() {
    let site = Site::new().await;
    let name = "<script>alert(1)</script>\u{202e}\" onload=x";
    let id = site.registers(&json!({ "redirect_uris": [CALLBACK], "client_name": name })).await;
    let asked = person(&site).await.asked(&id).await;
    assert!(
        !asked.contains("<script>alert") && !asked.contains('\u{202e}') && asked.contains("&lt;script&gt;"),
        "{asked}"
    );
}

#[tokio::test]
async fn tokens_of_others_and_for_others_are_refused() {
    let site = Site::new().await;
    let id = site.registered().await;
    let tokens = site.tokens(&id, &READ).await;
    let token = text(&tokens, "access_token");
    let part = |index: usize| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(index).unwrap()).unwrap()).unwrap()
    };
    assert_eq!((&part(0)["typ"], &part(0)["alg"]), (&json!("at+jwt"), &json!("ES256")));
    let claims = part(1);
    assert_eq!(
        (&claims["iss"], &claims["aud"], &claims["sub"], &claims["vault"]),
        (&json!(BASE), &json!(MCP), &json!("ada"), &json!("main"))
    );
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 600);
    // The same claims by another key.
    let other =
        AuthorityDocument { keys: vec![KeyDocument::make(Timestamp::UNIX_EPOCH).unwrap()], ..AUTHORITY.clone() };
    let stranger = process(&site.deployment, &other, &json!({})).await;
    let headers = [crate::support::tokens::bearer(token)];
    assert_eq!(send(&stranger, "POST", "/find", &headers, &json!({ "term": "x" })).await.status, 401);
    for (from, to) in [("MIT", "NIT"), (".", "..")] {
        assert_eq!(site.call(&token.replacen(from, to, 1)).await, if token.contains(from) { 401 } else { 200 });
    }
    // A refresh token, a code, and a token without its signature are no access tokens.
    let (bare, _) = token.rsplit_once('.').unwrap();
    for other in [text(&tokens, "refresh_token"), bare, &format!("{bare}.")] {
        assert_eq!(site.call(other).await, 401);
    }
}

#[tokio::test]
async fn keys_change_by_overlap_and_a_stolen_one_is_worth_nothing_at_once() {
    let site = Site::new().await;
    let id = site.registered().await;
    let tokens = site.tokens(&id, &READ).await;
    let headers = [crate::support::tokens::bearer(text(&tokens, "access_token"))];
    let fresh = KeyDocument::make(Timestamp::UNIX_EPOCH).unwrap();
    let both = AuthorityDocument { keys: vec![fresh.clone(), AUTHORITY.keys[0].clone()], ..AUTHORITY.clone() };
    let rotated = process(&site.deployment, &both, &json!({})).await;
    assert_eq!(send(&rotated, "POST", "/find", &headers, &json!({ "term": "x" })).await.status, 200);
    let fields =
        [("grant_type", "refresh_token"), ("client_id", &id), ("refresh_token", text(&tokens, "refresh_token"))];
    let next = post(&rotated, "/oauth/token", &fields).await.ok();
    // Only the new key signs, and the old instance does not know it.
    assert_eq!(site.call(text(&next, "access_token")).await, 401);
    let stolen = AuthorityDocument { keys: vec![fresh], secret: "f".repeat(64), ..AUTHORITY.clone() };
    let after = process(&site.deployment, &stolen, &json!({})).await;
    assert_eq!(send(&after, "POST", "/find", &headers, &json!({ "term": "x" })).await.status, 401);
    // Registrations that the thief sealed are worth nothing either.
    let person = Person::at(&after);
    assert_eq!(person.tries(PASSPHRASE, &one_time()).await.status, 303);
    assert_eq!(person.get(&authorize(&id)).await.status, 400);
}

#[tokio::test]
async fn the_store_has_no_secret_in_the_clear() {
    let site = Site::new().await;
    let (id, person) = (site.registered().await, person(&site).await);
    let code = person.allows(&id, &READ).await;
    let tokens = site.redeemed(&id, &code).await.ok();
    let device = site.post("/oauth/device_authorization", &[("client_id", &id)]).await.ok();
    let (_, refresh) = text(&tokens, "refresh_token").split_once('.').unwrap();
    let user_code = text(&device, "user_code").replace('-', "");
    let session = person.cookie("atlas-page").unwrap();
    let secrets = [
        code.as_str(),
        refresh,
        text(&tokens, "access_token"),
        text(&device, "device_code"),
        &user_code,
        &session,
        PASSPHRASE,
        AUTHORITY.passphrase.as_ref().unwrap(),
        &AUTHORITY.secret,
    ];
    let objects: Vec<_> = site.deployment.objects.list(None).try_collect().await.unwrap();
    for object in objects {
        let bytes = site.deployment.objects.get(&object.location).await.unwrap().bytes().await.unwrap();
        let content = format!("{} {}", object.location, String::from_utf8_lossy(&bytes));
        for secret in secrets {
            assert!(!content.contains(secret), "{} has {secret}", object.location);
        }
    }
}

#[tokio::test]
async fn what_is_switched_off_is_not_there() {
    let site = Site::with(json!({ "server": { "dynamicRegistration": false, "deviceAuthorization": false } })).await;
    let metadata = site.client.get("/.well-known/oauth-authorization-server").await.ok();
    assert_eq!((metadata.get("registration_endpoint"), metadata.get("device_authorization_endpoint")), (None, None));
    let reply = send(&site.client, "POST", "/oauth/register", &[], &json!({ "redirect_uris": [CALLBACK] })).await;
    assert_eq!(reply.status, 404);
    assert_eq!(site.post("/oauth/device_authorization", &[("client_id", "x")]).await.status, 404);
    // Without its secrets a process gives nothing, and has no metadata.
    let plain =
        site.deployment.set_up(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", crate::support::tokens::SECRET)]).await;
    for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/oauth/jwks"] {
        assert_eq!(plain.get(path).await.status, 404, "{path}");
    }
    assert_eq!(post(&plain, "/oauth/token", &[("grant_type", "refresh_token")]).await.status, 404);
}

#[tokio::test]
async fn who_is_not_the_person_decides_nothing() {
    let site = Site::new().await;
    let id = site.registered().await;
    let tokens = site.tokens(&id, &READ).await;
    // A client signs in to the page with its own token.
    let client = Person::at(&site.client);
    let signed_in = client.form("/ui/sign-in", &[("token", text(&tokens, "access_token"))]).await;
    assert_eq!(signed_in.status, 303);
    let asked = client.get(&authorize(&id)).await;
    assert_eq!(asked.status, 403);
    assert!(!String::from_utf8_lossy(&client.get("/ui/access").await.body).contains("Clients that you allowed"));
    assert_eq!(client.get("/ui/device?user_code=BCDFGHJK").await.status, 403);
}
