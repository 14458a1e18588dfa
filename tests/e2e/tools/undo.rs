//! `undo_changes`: an agent's work is undone, and nobody else's.

use atlas_access::scope;
use atlas_mirror::CommitInfo;
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Put, by};
use atlas_testkit::time::minute;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::agent::Agent;
use crate::support::deployment::{Client, Deployment};
use crate::support::publish::publish;
use crate::support::tokens::{bearer, send, token};
use crate::support::tool_calls::{confirmed, guarded};

mod bounds;
mod model;
mod whole;

const ERA: &str = "2025-11-25";

fn caller<'a>(client: &'a Client, name: &str) -> Agent<'a> {
    Agent::new(client, ERA).with(bearer(&token(name, &scope::ALL, None)))
}

async fn write(agent: &Agent<'_>, path: &str, text: &str) -> u64 {
    let written = agent.answer("write_note", json!({ "path": path, "content": text, "mode": "create" })).await;
    written["generation"].as_u64().unwrap()
}

async fn add(agent: &Agent<'_>, path: &str, text: &str) -> u64 {
    let edit = json!({ "path": path, "edits": [{ "op": "append", "text": text }] });
    agent.answer("edit_note", edit).await["generation"].as_u64().unwrap()
}

async fn text(agent: &Agent<'_>, path: &str) -> Option<String> {
    let there = agent.answer("note_exists", json!({ "path": path })).await;
    if there["exists"] != true {
        return None;
    }
    let note = agent.answer("read_note", json!({ "path": path })).await;
    Some(note["content"].as_str().unwrap().to_owned())
}

fn paths<'a>(answer: &'a Value, list: &str) -> Vec<&'a str> {
    answer[list].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_undone_merge_leaves_both_versions() {
    let vault = VaultBuilder::new().note("log/a.md", "one\n\ntwo\n\nthree\n");
    let (deployment, state) = (Deployment::empty(), tempfile::tempdir().unwrap());
    let sync = async || publish(vault.root(), &deployment.mirror(), state.path()).await;
    sync().await;
    let client = guarded(&deployment).await;
    let ida = caller(&client, "ida");
    let edit =
        json!({ "path": "log/a.md", "edits": [{ "op": "replace_text", "find": "one", "replace": "the agent's" }] });
    ida.answer("edit_note", edit).await;
    vault.write("log/a.md", b"one\n\ntwo\n\nmine\n");
    assert_eq!(sync().await.merged.len(), 1);
    assert_eq!(text(&ida, "log/a.md").await.as_deref(), Some("the agent's\n\ntwo\n\nmine\n"));

    let call = json!({ "generation": 4, "dry_run": false });
    let done = confirmed(&client, "undo_changes", call.clone()).await;
    assert_eq!(paths(&done, "left"), [""; 0]);
    let undone = paths(&done, "undone");
    assert!(undone.len() == 2 && undone[1] == "log/a.md" && undone[0].starts_with("log/a (conflict "), "{done}");
    assert_eq!(text(&ida, undone[0]).await.as_deref(), Some("one\n\ntwo\n\nmine\n"));
    sync().await;
    assert_eq!(vault.read("log/a.md"), b"the agent's\n\ntwo\n\nthree\n");
    assert_eq!(vault.read(undone[0]), b"one\n\ntwo\n\nmine\n");
    let again = ida.answer("undo_changes", call).await;
    assert_eq!((paths(&again, "undone"), paths(&again, "left")), (vec![], vec!["log/a.md"]));
}

