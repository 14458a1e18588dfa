//! Documents by known paths: their record pages in one wave, their texts in the next, or in the same.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use atlas_mirror::{SegmentId, Snapshot};
use atlas_segment::text::TextBlocks;
use atlas_segment::{Part, PartRef, Record, TextSpan};
use bytes::Bytes;
use futures::future::{TryFutureExt as _, try_join};

use crate::error::{Code, Error, Reason};
use crate::operation::Context;
use crate::read::index::{Slot, Wave};
use crate::read::prefetched::Prefetched;

/// Most bytes of a segment that are fetched to get a text whose position is not known yet.
const MAX_NEAR: u64 = 512 << 10;

/// A document's record and text.
pub struct Found {
    /// The record.
    pub record: Record,
    /// The text; empty if it was not wanted.
    pub text: Bytes,
    /// The generation that wrote this version.
    pub generation: u64,
    /// The generation of the version that this one replaced; 0 if there was none.
    pub replaces: u64,
    /// Its segment, and its id there.
    pub document: (SegmentId, u32),
}

/// Says of which documents the texts are fetched.
type Wanted<'a> = dyn Fn(&Record) -> bool + Sync + 'a;

/// Most bytes of the texts of several documents.
const MAX_TEXTS: u64 = 64 << 20;

/// The error for a note that does not exist.
pub fn missing(path: &str) -> Error {
    Error::not_found(Reason::NoteNotFound, format!("there is no note at {path}")).with("path", path)
}

/// The vault at `generation`.
pub async fn at(context: &Context<'_>, generation: u64) -> Result<Arc<Snapshot>, Error> {
    let message = format!("generation: generation {generation} does not exist, or not any more");
    let missing = || Error::not_found(Reason::GenerationNotFound, message).with("generation", generation);
    context.vault.mirror.at(generation).await?.ok_or_else(missing)
}

/// The vault with the version that `found` replaced: at the generation that wrote it, else at the last that has it. [`None`] if there was none,
/// or neither is kept.
pub async fn with_replaced(context: &Context<'_>, found: &Found) -> Result<Option<Arc<Snapshot>>, Error> {
    let mirror = &context.vault.mirror;
    if found.replaces == 0 {
        return Ok(None);
    }
    match mirror.at(found.replaces).await? {
        Some(writer) => Ok(Some(writer)),
        None => Ok(mirror.at(found.generation.saturating_sub(1)).await?),
    }
}

