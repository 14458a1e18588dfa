//! Merging: small segments become one, in tiers, so that readers open few segments and a small change never uploads the
//! vault again. A merge is part of a commit, which fails if a dropped segment has tombstones that the merge did not
//! see.

use std::collections::{HashMap, HashSet};

use atlas_segment::code::Code;
use atlas_segment::record::{Kind, TextSpan};
use atlas_segment::vectors::{StoredVector, VectorWriter};
use atlas_segment::{Body, Document, Parsed, PartRef, Record, SectionName, SegmentsBuilder};
use atlas_vault::VaultPath;
use bytes::Bytes;

use crate::change::{Derived, DroppedSegment, NewSegment};
use crate::error::MirrorError;
use crate::held_vectors::HeldVectors;
use crate::id::SegmentId;
use crate::manifest::SegmentEntry;
use crate::snapshot::Snapshot;
use crate::vectors::{Embeddings, NewVectors};

/// The size limit of the lowest tier, in bytes; each next one is eight times as large.
const LOWEST: u64 = 8 << 10;
/// Number of segments in one tier that are merged.
const MANY: usize = 6;

/// The size limit, in bytes, of segments that a function merges when it writes a note.
pub const SMALL: u64 = 512 << 10;
/// The size limit, in bytes, of segments that a sync merges.
pub const MEDIUM: u64 = 4 << 20;
/// The size limit, in bytes, of segments that a compaction merges.
pub const LARGE: u64 = 32 << 20;
/// Most bytes of segments that are merged at once, so that a merge needs little memory; the next one continues.
const AT_ONCE: u64 = 64 << 20;

/// A live document in the form that a segment builder takes.
#[derive(Clone, Debug)]
pub(crate) struct LiveDocument {
    pub(crate) path: VaultPath,
    pub(crate) path_on_disk: Option<String>,
    pub(crate) kind: Kind,
    pub(crate) sha256: [u8; 32],
    pub(crate) modified_ms: i64,
    pub(crate) generation: u64,
    pub(crate) replaces: u64,
    pub(crate) content: Content,
    /// Its symbols, if they are known. Only a program with grammars could find them again.
    pub(crate) code: Option<Code>,
    /// The vectors of its passages; [`None`] if it waits for them. They may have been paid for.
    pub(crate) vectors: Option<Vec<StoredVector>>,
}

/// A document's bytes.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Text(Bytes),
    /// The name and size of its object, and what could be read in it as text.
    Blob {
        name: String,
        bytes: u64,
        text: Bytes,
    },
}

impl LiveDocument {
    /// Its record, without the parts derived from its text.
    pub(crate) fn record(&self) -> Record {
        let (blob, bytes) = match &self.content {
            Content::Text(text) => (None, text.len() as u64),
            Content::Blob { name, bytes, .. } => (Some(name.clone()), *bytes),
        };
        Record {
            path: self.path.as_str().to_owned(),
            path_on_disk: self.path_on_disk.clone(),
            kind: self.kind,
            sha256: self.sha256,
            bytes,
            modified_ms: self.modified_ms,
            generation: self.generation,
            replaces: self.replaces,
            text: TextSpan::default(),
            blob,
            aliases: Vec::new(),
            tags: Vec::new(),
            links: Vec::new(),
        }
    }
}

/// Adds the merge that is due to a change derived on `head`, if any, of segments under `most` bytes.
///
/// # Errors As [`Snapshot::load`]; [`MirrorError::Conflict`] when a segment contains something invalid.
pub async fn compact(head: &Snapshot, most: u64, derived: &mut Derived) -> Result<(), MirrorError> {
    let due = due(head.segments(), most);
    if due.is_empty() {
        return Ok(());
    }
    let (documents, dropped) = read(head, &due, &derived.deleted).await?;
    derived.segments.extend(build(&documents, head.manifest().embeddings.as_ref())?);
    derived.deleted.retain(|(segment, _)| !dropped.iter().any(|dropped| dropped.segment == *segment));
    derived.dropped.extend(dropped);
    Ok(())
}

/// The indexes of the segments to merge: those under `most` bytes of the highest full tier and all lower ones, and
/// those without live documents.
fn due(segments: &[SegmentEntry], most: u64) -> Vec<usize> {
    let mut limit = 0;
    let mut top = LOWEST;
    while top <= most.max(LOWEST) {
        let lowest = if top == LOWEST { 0 } else { top / 8 };
        let in_tier = segments.iter().filter(|entry| (lowest..top).contains(&entry.bytes) && !is_dead(entry));
        if in_tier.count() >= MANY {
            limit = top;
        }
        top = top.saturating_mul(8);
    }
    let is_due = |entry: &SegmentEntry| entry.bytes < limit || is_dead(entry);
    let mut due: Vec<(usize, &SegmentEntry)> = segments.iter().enumerate().filter(|(_, entry)| is_due(entry)).collect();
    // The smallest come first; what is dead is not read.
    due.sort_by_key(|(_, entry)| if is_dead(entry) { 0 } else { entry.bytes });
    let mut bytes = 0u64;
    due.retain(|(_, entry)| {
        bytes = bytes.saturating_add(if is_dead(entry) { 0 } else { entry.bytes });
        bytes <= AT_ONCE
    });
    let mut due: Vec<usize> = due.into_iter().map(|(index, _)| index).collect();
    due.sort_unstable();
    due
}

