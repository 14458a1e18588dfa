//! An undo of much: no file stays for others that it has nothing to do with, and what is told fits into the commit.

use atlas_access::Caller;
use atlas_ops::{Call, dispatch};
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Put, by};
use atlas_tools::operations;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::paths;
use super::whole::{append, done, reason};
use crate::support::deployment::Deployment;
use crate::support::publish::publish;

#[tokio::test]
async fn a_large_sync_is_undone_but_for_what_was_changed_since() {
    let vault =
        VaultBuilder::new().note("gone.md", "of nothing else\n").note("old.md", "it moved, and is long enough\n");
    let (deployment, state) = (Deployment::empty(), tempfile::tempdir().unwrap());
    let sync = async || publish(vault.root(), &deployment.mirror(), state.path()).await;
    sync().await;
    for n in 0..60 {
        vault.write(&format!("new/{n:02}.md"), format!("the note {n}\n").as_bytes());
    }
    vault.remove("gone.md");
    vault.remove("old.md");
    vault.write("moved.md", b"it moved, and is long enough\n");
    sync().await;
    let app = deployment.app();
    append(&app, "ida", "new/07.md", "of Ida").await;
    append(&app, "ida", "moved.md", "of Ida").await;
    let answer = done(&app, "ida", "undo_changes", json!({ "generation": 2, "dry_run": false })).await.unwrap();
    assert_eq!((&answer["undone_count"], &answer["left_count"]), (&json!(60), &json!(3)), "{answer}");
    assert_eq!(paths(&answer, "left"), ["moved.md", "new/07.md", "old.md"]);
    assert!(reason(&answer, "old.md").contains("moved old.md to moved.md"), "{answer}");
}

#[tokio::test]
async fn commits_of_other_operations_are_not_taken_for_moves() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "one\n").note("b.md", "two\n")).await;
    let app = deployment.app();
    // An undo that puts one note into the trash, and restores another.
    for (operation, arguments) in [
        ("write_note", json!({ "path": "new.md", "content": "made\n", "mode": "create" })),
        ("delete_note", json!({ "path": "b.md" })),
        ("undo_changes", json!({ "by": "bot", "upto": 3, "dry_run": false })),
    ] {
        done(&app, "bot", operation, arguments).await.unwrap();
    }
    append(&app, "ida", "b.md", "of Ida").await;
    let answer = done(&app, "ida", "undo_changes", json!({ "generation": 4, "dry_run": false })).await.unwrap();
    assert_eq!((paths(&answer, "undone"), paths(&answer, "left")), (vec!["new.md"], vec!["b.md"]));
}

#[tokio::test]
async fn an_undo_with_a_key_tells_the_same_again_however_many_files_stay() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "A\n")).await;
    let (app, mirror) = (deployment.app(), deployment.mirror());
    let path = |n: usize| format!("{}/{n:04}.md", "long".repeat(50));
    let all = |text: &str, count: usize| (0..count).fold(Put::default(), |put, n| put.and(&path(n), text));
    mirror.commit(&by("bot"), &all("of the bot\n", 4_500)).await.unwrap();
    mirror.commit(&by("host"), &all("of others\n", 4_499)).await.unwrap();
    let undo = async || {
        let operation = operations().iter().find(|entry| entry.info.name == "undo_changes").unwrap();
        let arguments = json!({ "generation": 2, "dry_run": false });
        let call = Call::new(operation, arguments, Caller::trusted("ida"), Timestamp::now);
        dispatch(&app.atlas, Call { key: Some("k".to_owned()), ..call }).await.unwrap().value
    };
    let first: Value = undo().await;
    assert_eq!((&first["undone_count"], &first["left_count"]), (&json!(1), &json!(4_499)));
    assert!(first["left"].as_array().unwrap().len() > 100);
    assert_eq!(undo().await, first);
}

#[tokio::test]
async fn older_commits_are_told_only_if_some_are_meant_too() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "A\n")).await;
    let (app, mirror) = (deployment.app(), deployment.mirror());
    for n in 0..600 {
        mirror.commit(&by("host"), &Put::note("c.md", &format!("{n}\n"))).await.unwrap();
    }
    append(&app, "bot", "a.md", "BOT").await;
    for (name, is_told) in [("bot", false), ("host", true)] {
        let plan = done(&app, "ida", "undo_changes", json!({ "by": name })).await.unwrap();
        assert_eq!(plan["looked_from"].is_u64(), is_told, "{name}: {}", plan["looked_from"]);
    }
}
