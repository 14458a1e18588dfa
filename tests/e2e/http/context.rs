//! `POST /context/current`, as the Atlas Local Bridge specification has it.

use std::time::Duration;

use atlas_testkit::VaultBuilder;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::deployment::{Deployment, demo};

fn paths(answer: &Value) -> Vec<&str> {
    answer["sources"].as_array().unwrap().iter().map(|source| source["path"].as_str().unwrap()).collect()
}

const SPINE: [&str; 6] = [
    "vault/planning/now.md",
    "vault/architecture/ARCHITECTURE.md",
    "vault/contracts/VAULT_CONTRACT.md",
    "vault/contracts/API_CONTRACT.md",
    "vault/contracts/GIT_CONTRACT.md",
    "vault/architecture/DECISIONS.md",
];

#[tokio::test]
async fn it_is_now_then_the_spine_then_what_now_links_to() {
    let deployment = Deployment::of_demo().await;
    let answer = deployment.client().post("/context/current", json!({})).await.ok();
    let paths = paths(&answer);
    assert_eq!(paths[..6], SPINE);
    assert_eq!(
        paths[6..],
        [
            "vault/people/Ines Calloway.md",
            "vault/planning/backlog.md",
            "vault/people/Maeve O'Driscoll.md",
            "vault/planning/roadmap.md",
            "vault/architecture/tide-engine.md",
            "vault/devlog/tide-engine-rewrite.md",
            "vault/incidents/2026-11-16 Gauge two freezes.md",
            "vault/adr/ADR-004-utc-everywhere.md",
            "vault/explainers/under-keel-clearance.md",
            "vault/explainers/git-branching.md",
        ]
    );
}

#[tokio::test]
async fn every_source_is_the_file_itself() {
    let deployment = Deployment::of_demo().await;
    let answer = deployment
        .client()
        .post("/context/current", json!({ "include": ["vault/explainers/git-branching.md"] }))
        .await
        .ok();
    for source in answer["sources"].as_array().unwrap() {
        let file = std::fs::read(demo().join(source["path"].as_str().unwrap())).unwrap();
        let hash: String = Sha256::digest(&file).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(source["content"].as_str().unwrap().as_bytes(), file);
        assert_eq!(
            (source["bytes"].as_u64().unwrap() as usize, source["sha256"].as_str().unwrap()),
            (file.len(), hash.as_str())
        );
    }
}

#[tokio::test]
async fn what_is_asked_for_is_added_and_stays_when_there_are_too_many() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    let include =
        json!(["vault/reference/Glossary.md", "agent/SPEC.md", "vault/not/there.md", "vault/planning/now.md"]);
    let answer = client.post("/context/current", json!({ "include": include })).await.ok();
    let all = paths(&answer);
    assert_eq!(all[all.len() - 2..], ["vault/reference/Glossary.md", "agent/SPEC.md"]);
    assert_eq!(all.iter().filter(|path| **path == "vault/planning/now.md").count(), 1);

    let answer = client.post("/context/current", json!({ "include": include, "max_sources": 4 })).await.ok();
    assert_eq!(
        paths(&answer),
        ["vault/planning/now.md", "vault/architecture/ARCHITECTURE.md", "vault/reference/Glossary.md", "agent/SPEC.md"]
    );
    let answer = client.post("/context/current", json!({ "max_sources": 1 })).await.ok();
    assert_eq!(paths(&answer), ["vault/planning/now.md"]);
}

#[tokio::test]
async fn only_so_many_links_are_followed() {
    let mut vault = VaultBuilder::new()
        .note("vault/planning/now.md", &(0..30).map(|n| format!("[[n{n:02}]]\n")).collect::<String>());
    for n in 0..30 {
        vault = vault.note(&format!("vault/n{n:02}.md"), "text");
    }
    let deployment = Deployment::of_vault(&vault).await;
    assert_eq!(paths(&deployment.client().post("/context/current", json!({})).await.ok()).len(), 1 + 10);
    let deployment = deployment.with_limits(|limits| limits.max_results = 3);
    let answer = deployment.client().post("/context/current", json!({})).await.ok();
    assert_eq!(paths(&answer), ["vault/planning/now.md", "vault/n00.md", "vault/n01.md", "vault/n02.md"]);
}

