//! Plans the wave that fetches an index.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use atlas_mirror::{ClusterEntry, MirrorError, Snapshot};
use atlas_segment::{Part, SectionName};
use bytes::Bytes;
use futures::future::try_join;

use crate::error::Error;
use crate::read::index::shown::ShownDocuments;
use crate::read::index::vectors::{OfClusters, OfSegment};
use crate::read::index::{Fetched, Index, Slot, Want, Wave};
use crate::read::prefetched::Prefetched;
use crate::read::view::View;

/// Most bytes of all terms' postings that are fetched before the wanted ones are known.
const MAX_NEAR: u64 = 4 << 20;

/// The parts of a segment, or their slots in the wave that fetches them.
pub(super) struct Segment<P = Arc<Part>> {
    pub(super) paths: P,
    pub(super) text_blocks: P,
    pub(super) chunks: P,
    pub(super) names: Option<P>,
    pub(super) headings: Option<P>,
    pub(super) terms: Option<P>,
    pub(super) passages: Option<P>,
    pub(super) linked: Option<P>,
    pub(super) anchors: Option<P>,
    pub(super) vectors: Option<OfSegment<P>>,
    pub(super) gram_pages: Vec<P>,
    pub(super) record_pages: Vec<(P, u32)>,
}

impl Segment<Slot> {
    fn get(self, fetched: &Fetched) -> Result<Segment, Error> {
        let get = |slot| fetched.get(slot);
        Ok(Segment {
            paths: get(self.paths)?,
            text_blocks: get(self.text_blocks)?,
            chunks: get(self.chunks)?,
            names: self.names.map(get).transpose()?,
            headings: self.headings.map(get).transpose()?,
            terms: self.terms.map(get).transpose()?,
            passages: self.passages.map(get).transpose()?,
            linked: self.linked.map(get).transpose()?,
            anchors: self.anchors.map(get).transpose()?,
            vectors: self.vectors.map(|of| of.get(fetched)).transpose()?,
            gram_pages: self.gram_pages.into_iter().map(get).collect::<Result<_, _>>()?,
            record_pages: self
                .record_pages
                .into_iter()
                .map(|(slot, first)| Ok((get(slot)?, first)))
                .collect::<Result<_, Error>>()?,
        })
    }
}

/// The parts of an index to fetch, in one wave.
pub(super) struct Plan {
    wave: Wave,
    segments: Vec<Segment<Slot>>,
    clusters: Option<OfClusters<Slot>>,
    near: Vec<(usize, Range<u64>)>,
}

/// The parts of a plan, fetched.
pub(super) struct Loaded {
    plan: Plan,
    parts: Fetched,
    near: Vec<Bytes>,
}

impl Plan {
    pub(super) fn new(snapshot: &Snapshot, want: Want<'_>, clusters: Option<ClusterEntry>) -> Result<Self, Error> {
        let mut wave = Wave::default();
        let has_clusters = clusters.is_some();
        let clusters = clusters.map(|entry| OfClusters::plan(&mut wave, entry));
        let mut segments = Vec::new();
        let mut near: Vec<(usize, Range<u64>)> = Vec::new();
        for (segment, entry) in snapshot.segments().iter().enumerate() {
            let layout = &entry.layout;
            if want.postings && snapshot.cost(&[(segment, layout.terms()?)])? > 0 {
                near.push((segment, layout.range(SectionName::TermPostings)?));
            }
            let mut add = |part| wave.add(segment, part);
            let mut gram_pages = BTreeMap::new();
            for probe in want.probes {
                for page in layout.gram_pages(probe)? {
                    gram_pages.entry(page.range.start).or_insert_with(|| add(page));
                }
            }
            let mut record_pages = Vec::new();
            for path in want.records {
                if let Some((part, first)) = layout.record_page(path)? {
                    record_pages.push((add(part), first));
                }
            }
            segments.push(Segment {
                paths: add(layout.paths()?),
                text_blocks: add(layout.text_blocks()?),
                chunks: add(layout.chunks()?),
                names: if want.names { Some(add(layout.names()?)) } else { None },
                headings: if want.headings { Some(add(layout.headings()?)) } else { None },
                terms: if want.terms { Some(add(layout.terms()?)) } else { None },
                passages: if want.passages { layout.passages()?.map(&mut add) } else { None },
                linked: if want.links || want.linked { layout.facts(SectionName::Linked)?.map(&mut add) } else { None },
                anchors: if want.links { layout.facts(SectionName::Anchors)?.map(&mut add) } else { None },
                vectors: entry
                    .vectors
                    .filter(|_| want.vectors)
                    .map(|of| OfSegment::plan(&mut wave, segment, of, has_clusters)),
                gram_pages: gram_pages.into_values().collect(),
                record_pages,
            });
        }
        if near.iter().map(|(_, range)| range.end - range.start).sum::<u64>() > MAX_NEAR {
            near.clear();
        }
        Ok(Self { wave, segments, clusters, near })
    }

    pub(super) async fn load(self, snapshot: &Snapshot) -> Result<Loaded, MirrorError> {
        let (parts, near) = try_join(snapshot.load(&self.wave.0), snapshot.fetch(&self.near)).await?;
        Ok(Loaded { plan: self, parts: Fetched(parts), near })
    }
}

impl Loaded {
    /// The index of `view`, whose snapshot they are of.
    pub(super) fn index(self, view: View) -> Result<Index, Error> {
        let Self { plan, parts, near } = self;
        let segments = plan.segments.into_iter().map(|segment| segment.get(&parts)).collect::<Result<_, _>>()?;
        let near = plan.near.into_iter().zip(near);
        let near = near.map(|((segment, range), bytes)| Prefetched { segment, range, bytes }).collect();
        let clusters = plan.clusters.map(|of| of.get(&parts)).transpose()?;
        Ok(Index { near, view, segments, clusters, shown: ShownDocuments::default() })
    }
}
