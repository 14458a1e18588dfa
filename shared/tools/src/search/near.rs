//! Passages near a vector: the notes that come into question by the codes of their rows, and the rows that are looked at.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use atlas_embeddings::Vector;
use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Fetched, Index, Slot, Wave};
use atlas_segment::VectorLayout;

/// Notes whose rows are looked at: those with the nearest codes, and more only if they are as near.
pub(crate) const POOL: usize = 128;
/// Candidates that are held before the far ones are let go.
const MOST_FOUND: usize = 64 * POOL;
/// Rows of a note that are looked at where notes are found.
pub(crate) const ROWS: usize = 3;

/// A passage near a vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    /// Its note.
    pub(crate) document: DocumentRef,
    /// The cosine of the angle to the vector.
    pub(crate) similarity: f32,
    /// Its first line, counted from 0, and its number of lines.
    pub(crate) lines: (u32, u32),
}

/// A note, and its rows with the nearest codes.
pub(super) struct Candidate {
    pub(super) document: DocumentRef,
    pub(super) rows: Vec<Place>,
}

/// A row, and how far its code is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) distance: u32,
    pub(super) row: u32,
    pub(super) lines: (u32, u32),
}

impl Candidate {
    pub(super) const fn of(document: DocumentRef) -> Self {
        Self { document, rows: Vec::new() }
    }

    pub(super) fn distance(&self) -> u32 {
        self.rows.first().map_or(u32::MAX, |place| place.distance)
    }

    /// Adds a row, unless there are `most` nearer ones. Rows come in order.
    pub(super) fn add(&mut self, place: Place, most: usize) {
        if self.rows.len() < most || self.rows.last().is_some_and(|last| place.distance < last.distance) {
            let at = self.rows.partition_point(|other| other.distance <= place.distance);
            self.rows.insert(at, place);
            self.rows.truncate(most);
        }
    }
}

/// A row to look at: its note, its page and its bytes there, and the lines of its passage.
struct Row {
    document: DocumentRef,
    page: Slot,
    range: Range<usize>,
    lines: (u32, u32),
}

/// Rows to look at, and the wave that fetches them.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) wave: Wave,
    slots: HashMap<(usize, u64), Slot>,
    looked_at: Vec<Row>,
}

impl Rows {
    /// How many pages are fetched.
    pub(super) fn pages(&self) -> usize {
        self.slots.len()
    }

    /// Whether the page of a row is fetched.
    pub(super) fn has(&self, layout: &VectorLayout, document: DocumentRef, row: u32) -> bool {
        self.slots.contains_key(&(document.segment, layout.row(row).0.range.start))
    }

    pub(super) fn add(&mut self, layout: &VectorLayout, document: DocumentRef, row: u32, lines: (u32, u32)) {
        let (page, range) = layout.row(row);
        let wave = &mut self.wave;
        let slot = self.slots.entry((document.segment, page.range.start));
        let slot = *slot.or_insert_with(|| wave.add(document.segment, page));
        self.looked_at.push(Row { document, page: slot, range, lines });
    }

    /// The rows themselves, in the order in which they were added.
    pub(super) fn vectors(self, fetched: &Fetched) -> Result<Vec<Vector>, Error> {
        let mut found = Vec::with_capacity(self.looked_at.len());
        for Row { page, range, .. } in self.looked_at {
            let page = fetched.get(page)?;
            found.extend(page.vectors()?.get(range).and_then(atlas_embeddings::vector::of_row));
        }
        Ok(found)
    }

    /// The rows' passages, the nearest first, by note for equal ones.
    pub(super) fn near(self, index: &Index, query: &Vector, fetched: &Fetched) -> Result<Vec<Near>, Error> {
        let mut found = Vec::with_capacity(self.looked_at.len());
        for Row { document, page, range, lines } in self.looked_at {
            let page = fetched.get(page)?;
            let similarity = page.vectors()?.get(range).map_or(0.0, |row| query.similarity(row));
            found.push(Near { document, similarity, lines });
        }
        let mut paths = HashMap::new();
        for near in &found {
            if let Entry::Vacant(unknown) = paths.entry(near.document) {
                unknown.insert(index.path(near.document)?);
            }
        }
        found.sort_by(|one, other| {
            let by_path = || paths.get(&one.document).cmp(&paths.get(&other.document));
            other.similarity.total_cmp(&one.similarity).then_with(by_path).then_with(|| one.lines.cmp(&other.lines))
        });
        Ok(found)
    }
}

/// The distance within which rows are looked at, if notes have more than [`ROWS`]: of the nearest, as many as if they had not.
pub(super) fn farthest(candidates: &[Candidate]) -> u32 {
    let most = candidates.len().max(POOL) * ROWS;
    let mut distances: Vec<u32> =
        candidates.iter().flat_map(|candidate| &candidate.rows).map(|row| row.distance).collect();
    if distances.len() <= most {
        return u32::MAX;
    }
    *distances.select_nth_unstable(most - 1).1
}

/// Keeps the candidates that are as near as the last of the pool, and those of `also`.
fn keep_nearest(found: &mut Vec<Candidate>, also: &[DocumentRef]) {
    let mut distances: Vec<u32> = found.iter().map(Candidate::distance).collect();
    if POOL <= distances.len() {
        let (_, most, _) = distances.select_nth_unstable(POOL - 1);
        found.retain(|candidate| candidate.distance() <= *most || also.contains(&candidate.document));
    }
}

/// The notes that the caller sees and `takes` takes, of which the codes are fetched, with `most_rows` of their nearest rows: those that may be of
/// the pool, and those of `also`.
pub(super) fn candidates(
    index: &Index,
    query: &Vector,
    distance: impl Fn(&[u8]) -> u32,
    most_rows: usize,
    also: &[DocumentRef],
    takes: &impl Fn(DocumentRef) -> Result<bool, Error>,
) -> Result<Vec<Candidate>, Error> {
    let mut found = Vec::new();
    let mut most = MOST_FOUND;
    for segment in index.segments() {
        let Some(vectors) = index.vectors(segment)? else { continue };
        let Some((table, codes)) = vectors.table.zip(vectors.codes) else { continue };
        let layout = vectors.layout;
        if layout.dimensions as usize != query.values().len() {
            continue;
        }
        for document in 0..table.documents() {
            let rows = table.rows(document);
            let document = DocumentRef { segment, document };
            if rows.is_empty() || !index.shows(document) || !takes(document)? {
                continue;
            }
            let mut candidate = Candidate::of(document);
            for row in rows {
                let Some(bytes) = codes.get(layout.code_of(row)) else { continue };
                let lines = table.lines(row).unwrap_or_default();
                candidate.add(Place { distance: distance(bytes), row, lines }, most_rows);
            }
            found.push(candidate);
            if found.len() >= most {
                keep_nearest(&mut found, also);
                most = MOST_FOUND.max(2 * found.len());
            }
        }
    }
    Ok(found)
}
