//! Gives notes their vectors: those of the segments that lack some, with a model that the caller runs.
//!
//! `asking`: what the model is asked; `change`: the commit.

mod asking;
mod change;

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use atlas_embeddings::{EmbedError, EmbeddingModel, Passage, Purpose, Vector, passages};
use atlas_segment::text::decoded;
use atlas_segment::vectors::{BuiltVectors, StoredVector, VectorWriter};
use atlas_segment::{Kind, PartRef, Record};
use atlas_vault::VaultPath;
use bytes::Bytes;

use self::asking::{Asked, ask};
use self::change::{Change, Fate};
use crate::change::CommitInfo;
use crate::commit::Committed;
use crate::error::MirrorError;
use crate::held_vectors::{self, HeldVectors};
use crate::id::SegmentId;
use crate::manifest::SegmentEntry;
use crate::mirror::Mirror;
use crate::snapshot::Snapshot;
use crate::vectors::{Embeddings, NewVectors};

/// Texts of one call of a model in the store: where vectors are looked up, and where they are computed.
const STORED_BATCH: usize = 256;
const COMPUTED_BATCH: usize = 16;
/// How often all is done again, with the vectors that are known then, since segments were merged meanwhile.
const ROUNDS: usize = 4;

/// A model in the store, as any other.
#[derive(Debug)]
pub struct StoreModel {
    mirror: Mirror,
    embeddings: Embeddings,
}

impl StoreModel {
    /// The model `embeddings` in the store of `mirror`. No request is made.
    #[must_use]
    pub const fn new(mirror: Mirror, embeddings: Embeddings) -> Self {
        Self { mirror, embeddings }
    }
}

#[async_trait]
impl EmbeddingModel for StoreModel {
    fn takes(&self, texts: &[&str]) -> Result<usize, EmbedError> {
        let most = if self.embeddings.is_look_up() { STORED_BATCH } else { COMPUTED_BATCH };
        Ok(texts.len().min(most))
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vector>, EmbedError> {
        self.mirror.embed(&self.embeddings, texts, purpose).await.map_err(|error| match error {
            MirrorError::Unavailable { .. } => EmbedError::Unavailable(error.to_string()),
            error => EmbedError::Refused(error.to_string()),
        })
    }
}

/// Vectors that are known, by the key of their text: code and row.
pub type Known = HashMap<u64, (Vec<u8>, Vec<u8>)>;

/// The result of embedding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Embedded {
    /// Notes that have their vectors now.
    pub notes: u64,
    /// Notes that still wait.
    pub waiting: u64,
    /// Passages that the model was asked for.
    pub passages: u64,
    /// The new generation, if there is one.
    pub generation: Option<u64>,
}

/// Receives the progress: how many passages are to be embedded, how many more are, and each new vector with its key, to be kept for later.
pub trait EmbedProgress: Send + Sync {
    /// So many passages are to be embedded.
    fn begin(&self, passages: u64);
    /// These are, with their keys, codes and rows.
    fn keep(&self, vectors: &[(u64, Vec<u8>, Vec<u8>)]);
}

impl EmbedProgress for () {
    fn begin(&self, _: u64) {}
    fn keep(&self, _: &[(u64, Vec<u8>, Vec<u8>)]) {}
}

/// A note of a segment, and its passages.
struct Note {
    document: u32,
    passages: Vec<Passage>,
}

/// The notes of a segment that lacks vectors.
struct Lacking {
    segment: SegmentId,
    documents: u32,
    /// How many of its documents wait now, if it has vectors.
    waiting: Option<u32>,
    notes: Vec<Note>,
}