/// Whether no document of a segment is live.
fn is_dead(entry: &SegmentEntry) -> bool {
    entry.deleted.count() >= entry.layout.documents
}

/// The live documents of the segments `inputs` except `without`, in path order, and the dropped segments for the
/// commit.
pub(crate) async fn read(
    snapshot: &Snapshot,
    inputs: &[usize],
    without: &[(SegmentId, Vec<u32>)],
) -> Result<(Vec<LiveDocument>, Vec<DroppedSegment>), MirrorError> {
    snapshot.open(|segment, _| inputs.contains(&segment)).await?;
    let mut wants: Vec<(usize, PartRef)> = Vec::new();
    let mut plans = Vec::new();
    let mut dropped = Vec::new();
    for index in inputs {
        let Some(entry) = snapshot.segments().get(*index) else { continue };
        let fault = |error| snapshot.fault(*index, error);
        dropped.push(DroppedSegment { segment: entry.id, deleted: entry.deleted.count() });
        if is_dead(entry) {
            continue;
        }
        let pages = entry.layout.record_pages().map_err(fault)?;
        let firsts: Vec<u32> = pages.iter().map(|(_, documents)| documents.start).collect();
        plans.push((*index, wants.len(), firsts));
        wants.push((*index, entry.layout.text_blocks().map_err(fault)?));
        wants.extend(pages.into_iter().map(|(page, _)| (*index, page)));
        wants.extend(entry.layout.facts(SectionName::Code).map_err(fault)?.map(|part| (*index, part)));
    }
    let parts = snapshot.load(&wants).await?;
    let mut vectors = HashMap::new();
    for (index, ..) in &plans {
        if let Some(held) = HeldVectors::load(snapshot, *index).await? {
            vectors.insert(*index, held);
        }
    }
    let mut found: Vec<(usize, usize, u32, Record, Option<Code>)> = Vec::new();
    for (index, at, firsts) in &plans {
        let id = snapshot.segments().get(*index).map(|entry| entry.id);
        let left_out = without.iter().filter(|(segment, _)| Some(*segment) == id);
        let left_out: HashSet<u32> = left_out.flat_map(|(_, documents)| documents).copied().collect();
        let fault = |error| snapshot.fault(*index, error);
        // It comes after the pages, if the segment has it.
        let has_code =
            snapshot.segments().get(*index).is_some_and(|entry| entry.layout.section(SectionName::Code).is_ok());
        let code = parts.get(at + 1 + firsts.len()).filter(|_| has_code);
        let code = code.map(|part| part.code()).transpose().map_err(fault)?;
        for (page, first) in parts.iter().skip(at + 1).zip(firsts) {
            let page = page.record_page().map_err(fault)?;
            for (number, document) in (0..page.len()).zip(*first..) {
                if snapshot.is_live(*index, document) && !left_out.contains(&document) {
                    let code = code.and_then(|code| code.code(document));
                    found.push((*index, *at, document, page.get(number).map_err(fault)?, code));
                }
            }
        }
    }
    let mut wants = Vec::new();
    let mut blocks = Vec::with_capacity(found.len());
    for (index, at, _, record, _) in &found {
        let fault = |error| snapshot.fault(*index, error);
        let (Some(table), Some(entry)) = (parts.get(*at), snapshot.segments().get(*index)) else { continue };
        let needed = table.text_blocks().map_err(fault)?.parts(&entry.layout, record.text).map_err(fault)?;
        blocks.push(wants.len()..wants.len() + needed.len());
        wants.extend(needed.into_iter().map(|part| (*index, part)));
    }
    let texts = snapshot.load(&wants).await?;
    let mut documents = Vec::with_capacity(found.len());
    for ((index, at, document, record, code), range) in found.into_iter().zip(blocks) {
        let fault = |error| snapshot.fault(index, error);
        let (Some(table), Some(entry)) = (parts.get(at), snapshot.segments().get(index)) else { continue };
        let blocks = texts.get(range).unwrap_or_default().iter().map(AsRef::as_ref);
        let text = table.text_blocks().map_err(fault)?.cut(record.text, blocks).map_err(fault)?;
        let path = VaultPath::parse_recorded(&record.path)
            .map_err(|_| MirrorError::conflict("a segment has an invalid path"))?;
        let (generation, replaces) = (entry.written_at(&record), entry.replaced_by(&record));
        documents.push(LiveDocument {
            path,
            path_on_disk: record.path_on_disk,
            kind: record.kind,
            sha256: record.sha256,
            modified_ms: record.modified_ms,
            generation,
            replaces,
            content: match record.blob {
                Some(name) => Content::Blob { name, bytes: record.bytes, text },
                None => Content::Text(text),
            },
            code,
            vectors: vectors.get(&index).and_then(|held| held.of(document)),
        });
    }
    documents.sort_by(|one, other| one.path.as_str().cmp(other.path.as_str()));
    Ok((documents, dropped))
}

