//! Calls that wait for approval: what a person is shown, and that exactly the approved change happens, once.

use std::sync::Arc;
use std::time::Duration;

use atlas_access::acl::Acl;
use atlas_access::{AclConfig, Scope, scope};
use atlas_ops::{Atlas, Limits, Vault};
use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use super::confirmation::{Call, guarded, hard_delete, unthrottled};
use crate::support::agent::{Agent, ERAS};
use crate::support::clock;
use crate::support::deployment::{Client, Deployment, Reply};
use crate::support::programs::{Place, json_of};
use crate::support::tokens::{bearer, send, token, token_through};

async fn vault() -> Deployment {
    let vault = VaultBuilder::new()
        .note("a.md", "one\ntwo\nthree\n")
        .note("b.md", "see [[a]]\n")
        .note("c.md", "c\n")
        .file("p.png", b"\x89PNG");
    Deployment::of_vault(&vault).await
}

impl Call {
    fn by(self, token: &str) -> Self {
        Self { headers: [bearer(token)].into_iter().chain(self.headers.into_iter().skip(1)).collect(), ..self }
    }

    /// The id of the waiting call.
    async fn waits(&self, client: &Client) -> String {
        let reply = self.send(client).await;
        assert_eq!(reply.error(403).1, "elicit_required", "{}", self.uri);
        let details = reply.json()["error"]["details"].clone();
        assert!(details["approval"]["expires_at"].is_string() && details["args_hash"].is_string(), "{details}");
        details["approval"]["id"].as_str().unwrap().to_owned()
    }
}

fn overwrite() -> Call {
    Call::new("PUT", "/notes/a.md", json!({ "content": "one\n2\nthree\n" })).with("if-match", "*")
}

const SEES: [Scope; 2] = [Scope::ReadVault, Scope::Admin];

/// A call by `person`, who may list the waiting calls and decide on them.
async fn person(client: &Client, uri: &str, body: Value) -> Reply {
    send(client, "POST", uri, &[bearer(&token("person", &SEES, None))], &body).await
}

async fn approve(client: &Client, id: &str) -> Reply {
    person(client, "/approve", json!({ "id": id })).await
}

/// The call as a person sees it.
async fn seen(client: &Client, id: &str) -> Value {
    person(client, "/list_approvals", json!({ "id": id })).await.ok()["approvals"][0].clone()
}

#[tokio::test]
async fn a_call_that_was_approved_is_made_again_as_it_was_and_once() {
    for call in [
        hard_delete(),
        Call::new("DELETE", "/notes/a.md", Value::Null),
        overwrite(),
        Call::new("POST", "/move/a.md", json!({ "to": "d.md" })),
        Call::new("POST", "/restore/a.md", json!({ "generation": 1 })).with("if-match", "*"),
    ] {
        let client = guarded(&vault().await);
        Call::new("POST", "/notes/a.md", json!({ "content": "more" })).send(&client).await.ok();
        let id = call.waits(&client).await;
        assert_eq!(call.waits(&client).await, id, "asking again is one request");
        approve(&client, &id).await.ok();
        let approved = approve(&client, &id).await.ok();
        assert_eq!((approved["id"].as_str(), approved.get("token")), (Some(&*id), None));
        assert_eq!(seen(&client, &id).await["status"], "approved");
        let made = call.send(&client).await.ok();
        let after = seen(&client, &id).await;
        assert_eq!(
            (&after["status"], &after["decided_by"], &after["lapsed"]),
            (&json!("used"), &json!("person"), &json!(false))
        );
        // The change was made: there is nothing more to change.
        let again = call.send(&client).await;
        assert!(again.status.is_client_error() || again.ok()["generation"] == made["generation"], "{}", call.uri);
    }
}

