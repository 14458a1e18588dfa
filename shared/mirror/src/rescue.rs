//! Recovers the files of a damaged generation from its readable parts, from what the caller has, and from older versions.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use atlas_segment::{Part, PartRef, Record, SectionName};
use atlas_vault::VaultPath;
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt as _;
use futures::stream::BoxStream;
use serde::Serialize;

use crate::error::MirrorError;
use crate::id::{Hash, SegmentId};
use crate::inspect::{Inspection, flaw_of};
use crate::keys::BlobKey;
use crate::manifest::SegmentEntry;
use crate::merge::{Content, LiveDocument};
use crate::mirror::Mirror;
use crate::snapshot::Snapshot;

/// Most older generations that are searched.
const MOST_GENERATIONS: u64 = 1_000;

/// A file's bytes, in pieces.
pub type Pieces = BoxStream<'static, Result<Bytes, String>>;

/// A source of contents that the store has lost.
pub trait ContentSource: Sync {
    /// The content with the hash `sha256` of the document at `path`, if the source has it.
    fn open(&self, path: &str, sha256: Hash) -> impl Future<Output = Option<Pieces>> + Send;

    /// Whether the version of `path` that `generation` wrote is known to have been deleted since.
    fn is_gone(&self, path: &str, generation: u64) -> bool;
}

/// A document that was recovered in an older version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recovered {
    /// Its path.
    pub path: String,
    /// The generation that wrote that version.
    pub generation: u64,
}

/// The recovered documents.
#[derive(Debug, Default)]
pub(crate) struct Rescued {
    pub(crate) held: BTreeMap<String, LiveDocument>,
    pub(crate) recovered: Vec<Recovered>,
    /// Paths whose content was not found.
    pub(crate) lost: Vec<String>,
    /// Documents whose path is unknown too.
    pub(crate) unnamed: u64,
}

/// The readable documents of a segment.
#[derive(Default)]
struct Readable {
    held: Vec<(LiveDocument, Record)>,
    /// Records whose text is damaged.
    broken: Vec<Record>,
    /// Documents whose record is damaged.
    unnamed: u64,
}

/// A segment that lost only its tombstones.
struct WithoutTombstones {
    segment: usize,
    came: RecoveredSegment,
    /// Whether older tombstones of it were found.
    is_dated: bool,
}

/// The documents recovered from a segment that lost its tombstones.
struct RecoveredSegment {
    /// How many of its documents are live.
    live: usize,
    documents: Vec<Recovered>,
}

impl RecoveredSegment {
    fn of(entry: &SegmentEntry) -> Self {
        let live = entry.layout.documents.saturating_sub(entry.deleted.count());
        Self { live: usize::try_from(live).unwrap_or(usize::MAX), documents: Vec::new() }
    }

    fn add(&mut self, path: &str, generation: u64) {
        self.documents.push(Recovered { path: path.to_owned(), generation });
    }

    /// All of it, if more was recovered than was live: which documents were deleted is unknown.
    fn doubtful(self) -> Vec<Recovered> {
        if self.documents.len() > self.live { self.documents } else { Vec::new() }
    }
}

