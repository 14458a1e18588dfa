//! The mirror's documents at one generation, as far as a sync needs them.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use atlas_mirror::manifest::SegmentEntry;
use atlas_mirror::{MirrorError, SegmentId, Snapshot};
use atlas_segment::{Kind, Layout, Part, PartRef, Record};
use bytes::Bytes;

use crate::decide::Version;
use crate::error::SyncError;

/// Parts that one load requests.
const LOAD: usize = 256;

/// A live document of the mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadDocument {
    /// Its segment.
    pub segment: SegmentId,
    /// Its id there.
    pub document: u32,
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// Its kind.
    pub kind: Kind,
    /// Bytes.
    pub bytes: u64,
    /// The generation that wrote it.
    pub generation: u64,
    /// The generation of the version that it replaced; 0 if there was none.
    pub replaces: u64,
    /// The object of an attachment.
    pub blob: Option<String>,
    /// When it was last modified, in milliseconds since 1970 UTC.
    pub modified_ms: i64,
}

/// Live documents by path. A valid generation has one for each path; of several, the newest segment's is first.
pub type HeadDocuments = BTreeMap<String, Vec<HeadDocument>>;

/// The wanted documents of a page.
pub(crate) struct Page {
    /// The segment, by its index.
    pub(crate) segment: usize,
    pub(crate) part: PartRef,
    /// The documents on it.
    pub(crate) documents: Range<u32>,
}

/// The mirror's documents, as far as they differ from the last sync.
#[derive(Debug, Default)]
pub struct Heads {
    /// Whether `documents` is complete; else other paths are unchanged since the last sync.
    pub is_complete: bool,
    /// Live documents by path; empty where the mirror has none any more.
    pub documents: HeadDocuments,
}

impl Heads {
    /// The mirror's document at `path`, if it changed since the last sync.
    pub fn document(&self, path: &str) -> Option<&HeadDocument> {
        self.documents.get(path)?.first()
    }

    /// The mirror's version of `path`, where the last sync had `ancestor`.
    pub fn version(&self, path: &str, ancestor: Version) -> Version {
        match self.documents.get(path) {
            Some(documents) => documents.first().map(|document| document.sha256),
            None if self.is_complete => None,
            None => ancestor,
        }
    }
}

/// All live documents.
///
/// # Errors
/// Those of loading parts of segments.
pub async fn all(snapshot: &Snapshot) -> Result<HeadDocuments, SyncError> {
    let mut found = HeadDocuments::new();
    for segment in 0..snapshot.segments().len() {
        load(snapshot, &segment_pages(snapshot, segment).await?, |_, _| true, &mut found).await?;
    }
    Ok(found)
}

/// The live documents at `paths`, which are in order.
///
/// # Errors
/// Those of loading parts of segments.
pub async fn at(snapshot: &Snapshot, paths: &[&str]) -> Result<HeadDocuments, SyncError> {
    let asked = |_: u32, record: &Record| paths.binary_search_by(|asked| (*asked).cmp(&record.path)).is_ok();
    let mut found = HeadDocuments::new();
    load(snapshot, &pages_of(snapshot, paths).await?, asked, &mut found).await?;
    Ok(found)
}

/// A live document with its record and position.
pub(crate) struct Located {
    pub(crate) segment: SegmentId,
    pub(crate) document: u32,
    pub(crate) record: Record,
    /// The generation that wrote it.
    pub(crate) generation: u64,
    /// The generation of the version that it replaced; 0 if there was none.
    pub(crate) replaces: u64,
}

/// The live documents at `paths`, which are in order, with their records; of several at a path, the newest segment's.
pub(crate) async fn records(snapshot: &Snapshot, paths: &[&str]) -> Result<BTreeMap<String, Located>, SyncError> {
    let asked = |_: u32, record: &Record| paths.binary_search_by(|asked| (*asked).cmp(&record.path)).is_ok();
    let mut found = BTreeMap::new();
    load_each(snapshot, &pages_of(snapshot, paths).await?, asked, |record, entry, document| {
        let (generation, replaces) = (entry.written_at(&record), entry.replaced_by(&record));
        found.insert(record.path.clone(), Located { segment: entry.id, document, record, generation, replaces });
    })
    .await?;
    Ok(found)
}