#[tokio::test]
async fn other_contracts_belong_to_the_spine() {
    let vault = VaultBuilder::new()
        .note("vault/planning/now.md", "")
        .note("vault/contracts/GIT_CONTRACT.md", "")
        .note("vault/contracts/A11Y.md", "")
        .note("vault/contracts/old/GONE.md", "")
        .note("vault/contracts/list.txt", "")
        .note("vault/architecture/DECISIONS.md", "");
    let answer = Deployment::of_vault(&vault).await.client().post("/context/current", json!({})).await.ok();
    assert_eq!(
        paths(&answer),
        [
            "vault/planning/now.md",
            "vault/contracts/GIT_CONTRACT.md",
            "vault/contracts/A11Y.md",
            "vault/architecture/DECISIONS.md"
        ]
    );
}

#[tokio::test]
async fn links_that_lead_nowhere_out_of_the_vault_or_to_no_note_are_left_out() {
    let now = "[[missing]] [[../../etc/passwd]] [x](vault/../../secret.md) [[/etc/passwd]] [[picture.png]] [y](https://example.com/a.md) \
               `[[in code]]` [[agent/SPEC]] [[twin]] [[here#heading|shown]] [z](%2e%2e/%2e%2e/secret.md) [[here]]";
    let vault = VaultBuilder::new()
        .note("vault/planning/now.md", now)
        .note("vault/here.md", "")
        .note("vault/in code.md", "")
        .note("vault/a/twin.md", "")
        .note("vault/b/twin.md", "")
        .note("agent/SPEC.md", "")
        .note("secret.md", "")
        .file("vault/picture.png", b"\x89PNG");
    let answer = Deployment::of_vault(&vault).await.client().post("/context/current", json!({})).await.ok();
    // Of those with one name the first is used.
    assert_eq!(paths(&answer), ["vault/planning/now.md", "vault/a/twin.md", "vault/here.md"]);
}

#[tokio::test]
async fn neither_the_spine_nor_what_is_no_text_takes_the_place_of_a_link() {
    let now = "[[API_CONTRACT]] ![[map.png]] [[DECISIONS]] [[now]] [[large.txt]] [[data.csv]] [[first]] [[second]]";
    let vault = VaultBuilder::new()
        .note("vault/planning/now.md", now)
        .note("vault/contracts/API_CONTRACT.md", "")
        .note("vault/architecture/DECISIONS.md", "d")
        .note("vault/first.md", "")
        .note("vault/second.md", "2")
        .file("vault/map.png", b"\x89PNG\0")
        .file("vault/large.txt", &b"x".repeat(2 << 20))
        .file("vault/data.csv", b"a,b\n");
    let deployment = Deployment::of_vault(&vault).await.with_limits(|limits| limits.max_results = 2);
    let arguments = json!({ "include": ["vault/map.png", "vault/second.md"] });
    let answer = deployment.client().post("/context/current", arguments).await.ok();
    assert_eq!(
        paths(&answer),
        [
            "vault/planning/now.md",
            "vault/contracts/API_CONTRACT.md",
            "vault/architecture/DECISIONS.md",
            "vault/data.csv",
            "vault/first.md",
            "vault/second.md"
        ]
    );
}

#[tokio::test]
async fn without_a_now_note_it_names_the_path_that_it_looked_for() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("vault/Home.md", "")).await;
    let (code, reason, message) = deployment.client().post("/context/current", json!({})).await.error(404);
    assert_eq!((code.as_str(), reason.as_str()), ("NOT_FOUND", "note_not_found"));
    assert!(message.contains("vault/planning/now.md"), "{message}");
}