#[tokio::test]
async fn a_person_sees_what_would_become_of_each_file() {
    let deployment = vault().await;
    let client = guarded(&deployment);
    let files = async |call: Call| seen(&client, &call.waits(&client).await).await["files"].clone();
    let diff = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    assert_eq!(
        files(overwrite()).await,
        json!([{ "path": "a.md", "change": "changed", "diff": diff, "bytes_before": 14, "bytes_after": 12 }])
    );
    let gone = "@@ -1,3 +1,0 @@\n-one\n-two\n-three\n";
    assert_eq!(
        files(hard_delete()).await,
        json!([{ "path": "a.md", "change": "deleted", "diff": gone, "bytes_before": 14 }])
    );
    assert_eq!(
        files(Call::new("DELETE", "/notes/a.md", Value::Null)).await,
        json!([{ "path": "a.md", "change": "trashed", "diff": gone, "bytes_before": 14 }])
    );
    assert_eq!(
        files(Call::new("POST", "/move/a.md", json!({ "to": "d.md" }))).await,
        json!([
            { "path": "b.md", "change": "changed", "diff": "@@ -1,1 +1,1 @@\n-see [[a]]\n+see [[d]]\n", "bytes_before": 10, "bytes_after": 10 },
            { "path": "d.md", "from": "a.md", "change": "moved", "bytes_before": 14, "bytes_after": 14 },
        ])
    );
    let listed = person(&client, "/list_approvals", json!({})).await.ok();
    let calls = listed["approvals"].as_array().unwrap();
    assert_eq!((calls.len(), &listed["truncated"]), (4, &json!(false)));
    let newest = calls.iter().find(|call| call["operation"] == "move_note").unwrap();
    assert_eq!((&newest["caller"], &newest["arguments"]), (&json!("agent"), &json!({ "from": "a.md", "to": "d.md" })));
    let short = person(&client, "/list_approvals", json!({ "diffs": false, "limit": 1 })).await.ok();
    assert_eq!((short["truncated"] == true, short["approvals"][0]["files"][0].get("diff")), (true, None));
}

#[tokio::test]
async fn a_text_that_is_not_shown_is_said_to_be_left_out() {
    let client = guarded(&vault().await);
    let agent = Agent::new(&client, ERAS[0]).with(bearer(&token("agent", &scope::ALL, None)));
    let note = |path: &str| json!({ "path": path, "mode": "overwrite", "content": "long\n".repeat(80_000) });
    let refused = agent.failure("bulk_create_notes", json!({ "items": [note("a.md"), note("c.md")] })).await;
    assert_eq!(refused["code"], "elicit_required", "{refused}");
    let call = seen(&client, refused["details"]["approval"]["id"].as_str().unwrap()).await;
    let [first, second] = &call["files"].as_array().unwrap()[..] else { panic!("{call}") };
    assert!(first["diff"].as_str().unwrap().ends_with(" lines more\n") && first.get("left_out").is_none());
    assert_eq!(
        (second.get("diff"), &second["left_out"], &second["bytes_after"]),
        (None, &json!(true), &json!(400_000))
    );
    assert!(call["arguments"]["items"][0]["content"].as_str().unwrap().ends_with("... (400000 bytes)"));
}

#[tokio::test]
async fn what_is_approved_is_what_was_shown() {
    let deployment = vault().await;
    let client = guarded(&deployment);
    let (before, pending) = (overwrite().waits(&client).await, hard_delete().waits(&client).await);
    approve(&client, &before).await.ok();
    // By somebody else, and then by another call.
    Call::new("POST", "/notes/a.md", json!({ "content": "four" }))
        .by(&token("other", &scope::ALL, None))
        .send(&client)
        .await
        .ok();
    assert_eq!(seen(&client, &before).await["lapsed"], true);
    let anew = overwrite().waits(&client).await;
    assert_ne!(anew, before);
    assert!(seen(&client, &anew).await["files"][0]["diff"].as_str().unwrap().contains("-four"));
    assert_eq!(approve(&client, &pending).await.error(409).1, "approval_lapsed");
    assert_eq!(seen(&client, &pending).await["status"], "pending");
    // Other arguments, another caller, the same caller through another client: none of them was approved.
    approve(&client, &anew).await.ok();
    let message = Call { body: json!({ "content": "one\n2\nthree\n", "message": "why" }), ..overwrite() };
    for other in [
        message,
        overwrite().by(&token("other", &scope::ALL, None)),
        overwrite().by(&token_through(Some("https://client.example"), "agent", &all(), None)),
    ] {
        assert_ne!(other.waits(&client).await, anew);
    }
    overwrite().send(&client).await.ok();
}

fn all() -> String {
    scope::ALL.map(|scope| scope.as_str().to_owned()).join(" ")
}

