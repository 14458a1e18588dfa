//! Moves of notes: links follow however they spell the name, and so do a person's bookmarks.

use std::collections::BTreeMap;

use atlas_access::{Scope, scope};
use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::note_calls::{move_note, notes};
use crate::support::tokens::{bearer, send, token};
use crate::support::tool_calls::{caller, confirmed, guarded};
use crate::support::tools::Tools;

/// A link to `mix/Ärger & Co (1).md` in each spelling, and what it becomes when that moves to `b/Öl.md`.
const SPELLINGS: [(&str, &str); 14] = [
    ("[[Ärger & Co (1)]]", "[[Öl]]"),
    ("[[mix/ärger & co (1).md|x]]", "[[b/Öl.md|x]]"),
    ("[x](Ärger%20&%20Co%20(1).md)", "[x](Öl.md)"),
    ("[x](%C3%84rger%20&%20Co%20(1).md)", "[x](%C3%96l.md)"),
    ("[x](<Ärger & Co (1).md>)", "[x](<Öl.md>)"),
    ("[x](%C3%84rger%20%26%20Co%20%281%29.md)", "[x](%C3%96l.md)"),
    ("[x][r]\n\n[r]: <Ärger & Co (1).md>", "[x][r]\n\n[r]: <Öl.md>"),
    ("[x](%c3%84rger%20%26%20Co%20%281%29.md)", "[x](%C3%96l.md)"),
    ("[x](%C3%84%72ger%20%26%20Co%20(1).md)", "[x](%C3%96l.md)"),
    ("[x](Ärger%20&amp;%20Co%20\\(1\\).md)", "[x](Öl.md)"),
    ("[x](<&Auml;rger & Co (1).md>)", "[x](<Öl.md>)"),
    ("[x](&#196;rger%20&%20Co%20(1).md)", "[x](Öl.md)"),
    ("---\nup: \"[[\\xc4rger & Co (1)]]\"\n---", "---\nup: \"[[Öl]]\"\n---"),
    ("---\nup: >-\n  [[Ärger\n  & Co (1)]]\n---", "---\nup: >-\n  [[Öl]]\n---"),
];

fn spelled() -> VaultBuilder {
    let vault = VaultBuilder::new().note("mix/Ärger & Co (1).md", "# It\n");
    SPELLINGS
        .iter()
        .enumerate()
        .fold(vault, |vault, (n, (link, _))| vault.note(&format!("n{n:02}.md"), &format!("{link}\n")))
}

fn expected() -> BTreeMap<String, String> {
    let notes = SPELLINGS.iter().enumerate().map(|(n, (_, link))| (format!("n{n:02}.md"), format!("{link}\n")));
    notes.chain([("b/Öl.md".to_owned(), "# It\n".to_owned())]).collect()
}

#[tokio::test]
async fn a_link_follows_however_it_spells_the_name() {
    let deployment = Deployment::of_vault(&spelled()).await;
    let client = deployment.client();
    let backlinks = Tools::of(&client).good("get_backlinks", json!({ "path": "mix/Ärger & Co (1).md" })).await;
    assert_eq!(backlinks["total_count"], 14);
    let moved = move_note(&client, "mix/Ärger & Co (1).md", json!({ "to": "b/Öl.md" })).await.ok();
    assert_eq!(moved["backlinks_updated"], 14, "{moved}");
    assert_eq!(notes(&deployment).await, expected());
    let left = Tools::of(&client).good("find_unresolved_links", json!({})).await;
    assert_eq!(left["total_count"], 0, "{left}");
}

#[tokio::test]
async fn a_rewritten_target_is_found_however_it_is_spelled() {
    let deployment = Deployment::of_vault(&spelled().note("b/Öl.md", "")).await;
    let client = guarded(&deployment).await;
    let call = json!({ "from_target": "mix/Ärger & Co (1)", "to_target": "b/Öl", "dry_run": false });
    assert_eq!(confirmed(&client, "rewrite_link", call).await["total_replacements"], 14);
}

