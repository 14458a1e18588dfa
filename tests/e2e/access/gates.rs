//! The order of the gates: of several that would stop a call, the first one does, and later ones have no effect.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use atlas_access::{Scope, scope};
use atlas_mirror::{Store, StoreOptions};
use atlas_ops::pipeline::audit::Audit;
use atlas_ops::pipeline::idempotency::arguments_hash;
use atlas_testkit::{CountingStore, Fault, FaultStore, Op, VaultBuilder};
use futures::TryStreamExt as _;
use object_store::ObjectStore as _;
use serde_json::{Value, json};

use crate::support::clock;
use crate::support::deployment::{Client, Deployment, Reply, assert_sorted};
use crate::support::tokens::{SECRET, bearer, send, token};

/// The gates in their order, each with the status and reason of a call that it stops.
const GATES: [(Gate, u16, &str); 11] = [
    (Gate::Token, 401, "token_invalid"),
    (Gate::Lookup, 405, "method_not_allowed"),
    (Gate::Arguments, 400, "validation_error"),
    (Gate::Scopes, 403, "scope_missing"),
    (Gate::Vault, 403, "vault_forbidden"),
    (Gate::ReadOnly, 403, "read_only_mode"),
    (Gate::AccessList, 403, "acl_denied"),
    (Gate::Idempotency, 409, "idempotency_key_mismatch"),
    (Gate::Throttle, 429, "throttled"),
    (Gate::Handler, 404, "note_not_found"),
    (Gate::Confirmation, 403, "elicit_required"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Token,
    Lookup,
    Arguments,
    Scopes,
    Vault,
    ReadOnly,
    AccessList,
    Idempotency,
    Throttle,
    Handler,
    Confirmation,
}

/// A process over `deployment` with these gates shut.
async fn process(deployment: &Deployment, shut: &[Gate]) -> Client {
    let is = |gate| shut.contains(&gate);
    let mut config =
        json!({ "vaults": [{ "id": "main" }, { "id": "work" }], "acl": { "readOnly": is(Gate::ReadOnly) } });
    if is(Gate::Lookup) {
        config["toolVisibility"] = json!({ "disabled": ["delete_note"] });
    }
    if is(Gate::AccessList) {
        config["acl"]["deletePaths"] = json!(["elsewhere/**"]);
    }
    if is(Gate::Throttle) {
        config["throttle"] = json!({ "tiers": { "delete": { "perMinute": 1, "burst": 1 } } });
    }
    let variables = [("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET), ("ATLAS_CONFIG", &config.to_string())];
    let app = deployment.app_of(&variables).await.with_clock(clock::now);
    Client::of(app, CountingStore::new(deployment.objects.clone()))
}

/// `caller` deletes a note permanently; these gates stop the call.
async fn delete(deployment: &Deployment, caller: &str, shut: &[Gate]) -> Reply {
    let is = |gate| shut.contains(&gate);
    let open = process(deployment, &[]).await;
    let path = if is(Gate::Handler) { "missing.md" } else { "a.md" };
    let scopes = if is(Gate::Scopes) { &[Scope::ReadVault][..] } else { &scope::ALL };
    let mut headers =
        vec![if is(Gate::Token) { bearer("x.y.z") } else { bearer(&token(caller, scopes, Some("main"))) }];
    if is(Gate::Vault) {
        headers.push(("x-atlas-vault".to_owned(), "work".to_owned()));
    }
    if is(Gate::Idempotency) {
        let key = ("idempotency-key".to_owned(), format!("key of {caller}").replace(' ', "-"));
        let own = [bearer(&token(caller, &scope::ALL, Some("main"))), key.clone()];
        let used = send(&open, "DELETE", "/notes/other.md?if_match=0", &own, &Value::Null).await;
        assert!(used.status.is_client_error(), "{used:?}");
        headers.push(key);
    }
    if !is(Gate::Confirmation) {
        let args_hash = arguments_hash("delete_note", &json!({ "path": path, "hard": true }));
        let admin = [bearer(&token("admin", &[Scope::Admin], Some("main")))];
        let what = json!({ "operation": "delete_note", "args_hash": args_hash });
        let approved = send(&open, "POST", "/approve", &admin, &what).await.ok();
        headers.push(("x-atlas-confirmation".to_owned(), approved["token"].as_str().unwrap().to_owned()));
    }
    let process = process(deployment, shut).await;
    if is(Gate::Throttle) {
        let own = [bearer(&token(caller, &scope::ALL, Some("main")))];
        send(&process, "DELETE", "/notes/none.md", &own, &Value::Null).await;
    }
    let hard = if is(Gate::Arguments) { "perhaps" } else { "true" };
    send(&process, "DELETE", &format!("/notes/{path}?hard={hard}"), &headers, &Value::Null).await
}

/// The number of confirmations used.
async fn used(deployment: &Deployment) -> usize {
    let objects: Vec<_> = deployment.objects.list(None).try_collect().await.unwrap();
    objects.iter().filter(|object| object.location.as_ref().ends_with(".used")).count()
}

#[tokio::test]
async fn of_any_two_gates_that_are_shut_the_earlier_answers() {
    clock::stop();
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "one\n").note("other.md", "two\n")).await;
    let mut number = 0;
    for (index, (first, status, reason)) in GATES.into_iter().enumerate() {
        for (second, ..) in GATES.into_iter().skip(index) {
            number += 1;
            let before = used(&deployment).await;
            let reply = delete(&deployment, &format!("agent {number}"), &[first, second]).await;
            assert_eq!(reply.error(status).1, reason, "{first:?} and {second:?}");
            let burnt = used(&deployment).await - before;
            assert_eq!(burnt, 0, "{first:?} and {second:?}");
        }
    }
    assert_eq!(delete(&deployment, "agent", &[]).await.ok()["path"], "a.md");
}

#[tokio::test]
async fn each_call_is_one_event_that_tells_no_arguments() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("secret name.md", "one\n")).await;
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = events.clone();
    let audit = Audit::to(move |event| told.lock().unwrap().push(event.clone()));
    let client = deployment.audited(&[("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET)], audit).await;
    let own = [bearer(&token("maeve the agent", &[Scope::ReadVault], None))];
    let read = async |name: &str, status: u16| {
        let reply = send(&client, "GET", &format!("/notes?path={name}"), &own, &Value::Null).await;
        assert_eq!(reply.status.as_u16(), status);
        events.lock().unwrap().drain(..).collect::<Vec<Value>>()
    };
    let ok = read("secret%20name.md", 200).await;
    let again = read("secret%20name.md", 200).await;
    let missing = read("secret%20other.md", 404).await;
    send(&client, "GET", "/notes", &[bearer("x.y.z")], &Value::Null).await.error(401);
    assert!(events.lock().unwrap().is_empty(), "who is nobody makes no call");
    for (told, status, reason) in
        [(&ok, "ok", Value::Null), (&again, "ok", Value::Null), (&missing, "error", "note_not_found".into())]
    {
        let [event] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((&event["specversion"], &event["type"]), (&json!("1.0"), &json!("atlas-mirror.call")));
        let data = &event["data"];
        assert_eq!((&data["operation"], &data["vault"]), (&json!("read_note"), &json!("main")));
        assert_eq!((&data["status"], &data["reason"]), (&json!(status), &reason));
        assert_sorted(event);
        let text = event.to_string();
        assert!(!text.contains("secret") && !text.contains("maeve"), "{text}");
    }
    assert_eq!(ok[0]["data"]["args_hash"], again[0]["data"]["args_hash"]);
    assert_ne!(ok[0]["data"]["args_hash"], missing[0]["data"]["args_hash"]);
    assert_ne!(ok[0]["id"], again[0]["id"]);
}

#[tokio::test(start_paused = true)]
async fn a_read_ends_before_its_function_does() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "one\n")).await;
    for _ in 0..9 {
        deployment.client().post("/notes/a.md", json!({ "content": "more" })).await.ok();
    }
    let slow = FaultStore::new(deployment.objects.clone());
    for op in [Op::Get, Op::Range, Op::Head, Op::List] {
        slow.always(op, "", Fault::Slow(Duration::from_secs(2)));
    }
    let client = Client::over(&Store::new(slow.clone(), "", StoreOptions::default()).unwrap());
    let begun = tokio::time::Instant::now();
    let reply = client.get("/history/a.md").await;
    assert_eq!(reply.error(503).1, "time_budget_exceeded");
    assert_eq!((begun.elapsed().as_secs(), reply.header("retry-after")), (12, Some("2")));
}