#[tokio::test]
async fn nobody_approves_their_own_calls() {
    let client = guarded(&vault().await);
    let through = |subject: &str, program: Option<&str>| token_through(program, subject, &all(), None);
    for (caller, approver, is_own) in [
        (("agent", None), ("agent", None), true),
        (("agent", Some("chat")), ("agent", Some("chat")), true),
        (("agent", Some("chat")), ("agent", None), true),
        (("agent", None), ("agent", Some("page")), true),
        (("agent", Some("chat")), ("owner", Some("chat")), true),
        (("owner", Some("chat")), ("owner", Some("page")), false),
        (("agent", None), ("owner", None), false),
    ] {
        let call = hard_delete().by(&through(caller.0, caller.1));
        let id = call.waits(&client).await;
        let by = [bearer(&through(approver.0, approver.1))];
        let reply = send(&client, "POST", "/approve", &by, &json!({ "id": id })).await;
        if is_own {
            assert_eq!(reply.error(403).1, "approval_own", "{caller:?} {approver:?}");
            assert_eq!(call.waits(&client).await, id);
        } else {
            reply.ok();
        }
    }
}

#[tokio::test]
async fn an_approval_can_be_taken_back_until_the_call_is_made() {
    let client = guarded(&vault().await);
    let refuse = async |id: &str| person(&client, "/refuse", json!({ "id": id, "reason": "I looked again" })).await;
    let id = hard_delete().waits(&client).await;
    approve(&client, &id).await.ok();
    refuse(&id).await.ok();
    refuse(&id).await.ok();
    for _ in 0..2 {
        let (_, reason, message) = hard_delete().send(&client).await.error(403);
        assert_eq!((&*reason, &*message), ("approval_refused", "person refused this call: I looked again"));
    }
    let shown = seen(&client, &id).await;
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("refused"), &json!("I looked again")), "{shown}");
    let listed = person(&client, "/list_approvals", json!({ "status": "refused" })).await.ok();
    assert_eq!(listed["approvals"][0]["id"], id);
    assert_eq!(approve(&client, &id).await.error(409).1, "approval_decided");
    // A call that was made stays made.
    let id = overwrite().waits(&client).await;
    approve(&client, &id).await.ok();
    overwrite().send(&client).await.ok();
    assert_eq!(refuse(&id).await.error(409).1, "approval_decided");
    assert_eq!(seen(&client, &id).await["status"], "used");
}

#[tokio::test]
async fn a_refusal_is_told_and_stands() {
    let client = guarded(&vault().await);
    let id = hard_delete().waits(&client).await;
    let refusal = json!({ "id": id, "reason": "keep it: the log needs it" });
    person(&client, "/refuse", refusal.clone()).await.ok();
    person(&client, "/refuse", refusal).await.ok();
    for _ in 0..2 {
        let reply = hard_delete().send(&client).await;
        let (_, reason, message) = reply.error(403);
        assert_eq!((&*reason, &*message), ("approval_refused", "person refused this call: keep it: the log needs it"));
        assert_eq!(reply.json()["error"]["details"]["approval"]["id"], id);
    }
    assert_eq!(approve(&client, &id).await.error(409).1, "approval_decided");
    let refused = person(&client, "/list_approvals", json!({ "status": "refused" })).await.ok();
    assert_eq!(refused["approvals"][0]["reason"], "keep it: the log needs it");
    assert_eq!(person(&client, "/list_approvals", json!({})).await.ok()["approvals"], json!([]));
    for unknown in ["0".repeat(32), "f".repeat(32)] {
        assert_eq!(approve(&client, &unknown).await.error(404).1, "approval_not_found");
    }
    let agent = [bearer(&token("agent", &[Scope::ReadVault, Scope::WriteVault], None))];
    for uri in ["/list_approvals", "/approve", "/refuse"] {
        assert_eq!(send(&client, "POST", uri, &agent, &json!({ "id": id })).await.error(403).1, "scope_missing");
    }
}