impl Mirror {
    /// Embeds what lacks vectors of the model `embeddings`, which `model` runs, and commits them: with another model than the newest
    /// generation's all of it, in one commit. Vectors in `known` are not asked for. The error of the model, if it failed midway, is beside
    /// what was embedded before.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn embed_lacking(
        &self,
        info: &CommitInfo,
        embeddings: &Embeddings,
        model: &dyn EmbeddingModel,
        mut known: Known,
        progress: &dyn EmbedProgress,
    ) -> Result<(Embedded, Option<EmbedError>), MirrorError> {
        let mut done = Embedded::default();
        let mut began = None;
        for left in (0..ROUNDS).rev() {
            let head = self.head().await?;
            let now = head.manifest().embeddings.as_ref().map(|now| now.id);
            let began = *began.get_or_insert(now);
            let is_other = now != Some(embeddings.id);
            let lacking = self.lacking(&head, is_other, &mut known).await?;
            let all: u64 = lacking.iter().map(|lacking| lacking.notes.len() as u64).sum();
            if is_other && now != began {
                done.waiting = all;
                return Ok((done, Some(EmbedError::Superseded)));
            }
            let mut missing = missing(&lacking, &known);
            // A text that costs money or time is not embedded twice: what earlier versions of a note have is looked for.
            if !is_other && !embeddings.is_look_up() {
                let wanted: HashSet<u64> = missing.iter().map(|(key, _)| *key).collect();
                for index in 0..head.segments().len() {
                    known.extend(held_vectors::with_keys(&head, index, &wanted).await?);
                }
                missing.retain(|(key, _)| !known.contains_key(key));
            }
            progress.begin(missing.len() as u64);
            let Asked { vectors: given, failure } = ask(model, embeddings.dimensions, &missing, progress).await;
            done.passages += given.len() as u64;
            known.extend(given);
            // Another model takes over when it has all, the first one when it has something.
            let has_something = || lacking.iter().flat_map(|lacking| &lacking.notes).any(|note| is_known(note, &known));
            if is_other && failure.is_some() && (now.is_some() || !has_something()) {
                done.waiting = all;
                return Ok((done, failure));
            }
            let (vectors, counts) = with_vectors(lacking, &known, embeddings.dimensions, is_other)?;
            let is_last = left == 0 || failure.is_some();
            let change = Change { began, embeddings: Some(embeddings.clone()), vectors, is_last };
            let fate = match self.commit(info, &change).await? {
                Committed::New(after, fate) => {
                    done.generation = Some(after.generation());
                    let is_live = |id: SegmentId| after.segments().iter().any(|entry| entry.id == id);
                    done.notes +=
                        counts.iter().filter(|count| is_live(count.segment)).map(|count| count.notes).sum::<u64>();
                    fate
                }
                Committed::Unchanged(_, fate) => fate,
                Committed::Replayed { .. } => Fate::Whole,
            };
            done.waiting = counts.iter().map(|count| count.waiting).sum();
            match fate {
                Fate::Superseded => {
                    done.waiting = all;
                    return Ok((done, Some(EmbedError::Superseded)));
                }
                // The vectors that merged segments lack are known by now.
                Fate::Merged if !is_last => {}
                Fate::Whole | Fate::Merged => return Ok((done, failure)),
            }
        }
        Ok((done, None))
    }

    /// Drops all vectors: nothing is embedded from now on.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn drop_vectors(&self, info: &CommitInfo) -> Result<(), MirrorError> {
        let began = self.head().await?.manifest().embeddings.as_ref().map(|now| now.id);
        self.commit(info, &Change { began, embeddings: None, vectors: BTreeMap::new(), is_last: true }).await.map(drop)
    }

    /// The segments that lack vectors, of another model all; the vectors that they have are added to `known`.
    async fn lacking(&self, head: &Snapshot, is_other: bool, known: &mut Known) -> Result<Vec<Lacking>, MirrorError> {
        let mut found = Vec::new();
        for (index, entry) in head.segments().iter().enumerate() {
            if is_other || lacks(entry) {
                if !is_other {
                    known.extend(held(head, index).await?);
                }
                found.push(self.notes_of(head, index, entry).await?);
            }
        }
        Ok(found)
    }

    async fn notes_of(&self, head: &Snapshot, index: usize, entry: &SegmentEntry) -> Result<Lacking, MirrorError> {
        let records = self.records_of(head, index, true).await?;
        let records: Vec<_> = records.into_iter().filter(|(_, record)| record.kind == Kind::Note).collect();
        let texts = texts_of(head, index, entry, &records).await?;
        let note = |((document, record), text): ((u32, Record), Bytes)| {
            let path = VaultPath::parse_recorded(&record.path).ok()?;
            Some(Note { document, passages: passages(&path, &decoded(&text)) })
        };
        let notes = records.into_iter().zip(texts).filter_map(note).collect();
        let waiting = entry.vectors.map(|vectors| vectors.layout.waiting);
        Ok(Lacking { segment: entry.id, documents: entry.layout.documents, waiting, notes })
    }

    /// The vectors of new notes, which are in path order, by a model in the store: those of the segments that they become.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    pub async fn vectors_of(
        &self,
        embeddings: &Embeddings,
        documents: &[Option<(&VaultPath, &[u8])>],
    ) -> Result<Option<NewVectors>, MirrorError> {
        let of_documents: Vec<Vec<Passage>> = documents
            .iter()
            .map(|document| document.map(|(path, text)| passages(path, &decoded(text))))
            .map(Option::unwrap_or_default)
            .collect();
        let texts: Vec<&str> = of_documents.iter().flatten().map(|passage| passage.text.as_str()).collect();
        let mut vectors = self.embed(embeddings, &texts, Purpose::Passage).await?.into_iter();
        let mut writer = VectorWriter::new(embeddings.dimensions);
        for passages in &of_documents {
            let of_document: Vec<StoredVector> = passages
                .iter()
                .zip(vectors.by_ref())
                .map(|(passage, vector)| of_passage(passage, stored(&vector)))
                .collect();
            writer.push(Some(&of_document));
        }
        let built = writer.finish().map_err(|error| MirrorError::conflict(error.to_string()))?;
        Ok(built.map(NewVectors::from))
    }
}

