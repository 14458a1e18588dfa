//! What an undo leaves, it names: moves whose halves belong together, changes below those of others, commits too old to
//! be looked at, names that are taken.

use atlas_access::Caller;
use atlas_ops::{Call, Error, dispatch};
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Put, by};
use atlas_tools::operations;
use atlas_web::App;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{ERA, paths, text};
use crate::support::agent::Agent;
use crate::support::deployment::Deployment;

/// A call by somebody at the host.
pub(super) async fn done(app: &App, name: &str, operation: &str, arguments: Value) -> Result<Value, Error> {
    let operation = operations().iter().find(|entry| entry.info.name == operation).unwrap();
    let call = Call::new(operation, arguments, Caller::trusted(name), Timestamp::now);
    Ok(dispatch(&app.atlas, call).await?.value)
}

pub(super) async fn append(app: &App, name: &str, path: &str, added: &str) {
    let edit = json!({ "path": path, "edits": [{ "op": "append", "text": added }] });
    done(app, name, "edit_note", edit).await.unwrap();
}

async fn create(app: &App, name: &str, path: &str, content: &str) {
    done(app, name, "write_note", json!({ "path": path, "content": content, "mode": "create" })).await.unwrap();
}

/// The answer to the dry run and to the deed, which tell the same.
async fn undone(app: &App, mut which: Value) -> Value {
    which["upto"] = 9999.into();
    let plan = done(app, "ida", "undo_changes", which.clone()).await.unwrap();
    which["dry_run"] = false.into();
    let answer = done(app, "ida", "undo_changes", which).await.unwrap();
    for part in ["commits", "undone", "left", "undone_count", "left_count"] {
        assert_eq!(answer[part], plan[part], "{answer} {plan}");
    }
    answer
}

pub(super) fn reason<'a>(answer: &'a Value, path: &str) -> &'a str {
    let left = answer["left"].as_array().unwrap();
    left.iter().find(|file| file["path"] == path).and_then(|file| file["reason"].as_str()).unwrap_or_default()
}

#[tokio::test]
async fn the_halves_of_a_move_stay_together_with_the_links_to_it() {
    let vault = VaultBuilder::new()
        .note("P.md", "the moved text\n")
        .note("M.md", "a moved text\n")
        .note("Home.md", "See [[M]].\n")
        .note("N1.md", "Also [[M]].\n")
        .note("X.md", "x\n")
        .note("Y.md", "y\n");
    let deployment = Deployment::of_vault(&vault).await;
    let (app, client) = (deployment.app(), deployment.client());
    let host = Agent::new(&client, ERA);
    let move_note = async |from: &str, to: &str| {
        done(&app, "bot", "move_note", json!({ "from": from, "to": to })).await.unwrap();
    };
    move_note("P.md", "sub/Q.md").await;
    create(&app, "ida", "P.md", "of Ida\n").await;
    move_note("M.md", "sub/M2.md").await;
    append(&app, "ida", "sub/M2.md", "of Ida").await;
    // Of several files that one commit moved, one was changed since.
    let moves =
        json!({ "moves": [{ "from": "X.md", "to": "z/X.md" }, { "from": "Y.md", "to": "z/Y.md" }], "dry_run": false });
    done(&app, "bot", "bulk_move_notes", moves).await.unwrap();
    append(&app, "ida", "z/Y.md", "of Ida").await;

    let answer = undone(&app, json!({ "by": "bot" })).await;
    assert_eq!((paths(&answer, "undone"), &answer["commits"]), (vec![], &json!([])));
    assert_eq!(
        paths(&answer, "left"),
        ["Home.md", "M.md", "N1.md", "P.md", "X.md", "Y.md", "sub/M2.md", "sub/Q.md", "z/X.md", "z/Y.md"]
    );
    assert_eq!(text(&host, "sub/Q.md").await.as_deref(), Some("the moved text\n"));
    assert_eq!(text(&host, "P.md").await.as_deref(), Some("of Ida\n"));
    assert_eq!(text(&host, "Home.md").await.as_deref(), Some("See [[M2]].\n"));
    assert_eq!(text(&host, "M.md").await, None);
    assert!(reason(&answer, "M.md").contains("moved M.md to sub/M2.md, and sub/M2.md stays"), "{answer}");
    assert!(reason(&answer, "Home.md").contains("move it back with move_note"), "{answer}");
    // Nobody changed these since.
    move_note("sub/Q.md", "Q.md").await;
    let answer = done(&app, "ida", "undo_changes", json!({ "generation": 8, "dry_run": false })).await.unwrap();
    assert_eq!((paths(&answer, "undone"), paths(&answer, "left")), (vec!["Q.md", "sub/Q.md"], vec![]));
}

