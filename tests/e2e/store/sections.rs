//! Reading tools answer from the sections of segments: none fetches notes' texts but those that return them.

use std::collections::BTreeSet;

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::agent::listed;
use crate::support::costs::MAX_WAVES;
use crate::support::deployment::Deployment;
use crate::support::reading::{arguments_of, reading};

/// Those that return texts, or what only texts tell: where in a note its tags and links stand, and what links show.
const OF_TEXTS: [&str; 39] = [
    "atlas_pack",
    "bundle_files",
    "bundle_folder",
    "connector_fetch",
    "connector_search",
    "context_current",
    "find",
    "find_similar",
    "get_entity",
    "get_note_tags",
    "get_outgoing_links",
    "get_prompt",
    "list_conflicts",
    "list_kanban_boards",
    "list_prompts",
    "list_templates",
    "note_read",
    "query",
    "query_base",
    "query_canvas",
    "query_entity_graph",
    "read_base",
    "read_canvas",
    "read_conflict",
    "read_excalidraw",
    "knowledge_challenge",
    "read_kanban_board",
    "read_note",
    "read_notes",
    "read_table",
    "search",
    "search_regex",
    "search_semantic",
    "search_text",
    "search_vault",
    "suggest_links",
    "vault_graph_search",
    "vault_search",
    "backlinks_search",
];
/// Those that ask besides for what is no section: older generations, or whether a sync was asked for.
const OF_STATE: [&str; 6] = ["atlas_index", "explain_path", "get_vault", "index_vault", "list_commits", "note_history"];
/// Those that decide on calls read at most what these would change; those of sessions and of the process read no note; the other looks through all words of
/// the vault.
const NEITHER: [&str; 10] = [
    "approve",
    "atlas_find_duplicates",
    "end_session",
    "get_session_traces",
    "list_approvals",
    "read_commit",
    "refuse",
    "reload_vault",
    "reset_vault_cache",
    "start_session",
];
const NOTES: u64 = 300;

/// `words` of a text that does not compress well.
fn noise(n: u64, words: u64) -> String {
    (0..words).map(|word| format!("{:x} ", (n << 20 | (word + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
}

/// A vault of which two notes are long, and all others together.
fn vault() -> VaultBuilder {
    let vault = (0..NOTES).fold(VaultBuilder::new(), |vault, n| {
        let words = if n == 7 { 20_000 } else { 900 };
        let text = format!(
            "---\nrank: {n}\ntags: [t{}]\n---\n# A\n[[n/{}]] [[gone]]\n- [ ] do it 📅 2026-02-01\n{}\n",
            n % 7,
            (n * 7) % NOTES,
            noise(n, words)
        );
        vault.note(&format!("n/{n}.md"), &text).file(&format!("n/{n}.canvas"), b"{}")
    });
    let settings = br#"{ "folder": "n" }"#;
    let bookmarks = br#"{ "items": [{ "type": "file", "path": "n/7.md" }] }"#;
    let vault = vault.note("n/2026-01-02.md", &noise(NOTES, 20_000));
    let vault = vault.file(".obsidian/plugins/quickadd/data.json", br#"{ "choices": [] }"#);
    vault.file(".obsidian/daily-notes.json", settings).file(".obsidian/bookmarks.json", bookmarks)
}

/// Less than the text of one of the two long notes.
const MAX_BYTES: u64 = 100_000;

fn calls() -> Vec<(&'static str, Value)> {
    let mut calls = named_calls();
    let named: Vec<&str> = calls.iter().map(|(name, _)| *name).chain(OF_TEXTS).chain(NEITHER).collect();
    let others = reading().filter(|entry| !named.contains(&entry.info.name));
    calls.extend(others.map(|entry| (entry.info.name, arguments_of(entry, "n/7.md"))));
    calls
}

/// Calls with arguments of their own; all other operations that read are called with what they require.
fn named_calls() -> Vec<(&'static str, Value)> {
    vec![
        ("explain_path", json!({ "path": "n/7.md" })),
        ("atlas_index", json!({})),
        ("find_notes_by_property", json!({ "key": "rank" })),
        ("generate_uri", json!({ "action": "open" })),
        ("get_attachment", json!({ "path": "n/7.canvas" })),
        ("get_metrics", json!({})),
        ("get_periodic_note", json!({ "period": "daily", "date": "2026-01-02", "include_content": false })),
        ("get_server_config", json!({})),
        ("get_vault", json!({})),
        ("health", json!({})),
        ("index_vault", json!({})),
        ("inspect_acl", json!({ "path": "n/7.md", "op": "read" })),
        ("list_attachments", json!({ "extensions": ["canvas"] })),
        ("list_periodic_notes", json!({ "period": "daily" })),
        ("list_tasks", json!({ "status": ["todo"] })),
        ("list_vaults", json!({})),
        ("server_health", json!({})),
        ("tasks_filter", json!({ "filter": "not done\nheading includes a\ngroup by due" })),
        // Of texts, but not as they are asked here.
        ("backlinks_search", json!({ "path": "n/7.md", "paths_only": true })),
        (
            "read_note",
            json!({ "path": "n/7.md", "include_content": false, "include_frontmatter": false, "include_stats": true }),
        ),
        (
            "read_notes",
            json!({ "paths": ["n/7.md", "n/8.md"], "include_content": false, "include_frontmatter": false }),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn reading_tools_fetch_no_texts_but_those_that_they_return() {
    let deployment = Deployment::of_vault(&vault()).await;
    for (name, arguments) in calls() {
        let client = deployment.client();
        let body = json!({ "arguments": arguments });
        let route = format!("/bridge/v1/tools/{name}/call");
        let answer = client.post(&route, body.clone()).await.ok();
        assert_eq!(answer["success"], true, "{name}: {answer}");
        let requests = client.requests.take();
        let is_of_state = OF_STATE.contains(&name);
        let max_waves = MAX_WAVES + u64::from(is_of_state);
        assert!(requests.waves() <= max_waves && requests.bytes() < MAX_BYTES, "{name}:\n{requests}");
        client.post(&route, body).await.ok();
        let warm = client.requests.take();
        // Health looks for the last sync's word too, in the same wave.
        let more = if is_of_state { 2 } else { usize::from(name == "health") };
        assert!(warm.count() <= 1 + more, "{name}, warm:\n{warm}");
    }
}

#[test]
fn each_reading_tool_is_one_that_returns_texts_or_one_that_fetches_none() {
    let names = listed().filter(|entry| !entry.info.writes()).map(|entry| entry.info.name);
    let reading: BTreeSet<&str> = names.filter(|name| !NEITHER.contains(name)).collect();
    let known: BTreeSet<&str> = calls().into_iter().map(|(name, _)| name).chain(OF_TEXTS).collect();
    assert_eq!(reading, known);
}
