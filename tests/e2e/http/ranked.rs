//! `search` for words: the most relevant notes, best first.

use std::collections::BTreeSet;
use std::path::Path;

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment, demo};

fn paths(page: &Value) -> Vec<&str> {
    page["results"].as_array().unwrap().iter().map(|note| note["path"].as_str().unwrap()).collect()
}

async fn search(client: &Client, query: &str) -> Value {
    let reply = client.post("/search", json!({ "query": query })).await;
    assert_eq!(reply.status, 200, "{query}: {:?}", reply.body);
    reply.json()
}

fn harbour() -> VaultBuilder {
    VaultBuilder::new()
        .note("Harbour.md", "Where ships lie.\n")
        .note("log/storm.md", "---\ntitle: The great storm\ntags: [log/sea]\n---\n# Day one\n\nCalm.\n\n## At the harbour\n\nThe high tide came into the harbour.\n")
        .note("log/calm.md", "# Calm\n\nNothing about ships here, but high above a tide of clouds. #log/air\n")
        .note("tides.md", "A long list.\n\nhigh tide, low tide, spring tide, neap tide\n")
        .note("far.md", &format!("{}harbour{}", "sand ".repeat(400), " sand".repeat(400)))
        .note("日本.md", "港の潮は高い。\n\nmore\n")
        .file("crew.json", b"{\"name\": \"Ada\", \"role\": \"harbourmaster\"}\n")
}

