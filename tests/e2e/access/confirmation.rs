//! Calls that may destroy a person's text: made once, and only with a token from somebody else.

use std::sync::Arc;
use std::time::Duration;

use atlas_access::acl::Acl;
use atlas_access::{AclConfig, Scope, ThrottleConfig, scope};
use atlas_mirror::{Mirror, Options, PartCache, Store, StoreOptions};
use atlas_ops::{Atlas, Limits, Vault};
use atlas_testkit::{Fault, FaultStore, Op, VaultBuilder};
use atlas_web::App;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::clock;
use crate::support::deployment::{Client, Deployment, Reply};
use crate::support::programs::{Place, json_of};
use crate::support::throttled::{at_once, throttled};
use crate::support::tokens::{bearer, send, token};

/// A process that authenticates callers, without a throttle.
pub(super) fn guarded(deployment: &Deployment) -> Client {
    deployment.client_with(unthrottled())
}

pub(crate) fn unthrottled() -> impl FnOnce(App) -> App {
    throttled(ThrottleConfig { enabled: false, ..ThrottleConfig::default() })
}

async fn vault() -> Deployment {
    Deployment::of_vault(&VaultBuilder::new().note("a.md", "one\n").note("b.md", "two\n").note("c.md", "three\n")).await
}

/// A call by `agent`.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) method: &'static str,
    pub(super) uri: &'static str,
    pub(super) body: Value,
    pub(super) headers: Vec<(String, String)>,
}

impl Call {
    pub(super) fn new(method: &'static str, uri: &'static str, body: Value) -> Self {
        Self { method, uri, body, headers: vec![bearer(&token("agent", &scope::ALL, None))] }
    }

    /// The same call with another header.
    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let headers = self.headers.iter().cloned().chain([(name.to_owned(), value.to_owned())]).collect();
        Self { body: self.body.clone(), headers, ..*self }
    }

    fn confirmed(&self, token: &str) -> Self {
        self.with("x-atlas-confirmation", token)
    }

    pub(super) async fn send(&self, client: &Client) -> Reply {
        send(client, self.method, self.uri, &self.headers, &self.body).await
    }

    /// The error that asks for approval.
    async fn refused(&self, client: &Client) -> Value {
        let reply = self.send(client).await;
        let (code, reason, _) = reply.error(403);
        assert_eq!((code.as_str(), reason.as_str()), ("FORBIDDEN", "elicit_required"));
        reply.json()["error"]["details"].clone()
    }

    /// Why the token in the call is refused.
    async fn refused_token(&self, client: &Client) -> String {
        self.refused(client).await["elicit_token"].as_str().unwrap_or("none").to_owned()
    }

    /// A token for it, from somebody else.
    async fn approved(&self, client: &Client) -> String {
        self.approved_by("person", client).await
    }

    async fn approved_by(&self, person: &str, client: &Client) -> String {
        let details = self.refused(client).await;
        let call = json!({ "operation": details["operation"], "args_hash": details["args_hash"] });
        let person = [bearer(&token(person, &[Scope::Admin], None))];
        let approved = send(client, "POST", "/approve", &person, &call).await.ok();
        let expires: jiff::Timestamp = approved["expires_at"].as_str().unwrap().parse().unwrap();
        assert!((290..=300).contains(&expires.duration_since(clock::now()).as_secs()));
        approved["token"].as_str().unwrap().to_owned()
    }
}

pub(super) fn hard_delete() -> Call {
    Call::new("DELETE", "/notes/a.md?hard=true", Value::Null)
}

fn overwrite() -> Call {
    Call::new("PUT", "/notes/a.md", json!({ "content": "other" })).with("if-match", "*")
}

#[tokio::test]
async fn a_call_that_may_destroy_something_is_made_once_and_only_when_it_is_approved() {
    for call in [
        hard_delete(),
        Call::new("DELETE", "/notes/a.md", Value::Null),
        overwrite(),
        Call::new("POST", "/move/a.md", json!({ "to": "d.md" })),
        Call::new("POST", "/move/a.md", json!({ "to": "x/a.md", "update_links": false })),
        Call::new("POST", "/restore/a.md", json!({ "generation": 1 })).with("if-match", "*"),
    ] {
        let deployment = vault().await;
        deployment.client().post("/notes/a.md", json!({ "content": "more" })).await.ok();
        let client = guarded(&deployment);
        let details = call.refused(&client).await;
        assert_eq!((details["vault"].as_str(), details.get("elicit_token")), (Some("main"), None));
        let token = call.approved(&client).await;
        let made = call.confirmed(&token).send(&client).await.ok();
        // The change was made: there is nothing more to change.
        let again = call.confirmed(&token).send(&client).await;
        assert!(again.status.is_client_error() || again.ok()["generation"] == made["generation"], "{}", call.uri);
    }
}

