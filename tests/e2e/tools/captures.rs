//! Captures: texts that wait to become notes.

use std::collections::BTreeSet;
use std::time::Duration;

use atlas_access::{Scope, scope};
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{self, Delete, Put};
use futures::TryStreamExt as _;
use futures::future::join;
use object_store::path::Path;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use serde_json::{Value, json};

use crate::support::agent::Agent;
use crate::support::clock;
use crate::support::deployment::{Client, Deployment};
use crate::support::tokens::{bearer, token};
use crate::support::tool_calls::{agent, confirmed};
use crate::support::tools::{Tools, guarded};
use crate::support::world::{World, caller};

const WRITES: [Scope; 2] = [Scope::ReadVault, Scope::WriteVault];

async fn deployment() -> Deployment {
    Deployment::of_vault(&VaultBuilder::new().note("a.md", "x")).await
}

/// A caller of this name.
fn by<'a>(client: &'a Client, name: &str, scopes: &[Scope]) -> Agent<'a> {
    agent(client).with(bearer(&token(name, scopes, None)))
}

async fn capture(agent: &Agent<'_>, content: &str) -> Value {
    agent.answer("enqueue_capture", json!({ "content": content })).await["capture_id"].clone()
}

async fn previews(agent: &Agent<'_>, arguments: Value) -> BTreeSet<String> {
    let listed = agent.answer("list_capture_queue", arguments).await;
    let items = listed["items"].as_array().unwrap().iter();
    items.map(|item| item["content_preview"].as_str().unwrap().to_owned()).collect()
}

/// The names of the objects that captures take.
async fn objects(deployment: &Deployment) -> Vec<Path> {
    let listed: Vec<_> =
        deployment.objects.list(Some(&Path::from("vaults/main/state/captures"))).try_collect().await.unwrap();
    listed.into_iter().map(|object| object.location).collect()
}

#[tokio::test]
async fn a_capture_waits_and_becomes_a_note_with_its_title_and_tags() {
    let deployment = deployment().await;
    let client = guarded(&deployment);
    let tools = Tools::guarded(&client);
    let crane = json!({ "content": "Ask Ada\n", "title": "Crane", "tags": ["#port", "east"], "source": "phone", "target_path_hint": "Ideas/x.md" });
    let id = tools.good("enqueue_capture", crane).await["capture_id"].clone();
    let own = tools.good("enqueue_capture", json!({ "content": "---\nrank: 2\n---\nmine\n", "tags": ["a"] })).await;
    let listed = tools.good("list_capture_queue", json!({ "source": "phone" })).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    let item = &listed["items"][0];
    assert_eq!(
        (&item["capture_id"], &item["content_preview"], &item["title"]),
        (&id, &json!("Ask Ada\n"), &json!("Crane"))
    );
    assert_eq!((&item["tags"], &item["captured_by"]), (&json!(["port", "east"]), &json!("agent")));
    let commit = json!({ "capture_id": id, "target_path": "Ideas/Crane.md", "frontmatter_overrides": { "title": "The crane", "rank": 1 } });
    tools.bad("commit_capture", json!({ "capture_id": id, "target_path": "a.md" }), "note_exists").await;
    let done = tools.good("commit_capture", commit.clone()).await;
    assert_eq!((&done["target_path"], &done["removed_from_queue"]), (&json!("Ideas/Crane.md"), &json!(true)));
    let text = tools.text("Ideas/Crane.md").await;
    assert_eq!(text, "---\ntitle: The crane\ntags:\n  - port\n  - east\nrank: 1\n---\nAsk Ada\n");
    // The call that made the note gets its answer again; no other makes one more.
    assert_eq!(tools.good("commit_capture", commit).await, done);
    for other in ["Ideas/Crane.md", "Ideas/Other.md"] {
        tools.bad("commit_capture", json!({ "capture_id": id, "target_path": other }), "invalid_input").await;
    }
    // A capture keeps the properties that it has.
    let kept = json!({ "capture_id": own["capture_id"], "target_path": "b.md", "delete_from_queue": false });
    tools.good("commit_capture", kept).await;
    assert_eq!(tools.text("b.md").await, "---\nrank: 2\ntags:\n  - a\n---\nmine\n");
    assert_eq!(tools.good("list_capture_queue", json!({})).await["items"], json!([]));
    let committed = tools.good("list_capture_queue", json!({ "committed": true })).await;
    assert_eq!(
        (&committed["items"][0]["committed_path"], committed["items"].as_array().unwrap().len()),
        (&json!("b.md"), 1)
    );
}

