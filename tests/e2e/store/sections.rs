//! Reading tools answer from the sections of segments: none fetches notes' texts but those that return them.

use std::collections::BTreeSet;

use atlas_mirror::{Options, Snapshot};
use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::agent::listed;
use crate::support::costs::MAX_WAVES;
use crate::support::deployment::Deployment;
use crate::support::publish::publish;
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
/// Those that tell of the process, or of times.
const OF_PROCESS: [&str; 4] = ["get_metrics", "health", "index_vault", "server_health"];

/// `words` of a text that does not compress well.
fn noise(n: u64, words: u64) -> String {
    (0..words).map(|word| format!("{:x} ", (n << 20 | (word + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
}

/// A vault of which two notes are long, and all others together.
fn vault(notes: u64) -> VaultBuilder {
    let vault = (0..notes).fold(VaultBuilder::new(), |vault, n| {
        let words = if n == 7 { 20_000 } else { 900 };
        let text = format!(
            "---\nrank: {n}\ntags: [t{}]\n---\n# A\n[[n/{}]] [[gone]]\n- [ ] do it 📅 2026-02-01\n{}\n",
            n % 7,
            (n * 7) % notes,
            noise(n, words)
        );
        vault.note(&format!("n/{n}.md"), &text).file(&format!("n/{n}.canvas"), b"{}")
    });
    let settings = br#"{ "folder": "n" }"#;
    let bookmarks = br#"{ "items": [{ "type": "file", "path": "n/7.md" }] }"#;
    let vault = vault.note("n/2026-01-02.md", &noise(notes, 20_000));
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
    let deployment = Deployment::of_vault(&vault(300)).await;
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

/// What answers say of the one commit, which differs between two mirrors.
fn without_ids(answer: &Value, head: &Snapshot) -> String {
    let manifest = head.manifest();
    let ids = [head.hash().to_string(), manifest.nonce.to_string(), manifest.lineage.to_string()];
    ids.iter().fold(answer.to_string(), |answer, id| answer.replace(id, "ID").replace(&id[..16], "ID"))
}

#[tokio::test(start_paused = true)]
async fn answers_are_the_same_where_only_segments_say_where_their_pages_are() {
    let vault = vault(30);
    let (here, apart) = (Deployment::of_vault(&vault).await, Deployment::empty());
    let without = || apart.mirror_with("main", Options { max_directories: 0, ..Options::default() });
    publish(vault.root(), &without(), tempfile::tempdir().unwrap().path()).await;
    let heads = (here.mirror().head().await.unwrap(), apart.mirror().head().await.unwrap());
    assert!(heads.1.segments().iter().all(|entry| entry.layout.leaves_directories()));
    let named = calls().into_iter().chain(OF_TEXTS.iter().filter_map(|name| {
        let entry = reading().find(|entry| entry.info.name == *name)?;
        Some((*name, arguments_of(entry, "n/7.md")))
    }));
    for (name, arguments) in named.filter(|(name, _)| !OF_PROCESS.contains(name)) {
        let route = format!("/bridge/v1/tools/{name}/call");
        let ask = async |deployment: &Deployment| {
            let client = deployment.client();
            let answer = client.post(&route, json!({ "arguments": arguments })).await.ok();
            (answer, client.requests.take())
        };
        let ((expected, one), (answer, other)) = (ask(&here).await, ask(&apart).await);
        assert_eq!(without_ids(&answer, &heads.1), without_ids(&expected, &heads.0), "{name}");
        assert!(other.waves() <= one.waves() + 1, "{name}: a wave more for the directories\n{one}\n{other}");
    }
}

#[test]
fn each_reading_tool_is_one_that_returns_texts_or_one_that_fetches_none() {
    let names = listed().filter(|entry| !entry.info.writes()).map(|entry| entry.info.name);
    let reading: BTreeSet<&str> = names.filter(|name| !NEITHER.contains(name)).collect();
    let known: BTreeSet<&str> = calls().into_iter().map(|(name, _)| name).chain(OF_TEXTS).collect();
    assert_eq!(reading, known);
}
