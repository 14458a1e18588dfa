//! One configuration document: several vaults, rules for each, and reloading.

use std::time::Duration;

use atlas_access::{Scope, scope};
use atlas_mirror::{Store, StoreOptions};
use atlas_testkit::faults::{Fault, FaultStore};
use atlas_testkit::{CountingStore, Op, VaultBuilder};
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment, Reply, settings};
use crate::support::programs::{Place, json_of, refusal_of};
use crate::support::tokens::{SECRET, bearer, send, token};

const KEY: &str = "config/atlas.json";
const LONG: Duration = Duration::from_secs(3600);

/// A store with two vaults, each with one note.
async fn two_vaults() -> Deployment {
    let vault = |text: &str| VaultBuilder::new().note("note.md", text);
    let deployment = Deployment::of_vault(&vault("# Home\n\nof the lighthouse")).await;
    deployment.publish_as("work", vault("# Work\n\non the lighthouse").root()).await;
    deployment
}

async fn put(deployment: &Deployment, document: &str) {
    deployment.objects.put(&Path::from(KEY), PutPayload::from(document.to_owned())).await.unwrap();
}

fn in_vault(vault: &str) -> (String, String) {
    ("x-atlas-vault".to_owned(), vault.to_owned())
}

async fn read(client: &Client, headers: &[(String, String)]) -> Reply {
    send(client, "GET", "/notes/note.md", headers, &Value::Null).await
}

#[tokio::test]
async fn a_token_reaches_its_vault_and_no_other() {
    let document = json!({ "vaults": [{ "id": "main" }, { "id": "work" }], "auth": { "mode": "jwt" } }).to_string();
    let client = two_vaults().await.set_up(&[("ATLAS_CONFIG", &document), ("ATLAS_JWT_SECRET", SECRET)]).await;
    let of = |vault: Option<&str>| bearer(&token("agent", &scope::ALL, vault));
    for (bound, named, expected) in [
        (None, None, Ok("# Home")),
        (None, Some("main"), Ok("# Home")),
        (None, Some("work"), Err("vault_forbidden")),
        (Some("main"), None, Ok("# Home")),
        (Some("main"), Some("work"), Err("vault_forbidden")),
        (Some("work"), None, Ok("# Work")),
        (Some("work"), Some("work"), Ok("# Work")),
        (Some("work"), Some("main"), Err("vault_forbidden")),
        (Some("attic"), Some("attic"), Err("vault_forbidden")),
        (Some("attic"), None, Err("vault_forbidden")),
    ] {
        let mut headers = vec![of(bound)];
        headers.extend(named.map(in_vault));
        let reply = read(&client, &headers).await;
        match expected {
            Ok(text) => assert!(reply.ok()["content"].as_str().unwrap().starts_with(text), "{bound:?} {named:?}"),
            Err(reason) => {
                assert_eq!(reply.json()["error"]["details"]["reason"], reason, "{bound:?} {named:?}");
                assert!(!String::from_utf8_lossy(&reply.body).contains("lighthouse"));
            }
        }
    }
    let found = send(&client, "POST", "/find", &[of(Some("work"))], &json!({ "term": "lighthouse" })).await.ok();
    assert!(found["results"][0]["quote"].as_str().unwrap().ends_with("on the lighthouse"), "{found}");
    // The other vault does not contain it.
    let write = send(&client, "PUT", "/notes/new.md", &[of(Some("work"))], &json!({ "content": "x" })).await;
    assert_eq!(write.status.as_u16(), 201);
    assert_eq!(send(&client, "GET", "/notes/new.md", &[of(None)], &Value::Null).await.status.as_u16(), 404);
}

#[tokio::test]
async fn the_environment_names_the_default_vault() {
    let document = json!({ "vaults": [{ "id": "main" }, { "id": "work" }] }).to_string();
    let deployment = two_vaults().await;
    let client = deployment.set_up(&[("ATLAS_CONFIG", &document), ("ATLAS_VAULT", "work")]).await;
    assert_eq!(read(&client, &[]).await.ok()["content"], "# Work\n\non the lighthouse");
    assert_eq!(read(&client, &[in_vault("main")]).await.ok()["content"], "# Home\n\nof the lighthouse");
    let attic = [("ATLAS_CONFIG", document.as_str()), ("ATLAS_VAULT", "attic")];
    let refused = deployment.try_set_up(&attic, LONG).await.err().unwrap();
    assert!(refused.contains("write one of the configuration's vaults: main, work"), "{refused}");
}

