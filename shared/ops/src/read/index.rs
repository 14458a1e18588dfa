//! The index of a snapshot: the sections of every segment that a query needs, fetched in one wave.

mod blocks;
mod order;
mod plan;
mod records;
mod shown;
mod vectors;
mod wave;

use std::collections::BTreeSet;
use std::sync::Arc;

use atlas_mirror::Snapshot;
use atlas_segment::candidates;
use atlas_segment::chunk::Chunks;
use atlas_segment::facts::{Anchors, Linked};
use atlas_segment::headings::Headings;
use atlas_segment::passages::Passages;
use atlas_segment::paths::{Names, Paths};
use atlas_segment::terms::Terms;
use atlas_segment::text::TextBlocks;
use atlas_segment::{Layout, Part, PartRef, Probe, TextSpan};
use bytes::Bytes;

pub use crate::read::index::blocks::{Blocks, FetchedBlocks};
use crate::read::index::order::ranks;
use crate::read::index::plan::{Plan, Segment};
use crate::read::index::shown::ShownDocuments;
pub use crate::read::index::vectors::{Clusters, Vectors};
use crate::read::index::vectors::{OfClusters, clusters_for};
pub use crate::read::index::wave::{Fetched, Slot, Wave};

use crate::error::{Code, Error, Reason};
use crate::read::prefetched::Prefetched;
use crate::read::view::View;

/// A document of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentRef {
    /// Index of its segment in the manifest.
    pub segment: usize,
    /// Its id in the segment.
    pub document: u32,
}

/// Sections to fetch besides paths and text tables.
#[derive(Clone, Copy, Default)]
pub struct Want<'a> {
    /// The names.
    pub names: bool,
    /// The headings.
    pub headings: bool,
    /// The table of terms.
    pub terms: bool,
    /// The table of passages, where there is one.
    pub passages: bool,
    /// The links and their words, where there are tables of them.
    pub links: bool,
    /// Only the links, where there are tables of them.
    pub linked: bool,
    /// The codes of vectors, where there are vectors that are [compared](View::compares_vectors) for the caller; of those in clusters what says
    /// where their lists are.
    pub vectors: bool,
    /// All postings of terms too, if they are small and nothing is cached: for queries with more waves to come.
    pub postings: bool,
    /// The postings for these.
    pub probes: &'a [Probe],
    /// The pages with the records of these paths.
    pub records: &'a [String],
}

/// The fetched sections.
pub struct Index {
    view: View,
    segments: Vec<Segment>,
    clusters: Option<OfClusters<Arc<Part>>>,
    near: Vec<Prefetched>,
    shown: ShownDocuments,
}

/// Bytes of texts that fill a wave.
const WAVE_BYTES: u64 = 8 << 20;

impl Index {
    /// The same index, with this limit on the requests of one wave of texts: for queries that read scattered texts and
    /// need all of them.
    pub fn with_max_requests(self, max_requests: usize) -> Self {
        Self { view: self.view.over(Arc::new(self.view.snapshot().with_max_requests(max_requests))), ..self }
    }

    /// The sections that every query needs, if all are cached.
    pub async fn in_memory(view: View) -> Result<Option<Self>, Error> {
        let snapshot = view.snapshot();
        let mut parts = Vec::new();
        for (segment, entry) in snapshot.segments().iter().enumerate() {
            let tables = [entry.layout.paths()?, entry.layout.text_blocks()?, entry.layout.chunks()?];
            parts.extend(tables.map(|part| (segment, part)));
        }
        if snapshot.cost(&parts)? > 0 {
            return Ok(None);
        }
        Self::fetch(view, Want::default()).await.map(Some)
    }

    /// Fetches the sections in `want` of the index of `view`, in one wave; in one more if the clusters cannot be used, and in one before if
    /// the manifest does not say where the wanted pages are.
    ///
    /// # Errors
    /// When the store fails, or the index is damaged or of a newer version. That of clusters that are missing or damaged is none.
    pub async fn fetch(view: View, want: Want<'_>) -> Result<Self, Error> {
        match want.probes {
            [] => view.snapshot().open_for(want.records).await?,
            _ => view.snapshot().open_all().await?,
        }
        let want = Want { vectors: want.vectors && view.compares_vectors(), ..want };
        let mut clusters = clusters_for(&view).filter(|_| want.vectors);
        loop {
            let plan = Plan::new(view.snapshot(), want, clusters)?;
            match plan.load(view.snapshot()).await {
                // They only save reading.
                Err(error) if clusters.is_some() && view.snapshot().is_of_clusters(&error) => {
                    tracing::warn!(%error, "vectors are read without their clusters");
                    clusters = None;
                }
                loaded => return loaded?.index(view),
            }
        }
    }

