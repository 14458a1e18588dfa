//! Compaction, and its messages.

use std::time::Duration;

use atlas_mirror::Retention;
use serde_json::json;

use super::*;
use crate::compact::compact;
use crate::events::{QueueEvent, Settings};

/// A vault with this many notes, each in a segment of its own.
async fn written(count: usize) -> Site {
    let site = Site::with(&[]).await;
    for n in 0..count {
        site.agent_puts(&format!("{n:02}.md"), &format!("note {n}\n")).await;
    }
    site
}

#[tokio::test]
async fn small_segments_become_one_and_every_note_stays() {
    let site = written(20).await;
    let before = site.mirrored().await;
    let compacted = compact(&site.mirror(), Retention::default(), Timestamp::now()).await.unwrap();
    assert_eq!((compacted.segments_before, compacted.segments, compacted.generation), (20, 1, 21));
    assert_eq!(site.mirrored().await, before);
    let head = site.head().await;
    assert_eq!((head.manifest().totals.notes, head.manifest().changes.sum()), (20, 0));
    let again = compact(&site.mirror(), Retention::default(), Timestamp::now()).await.unwrap();
    assert_eq!((again.generation, again.segments), (21, 1), "there is nothing more to do");
}

#[tokio::test]
async fn what_history_does_not_need_is_deleted() {
    let aging = atlas_testkit::AgingStore::new(Arc::new(InMemory::new()));
    let site = Site::on(aging.clone());
    for n in 0..30 {
        site.agent_puts("a.md", &format!("version {n}\n")).await;
    }
    let days = Duration::from_secs(40 * 24 * 3600);
    aging.pass(days);
    let collected =
        compact(&site.mirror(), Retention::default(), Timestamp::now() + days).await.unwrap().collected.unwrap();
    assert!(collected.generations > 15 && collected.objects > 0, "{collected:?}");
    assert_eq!(site.text("a.md").await.unwrap(), "version 29\n");
}

#[tokio::test]
async fn a_vault_that_is_not_published_is_none_to_compact() {
    let site = Site::with(&[]).await;
    let compacted = compact(&site.mirror(), Retention::default(), Timestamp::now()).await.unwrap();
    assert_eq!(compacted.generation, 0);
}

#[tokio::test]
async fn messages_that_fail_are_sent_again_and_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::read([("ATLAS_STORE".to_owned(), format!("file://{}", folder.path().display()))]).unwrap();
    // A manifest that cannot be read.
    let manifests = folder.path().join("vaults/broken/manifests");
    std::fs::create_dir_all(&manifests).unwrap();
    std::fs::write(manifests.join(format!("{:020}", 1)), "{}").unwrap();
    let message = |id: &str, body: &str| json!({ "messageId": id, "body": body });
    let event: QueueEvent = serde_json::from_value(json!({ "Records": [
        message("1", r#"{"vault":"empty"}"#),
        message("2", r#"{"vault":"broken"}"#),
        message("3", r#"{"vault":"broken"}"#),
        message("4", r#"{"vault":"empty"}"#),
        message("5", "no message"),
    ] }))
    .unwrap();
    let answer = settings.compact(event, Timestamp::now()).await;
    let answer = serde_json::to_value(&answer).unwrap();
    assert_eq!(answer, json!({ "batchItemFailures": [{ "itemIdentifier": "2" }, { "itemIdentifier": "3" }] }));
}
