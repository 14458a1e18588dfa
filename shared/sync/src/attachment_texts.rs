//! Adds the text of attachments to the mirror, so that a search finds it. Reading takes long and may fail, so it
//! follows the sync, in commits of its own that change only the texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use atlas_mirror::manifest::Changes;
use atlas_mirror::{Attempt, ChangeSet, CommitInfo, Committed, Derived, Hash, Mirror, NewSegment, Snapshot, merge};
use atlas_segment::{Body, Document, Kind, Record, SegmentsBuilder};
use atlas_vault::VaultPath;
use bytes::Bytes;
use futures::stream::{self, StreamExt as _};
use sha2::{Digest as _, Sha256};

use crate::blocking::blocking;
use crate::contents::disk_path;
use crate::error::SyncError;
use crate::folder::Folder;
use crate::head::{self, Located};
use crate::options::SyncOptions;
use crate::progress::{Phase, Progress};
use crate::session::newest;
use crate::state::Entry;
use crate::text_reader::{MAX_TEXT_BYTES, TextReader};

/// Largest attachment that is read, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// A commit is made once it contains this many bytes of text, or …
const BATCH_BYTES: usize = 8 << 20;
const BATCH: usize = 200;
/// Attachments that are read at once.
const PARALLEL: usize = 2;
/// How long a commit may take.
const COMMIT_TIME: Duration = Duration::from_secs(300);
/// The file, beside the sync state, that lists the attachments already read: the SHA-256 of each path and content.
const READ: &str = "texts";

/// The result of adding texts.
#[derive(Debug, Default)]
pub(crate) struct AddedTexts {
    /// Attachments that have got text.
    pub(crate) added: u64,
    /// Attachments left for lack of time.
    pub(crate) waiting: u64,
    /// The newest generation, if there is a new one.
    pub(crate) generation: Option<u64>,
}

/// An attachment of the folder that may have text.
struct Candidate {
    path: String,
    sha256: [u8; 32],
}

impl Candidate {
    /// Its identity: a hash of path and content.
    fn key(&self) -> [u8; 32] {
        Sha256::new().chain_update(self.path.as_bytes()).chain_update([0]).chain_update(self.sha256).finalize().into()
    }
}

/// Reads those of `entries` that nobody has read yet, as long as there is time.
pub(crate) async fn add(
    mirror: &Mirror,
    folder: &Arc<Folder>,
    state: &Path,
    options: &SyncOptions,
    entries: &[Arc<Entry>],
    progress: &dyn Progress,
) -> Result<AddedTexts, SyncError> {
    let Some(reading) = &options.reading else { return Ok(AddedTexts::default()) };
    let may_have_text = |entry: &&Arc<Entry>| {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        entry.kind == Kind::Attachment && entry.size <= MAX_FILE_BYTES && reading.reader.reads(name)
    };
    let candidates = entries.iter().filter(may_have_text);
    let all: Vec<Candidate> =
        candidates.map(|entry| Candidate { path: entry.path.clone(), sha256: entry.sha256 }).collect();
    let before = if all.is_empty() || options.repair { BTreeSet::new() } else { read_before(state) };
    let known: BTreeSet<[u8; 32]> = all.iter().map(Candidate::key).filter(|key| before.contains(key)).collect();
    let unread: Vec<Candidate> = all.into_iter().filter(|candidate| !known.contains(&candidate.key())).collect();
    if unread.is_empty() {
        return Ok(AddedTexts::default());
    }
    let mut work = Work { mirror, options, state, known, added: AddedTexts::default() };
    work.added.waiting = unread.len() as u64;
    progress.begin(Phase::Extract, Some(unread.len() as u64));
    let Some(head) = newest(mirror).await? else { return Ok(work.added) };
    let paths: Vec<&str> = unread.iter().map(|candidate| candidate.path.as_str()).collect();
    let records = head::records(&head, &paths).await?;
    // Set when the time is up: running reads end, and no other begins.
    let is_over = AtomicBool::new(false);
    let reads = unread.into_iter().map(|candidate| {
        let record = records.get(&candidate.path).map(|located| located.record.clone());
        let (folder, reader) = (folder.clone(), reading.reader.clone());
        let is_over = &is_over;
        async move {
            if is_over.load(Ordering::Relaxed) {
                return Ok((candidate, None));
            }
            let text = match record.filter(|record| is_textless(record, &candidate)) {
                Some(record) => blocking(move || Ok(text_of(&folder, &record, &*reader))).await?,
                None => Ok(String::new()),
            };
            Ok::<_, SyncError>((candidate, Some(text)))
        }
    });
    let mut reads = stream::iter(reads).buffered(PARALLEL);
    let begun = Instant::now();
    let mut is_broken = false;
    let (mut texts, mut bytes, mut looked_at) = (BTreeMap::new(), 0, Vec::new());
    while let Some(read) = reads.next().await {
        let (candidate, text) = read?;
        let text = match text {
            Some(Ok(text)) => text,
            Some(Err(error)) => {
                tracing::warn!(%error, "the text of attachments cannot be read");
                is_broken = true;
                is_over.store(true, Ordering::Relaxed);
                continue;
            }
            None => continue,
        };
        progress.advance(1);
        looked_at.push(candidate.key());
        bytes += text.len();
        if !text.is_empty() {
            texts.insert(candidate.path, (candidate.sha256, Bytes::from(text)));
        }
        if begun.elapsed() >= reading.time {
            is_over.store(true, Ordering::Relaxed);
        }
        if bytes >= BATCH_BYTES || looked_at.len() >= BATCH {
            work.commit(std::mem::take(&mut texts), std::mem::take(&mut looked_at)).await?;
            bytes = 0;
        }
    }
    work.commit(texts, looked_at).await?;
    if is_broken {
        // Trying again at once would be useless.
        work.added.waiting = 0;
    }
    Ok(work.added)
}