#[tokio::test]
async fn what_an_agent_did_is_taken_back_but_for_what_others_changed_since() {
    let vault = VaultBuilder::new().note("a.md", "A\n").note("b.md", "B\n").note("c.md", "C\n").note("d.md", "D\n");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let (bot, ida) = (caller(&client, "bot"), caller(&client, "ida"));
    add(&bot, "a.md", "of the bot").await;
    add(&bot, "a.md", "and more").await;
    add(&bot, "b.md", "of the bot").await;
    add(&ida, "b.md", "of Ida").await;
    add(&ida, "c.md", "of Ida").await;
    add(&bot, "c.md", "of the bot").await;
    write(&bot, "new.md", "made\n").await;
    confirmed(&client, "delete_note", json!({ "path": "d.md" })).await;

    let plan = ida.answer("undo_changes", json!({ "by": "bot" })).await;
    assert_eq!(plan["commits"], json!([2, 3, 7, 8]));
    assert_eq!((paths(&plan, "undone"), paths(&plan, "left")), (vec!["a.md", "c.md", "new.md"], vec!["b.md"]));
    assert_eq!(plan["dry_run"], true);
    assert_eq!(text(&ida, "a.md").await.as_deref(), Some("A\nof the bot\nand more\n"));
    let refused =
        ida.failure("undo_changes", json!({ "by": "bot", "upto": plan["generation"], "dry_run": false })).await;
    assert_eq!(refused["code"], "elicit_required");

    let done =
        confirmed(&client, "undo_changes", json!({ "by": "bot", "upto": plan["generation"], "dry_run": false })).await;
    assert_eq!(done["undone"], plan["undone"]);
    assert_eq!(text(&ida, "a.md").await.as_deref(), Some("A\n"));
    assert_eq!(text(&ida, "b.md").await.as_deref(), Some("B\nof the bot\nof Ida\n"));
    assert_eq!(text(&ida, "c.md").await.as_deref(), Some("C\nof Ida\n"));
    assert_eq!(text(&ida, "new.md").await, None);
    // A second undo finds nothing to do.
    let again = ida.answer("undo_changes", json!({ "by": "bot" })).await;
    assert_eq!((paths(&again, "undone"), paths(&again, "left").len()), (vec![], 4));
}

#[tokio::test]
async fn one_commit_is_taken_back_and_that_too() {
    let vault = VaultBuilder::new().note("a.md", "A\n").note("d.md", "D\n").note("links.md", "See [[d]].\n");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let ida = caller(&client, "ida");
    confirmed(&client, "delete_note", json!({ "path": "d.md" })).await;
    let undo = |generation: u64| json!({ "generation": generation, "dry_run": false });
    let done = confirmed(&client, "undo_changes", undo(2)).await;
    assert_eq!(paths(&done, "undone"), ["d.md"]);
    assert_eq!(text(&ida, "d.md").await.as_deref(), Some("D\n"));
    assert_eq!(done["generation"], 3);
    confirmed(&client, "undo_changes", undo(3)).await;
    assert_eq!(text(&ida, "d.md").await, None);

    confirmed(&client, "move_note", json!({ "from": "a.md", "to": "z/a.md" })).await;
    confirmed(&client, "undo_changes", undo(5)).await;
    assert_eq!((text(&ida, "a.md").await.as_deref(), text(&ida, "z/a.md").await), (Some("A\n"), None));
    for (arguments, code) in [
        (json!({}), "invalid_input"),
        (json!({ "generation": 1 }), "invalid_input"),
        (json!({ "generation": 2, "by": "ida" }), "invalid_input"),
        (json!({ "by": "ida", "since": "yesterday" }), "invalid_input"),
        (json!({ "by": "ida", "dry_run": false }), "invalid_input"),
        (json!({ "by": "nobody" }), "generation_not_found"),
        (json!({ "generation": 999 }), "generation_not_found"),
    ] {
        assert_eq!(ida.failure("undo_changes", arguments.clone()).await["code"], code, "{arguments}");
    }
}