#[tokio::test]
async fn two_processes_make_one_note_of_a_capture() {
    let deployment = deployment().await;
    let clients = [guarded(&deployment), guarded(&deployment)];
    let [one, other] = [0, 1].map(|at| by(&clients[at], "ida", &WRITES));
    for round in 0..5 {
        let id = capture(&one, "once").await;
        let commit = |place: &str| json!({ "capture_id": id, "target_path": format!("{round}/{place}.md") });
        let (here, there) =
            join(one.call("commit_capture", commit("here")), other.call("commit_capture", commit("there"))).await;
        assert_ne!(here["isError"], there["isError"], "{here} {there}");
        let listed = one.answer("list_notes", json!({ "root": format!("{round}") })).await;
        assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    }
}

#[tokio::test]
async fn a_note_of_which_its_process_could_not_tell_any_more_is_found() {
    let deployment = deployment().await;
    let client = guarded(&deployment);
    let ida = by(&client, "ida", &WRITES);
    let id = capture(&ida, "once").await;
    let before = objects(&deployment).await;
    let content = deployment.objects.get(&before[0]).await.unwrap().bytes().await.unwrap();
    let commit = |path: &str| json!({ "capture_id": id, "target_path": path });
    let done = ida.answer("commit_capture", commit("b.md")).await;
    // As if the process had ended after the commit.
    deployment.objects.put(&before[0], content.into()).await.unwrap();
    deployment.objects.delete(&Path::from(format!("{}.committed", before[0]))).await.unwrap();
    let restarted = guarded(&deployment);
    let ida = by(&restarted, "ida", &WRITES);
    assert_eq!(ida.refused("commit_capture", commit("c.md")).await, "invalid_input");
    assert_eq!(ida.answer("commit_capture", commit("b.md")).await, done);
    assert_eq!(ida.answer("list_capture_queue", json!({})).await["items"], json!([]));
}

#[tokio::test]
async fn a_call_whose_note_is_gone_gets_its_answer_and_is_told_where_the_note_is() {
    let deployment = deployment().await;
    let client = guarded(&deployment);
    let ida = by(&client, "ida", &scope::ALL);
    let id = capture(&ida, "once").await;
    let commit = json!({ "capture_id": id, "target_path": "b.md", "idempotency_key": "c" });
    let done = ida.answer("commit_capture", commit.clone()).await;
    assert_eq!(ida.answer("commit_capture", commit.clone()).await, done);
    deployment.mirror().commit(&notes::by("host"), &Delete("b.md".to_owned())).await.unwrap();
    let gone = async || {
        let mut told = ida.answer("commit_capture", commit.clone()).await;
        let gone = told.as_object_mut().unwrap().remove("gone").unwrap();
        assert_eq!(told, done);
        gone.as_str().unwrap().to_owned()
    };
    let told = gone().await;
    assert!(told.contains("no longer at b.md") && !told.contains("restore_note"), "{told}");
    ida.answer("restore_note", json!({ "path": "b.md", "generation": 2 })).await;
    assert_eq!(ida.answer("commit_capture", commit.clone()).await, done);
    // A second note would come of bringing it back.
    for (from, to) in [("b.md", "sub/c.md"), ("sub/c.md", "sub/d.md")] {
        confirmed(&client, "move_note", json!({ "from": from, "to": to })).await;
        assert_eq!(gone().await, format!("the note is no longer at b.md: it was moved to {to}"));
    }
    let other = json!({ "capture_id": id, "target_path": "other.md" });
    let refused = ida.failure("commit_capture", other).await;
    assert!(refused.to_string().contains("sub/d.md") && refused["code"] == "note_not_found", "{refused}");
    confirmed(&client, "move_note", json!({ "from": "sub/d.md", "to": "b.md" })).await;
    assert_eq!(ida.answer("commit_capture", commit.clone()).await, done);
    confirmed(&client, "delete_note", json!({ "path": "b.md" })).await;
    assert!(gone().await.ends_with("it is in the trash: restore_note brings it back"));
    ida.answer("restore_note", json!({ "path": "b.md" })).await;
    assert_eq!(ida.answer("commit_capture", commit).await, done);
}

