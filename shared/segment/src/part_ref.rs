//! References to parts: a kind and a byte range of a segment.

use std::ops::Range;

use crate::section::SectionName;

/// The content of a fetched range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartKind {
    /// One block of text.
    TextBlock,
    /// One page of postings.
    GramPage,
    /// One page of document records.
    RecordPage,
    /// One page of terms' postings.
    TermPage,
    /// The table of terms.
    Terms,
    /// The text block table.
    TextBlocks,
    /// The table of chunks.
    Chunks,
    /// The fst of paths.
    Paths,
    /// The folded names.
    Names,
    /// The headings.
    Headings,
    /// The table of passages.
    Passages,
    /// One page of terms' passages.
    PassagePage,
    /// The table of an object of [`vectors`](crate::vectors).
    VectorTable,
    /// Its codes, its keys, or a page of its rows.
    Vectors,
    /// The head of an object of [`clusters`](crate::clusters).
    ClusterHead,
    /// Its centroids.
    Centroids,
    /// A page of its documents.
    ClusterPage,
    /// The list of a cluster.
    ClusterList,
    /// A section of [`facts`](crate::facts).
    Facts(SectionName),
    /// The end of the object, which begins with its layout: the directories of pages, of which the manifest has this checksum.
    Directories {
        /// CRC-32 of both.
        crc32: u32,
    },
}

/// A reference to one part of a segment: its kind and its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartRef {
    /// How to decode the bytes.
    pub kind: PartKind,
    /// The byte range, from the start of the object.
    pub range: Range<u64>,
}

impl PartKind {
    /// Whether it is in the object of a segment's vectors, not in the segment.
    #[must_use]
    pub const fn is_of_vectors(self) -> bool {
        matches!(self, Self::VectorTable | Self::Vectors)
    }

    /// Whether it is in the object of the vault's clusters, not in that of a segment.
    #[must_use]
    pub const fn is_of_clusters(self) -> bool {
        matches!(self, Self::ClusterHead | Self::Centroids | Self::ClusterPage | Self::ClusterList)
    }
}
