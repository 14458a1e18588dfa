//! Moves of notes: links follow however they spell the name, and so do a person's bookmarks.

use std::collections::BTreeMap;

use atlas_access::scope;
use atlas_testkit::VaultBuilder;
use serde_json::json;

use crate::support::deployment::Deployment;
use crate::support::note_calls::{move_note, notes};
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

#[tokio::test]
async fn a_list_of_bookmarks_that_cannot_be_changed_stops_no_move() {
    let vault =
        VaultBuilder::new().note("a.md", "x").file(".obsidian/bookmarks.json", b"{ \"items\": [{ \"path\": \"a.md\"");
    let deployment = Deployment::of_vault(&vault).await;
    move_note(&deployment.client(), "a.md", json!({ "to": "b.md" })).await.ok();
    assert_eq!(bookmarks(&deployment).await, "{ \"items\": [{ \"path\": \"a.md\"");
}