#[tokio::test]
async fn attachments_come_back_with_the_links_to_them() {
    let picture = b"\x89PNG\r\n\x1a\n\0picture".as_slice();
    let vault = VaultBuilder::new()
        .note("a.md", "![[media/pic.png]]\n")
        .file("media/pic.png", picture)
        .file("lone.bin", b"\0lone")
        .file("gone.bin", b"\0gone")
        .file("sea.canvas", b"{}");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let ida = caller(&client, "ida");
    let sha256 = async |path: &str| {
        let there = ida.answer("note_exists", json!({ "path": path })).await;
        if there["exists"] != true {
            return Value::Null;
        }
        ida.answer("get_attachment", json!({ "path": path })).await["content_hash"].clone()
    };
    let was = sha256("media/pic.png").await;
    assert!(was.is_string());
    let undo = |generation: u64| json!({ "generation": generation, "dry_run": false });
    let undone = async |generation: u64, expected: &[&str]| {
        let plan = ida.answer("undo_changes", json!({ "generation": generation })).await;
        let done = confirmed(&client, "undo_changes", undo(generation)).await;
        assert_eq!((&done["undone"], &done["left"]), (&plan["undone"], &plan["left"]));
        assert_eq!((paths(&done, "undone"), paths(&done, "left")), (expected.to_vec(), vec![]));
    };

    ida.answer("move_attachment", json!({ "from": "media/pic.png", "to": "img/pic.png" })).await;
    undone(2, &["a.md", "img/pic.png", "media/pic.png"]).await;
    assert_eq!((sha256("media/pic.png").await, sha256("img/pic.png").await), (was.clone(), Value::Null));
    assert_eq!(text(&ida, "a.md").await.as_deref(), Some("![[media/pic.png]]\n"));
    undone(3, &["a.md", "img/pic.png", "media/pic.png"]).await;
    assert_eq!((sha256("media/pic.png").await, sha256("img/pic.png").await), (Value::Null, was));

    for (path, generation) in [("lone.bin", 5), ("sea.canvas", 7)] {
        let was = sha256(path).await;
        confirmed(&client, "delete_attachment", json!({ "path": path })).await;
        assert_eq!(sha256(path).await, Value::Null, "{path}");
        undone(generation, &[path]).await;
        assert_eq!(sha256(path).await, was, "{path}");
    }
    confirmed(&client, "delete_attachment", json!({ "path": "gone.bin", "hard": true })).await;
    let left = ida.answer("undo_changes", json!({ "generation": 9 })).await;
    assert_eq!((paths(&left, "undone"), paths(&left, "left")), (vec![], vec!["gone.bin"]));
}

#[tokio::test]
async fn hidden_notes_are_neither_told_nor_taken_back() {
    let vault = VaultBuilder::new().note("Open/a.md", "A\n").note("Shut/b.md", "B\n");
    let deployment = Deployment::of_vault(&vault).await;
    let bot = deployment.client();
    let bot = Agent::new(&bot, ERA);
    add(&bot, "Open/a.md", "x").await;
    add(&bot, "Shut/b.md", "x").await;
    let document =
        json!({ "acl": { "readPaths": ["Open/**"], "writePaths": ["Open/**"], "deletePaths": ["Open/**"] } });
    let client = deployment.set_up(&[("ATLAS_CONFIG", &document.to_string())]).await;
    let seen = Agent::new(&client, ERA)
        .answer("undo_changes", json!({ "by": "anonymous", "upto": 9, "dry_run": false }))
        .await;
    assert_eq!((paths(&seen, "undone"), paths(&seen, "left")), (vec!["Open/a.md"], vec![]));
    assert!(!seen.to_string().contains("Shut") && seen["commits"] == json!([2]), "{seen}");
    let none = Agent::new(&client, ERA).failure("undo_changes", json!({ "generation": 3 })).await;
    let absent = Agent::new(&client, ERA).failure("undo_changes", json!({ "generation": 99 })).await;
    assert_eq!(none, absent);
    assert_eq!(text(&bot, "Shut/b.md").await.as_deref(), Some("B\nx\n"));
}

