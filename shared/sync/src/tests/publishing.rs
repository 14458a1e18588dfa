//! A folder is published as it is, and then only its changes.

use std::sync::Arc;

use atlas_testkit::{CountingStore, Op, VaultBuilder};
use futures::TryStreamExt as _;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt as _};

use super::{Host, done, files, skipped};

fn varied() -> VaultBuilder {
    let vault = VaultBuilder::new()
        .note("🌊 wave.md", "# Wave\n")
        .note("a b  c.md", "spaces\r\n")
        .note("C# 100% \"quotes\" it's [x] ~ ^ | `.md", "signs")
        .note("50%25 off.md", "percent")
        .note("日本語/ノート.md", "本文\n")
        .note("nfd/e\u{301}te\u{301}.md", "spelt in NFD")
        .note("deep/er/and/deeper.md", "")
        .note("deep/.hidden.md", "a note all the same")
        .note("README.MD", "upper case")
        .file("board.canvas", b"{}")
        .file("data/odd.csv", b"a,b\0c")
        .file("picture.png", b"\x89PNG\0\xff")
        .file("copy of picture.png", b"\x89PNG\0\xff")
        .file("empty.bin", b"")
        .file(".gitignore", b"target\n")
        .file(".obsidian/app.json", b"{\"x\":1}")
        .file(".obsidian/plugins/periodic-notes/data.json", b"{}");
    vault.folder("an empty folder")
}

fn left_out(vault: VaultBuilder) -> VaultBuilder {
    vault
        .file(".git/config", b"x")
        .note(".trash/old.md", "x")
        .note("a/.hidden/secret.md", "x")
        .file(".obsidian/workspace.json", b"{}")
        .file(".DS_Store", b"x")
        .file("a/Thumbs.db", b"x")
        .file("a/._b.md", b"x")
}

#[tokio::test]
async fn a_published_folder_is_exported_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let on_disk = LocalFileSystem::new_with_prefix(folder.path()).unwrap().with_fsync(true);
    let stores: [Arc<dyn ObjectStore>; 2] = [Arc::new(InMemory::new()), Arc::new(on_disk)];
    for store in stores {
        let host = Host::with_store(left_out(varied()), store);
        let summary = host.sync().await.unwrap();
        assert_eq!(skipped(&summary), [""; 0]);
        assert_eq!((summary.generation, done(&summary)), (1, (17, 0, 0)));
        assert_eq!((summary.notes, summary.attachments), (9, 6));
        assert_eq!(host.mirrored().await, files(varied().root()));
    }
}

#[tokio::test]
async fn a_folder_gives_the_same_segments_wherever_it_is_published() {
    let segments = async || {
        let objects = Arc::new(InMemory::new());
        let time = "2020-02-29T12:34:56.789Z".parse().unwrap();
        let vault = files(varied().root()).into_keys().fold(varied(), |vault, path| vault.modified(&path, time));
        Host::with_store(vault, objects.clone()).sync().await.unwrap();
        let below = "vaults/main/segments".into();
        let keys: Vec<_> = objects.list(Some(&below)).try_collect().await.unwrap();
        let mut bodies = Vec::new();
        for key in keys {
            bodies.push(objects.get(&key.location).await.unwrap().bytes().await.unwrap());
        }
        bodies
    };
    let first = segments().await;
    assert!(!first.is_empty());
    assert_eq!(first, segments().await);
}

#[tokio::test]
async fn times_come_back_with_the_files() {
    let time = "2020-02-29T12:34:56.789Z".parse().unwrap();
    let vault =
        VaultBuilder::new().note("a.md", "a").file("b.png", b"b").modified("a.md", time).modified("b.png", time);
    let host = Host::published(vault).await;
    let to = tempfile::tempdir().unwrap();
    host.export(None, to.path()).await;
    for name in ["a.md", "b.png"] {
        let modified = to.path().join(name).metadata().unwrap().modified().unwrap();
        assert_eq!(jiff::Timestamp::try_from(modified).unwrap(), time);
    }
}

#[tokio::test]
async fn what_was_added_changed_and_removed_goes_to_the_mirror() {
    let host = Host::published(varied()).await;
    host.vault.write("new.md", b"new");
    host.vault.write("new.png", b"new\0");
    host.vault.write("a b  c.md", b"other text");
    host.vault.write("picture.png", b"other\0");
    host.vault.remove("deep/er/and/deeper.md");
    host.vault.remove("empty.bin");
    let summary = host.sync().await.unwrap();
    assert_eq!((summary.generation, done(&summary), summary.unchanged), (2, (2, 2, 2), 13));
    assert_eq!(host.mirrored().await, files(host.vault.root()));
    assert_eq!(host.mirrored_at(Some(1)).await, files(varied().root()));
}

#[tokio::test]
async fn a_sync_with_nothing_changed_writes_nothing_and_asks_little() {
    let counting = CountingStore::new(Arc::new(InMemory::new()));
    let host = Host::with_store(varied(), counting.clone());
    host.sync().await.unwrap();
    counting.take();
    let summary = host.sync().await.unwrap();
    let requests = counting.take();
    assert_eq!((summary.generation, done(&summary), summary.unchanged), (1, (0, 0, 0), 17));
    assert_eq!(summary.uploaded_bytes, 0);
    assert_eq!(
        requests.of(Op::Put).count() + requests.of(Op::Create).count() + requests.of(Op::Other).count(),
        0,
        "{requests}"
    );
    // The newest generation, and the recorded damage.
    assert!(requests.count() <= 4 && requests.waves() <= 3, "{requests}");
}

