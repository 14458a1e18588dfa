//! The passages that are nearest to a vector: by their codes all, and of the notes with the best ones by their rows.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use atlas_embeddings::Vector;
use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Index, Wave};

/// Notes whose rows are looked at: those with the nearest codes, and more only if they are as near.
pub(crate) const POOL: usize = 128;
/// Rows of a note that are looked at.
const ROWS: usize = 3;

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

/// A note, and its rows with the nearest codes, each with the number of different signs.
struct Candidate {
    document: DocumentRef,
    rows: Vec<(u32, u32)>,
}

impl Candidate {
    fn distance(&self) -> u32 {
        self.rows.first().map_or(u32::MAX, |(distance, _)| *distance)
    }
}

/// Passages of the notes nearest to `query` among those that `takes` takes, and of the notes in `also`: the nearest first, by note for
/// equal ones. The caller sees all of them.
pub(crate) async fn nearest(
    index: &Index,
    query: &Vector,
    also: &[DocumentRef],
    takes: impl Fn(DocumentRef) -> Result<bool, Error>,
) -> Result<Vec<Near>, Error> {
    if query.is_zero() {
        return Ok(Vec::new());
    }
    let mut candidates = candidates(index, query, &takes)?;
    candidates.sort_by_key(|candidate| (candidate.distance(), candidate.document));
    let last = candidates.get(POOL - 1).map_or(u32::MAX, Candidate::distance);
    let pool = candidates.partition_point(|candidate| candidate.distance() <= last).min(2 * POOL);
    let rest = candidates.split_off(pool);
    candidates.extend(rest.into_iter().filter(|candidate| also.contains(&candidate.document)));
    let mut wave = Wave::default();
    let mut slots = HashMap::new();
    let mut places = Vec::new();
    for Candidate { document, rows } in &candidates {
        let Some((table, _, layout)) = index.vectors(document.segment)? else { continue };
        for (_, row) in rows {
            let (page, range) = layout.row(*row);
            let slot =
                *slots.entry((document.segment, page.range.start)).or_insert_with(|| wave.add(document.segment, page));
            places.push((*document, slot, range, table.lines(*row).unwrap_or_default()));
        }
    }
    let fetched = index.load(wave).await?;
    let mut found = Vec::with_capacity(places.len());
    for (document, slot, range, lines) in places {
        let page = fetched.get(slot)?;
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

/// All notes that the caller sees and `takes` takes, with their nearest rows.
fn candidates(
    index: &Index,
    query: &Vector,
    takes: &impl Fn(DocumentRef) -> Result<bool, Error>,
) -> Result<Vec<Candidate>, Error> {
    let code = query.code();
    let mut found = Vec::new();
    for segment in index.segments() {
        let Some((table, codes, layout)) = index.vectors(segment)? else { continue };
        if layout.dimensions as usize != query.values().len() {
            continue;
        }
        for document in 0..table.documents() {
            let rows = table.rows(document);
            let document = DocumentRef { segment, document };
            if rows.is_empty() || !index.shows(document) || !takes(document)? {
                continue;
            }
            let mut nearest: Vec<(u32, u32)> = Vec::with_capacity(ROWS + 1);
            for row in rows {
                let Some(bytes) = codes.get(layout.code_of(row)) else { continue };
                let distance = code.distance(bytes);
                if nearest.len() < ROWS || nearest.last().is_some_and(|(most, _)| distance < *most) {
                    let at = nearest.partition_point(|(other, _)| *other <= distance);
                    nearest.insert(at, (distance, row));
                    nearest.truncate(ROWS);
                }
            }
            found.push(Candidate { document, rows: nearest });
        }
    }
    Ok(found)
}

/// The rows of a note: its vectors, in the order of their lines.
pub(crate) async fn vectors_of(index: &Index, document: DocumentRef) -> Result<Vec<Vector>, Error> {
    let Some((table, _, layout)) = index.vectors(document.segment)? else { return Ok(Vec::new()) };
    let mut wave = Wave::default();
    let mut slots = HashMap::new();
    let mut places = Vec::new();
    for row in table.rows(document.document) {
        let (page, range) = layout.row(row);
        let slot = *slots.entry(page.range.start).or_insert_with(|| wave.add(document.segment, page));
        places.push((slot, range));
    }
    let fetched = index.load(wave).await?;
    let mut vectors = Vec::with_capacity(places.len());
    for (slot, range) in places {
        let page = fetched.get(slot)?;
        vectors.extend(page.vectors()?.get(range).and_then(atlas_embeddings::vector::of_row));
    }
    Ok(vectors)
}

/// The notes that wait for their vectors, among those that the caller sees.
pub(crate) fn waiting(index: &Index) -> Result<u64, Error> {
    let mut count = 0;
    for segment in index.segments() {
        let vectors = index.vectors(segment)?;
        if vectors.is_some_and(|(_, _, layout)| layout.waiting == 0) {
            continue;
        }
        for document in 0..index.layout(segment)?.documents {
            let waits = vectors.is_none_or(|(table, ..)| table.waits(document));
            let document = DocumentRef { segment, document };
            if waits && index.shows(document) && index.path(document)?.ends_with(".md") {
                count += 1;
            }
        }
    }
    Ok(count)
}