impl Snapshot {
    /// Whether there is a model, and documents that wait for its vectors.
    pub fn waits_for_vectors(&self) -> bool {
        self.manifest().embeddings.is_some() && self.segments().iter().any(lacks)
    }

    /// How many notes wait for its model's vectors, at most.
    pub fn notes_waiting(&self) -> u64 {
        if self.manifest().embeddings.is_none() {
            return 0;
        }
        let of_segment = |entry: &SegmentEntry| match entry.vectors {
            Some(vectors) => u64::from(vectors.layout.waiting),
            None => u64::from(entry.layout.documents.saturating_sub(entry.deleted.count())),
        };
        let waiting: u64 = self.segments().iter().filter(|entry| lacks(entry)).map(of_segment).sum();
        waiting.min(self.manifest().totals.notes)
    }
}

/// The passages without a known vector, each once, with their keys.
fn missing<'l>(lacking: &'l [Lacking], known: &Known) -> Vec<(u64, &'l str)> {
    let mut seen = HashSet::new();
    let passages = lacking.iter().flat_map(|lacking| &lacking.notes).flat_map(|note| &note.passages);
    passages
        .map(|passage| (passage.key(), passage.text.as_str()))
        .filter(|(key, _)| !known.contains_key(key) && seen.insert(*key))
        .collect()
}

/// How many notes of a segment have their vectors, and how many wait.
struct Count {
    segment: SegmentId,
    notes: u64,
    waiting: u64,
}

