//! Sessions, and what calls leave in them.

use std::time::Duration;

use atlas_access::Scope;
use atlas_mirror::Retention;
use atlas_ops::Limits;
use atlas_testkit::{AgingStore, Fault, FaultStore, Op, VaultBuilder};
use atlas_web::App;
use jiff::Timestamp;
use object_store::path::Path;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use serde_json::{Value, json};

use crate::support::agent::Agent;
use crate::support::deployment::{Client, Deployment};
use crate::support::signing::mirror_in;
use crate::support::tokens::{bearer, send, token};
use crate::support::tool_calls::{agent, guarded};
use crate::support::tools::Tools;

async fn deployment() -> Deployment {
    Deployment::of_vault(&VaultBuilder::new().note("a.md", "a private word").note("b.md", "b")).await
}

/// A caller of this name.
fn caller<'a>(client: &'a Client, name: &str, scopes: &[Scope]) -> Agent<'a> {
    agent(client).with(bearer(&token(name, scopes, None)))
}

/// The tools and outcomes of traces.
fn outcomes(traces: &Value) -> Vec<(String, String)> {
    let text = |trace: &Value, field: &str| trace[field].as_str().unwrap().to_owned();
    traces["items"].as_array().unwrap().iter().map(|trace| (text(trace, "tool"), text(trace, "outcome"))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(tool, outcome)| ((*tool).to_owned(), (*outcome).to_owned())).collect()
}

#[tokio::test]
async fn calls_that_name_their_session_leave_traces_in_it() {
    let deployment = deployment().await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let started =
        tools.good("start_session", json!({ "caller": "me", "session_metadata": { "goal": "tidy up" } })).await;
    let session = started["session_id"].as_str().unwrap();
    agent(&client).answer("read_note", json!({ "path": "a.md", "session": session })).await;
    tools.bad("read_note", json!({ "path": "none.md", "session": session }), "note_not_found").await;
    tools.good("append_note", json!({ "path": "b.md", "content": "more", "session": session })).await;
    tools.good("read_note", json!({ "path": "a.md" })).await;
    let ended = tools.good("end_session", json!({ "session_id": session, "end_metadata": { "done": true } })).await;
    assert_eq!((&ended["event_count"], &ended["trace_path"]), (&json!(5), &started["trace_path"]));
    tools.bad("end_session", json!({ "session_id": session }), "invalid_input").await;

    let traces = tools.good("get_session_traces", json!({ "session_id": session })).await;
    let expected = [
        ("start_session", "ok"),
        ("read_note", "ok"),
        ("read_note", "note_not_found"),
        ("append_note", "ok"),
        ("end_session", "ok"),
    ];
    assert_eq!(outcomes(&traces), pairs(&expected));
    let items = traces["items"].as_array().unwrap();
    assert_eq!((&items[1]["session_id"], &traces["total_count"]), (&json!(session), &json!(5)));
    assert_eq!((items[1]["result_hash"].is_string(), items[2].get("result_hash")), (true, None));
    assert!(items[1]["args_hash"] != items[2]["args_hash"], "{traces}");
    // The changes are of the session, as before.
    let history = tools.good("note_history", json!({ "path": "b.md" })).await;
    assert_eq!(history["versions"][0]["session"], session, "{history}");
}

#[tokio::test]
async fn a_trace_holds_no_argument_and_no_text() {
    let deployment = deployment().await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let secret = json!({ "goal": "a secret goal" });
    let session = tools.good("start_session", json!({ "session_metadata": secret })).await["session_id"].clone();
    agent(&client).answer("search_text", json!({ "query": "private", "session": session })).await;
    tools.good("append_note", json!({ "path": "b.md", "content": "hush", "session": session })).await;
    let below = Path::from("vaults/main/state/sessions");
    let objects: Vec<_> = futures::TryStreamExt::try_collect(deployment.objects.list(Some(&below))).await.unwrap();
    assert_eq!(objects.len(), 3);
    for object in objects {
        let bytes = deployment.objects.get(&object.location).await.unwrap().bytes().await.unwrap();
        let all = format!("{} {}", object.location, String::from_utf8_lossy(&bytes));
        for text in ["private", "secret", "hush", "b.md", "goal"] {
            assert!(!all.contains(text), "{all}");
        }
        assert!(bytes.len() < 500, "{all}");
    }
}

