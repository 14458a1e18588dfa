//! The text of attachments is added to the mirror, and nothing else changes.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Put, records};

use super::{Host, agent_puts, done, files};
use crate::{Reading, Summary, TextReader};

/// Reads `.pdf` files as if they were text in upper case.
#[derive(Debug, Default)]
struct Reader {
    reads: AtomicUsize,
    is_missing: AtomicBool,
}

impl TextReader for Reader {
    fn reads(&self, file_name: &str) -> bool {
        file_name.ends_with(".pdf")
    }

    fn read(&self, bytes: &[u8]) -> io::Result<String> {
        if self.is_missing.load(Ordering::Relaxed) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(String::from_utf8_lossy(bytes).to_uppercase())
    }
}

struct Readers<'a> {
    host: &'a Host,
    reader: Arc<Reader>,
}

impl<'a> Readers<'a> {
    fn of(host: &'a Host) -> Self {
        Self { host, reader: Arc::default() }
    }

    async fn sync(&self) -> Summary {
        self.sync_for(Duration::from_secs(600)).await
    }

    async fn sync_for(&self, time: Duration) -> Summary {
        let reading = Reading { reader: self.reader.clone(), time };
        self.host.sync_as(|options| options.reading = Some(reading)).await.unwrap()
    }

    /// The number of reads since the last call.
    fn reads(&self) -> usize {
        self.reader.reads.swap(0, Ordering::Relaxed)
    }
}

/// The bytes of text of documents, and the generations that wrote them, by path.
async fn texts(host: &Host) -> BTreeMap<String, (u32, u64)> {
    let head = host.mirror().head().await.unwrap();
    let all = records(&head).await.unwrap();
    all.into_iter().map(|(path, record)| (path, (record.text.length, record.generation))).collect()
}

fn scans() -> VaultBuilder {
    VaultBuilder::new()
        .note("a.md", "a")
        .file("one.pdf", b"first")
        .file("sub/two.pdf", b"second")
        .file("empty.pdf", b" \n")
        .file("other.bin", b"bytes")
}

#[tokio::test]
async fn attachments_get_their_text_once_and_stay_what_they_are() {
    let host = Host::new(scans());
    let readers = Readers::of(&host);
    let summary = readers.sync().await;
    assert_eq!((summary.generation, done(&summary), summary.texts, summary.texts_waiting), (2, (5, 0, 0), 2, 0));
    assert_eq!(readers.reads(), 3);
    let before = texts(&host).await;
    // The versions are still those of the first generation.
    for (path, length) in [("one.pdf", 5), ("sub/two.pdf", 6), ("empty.pdf", 0), ("other.bin", 0)] {
        let (found, generation) = before[path];
        assert_eq!((found, generation.max(1)), (length, 1), "{path}");
    }
    assert_eq!(host.mirrored().await, files(host.vault.root()));
    for _ in 0..2 {
        let summary = readers.sync().await;
        assert_eq!((summary.generation, done(&summary), summary.texts, readers.reads()), (2, (0, 0, 0), 0, 0));
    }
    // A sync without a reader keeps the texts.
    host.vault.write("a.md", b"b");
    host.sync().await.unwrap();
    assert_eq!(texts(&host).await["one.pdf"].0, 5);
}

#[tokio::test]
async fn a_new_version_is_read_again_and_so_is_a_file_that_moved() {
    let host = Host::new(scans());
    let readers = Readers::of(&host);
    readers.sync().await;
    readers.reads();
    host.vault.write("one.pdf", b"first, longer");
    std::fs::rename(host.vault.root().join("sub/two.pdf"), host.vault.root().join("moved.pdf")).unwrap();
    let summary = readers.sync().await;
    assert_eq!((summary.texts, readers.reads()), (2, 2));
    let texts = texts(&host).await;
    assert_eq!((texts["one.pdf"].0, texts["moved.pdf"].0, texts.get("sub/two.pdf")), (13, 6, None));
}

#[tokio::test]
async fn there_is_time_for_some_and_the_next_sync_goes_on() {
    let host = Host::new((0..7).fold(VaultBuilder::new(), |vault, number| {
        vault.file(&format!("{number}.pdf"), format!("scan {number}").as_bytes())
    }));
    let readers = Readers::of(&host);
    let mut waiting = vec![7];
    while waiting.last() != Some(&0) && waiting.len() < 9 {
        waiting.push(readers.sync_for(Duration::ZERO).await.texts_waiting);
    }
    // When the time is over, one of the two parallel reads may not have begun.
    assert!(waiting.windows(2).all(|two| (1..=2).contains(&(two[0] - two[1]))), "{waiting:?}");
    assert!(texts(&host).await.values().all(|(length, _)| *length == 6));
}

#[tokio::test]
async fn small_segments_are_merged_with_their_texts() {
    let host = Host::new(scans());
    Readers::of(&host).sync().await;
    for number in 0..20 {
        host.vault.write(&format!("{number}.md"), b"x");
        host.sync().await.unwrap();
    }
    assert!(host.mirror().head().await.unwrap().segments().len() < 10);
    assert_eq!(texts(&host).await["one.pdf"].0, 5);
}

#[tokio::test]
async fn a_reader_that_is_missing_is_asked_again_and_files_sync_all_the_same() {
    let host = Host::new(scans());
    let readers = Readers::of(&host);
    readers.reader.is_missing.store(true, Ordering::Relaxed);
    let summary = readers.sync().await;
    assert_eq!((done(&summary), summary.texts, summary.texts_waiting), ((5, 0, 0), 0, 0));
    readers.reader.is_missing.store(false, Ordering::Relaxed);
    let summary = readers.sync().await;
    assert_eq!((summary.texts, summary.texts_waiting, readers.reads()), (2, 0, 3));
}

#[tokio::test]
async fn what_is_known_may_be_lost_and_what_an_agent_brought_is_read() {
    let host = Host::new(scans());
    let readers = Readers::of(&host);
    readers.sync().await;
    readers.reads();
    std::fs::write(host.state().join("texts"), b"nonsense").unwrap();
    let summary = readers.sync().await;
    // Attachments with text are not read again.
    assert_eq!((summary.generation, summary.texts, readers.reads()), (2, 0, 1));
    agent_puts(&host, Put::note("b.md", "b")).await;
    assert_eq!(readers.sync().await.texts, 0);
    // Another host has the files and no state.
    let other = host.beside(VaultBuilder::new());
    let readers = Readers::of(&other);
    let summary = readers.sync().await;
    assert_eq!((summary.texts, readers.reads()), (0, 1));
    assert_eq!(files(other.vault.root()), files(host.vault.root()));
}
