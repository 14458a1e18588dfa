//! Makes the clusters of a vault's vectors, in a commit of its own. They can be made again at any time, so a writer that does not know them
//! may lose them.

use std::sync::Arc;

use atlas_embeddings::clusters::{Centroids, SAMPLE, count_of};
use atlas_segment::vectors::VectorLayout;
use atlas_segment::{ClusterWriter, FormatError, PartRef};

use crate::change::{Attempt, ChangeSet, CommitInfo, Derived};
use crate::commit::Committed;
use crate::error::MirrorError;
use crate::held_vectors::HeldVectors;
use crate::id::SegmentId;
use crate::mirror::Mirror;
use crate::snapshot::Snapshot;
use crate::vectors::{ClusterEntry, NewClusters};

/// Vectors of a vault from which on they are clustered: reading all codes costs less below.
pub const CLUSTERED_FROM: u64 = 100_000;
/// Parts that are read at a time.
const BATCH: usize = 512;

impl Snapshot {
    /// Whether clusters are to be made: there are `bound` vectors or more, and too many in no list, or too many in lists that are not live.
    #[must_use]
    pub fn clusters_are_due(&self, bound: u64) -> bool {
        let vectors = || self.segments().iter().filter_map(|entry| entry.vectors);
        let rows: u64 = vectors().map(|of| u64::from(of.layout.rows)).sum();
        if rows < bound.max(1) {
            return false;
        }
        let Some(clusters) = self.manifest().clusters else { return true };
        let listed: u64 = vectors().filter(|of| of.listed.is_some()).map(|of| u64::from(of.layout.rows)).sum();
        let unlisted = rows - listed;
        // Each query reads the codes of all rows that are in no list: a sixteenth of the bound, and a 128th of a large vault, cost little.
        unlisted > bound / 16 + rows / 128 || clusters.layout.rows > listed.saturating_mul(2)
    }
}

impl Mirror {
    /// Makes the clusters of all vectors, if they are due with this bound; returns the new generation.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn cluster_vectors(&self, info: &CommitInfo, bound: u64) -> Result<Option<u64>, MirrorError> {
        let head = self.head().await?;
        if !head.clusters_are_due(bound) {
            return Ok(None);
        }
        let Some(clusters) = made(&head).await? else { return Ok(None) };
        match self.commit(info, &Change(clusters)).await? {
            Committed::New(after, ()) => Ok(Some(after.generation())),
            _ => Ok(None),
        }
    }
}

/// The clusters of all vectors of `head` that can be read.
async fn made(head: &Snapshot) -> Result<Option<NewClusters>, MirrorError> {
    let Some(dimensions) = head.manifest().embeddings.as_ref().map(|embeddings| embeddings.dimensions) else {
        return Ok(None);
    };
    let refused = |error: FormatError| MirrorError::conflict(error.to_string());
    let rows: u64 = head.segments().iter().filter_map(|entry| entry.vectors).map(|of| u64::from(of.layout.rows)).sum();
    let count = count_of(rows);
    let sample = sample(head, rows, count * SAMPLE).await?;
    let centroids = tokio::task::spawn_blocking(move || {
        let sample: Vec<&[u8]> = sample.iter().map(Vec::as_slice).collect();
        Centroids::of(&sample, dimensions as usize, count)
    });
    let Some(centroids) = centroids.await.map_err(|error| MirrorError::conflict(error.to_string()))? else {
        return Ok(None);
    };
    let centroids = Arc::new(centroids);
    let mut writer = ClusterWriter::new(dimensions, centroids.bytes()).map_err(refused)?;
    let mut listed = Vec::new();
    for (segment, entry) in head.segments().iter().enumerate() {
        let Some(vectors) = entry.vectors.filter(|vectors| vectors.layout.rows > 0) else { continue };
        // Damaged ones are scanned, until they are made anew.
        let Some(held) = HeldVectors::load(head, segment).await?.map(Arc::new) else { continue };
        let (of, near) = (held.clone(), centroids.clone());
        let clusters = tokio::task::spawn_blocking(move || of.rows().map(|row| near.nearest(row)).collect::<Vec<_>>());
        let clusters = clusters.await.map_err(|error| MirrorError::conflict(error.to_string()))?;
        let Some((table, codes)) = held.table_and_codes() else { continue };
        writer.push(&vectors.layout, table, codes, &clusters).map_err(refused)?;
        listed.push(vectors.id);
    }
    let built = writer.finish().map_err(refused)?;
    Ok(Some(NewClusters { bytes: built.bytes.into(), layout: built.layout, listed }))
}

/// About `count` of all `rows`: those of pages that are evenly apart.
async fn sample(head: &Snapshot, rows: u64, count: usize) -> Result<Vec<Vec<u8>>, MirrorError> {
    let each = (rows / (count as u64).max(1)).max(1);
    let mut number = 0;
    let mut wants: Vec<(usize, PartRef)> = Vec::new();
    let mut layouts: Vec<VectorLayout> = Vec::new();
    for (segment, entry) in head.segments().iter().enumerate() {
        let Some(layout) = entry.vectors.map(|vectors| vectors.layout) else { continue };
        for page in layout.pages() {
            if number % each == 0 {
                wants.push((segment, page));
                layouts.push(layout);
            }
            number += 1;
        }
    }
    // Each page is a request of its own, since the pages between them are not needed.
    let head = head.with_max_requests(BATCH);
    let mut sample = Vec::new();
    for (wants, layouts) in wants.chunks(BATCH).zip(layouts.chunks(BATCH)) {
        let parts = match head.load(wants).await {
            Err(error @ (MirrorError::Damaged { .. } | MirrorError::Gone { .. })) => {
                tracing::warn!(%error, "vectors are damaged or missing, and are not sampled");
                continue;
            }
            loaded => loaded?,
        };
        for (part, layout) in parts.iter().zip(layouts) {
            if let Ok(page) = part.vectors() {
                sample.extend(layout.rows_of(page).map(<[u8]>::to_vec));
            }
        }
    }
    Ok(sample)
}

/// Checks all parts of the clusters.
pub(crate) async fn check(head: &Snapshot, clusters: &ClusterEntry) -> Result<(), MirrorError> {
    let damaged = || head.damaged(clusters.id, "it does not have the clusters that the manifest says");
    let loaded = head.load(&[(0, clusters.layout.head()), (0, clusters.layout.centroids())]).await?;
    let loaded = loaded.first().and_then(|part| part.cluster_head().ok()).ok_or_else(damaged)?;
    let parts = loaded.parts(&clusters.layout).ok_or_else(damaged)?;
    for parts in parts.chunks(BATCH) {
        head.load(&parts.iter().map(|part| (0, part.clone())).collect::<Vec<_>>()).await?;
    }
    let places = head.segments().iter().filter_map(|entry| entry.vectors?.listed);
    if places.map(|place| place as usize).any(|place| place >= loaded.objects()) { Err(damaged()) } else { Ok(()) }
}

/// Clusters to commit.
struct Change(NewClusters);

impl ChangeSet for Change {
    type Error = MirrorError;
    type Outcome = ();

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<()>, MirrorError> {
        let is_live = |id: &SegmentId| {
            head.is_some_and(|head| head.segments().iter().any(|entry| entry.vectors.is_some_and(|of| of.id == *id)))
        };
        let Some(head) = head.filter(|_| self.0.listed.iter().any(is_live)) else { return Ok(Attempt::nothing(())) };
        let derived =
            Derived { clusters: Some(Some(self.0.clone())), totals: head.manifest().totals, ..Derived::default() };
        Ok(Attempt::changes(derived, ()))
    }
}
