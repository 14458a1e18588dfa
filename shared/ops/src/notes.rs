//! Documents by paths that are known beforehand: their record pages in one wave, their texts in the next.

use std::sync::Arc;

use atlas_mirror::{SegmentId, Snapshot};
use atlas_segment::text::TextBlocks;
use atlas_segment::{Part, Record, TextSpan};
use bytes::Bytes;

use crate::error::Error;
use crate::index::Wave;
use crate::operation::Context;

/// A document's record and text.
pub(crate) struct Found {
    pub(crate) record: Record,
    pub(crate) text: Bytes,
    /// The generation that wrote this version.
    pub(crate) generation: u64,
    /// That of the version that this one replaced; 0 if there was none.
    pub(crate) replaces: u64,
    /// The segment that it is in, and its id there.
    pub(crate) document: (SegmentId, u32),
}

/// The error for a note that is not there.
pub(crate) fn missing(path: &str) -> Error {
    Error::not_found("note_not_found", format!("there is no note at {path}")).with("path", path)
}

/// The vault as it was at `generation`.
pub(crate) async fn at(context: &Context<'_>, generation: u64) -> Result<Arc<Snapshot>, Error> {
    let message = format!("generation: there is no generation {generation}, or none any more");
    let missing = || Error::not_found("generation_not_found", message).with("generation", generation);
    context.vault.mirror.at(generation).await?.ok_or_else(missing)
}

impl Found {
    /// SHA-256 of its bytes, in hex.
    pub(crate) fn sha256(&self) -> String {
        self.record.sha256.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The live document at `path`; its text is left out when `wanted` says so.
pub(crate) async fn find(
    snapshot: &Snapshot,
    path: &str,
    wanted: impl Fn(&Record) -> bool,
) -> Result<Option<Found>, Error> {
    let mut wave = Wave::default();
    let mut pages = Vec::new();
    for (segment, entry) in snapshot.segments().iter().enumerate() {
        if let Some((page, first)) = entry.layout.record_page(path)?.filter(|_| entry.layout.may_hold(path)) {
            pages.push((segment, first, wave.add(segment, page), wave.add(segment, entry.layout.text_blocks()?)));
        }
    }
    let fetched = wave.fetch(snapshot).await?;
    for (segment, first, page, blocks) in pages {
        let page: Arc<Part> = fetched.get(page)?;
        let Some((index, record)) = page.record_page()?.find(path)? else {
            continue;
        };
        let id = first.saturating_add(index as u32);
        let Some(entry) = snapshot.segments().get(segment).filter(|_| snapshot.is_live(segment, id)) else { continue };
        let text = if wanted(&record) {
            let blocks: Arc<Part> = fetched.get(blocks)?;
            text(snapshot, segment, blocks.text_blocks()?, record.text).await?
        } else {
            Bytes::new()
        };
        let (generation, replaces) = (entry.written_at(&record), entry.replaced_by(&record));
        return Ok(Some(Found { record, text, generation, replaces, document: (entry.id, id) }));
    }
    Ok(None)
}

async fn text(snapshot: &Snapshot, segment: usize, blocks: &TextBlocks, span: TextSpan) -> Result<Bytes, Error> {
    let Some(entry) = snapshot.segments().get(segment) else { return Ok(Bytes::new()) };
    let parts = blocks.parts(&entry.layout, span)?.into_iter().map(|part| (segment, part));
    let parts = snapshot.load(&parts.collect::<Vec<_>>()).await?;
    Ok(blocks.cut(span, parts.iter().map(AsRef::as_ref))?)
}