/// The texts of the live documents at `paths`, which are in order, with their documents; attachments have none.
///
/// # Errors
/// Those of loading parts of segments.
pub(crate) async fn texts(
    snapshot: &Snapshot,
    paths: &[&str],
) -> Result<BTreeMap<String, (HeadDocument, Bytes)>, SyncError> {
    let mut found: BTreeMap<String, (usize, Record, HeadDocument)> = BTreeMap::new();
    let asked = |_: u32, record: &Record| paths.binary_search_by(|asked| (*asked).cmp(&record.path)).is_ok();
    load_each(snapshot, &pages_of(snapshot, paths).await?, asked, |record, entry, document| {
        let segment = snapshot.segments().iter().position(|one| one.id == entry.id);
        let (path, head) = document_of(record.clone(), entry, document);
        if let Some(segment) = segment.filter(|_| record.blob.is_none()) {
            found.insert(path, (segment, record, head));
        }
    })
    .await?;
    // One request after the other would take as many waves as there are texts.
    let mut segments: Vec<usize> = found.values().map(|(segment, ..)| *segment).collect();
    segments.sort_unstable();
    segments.dedup();
    let tables: Vec<(usize, PartRef)> = segments
        .iter()
        .filter_map(|segment| Some((*segment, snapshot.segments().get(*segment)?)))
        .map(|(segment, entry)| Ok((segment, entry.layout.text_blocks()?)))
        .collect::<Result<_, SyncError>>()?;
    let tables: BTreeMap<usize, Arc<Part>> = segments.into_iter().zip(snapshot.load(&tables).await?).collect();
    let mut texts = BTreeMap::new();
    let found: Vec<_> = found.into_iter().collect();
    for page in found.chunks(LOAD) {
        let mut wants: Vec<(usize, PartRef)> = Vec::new();
        let mut slots = Vec::with_capacity(page.len());
        for (_, (segment, record, _)) in page {
            let begin = wants.len();
            if let (Some(entry), Some(table)) = (snapshot.segments().get(*segment), tables.get(segment)) {
                let parts = table.text_blocks()?.parts(&entry.layout, record.text)?;
                wants.extend(parts.into_iter().map(|part| (*segment, part)));
            }
            slots.push(begin..wants.len());
        }
        let blocks = snapshot.load(&wants).await?;
        for ((path, (segment, record, head)), slot) in page.iter().zip(slots) {
            let (Some(table), Some(blocks)) = (tables.get(segment), blocks.get(slot)) else { continue };
            let text = table.text_blocks()?.cut(record.text, blocks.iter().map(|block| &**block))?;
            texts.insert(path.clone(), (head.clone(), text));
        }
    }
    Ok(texts)
}

/// Pages of records that may contain one of `paths`, which are in order.
///
/// # Errors
/// When a segment has no records, or the store fails.
pub(crate) async fn pages_of(snapshot: &Snapshot, paths: &[&str]) -> Result<Vec<Page>, SyncError> {
    snapshot.open(|_, entry| paths_within(&entry.layout, paths).next().is_some()).await?;
    let mut pages: Vec<Page> = Vec::new();
    for (segment, entry) in snapshot.segments().iter().enumerate() {
        for path in paths_within(&entry.layout, paths) {
            let Some((part, first)) = entry.layout.record_page(path)? else { continue };
            if pages.last().is_none_or(|last| last.segment != segment || last.part != part) {
                pages.push(Page { segment, part, documents: first..u32::MAX });
            }
        }
    }
    Ok(pages)
}

/// Those of `paths`, which are in order, that a segment may hold.
fn paths_within<'a>(layout: &Layout, paths: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let start = paths.partition_point(|path| **path < *layout.first);
    paths.iter().skip(start).take_while(|path| layout.may_hold(path)).copied()
}