#[tokio::test]
async fn each_vault_has_its_own_rules_or_the_roots() {
    let document = json!({
        "vaults": [{ "id": "main" }, { "id": "work", "acl": { "writePaths": ["inbox/**"] } }],
        "acl": { "readOnly": true },
    });
    let client = two_vaults().await.set_up(&[("ATLAS_CONFIG", &document.to_string())]).await;
    let write = async |vault: &str, path: &str| {
        let content = json!({ "content": "x" });
        send(&client, "PUT", &format!("/notes/{path}"), &[in_vault(vault)], &content).await.status.as_u16()
    };
    assert_eq!(
        (write("main", "inbox/a.md").await, write("work", "inbox/a.md").await, write("work", "a.md").await),
        (403, 201, 403)
    );
    read(&client, &[in_vault("main")]).await.ok();
}

#[tokio::test]
async fn a_warm_process_follows_the_document_and_refuses_while_it_is_bad() {
    let deployment = two_vaults().await;
    let document = |auth: &str, more: &str| format!(r#"{{"auth": {{"mode": "{auth}"}}{more}}}"#);
    let (shut, open) = (document("jwt", ""), document("none", r#", "acl": {"readPaths": ["other/**"]}"#));
    put(&deployment, &shut).await;
    let variables = [("ATLAS_CONFIG", format!("store:{KEY}")), ("ATLAS_JWT_SECRET", SECRET.to_owned())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let client = deployment.try_set_up(&variables, Duration::ZERO).await.unwrap();
    let headers = [bearer(&token("agent", &[Scope::ReadVault], None))];
    read(&client, &headers).await.ok();
    assert_eq!(read(&client, &[]).await.status.as_u16(), 401);

    let refuses = async |what: &str| {
        for reply in [read(&client, &headers).await, read(&client, &[]).await, client.get("/openapi.json").await] {
            assert_eq!(reply.error(503).1, "config_unusable", "{what}");
            assert!(!String::from_utf8_lossy(&reply.body).contains("acl"), "what is wrong is for the log");
        }
        let health = client.get("/health").await;
        assert_eq!((health.status.as_u16(), health.json()), (503, json!({ "ok": false })), "{what}");
    };
    for bad in ["", "{", r#"{"acl": {"readOnly": "yes"}}"#, r#"{"vaults": [{"id": "main", "path": "/"}]}"#] {
        put(&deployment, bad).await;
        refuses(bad).await;
        refuses(bad).await;
        put(&deployment, &shut).await;
        read(&client, &headers).await.ok();
        assert_eq!(read(&client, &[]).await.status.as_u16(), 401);
    }
    deployment.objects.delete(&Path::from(KEY)).await.unwrap();
    refuses("it is gone").await;
    put(&deployment, &shut).await;
    read(&client, &headers).await.ok();

    // The rules of a new document apply from the next request on, also to cached data.
    put(&deployment, &open).await;
    assert_eq!(read(&client, &[]).await.status.as_u16(), 403);
    put(&deployment, &document("none", "")).await;
    read(&client, &[]).await.ok();
}

#[tokio::test]
async fn what_was_fetched_is_kept_when_the_document_changes() {
    let deployment = two_vaults().await;
    put(&deployment, "{}").await;
    let variables = [("ATLAS_CONFIG", &*format!("store:{KEY}"))];
    let client = deployment.try_set_up(&variables, Duration::ZERO).await.unwrap();
    read(&client, &[]).await.ok();
    put(&deployment, r#"{"acl": {"readOnly": true}}"#).await;
    client.requests.take();
    read(&client, &[]).await.ok();
    let requests = client.requests.take();
    assert_eq!(requests.without("manifests/").without(KEY).count(), 0, "{requests}");
}

#[tokio::test]
async fn who_has_called_too_often_has_so_after_the_document_changed() {
    let deployment = two_vaults().await;
    let document = |more: &str| {
        let throttle = r#""throttle": {"tiers": {"read": {"perMinute": 1, "burst": 2}}}"#;
        format!(r#"{{"auth": {{"mode": "jwt"}}, {throttle}{more}}}"#)
    };
    put(&deployment, &document("")).await;
    let variables = [("ATLAS_CONFIG", &*format!("store:{KEY}")), ("ATLAS_JWT_SECRET", SECRET)];
    let client = deployment.try_set_up(&variables, Duration::ZERO).await.unwrap();
    let headers = [bearer(&token("agent", &[Scope::ReadVault], None))];
    let mut statuses = Vec::new();
    for more in ["", "", "", r#", "elicitTtlSeconds": 60"#] {
        put(&deployment, &document(more)).await;
        statuses.push(read(&client, &headers).await.status.as_u16());
    }
    assert_eq!(statuses, [200, 200, 429, 429]);
    put(&deployment, r#"{"auth": {"mode": "jwt"}}"#).await;
    read(&client, &headers).await.ok();
}

#[tokio::test]
async fn a_document_is_asked_for_when_it_is_old_and_sent_when_it_changed() {
    let deployment = two_vaults().await;
    put(&deployment, "{}").await;
    let variables = [("ATLAS_CONFIG", &*format!("store:{KEY}"))];
    for (max_age, asked) in [(LONG, 0), (Duration::ZERO, 1)] {
        let client = deployment.try_set_up(&variables, max_age).await.unwrap();
        read(&client, &[]).await.ok();
        client.requests.take();
        read(&client, &[]).await.ok();
        let requests = client.requests.take();
        let of_document: Vec<u64> =
            requests.0.iter().filter(|request| request.key == KEY).map(|request| request.bytes).collect();
        assert_eq!(of_document, vec![0; asked], "{requests}");
    }
}

#[tokio::test]
async fn a_document_in_a_file_is_followed_too() {
    let deployment = two_vaults().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("atlas.json");
    std::fs::write(&file, "{}").unwrap();
    let variables = [("ATLAS_CONFIG", file.to_str().unwrap())];
    let client = deployment.try_set_up(&variables, Duration::ZERO).await.unwrap();
    read(&client, &[]).await.ok();
    for (text, status) in
        [(Some("}{"), 503), (Some(r#"{"acl":{"readPaths":[]}}"#), 403), (None, 503), (Some("{}"), 200)]
    {
        match text {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        assert_eq!(read(&client, &[]).await.status.as_u16(), status, "{text:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_asked_again_and_then_nothing_is_answered() {
    let deployment = two_vaults().await;
    put(&deployment, "{}").await;
    let store = FaultStore::new(deployment.objects.clone());
    let place = Store::new(store.clone(), "", StoreOptions::default()).unwrap();
    let settings = settings(&[("ATLAS_CONFIG", &format!("store:{KEY}"))]);
    let client = Client::try_set_up_over(&place, &settings, Duration::ZERO).await.unwrap();
    for fault in [Fault::Error, Fault::Silence, Fault::Refused] {
        store.once(Op::Get, KEY, fault);
        read(&client, &[]).await.ok();
        store.always(Op::Get, KEY, fault);
        assert_eq!(read(&client, &[]).await.error(503).1, "config_unusable", "{fault:?}");
        let refused = Client::try_set_up_over(&place, &settings, Duration::ZERO).await.err().unwrap();
        assert!(refused.contains("cannot be read: ") && refused.lines().count() == 1, "{refused}");
        store.heal();
        read(&client, &[]).await.ok();
    }
    // An incomplete document is not used.
    put(&deployment, r#"{"acl": {"readPaths": []}}"#).await;
    store.once(Op::Get, KEY, Fault::Truncated);
    assert_eq!(read(&client, &[]).await.status.as_u16(), 403);
}

#[tokio::test]
async fn a_server_answers_for_the_hosts_of_the_document() {
    let deployment = two_vaults().await;
    let document = |host: &str| json!({ "transports": { "http": { "allowedHosts": [host] } } }).to_string();
    put(&deployment, &document("atlas.example.org")).await;
    let place = format!("store:{KEY}");
    let variables = [("ATLAS_CONFIG", place.as_str()), ("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET)];
    let app = deployment.app_of(&variables).await.for_its_hosts();
    let client = Client::of(app, CountingStore::new(deployment.objects.clone()));
    let ask = async |host: &str| client.get_with("/health", &[("host", host)]).await.status.as_u16();
    assert_eq!(
        (ask("atlas.example.org").await, ask("new.example.org").await, ask("localhost:1").await),
        (200, 403, 200)
    );
    put(&deployment, &document("new.example.org")).await;
    assert_eq!(
        (ask("atlas.example.org").await, ask("new.example.org").await, ask("localhost:1").await),
        (403, 200, 200)
    );
}

#[tokio::test]
async fn who_can_be_reached_by_a_public_name_tells_callers_apart() {
    let deployment = two_vaults().await;
    let named = |host: &str| json!({ "transports": { "http": { "allowedHosts": [host] } } }).to_string();
    for host in ["notes.example.org", "atlas", "10.0.0.1", "0.0.0.0", "localhost.example.org"] {
        let document = named(host);
        for (variable, value, called) in
            [("ATLAS_HOSTS", host, "ATLAS_HOSTS"), ("ATLAS_CONFIG", &document, "transports.http.allowedHosts")]
        {
            let refused = deployment.try_set_up(&[(variable, value)], LONG).await.err().unwrap();
            let says = format!("{called}={host} would answer anyone who can reach it: set ATLAS_AUTH=jwt");
            assert!(refused.starts_with(&says), "{refused}");
            let tokens = [(variable, value), ("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET)];
            assert!(deployment.try_set_up(&tokens, LONG).await.is_ok(), "{host}");
        }
    }
    let own = [("ATLAS_HOSTS", "localhost, 127.0.0.1, 127.8.8.8, atlas.localhost")];
    assert!(deployment.try_set_up(&own, LONG).await.is_ok());
}

#[tokio::test]
async fn a_document_that_is_missing_or_bad_stops_the_start() {
    let deployment = two_vaults().await;
    put(&deployment, &" ".repeat(300_000)).await;
    for (config, says) in [
        ("store:config/none.json", "\"config/none.json\" of counting InMemory cannot be read: there is no such object"),
        ("store:config/atlas.json", "it has more than 262144 bytes"),
        ("/no/such/file.json", "the configuration in /no/such/file.json cannot be read"),
        (r#"{"acl": 7}"#, "`acl` cannot be used: write an object"),
        (r#"{"auth": {"mode": "jwt"}}"#, "set ATLAS_JWT_SECRET, ATLAS_JWKS, or both"),
        (r#"{"toolVisibility": {"disabled": ["fnid"]}}"#, "no operation has \"fnid\""),
    ] {
        let refused = deployment.try_set_up(&[("ATLAS_CONFIG", config)], LONG).await.err().unwrap();
        assert!(refused.contains(says) && refused.lines().count() == 1, "{refused}");
    }
}

#[test]
fn the_settings_are_shown_and_checked_on_the_command_line() {
    let place = Place::new();
    let file = place.path("atlas.json");
    let config = |what: &[&str]| {
        let mut command = crate::support::programs::atlas();
        command.arg("config").args(what).env("ATLAS_STORE", &place.store).env("ATLAS_JWT_SECRET", SECRET);
        command
    };
    std::fs::write(&file, r#"{"auth": {"mode": "jwt"}, "elicitTtlSeconds": 60}"#).unwrap();
    let rows = json_of(config(&["show", "--json"]).env("ATLAS_CONFIG", &file));
    let row = |name: &str| {
        let mut rows = rows.as_array().unwrap().iter();
        let row = rows.find(|row| row["setting"].as_str().unwrap().split(' ').any(|word| word == name)).unwrap();
        (row["value"].clone(), row["source"].as_str().unwrap())
    };
    assert_eq!(row("auth.mode"), (json!("jwt"), "document"));
    assert_eq!(row("elicitTtlSeconds"), (json!(60), "document"));
    assert_eq!(row("ATLAS_JWT_SECRET"), (json!("(set)"), "environment"));
    assert_eq!(row("ATLAS_PORT"), (json!(3737), "default"));
    assert!(!rows.to_string().contains(SECRET));
    // A typed setting is not said to be of the environment. Where nobody names a vault, the configuration may.
    let several = r#"{"vaults": [{"id": "team"}, {"id": "own"}]}"#;
    let typed = ["show", "--json", "--store", "memory://", "--config", several];
    let rows = json_of(config(&typed).env_remove("ATLAS_STORE"));
    let sources: Vec<(&str, &Value)> =
        rows.as_array().unwrap().iter().map(|row| (row["setting"].as_str().unwrap(), &row["source"])).collect();
    assert!(sources.contains(&("ATLAS_STORE", &json!("named"))), "{rows}");
    assert!(sources.contains(&("vaults", &json!("document"))), "{rows}");
    let path = file.to_str().unwrap();
    assert!(config(&["validate", path]).output().unwrap().status.success());
    std::fs::write(&file, r#"{"auth": {"jwtSecret": "hush"}}"#).unwrap();
    let says = "`auth.jwtSecret` cannot be used: a secret must not be in a document";
    let refused = [
        refusal_of(&mut config(&["validate", path])),
        refusal_of(config(&["validate"]).env("ATLAS_CONFIG", &file)),
        refusal_of(config(&["show"]).env("ATLAS_CONFIG", &file)),
    ];
    assert!(refused.iter().all(|refused| refused.contains(says) && !refused.contains("hush")), "{refused:?}");
    let serve = refusal_of(place.atlas("serve").args(["--addr", "127.0.0.1:0"]).env("ATLAS_CONFIG", &file));
    assert!(serve.contains(says), "{serve}");
}