impl Found {
    /// SHA-256 of its bytes, in hex.
    pub fn sha256(&self) -> String {
        self.record.sha256.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The live document at `path`; its text is fetched only if `wanted`.
pub async fn find(
    snapshot: &Snapshot,
    path: &str,
    wanted: impl Fn(&Record) -> bool + Sync,
) -> Result<Option<Found>, Error> {
    look(snapshot, path, &wanted, false).await
}

/// The live document at `path` with its text. If nothing is cached, the text is fetched in the same wave as the record,
/// with some bytes around it: for callers that wait for it. If its place has to be known first, it is fetched only if `wanted`.
pub async fn find_at_once(
    snapshot: &Snapshot,
    path: &str,
    wanted: impl Fn(&Record) -> bool + Sync,
) -> Result<Option<Found>, Error> {
    look(snapshot, path, &wanted, true).await
}

/// Not generic, so that its code exists once.
async fn look(snapshot: &Snapshot, path: &str, wanted: &Wanted<'_>, at_once: bool) -> Result<Option<Found>, Error> {
    snapshot.open_for(&[path]).await?;
    let mut wave = Wave::default();
    let mut pages = Vec::new();
    let mut near: Vec<(usize, Range<u64>)> = Vec::new();
    for (segment, entry) in snapshot.segments().iter().enumerate() {
        if let Some((page, first)) = entry.layout.record_page(path)? {
            let range = entry.layout.text_near(path)?;
            if at_once
                && (1..=MAX_NEAR).contains(&(range.end - range.start))
                && snapshot.cost(&[(segment, page.clone())])? > 0
            {
                near.push((segment, range));
            }
            pages.push((segment, first, wave.add(segment, page), wave.add(segment, entry.layout.text_blocks()?)));
        }
    }
    let texts = snapshot.fetch(&near).map_err(Error::from);
    let (fetched, texts) = try_join(wave.fetch(snapshot), texts).await?;
    let near: Vec<Prefetched> =
        near.into_iter().zip(texts).map(|((segment, range), bytes)| Prefetched { segment, range, bytes }).collect();
    for (segment, first, page, blocks) in pages {
        let page: Arc<Part> = fetched.get(page)?;
        let Some((index, record)) = page.record_page()?.find(path)? else {
            continue;
        };
        let id = first.saturating_add(index as u32);
        let Some(entry) = snapshot.segments().get(segment).filter(|_| snapshot.is_live(segment, id)) else { continue };
        let text = if wanted(&record) {
            let blocks: Arc<Part> = fetched.get(blocks)?;
            let near = near.iter().find(|near| near.segment == segment);
            text(snapshot, segment, blocks.text_blocks()?, record.text, near).await?
        } else {
            Bytes::new()
        };
        let (generation, replaces) = (entry.written_at(&record), entry.replaced_by(&record));
        return Ok(Some(Found { record, text, generation, replaces, document: (entry.id, id) }));
    }
    Ok(None)
}

/// The live documents at `paths`, in their order, in two waves; with the texts of those that are `wanted`.
pub async fn find_all(
    snapshot: &Snapshot,
    paths: &[&str],
    wanted: impl Fn(&Record) -> bool + Sync,
) -> Result<Vec<Option<Found>>, Error> {
    look_all(snapshot, paths, &wanted).await
}

async fn look_all(snapshot: &Snapshot, paths: &[&str], wanted: &Wanted<'_>) -> Result<Vec<Option<Found>>, Error> {
    snapshot.open_for(paths).await?;
    let mut wave = Wave::default();
    let mut slots: HashMap<(usize, u64), Slot> = HashMap::new();
    let mut places = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        for (segment, entry) in snapshot.segments().iter().enumerate() {
            if let Some((page, first)) = entry.layout.record_page(path)? {
                let mut add = |part: PartRef| {
                    *slots.entry((segment, part.range.start)).or_insert_with(|| wave.add(segment, part))
                };
                places.push((at, segment, first, add(page), add(entry.layout.text_blocks()?)));
            }
        }
    }
    let fetched = wave.fetch(snapshot).await?;
    let mut found: Vec<Option<Found>> = paths.iter().map(|_| None).collect();
    let mut texts = Wave::default();
    let mut slots: HashMap<(usize, u64), Slot> = HashMap::new();
    let mut spans = Vec::new();
    let mut bytes = 0;
    for (at, segment, first, page, blocks) in places {
        let (Some(path), Some(place)) = (paths.get(at), found.get_mut(at)) else { continue };
        let Some((index, record)) = fetched.get(page)?.record_page()?.find(path)? else { continue };
        let id = first.saturating_add(index as u32);
        let Some(entry) = snapshot.segments().get(segment).filter(|_| snapshot.is_live(segment, id)) else { continue };
        if wanted(&record) {
            bytes += u64::from(record.text.length);
            let blocks = fetched.get(blocks)?;
            let parts = blocks.text_blocks()?.parts(&entry.layout, record.text)?.into_iter();
            let mut add =
                |part: PartRef| *slots.entry((segment, part.range.start)).or_insert_with(|| texts.add(segment, part));
            let parts: Vec<Slot> = parts.map(&mut add).collect();
            spans.push((at, blocks, record.text, parts));
        }
        let (generation, replaces) = (entry.written_at(&record), entry.replaced_by(&record));
        *place = Some(Found { record, text: Bytes::new(), generation, replaces, document: (entry.id, id) });
    }
    if bytes > MAX_TEXTS {
        let message = format!("these notes have {bytes} bytes; at most {MAX_TEXTS} are read at once: name fewer");
        return Err(Error::new(Code::TooLarge, Reason::NotesTooLarge, message));
    }
    let fetched = texts.fetch(snapshot).await?;
    for (at, blocks, span, parts) in spans {
        let parts: Vec<Arc<Part>> = parts.into_iter().map(|slot| fetched.get(slot)).collect::<Result<_, _>>()?;
        if let Some(Some(found)) = found.get_mut(at) {
            found.text = blocks.text_blocks()?.cut(span, parts.iter().map(AsRef::as_ref))?;
        }
    }
    Ok(found)
}

async fn text(
    snapshot: &Snapshot,
    segment: usize,
    blocks: &TextBlocks,
    span: TextSpan,
    near: Option<&Prefetched>,
) -> Result<Bytes, Error> {
    let Some(entry) = snapshot.segments().get(segment) else { return Ok(Bytes::new()) };
    let parts = blocks.parts(&entry.layout, span)?;
    let held =
        near.map(|near| parts.iter().map(|part| near.part(snapshot, part)).collect::<Result<Option<Vec<_>>, _>>());
    let parts = match held.transpose()?.flatten() {
        Some(held) => held,
        None => snapshot.load(&parts.into_iter().map(|part| (segment, part)).collect::<Vec<_>>()).await?,
    };
    Ok(blocks.cut(span, parts.iter().map(AsRef::as_ref))?)
}