impl Mirror {
    /// Recovers what it can of the unusable segments of `head`.
    pub(crate) async fn rescue(
        &self,
        head: &Arc<Snapshot>,
        found: &Inspection,
        source: &impl ContentSource,
    ) -> Result<Rescued, MirrorError> {
        let mut rescued = Rescued::default();
        let mut broken: BTreeMap<String, Record> = BTreeMap::new();
        let mut ranges = Vec::new();
        let mut undated: BTreeMap<SegmentId, WithoutTombstones> = BTreeMap::new();
        for (segment, unusable) in &found.unusable {
            let Some(entry) = head.segments().get(*segment) else { continue };
            let layout = &entry.layout;
            let has_tombstones = head.deleted(*segment).await.is_ok();
            if !unusable.is_itself {
                undated.insert(
                    entry.id,
                    WithoutTombstones { segment: *segment, came: RecoveredSegment::of(entry), is_dated: false },
                );
                continue;
            }
            let readable = self.readable(head, *segment, has_tombstones, &|_: &str| true).await?;
            if readable.unnamed > 0 || !has_tombstones {
                rescued.unnamed += readable.unnamed;
                ranges.push(layout.first.clone()..=layout.last.clone());
            }
            let is_dead = |record: &Record, generation| {
                found.paths.contains(&record.path) || (!has_tombstones && source.is_gone(&record.path, generation))
            };
            let mut came = RecoveredSegment::of(entry);
            for (held, record) in readable.held {
                if !is_dead(&record, held.generation) {
                    broken.remove(&record.path);
                    came.add(&record.path, held.generation);
                    rescued.held.insert(record.path, held);
                }
            }
            rescued.recovered.extend(came.doubtful());
            for record in readable.broken {
                if !is_dead(&record, record.generation) {
                    rescued.held.remove(&record.path);
                    broken.insert(record.path.clone(), record);
                }
            }
        }
        for record in std::mem::take(&mut broken).into_values() {
            match text_from(source, &record).await {
                Some(text) => drop(
                    rescued
                        .held
                        .insert(record.path.clone(), held(&record, [record.generation, record.replaces], text)?),
                ),
                None => drop(broken.insert(record.path.clone(), record)),
            }
        }
        let is_wanted = |path: &str| ranges.iter().any(|range| range.contains(&path.to_owned()));
        self.look_back(head, found, (&mut undated, &mut broken), is_wanted, source, &mut rescued).await?;
        // Without older tombstones deleted documents may come back, but nothing is lost.
        for WithoutTombstones { segment, mut came, is_dated } in undated.into_values() {
            if !is_dated {
                for (held, record) in self.readable(head, segment, false, &|_: &str| true).await?.held {
                    let is_there = found.paths.contains(&record.path) || rescued.held.contains_key(&record.path);
                    if !is_there && !source.is_gone(&record.path, held.generation) {
                        came.add(&record.path, held.generation);
                        rescued.held.insert(record.path, held);
                    }
                }
            }
            rescued.recovered.extend(came.doubtful());
        }
        rescued.lost.extend(broken.into_keys());
        Ok(rescued)
    }

    /// Searches older generations, the newest first, for versions of `broken` documents or wanted paths, and for older tombstones of `undated` segments.
    async fn look_back(
        &self,
        head: &Snapshot,
        found: &Inspection,
        (undated, broken): (&mut BTreeMap<SegmentId, WithoutTombstones>, &mut BTreeMap<String, Record>),
        is_wanted: impl Fn(&str) -> bool + Send + Sync,
        source: &impl ContentSource,
        rescued: &mut Rescued,
    ) -> Result<(), MirrorError> {
        // Keyed by the number of tombstones. Damaged ones are not read again.
        let mut visited: HashMap<SegmentId, u32> = HashMap::new();
        for (segment, entry) in head.segments().iter().enumerate() {
            let is_unreadable = found.unusable.get(&segment).is_some_and(|unusable| unusable.is_itself);
            visited.insert(entry.id, if is_unreadable { u32::MAX } else { entry.deleted.count() });
        }
        let needs_paths = rescued.unnamed > 0;
        for generation in (1..head.generation()).rev().take(usize::try_from(MOST_GENERATIONS).unwrap_or(usize::MAX)) {
            if broken.is_empty() && undated.values().all(|undated| undated.is_dated) && !needs_paths {
                return Ok(());
            }
            let snapshot = match self.at(generation).await {
                Ok(Some(snapshot)) => snapshot,
                Ok(None) => return Ok(()),
                Err(error) => {
                    flaw_of(error)?;
                    continue;
                }
            };
            for (segment, entry) in snapshot.segments().iter().enumerate() {
                let is_undated = undated.get(&entry.id).is_some_and(|undated| !undated.is_dated);
                let deleted = entry.deleted.count();
                if !is_undated && visited.get(&entry.id).is_some_and(|known| *known == u32::MAX || *known == deleted) {
                    continue;
                }
                if let Err(error) = snapshot.deleted(segment).await {
                    flaw_of(error)?;
                    continue;
                }
                visited.insert(entry.id, deleted);
                let mut dated = undated.get_mut(&entry.id).filter(|undated| !undated.is_dated);
                let is_new = |path: &str| {
                    let is_known = found.paths.contains(path) || rescued.held.contains_key(path);
                    !is_known && (is_undated || broken.contains_key(path) || is_wanted(path))
                };
                for (held, record) in self.readable(&snapshot, segment, true, &is_new).await?.held {
                    if rescued.held.contains_key(&record.path) || source.is_gone(&record.path, held.generation) {
                        continue;
                    }
                    let is_missing = broken.remove(&record.path).is_some();
                    if let Some(undated) = &mut dated {
                        undated.came.add(&record.path, held.generation);
                    } else {
                        let path = record.path.clone();
                        rescued.recovered.push(Recovered { path, generation: held.generation });
                        rescued.unnamed = rescued.unnamed.saturating_sub(u64::from(!is_missing));
                    }
                    rescued.held.insert(record.path, held);
                }
                if let Some(undated) = dated {
                    undated.is_dated = true;
                }
            }
        }
        Ok(())
    }