    /// The paths and all vectors, as they are read where there are no clusters.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    pub async fn without_clusters(&self) -> Result<Self, Error> {
        let plan = Plan::new(self.snapshot(), Want { vectors: true, ..Want::default() }, None)?;
        plan.load(self.snapshot()).await?.index(self.view.clone())
    }

    /// The snapshot, including documents that the caller may not read.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        self.view.snapshot()
    }

    /// The segments' indexes.
    pub fn segments(&self) -> std::ops::Range<usize> {
        0..self.segments.len()
    }

    fn segment(&self, index: usize) -> Result<&Segment, Error> {
        self.segments.get(index).ok_or_else(|| Error::new(Code::Internal, Reason::Internal, "a segment is missing"))
    }

    /// The layout of a segment.
    pub fn layout(&self, segment: usize) -> Result<&Layout, Error> {
        let entry = self.view.snapshot().segments().get(segment);
        entry
            .map(|entry| &entry.layout)
            .ok_or_else(|| Error::new(Code::Internal, Reason::Internal, "a segment is missing"))
    }

    /// The paths of a segment.
    pub fn paths(&self, segment: usize) -> Result<&Paths, Error> {
        Ok(self.segment(segment)?.paths.paths()?)
    }

    /// The file names of a segment, if they were fetched.
    pub fn names(&self, segment: usize) -> Result<&Names, Error> {
        Ok(wanted(&self.segment(segment)?.names)?.names()?)
    }

    /// The headings of a segment, if they were fetched.
    pub fn headings(&self, segment: usize) -> Result<&Headings, Error> {
        Ok(wanted(&self.segment(segment)?.headings)?.headings()?)
    }

    /// The terms of a segment, if they were fetched.
    pub fn terms(&self, segment: usize) -> Result<&Terms, Error> {
        Ok(wanted(&self.segment(segment)?.terms)?.terms()?)
    }

    /// The passages of a segment, if they were fetched and the segment has them.
    pub fn passages(&self, segment: usize) -> Result<Option<&Passages>, Error> {
        Ok(self.segment(segment)?.passages.as_deref().map(Part::passages).transpose()?)
    }

    /// The documents that link to files of a name, if that was fetched and the segment has it.
    pub fn linked(&self, segment: usize) -> Result<Option<&Linked>, Error> {
        Ok(self.segment(segment)?.linked.as_deref().map(Part::linked).transpose()?)
    }

    /// The words of links' texts, if they were fetched and the segment says them.
    pub fn anchors(&self, segment: usize) -> Result<Option<&Anchors>, Error> {
        Ok(self.segment(segment)?.anchors.as_deref().map(Part::anchors).transpose()?)
    }

    /// The table of chunks of a segment, if it was fetched.
    pub fn chunks(&self, segment: usize) -> Result<&Chunks, Error> {
        Ok(self.segment(segment)?.chunks.chunks()?)
    }

    /// The table of text blocks of a segment, if it was fetched.
    pub fn text_blocks(&self, segment: usize) -> Result<&TextBlocks, Error> {
        Ok(self.segment(segment)?.text_blocks.text_blocks()?)
    }

    /// The chunks of `segment` that may match `probe` according to the fetched postings, ascending. Chunks of dead
    /// documents are included.
    pub fn candidates(&self, segment: usize, probe: &Probe) -> Result<Vec<u32>, Error> {
        let pages = &self.segment(segment)?.gram_pages;
        Ok(candidates(probe, self.layout(segment)?, pages.iter().filter_map(|page| page.gram_page().ok()))?)
    }

    /// Whether the caller sees all live documents but those that are closed to everybody.
    pub const fn is_whole(&self) -> bool {
        self.view.is_whole()
    }

    /// The document at `path`.
    pub fn find(&self, path: &str) -> Result<Option<DocumentRef>, Error> {
        for segment in self.segments() {
            let found = self.paths(segment)?.get(path).map(|document| DocumentRef { segment, document });
            if let Some(found) = found.filter(|found| self.shows(*found)) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Whether any document's path begins with `prefix`.
    pub fn has_prefix(&self, prefix: &str) -> Result<bool, Error> {
        for segment in self.segments() {
            if self.paths(segment)?.with_prefix(prefix).any(|document| self.shows(DocumentRef { segment, document })) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sorts values of documents, given by segment and id, by the documents' paths.
    pub fn sort_by_path<T>(&self, items: &mut [T], document: impl Fn(&T) -> DocumentRef) {
        // Within one segment, documents are in path order already.
        if self.segments.len() < 2 {
            return;
        }
        let segments: BTreeSet<usize> = items.iter().map(|item| document(item).segment).collect();
        let ends = segments.into_iter().map(|segment| Some((segment, self.paths(segment).ok()?.ends()?)));
        match ends.collect::<Option<Vec<_>>>().and_then(|ends| ranks(ends.into_iter())) {
            Some(ranks) => items.sort_by_key(|item| {
                let DocumentRef { segment, document } = document(item);
                (ranks.get(&segment).copied(), document)
            }),
            None => items.sort_by_cached_key(|item| self.path(document(item)).unwrap_or_default()),
        }
    }

    /// The path of a document.
    pub fn path(&self, document: DocumentRef) -> Result<String, Error> {
        Ok(self.paths(document.segment)?.path(document.document)?)
    }

    /// The span of the text of `document`; its length is the document's if it has a text.
    pub fn span(&self, document: DocumentRef) -> Result<TextSpan, Error> {
        Ok(self.chunks(document.segment)?.text(document.document).unwrap_or_default())
    }

    /// Fetches the parts of a wave.
    pub async fn load(&self, wave: Wave) -> Result<Fetched, Error> {
        let held: Vec<Option<Arc<Part>>> =
            wave.0.iter().map(|(segment, part)| self.held(*segment, part)).collect::<Result<_, _>>()?;
        let missing = wave.0.into_iter().zip(&held).filter(|(_, held)| held.is_none()).map(|(want, _)| want);
        let mut loaded = Wave(missing.collect()).fetch(self.view.snapshot()).await?.0.into_iter();
        Ok(Fetched(held.into_iter().filter_map(|held| held.or_else(|| loaded.next())).collect()))
    }

    /// A part that was prefetched.
    fn held(&self, segment: usize, part: &PartRef) -> Result<Option<Arc<Part>>, Error> {
        let near = self.near.iter().find(|near| near.segment == segment && !part.kind.is_of_vectors());
        near.map_or(Ok(None), |near| near.part(self.view.snapshot(), part))
    }

    /// The number of first `items`, whose notes are given by `document`, whose texts are fetched in one wave, and their
    /// bytes; at least one.
    pub fn wave<T>(&self, items: &[T], document: impl Fn(&T) -> DocumentRef) -> Result<(usize, u64), Error> {
        self.begin_of(items, WAVE_BYTES, document)
    }

    /// The number of first `items` whose notes have about `most` bytes together, and their bytes; at least one.
    pub fn begin_of<T>(
        &self,
        items: &[T],
        most: u64,
        document: impl Fn(&T) -> DocumentRef,
    ) -> Result<(usize, u64), Error> {
        let (mut count, mut bytes) = (0, 0);
        for item in items {
            if bytes >= most {
                break;
            }
            bytes += u64::from(self.span(document(item))?.length);
            count += 1;
        }
        Ok((count, bytes))
    }

    /// The texts of `documents`, in one wave.
    pub async fn texts(&self, documents: &[DocumentRef]) -> Result<Vec<Bytes>, Error> {
        let mut blocks = Blocks::new(self);
        for document in documents {
            blocks.want(document.segment, self.span(*document)?)?;
        }
        let blocks = blocks.fetch().await?;
        documents.iter().map(|document| blocks.text(document.segment, self.span(*document)?)).collect()
    }
}

/// A part that this query requested.
fn wanted(part: &Option<Arc<Part>>) -> Result<&Part, Error> {
    part.as_deref().ok_or_else(|| Error::new(Code::Internal, Reason::Internal, "a part was not fetched"))
}
