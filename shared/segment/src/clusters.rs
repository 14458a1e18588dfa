//! Clusters of a vault's vectors: an object by which those near a question are found, and not all codes are read.
//!
//! Each row of the listed objects of vectors is in the list of one cluster, with its code. Documents are in pages, by which their rows are
//! found without the table of their object. Everything in it can be made again from the listed objects.

mod writer;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::FormatError;
use crate::frame;
use crate::part_ref::{PartKind, PartRef};
use crate::section::SectionName;
use crate::varint;
use crate::vectors::{MAX_DIMENSIONS, VectorTable, row_bytes};

pub use writer::{BuiltClusters, ClusterWriter};

/// Documents of a page.
const PAGE: u32 = 128;
/// Bytes before the first part: the magic number and the version.
const FRAME: u64 = 12;
const CHECKSUM: u64 = 4;
/// Most bytes of the head before compression.
const MAX_HEAD_BYTES: usize = 16 << 20;
/// Most clusters.
pub const MAX_CLUSTERS: u32 = 1 << 16;

/// Where the parts of the object are that the head does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterLayout {
    /// Bytes of the object.
    pub bytes: u64,
    /// Dimensions of the vectors.
    pub dimensions: u32,
    /// How many clusters there are.
    pub clusters: u32,
    /// How many rows their lists have.
    pub rows: u64,
    /// Bytes of the head.
    pub head: u32,
}

impl ClusterLayout {
    fn centroids_start(&self) -> u64 {
        FRAME + u64::from(self.head)
    }

    fn pages_start(&self) -> u64 {
        self.centroids_start() + u64::from(self.clusters) * row_bytes(self.dimensions) + CHECKSUM
    }

    /// Whether its numbers fit together.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        (1..=MAX_DIMENSIONS).contains(&self.dimensions)
            && (1..=MAX_CLUSTERS).contains(&self.clusters)
            && self.pages_start() <= self.bytes
    }

    /// The head: where pages and lists are.
    #[must_use]
    pub fn head(&self) -> PartRef {
        PartRef { kind: PartKind::ClusterHead, range: FRAME..self.centroids_start() }
    }

    /// The centroids, each as a row.
    #[must_use]
    pub fn centroids(&self) -> PartRef {
        PartRef { kind: PartKind::Centroids, range: self.centroids_start()..self.pages_start() }
    }
}

/// The bounds of pages and lists.
#[derive(Debug)]
pub struct ClusterHead {
    /// For each listed object of vectors its documents, and its first page.
    objects: Vec<(u32, usize)>,
    /// For each page and then each list, where it begins after the centroids; and where the last one ends.
    bounds: Vec<u64>,
    pages: usize,
}

impl ClusterHead {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Vectors, "the head of the clusters is inconsistent");
        let head = frame::unpack(part, SectionName::Vectors, MAX_HEAD_BYTES)?;
        let mut rest = head.as_slice();
        let mut number = || varint::read(&mut rest).and_then(|number| u32::try_from(number).ok());
        let count = number().filter(|count| *count as usize <= head.len()).ok_or_else(damaged)?;
        let mut objects = Vec::with_capacity(count as usize);
        let mut pages = 0usize;
        for _ in 0..count {
            let documents = number().ok_or_else(damaged)?;
            objects.push((documents, pages));
            pages = pages.saturating_add(documents.div_ceil(PAGE) as usize);
        }
        let mut bounds = vec![0u64];
        let mut end = 0u64;
        while let Some(bytes) = number() {
            end += u64::from(bytes);
            bounds.push(end);
        }
        if rest.is_empty() && pages < bounds.len() { Ok(Self { objects, bounds, pages }) } else { Err(damaged()) }
    }

    /// The number of listed objects.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.objects.len()
    }

    fn part(&self, layout: &ClusterLayout, at: usize, kind: PartKind) -> Option<PartRef> {
        let (start, end) = self.bounds.get(at).zip(self.bounds.get(at + 1))?;
        let begin = layout.pages_start();
        Some(PartRef { kind, range: begin + start..begin + end }).filter(|part| part.range.end <= layout.bytes)
    }

    /// The page with `document` of the object that is the `place`th of the listed ones, and the page's first document.
    #[must_use]
    pub fn page(&self, layout: &ClusterLayout, place: u32, document: u32) -> Option<(PartRef, u32)> {
        let (documents, first) = *self.objects.get(place as usize)?;
        let page = first + (document / PAGE) as usize;
        let part =
            self.part(layout, page, PartKind::ClusterPage).filter(|_| document < documents && page < self.pages)?;
        Some((part, document - document % PAGE))
    }

    /// The list of a cluster.
    #[must_use]
    pub fn list(&self, layout: &ClusterLayout, cluster: u32) -> Option<PartRef> {
        self.part(layout, self.pages + cluster as usize, PartKind::ClusterList).filter(|_| cluster < layout.clusters)
    }

    /// All pages and lists; [`None`] if they do not fill the object.
    #[must_use]
    pub fn parts(&self, layout: &ClusterLayout) -> Option<Vec<PartRef>> {
        let fills = self.bounds.len() - 1 == self.pages + layout.clusters as usize
            && self.bounds.last().map(|end| layout.pages_start() + end) == Some(layout.bytes);
        let kind = |at| if at < self.pages { PartKind::ClusterPage } else { PartKind::ClusterList };
        (0..self.bounds.len() - 1).map(|at| self.part(layout, at, kind(at)).filter(|_| fills)).collect()
    }

    pub(crate) fn weight(&self) -> usize {
        self.bounds.len() * 8 + self.objects.len() * 16
    }
}

