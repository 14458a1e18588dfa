//! The passages that are nearest to a vector: by their codes, and of the notes with the best ones by their rows. All codes are compared,
//! or, where there are clusters, those in the lists of the nearest ones.

use std::collections::HashSet;

use atlas_embeddings::Vector;
use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_segment::VectorTable;

use crate::search::clustered;
use crate::search::near::{Candidate, Near, POOL, ROWS, Rows, candidates, farthest};

/// Most notes whose rows are looked at, if that many have codes as near as the last of the pool.
const MOST: usize = 2 * POOL;

/// Passages of the notes nearest to `query` among those that `takes` takes, and of the notes in `also`: the nearest first, by note for
/// equal ones. The caller sees all of them.
pub(crate) async fn nearest(
    index: &Index,
    query: &Vector,
    also: &[DocumentRef],
    takes: impl Fn(DocumentRef) -> Result<bool, Error>,
) -> Result<Vec<Near>, Error> {
    nearest_rows(index, query, ROWS, also, takes).await
}

/// Passages likewise, up to `most_rows` of a note.
pub(crate) async fn nearest_rows(
    index: &Index,
    query: &Vector,
    most_rows: usize,
    also: &[DocumentRef],
    takes: impl Fn(DocumentRef) -> Result<bool, Error>,
) -> Result<Vec<Near>, Error> {
    if query.is_zero() {
        return Ok(Vec::new());
    }
    let Some(clusters) = index.clusters()? else { return among_all(index, query, most_rows, also, &takes).await };
    match clustered::nearest(index, &clusters, query, most_rows, also, &takes).await? {
        Some(found) => Ok(found),
        // They only save reading.
        None => among_all(&index.without_clusters().await?, query, most_rows, also, &takes).await,
    }
}

/// The passages, found by all codes.
async fn among_all(
    index: &Index,
    query: &Vector,
    most_rows: usize,
    also: &[DocumentRef],
    takes: &impl Fn(DocumentRef) -> Result<bool, Error>,
) -> Result<Vec<Near>, Error> {
    let code = query.code();
    let mut candidates = candidates(index, query, |bytes| code.distance(bytes), most_rows, also, takes)?;
    candidates.sort_by_key(|candidate| (candidate.distance(), candidate.document));
    let last = candidates.get(POOL - 1).map_or(u32::MAX, Candidate::distance);
    let pool = candidates.partition_point(|candidate| candidate.distance() <= last);
    if pool > MOST {
        // Some of the equally near ones are left out. Their places among all notes, also hidden ones, do not say which.
        let nearer = candidates.partition_point(|candidate| candidate.distance() < last);
        let equal = candidates.get_mut(nearer..pool).unwrap_or_default();
        index.sort_by_path(equal, |candidate| candidate.document);
    }
    let rest = candidates.split_off(pool.min(MOST));
    candidates.extend(rest.into_iter().filter(|candidate| also.contains(&candidate.document)));
    let mut rows = Rows::default();
    let farthest = farthest(&candidates);
    for Candidate { document, rows: places } in &candidates {
        let Some(layout) = index.vectors(document.segment)?.map(|vectors| vectors.layout) else { continue };
        let near = places.iter().filter(|place| place.distance <= farthest);
        near.for_each(|place| rows.add(&layout, *document, place.row, place.lines));
    }
    let fetched = index.load(std::mem::take(&mut rows.wave)).await?;
    rows.near(index, query, &fetched)
}

/// Passages of these notes, of which the caller sees all, as of those that are found.
pub(crate) async fn nearest_of(index: &Index, query: &Vector, documents: &[DocumentRef]) -> Result<Vec<Near>, Error> {
    if query.is_zero() {
        return Ok(Vec::new());
    }
    let known: HashSet<&DocumentRef> = documents.iter().collect();
    let takes = |document: DocumentRef| Ok(known.contains(&document));
    let Some(clusters) = index.clusters()? else { return among_all(index, query, ROWS, &[], &takes).await };
    match clustered::nearest_of(index, &clusters, query, documents).await? {
        Some(found) => Ok(found),
        None => among_all(&index.without_clusters().await?, query, ROWS, &[], &takes).await,
    }
}

/// The rows of a note: its vectors, in the order of their lines.
pub(crate) async fn vectors_of(index: &Index, document: DocumentRef) -> Result<Vec<Vector>, Error> {
    let Some(vectors) = index.vectors(document.segment)? else { return Ok(Vec::new()) };
    let rows_of = |table: &VectorTable| table.rows(document.document).collect();
    let places = match (vectors.table, index.clusters()?) {
        (Some(table), _) => rows_of(table),
        (None, Some(clusters)) => match clustered::passages(index, &clusters, &[document]).await? {
            Some(pages) => pages.into_iter().flat_map(|(_, rows)| rows).map(|(row, _)| row).collect(),
            None => {
                let whole = index.without_clusters().await?;
                whole.vectors(document.segment)?.and_then(|vectors| vectors.table).map(rows_of).unwrap_or_default()
            }
        },
        (None, None) => Vec::new(),
    };
    let mut rows = Rows::default();
    places.into_iter().for_each(|row| rows.add(&vectors.layout, document, row, (0, 0)));
    let fetched = index.load(std::mem::take(&mut rows.wave)).await?;
    rows.vectors(&fetched)
}

/// The notes that wait for their vectors, among those that the caller sees.
pub(crate) fn waiting(index: &Index) -> Result<u64, Error> {
    let mut count = 0;
    for segment in index.segments() {
        let vectors = index.vectors(segment)?;
        if vectors.is_some_and(|vectors| vectors.layout.waiting == 0) {
            continue;
        }
        for document in 0..index.layout(segment)?.documents {
            let waits = vectors.and_then(|vectors| vectors.table).is_none_or(|table| table.waits(document));
            let document = DocumentRef { segment, document };
            if waits && index.shows(document) && index.path(document)?.ends_with(".md") {
                count += 1;
            }
        }
    }
    Ok(count)
}
