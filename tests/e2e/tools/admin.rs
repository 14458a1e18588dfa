//! obsidian-tc's tools for a deployment and its vaults.

use std::time::Duration;

use atlas_access::{Scope, scope};
use atlas_testkit::VaultBuilder;
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::{Client, Deployment, all_functions, settings};
use crate::support::models;
use crate::support::tokens::{SECRET, bearer, send, token};
use crate::support::tools::Tools;

async fn two_vaults() -> Deployment {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    deployment.publish_as("work", VaultBuilder::new().note("w.md", "w").root()).await;
    deployment
}

fn config() -> String {
    json!({
        "vaults": [
            { "id": "main", "name": "My notes", "acl": { "readOnly": true, "readPaths": ["**"] } },
            { "id": "work" },
        ],
        "throttle": {
            "tiers": { "admin": { "perMinute": 600, "burst": 100 } },
            "vaultTiers": { "read": { "perMinute": 9000, "burst": 900 } },
        },
    })
    .to_string()
}

#[tokio::test]
async fn vaults_and_how_they_may_be_used_are_told() {
    let client = two_vaults().await.set_up(&[("ATLAS_CONFIG", &config())]).await;
    let tools = Tools::of(&client);
    let listed = tools.good("list_vaults", json!({})).await;
    let [main, work] = listed["vaults"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&main["id"], &main["name"], &main["read_only"]), (&json!("main"), &json!("My notes"), &json!(true)));
    assert_eq!((&work["name"], &work["chunk_count"], &main["chunk_count"]), (&json!("work"), &json!(1), &json!(1)));
    let vault = tools.good("get_vault", json!({})).await;
    assert_eq!(vault["acl"], json!({ "read_paths": ["**"], "write_paths": null, "delete_paths": null }));
    assert_eq!(vault["cache"]["generation"], 1);
    assert_eq!(tools.good("get_vault", json!({ "vault": "work" })).await["id"], "work");
    tools.bad("get_vault", json!({ "vault": "none" }), "vault_not_found").await;
    let agent = Agent::new(&client, ERAS[0]);
    for tool in ["reload_vault", "reset_vault_cache"] {
        assert_eq!(agent.answer(tool, json!({ "vault_id": "work" })).await["vault"], "work");
        let both = json!({ "vault": "work", "vault_id": "work" });
        assert_eq!(agent.refused(tool, both).await, "invalid_input");
    }
    let unknown = agent.failure("reload_vault", json!({ "colour": "red" })).await;
    assert!(unknown["message"].as_str().unwrap().contains("expected `vault`"), "{unknown}");
    let config = tools.good("get_server_config", json!({})).await;
    assert_eq!((&config["auth_mode"], &config["vaults_summary"][0]["id"]), (&json!("none"), &json!("main")));
    let limits = &config["limits"];
    assert_eq!(
        (&limits["max_operations_per_minute"], &limits["max_vault_operations_per_minute"]),
        (&json!(600), &json!(9000))
    );
    let health = tools.good("server_health", json!({})).await;
    assert_eq!((&health["status"], &health["vaults"]), (&json!("ok"), &json!(["main", "work"])));
    assert!(health["uptime_ms"].as_u64().unwrap() < 600_000, "{health}");
    assert_eq!((&health["native_loaded"], &health["fts_enabled"]), (&json!(true), &json!(true)));
    let indexed = tools.good("index_vault", json!({ "folder": "a", "vault": "work" })).await;
    assert_eq!((&indexed["upserted"], &indexed["deleted"], &indexed["unchanged"]), (&json!(0), &json!(0), &json!(0)));
    let indexed = tools.good("index_vault", json!({ "vault": "work" })).await;
    assert_eq!((&indexed["upserted"], &indexed["deleted"], &indexed["unchanged"]), (&json!(1), &json!(0), &json!(0)));
    tools.bad("index_vault", json!({ "folder": "../a" }), "path_invalid").await;
}

