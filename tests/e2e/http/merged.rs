//! Edits of a note that has changed meanwhile, merged with what changed.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment, Reply};
use crate::support::note_calls::{create, read, send};

const PATH: &str = "plan.md";
const PLAN: &str = "---\nstatus: open\n---\n# Plan\n\nBerths.\n\n# Later\n\nFog.\n";

/// A vault with the plan, and the ETag of the plan.
async fn planned() -> (Client, String) {
    let client = Deployment::of_demo().await.client();
    let etag = create(&client, PATH, PLAN).await.header("etag").expect("an ETag").to_owned();
    (client, etag)
}

async fn edit(client: &Client, version: Option<&str>, on_conflict: &str, edit: Value) -> Reply {
    let headers: Vec<(&str, &str)> = version.map(|version| ("if-match", version)).into_iter().collect();
    let body = json!({ "edits": [edit], "on_conflict": on_conflict });
    send(client, Method::PATCH, PATH, &headers, body).await
}

fn add(heading: &str, text: &str) -> Value {
    json!({ "op": "append_to_section", "target": { "heading": [heading] }, "text": text })
}

fn replace(old: &str, new: &str) -> Value {
    json!({ "op": "replace_text", "find": old, "replace": new })
}

#[tokio::test]
async fn edits_of_an_older_version_are_merged_where_they_touch_nothing_that_changed() {
    let (client, etag) = planned().await;
    let first = edit(&client, Some(&etag), "merge", add("Later", "Horns.")).await;
    assert_eq!(first.ok()["merged_with"], Value::Null, "nothing had changed");
    let second = edit(&client, Some(&etag), "merge", replace("Berths.", "Two berths.")).await;
    let third =
        edit(&client, Some(&etag), "merge", json!({ "op": "set_property", "name": "status", "value": "done" })).await;
    let versions = [&first, &second].map(|reply| reply.json()["sha256"].clone());
    assert_eq!([second.ok(), third.ok()].map(|answer| answer["merged_with"].clone()), versions);
    let expected = PLAN.replace("open", "done").replace("Berths.", "Two berths.").replace("Fog.\n", "Fog.\nHorns.\n");
    assert_eq!(read(&client, PATH).await, expected);
}

#[tokio::test]
async fn edits_that_touch_what_changed_change_nothing() {
    let (client, etag) = planned().await;
    edit(&client, Some(&etag), "fail", replace("Berths.", "Two berths.")).await.ok();
    let newest = read(&client, PATH).await;
    for on_conflict in ["fail", "merge"] {
        let refused = edit(&client, Some(&etag), on_conflict, replace("Berths.", "No berths.")).await;
        assert_eq!(refused.error(412).1, "note_changed");
    }
    let refused = edit(&client, Some(&etag), "merge", replace("Berths.", "No berths.")).await;
    assert_eq!(refused.json()["error"]["details"]["lines"], json!([{ "start": 6, "end": 6 }]));
    assert_eq!(read(&client, PATH).await, newest);
}

#[tokio::test]
async fn a_merge_needs_a_version_that_is_kept() {
    let (client, _) = planned().await;
    for version in [None, Some("*")] {
        assert_eq!(edit(&client, version, "merge", add("Plan", "x")).await.error(400).1, "validation_error");
    }
    let unknown = format!("\"{}\"", "0".repeat(64));
    assert_eq!(edit(&client, Some(&unknown), "merge", add("Plan", "x")).await.error(412).1, "note_changed");
    assert_eq!(read(&client, PATH).await, PLAN);
}

#[tokio::test]
async fn a_merge_that_is_sent_again_is_told_as_before() {
    let (client, etag) = planned().await;
    edit(&client, Some(&etag), "fail", add("Later", "Horns.")).await.ok();
    let headers = [("if-match", etag.as_str()), ("idempotency-key", "merge-once")];
    let body = json!({ "edits": [replace("Berths.", "Two berths.")], "on_conflict": "merge" });
    let first = send(&client, Method::PATCH, PATH, &headers, body.clone()).await.ok();
    assert_eq!(send(&client, Method::PATCH, PATH, &headers, body).await.ok(), first);
    assert!(first["merged_with"].is_string());
}