/// A list as a person's editor wrote it, with these paths.
fn list(file: &str, heading: &str, folder: &str) -> String {
    format!(
        "{{ \"items\": [\r\n  {{\"type\":\"file\", \"ctime\":1.7e12,\"path\":\"{file}\", \"new\":[1 ,2]}},\r\n  \
        {{\"type\":\"group\",\"title\":\"a/One.md\",\"items\":[{{\"type\":\"file\",\"path\":\"{heading}\",\"subpath\":\"#H\"}}]}},\r\n  \
        {{\"type\":\"folder\",\"path\":\"{folder}\"}}, {{\"type\":\"search\",\"query\":\"a/One.md\"}} ], \"x\": \"a/One.md\" }}"
    )
}

async fn bookmarks(deployment: &Deployment) -> String {
    notes(deployment).await.remove(".obsidian/bookmarks.json").unwrap()
}

#[tokio::test]
async fn a_person_s_bookmarks_follow_what_is_moved_and_come_back() {
    let first = list("a/One.md", "a/Two.md", "a");
    let vault = VaultBuilder::new().note("a/One.md", "# One\n\n[[Two]]\n").note("a/Two.md", "# H\n\nSecond.\n");
    let deployment = Deployment::of_vault(&vault.file(".obsidian/bookmarks.json", first.as_bytes())).await;
    let client = guarded(&deployment).await;
    confirmed(&client, "move_note", json!({ "from": "a/One.md", "to": "b/First.md" })).await;
    assert_eq!(
        bookmarks(&deployment).await,
        list("b/First.md", "a/Two.md", "a"),
        "another note is in the folder still"
    );
    let commit = deployment.mirror().head().await.unwrap();
    assert_eq!(commit.manifest().operation, "move_note");
    // An undo takes it back.
    let undo = json!({ "generation": commit.generation(), "dry_run": false });
    confirmed(&client, "undo_changes", undo).await;
    assert_eq!(bookmarks(&deployment).await, first);
    // All of a folder.
    let moves = json!([{ "from": "a/One.md", "to": "c/d/One.md" }, { "from": "a/Two.md", "to": "c/d/Two.md" }]);
    confirmed(&client, "bulk_move_notes", json!({ "moves": moves, "dry_run": false })).await;
    assert_eq!(bookmarks(&deployment).await, list("c/d/One.md", "c/d/Two.md", "c/d"));
    // Other changes leave the file alone.
    let before = deployment.mirror().head().await.unwrap().manifest().totals;
    caller(&client, &scope::ALL).answer("write_note", json!({ "path": "e.md", "content": "", "mode": "create" })).await;
    assert_eq!(deployment.mirror().head().await.unwrap().manifest().totals.documents, before.documents + 1);
}

/// A list of bookmarks of these folders.
fn of_folders(folders: &[&str]) -> String {
    let items: Vec<_> = folders.iter().map(|path| json!({ "type": "folder", "path": path })).collect();
    json!({ "items": items }).to_string()
}

async fn with_folders(folders: &[&str], notes: &[&str]) -> Deployment {
    let list = of_folders(folders);
    let vault = VaultBuilder::new().file(".obsidian/bookmarks.json", list.as_bytes());
    Deployment::of_vault(&notes.iter().fold(vault, |vault, path| vault.note(path, &format!("of {path}\n")))).await
}

async fn move_all(deployment: &Deployment, ways: &[(&str, &str)]) {
    let moves: Vec<_> = ways.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect();
    confirmed(&guarded(deployment).await, "bulk_move_notes", json!({ "moves": moves, "dry_run": false })).await;
}

#[tokio::test]
async fn a_bookmarked_folder_stays_unless_it_moves_as_such() {
    let notes = ["Inbox/call.md", "Archive/old.md", "Two/a.md", "Two/b.md", "One/lone.md"];
    let folders = ["Inbox", "Archive", "Two", "One"];
    for moves in [
        // The only note of a folder, to one that is there, and to one that is not.
        &[("Inbox/call.md", "Archive/call.md")][..],
        &[("One/lone.md", "New/lone.md")],
        // All notes of a folder, to one that is there; apart from each other; into the folder itself.
        &[("Two/a.md", "Archive/a.md"), ("Two/b.md", "Archive/b.md")],
        &[("Two/a.md", "New/a.md"), ("Two/b.md", "Other/b.md")],
        &[("Two/a.md", "Two/in/a.md"), ("Two/b.md", "Two/in/b.md")],
    ] {
        let deployment = with_folders(&folders, &notes).await;
        move_all(&deployment, moves).await;
        assert_eq!(bookmarks(&deployment).await, of_folders(&folders), "{moves:?}");
    }
    // One in it goes along, however few notes that has.
    let deployment = with_folders(&["a", "a/in", "b"], &["a/x.md", "a/in/y.md"]).await;
    move_all(&deployment, &[("a/x.md", "c/a/x.md"), ("a/in/y.md", "c/a/in/y.md")]).await;
    assert_eq!(bookmarks(&deployment).await, of_folders(&["c/a", "c/a/in", "b"]));
}

