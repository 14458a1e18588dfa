//! Processes that check tokens without giving any, and the host's commands.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use atlas_access::authority::AuthorityDocument;
use atlas_access::mint::Grant;
use atlas_access::{Authority, Secret, mint};
use serde_json::{Value, json};

use crate::support::clock;
use crate::support::programs::{Place, atlas, json_of};
use crate::support::tokens::{SECRET, bearer, send};

use super::site::{AUTHORITY, BASE, Person, Site, page, text};

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
    assert_eq!(
        json_of(atlas().args(["auth", "grants", "--json", "--vault", "main", "--store", &place.store])),
        json!([])
    );
}