/// The header names a session where arguments have no room for it.
#[tokio::test]
async fn a_session_costs_one_request_a_call_and_none_costs_none() {
    let deployment = deployment().await;
    let client = deployment.client();
    let read = async |headers: &[(&str, &str)]| {
        client.requests.take();
        client.get_with("/notes/a.md", headers).await.ok();
        client.requests.take()
    };
    read(&[]).await;
    let (without, with) = (read(&[]).await, read(&[("x-atlas-session", "work")]).await);
    assert_eq!(with.count(), without.count() + 1);
    assert_eq!((without.of(Op::Create).count(), with.of(Op::Create).count()), (0, 1));
    assert!(with.of(Op::Create).all(|request| request.key.contains("state/sessions/")));
    assert_eq!(with.waves(), without.waves() + 1);
    // Of one session they are one request, however many there are.
    client.requests.take();
    let traces = Tools::of(&client).good("get_session_traces", json!({ "session_id": "work" })).await;
    assert_eq!(outcomes(&traces), pairs(&[("read_note", "ok")]));
    assert_eq!(client.requests.take().without("manifests").of(Op::List).count(), 1);
}

#[tokio::test]
async fn a_store_that_takes_no_trace_fails_no_call() {
    let deployment = deployment().await;
    let faults = FaultStore::new(deployment.objects.clone());
    faults.always(Op::Create, "state/sessions", Fault::Refused);
    let place = atlas_mirror::Store::new(faults, "", atlas_mirror::StoreOptions::default()).unwrap();
    let client = Client::over(&place);
    let read = client.get_with("/notes/a.md", &[("x-atlas-session", "work")]).await;
    assert_eq!(read.ok()["content"], "a private word");
    // To begin a session is to leave its first trace.
    let error = agent(&client).failure("start_session", json!({})).await;
    assert_ne!(error["code"], Value::Null);
}

#[tokio::test]
async fn callers_see_their_own_sessions_and_administrators_all() {
    let deployment = deployment().await;
    let client = guarded(&deployment).await;
    let (ada, bob) = (caller(&client, "ada", &[Scope::ReadVault]), caller(&client, "bob", &[Scope::ReadVault]));
    let admin = caller(&client, "root", &[Scope::ReadVault, Scope::Admin]);
    let session = ada.checked("start_session", json!({})).await["session_id"].clone();
    ada.answer("read_note", json!({ "path": "a.md", "session": session })).await;
    // Of the same name, and yet another.
    bob.answer("read_note", json!({ "path": "b.md", "session": "work" })).await;
    ada.answer("list_notes", json!({ "session": "work" })).await;

    for (tool, arguments) in [
        ("get_session_traces", json!({ "session_id": session })),
        ("end_session", json!({ "session_id": session })),
        ("get_session_traces", json!({ "session_id": "ses_none" })),
    ] {
        assert_eq!(bob.failure(tool, arguments).await["code"], "invalid_input", "{tool}");
    }
    let refused = bob.failure("get_session_traces", json!({ "of_everyone": true })).await;
    assert_eq!(refused["code"], "scope_missing");
    let of =
        async |agent: &Agent<'_>, arguments: Value| outcomes(&agent.checked("get_session_traces", arguments).await);
    assert_eq!(of(&bob, json!({})).await, pairs(&[("read_note", "ok")]));
    assert_eq!(of(&ada, json!({ "session_id": "work" })).await, pairs(&[("list_notes", "ok")]));
    assert_eq!(of(&ada, json!({})).await.len(), 3);
    let all = admin.checked("get_session_traces", json!({ "of_everyone": true })).await;
    let callers: Vec<&str> =
        all["items"].as_array().unwrap().iter().map(|item| item["caller"].as_str().unwrap()).collect();
    assert_eq!((callers, &all["items"][0]["session_id"]), (vec!["ada", "ada", "bob", "ada"], &session));
    let named = admin.checked("get_session_traces", json!({ "of_everyone": true, "session_id": "work" })).await;
    assert_eq!(named["total_count"], 2);
}

