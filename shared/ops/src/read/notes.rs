//! Documents by known paths: their record pages in one wave, their texts in the next, or in the same.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use atlas_mirror::{SegmentId, Snapshot};
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
    context.vault.mirror.named(generation).await?.ok_or_else(missing)
}

/// The vault with the version that `found` replaced: at the generation that wrote it, else at the last that has it. [`None`] if there was none,
/// or neither can be read.
pub async fn with_replaced(context: &Context<'_>, found: &Found) -> Result<Option<Arc<Snapshot>>, Error> {
    let mirror = &context.vault.mirror;
    if found.replaces == 0 {
        return Ok(None);
    }
    match mirror.at_if_readable(found.replaces).await? {
        Some(writer) => Ok(Some(writer)),
        None => Ok(mirror.at_if_readable(found.generation.saturating_sub(1)).await?),
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
    one(look(snapshot, &[path], &wanted, false).await?)
}

/// The live document at `path` with its text. If nothing is cached, the text is fetched in the same wave as the record,
/// with some bytes around it: for callers that wait for it. If its place has to be known first, it is fetched only if `wanted`.
pub async fn find_at_once(
    snapshot: &Snapshot,
    path: &str,
    wanted: impl Fn(&Record) -> bool + Sync,
) -> Result<Option<Found>, Error> {
    one(look(snapshot, &[path], &wanted, true).await?)
}

/// The live documents at `paths`, in their order, in two waves; with the texts of those that are `wanted`.
pub async fn find_all(
    snapshot: &Snapshot,
    paths: &[&str],
    wanted: impl Fn(&Record) -> bool + Sync,
) -> Result<Vec<Option<Found>>, Error> {
    look(snapshot, paths, &wanted, false).await
}

/// The live documents at `paths`, in their order, with their texts, which are few and small; fetched as [`find_at_once`] does.
pub async fn find_all_at_once(snapshot: &Snapshot, paths: &[&str]) -> Result<Vec<Option<Found>>, Error> {
    look(snapshot, paths, &|_| true, true).await
}

fn one(found: Vec<Option<Found>>) -> Result<Option<Found>, Error> {
    Ok(found.into_iter().next().flatten())
}

/// A document whose text is to be cut from blocks.
struct Cut {
    at: usize,
    blocks: Arc<Part>,
    span: TextSpan,
    parts: Vec<Slot>,
}

/// Not generic, so that its code exists once.
async fn look(
    snapshot: &Snapshot,
    paths: &[&str],
    wanted: &Wanted<'_>,
    at_once: bool,
) -> Result<Vec<Option<Found>>, Error> {
    snapshot.open_for(paths).await?;
    let mut wave = Wave::default();
    let mut slots: HashMap<(usize, u64), Slot> = HashMap::new();
    let mut places = Vec::new();
    let mut near: Vec<(usize, Range<u64>)> = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        for (segment, entry) in snapshot.segments().iter().enumerate() {
            if let Some((page, first)) = entry.layout.record_page(path)? {
                if at_once && snapshot.cost(&[(segment, page.clone())])? > 0 {
                    let wanted = (segment, entry.layout.text_near(path)?);
                    if (1..=MAX_NEAR).contains(&(wanted.1.end - wanted.1.start)) && !near.contains(&wanted) {
                        near.push(wanted);
                    }
                }
                let mut add = |part: PartRef| {
                    *slots.entry((segment, part.range.start)).or_insert_with(|| wave.add(segment, part))
                };
                places.push((at, segment, first, add(page), add(entry.layout.text_blocks()?)));
            }
        }
    }
    let texts = snapshot.fetch(&near).map_err(Error::from);
    let (fetched, texts) = try_join(wave.fetch(snapshot), texts).await?;
    let near: Vec<Prefetched> =
        near.into_iter().zip(texts).map(|((segment, range), bytes)| Prefetched { segment, range, bytes }).collect();
    let mut found: Vec<Option<Found>> = paths.iter().map(|_| None).collect();
    let mut texts = Wave::default();
    let mut slots: HashMap<(usize, u64), Slot> = HashMap::new();
    let mut cuts = Vec::new();
    let mut bytes = 0;
    for (at, segment, first, page, blocks) in places {
        let (Some(path), Some(place)) = (paths.get(at), found.get_mut(at)) else { continue };
        let Some((index, record)) = fetched.get(page)?.record_page()?.find(path)? else { continue };
        let id = first.saturating_add(index as u32);
        let Some(entry) = snapshot.segments().get(segment).filter(|_| snapshot.is_live(segment, id)) else { continue };
        let mut text = Bytes::new();
        if wanted(&record) {
            bytes += u64::from(record.text.length);
            let blocks = fetched.get(blocks)?;
            let parts = blocks.text_blocks()?.parts(&entry.layout, record.text)?;
            match held(snapshot, segment, &near, &parts)? {
                Some(held) => text = blocks.text_blocks()?.cut(record.text, held.iter().map(AsRef::as_ref))?,
                None => {
                    let add = |part: PartRef| {
                        *slots.entry((segment, part.range.start)).or_insert_with(|| texts.add(segment, part))
                    };
                    let parts = parts.into_iter().map(add).collect();
                    cuts.push(Cut { at, blocks, span: record.text, parts });
                }
            }
        }
        let (generation, replaces) = (entry.written_at(&record), entry.replaced_by(&record));
        *place = Some(Found { record, text, generation, replaces, document: (entry.id, id) });
    }
    if bytes > MAX_TEXTS && paths.len() > 1 {
        let message = format!("these notes have {bytes} bytes; at most {MAX_TEXTS} are read at once: name fewer");
        return Err(Error::new(Code::TooLarge, Reason::NotesTooLarge, message));
    }
    let fetched = texts.fetch(snapshot).await?;
    for Cut { at, blocks, span, parts } in cuts {
        let parts: Vec<Arc<Part>> = parts.into_iter().map(|slot| fetched.get(slot)).collect::<Result<_, _>>()?;
        if let Some(Some(found)) = found.get_mut(at) {
            found.text = blocks.text_blocks()?.cut(span, parts.iter().map(AsRef::as_ref))?;
        }
    }
    Ok(found)
}

/// The blocks of a text, if all of them were fetched along.
fn held(
    snapshot: &Snapshot,
    segment: usize,
    near: &[Prefetched],
    parts: &[PartRef],
) -> Result<Option<Vec<Arc<Part>>>, Error> {
    for near in near.iter().filter(|near| near.segment == segment) {
        let held: Result<Option<Vec<_>>, _> = parts.iter().map(|part| near.part(snapshot, part)).collect();
        if let Some(held) = held? {
            return Ok(Some(held));
        }
    }
    Ok(None)
}