#[tokio::test]
async fn a_root_without_a_vault_folder_is_the_vault_folder() {
    let vault = VaultBuilder::new()
        .note("planning/now.md", "[[vault/other]] [[third]]")
        .note("other.md", "")
        .note("sub/third.md", "");
    let answer = Deployment::of_vault(&vault)
        .await
        .client()
        .post("/context/current", json!({ "include": ["vault/sub/third.md"] }))
        .await
        .ok();
    assert_eq!(paths(&answer), ["planning/now.md", "other.md", "sub/third.md"]);
}

#[tokio::test]
async fn notes_over_the_limits_are_left_out_except_now_itself() {
    let vault = VaultBuilder::new()
        .note("vault/planning/now.md", "[[big]] [[small]]")
        .note("vault/big.md", &"x".repeat(300_000))
        .note("vault/small.md", "");
    let deployment = Deployment::of_vault(&vault).await;
    assert_eq!(
        paths(&deployment.client().post("/context/current", json!({})).await.ok()),
        ["vault/planning/now.md", "vault/small.md"]
    );
    let (code, reason, _) = deployment
        .with_limits(|limits| limits.max_bytes = 5)
        .client()
        .post("/context/current", json!({}))
        .await
        .error(413);
    assert_eq!((code.as_str(), reason.as_str()), ("TOO_LARGE", "note_too_large"));
}

#[tokio::test]
async fn what_is_asked_for_stays_where_not_everything_fits() {
    let vault = VaultBuilder::new()
        .note("vault/planning/now.md", "[[one]] [[two]]")
        .note("vault/one.md", &"x".repeat(9_000))
        .note("vault/two.md", &"\n".repeat(9_000))
        .note("vault/wanted.md", &"y".repeat(9_000));
    let (now, one, two, wanted) = ("vault/planning/now.md", "vault/one.md", "vault/two.md", "vault/wanted.md");
    // In 35,000 bytes all fit as text, but not as JSON.
    for (max_bytes, expected) in [
        (20_000, &[now, wanted][..]),
        (24_000, &[now, one, wanted]),
        (35_000, &[now, one, wanted]),
        (45_000, &[now, one, two, wanted]),
    ] {
        let deployment = Deployment::of_vault(&vault).await;
        let client = deployment.with_limits(|limits| limits.max_response_bytes = max_bytes).client();
        let answer = client.post("/context/current", json!({ "include": [wanted] })).await.ok();
        assert_eq!(paths(&answer), expected, "{max_bytes}");
    }
}

#[tokio::test]
async fn a_vault_with_another_layout_says_which_notes_are_current() {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let vault = VaultBuilder::new()
        .note("Journal/plan.md", "See [[Boats]].\n")
        .note(&format!("Log/{today}.md"), "See [[Boats]] too.\n")
        .note("Areas/Boats.md", "# Boats\n")
        .note("Maps/b.md", "# B\n")
        .note("Maps/a.md", "# A\n")
        .note("Rules/z.md", "# Z\n")
        .file(".obsidian/daily-notes.json", br#"{"folder": "Log"}"#);
    let deployment = Deployment::of_vault(&vault).await;
    let spine = json!(["Rules/*.md", "Maps/**"]);
    for (now, first) in [("Journal/plan.md", "Journal/plan.md".to_owned()), ("daily", format!("Log/{today}.md"))] {
        let document = json!({ "context": { "now": now, "spine": spine } }).to_string();
        let client = deployment.set_up(&[("ATLAS_CONFIG", &document)]).await;
        let found = client.post("/context/current", json!({})).await.ok();
        assert_eq!(paths(&found), [first.as_str(), "Rules/z.md", "Maps/a.md", "Maps/b.md", "Areas/Boats.md"]);
    }
    let document = json!({ "context": { "now": "daily", "timeZone": "Nowhere/Land" } }).to_string();
    let refused = deployment.try_set_up(&[("ATLAS_CONFIG", &document)], Duration::from_secs(30)).await;
    assert!(refused.err().is_some_and(|error| error.contains("context.timeZone")));
}