    /// The readable documents of a segment at wanted paths; with `live` only live ones.
    async fn readable(
        &self,
        snapshot: &Snapshot,
        segment: usize,
        live: bool,
        wants: &(impl Fn(&str) -> bool + Sync),
    ) -> Result<Readable, MirrorError> {
        let mut readable = Readable::default();
        let Some(entry) = snapshot.segments().get(segment) else { return Ok(readable) };
        let fault = |error| snapshot.fault(segment, error);
        let is_wanted = |document: u32| !live || snapshot.is_live(segment, document);
        let pages = match snapshot.open(|other, _| other == segment).await {
            Ok(()) => entry.layout.record_pages().map_err(fault)?,
            // Pages follow each other, so that they are found without their directory too.
            Err(MirrorError::Damaged { .. } | MirrorError::Gone { .. }) => walked(snapshot, segment).await?,
            Err(error) => return Err(error),
        };
        let table = one(snapshot, segment, entry.layout.text_blocks().map_err(fault)?).await?;
        let table = table.as_ref().and_then(|table| table.text_blocks().ok());
        let mut blocks: BTreeMap<u64, Option<Arc<Part>>> = BTreeMap::new();
        let known = pages.last().map_or(0, |(_, documents)| documents.end);
        readable.unnamed = (known..entry.layout.documents).filter(|document| is_wanted(*document)).count() as u64;
        for (page, documents) in pages {
            let Some(page) = one(snapshot, segment, page).await? else {
                readable.unnamed += documents.filter(|document| is_wanted(*document)).count() as u64;
                continue;
            };
            let Ok(page) = page.record_page() else { continue };
            for (index, document) in (0..page.len()).zip(documents) {
                if !is_wanted(document) {
                    continue;
                }
                let Ok(record) = page.get(index) else {
                    readable.unnamed += 1;
                    continue;
                };
                if !wants(&record.path) {
                    continue;
                }
                let generation = entry.written_at(&record);
                if let Some(name) = record.blob.clone() {
                    let content = Content::Blob { name, bytes: record.bytes, text: Bytes::new() };
                    readable
                        .held
                        .push((held_with(&record, [generation, entry.replaced_by(&record)], content)?, record));
                    continue;
                }
                let needed = table.and_then(|table| table.parts(&entry.layout, record.text).ok());
                let mut parts = Vec::new();
                for part in needed.unwrap_or_default() {
                    let start = part.range.start;
                    if let std::collections::btree_map::Entry::Vacant(unread) = blocks.entry(start) {
                        unread.insert(one(snapshot, segment, part).await?);
                    }
                    parts.extend(blocks.get(&start).cloned().flatten());
                }
                let text = table.and_then(|table| table.cut(record.text, parts.iter().map(|part| &**part)).ok());
                match text.filter(|text| Hash::of(text) == Hash::from_bytes(record.sha256)) {
                    Some(text) => {
                        readable.held.push((held(&record, [generation, entry.replaced_by(&record)], text)?, record))
                    }
                    None => readable.broken.push(Record { generation, ..record }),
                }
            }
        }
        Ok(readable)
    }