/// A row in the list of its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedRow {
    /// The place of its object among the listed ones.
    pub place: u32,
    /// Its document.
    pub document: u32,
    /// Its number in the object.
    pub row: u32,
    /// The first line of its passage, counted from 0.
    pub line: u32,
    /// The passage's number of lines.
    pub lines: u32,
}

/// The rows of a cluster, in order.
#[derive(Debug)]
pub struct ClusterList {
    rows: Vec<ListedRow>,
    codes: Bytes,
}

impl ClusterList {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Vectors, "the list of a cluster is inconsistent");
        let list = frame::open(part, SectionName::Vectors)?;
        let mut rest = &list[..];
        let mut number = || varint::read(&mut rest).and_then(|number| u32::try_from(number).ok()).ok_or_else(damaged);
        let count = number()?;
        if count as usize > list.len() {
            return Err(damaged());
        }
        let mut rows = Vec::with_capacity(count as usize);
        let mut before = ListedRow::default();
        for _ in 0..count {
            let place = before.place.checked_add(number()?).ok_or_else(damaged)?;
            if place > before.place {
                before = ListedRow { place, ..ListedRow::default() };
            }
            let document = before.document.checked_add(number()?).ok_or_else(damaged)?;
            let row = before.row.checked_add(number()?).ok_or_else(damaged)?;
            before = ListedRow { place, document, row, line: number()?, lines: number()? };
            rows.push(before);
        }
        let codes = list.slice(list.len() - rest.len()..);
        match codes.len().checked_rem(rows.len()) {
            Some(0) => Ok(Self { rows, codes }),
            None if codes.is_empty() => Ok(Self { rows, codes }),
            _ => Err(damaged()),
        }
    }

    /// The rows, each with its code.
    pub fn rows(&self) -> impl Iterator<Item = (&ListedRow, &[u8])> {
        let size = self.codes.len().checked_div(self.rows.len()).unwrap_or(0).max(1);
        self.rows.iter().zip(self.codes.chunks_exact(size))
    }

    pub(crate) fn weight(&self) -> usize {
        self.rows.len() * size_of::<ListedRow>() + self.codes.len()
    }
}

/// Documents of a page as a table, of which the first document is 0 and rows are those of the whole object.
pub(crate) fn page(part: &Bytes) -> Result<VectorTable, FormatError> {
    let damaged = || FormatError::damaged(SectionName::Vectors, "a page of documents is inconsistent");
    let page = frame::open(part, SectionName::Vectors)?;
    let mut rest = &page[..];
    let first = varint::read(&mut rest).and_then(|first| u32::try_from(first).ok()).ok_or_else(damaged)?;
    VectorTable::of_documents(first, rest).ok_or_else(damaged)
}

#[cfg(test)]
mod tests;
