//! What the mirror has at one generation, as far as a sync needs to know.

use std::collections::BTreeMap;

use atlas_mirror::manifest::SegmentEntry;
use atlas_mirror::{SegmentId, Snapshot};
use atlas_segment::{Kind, PartRef, Record};

use crate::error::SyncError;

/// Parts that one load asks for.
const LOAD: usize = 256;

/// A live document of the mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadDocument {
    /// The segment that it is in.
    pub segment: SegmentId,
    /// Its id there.
    pub document: u32,
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// What it is.
    pub kind: Kind,
    /// Bytes.
    pub bytes: u64,
    /// The generation that wrote it.
    pub generation: u64,
    /// The object of an attachment.
    pub blob: Option<String>,
}

/// Live documents by path. A sound generation has one for each path; of several, the newest segment's is first.
pub type HeadDocuments = BTreeMap<String, Vec<HeadDocument>>;

/// All live documents.
///
/// # Errors
/// Those of loading parts of segments.
pub async fn all(snapshot: &Snapshot) -> Result<HeadDocuments, SyncError> {
    let mut wants = Vec::new();
    for (segment, entry) in snapshot.segments().iter().enumerate() {
        for (part, documents) in entry.layout.record_pages()? {
            wants.push(Want { segment, part, first: documents.start });
        }
    }
    let mut found = HeadDocuments::new();
    for wants in wants.chunks(LOAD) {
        load(snapshot, wants, |_| true, &mut found).await?;
    }
    Ok(found)
}

/// The live documents at `paths`, which are in order.
///
/// # Errors
/// Those of loading parts of segments.
pub async fn at(snapshot: &Snapshot, paths: &[&str]) -> Result<HeadDocuments, SyncError> {
    let mut wants: Vec<Want> = Vec::new();
    for (segment, entry) in snapshot.segments().iter().enumerate() {
        let layout = &entry.layout;
        let start = paths.partition_point(|path| **path < *layout.first);
        let inside = paths.iter().skip(start).take_while(|path| layout.may_hold(path));
        for path in inside {
            let Some((part, first)) = layout.record_page(path)? else {
                continue;
            };
            if wants.last().is_none_or(|last| last.segment != segment || last.part != part) {
                wants.push(Want { segment, part, first });
            }
        }
    }
    let asked = |path: &str| paths.binary_search_by(|asked| (*asked).cmp(path)).is_ok();
    let mut found = HeadDocuments::new();
    for wants in wants.chunks(LOAD) {
        load(snapshot, wants, asked, &mut found).await?;
    }
    Ok(found)
}

/// A page of records, and the id of its first document.
struct Want {
    segment: usize,
    part: PartRef,
    first: u32,
}

async fn load(
    snapshot: &Snapshot,
    wants: &[Want],
    asked: impl Fn(&str) -> bool,
    found: &mut HeadDocuments,
) -> Result<(), SyncError> {
    let parts: Vec<(usize, PartRef)> = wants.iter().map(|want| (want.segment, want.part.clone())).collect();
    for (want, part) in wants.iter().zip(snapshot.load(&parts).await?) {
        let page = part.record_page()?;
        let Some(entry) = snapshot.segments().get(want.segment) else {
            continue;
        };
        for (index, document) in (0..page.len()).zip(want.first..) {
            if !snapshot.is_live(want.segment, document) {
                continue;
            }
            let record = page.get(index)?;
            if asked(&record.path) {
                let (path, document) = document_of(record, entry, document);
                found.entry(path).or_default().insert(0, document);
            }
        }
    }
    Ok(())
}

fn document_of(record: Record, entry: &SegmentEntry, document: u32) -> (String, HeadDocument) {
    let generation = entry.written_at(&record);
    let Record { path, sha256, kind, bytes, blob, .. } = record;
    (path, HeadDocument { segment: entry.id, document, sha256, kind, bytes, generation, blob })
}