#[tokio::test]
async fn a_capture_that_could_not_become_a_note_can_whatever_becomes_of_history() {
    clock::stop();
    let deployment = deployment().await;
    let client = guarded(&deployment);
    let ida = by(&client, "ida", &WRITES);
    let ids = [capture(&ida, "purged").await, capture(&ida, "collected").await];
    let commit = |id: &Value, path: &str| json!({ "capture_id": id, "target_path": path });
    for id in &ids {
        assert_eq!(ida.refused("commit_capture", commit(id, "a.md")).await, "note_exists");
    }
    let mirror = deployment.mirror();
    mirror.commit(&notes::by("host"), &Put::note("b.md", "b\n")).await.unwrap();
    mirror.purge(&notes::by("host"), &[]).await.unwrap();
    ida.answer("commit_capture", commit(&ids[0], "purged.md")).await;
    deployment.objects.delete(&mirror.keys().manifest(2)).await.unwrap();
    // A note may have been made of it just now.
    assert_eq!(ida.refused("commit_capture", commit(&ids[1], "collected.md")).await, "commit_unknown");
    clock::pass(Duration::from_secs(25 * 3600));
    // By a token of that day.
    let ida = by(&client, "ida", &WRITES);
    ida.answer("commit_capture", commit(&ids[1], "collected.md")).await;
}

#[tokio::test]
async fn a_call_with_a_key_that_is_made_again_captures_once() {
    let deployment = deployment().await;
    let client = guarded(&deployment);
    let ida = by(&client, "ida", &WRITES);
    let keyed = json!({ "content": "once", "idempotency_key": "k" });
    let first = ida.answer("enqueue_capture", keyed.clone()).await;
    assert_eq!(ida.answer("enqueue_capture", keyed.clone()).await, first);
    let other = json!({ "content": "other", "idempotency_key": "k" });
    assert_eq!(ida.refused("enqueue_capture", other).await, "idempotency_key_mismatch");
    let commit = json!({ "capture_id": first["capture_id"], "target_path": "b.md", "idempotency_key": "c" });
    let done = ida.answer("commit_capture", commit.clone()).await;
    assert_eq!(ida.answer("commit_capture", commit).await, done);
    assert_eq!(ida.answer("enqueue_capture", keyed).await, first);
    assert_eq!(ida.answer("list_capture_queue", json!({})).await["items"], json!([]));
    // Another's key is another.
    let eve = by(&client, "eve", &WRITES);
    let keyed = json!({ "content": "once", "idempotency_key": "k" });
    assert_ne!(eve.answer("enqueue_capture", keyed).await["capture_id"], first["capture_id"]);
}

