//! The passages nearest to a vector where there are clusters: codes are read from the lists of the nearest clusters, and compared with
//! those that no list has. A list is read whole, and what the caller does not see is left out before the best are taken. Where the clusters
//! are missing or damaged there is no result.

use std::collections::{HashMap, HashSet};

use atlas_embeddings::Vector;
use atlas_embeddings::clusters::Centroids;
use atlas_embeddings::estimate::Estimate;
use atlas_ops::error::Error;
use atlas_ops::read::index::{Clusters, DocumentRef, Index, Wave};

use crate::search::near::{Candidate, Near, POOL, Place, ROWS, Rows, candidates};

/// Lists that are read; and then twice as many each time, while too few notes are found.
const LISTS: usize = 32;
/// Most lists that are read at a time.
const MOST_LISTS: usize = 1024;
/// Bytes of pages of rows that are read …
const PAGE_BYTES: u64 = 1 << 20;
/// … if that is so many pages.
const PAGES: std::ops::RangeInclusive<u64> = 16..=64;
/// Notes found by their words whose rows are looked at in any case.
const ALSO: usize = 32;
/// Rows of such a note that are looked at.
const ALSO_ROWS: usize = 64;

/// A note, and its rows, each with the lines of its passage.
type Passages = (DocumentRef, Vec<(u32, (u32, u32))>);

/// Passages of the notes nearest to `query` among those that `takes` takes, and of the first of `also`.
pub(super) async fn nearest(
    index: &Index,
    clusters: &Clusters<'_>,
    query: &Vector,
    most_rows: usize,
    also: &[DocumentRef],
    takes: &impl Fn(DocumentRef) -> Result<bool, Error>,
) -> Result<Option<Vec<Near>>, Error> {
    let also = also.get(..ALSO).unwrap_or(also);
    let estimate = Estimate::of(query);
    let dimensions = query.values().len();
    if clusters.layout.dimensions as usize != dimensions {
        return Ok(Some(Vec::new()));
    }
    let scanned = candidates(index, query, |code| estimate.distance(code), most_rows, also, takes)?;
    let mut found: HashMap<DocumentRef, Option<Candidate>> =
        scanned.into_iter().map(|candidate| (candidate.document, Some(candidate))).collect();
    let segments = segments(index);
    let order = Centroids::read(clusters.centroids, dimensions).by_similarity(query);
    let mut left = order.as_slice();
    let mut count = LISTS;
    let mut passages = None;
    loop {
        let (lists, rest) = left.split_at(count.min(left.len()));
        left = rest;
        let mut wave = Wave::default();
        let parts = lists.iter().filter_map(|cluster| clusters.head.list(&clusters.layout, *cluster));
        let slots: Vec<_> = parts.map(|part| wave.add(0, part)).collect();
        let fetched = index.load_of_clusters(wave);
        let fetched = match &passages {
            None => {
                let (fetched, of) = futures::future::try_join(fetched, self::passages(index, clusters, also)).await?;
                let Some(of) = of else { return Ok(None) };
                passages = Some(of);
                fetched
            }
            Some(_) => fetched.await?,
        };
        let Some(fetched) = fetched else { return Ok(None) };
        for slot in slots {
            let list = fetched.get(slot)?;
            for (row, code) in list.cluster_list()?.rows() {
                let Some(segment) = segments.get(&row.place).copied() else { continue };
                let document = DocumentRef { segment, document: row.document };
                let candidate = match found.get_mut(&document) {
                    Some(known) => known,
                    None => {
                        let is_taken = index.shows(document) && takes(document)?;
                        found.entry(document).or_insert(is_taken.then_some(Candidate::of(document)))
                    }
                };
                if let Some(candidate) = candidate {
                    let (distance, lines) = (estimate.distance(code), (row.line, row.lines));
                    candidate.add(Place { distance, row: row.row, lines }, most_rows);
                }
            }
        }
        if left.is_empty() || found.values().flatten().count() >= POOL {
            break;
        }
        count = (count * 2).min(MOST_LISTS);
    }
    let mut candidates: Vec<Candidate> = found.into_values().flatten().collect();
    candidates.sort_by_key(|candidate| (candidate.distance(), candidate.document));
    let mut rows = Rows::default();
    let passages = passages.unwrap_or_default();
    let whole: HashSet<DocumentRef> = passages.iter().map(|(document, _)| *document).collect();
    let firsts = candidates.iter().enumerate().flat_map(|(at, candidate)| {
        candidate.rows.iter().take(ROWS).map(move |place| (at, candidate.document, *place))
    });
    // Further passages of the nearest notes take the room that is left, the nearest first.
    let mut further: Vec<(usize, DocumentRef, Place)> = Vec::new();
    for (at, candidate) in candidates.iter().enumerate().take(POOL) {
        further.extend(candidate.rows.iter().skip(ROWS).map(|place| (at, candidate.document, *place)));
    }
    further.sort_by_key(|(at, _, place)| (place.distance, *at, place.row));
    further.truncate(POOL * ROWS);
    for (at, document, place) in firsts.chain(further) {
        let Some(layout) = index.vectors(document.segment)?.map(|vectors| vectors.layout) else { continue };
        if whole.contains(&document) {
            continue;
        }
        let most = (PAGE_BYTES / layout.page_bytes()).clamp(*PAGES.start(), *PAGES.end()) as usize;
        let has_room = rows.pages() < most || rows.has(&layout, document, place.row);
        if (at < POOL && has_room) || also.contains(&document) {
            rows.add(&layout, document, place.row, place.lines);
        }
    }
    of_rows(index, query, rows, &passages, most_rows).await.map(Some)
}