#[tokio::test]
async fn who_may_not_call_leaves_nothing() {
    let deployment = deployment().await;
    let client = guarded(&deployment).await;
    let below = Path::from("vaults/main/state/sessions");
    let header = ("x-atlas-session".to_owned(), "work".to_owned());
    for headers in [vec![header.clone()], vec![header, bearer(&token("eve", &[], None))]] {
        let reply = send(&client, "GET", "/notes/a.md", &headers, &Value::Null).await;
        assert!(matches!(reply.status.as_u16(), 401 | 403), "{reply:?}");
    }
    assert!(deployment.objects.list_with_delimiter(Some(&below)).await.unwrap().common_prefixes.is_empty());
    let eve = caller(&client, "eve", &[Scope::ReadVault]);
    for session in ["", "a\nb", &"x".repeat(201)] {
        let error = eve.failure("read_note", json!({ "path": "a.md", "session": session })).await;
        assert_eq!(error["code"], "validation_error", "{session:?}");
    }
    assert!(deployment.objects.list_with_delimiter(Some(&below)).await.unwrap().common_prefixes.is_empty());
}

#[tokio::test]
async fn traces_come_in_pages_and_by_time_and_tool() {
    let deployment = deployment().await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    for path in ["a.md", "b.md", "a.md"] {
        agent(&client).answer("read_note", json!({ "path": path, "session": "work" })).await;
        agent(&client).answer("note_exists", json!({ "path": path, "session": "work" })).await;
    }
    let traces = async |mut arguments: Value| {
        arguments["session_id"] = "work".into();
        tools.good("get_session_traces", arguments).await
    };
    let all = traces(json!({})).await["items"].clone();
    let mut paged = Vec::new();
    let mut cursor = None;
    loop {
        let page = traces(cursor.map_or(json!({ "limit": 2 }), |cursor| json!({ "limit": 2, "cursor": cursor }))).await;
        paged.extend(page["items"].as_array().unwrap().clone());
        cursor = page["cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((json!(paged), paged.len()), (all.clone(), 6));
    let filtered = traces(json!({ "tool_filter": ["note_exists"] })).await;
    assert_eq!(outcomes(&filtered), vec![("note_exists".to_owned(), "ok".to_owned()); 3]);
    let time = all[2]["ts"].as_str().unwrap();
    assert!(traces(json!({ "from": time })).await["total_count"].as_u64().unwrap() >= 4);
    assert_eq!(traces(json!({ "to": "2001-01-01" })).await["total_count"], 0);
    for (field, text) in [("from", "yesterday"), ("to", "2026-13-01")] {
        tools.bad("get_session_traces", json!({ "session_id": "work", field: text }), "invalid_input").await;
    }
    tools.bad("get_session_traces", json!({ "session_id": "work", "cursor": "x" }), "cursor_invalid").await;
}

#[tokio::test]
async fn old_traces_are_collected_with_the_history() {
    let deployment = deployment().await;
    let aging = AgingStore::new(deployment.objects.clone());
    let place = atlas_mirror::Store::new(aging.clone(), "", atlas_mirror::StoreOptions::default()).unwrap();
    let app = App::over(place.clone(), "main".parse().unwrap(), Limits::default(), 1 << 20).unwrap();
    let client = Client::of(app, atlas_testkit::CountingStore::new(aging.clone()));
    let tools = Tools::of(&client);
    let day = Duration::from_secs(24 * 3600);
    agent(&client).answer("read_note", json!({ "path": "a.md", "session": "old" })).await;
    aging.pass(20 * day);
    agent(&client).answer("read_note", json!({ "path": "a.md", "session": "new" })).await;
    aging.pass(11 * day);
    let now = Timestamp::now() + 31 * day;
    let collected = mirror_in(&place).collect(Retention::default(), now).await.unwrap();
    assert_eq!(collected.objects, 1, "{collected:?}");
    tools.bad("get_session_traces", json!({ "session_id": "old" }), "invalid_input").await;
    assert_eq!(tools.good("get_session_traces", json!({ "session_id": "new" })).await["total_count"], 1);
}