#[tokio::test]
async fn a_capture_is_seen_by_its_caller_and_administrators_who_may_read_its_place() {
    let deployment = deployment().await;
    let client = guarded(&deployment);
    let (ida, eve) = (by(&client, "ida", &WRITES), by(&client, "eve", &WRITES));
    let admin = by(&client, "ada", &scope::ALL);
    let id = capture(&ida, "ida's").await;
    capture(&eve, "eve's").await;
    assert_eq!(previews(&ida, json!({})).await, ["ida's".to_owned()].into());
    assert_eq!(previews(&eve, json!({})).await, ["eve's".to_owned()].into());
    assert_eq!(previews(&admin, json!({})).await, ["eve's".to_owned(), "ida's".to_owned()].into());
    let commit = |id: &Value| json!({ "capture_id": id, "target_path": "b.md" });
    let told = eve.failure("commit_capture", commit(&id)).await;
    let unknown = eve.failure("commit_capture", commit(&json!("0".repeat(32)))).await;
    assert_eq!(told, unknown, "another's capture is no other than none");
    admin.answer("commit_capture", commit(&id)).await;

    let acl = json!({ "rules": [{ "glob": "secret/**", "scopes": ["read:secret"] }] });
    let mut world =
        World::of(&[[("a.md".to_owned(), "x".to_owned())].into()], &acl, caller(&["read:secret".to_owned()])).await;
    let hinted = json!({ "content": "secret", "target_path_hint": "secret/b.md" });
    let id = world.ok("enqueue_capture", hinted.clone()).await["capture_id"].clone();
    assert_eq!(world.ok("list_capture_queue", json!({})).await["items"][0]["target_path_hint"], "secret/b.md");
    world.caller = caller(&[]);
    assert_eq!(world.ok("list_capture_queue", json!({})).await["items"], json!([]));
    assert_eq!(world.refused("commit_capture", commit(&id)).await, "invalid_input");
    assert_eq!(world.refused("enqueue_capture", hinted).await, "acl_denied");
}

#[tokio::test]
async fn captures_are_bounded_and_end() {
    clock::stop();
    let deployment = deployment().await;
    let client = guarded(&deployment);
    let ida = by(&client, "ida", &WRITES);
    let id = capture(&ida, "0").await;
    for n in 1..200 {
        capture(&ida, &n.to_string()).await;
    }
    assert_eq!(ida.refused("enqueue_capture", json!({ "content": "more" })).await, "captures_full");
    capture(&by(&client, "eve", &WRITES), "eve's").await;
    for (arguments, reason) in [
        (json!({ "content": "" }), "invalid_input"),
        (json!({ "content": "x".repeat(131_073) }), "invalid_input"),
        (json!({ "content": "x", "tags": vec!["a"; 51] }), "invalid_input"),
        (json!({ "content": "x", "target_path_hint": "../x" }), "path_invalid"),
        (json!({ "content": "x", "target_path_hint": ".obsidian/x.md" }), "acl_denied"),
    ] {
        assert_eq!(ida.refused("enqueue_capture", arguments.clone()).await, reason, "{arguments}");
    }
    // Pages have each once.
    let (mut seen, mut arguments) = (BTreeSet::new(), json!({ "limit": 70 }));
    let mut pages = 0;
    loop {
        pages += 1;
        let page = ida.answer("list_capture_queue", arguments.clone()).await;
        let items = page["items"].as_array().unwrap();
        assert!(items.iter().all(|item| seen.insert(item["capture_id"].as_str().unwrap().to_owned())), "{page}");
        match page.get("cursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert_eq!((seen.len(), pages), (200, 3));
    arguments["committed"] = true.into();
    assert_eq!(ida.refused("list_capture_queue", arguments).await, "cursor_invalid");
    clock::pass(Duration::from_secs(31 * 24 * 3600));
    // By tokens of that day.
    let ida = by(&client, "ida", &WRITES);
    assert_eq!(ida.answer("list_capture_queue", json!({})).await["items"], json!([]));
    let commit = json!({ "capture_id": id, "target_path": "b.md" });
    assert_eq!(ida.refused("commit_capture", commit).await, "invalid_input");
    capture(&ida, "room again").await;
}
