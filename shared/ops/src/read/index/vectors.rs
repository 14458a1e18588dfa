//! The vectors of a snapshot, as far as they are fetched with its index.

use std::sync::Arc;

use atlas_mirror::{ClusterEntry, Snapshot, VectorEntry};
use atlas_segment::{ClusterHead, ClusterLayout, Part, VectorLayout, VectorTable};
use bytes::Bytes;

use crate::error::Error;
use crate::read::index::{Fetched, Index, Slot, Wave};
use crate::read::view::View;

/// Most requests of a wave for parts that are far from each other.
const SCATTERED: usize = 128;

/// The clusters to read for a caller. They are made of all notes, and decide which rows are compared. So a caller who does not see everything is
/// answered by all codes: then a note that the caller does not see changes nothing.
pub(super) fn clusters_for(view: &View) -> Option<ClusterEntry> {
    view.snapshot().manifest().clusters.filter(|_| view.is_whole())
}

impl View {
    /// Whether vectors are compared for the caller: for one who does not see everything, only where all can be.
    pub fn compares_vectors(&self) -> bool {
        self.is_whole() || self.snapshot().is_flat()
    }
}

/// The vectors of a segment.
#[derive(Clone, Copy)]
pub struct Vectors<'i> {
    /// Where the parts of their object are.
    pub layout: VectorLayout,
    /// Their place in the clusters, if these list them.
    pub place: Option<u32>,
    /// Which rows are whose; of listed ones only if some documents wait.
    pub table: Option<&'i VectorTable>,
    /// The codes, unless they are listed.
    pub codes: Option<&'i Bytes>,
}

/// The clusters of the vectors.
#[derive(Clone, Copy)]
pub struct Clusters<'i> {
    /// Where the parts of their object are, …
    pub layout: ClusterLayout,
    /// … and its pages and lists.
    pub head: &'i ClusterHead,
    /// The centroids, each as a row.
    pub centroids: &'i Bytes,
}

/// The parts of the vectors of a segment, or their slots in the wave that fetches them.
pub(super) struct OfSegment<P> {
    place: Option<u32>,
    table: Option<P>,
    codes: Option<P>,
}

/// Those of the clusters: their head, and the centroids.
pub(super) struct OfClusters<P> {
    entry: ClusterEntry,
    head: P,
    centroids: P,
}

impl OfSegment<Slot> {
    /// What a query needs first; with `clusters` less of vectors that these list.
    pub(super) fn plan(wave: &mut Wave, segment: usize, entry: VectorEntry, clusters: bool) -> Self {
        let place = entry.listed.filter(|_| clusters);
        let table = place.is_none() || entry.layout.waiting > 0;
        Self {
            place,
            table: table.then(|| wave.add(segment, entry.layout.table())),
            codes: place.is_none().then(|| wave.add(segment, entry.layout.codes())),
        }
    }

    pub(super) fn get(self, fetched: &Fetched) -> Result<OfSegment<Arc<Part>>, Error> {
        let get = |slot: Option<Slot>| slot.map(|slot| fetched.get(slot)).transpose();
        Ok(OfSegment { place: self.place, table: get(self.table)?, codes: get(self.codes)? })
    }
}

impl OfClusters<Slot> {
    pub(super) fn plan(wave: &mut Wave, entry: ClusterEntry) -> Self {
        Self { entry, head: wave.add(0, entry.layout.head()), centroids: wave.add(0, entry.layout.centroids()) }
    }

    pub(super) fn get(self, fetched: &Fetched) -> Result<OfClusters<Arc<Part>>, Error> {
        let Self { entry, head, centroids } = self;
        Ok(OfClusters { entry, head: fetched.get(head)?, centroids: fetched.get(centroids)? })
    }
}

impl Index {
    /// The vectors of a segment, if they were wanted and it has some.
    pub fn vectors(&self, segment: usize) -> Result<Option<Vectors<'_>>, Error> {
        let entry = self.snapshot().segments().get(segment).and_then(|entry| entry.vectors);
        let Some((entry, of)) = entry.zip(self.segment(segment)?.vectors.as_ref()) else { return Ok(None) };
        let table = of.table.as_ref().map(|part| part.vector_table()).transpose()?;
        let codes = of.codes.as_ref().map(|part| part.vectors()).transpose()?;
        Ok(Some(Vectors { layout: entry.layout, place: of.place, table, codes }))
    }

    /// The clusters, if vectors were wanted and there are some.
    pub fn clusters(&self) -> Result<Option<Clusters<'_>>, Error> {
        let Some(OfClusters { entry, head, centroids }) = &self.clusters else { return Ok(None) };
        Ok(Some(Clusters { layout: entry.layout, head: head.cluster_head()?, centroids: centroids.vectors()? }))
    }

    /// Fetches parts of the clusters, like [`load_scattered`](Self::load_scattered); [`None`] if they are missing or damaged.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub async fn load_of_clusters(&self, wave: Wave) -> Result<Option<Fetched>, Error> {
        match self.snapshot().with_max_requests(SCATTERED).load(&wave.0).await {
            Err(error) if self.snapshot().is_of_clusters(&error) => {
                tracing::warn!(%error, "vectors are read without their clusters");
                Ok(None)
            }
            loaded => Ok(Some(Fetched(loaded?))),
        }
    }

    /// Fetches the parts of a wave that are far from each other: in many requests, so that little is read between them.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub async fn load_scattered(&self, wave: Wave) -> Result<Fetched, Error> {
        let snapshot: Snapshot = self.snapshot().with_max_requests(SCATTERED);
        wave.fetch(&snapshot).await
    }
}