/// The segments of `documents`, which are in path order.
pub(crate) fn build(
    documents: &[LiveDocument],
    embeddings: Option<&Embeddings>,
) -> Result<Vec<NewSegment>, MirrorError> {
    let refused = |error: atlas_segment::FormatError| MirrorError::conflict(error.to_string());
    let mut segments = SegmentsBuilder::default();
    for held in documents {
        let body = match &held.content {
            Content::Text(text) => Body::Text(text),
            Content::Blob { name, bytes, text } => Body::Blob { name, bytes: *bytes, text },
        };
        let document = Document {
            path: &held.path,
            path_on_disk: held.path_on_disk.as_deref(),
            kind: held.kind,
            sha256: held.sha256,
            modified_ms: held.modified_ms,
            generation: held.generation,
            replaces: held.replaces,
            body,
        };
        let (Body::Text(text) | Body::Blob { text, .. }) = body;
        let parsed = Parsed::of(held.kind, &held.path, text).with_code(held.code.clone());
        segments.push_parsed(&document, parsed).map_err(refused)?;
    }
    let segments = segments.finish().map_err(refused)?;
    let mut segments: Vec<NewSegment> = segments.into_iter().map(NewSegment::from).collect();
    let Some(embeddings) = embeddings else { return Ok(segments) };
    let mut rest = documents.iter();
    for segment in &mut segments {
        let mut vectors = VectorWriter::new(embeddings.dimensions);
        for held in rest.by_ref().take(segment.layout.documents as usize) {
            // Only notes have passages that are embedded.
            let vectors_of = if held.kind == Kind::Note { held.vectors.as_deref() } else { Some(&[][..]) };
            vectors.push(vectors_of);
        }
        segment.vectors = vectors.finish().map_err(refused)?.map(NewVectors::from);
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::tombstones::{DocumentSet, Tombstones};
    use proptest::prelude::*;

    /// A live segment of this size.
    fn entry(bytes: u64) -> SegmentEntry {
        let held = LiveDocument {
            path: VaultPath::parse("a.md").unwrap(),
            path_on_disk: None,
            kind: Kind::Note,
            sha256: [0; 32],
            modified_ms: 0,
            generation: 0,
            replaces: 0,
            content: Content::Text(Bytes::from_static(b"text")),
            code: None,
            vectors: None,
        };
        let layout = build(&[held], None).unwrap().remove(0).layout;
        let deleted = Tombstones::Inline(DocumentSet::default());
        SegmentEntry {
            id: SegmentId::from(Id::random().unwrap()),
            generation: 1,
            bytes,
            layout,
            replaces: 0,
            vectors: None,
            deleted,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn segments_stay_few_and_none_is_written_again_often(sizes in prop::collection::vec(200u64..6_000, 1..400)) {
            let one = entry(0);
            let mut segments: Vec<SegmentEntry> = Vec::new();
            let (mut given, mut written) = (0, 0);
            for size in sizes {
                let due = due(&segments, SMALL);
                let merged: u64 = due.iter().map(|index| segments[*index].bytes).sum();
                let mut index = 0;
                segments.retain(|_| { index += 1; !due.contains(&(index - 1)) });
                for bytes in [merged, size] {
                    if bytes > 0 {
                        segments.push(SegmentEntry { bytes, ..one.clone() });
                    }
                }
                given += size;
                written += size + merged;
                prop_assert!(segments.iter().filter(|entry| entry.bytes < SMALL).count() <= 3 * MANY + 1, "{}", segments.len());
            }
            prop_assert!(written <= 4 * given, "{written} bytes written for {given}");
        }
    }

    #[test]
    fn what_is_dead_goes_and_what_is_large_stays() {
        let dead = SegmentEntry { deleted: Tombstones::Inline([0].into_iter().collect()), ..entry(40 << 20) };
        let segments = [entry(40 << 20), dead, entry(1_000)];
        assert_eq!(due(&segments, SMALL), [1]);
        let many: Vec<SegmentEntry> = (0..9).map(|_| entry(600 << 10)).collect();
        assert!(due(&many, SMALL).is_empty());
        assert_eq!(due(&many, MEDIUM).len(), 9);
        let large: Vec<SegmentEntry> = [30, 6, 10, 20, 30, 5, 7, 31].map(|mebibytes| entry(mebibytes << 20)).to_vec();
        assert!(due(&large, MEDIUM).is_empty());
        assert_eq!(due(&large, LARGE), [1, 2, 3, 5, 6], "a merge is of at most 64 MiB");
    }
}