#[tokio::test]
async fn a_token_is_used_up_by_the_change_that_it_confirmed() {
    let deployment = vault().await;
    let client = guarded(&deployment);
    let token = overwrite().approved(&client).await;
    // A call that changes nothing keeps the token.
    let trusted = deployment.client();
    send(&trusted, "DELETE", "/notes/a.md?hard=true", &[], &Value::Null).await.ok();
    assert_eq!(overwrite().confirmed(&token).send(&client).await.error(412).1, "note_not_found");
    trusted.post("/notes/a.md", json!({ "content": "again" })).await;
    overwrite().confirmed(&token).send(&client).await.ok();
    trusted.post("/notes/a.md", json!({ "content": "more" })).await.ok();
    assert_eq!(overwrite().confirmed(&token).refused_token(&client).await, "used");
}

#[tokio::test]
async fn what_destroys_nothing_needs_no_confirmation_nor_does_who_is_trusted() {
    let deployment = vault().await;
    let client = guarded(&deployment);
    for (call, status) in [
        (Call::new("PUT", "/notes/new.md", json!({ "content": "x" })).with("if-none-match", "*"), 201),
        (Call::new("POST", "/notes/a.md", json!({ "content": "x" })), 200),
        (Call::new("PATCH", "/notes/a.md", json!({ "edits": [{ "op": "append", "text": "x" }] })), 200),
        (Call::new("POST", "/move/b.md", json!({ "to": "d.md", "update_links": false })), 200),
    ] {
        let reply = call.send(&client).await;
        assert_eq!(reply.status.as_u16(), status, "{} {}: {reply:?}", call.method, call.uri);
    }
    hard_delete().send(&deployment.client()).await.ok();
}

#[tokio::test]
async fn a_token_is_for_one_call_and_is_not_spent_by_others() {
    clock::stop();
    let deployment = vault().await;
    deployment.publish_as("work", VaultBuilder::new().note("a.md", "one\n").root()).await;
    let client = deployment.client_with(|app| {
        let vaults = ["main", "work"].map(|id| {
            let store = Store::new(deployment.objects.clone(), "", StoreOptions::default()).unwrap();
            let cache = Arc::new(PartCache::new(0));
            let mirror = Mirror::open(store, id.parse().unwrap(), cache, Options::default()).unwrap();
            Vault::new(id, mirror, Acl::default())
        });
        let mut app = unthrottled()(app);
        app.atlas = Atlas::new(vaults, Limits::default());
        app
    });
    let call = hard_delete();
    let token_of_it = call.approved(&client).await;
    for (other, why) in [
        (Call::new("DELETE", "/notes/b.md?hard=true", Value::Null), "of another call"),
        (Call::new("DELETE", "/notes/a.md?hard=true&message=why", Value::Null), "of another call"),
        (overwrite(), "of another call"),
        (Call { headers: vec![bearer(&token("agent", &scope::ALL, Some("work")))], ..hard_delete() }, "unknown"),
    ] {
        assert_eq!(other.confirmed(&token_of_it).refused_token(&client).await, why, "{} {}", other.method, other.uri);
    }
    for unknown in ["0".repeat(32), token_of_it.to_uppercase(), String::new(), "../".repeat(10), "x".repeat(5000)] {
        assert_eq!(call.confirmed(&unknown).refused_token(&client).await, "unknown");
    }
    let own = call.approved_by("agent", &client).await;
    assert_eq!(call.confirmed(&own).refused_token(&client).await, "the caller's own");
    let late = call.approved(&client).await;
    clock::pass(Duration::from_secs(299));
    call.confirmed(&token_of_it).send(&client).await.ok();
    clock::pass(Duration::from_secs(1));
    deployment.client().post("/notes/a.md", json!({ "content": "again" })).await;
    assert_eq!(call.confirmed(&late).refused_token(&client).await, "expired");
}