#[tokio::test]
async fn what_was_approved_has_a_day() {
    clock::stop();
    let client = guarded(&vault().await);
    let (approved, pending) = (overwrite().waits(&client).await, hard_delete().waits(&client).await);
    approve(&client, &approved).await.ok();
    clock::pass(Duration::from_secs(24 * 3600));
    assert_eq!(seen(&client, &approved).await["status"], "expired");
    assert_eq!(approve(&client, &pending).await.error(404).1, "approval_not_found");
    let anew = overwrite().waits(&client).await;
    assert_ne!(anew, approved);
    approve(&client, &anew).await.ok();
    clock::pass(Duration::from_secs(24 * 3600 - 1));
    overwrite().send(&client).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn however_many_processes_make_an_approved_call_at_once_one_passes() {
    let deployment = vault().await;
    let clients: Vec<Arc<Client>> = (0..4).map(|_| Arc::new(guarded(&deployment))).collect();
    let both = [json!({ "content": "one\n" }), json!({ "content": "one\ntwo\nthree\n" })];
    for round in 0..20 {
        let call = Call { body: both[round % 2].clone(), ..overwrite() };
        let id = call.waits(&clients[0]).await;
        approve(&clients[1], &id).await.ok();
        let calls = clients.iter().cloned().map(|client| {
            let call = call.clone();
            tokio::spawn(async move { call.send(&client).await })
        });
        let replies = futures::future::join_all(calls).await;
        let passed = replies.into_iter().map(Result::unwrap).filter(|reply| {
            assert!(matches!(reply.status.as_u16(), 200 | 403), "{reply:?}");
            reply.status.as_u16() == 200 && reply.json()["generation"].as_u64() == Some(round as u64 + 2)
        });
        // Later calls find the new note, or wait again.
        assert!(passed.count() >= 1, "round {round}");
        assert_eq!(deployment.mirror().head().await.unwrap().generation(), round as u64 + 2);
    }
}

#[tokio::test]
async fn who_may_not_read_a_note_decides_on_no_call_that_changes_it() {
    let deployment = vault().await;
    let id = hard_delete().waits(&guarded(&deployment)).await;
    let acl = AclConfig { read_paths: Some(vec!["c.md".to_owned()]), ..AclConfig::default() };
    let blind = deployment.client_with(|app| {
        let mut app = unthrottled()(app);
        app.atlas = Atlas::new([Vault::new("main", deployment.mirror(), Acl::new(&acl).unwrap())], Limits::default());
        app
    });
    let listed = person(&blind, "/list_approvals", json!({})).await.ok();
    assert_eq!((&listed["approvals"], &listed["hidden"]), (&json!([]), &json!(1)));
    for uri in ["/approve", "/refuse"] {
        assert_eq!(person(&blind, uri, json!({ "id": id })).await.error(403).1, "acl_denied");
    }
}

#[tokio::test]
async fn a_hidden_note_counts_among_however_many_files() {
    let vault = VaultBuilder::new().note("zz/Hub.md", "hub\n");
    let vault = (0..1001).fold(vault, |vault, n| vault.note(&format!("a/{n}.md"), "[[Hub]]\n"));
    let deployment = Deployment::of_vault(&vault).await;
    let call = Call::new("POST", "/move/zz/Hub.md", json!({ "to": "zz/Quay.md" }));
    let id = call.waits(&guarded(&deployment)).await;
    let mut hidden = Vec::new();
    for paths in [["a/**", "none"], ["a/**", "zz/**"]] {
        let acl = AclConfig { read_paths: Some(paths.map(str::to_owned).to_vec()), ..AclConfig::default() };
        let client = deployment.client_with(|app| {
            let mut app = unthrottled()(app);
            app.atlas =
                Atlas::new([Vault::new("main", deployment.mirror(), Acl::new(&acl).unwrap())], Limits::default());
            app
        });
        let listed = person(&client, "/list_approvals", json!({ "id": id })).await.ok();
        hidden.push(listed["approvals"].as_array().unwrap().is_empty());
    }
    assert_eq!(hidden, [true, false]);
}

#[tokio::test]
async fn a_caller_has_a_hundred_calls_that_wait() {
    let deployment = vault().await;
    let client = guarded(&deployment);
    for number in 0..100 {
        let uri = format!("/notes/a.md?hard=true&message={number}").leak();
        Call::new("DELETE", uri, Value::Null).waits(&client).await;
    }
    assert_eq!(hard_delete().send(&client).await.error(429).1, "approvals_full");
    hard_delete().by(&token("other", &scope::ALL, None)).waits(&client).await;
    let listed = person(&client, "/list_approvals", json!({ "limit": 100, "diffs": false })).await.ok();
    assert_eq!((listed["approvals"].as_array().unwrap().len(), &listed["truncated"]), (100, &json!(true)));
}

#[tokio::test]
async fn an_agent_goes_through_an_approval_over_mcp() {
    for era in ERAS {
        let client = guarded(&vault().await);
        let agent = Agent::new(&client, era).with(bearer(&token("agent", &scope::ALL, None)));
        let arguments = json!({ "path": "a.md", "session": "tidy" });
        let refused = agent.failure("delete_note", arguments.clone()).await;
        assert_eq!(refused["code"], "elicit_required");
        let id = refused["details"]["approval"]["id"].as_str().unwrap();
        assert!(refused["message"].as_str().unwrap().contains(&format!("atlas approve {id}")), "{refused}");
        assert_eq!(seen(&client, id).await["session"], "tidy");
        for (session, count) in [("tidy", 1), ("other", 0)] {
            let listed = person(&client, "/list_approvals", json!({ "of_session": session })).await.ok();
            assert_eq!(listed["approvals"].as_array().unwrap().len(), count);
        }
        approve(&client, id).await.ok();
        agent.call("delete_note", arguments).await;
        assert_eq!(agent.refused("read_note", json!({ "path": "a.md" })).await, "note_not_found");
    }
}

#[tokio::test]
async fn who_is_at_the_host_sees_what_waits_and_decides() {
    let place = Place::new();
    let vault = VaultBuilder::new().note("a.md", "one\ntwo\nthree\n").note("b.md", "two\n");
    json_of(place.sync(vault.root()).arg("--json"));
    let store = atlas_mirror::location::open(&place.store, &Default::default()).unwrap();
    let client = Client::over_app(&store, Limits::default(), unthrottled());
    let program = |arguments: &[&str]| {
        let mut command = place.atlas(arguments[0]);
        command.args(&arguments[1..]);
        command.output().unwrap()
    };
    let printed = |arguments: &[&str]| String::from_utf8(program(arguments).stdout).unwrap();
    assert_eq!(printed(&["approvals"]), "");

    let id = overwrite().waits(&client).await;
    let other = Call::new("DELETE", "/notes/b.md", Value::Null);
    let refused = other.waits(&client).await;
    let listed = printed(&["approvals"]);
    for line in [
        &format!("{}  agent  write_note  ", &id[..8]),
        "a.md would change\n",
        "-two\n",
        "+2\n",
        "b.md would go into the trash",
    ] {
        assert!(listed.contains(line), "{line} in {listed}");
    }
    assert!(!printed(&["approvals", "--no-diff"]).contains("-two"));
    assert_eq!(json_of(place.atlas("approvals").arg("--json"))["approvals"].as_array().unwrap().len(), 2);

    assert_eq!(program(&["approvals"]).status.code(), Some(3), "two calls wait");
    assert!(program(&["approve", &id[..6]]).status.success());
    // An approval is taken back, and the call that it was for is another's.
    let third = Call::new("DELETE", "/notes/a.md", Value::Null);
    let taken_back = third.waits(&client).await;
    assert!(program(&["approve", &taken_back]).status.success());
    assert!(program(&["refuse", &taken_back[..8], "--reason", "not now"]).status.success());
    assert_eq!(third.send(&client).await.error(403).1, "approval_refused");
    assert!(program(&["refuse", &refused[..4], "--reason", "not this one"]).status.success());
    assert_eq!(other.send(&client).await.error(403).1, "approval_refused");
    overwrite().send(&client).await.ok();
    assert!(printed(&["approvals", "--status", "refused"]).contains("not this one"));
    assert!(printed(&["approvals", "--status", "used"]).contains(&id[..8]));
    assert_eq!(program(&["approvals"]).status.code(), Some(0));
    // All that wait of one session, at once.
    let of_session = |uri: &'static str, session: &str| {
        Call::new("PUT", uri, json!({ "content": "new\n" })).with("if-match", "*").with("x-atlas-session", session)
    };
    let (a, b) = ("/notes/a.md", "/notes/b.md");
    let calls = [of_session(a, "tidy"), of_session(b, "tidy"), Call::new("DELETE", a, Value::Null)];
    for call in &calls {
        call.waits(&client).await;
    }
    let approved = program(&["approve", "--session", "tidy"]);
    let said = String::from_utf8(approved.stdout).unwrap();
    assert!(approved.status.success() && said.matches("approved: ").count() == 2, "{said}");
    for (call, passes) in calls.iter().zip([true, true, false]) {
        assert_eq!(call.send(&client).await.status.is_success(), passes);
    }
    assert_eq!(program(&["approve", "--session", "tidy"]).status.code(), Some(1));
    for wrong in [
        &["approve", "123"][..],
        &["approve", "--session", "tidy", "--operation", "x"],
        &["approve", "0123"],
        &["refuse", &"0".repeat(32)],
        &["approve", &id, "--operation", "x"],
        &["approve", &refused],
    ] {
        let answer = program(wrong);
        assert!(!answer.status.success() && answer.stdout.is_empty(), "{wrong:?}: {answer:?}");
    }
}
