//! Concurrent writers.

use std::collections::BTreeSet;

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::contents;
use axum::http::StatusCode;
use serde_json::json;

use crate::support::deployment::Deployment;
use crate::support::note_calls::{create, put, read};

#[tokio::test]
async fn one_of_two_writers_of_a_version_wins() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "one\n")).await;
    for round in 0..8 {
        let (one, other) = (deployment.client(), deployment.client());
        let etag = one.get("/notes/a.md").await.header("etag").unwrap().to_owned();
        let headers = [("if-match", etag.as_str())];
        let (first, second) = futures::join!(
            put(&one, "a.md", &headers, json!({ "content": format!("{round} by one") })),
            put(&other, "a.md", &headers, json!({ "content": format!("{round} by other") }))
        );
        let statuses: BTreeSet<u16> = [first.status.as_u16(), second.status.as_u16()].into();
        assert_eq!(statuses, BTreeSet::from([200, 412]));
        let winner = if first.status == 200 { "one" } else { "other" };
        assert_eq!(read(&one, "a.md").await, format!("{round} by {winner}"));
    }
}

#[tokio::test]
async fn writers_of_different_notes_all_succeed() {
    const WRITERS: usize = 16;
    const NOTES: usize = 25;
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "one\n")).await;
    let writers = (0..WRITERS).map(|writer| {
        let client = deployment.client();
        async move {
            for n in 0..NOTES {
                let (path, text) = (format!("{writer}/{n}.md"), format!("word {writer} {n}"));
                let mut reply = create(&client, &path, &text).await;
                for _ in 0..5 {
                    // On a slow machine the others may win until the deadline: then nothing was written, or the outcome
                    // is unknown.
                    let reason = if reply.status == 503 { reply.error(503).1 } else { break };
                    assert!(
                        ["vault_contended", "operation_timeout", "commit_unknown"].contains(&&*reason),
                        "{reply:?}"
                    );
                    if reason == "commit_unknown" && client.get(&format!("/notes/{path}")).await.status == 200 {
                        reply.status = StatusCode::CREATED;
                        break;
                    }
                    reply = create(&client, &path, &text).await;
                }
                assert_eq!(reply.status, 201, "{reply:?}");
            }
        }
    });
    futures::future::join_all(writers).await;
    let accepted = (WRITERS * NOTES) as u64;
    let head = deployment.mirror().head().await.unwrap();
    assert_eq!((contents(&head).await.unwrap().len() as u64, head.generation()), (accepted + 1, accepted + 1));
    let client = deployment.client();
    let found = client.post("/search", json!({ "query": "word", "mode": "literal", "limit": 1000 })).await.ok();
    let listed = client.get("/notes?limit=1000").await.ok();
    for (what, list, more) in [("found", &found["results"], 0), ("listed", &listed["items"], 1)] {
        let paths: BTreeSet<&str> = list.as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
        assert_eq!(paths.len() as u64, accepted + more, "{what}");
    }
}
