//! What a cold function asks of the store, counted. On `ATLAS_CORPORA` when it is set, on a made vault always.

use std::path::PathBuf;

use atlas_testkit::VaultBuilder;
use atlas_testkit::counting::Requests;
use serde_json::json;

use crate::deployment::{Client, Deployment};

const MAX_WAVES: u64 = 3;
const MAX_REQUESTS: usize = 24;

fn assert_cheap(what: &str, requests: &Requests) {
    assert!(
        requests.waves() <= MAX_WAVES && requests.count() <= MAX_REQUESTS,
        "{what} took {} waves:\n{requests}",
        requests.waves()
    );
}

/// Runs one request of each endpoint, each in a cold process.
async fn each_endpoint_cold(deployment: &Deployment, term: &str, path: &str) {
    let client = deployment.client();
    client.find(term).await;
    assert_cheap(&format!("find {term}"), &client.requests.take());
    let client = deployment.client();
    client.get(&format!("/notes?path={}", crate::deployment::encoded(path))).await.ok();
    assert_cheap("read", &client.requests.take());
    for (route, body) in
        [("/context/current", json!({})), ("/query", json!({ "question": "where is \"zzz\" defined?" }))]
    {
        let client = deployment.client();
        client.post(route, body).await;
        assert_cheap(route, &client.requests.take());
    }
}

#[tokio::test(start_paused = true)]
async fn a_cold_call_takes_three_waves() {
    let mut vault = VaultBuilder::new()
        .note("vault/planning/now.md", &(0..40).map(|n| format!("[[n/{n:04}]]\n")).collect::<String>())
        .note("vault/architecture/ARCHITECTURE.md", "# Architecture\n")
        .note("vault/architecture/DECISIONS.md", "# Decisions\n");
    for n in 0..3000 {
        let words: String = (0..80).map(|w| format!("w{} ", (n * 7919 + w * 104_729) % 5000)).collect();
        vault = vault.note(&format!("vault/n/{n:04}.md"), &format!("# Note {n}\n\n{words}\nharbour{}\n", n % 11));
    }
    let deployment = Deployment::of_vault(&vault).await;
    for term in ["harbour3", "w4711 ", "note 77", "0042", "absent", "ab", "zz"] {
        each_endpoint_cold(&deployment, term, "vault/n/1234.md").await;
    }
    let client = deployment.client();
    client.get("/notes?limit=1000").await.ok();
    assert_cheap("list", &client.requests.take());
}

#[tokio::test(start_paused = true)]
async fn a_warm_call_asks_only_whether_there_is_a_newer_generation() {
    let client = Deployment::of_demo().await.client();
    for _ in 0..2 {
        client.find("harbour").await;
        client.get("/notes/vault/Home.md").await.ok();
        client.post("/context/current", json!({})).await.ok();
        client.requests.take();
    }
    client.find("harbour").await;
    assert_eq!(client.requests.take().count(), 1);
    client.get("/notes/vault/Home.md").await.ok();
    assert_eq!(client.requests.take().count(), 1);
    client.post("/context/current", json!({})).await.ok();
    assert_eq!(client.requests.take().count(), 1);
}

/// A cold `find` fetches at most 5% of the markdown's bytes, even with the text of the notes that it returns.
#[tokio::test(start_paused = true)]
async fn a_cold_find_fetches_little() {
    let Some(corpora) = std::env::var_os("ATLAS_CORPORA").map(PathBuf::from) else {
        println!("skipped: ATLAS_CORPORA is not set");
        return;
    };
    let deployment = Deployment::of(&corpora.join("hub")).await;
    let markdown = deployment.mirror().head().await.unwrap().manifest().totals.text_bytes;
    for term in [
        "kanban",
        "dataview",
        "the",
        "templater snippet",
        "zotero",
        "qqqqzz",
        "ab",
        "🗂",
        "automation of the",
        "calendar heat",
    ] {
        let client: Client = deployment.client();
        let results = client.find(term).await.len();
        let requests = client.requests.take();
        assert_cheap(&format!("find {term}"), &requests);
        println!(
            "{term}: {results} results, {} waves, {} requests, {} bytes",
            requests.waves(),
            requests.count(),
            requests.bytes()
        );
        assert!(requests.bytes() * 20 <= markdown, "{term}: {} bytes of {markdown}\n{requests}", requests.bytes());
    }
}