#[tokio::test]
async fn a_title_says_more_than_a_heading_and_a_heading_more_than_text() {
    let client = Deployment::of_vault(&harbour()).await.client();
    let page = search(&client, "harbour").await;
    assert_eq!(paths(&page), ["Harbour.md", "log/storm.md", "far.md"]);
    let storm = &page["results"][1];
    assert_eq!(storm["title"], "The great storm");
    assert_eq!(storm["anchor"], "#at-the-harbour");
    assert_eq!(
        (storm["line"].as_u64(), storm["snippet"].as_str()),
        (Some(9), Some("## At the harbour\nThe high tide came into the harbour."))
    );
    let scores: Vec<f64> =
        page["results"].as_array().unwrap().iter().map(|note| note["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, other| one > other) && scores[2] > 0.0, "{scores:?}");
    assert_eq!(page["results"][0]["title"], "Harbour");
    assert_eq!(page["results"][0]["anchor"], Value::Null);
    let far = page["results"][2]["snippet"].as_str().unwrap();
    assert!(far.contains("harbour") && far.starts_with('…') && far.ends_with('…') && far.len() < 400, "{far}");
    assert!(page.get("cursor").is_none() && page.get("partial").is_none() && page.get("corrections").is_none());
}

#[tokio::test]
async fn every_part_of_an_expression_counts() {
    let client = Deployment::of_vault(&harbour()).await.client();
    for (query, expected) in [
        ("HIGH", &["log/calm.md", "log/storm.md", "tides.md"][..]),
        ("\"high tide\"", &["log/storm.md", "tides.md"]),
        ("\"tide high\"", &[]),
        ("\"high  TIDE, low\"", &["tides.md"]),
        ("tide -clouds", &["log/storm.md", "tides.md"]),
        ("tide -\"spring tide\"", &["log/calm.md", "log/storm.md"]),
        ("tag:log", &["log/calm.md", "log/storm.md"]),
        ("tag:#LOG/sea", &["log/storm.md"]),
        ("tag:lo", &[]),
        ("tide -tag:log", &["tides.md"]),
        ("tide path:LOG/", &["log/calm.md", "log/storm.md"]),
        ("tide -path:log", &["tides.md"]),
        ("path:\"日本\"", &["日本.md"]),
        ("harbour*", &["Harbour.md", "crew.json", "far.md", "log/storm.md"]),
        ("潮", &["日本.md"]),
        ("の潮は", &["日本.md"]),
        ("\"港の潮\"", &["日本.md"]),
        ("\"潮港\"", &[]),
        ("日本", &["日本.md"]),
        ("harbor", &["Harbour.md", "far.md", "log/storm.md"]),
        ("\"The great storm\"", &["log/storm.md"]),
        ("nowhereatall", &[]),
        ("ada nowhereatall", &["crew.json"]),
    ] {
        let page = search(&client, query).await;
        let found: BTreeSet<&str> = paths(&page).into_iter().collect();
        assert_eq!(found, expected.iter().copied().collect(), "{query}: {page}");
    }
    let corrected = search(&client, "harbuor storm").await;
    assert_eq!(corrected["corrections"], json!([{ "word": "harbuor", "instead": ["harbour"] }]));
    assert!(corrected["results"][0]["snippet"].as_str().unwrap().contains("arbour"), "{corrected}");
    let filtered = client
        .post("/search", json!({ "query": "tide", "mode": "text", "path_filter": "*.md", "explain": true, "limit": 1 }))
        .await
        .json();
    assert_eq!((paths(&filtered).len(), filtered["plan"]["kind"].as_str()), (1, Some("ranking")));
    let filtered = client.post("/search", json!({ "query": "tide", "path_filter": "!log/**" })).await.json();
    assert_eq!(paths(&filtered), ["tides.md"]);
}

#[tokio::test]
async fn newer_segments_shadow_older_ones() {
    let vault = harbour();
    let deployment = Deployment::empty();
    let state = tempfile::tempdir().unwrap();
    crate::support::publish::publish(vault.root(), &deployment.mirror(), state.path()).await;
    vault.write("tides.md", b"Nothing but moon.\n");
    std::fs::remove_file(vault.root().join("Harbour.md")).unwrap();
    vault.write("new.md", b"the harbour, once more\n");
    crate::support::publish::publish(vault.root(), &deployment.mirror(), state.path()).await;
    let client = deployment.client();
    let found: BTreeSet<String> =
        paths(&search(&client, "harbour moon").await).into_iter().map(str::to_owned).collect();
    assert_eq!(found, ["far.md", "log/storm.md", "new.md", "tides.md"].map(str::to_owned).into());
    assert_eq!(paths(&search(&client, "\"spring tide\"").await), Vec::<&str>::new());
    // A vault published in one step gives the same.
    let at_once = Deployment::of(vault.root()).await.client();
    for query in ["harbour", "tide", "moon harbour ships", "tag:log"] {
        let (one, other) = (search(&client, query).await, search(&at_once, query).await);
        assert_eq!(paths(&one).into_iter().collect::<BTreeSet<_>>(), paths(&other).into_iter().collect(), "{query}");
    }
}

#[tokio::test]
async fn pages_go_on_where_the_one_before_ended_while_others_write() {
    let vault = (0..30)
        .fold(VaultBuilder::new(), |vault, n| vault.note(&format!("{n:02}.md"), &"tide and sand ".repeat(n % 7 + 1)));
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    let whole = json!({ "query": "tide", "limit": 1000 });
    let all = client.post("/search", whole.clone()).await;
    assert_eq!(client.post("/search", whole).await.body, all.body);
    let all = all.json();
    assert_eq!(paths(&all).len(), 30);
    for query in ["tide", "\"sand tide\"", "\"tide and\" -\"tide tide\""] {
        let whole = client.post("/search", json!({ "query": query, "limit": 1000 })).await.json();
        let mut body = json!({ "query": query, "limit": 4 });
        let mut found = Vec::new();
        loop {
            let page = client.post("/search", body.clone()).await.json();
            found.extend(page["results"].as_array().unwrap().clone());
            let Some(cursor) = page.get("cursor") else { break };
            body["cursor"] = cursor.clone();
            vault.write("00.md", format!("tide {}", found.len()).as_bytes());
            deployment.publish(vault.root()).await;
        }
        assert_eq!(json!(found), whole["results"], "{query}");
    }
    let of_another = client.post("/search", json!({ "query": "tide", "limit": 4 })).await.json();
    let refused = client.post("/search", json!({ "query": "sand", "cursor": of_another["cursor"] })).await;
    assert_eq!(refused.json()["error"]["details"]["reason"], "cursor_invalid");
}

#[tokio::test]
async fn what_one_call_has_no_time_for_comes_in_pages() {
    let deployment =
        Deployment::of_vault(&harbour()).await.with_limits(|limits| limits.max_scan_time = std::time::Duration::ZERO);
    let client = deployment.client();
    let mut body = json!({ "query": "tide" });
    let mut found = Vec::new();
    let mut partial = 0;
    loop {
        let page = client.post("/search", body.clone()).await.json();
        found.extend(paths(&page).into_iter().map(str::to_owned));
        let Some(cursor) = page.get("cursor") else { break };
        assert!(page["partial"].as_str().unwrap().contains("time"), "{page}");
        partial += 1;
        body["cursor"] = cursor.clone();
    }
    let all = Deployment::of_vault(&harbour()).await.client();
    assert_eq!(found, paths(&search(&all, "tide").await));
    assert_eq!(partial, 2);
}

#[tokio::test]
async fn what_is_wrong_with_an_expression_is_said() {
    let client = Deployment::of_demo().await.client();
    for (body, said) in [
        (json!({ "query": "-harbour" }), "name a word"),
        (json!({ "query": "tag: harbour" }), "right after the colon"),
        (json!({ "query": "word ".repeat(40) }), "too many parts"),
        (json!({ "query": "x", "case": "smart" }), "case: leave it out"),
        (json!({ "query": "x", "context_lines": 1 }), "context_lines: leave it out"),
        (json!({ "query": "" }), "query: must not be empty"),
    ] {
        let reply = client.post("/search", body.clone()).await;
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(reply.status, 400, "{body}");
        assert!(message.contains(said), "{message}");
    }
}

/// The words of every text of a folder, and those of its name.
fn words_of(root: &Path) -> Vec<(String, BTreeSet<String>)> {
    let mut notes = Vec::new();
    for note in crate::support::costs::notes_of(root) {
        let text = std::fs::read_to_string(&note).unwrap();
        let path = note.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let name = note.file_stem().unwrap().to_str().unwrap().to_owned();
        let words =
            [text.as_str(), &name].into_iter().flat_map(atlas_vault::words).map(|word| word.folded.into_owned());
        notes.push((path, words.collect()));
    }
    notes
}

#[tokio::test]
async fn the_notes_that_have_a_word_are_found_and_no_others() {
    let corpora = std::env::var_os("ATLAS_CORPORA").map(std::path::PathBuf::from);
    for root in [demo()].into_iter().chain(corpora.iter().map(|corpora| corpora.join("help"))) {
        let notes = words_of(&root);
        let client = Deployment::of(&root).await.client();
        let all: BTreeSet<&String> = notes.iter().flat_map(|(_, words)| words).collect();
        for word in all.into_iter().step_by(17) {
            let body = json!({ "query": format!("\"{word}\""), "limit": 1000, "path_filter": "*.md" });
            let page = client.post("/search", body).await.json();
            let body = json!({ "query": word, "limit": 1000, "path_filter": "*.md" });
            let scored = client.post("/search", body).await.json();
            // A single character of a script without spaces matches the pairs that begin with it.
            let is_alone = word.chars().count() == 1 && !word.is_ascii();
            let has = |words: &BTreeSet<String>| {
                words.contains(word) || is_alone && words.iter().any(|other| other.starts_with(word))
            };
            let expected: BTreeSet<&str> =
                notes.iter().filter(|(_, words)| has(words)).map(|(path, _)| path.as_str()).collect();
            assert!(expected.is_subset(&paths(&scored).into_iter().collect()), "{word}");
            // Titles and aliases in properties are in the text too, so that both counts agree.
            assert_eq!(paths(&page).into_iter().collect::<BTreeSet<_>>(), expected, "{word}");
        }
    }
}