#[tokio::test]
async fn changes_below_those_of_others_stay_and_are_named() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "A\n")).await;
    let (app, client) = (deployment.app(), deployment.client());
    for (name, added) in [("bot", "BOT-1"), ("ida", "mine"), ("bot", "BOT-2")] {
        append(&app, name, "a.md", added).await;
    }
    let answer = undone(&app, json!({ "by": "bot" })).await;
    assert_eq!((paths(&answer, "undone"), paths(&answer, "left")), (vec!["a.md"], vec!["a.md"]));
    assert_eq!(answer["commits"], json!([4]));
    assert_eq!(reason(&answer, "a.md"), "the changes of generation 2 stay: generation 3 changed it since");
    let text = text(&Agent::new(&client, ERA), "a.md").await;
    assert_eq!(text.as_deref(), Some("A\nBOT-1\nmine\n"));
}

#[tokio::test]
async fn commits_too_old_to_be_looked_at_are_told() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "A\n").note("b.md", "B\n")).await;
    let app = deployment.app();
    append(&app, "bot", "a.md", "BOT-1").await;
    let mirror = deployment.mirror();
    for n in 0..520 {
        mirror.commit(&by("host"), &Put::note("c.md", &format!("{n}\n"))).await.unwrap();
    }
    append(&app, "bot", "a.md", "BOT-2").await;
    append(&app, "bot", "b.md", "BOT-3").await;
    let answer = undone(&app, json!({ "by": "bot" })).await;
    assert_eq!(paths(&answer, "undone"), ["a.md", "b.md"]);
    assert_eq!(paths(&answer, "left"), ["a.md"]);
    assert!(reason(&answer, "a.md").contains("generation 2 and before stay"), "{answer}");
    assert!(answer["looked_from"].as_u64().is_some_and(|from| (3..100).contains(&from)), "{answer}");
}

#[tokio::test]
async fn a_taken_name_stops_only_its_own_file() {
    let vault = VaultBuilder::new().note("f/X.md", "x\n").note("f/Y.md", "y\n");
    let deployment = Deployment::of_vault(&vault).await;
    let (app, client) = (deployment.app(), deployment.client());
    for path in ["f/X.md", "f/Y.md"] {
        done(&app, "bot", "delete_note", json!({ "path": path })).await.unwrap();
    }
    create(&app, "ida", "f/X.md/n.md", "n\n").await;
    let answer = undone(&app, json!({ "by": "bot" })).await;
    assert_eq!((paths(&answer, "undone"), paths(&answer, "left")), (vec!["f/Y.md"], vec!["f/X.md"]));
    assert!(reason(&answer, "f/X.md").contains("a folder has this name"), "{answer}");
    assert_eq!(text(&Agent::new(&client, ERA), "f/Y.md").await.as_deref(), Some("y\n"));
}

#[tokio::test]
async fn a_commit_that_rewrote_many_notes_is_taken_back() {
    let links = (0..700).fold(VaultBuilder::new().note("Hub.md", "hub\n"), |vault, n| {
        vault.note(&format!("n/{n}.md"), "To the [[Hub]].\n")
    });
    let deployment = Deployment::of_vault(&links).await;
    let (app, client) = (deployment.app(), deployment.client());
    done(&app, "bot", "move_note", json!({ "from": "Hub.md", "to": "Harbour.md" })).await.unwrap();
    let host = Agent::new(&client, ERA);
    assert_eq!(text(&host, "n/699.md").await.as_deref(), Some("To the [[Harbour]].\n"));
    let answer = undone(&app, json!({ "by": "bot" })).await;
    assert_eq!((&answer["undone_count"], &answer["left_count"]), (&json!(702), &json!(0)));
    assert_eq!(text(&host, "n/699.md").await.as_deref(), Some("To the [[Hub]].\n"));
    assert_eq!(text(&host, "Hub.md").await.as_deref(), Some("hub\n"));
}

#[tokio::test]
async fn an_attachment_comes_back_from_the_trash_under_another_name() {
    let vault = VaultBuilder::new().file("z.bin", b"\0first").file("y.bin", b"\0second");
    let deployment = Deployment::of_vault(&vault).await;
    let (app, client) = (deployment.app(), deployment.client());
    let host = Agent::new(&client, ERA);
    let hash = async |path: &str| host.answer("get_attachment", json!({ "path": path })).await["content_hash"].clone();
    let before = [hash("y.bin").await, hash("z.bin").await];
    done(&app, "bot", "delete_attachment", json!({ "path": "z.bin" })).await.unwrap();
    done(&app, "bot", "move_attachment", json!({ "from": "y.bin", "to": "z.bin" })).await.unwrap();
    done(&app, "bot", "delete_attachment", json!({ "path": "z.bin" })).await.unwrap();
    let answer = undone(&app, json!({ "by": "bot" })).await;
    assert_eq!((paths(&answer, "undone"), paths(&answer, "left")), (vec!["y.bin", "z.bin"], vec![]));
    assert_eq!([hash("y.bin").await, hash("z.bin").await], before);
}

#[tokio::test]
async fn commits_that_cancel_each_other_leave_nothing_to_do() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "A\n")).await;
    let app = deployment.app();
    create(&app, "bot", "new.md", "new\n").await;
    done(&app, "bot", "delete_note", json!({ "path": "new.md" })).await.unwrap();
    let answer = undone(&app, json!({ "by": "bot" })).await;
    assert_eq!((paths(&answer, "undone"), paths(&answer, "left")), (vec![], vec![]));
}