/// The vectors of segments, as far as they are known; unless the model `is_other`, of those that get more than they have.
fn with_vectors(
    lacking: Vec<Lacking>,
    known: &Known,
    dimensions: u32,
    is_other: bool,
) -> Result<(BTreeMap<SegmentId, NewVectors>, Vec<Count>), MirrorError> {
    let mut vectors = BTreeMap::new();
    let mut counts = Vec::with_capacity(lacking.len());
    for Lacking { segment, documents, waiting, notes } in lacking {
        let mut count = Count { segment, notes: 0, waiting: 0 };
        let mut writer = VectorWriter::new(dimensions);
        let mut notes = notes.into_iter().peekable();
        for document in 0..documents {
            let note = notes.next_if(|note| note.document == document);
            let Some(note) = note else {
                // Only notes have passages.
                writer.push(Some(&[]));
                continue;
            };
            let vectors = of_passages(&note.passages, known);
            *(if vectors.is_some() { &mut count.notes } else { &mut count.waiting }) += 1;
            writer.push(vectors.as_deref());
        }
        let built = writer.finish().map_err(|error| MirrorError::conflict(error.to_string()))?;
        let is_news = |built: &BuiltVectors| is_other || waiting.is_none_or(|waiting| built.layout.waiting < waiting);
        vectors.extend(built.filter(is_news).map(|built| (segment, NewVectors::from(built))));
        counts.push(count);
    }
    Ok((vectors, counts))
}

/// Whether a segment has live documents without vectors.
pub(crate) fn lacks(entry: &SegmentEntry) -> bool {
    entry.deleted.count() < entry.layout.documents && entry.vectors.is_none_or(|vectors| vectors.layout.waiting > 0)
}

fn stored(vector: &Vector) -> (Vec<u8>, Vec<u8>) {
    let mut row = Vec::new();
    vector.row().write(&mut row);
    (vector.code().bytes().to_vec(), row)
}

fn of_passage(passage: &Passage, (code, row): (Vec<u8>, Vec<u8>)) -> StoredVector {
    StoredVector { key: passage.key(), line: passage.line, lines: passage.lines, code, row }
}

/// Whether a note has passages, and the vectors of all of them are known.
fn is_known(note: &Note, known: &Known) -> bool {
    !note.passages.is_empty() && note.passages.iter().all(|passage| known.contains_key(&passage.key()))
}

/// The vectors of all passages; [`None`] if one is not known.
pub(crate) fn of_passages(passages: &[Passage], known: &Known) -> Option<Vec<StoredVector>> {
    passages.iter().map(|passage| Some(of_passage(passage, known.get(&passage.key())?.clone()))).collect()
}

/// The vectors of a segment, by key.
async fn held(head: &Snapshot, index: usize) -> Result<Known, MirrorError> {
    let Some(held) = HeldVectors::load(head, index).await? else { return Ok(Known::new()) };
    let documents = head.segments().get(index).map_or(0, |entry| entry.layout.documents);
    let vectors = (0..documents).filter_map(|document| held.of(document)).flatten();
    Ok(vectors.map(|vector| (vector.key, (vector.code, vector.row))).collect())
}

/// The texts of documents of a segment.
async fn texts_of(
    head: &Snapshot,
    index: usize,
    entry: &SegmentEntry,
    records: &[(u32, Record)],
) -> Result<Vec<Bytes>, MirrorError> {
    let fault = |error| head.fault(index, error);
    let table = head.load(&[(index, entry.layout.text_blocks().map_err(fault)?)]).await?;
    let Some(table) = table.first() else { return Ok(Vec::new()) };
    let table = table.text_blocks().map_err(fault)?;
    let mut wants: Vec<(usize, PartRef)> = Vec::new();
    let mut blocks = Vec::with_capacity(records.len());
    for (_, record) in records {
        let begin = wants.len();
        wants.extend(table.parts(&entry.layout, record.text).map_err(fault)?.into_iter().map(|part| (index, part)));
        blocks.push(begin..wants.len());
    }
    let parts = head.load(&wants).await?;
    let text = |((_, record), range): (&(u32, Record), std::ops::Range<usize>)| {
        table.cut(record.text, parts.get(range).unwrap_or_default().iter().map(AsRef::as_ref)).map_err(fault)
    };
    records.iter().zip(blocks).map(text).collect()
}