#[tokio::test]
async fn an_undone_move_takes_back_the_bookmark_that_it_changed_and_no_other() {
    let deployment = with_folders(&["a", "c"], &["a/x.md", "a/y.md"]).await;
    let client = guarded(&deployment).await;
    move_all(&deployment, &[("a/x.md", "b/x.md"), ("a/y.md", "b/y.md")]).await;
    assert_eq!(bookmarks(&deployment).await, of_folders(&["b", "c"]));
    move_all(&deployment, &[("b/x.md", "d/x.md"), ("b/y.md", "d/y.md")]).await;
    let write = json!({ "path": "a/since.md", "content": "", "mode": "create" });
    caller(&client, &scope::ALL).answer("write_note", write).await;
    let undo = json!({ "by": "agent", "upto": 3, "dry_run": false });
    confirmed(&client, "undo_changes", undo).await;
    assert_eq!(bookmarks(&deployment).await, of_folders(&["a", "c"]));
    // A move that changed none brings none back.
    let deployment = with_folders(&["b"], &["a/x.md", "a/y.md", "b/z.md"]).await;
    let client = guarded(&deployment).await;
    move_all(&deployment, &[("a/x.md", "b/x.md"), ("a/y.md", "b/y.md")]).await;
    confirmed(&client, "delete_note", json!({ "path": "b/z.md" })).await;
    confirmed(&client, "undo_changes", json!({ "generation": 2, "dry_run": false })).await;
    assert_eq!(bookmarks(&deployment).await, of_folders(&["b"]));
}

#[tokio::test]
async fn bookmarks_that_follow_are_no_part_of_what_is_approved() {
    let deployment = with_folders(&["a"], &["a/x.md", "a/y.md"]).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let person = [bearer(&token("person", &[Scope::ReadVault, Scope::Admin], None))];
    let ask = async |uri: &str, body: Value| send(&client, "POST", uri, &person, &body).await.ok();
    let moves = json!([{ "from": "a/x.md", "to": "b/x.md" }, { "from": "a/y.md", "to": "b/y.md" }]);
    let call = json!({ "moves": moves, "dry_run": false });
    let refused = agent.failure("bulk_move_notes", call.clone()).await;
    let id = refused["details"]["approval"]["id"].clone();
    let seen = ask("/list_approvals", json!({ "id": id })).await["approvals"][0].clone();
    assert!(seen["files"].as_array().is_some_and(|files| !files.is_empty()), "{seen}");
    assert!(!seen.to_string().contains("bookmarks.json"), "{seen}");
    ask("/approve", json!({ "id": id })).await;
    // The person adds another meanwhile.
    let added = json!({ "type": "file", "target": "a/x.md", "title": "Mine" });
    Tools::of(&deployment.client()).good("add_bookmark", added).await;
    agent.answer("bulk_move_notes", call).await;
    let list = bookmarks(&deployment).await;
    assert!(list.contains("\"b/x.md\"") && list.contains("\"b\""), "{list}");
}

#[tokio::test]
async fn a_list_of_bookmarks_that_cannot_be_changed_stops_no_move() {
    let vault =
        VaultBuilder::new().note("a.md", "x").file(".obsidian/bookmarks.json", b"{ \"items\": [{ \"path\": \"a.md\"");
    let deployment = Deployment::of_vault(&vault).await;
    move_note(&deployment.client(), "a.md", json!({ "to": "b.md" })).await.ok();
    assert_eq!(bookmarks(&deployment).await, "{ \"items\": [{ \"path\": \"a.md\"");
}