/// The work so far.
struct Work<'a> {
    mirror: &'a Mirror,
    options: &'a SyncOptions,
    state: &'a Path,
    known: BTreeSet<[u8; 32]>,
    added: AddedTexts,
}

impl Work<'_> {
    /// Commits the texts of attachments, and records which were read.
    async fn commit(
        &mut self,
        texts: BTreeMap<String, ([u8; 32], Bytes)>,
        looked_at: Vec<[u8; 32]>,
    ) -> Result<(), SyncError> {
        if !texts.is_empty() {
            let info = CommitInfo {
                author: self.options.author.clone(),
                caller: None,
                operation: "read_attachments".to_owned(),
                message: None,
                session: None,
                key: None,
                time: self.options.began,
                deadline: COMMIT_TIME,
            };
            let committed = self.mirror.commit(&info, &Texts(texts)).await?;
            if let Committed::New(after, count) = committed {
                self.added.added += count;
                self.added.generation = Some(after.generation());
            }
        }
        if !looked_at.is_empty() {
            self.added.waiting -= looked_at.len() as u64;
            self.known.extend(looked_at);
            let bytes: Vec<u8> = self.known.iter().flatten().copied().collect();
            // If the record cannot be written, they are read again.
            if let Err(error) = replace(&self.state.join(READ), &bytes) {
                tracing::warn!(%error, "which attachments were read could not be kept");
            }
        }
        Ok(())
    }
}

/// The keys of the attachments read before, if known.
fn read_before(state: &Path) -> BTreeSet<[u8; 32]> {
    let bytes = fs::read(state.join(READ)).unwrap_or_default();
    bytes.as_chunks::<32>().0.iter().copied().collect()
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("new");
    fs::write(&draft, bytes)?;
    fs::rename(draft, path)
}

/// Whether `record` is the candidate's and has no text.
fn is_textless(record: &Record, candidate: &Candidate) -> bool {
    record.sha256 == candidate.sha256 && record.blob.is_some() && record.text.length == 0
}

/// The text of an attachment's file, if the file still equals the mirror's; an error if nothing can be read at all.
fn text_of(folder: &Folder, record: &Record, reader: &dyn TextReader) -> io::Result<String> {
    let Ok(path) = disk_path(record) else { return Ok(String::new()) };
    let Ok(file) = folder.open_file(&path, false) else { return Ok(String::new()) };
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    if read.is_err() || Hash::of(&bytes) != Hash::from_bytes(record.sha256) {
        return Ok(String::new());
    }
    let mut text = reader.read(&bytes)?;
    // Searches would take a text with a NUL byte for a binary file.
    text.retain(|character| character != '\0');
    if text.len() > MAX_TEXT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    }
    if text.trim().is_empty() { Ok(String::new()) } else { Ok(text) }
}

/// By path: the SHA-256 of the content, and its text.
struct Texts(BTreeMap<String, ([u8; 32], Bytes)>);

impl ChangeSet for Texts {
    type Error = SyncError;
    /// The number of attachments that got text.
    type Outcome = u64;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<u64>, SyncError> {
        let Some(head) = head else { return Ok(Attempt::nothing(0)) };
        let paths: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let mut segments = SegmentsBuilder::default();
        let mut deleted: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        let mut count = 0;
        for (path, located) in head::records(head, &paths).await? {
            let Located { segment, document, record, generation, replaces } = located;
            let Some((sha256, text)) = self.0.get(&path) else { continue };
            let (Some(name), Ok(vault_path)) = (&record.blob, VaultPath::parse_recorded(&record.path)) else {
                continue;
            };
            if record.sha256 != *sha256 || record.text.length > 0 {
                continue;
            }
            // The version stays the same; only its text is new.
            segments.push(&Document {
                path: &vault_path,
                path_on_disk: record.path_on_disk.as_deref(),
                kind: record.kind,
                sha256: record.sha256,
                modified_ms: record.modified_ms,
                generation,
                replaces,
                body: Body::Blob { name, bytes: record.bytes, text },
            })?;
            deleted.entry(segment).or_default().push(document);
            count += 1;
        }
        if count == 0 {
            return Ok(Attempt::nothing(0));
        }
        let mut derived = Derived {
            segments: segments.finish()?.into_iter().map(NewSegment::from).collect(),
            deleted: deleted.into_iter().collect(),
            changes: Changes::default(),
            totals: head.manifest().totals,
            ..Derived::default()
        };
        merge::compact(head, merge::MEDIUM, &mut derived).await?;
        Ok(Attempt::changes(derived, count))
    }
}