#[tokio::test]
async fn what_was_counted_is_told() {
    let client = two_vaults().await.client();
    let tools = Tools::of(&client);
    tools.good("find", json!({ "term": "a" })).await;
    let metrics = tools.good("get_metrics", json!({})).await;
    let value = |name: &str, operation: Option<&str>| {
        let is_it = |metric: &&Value| {
            metric["name"] == name && operation.is_none_or(|operation| metric["labels"]["operation"] == operation)
        };
        metrics["metrics"].as_array().unwrap().iter().find(is_it).map(|metric| metric["value"].as_f64().unwrap())
    };
    assert_eq!((value("atlas_vault_notes", None), value("atlas_vault_generation", None)), (Some(2.0), Some(1.0)));
    assert_eq!(value("atlas_requests_total", Some("find")), Some(1.0), "{metrics}");
    assert_eq!(metrics["partial"], false);
    tools.bad("get_metrics", json!({ "colour": "red" }), "validation_error").await;
}

#[tokio::test]
async fn counters_tell_how_a_call_went_whatever_its_door_says() {
    let throttle = json!({ "throttle": { "tiers": { "write": { "perMinute": 1, "burst": 1 } } } }).to_string();
    let client = two_vaults().await.set_up(&[("ATLAS_CONFIG", &throttle)]).await;
    let tools = Tools::of(&client);
    tools.good("find", json!({ "term": "a" })).await;
    tools.bad("read_note", json!({ "path": "absent.md" }), "note_not_found").await;
    for path in ["one.md", "two.md", "three.md"] {
        let call = json!({ "arguments": { "path": path, "content": "x" } });
        client.post("/bridge/v1/tools/note_upsert/call", call).await.ok();
    }
    let metrics = tools.good("get_metrics", json!({})).await;
    let counted = |name: &str, labels: &[(&str, &str)]| {
        let has = |metric: &Value| labels.iter().all(|(label, value)| metric["labels"][label] == *value);
        let of_name = metrics["metrics"].as_array().unwrap().iter().filter(|metric| metric["name"] == name);
        of_name.filter(|metric| has(metric)).map(|metric| metric["value"].as_f64().unwrap()).sum::<f64>() as u64
    };
    let requests = "atlas_requests_total";
    let vault = ("vault", "main");
    assert_eq!(counted(requests, &[("operation", "find"), ("outcome", "ok"), vault]), 1, "{metrics}");
    assert_eq!(counted(requests, &[("operation", "read_note"), ("outcome", "NOT_FOUND"), vault]), 1, "{metrics}");
    assert_eq!(counted(requests, &[("operation", "note_upsert"), ("outcome", "ok")]), 1, "{metrics}");
    assert_eq!(counted(requests, &[("operation", "note_upsert"), ("outcome", "TOO_MANY_REQUESTS")]), 2, "{metrics}");
    assert_eq!(counted("atlas_throttled_total", &[("operation", "note_upsert"), vault]), 2, "{metrics}");
}

#[tokio::test]
async fn counters_are_for_who_may_administer_through_every_door() {
    let settings = settings(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET)]);
    let app = atlas_web::App::open(&settings, atlas_web::state::Reach::Loopback).await.unwrap();
    let router = atlas_web::Routes::default().metrics().into_router(app);
    for (scopes, status) in [(&[Scope::ReadVault][..], 403), (&[Scope::WriteVault], 403), (&[Scope::Admin], 200)] {
        let (name, value) = bearer(&token("agent", scopes, None));
        let request = axum::http::Request::get("/metrics").header(name, value).body(axum::body::Body::empty()).unwrap();
        let answer = tower::ServiceExt::oneshot(router.clone(), request).await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{scopes:?}");
    }
}