#[tokio::test]
async fn a_token_can_come_as_an_argument() {
    let client = guarded(&vault().await);
    let call = Call::new("POST", "/move/a.md", json!({ "to": "d.md" }));
    let token = call.approved(&client).await;
    let with_argument = json!({ "to": "d.md", "elicit_token": token, "idempotency_key": "k" });
    Call { body: with_argument, ..call }.send(&client).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn however_many_processes_show_a_token_at_once_one_goes_on() {
    let deployment = vault().await;
    let clients: Vec<Arc<Client>> = (0..4).map(|_| Arc::new(guarded(&deployment))).collect();
    for round in 0..40 {
        // To another text each time; a late call finds it changed.
        let call = Call { body: json!({ "content": format!("other {round}") }), ..overwrite() };
        let token = call.approved(&clients[0]).await;
        let calls = clients.iter().cloned().map(|client| {
            let call = call.confirmed(&token);
            tokio::spawn(async move { call.send(&client).await.status })
        });
        let statuses: Vec<StatusCode> =
            futures::future::join_all(calls).await.into_iter().map(Result::unwrap).collect();
        assert!(statuses.contains(&StatusCode::OK), "{statuses:?}");
        assert!(
            statuses.iter().all(|status| matches!(*status, StatusCode::OK | StatusCode::FORBIDDEN)),
            "{statuses:?}"
        );
        assert_eq!(deployment.mirror().head().await.unwrap().generation(), round + 2);
    }
}

#[tokio::test]
async fn a_call_that_is_refused_before_burns_no_confirmation() {
    clock::stop();
    let deployment = vault().await;
    let client = guarded(&deployment);
    let call = hard_delete();
    let token = call.approved(&client).await;
    let confirmed = call.confirmed(&token);

    for (acl, reason) in [
        (AclConfig { delete_paths: Some(vec!["inbox/**".to_owned()]), ..AclConfig::default() }, "acl_denied"),
        (AclConfig { read_only: true, ..AclConfig::default() }, "read_only_mode"),
    ] {
        let denied = deployment.client_with(|app| {
            let mut app = unthrottled()(app);
            let vault = Vault::new("main", deployment.mirror(), Acl::new(&acl).unwrap());
            app.atlas = Atlas::new([vault], Limits::default());
            app
        });
        assert_eq!(confirmed.send(&denied).await.error(403).1, reason);
    }
    let other = Call::new("DELETE", "/notes/b.md?hard=true", Value::Null);
    other.with("idempotency-key", "k").refused(&client).await;
    assert_eq!(confirmed.with("idempotency-key", "k").send(&client).await.error(409).1, "idempotency_key_mismatch");
    let hasty = deployment.client_with(throttled(at_once(1)));
    other.refused(&hasty).await;
    assert_eq!(confirmed.send(&hasty).await.error(429).1, "throttled");

    confirmed.send(&client).await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_keyed_call_that_was_confirmed_survives_the_loss_of_its_process_and_of_its_answer() {
    clock::stop();
    for fault in [Fault::Silence, Fault::SilenceAfter] {
        let deployment = vault().await;
        let client = guarded(&deployment);
        let token = overwrite().approved(&client).await;
        let call = overwrite().with("idempotency-key", "k").confirmed(&token);
        let faults = FaultStore::new(deployment.objects.clone());
        faults.once(Op::Create, "/manifests/", fault);
        let store = Store::new(faults, "", StoreOptions::default()).unwrap();
        let dying = Client::over_app(&store, Limits::default(), unthrottled());
        tokio::time::timeout(Duration::from_secs(1), call.send(&dying)).await.unwrap_err();

        // This call alone used it, and may have been made.
        let other = overwrite().with("idempotency-key", "other").confirmed(&token);
        if fault == Fault::Silence {
            assert_eq!(overwrite().confirmed(&token).refused_token(&client).await, "used");
            assert_eq!(other.refused_token(&client).await, "used");
        }
        let again = call.send(&guarded(&deployment)).await.ok();
        clock::pass(Duration::from_secs(400));
        assert_eq!(again["generation"], 2, "{fault:?}");
        // An executed call is not confirmed again, and does not count for the throttle.
        let hasty = deployment.client_with(throttled(at_once(1)));
        for _ in 0..3 {
            let repeated = overwrite().with("idempotency-key", "k").send(&hasty).await;
            assert_eq!(repeated.ok(), again, "{fault:?}");
        }
        assert_eq!(deployment.mirror().head().await.unwrap().generation(), 2);
    }
}

#[tokio::test]
async fn who_is_at_the_host_approves_with_the_program() {
    let place = Place::new();
    let vault = VaultBuilder::new().note("a.md", "one\n").note("b.md", "two\n");
    json_of(place.sync(vault.root()).arg("--json"));
    let store = atlas_mirror::location::open(&place.store, &Default::default()).unwrap();
    let client = Client::over_app(&store, Limits::default(), unthrottled());
    let details = hard_delete().refused(&client).await;
    let text = |name: &str| details[name].as_str().unwrap().to_owned();
    let program = |arguments: &[&str]| {
        let mut command = place.atlas("approve");
        command.args(arguments);
        command
    };
    let by_hash = ["--operation", &text("operation"), "--args-hash", &text("args_hash")];
    let printed = program(&by_hash).output().unwrap();
    let token = String::from_utf8_lossy(&printed.stdout);
    assert!(String::from_utf8_lossy(&printed.stderr).contains("X-Atlas-Confirmation: "), "{printed:?}");
    hard_delete().confirmed(token.trim()).send(&client).await.ok();

    // With an argument's other name, it is the same call.
    let arguments = json!({ "permanent": true, "path": "b.md" }).to_string();
    let by_arguments = ["--operation", "delete_note", "--arguments", &arguments, "--json"];
    let approved = json_of(&mut program(&by_arguments));
    let other = Call::new("DELETE", "/notes/b.md?hard=true", Value::Null);
    assert_eq!(other.refused(&client).await["args_hash"], approved["args_hash"]);
    other.confirmed(approved["token"].as_str().unwrap()).send(&client).await.ok();

    for wrong in [
        &["--operation", "delete_notes", "--args-hash", &"0".repeat(32)][..],
        &["--operation", "delete_note", "--args-hash", "0"],
        &["--operation", "delete_note", "--arguments", "[]"],
        &["--operation", "delete_note"],
    ] {
        let refused = program(wrong).output().unwrap();
        assert!(!refused.status.success() && refused.stdout.is_empty(), "{refused:?}");
    }
}