#[tokio::test]
async fn a_session_is_kept_through_every_door_and_undone_as_one() {
    let vault = VaultBuilder::new().note("a.md", "A\n").note("b.md", "B\n").note("c.md", "C\n").note("d.md", "D\n");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let ida = caller(&client, "ida");
    let headers = [bearer(&token("ida", &scope::ALL, None))];
    let named = [headers[0].clone(), ("x-atlas-session".to_owned(), "tidy up".to_owned())];
    let append = json!({ "edits": [{ "op": "append", "text": "x" }] });
    // By the header, by an argument, over the Bridge and over MCP; once without a session, and once in another.
    send(&client, "PATCH", "/notes/a.md", &named, &append).await.ok();
    let body = json!({ "edits": append["edits"], "session": "tidy up" });
    send(&client, "PATCH", "/notes/b.md", &headers, &body).await.ok();
    let call = json!({ "arguments": { "path": "c.md", "edits": append["edits"], "session": "tidy up" } });
    send(&client, "POST", "/bridge/v1/tools/edit_note/call", &headers, &call).await.ok();
    ida.answer("edit_note", json!({ "path": "d.md", "edits": append["edits"], "session": "tidy up" })).await;
    add(&ida, "a.md", "of no session").await;
    ida.answer("edit_note", json!({ "path": "d.md", "edits": append["edits"], "session": "another" })).await;

    let told = ida.answer("note_history", json!({ "path": "d.md" })).await;
    let sessions: Vec<&Value> = told["versions"].as_array().unwrap().iter().map(|one| &one["session"]).collect();
    assert_eq!(sessions, [&json!("another"), &json!("tidy up"), &Value::Null]);
    let plan = ida.answer("undo_changes", json!({ "of_session": "tidy up" })).await;
    assert_eq!(plan["commits"], json!([3, 4]));
    assert_eq!((paths(&plan, "undone"), paths(&plan, "left")), (vec!["b.md", "c.md"], vec!["a.md", "d.md"]));
    for (whose, commits) in [("ida", Some(json!([7]))), ("bot", None)] {
        let arguments = json!({ "of_session": "another", "by": whose });
        match commits {
            Some(commits) => assert_eq!(ida.answer("undo_changes", arguments).await["commits"], commits),
            None => assert_eq!(ida.failure("undo_changes", arguments).await["code"], "generation_not_found"),
        }
    }
    for session in ["", "two\nlines", &"x".repeat(201)] {
        let body = json!({ "edits": append["edits"], "session": session });
        assert_eq!(send(&client, "PATCH", "/notes/b.md", &headers, &body).await.error(400).1, "validation_error");
    }
    let other = json!({ "edits": append["edits"], "session": "other" });
    assert_eq!(send(&client, "PATCH", "/notes/b.md", &named, &other).await.error(400).1, "validation_error");
}

#[tokio::test]
async fn what_was_done_after_the_dry_run_is_not_taken_back() {
    let vault = VaultBuilder::new().note("a.md", "A\n").note("b.md", "B\n");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let (bot, ida) = (caller(&client, "bot"), caller(&client, "ida"));
    add(&bot, "a.md", "shown").await;
    let plan = ida.answer("undo_changes", json!({ "by": "bot" })).await;
    add(&bot, "b.md", "since").await;
    let undo = json!({ "by": "bot", "upto": plan["generation"], "dry_run": false });
    let done = confirmed(&client, "undo_changes", undo).await;
    assert_eq!((paths(&done, "undone"), paths(&done, "left")), (vec!["a.md"], vec![]));
    assert_eq!(text(&ida, "b.md").await.as_deref(), Some("B\nsince\n"));
}

#[tokio::test]
async fn a_host_whose_clock_is_slow_hides_no_commit() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "A\n")).await;
    let client = guarded(&deployment).await;
    let (bot, ida) = (caller(&client, "bot"), caller(&client, "ida"));
    let since = Timestamp::now() - SignedDuration::from_mins(1);
    add(&bot, "a.md", "of the bot").await;
    // The oldest of the first page that is looked at has the time of a slow clock.
    let mirror = deployment.mirror();
    for n in 0..50 {
        let time = if n == 0 { minute(0) } else { Timestamp::now() };
        let info = CommitInfo { time, ..by("host") };
        mirror.commit(&info, &Put::note("b.md", &format!("{n}\n"))).await.unwrap();
    }
    let plan = ida.answer("undo_changes", json!({ "by": "bot", "since": since.to_string() })).await;
    assert_eq!((&plan["commits"], paths(&plan, "undone")), (&json!([2]), vec!["a.md"]));
}