#[tokio::test]
async fn counters_of_a_vault_are_for_who_may_name_it() {
    let deployment = two_vaults().await;
    let document = PutPayload::from_static(br#"{"id": "work"}"#);
    deployment.objects.put(&Path::from("config/vaults/work.json"), document).await.unwrap();
    let listed = json!({ "vaults": [{ "id": "main" }, { "id": "work" }] });
    let documented = json!({ "vaults": [{ "id": "main" }], "vaultDocuments": "store:config/vaults" });
    let alone = json!({ "vaults": [{ "id": "main" }] });
    for (config, vaults) in [(listed, &["main", "work"][..]), (documented, &["main", "work"]), (alone, &["main"])] {
        let variables = [("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET), ("ATLAS_CONFIG", &config.to_string())];
        let (place, settings) = (deployment.store(), settings(&variables));
        let client = Client::of_routes(all_functions().metrics(), &place, &settings, Duration::from_secs(30)).await;
        for vault in vaults {
            let by = bearer(&token("reader", &scope::ALL, Some(vault)));
            send(&client, "GET", "/notes", &[by], &Value::Null).await.ok();
        }
        for vault in [None].into_iter().chain(vaults.iter().copied().map(Some)) {
            let (own, other) = if vault == Some("work") { ("work", "main") } else { ("main", "work") };
            let by = bearer(&token("admin", &[Scope::Admin], vault));
            let text = send(&client, "GET", "/metrics", std::slice::from_ref(&by), &Value::Null).await;
            let text = String::from_utf8(text.body.to_vec()).unwrap();
            let told = Agent::new(&client, ERAS[0]).with(by).answer("get_metrics", json!({})).await.to_string();
            for (seen, label) in [(text, "vault="), (told, "\"vault\":")] {
                assert!(seen.contains(&format!("{label}\"{own}\"")), "{config} {vault:?}: {seen}");
                assert!(!seen.contains(&format!("{label}\"{other}\"")), "{config} {vault:?}: {seen}");
                let is_whole = seen.contains("atlas_request_seconds_count");
                assert_eq!(is_whole, vaults.len() == 1, "{config} {vault:?}: {seen}");
            }
        }
    }
}

#[tokio::test]
async fn as_many_counters_are_told_as_an_answer_has_room_for() {
    let config = json!({ "governor": { "maxResponseBytes": 1000 } }).to_string();
    let client = two_vaults().await.set_up(&[("ATLAS_CONFIG", &config)]).await;
    let told = Agent::new(&client, ERAS[0]).answer("get_metrics", json!({})).await;
    assert_eq!((&told["partial"], &told["metrics"][0]["name"]), (&json!(true), &json!("atlas_vault_generation")));
}

#[tokio::test]
async fn health_tells_of_a_model_where_the_vault_is_known() {
    let deployment = two_vaults().await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let told = async || tools.good("server_health", json!({})).await["vec_enabled"].clone();
    assert_eq!(told().await, Value::Null);
    client.get("/notes/a.md").await.ok();
    assert_eq!(told().await, false);
    models::add(&deployment.mirror(), 1).await;
    client.get("/notes/a.md").await.ok();
    assert_eq!(told().await, true);
}

#[tokio::test]
async fn who_may_not_administer_is_told_of_health_alone() {
    let variables = [("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET), ("ATLAS_CONFIG", &config())];
    let client = two_vaults().await.set_up(&variables).await;
    let reader = Agent::new(&client, ERAS[0]).with(bearer(&token("reader", &[Scope::ReadVault], None)));
    for tool in ["list_vaults", "get_vault", "get_server_config", "get_metrics", "index_vault", "inspect_acl"] {
        let call = if tool == "inspect_acl" { json!({ "path": "a.md", "op": "read" }) } else { json!({}) };
        assert_eq!(reader.failure(tool, call).await["code"], "scope_missing", "{tool}");
    }
    // A token without a vault is for the default one.
    assert_eq!(reader.answer("server_health", json!({})).await["vaults"], json!(["main"]));
    let admin = Agent::new(&client, ERAS[0]).with(bearer(&token("admin", &scope::ALL, None)));
    let listed = admin.answer("list_vaults", json!({})).await;
    assert_eq!(listed["vaults"].as_array().unwrap().len(), 1);
    let told = admin.answer("get_server_config", json!({})).await;
    assert_eq!(told["auth_mode"], "jwt");
    assert!(!told.to_string().contains(SECRET));
    let acl = admin.answer("inspect_acl", json!({ "path": "a.md", "op": "write", "scopes": ["write:vault"] })).await;
    assert_eq!(
        (&acl["kill_switch"], &acl["denied_by"], acl.get("matched_rule")),
        (&json!(true), &json!("readOnly"), None)
    );
}

#[tokio::test]
async fn links_for_the_app_are_made_and_encoded() {
    let client = two_vaults().await.client();
    let tools = Tools::of(&client);
    for (call, uri) in [
        (json!({ "action": "open" }), "obsidian://open"),
        (
            json!({ "action": "open", "vault_name": "My notes", "params": { "file": "a/b & c.md", "heading": "# Ä=1" } }),
            "obsidian://open?vault=My%20notes&file=a%2Fb%20%26%20c.md%23%C3%84%3D1",
        ),
        (json!({ "action": "open", "params": { "file": "a", "block": "^x" } }), "obsidian://open?file=a%23%5Ex"),
        (json!({ "action": "search", "params": { "query": "tag:#a" } }), "obsidian://search?query=tag%3A%23a"),
        (
            json!({ "action": "new", "params": { "name": "n", "silent": true, "append": false } }),
            "obsidian://new?name=n&silent",
        ),
        (
            json!({ "action": "new", "params": { "silent": true, "name": "n", "content": "c" } }),
            "obsidian://new?content=c&name=n&silent",
        ),
        (json!({ "action": "daily", "vault_name": "v" }), "obsidian://daily?vault=v"),
        (
            json!({ "action": "command", "params": { "commandid": "editor:save-file" } }),
            "obsidian://advanced-uri?commandid=editor%3Asave-file",
        ),
        (json!({ "action": "hookmark" }), "obsidian://hook-get-address"),
        (json!({ "action": "advanced", "params": { "line": 3 } }), "obsidian://advanced-uri?line=3"),
    ] {
        assert_eq!(tools.good("generate_uri", call).await["uri"], uri);
    }
    for call in [
        json!({ "action": "new" }),
        json!({ "action": "command", "params": { "file": "a" } }),
        json!({ "action": "search", "params": { "colour": "red" } }),
        json!({ "action": "open", "params": { "heading": "x" } }),
        json!({ "action": "open", "params": { "file": "a", "heading": "x", "block": "y" } }),
        json!({ "action": "open", "params": { "file": 7 } }),
        json!({ "action": "advanced", "params": { "a": [] } }),
    ] {
        tools.bad("generate_uri", call, "invalid_input").await;
    }
    tools.bad("generate_uri", json!({ "action": "explode" }), "validation_error").await;
}

#[tokio::test]
async fn a_configuration_is_read_again_when_it_is_asked_for() {
    let deployment = two_vaults().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let write = |text: &str| std::fs::write(file.path(), text).unwrap();
    write("{}");
    // It would be looked at again in half a minute only.
    let client = deployment.set_up(&[("ATLAS_CONFIG", file.path().to_str().unwrap())]).await;
    let tools = Tools::of(&client);
    let reloaded = tools.good("reload_vault", json!({})).await;
    assert_eq!((&reloaded["vault"], &reloaded["configuration"]), (&json!("main"), &json!("same")));
    assert_eq!(reloaded["generation"], 1);
    write(r#"{"acl": {"readOnly": true}}"#);
    tools.good("append_note", json!({ "path": "a.md", "content": "x" })).await;
    assert_eq!(tools.good("reload_vault", json!({})).await["configuration"], "changed");
    tools.bad("append_note", json!({ "path": "a.md", "content": "x" }), "read_only_mode").await;
    write("{");
    tools.bad("reload_vault", json!({}), "config_unusable").await;
    let fixed = deployment.client();
    assert_eq!(Tools::of(&fixed).good("reload_vault", json!({})).await["configuration"], "fixed");
}

#[tokio::test]
async fn what_a_process_holds_of_a_vault_can_be_dropped() {
    let deployment = two_vaults().await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let read = async || {
        client.requests.take();
        tools.good("read_note", json!({ "path": "a.md" })).await;
        client.requests.take().without("manifests").without("latest").count()
    };
    let (cold, warm) = (read().await, read().await);
    assert!(cold > warm, "{cold} {warm}");
    let reset = tools.good("reset_vault_cache", json!({ "include": { "chunks": false } })).await;
    assert_eq!((&reset["bytes_dropped"], read().await), (&json!(0), warm));
    let reset = tools.good("reset_vault_cache", json!({})).await;
    assert!(reset["bytes_dropped"].as_u64().unwrap() > 0 && reset["rows_dropped"]["chunks"].as_u64().unwrap() > 0);
    assert!(read().await > warm, "it is fetched again");
    assert_eq!(read().await, warm);
}

#[tokio::test]
async fn only_administrators_reload_and_reset() {
    let deployment = two_vaults().await;
    let client = deployment.set_up(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET)]).await;
    let by = |scopes: &[Scope]| Agent::new(&client, ERAS[0]).with(bearer(&token("agent", scopes, None)));
    for tool in ["reload_vault", "reset_vault_cache"] {
        let some = scope::ALL.into_iter().filter(|scope| *scope != Scope::Admin).collect::<Vec<_>>();
        assert_eq!(by(&some).failure(tool, json!({})).await["code"], "scope_missing", "{tool}");
        by(&[Scope::Admin]).checked(tool, json!({})).await;
    }
}