/// The paths that differ between `after` and `before`, its ancestor: new documents, and removed ones. Also some that
/// only moved to another segment.
///
/// # Errors Those of loading parts of segments; those of `before` may be collected.
pub async fn changed(before: &Snapshot, after: &Snapshot) -> Result<HeadDocuments, SyncError> {
    let is_in = |snapshot: &Snapshot, id| snapshot.manifest().segment(id).is_some();
    let mut found = HeadDocuments::new();
    let mut gone = HeadDocuments::new();
    for (segment, entry) in before.segments().iter().enumerate() {
        match after.manifest().segment(entry.id) {
            // All its live documents; those that still exist are found in another segment.
            None => load(before, &segment_pages(before, segment).await?, |_, _| true, &mut gone).await?,
            Some((_, same)) if same.deleted == entry.deleted => {}
            Some((index, _)) => {
                let dead = after.deleted(index).await?;
                let sorted: Vec<u32> = dead.iter().collect();
                let has_dead = |page: &Page| {
                    let next = sorted.partition_point(|one| *one < page.documents.start);
                    sorted.get(next).is_some_and(|one| *one < page.documents.end)
                };
                let pages: Vec<Page> = segment_pages(before, segment).await?.into_iter().filter(has_dead).collect();
                load(before, &pages, |document, _| dead.contains(document), &mut gone).await?;
            }
        }
    }
    for (segment, entry) in after.segments().iter().enumerate() {
        if !is_in(before, entry.id) {
            load(after, &segment_pages(after, segment).await?, |_, _| true, &mut found).await?;
        }
    }
    for path in gone.into_keys() {
        found.entry(path).or_default();
    }
    Ok(found)
}

/// The contents of `documents`.
pub(crate) fn contents(documents: &HeadDocuments) -> HashSet<[u8; 32]> {
    documents.values().flatten().map(|document| document.sha256).collect()
}

async fn segment_pages(snapshot: &Snapshot, segment: usize) -> Result<Vec<Page>, SyncError> {
    let Some(entry) = snapshot.segments().get(segment) else { return Ok(Vec::new()) };
    snapshot.open(|other, _| other == segment).await?;
    let pages = entry.layout.record_pages()?.into_iter();
    Ok(pages.map(|(part, documents)| Page { segment, part, documents }).collect())
}

async fn load(
    snapshot: &Snapshot,
    pages: &[Page],
    wanted: impl Fn(u32, &Record) -> bool,
    found: &mut HeadDocuments,
) -> Result<(), SyncError> {
    load_each(snapshot, pages, wanted, |record, entry, document| {
        let (path, document) = document_of(record, entry, document);
        found.entry(path).or_default().insert(0, document);
    })
    .await
}

/// Calls `each` with the wanted documents on `pages`; those of the newest segment come last.
async fn load_each(
    snapshot: &Snapshot,
    pages: &[Page],
    wanted: impl Fn(u32, &Record) -> bool,
    mut each: impl FnMut(Record, &SegmentEntry, u32),
) -> Result<(), SyncError> {
    for pages in pages.chunks(LOAD) {
        let parts: Vec<(usize, PartRef)> = pages.iter().map(|page| (page.segment, page.part.clone())).collect();
        for (Page { segment, documents, .. }, part) in pages.iter().zip(snapshot.load(&parts).await?) {
            let page = part.record_page()?;
            let Some(entry) = snapshot.segments().get(*segment) else {
                continue;
            };
            for (index, document) in (0..page.len()).zip(documents.start..) {
                if !snapshot.is_live(*segment, document) {
                    continue;
                }
                let record = page.get(index)?;
                if wanted(document, &record) {
                    each(record, entry, document);
                }
            }
        }
    }
    Ok(())
}

fn document_of(record: Record, entry: &SegmentEntry, document: u32) -> (String, HeadDocument) {
    let (generation, replaces) = (entry.written_at(&record), entry.replaced_by(&record));
    let Record { path, sha256, kind, bytes, blob, modified_ms, .. } = record;
    (path, HeadDocument { segment: entry.id, document, sha256, kind, bytes, generation, replaces, blob, modified_ms })
}

/// Whether an older generation cannot be read any more: it was collected, or is damaged.
pub(crate) fn is_gone(error: &SyncError) -> bool {
    matches!(error, SyncError::Mirror(MirrorError::Gone { .. } | MirrorError::Damaged { .. }))
}
