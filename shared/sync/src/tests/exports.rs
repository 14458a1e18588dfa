//! A generation is written into a folder whole, and nowhere else.

use std::fs;
use std::os::unix::fs::symlink;

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Put, by};
use futures::TryStreamExt as _;
use object_store::{ObjectStore as _, ObjectStoreExt as _};

use super::{Host, files};
use crate::{ExportOptions, SyncError, export};

fn options(to: &std::path::Path, force: bool) -> ExportOptions {
    ExportOptions { to: to.to_owned(), generation: None, force }
}

#[tokio::test]
async fn a_folder_that_is_not_empty_is_written_over_only_by_force() {
    let host = Host::published(VaultBuilder::new().note("a/b.md", "b").file("c.png", b"c")).await;
    // A name in another case is another file where the file system has both.
    host.mirror().commit(&by("agent"), &Put::note("a/B.md", "B")).await.unwrap();
    let to = VaultBuilder::new().note("a/b.md", "old").note("a/B.md", "old").note("mine.md", "mine");
    let error = export(&host.mirror(), &options(to.root(), false), std::sync::Arc::new(())).await.unwrap_err();
    assert!(error.to_string().contains("--force"), "{error}");
    let exported = export(&host.mirror(), &options(to.root(), true), std::sync::Arc::new(())).await.unwrap();
    assert_eq!((exported.generation, exported.files, exported.bytes), (2, 3, 3));
    let expected =
        VaultBuilder::new().note("a/b.md", "b").note("a/B.md", "B").file("c.png", b"c").note("mine.md", "mine");
    assert_eq!(files(to.root()), files(expected.root()));
}

#[tokio::test]
async fn nothing_is_written_through_symbolic_links() {
    let host = Host::published(VaultBuilder::new().note("a/b.md", "b").note("c.md", "c").note("d.md", "d")).await;
    let outside = VaultBuilder::new().note("c.md", "not mine");
    let to = VaultBuilder::new().note("elsewhere/x.md", "x");
    symlink(outside.root(), to.path("a")).unwrap();
    symlink(outside.path("c.md"), to.path("c.md")).unwrap();
    let exported = export(&host.mirror(), &options(to.root(), true), std::sync::Arc::new(())).await.unwrap();
    assert_eq!(exported.skipped.len(), 1);
    assert!(exported.skipped[0].to_string().starts_with("a/b.md: it cannot be written"));
    assert_eq!(files(outside.root()).len(), 1);
    assert_eq!(outside.read("c.md"), b"not mine");
    assert!(to.path("c.md").symlink_metadata().unwrap().is_file());
    assert_eq!(to.read("c.md"), b"c");
}

#[tokio::test]
async fn what_a_folder_cannot_hold_is_written_beside() {
    let host = Host::published(VaultBuilder::new().note("b.md", "b")).await;
    host.mirror().commit(&by("agent"), &Put::note("a.md", "a")).await.unwrap();
    host.mirror().commit(&by("agent"), &Put::note("a.md/b.md", "b")).await.unwrap();
    let to = tempfile::tempdir().unwrap();
    let exported = host.export(None, to.path()).await;
    assert_eq!((exported.files, exported.skipped.len()), (3, 0));
    assert_eq!(exported.renamed[0].copy.as_deref(), Some("a (conflict 2026-01-05 00.00 agent).md"));
}

#[tokio::test]
async fn a_damaged_attachment_is_named_and_not_written() {
    let host =
        Host::published(VaultBuilder::new().note("a.md", "a").file("b.png", b"right").file("c.png", b"lost")).await;
    let mut blobs: Vec<_> = host.objects.list(None).try_collect().await.unwrap();
    blobs.retain(|object| object.location.as_ref().contains("/blobs/"));
    for blob in blobs {
        let bytes = host.objects.get(&blob.location).await.unwrap().bytes().await.unwrap();
        match &bytes[..] {
            b"right" => host.objects.put(&blob.location, b"wrong".to_vec().into()).await.map(|_| ()).unwrap(),
            _ => host.objects.delete(&blob.location).await.unwrap(),
        }
    }
    let to = tempfile::tempdir().unwrap();
    let exported = host.export(None, to.path()).await;
    let skipped: Vec<String> = exported.skipped.iter().map(ToString::to_string).collect();
    assert_eq!(skipped.len(), 2, "{skipped:?}");
    assert!(skipped.iter().all(|skipped| skipped.contains("damaged in the mirror")), "{skipped:?}");
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_generation_that_is_not_there_is_named() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a")).await;
    let to = tempfile::tempdir().unwrap();
    let options = ExportOptions { generation: Some(7), ..options(to.path(), false) };
    let error = export(&host.mirror(), &options, std::sync::Arc::new(())).await.unwrap_err();
    assert!(matches!(error, SyncError::NoGeneration { generation: 7 }), "{error}");
    assert!(fs::read_dir(to.path()).unwrap().next().is_none());
}