/// Passages of these notes.
pub(super) async fn nearest_of(
    index: &Index,
    clusters: &Clusters<'_>,
    query: &Vector,
    documents: &[DocumentRef],
) -> Result<Option<Vec<Near>>, Error> {
    let Some(passages) = passages(index, clusters, documents).await? else { return Ok(None) };
    let mut rows = Rows::default();
    for document in documents {
        let Some(vectors) = index.vectors(document.segment)? else { continue };
        if let Some(table) = vectors.table.filter(|_| vectors.place.is_none()) {
            for row in table.rows(document.document).take(ALSO_ROWS) {
                rows.add(&vectors.layout, *document, row, table.lines(row).unwrap_or_default());
            }
        }
    }
    of_rows(index, query, rows, &passages, ROWS).await.map(Some)
}

/// The passages in `rows` and those of `passages`, the nearest first, up to `most_rows` of a note.
async fn of_rows(
    index: &Index,
    query: &Vector,
    mut rows: Rows,
    passages: &[Passages],
    most_rows: usize,
) -> Result<Vec<Near>, Error> {
    for (document, of) in passages {
        let Some(vectors) = index.vectors(document.segment)? else { continue };
        of.iter().take(ALSO_ROWS).for_each(|(row, lines)| rows.add(&vectors.layout, *document, *row, *lines));
    }
    let fetched = index.load_scattered(std::mem::take(&mut rows.wave)).await?;
    let mut found = rows.near(index, query, &fetched)?;
    // Far passages of a note would lower what counts as far.
    let mut counts: HashMap<DocumentRef, usize> = HashMap::new();
    found.retain(|near| {
        let count = counts.entry(near.document).or_default();
        *count += 1;
        *count <= most_rows
    });
    Ok(found)
}

/// The passages of those of `documents` that are listed.
pub(super) async fn passages(
    index: &Index,
    clusters: &Clusters<'_>,
    documents: &[DocumentRef],
) -> Result<Option<Vec<Passages>>, Error> {
    let mut wave = Wave::default();
    let mut places = Vec::new();
    for document in documents {
        let place = index.vectors(document.segment)?.and_then(|vectors| vectors.place);
        let page = place.and_then(|place| clusters.head.page(&clusters.layout, place, document.document));
        if let Some((page, first)) = page {
            places.push((*document, wave.add(0, page), document.document - first));
        }
    }
    let Some(fetched) = index.load_of_clusters(wave).await? else { return Ok(None) };
    let mut found = Vec::with_capacity(places.len());
    for (document, slot, at) in places {
        let page = fetched.get(slot)?;
        let table = page.vector_table()?;
        found.push((document, table.rows(at).map(|row| (row, table.lines(row).unwrap_or_default())).collect()));
    }
    Ok(Some(found))
}

/// The live segments whose vectors are listed, by their place in the clusters.
fn segments(index: &Index) -> HashMap<u32, usize> {
    let entries = index.snapshot().segments().iter().enumerate();
    entries.filter_map(|(segment, entry)| Some((entry.vectors?.listed?, segment))).collect()
}