    /// Uploads the content of an attachment again: from another object that has it, or from `source`. [`None`] if there is neither.
    pub(crate) async fn upload_again(
        &self,
        head: &Snapshot,
        found: &Inspection,
        record: &Record,
        source: &impl ContentSource,
    ) -> Result<Option<BlobKey>, MirrorError> {
        let sha256 = Hash::from_bytes(record.sha256);
        let prefix = format!("{sha256}-");
        let same = found.blobs.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&prefix));
        let same: Vec<BlobKey> = same
            .filter(|(name, bytes)| **bytes == record.bytes && Some(*name) != record.blob.as_ref())
            .filter_map(|(name, _)| name.parse().ok())
            .collect();
        for key in same {
            let pieces = match self.get_blob(&key).await {
                Ok(pieces) => pieces,
                Err(error) => {
                    flaw_of(error)?;
                    continue;
                }
            };
            if let Ok(key) = self.put_blob(Some(head.hash()), sha256, pieces).await {
                return Ok(Some(key));
            }
        }
        let Some(pieces) = source.open(&record.path, sha256).await else { return Ok(None) };
        match self.put_blob(Some(head.hash()), sha256, pieces).await {
            Ok(key) => Ok(Some(key)),
            // The file changed meanwhile.
            Err(MirrorError::Conflict { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The pages of a segment's records as they follow each other; none if the object is gone.
async fn walked(snapshot: &Snapshot, segment: usize) -> Result<Vec<(PartRef, Range<u32>)>, MirrorError> {
    let Some(entry) = snapshot.segments().get(segment) else { return Ok(Vec::new()) };
    let fault = |error| snapshot.fault(segment, error);
    let section = entry.layout.range(SectionName::Records).map_err(fault)?;
    match snapshot.fetch(&[(segment, section)]).await {
        Ok(section) => {
            section.first().map_or(Ok(Vec::new()), |section| entry.layout.walk_record_pages(section).map_err(fault))
        }
        Err(MirrorError::Damaged { .. } | MirrorError::Gone { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// A part, if it is readable.
async fn one(snapshot: &Snapshot, segment: usize, part: PartRef) -> Result<Option<Arc<Part>>, MirrorError> {
    match snapshot.load(&[(segment, part)]).await {
        Ok(parts) => Ok(parts.into_iter().next()),
        Err(error) => flaw_of(error).map(|_| None),
    }
}

async fn text_from(source: &impl ContentSource, record: &Record) -> Option<Bytes> {
    let sha256 = Hash::from_bytes(record.sha256);
    let mut pieces = source.open(&record.path, sha256).await?;
    let mut text = BytesMut::new();
    while let Ok(Some(piece)) = pieces.try_next().await {
        text.extend_from_slice(&piece);
        if text.len() as u64 > record.bytes {
            return None;
        }
    }
    Some(text.freeze()).filter(|text| Hash::of(text) == sha256)
}

fn held(record: &Record, generations: [u64; 2], text: Bytes) -> Result<LiveDocument, MirrorError> {
    held_with(record, generations, Content::Text(text))
}

pub(crate) fn held_with(
    record: &Record,
    [generation, replaces]: [u64; 2],
    content: Content,
) -> Result<LiveDocument, MirrorError> {
    let path = VaultPath::parse(&record.path);
    Ok(LiveDocument {
        path: path.map_err(|_| MirrorError::conflict("a segment has an invalid path"))?,
        path_on_disk: record.path_on_disk.clone(),
        kind: record.kind,
        sha256: record.sha256,
        modified_ms: record.modified_ms,
        generation,
        replaces,
        content,
        code: None,
        vectors: None,
    })
}