#[tokio::test]
async fn a_small_change_asks_and_uploads_little() {
    let counting = CountingStore::new(Arc::new(InMemory::new()));
    let host = Host::with_store(super::many(300), counting.clone());
    host.sync().await.unwrap();
    counting.take();
    host.vault.write("100.md", b"changed");
    let summary = host.sync().await.unwrap();
    let requests = counting.take().without("probes/");
    assert_eq!(done(&summary), (0, 1, 0));
    assert!(summary.uploaded_bytes < 20_000, "{requests}");
    assert!(requests.count() <= 10, "{requests}");
}

#[tokio::test]
async fn a_touched_file_is_read_and_found_unchanged() {
    let host = Host::published(varied()).await;
    host.vault.write("a b  c.md", b"spaces\r\n");
    let summary = host.sync().await.unwrap();
    assert_eq!((summary.generation, done(&summary), summary.unchanged), (1, (0, 0, 0), 17));
}

#[tokio::test]
async fn a_change_that_size_and_time_hide_is_found_by_checksums() {
    let time = "2020-01-01T00:00:00Z".parse().unwrap();
    let host = Host::published(VaultBuilder::new().note("a.md", "one").modified("a.md", time)).await;
    host.vault.write("a.md", b"two");
    let file = std::fs::File::options().append(true).open(host.vault.path("a.md")).unwrap();
    file.set_modified(time.into()).unwrap();
    assert_eq!(done(&host.sync().await.unwrap()), (0, 0, 0));
    assert_eq!(done(&host.sync_as(|options| options.checksum = true).await.unwrap()), (0, 1, 0));
}

#[tokio::test]
async fn a_file_modified_about_when_a_sync_began_is_read_again() {
    let time: jiff::Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
    let host = Host::new(VaultBuilder::new().note("a.md", "one").modified("a.md", time));
    host.sync_as(|options| options.began = time + std::time::Duration::from_secs(1)).await.unwrap();
    host.vault.write("a.md", b"two");
    let file = std::fs::File::options().append(true).open(host.vault.path("a.md")).unwrap();
    file.set_modified(time.into()).unwrap();
    assert_eq!(done(&host.sync().await.unwrap()), (0, 1, 0));
}

#[tokio::test]
async fn a_dry_run_tells_and_does_nothing() {
    let host = Host::new(varied());
    let summary = host.sync_as(|options| options.dry_run = true).await.unwrap();
    assert_eq!((summary.generation, done(&summary), summary.uploaded_bytes), (0, (17, 0, 0), 0));
    assert!(host.mirror().head().await.is_err());
    host.sync().await.unwrap();
    host.vault.write("a b  c.md", b"other");
    host.vault.write("new.md", b"new");
    host.vault.remove("board.canvas");
    let summary = host.sync_as(|options| options.dry_run = true).await.unwrap();
    assert_eq!((summary.generation, done(&summary), summary.uploaded_bytes), (1, (1, 1, 1), 0));
    assert_eq!(done(&host.sync().await.unwrap()), (1, 1, 1));
}

#[tokio::test]
async fn equal_folders_give_equal_segments() {
    let text = |vault: VaultBuilder| {
        let names = ["b.md", "a.md", "日本/c.md", "z/y/x.canvas", "e\u{301}.md"];
        names.iter().fold(vault, |vault, name| {
            vault.file(name, name.as_bytes()).modified(name, "2020-01-01T00:00:00Z".parse().unwrap())
        })
    };
    let segments = async |host: &Host| {
        let head = host.mirror().head().await.unwrap();
        let keys: Vec<_> = head.segments().iter().map(|entry| host.mirror().keys().segment(entry.id)).collect();
        let mut bytes = Vec::new();
        for key in keys {
            bytes.push(host.objects.get(&key).await.unwrap().bytes().await.unwrap());
        }
        bytes
    };
    let one = Host::published(text(VaultBuilder::new())).await;
    let other = Host::published(text(VaultBuilder::new().folder("z").folder("日本"))).await;
    assert_eq!(segments(&one).await, segments(&other).await);
}

#[tokio::test]
async fn an_attachment_is_uploaded_once_whatever_it_is_called() {
    let counting = CountingStore::new(Arc::new(InMemory::new()));
    let host = Host::with_store(varied(), counting.clone());
    host.sync().await.unwrap();
    let blobs = |requests: &atlas_testkit::counting::Requests| {
        requests.of(Op::Create).filter(|request| request.key.contains("/blobs/")).count()
    };
    assert_eq!(blobs(&counting.take()), 4, "two pictures are one");
    std::fs::rename(host.vault.path("picture.png"), host.vault.path("moved.png")).unwrap();
    std::fs::copy(host.vault.path("empty.bin"), host.vault.path("void.bin")).unwrap();
    assert_eq!(done(&host.sync().await.unwrap()), (2, 0, 1));
    assert_eq!(blobs(&counting.take()), 0);
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}

#[tokio::test]
async fn a_large_attachment_goes_through_in_pieces() {
    let bytes: Vec<u8> = (0..20_000_000u32).flat_map(|number| (number as u8).to_le_bytes()).collect();
    let host = Host::published(VaultBuilder::new().file("film.bin", &bytes)).await;
    assert!(host.mirrored().await["film.bin"] == bytes);
}
