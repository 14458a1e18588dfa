//! The functions' requests to the store, counted. On `ATLAS_CORPORA` when it is set, always on a generated vault.

use std::path::PathBuf;
use std::sync::Arc;

use atlas_testkit::counting::Requests;
use atlas_testkit::{Op, VaultBuilder};
use axum::http::Method;
use serde_json::json;

use crate::support::costs::{MAX_WAVES, notes_of};
use crate::support::deployment::{Client, Deployment};
use crate::support::note_calls::{create, put, send};

const MAX_REQUESTS: usize = 24;
/// Bytes of a manifest per thousand notes: 64 KiB at 100,000 with room for later writes.
const MANIFEST: usize = 1100;
const MANIFEST_OF_THOUSAND: usize = 350;

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
    client.get(&format!("/notes?path={}", crate::support::deployment::encoded(path))).await.ok();
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
    let manifest = deployment.mirror().head().await.unwrap().manifest().encode().unwrap().len();
    assert!(manifest <= MANIFEST + 3 * MANIFEST_OF_THOUSAND, "a manifest of {manifest} bytes");
}

#[tokio::test]
async fn what_is_wanted_twice_is_decoded_once() {
    let head = Deployment::of_demo().await.mirror().head().await.unwrap();
    let layout = &head.segments()[0].layout;
    let (terms, paths) = ((0, layout.terms().unwrap()), (0, layout.paths().unwrap()));
    let parts = head.load(&[terms.clone(), paths, terms]).await.unwrap();
    assert!(Arc::ptr_eq(&parts[0], &parts[2]), "nothing is cached here");
    assert!(parts[0].terms().is_ok() && parts[1].paths().is_ok());
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

#[tokio::test(start_paused = true)]
async fn a_write_takes_few_waves() {
    let vault = (0..3000)
        .fold(VaultBuilder::new(), |vault, n| vault.note(&format!("{n:04}.md"), &format!("note {n}\n").repeat(30)));
    let deployment = Deployment::of_vault(&vault).await;
    let edit = json!({ "edits": [{ "op": "append", "text": "more words" }] });
    let patch = async |client: &Client, path: &str| {
        client.requests.take();
        send(client, Method::PATCH, path, &[], edit.clone()).await.ok();
        waves_of_a_write(&client.requests.take())
    };

    let client = deployment.client();
    create(&client, "new 1.md", "words").await;
    assert_eq!(
        waves_of_a_write(&client.requests.take()),
        3,
        "the hint, then probe and records and upload, then the manifest"
    );
    create(&client, "new 2.md", "words").await;
    let requests = client.requests.take().without("latest");
    assert_eq!((waves_of_a_write(&requests), requests.count()), (2, 4), "{requests}");
    let etag = client.get("/notes/0007.md").await.header("etag").unwrap().to_owned();
    client.requests.take();
    put(&client, "0007.md", &[("if-match", &etag)], json!({ "content": "other words" })).await.ok();
    let requests = client.requests.take().without("latest");
    assert_eq!((waves_of_a_write(&requests), requests.count()), (2, 4), "{requests}");
    assert_eq!(patch(&client, "0400.md").await, 3, "of a note beside one that was read: text, upload, manifest");
    client.get("/notes/2345.md").await.ok();
    assert_eq!(patch(&client, "2345.md").await, 2, "of a note that was read");
    assert_eq!(patch(&deployment.client(), "1234.md").await, 4, "the hint, records and text, upload, manifest");
    // Without writes that wait to be merged.
    let cold = Deployment::of_vault(&vault).await.client();
    put(&cold, "0007.md", &[("if-match", "*")], json!({ "content": "yet other words" })).await.ok();
    assert_eq!(waves_of_a_write(&cold.requests.take()), 3);
}

/// Waves until the manifest was written, without the test of conditional writes, once per process.
fn waves_of_a_write(requests: &Requests) -> u64 {
    let last = |part: &str| requests.0.iter().filter(|one| one.key.contains(part)).map(|one| one.wave).max();
    let manifest = requests.of(Op::Create).filter(|one| one.key.contains("/manifests/")).map(|one| one.wave).max();
    manifest.unwrap_or_else(|| panic!("nothing was committed:\n{requests}")) - last("probes/").unwrap_or(0)
}

/// A cold `find` fetches at most 5% of the markdown's bytes, including the text of the notes that it returns. This
/// holds for nearly all words and phrases drawn from the vault; the others take another wave.
#[tokio::test(start_paused = true)]
async fn a_cold_find_fetches_little() {
    let Some(corpora) = std::env::var_os("ATLAS_CORPORA").map(PathBuf::from) else {
        println!("skipped: ATLAS_CORPORA is not set");
        return;
    };
    let root = corpora.join("hub");
    let deployment = Deployment::of(&root).await;
    let markdown = deployment.mirror().head().await.unwrap().manifest().totals.text_bytes;
    let mut terms: Vec<String> =
        ["kanban", "the", "templater snippet", "qqqqzz", "ab", "🗂", "automation of the"].map(str::to_owned).to_vec();
    for (number, note) in notes_of(&root).into_iter().step_by(31).enumerate() {
        let text = std::fs::read_to_string(note).unwrap();
        let words: Vec<&str> = text.split_whitespace().filter(|word| word.len() < 40).collect();
        if let Some(words) = words.chunks(1 + number % 3).nth(number % 7) {
            terms.push(words.join(" "));
        }
    }
    assert!(terms.len() > 150);
    let mut dear = 0;
    for term in &terms {
        let client: Client = deployment.client();
        client.find(term).await;
        let requests = client.requests.take();
        assert!(requests.waves() <= MAX_WAVES + 1 && requests.count() <= MAX_REQUESTS + 12, "{term}:\n{requests}");
        assert!(requests.bytes() * 12 <= markdown, "{term}: {} bytes of {markdown}\n{requests}", requests.bytes());
        let is_cheap =
            requests.waves() <= MAX_WAVES && requests.count() <= MAX_REQUESTS && requests.bytes() * 20 <= markdown;
        dear += usize::from(!is_cheap);
    }
    println!("{dear} of {} terms took more than {MAX_WAVES} waves, {MAX_REQUESTS} requests or 5%", terms.len());
    assert!(dear * 50 <= terms.len(), "{dear} of {}", terms.len());
}
