//! Page directories: where in a section each page is, by the first key of the page. They are small
//! and travel in the manifest, so that a reader finds a page without a request of its own.

use std::ops::{Range, RangeInclusive};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::gram::Gram;
use crate::varint;

/// Most pages a directory may list; a larger one is damaged.
const MAX_PAGES: usize = 1 << 16;

/// Pages of document records by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyDirectory {
    /// For each page after the first, a string that is greater than every path of the page before and
    /// not greater than the first path of the page itself; as short as that allows.
    separators: Vec<String>,
    /// Bytes of each page.
    lengths: Vec<u32>,
    /// Number of documents in each page.
    documents: Vec<u32>,
    /// Packed bytes of text before the block that has the first text of each page, from that of the page before.
    texts: Vec<u32>,
    /// Packed bytes of the longest block of text.
    longest_text: u32,
}

/// A page of a [`KeyDirectory`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPage {
    /// Byte range of the page within its section.
    pub range: Range<u64>,
    /// The document ids whose records it holds.
    pub documents: Range<u32>,
}

impl KeyDirectory {
    /// Adds a page, none of whose texts begins before text block `block`.
    pub(crate) fn push(&mut self, last_before: Option<&str>, first: &str, length: u32, documents: u32, block: u32) {
        if let Some(last) = last_before {
            self.separators.push(shortest_separator(last, first).to_owned());
        }
        self.lengths.push(length);
        self.documents.push(documents);
        self.texts.push(block);
    }

    /// Says where in the packed text the blocks are whose numbers the pages were added with.
    pub(crate) fn place(&mut self, blocks: impl Iterator<Item = u32>) {
        let mut offsets = vec![0u32];
        for length in blocks {
            offsets.push(offsets.last().map_or(0, |last| last.saturating_add(length)));
            self.longest_text = self.longest_text.max(length);
        }
        let mut before = 0;
        for text in &mut self.texts {
            let offset = offsets.get(*text as usize).copied().unwrap_or(before);
            *text = offset.saturating_sub(before);
            before = offset;
        }
    }

    /// A range of the packed text that has the text of `path`, if the page that holds its record does: not much longer than all texts
    /// of that page.
    pub fn text_of(&self, path: &str) -> Range<u64> {
        let index = self.separators.partition_point(|separator| separator.as_str() <= path);
        let offset = |pages: usize| self.texts.iter().take(pages).map(|length| u64::from(*length)).sum::<u64>();
        let end =
            if index + 1 < self.texts.len() { offset(index + 2) + u64::from(self.longest_text) } else { u64::MAX };
        offset(index + 1)..end
    }

    /// The page that holds `path` if any does.
    pub fn page_of(&self, path: &str) -> Option<KeyPage> {
        self.page(self.separators.partition_point(|separator| separator.as_str() <= path))
    }

    /// The page that holds the record of `document`.
    pub fn page_of_document(&self, document: u32) -> Option<KeyPage> {
        let mut seen = 0u32;
        let index = self.documents.iter().position(|count| {
            seen = seen.saturating_add(*count);
            document < seen
        })?;
        self.page(index)
    }

    /// All pages in order.
    pub fn pages(&self) -> impl Iterator<Item = KeyPage> + '_ {
        (0..self.lengths.len()).filter_map(|index| self.page(index))
    }

    fn page(&self, index: usize) -> Option<KeyPage> {
        let length = u64::from(*self.lengths.get(index)?);
        let documents = *self.documents.get(index)?;
        let offset: u64 = self.lengths.iter().take(index).map(|length| u64::from(*length)).sum();
        let first = self.documents.iter().take(index).fold(0u32, |sum, count| sum.saturating_add(*count));
        Some(KeyPage {
            range: offset..offset.saturating_add(length),
            documents: first..first.saturating_add(documents),
        })
    }
}

/// The shortest prefix of `next` that is greater than `last`.
fn shortest_separator<'a>(last: &str, next: &'a str) -> &'a str {
    let common = last.bytes().zip(next.bytes()).take_while(|(a, b)| a == b).count();
    let end = (common + 1..=next.len()).find(|end| next.is_char_boundary(*end)).unwrap_or(next.len());
    next.get(..end).unwrap_or(next)
}

/// Pages of postings by gram.
///
/// In JSON it is one base64 string: for each page the length of its first gram, that gram and a
/// varint of the page's length, since a hundred thousand notes need some thousand pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GramDirectory {
    first: Vec<Gram>,
    /// Start of each page, and the end of the last.
    offsets: Vec<u64>,
}

impl GramDirectory {
    pub(crate) fn push(&mut self, first: Gram, length: u32) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        let start = self.offsets.last().copied().unwrap_or(0);
        self.first.push(first);
        self.offsets.push(start.saturating_add(u64::from(length)));
    }

    /// Indexes of the pages that can hold grams in `grams` (both ends included), or the greatest that is not above the first of them.
    pub fn pages_of(&self, grams: &RangeInclusive<Gram>) -> Range<usize> {
        let start = self.first.partition_point(|first| first <= grams.start()).saturating_sub(1);
        let end = self.first.partition_point(|first| first <= grams.end());
        start.min(end)..end
    }

    /// Byte range of page `index` within the section.
    pub fn range(&self, index: usize) -> Option<Range<u64>> {
        Some(*self.offsets.get(index)?..*self.offsets.get(index + 1)?)
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
}

impl Serialize for GramDirectory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(self.first.len() * 8);
        for (index, first) in self.first.iter().enumerate() {
            bytes.push(first.as_bytes().len() as u8);
            bytes.extend_from_slice(first.as_bytes());
            let range = self.range(index).unwrap_or_default();
            varint::write(&mut bytes, range.end - range.start);
        }
        serializer.serialize_str(&BASE64.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for GramDirectory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = base64_of(deserializer)?;
        let mut rest = bytes.as_slice();
        let mut directory = Self::default();
        while let Some((length, tail)) = rest.split_first() {
            let cut = || D::Error::custom("the directory of grams is cut short");
            let (first, tail) = tail.split_at_checked(usize::from(*length)).ok_or_else(cut)?;
            rest = tail;
            let first = Some(Gram::of(first)).filter(|gram| gram.as_bytes() == first).ok_or_else(cut)?;
            let length = varint::read(&mut rest).and_then(|length| u32::try_from(length).ok()).ok_or_else(cut)?;
            if directory.len() >= MAX_PAGES || directory.first.last().is_some_and(|last| *last >= first) {
                return Err(D::Error::custom("the directory of grams is damaged: its pages are not in order"));
            }
            directory.push(first, length);
        }
        Ok(directory)
    }
}

fn base64_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    BASE64.decode(text.as_bytes()).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_separator_lies_between_its_neighbours(a in "\\PC{0,12}", b in "\\PC{0,12}") {
            prop_assume!(a < b);
            let separator = shortest_separator(&a, &b);
            prop_assert!(a.as_str() < separator && separator <= b.as_str());
        }

        #[test]
        fn a_gram_directory_survives_json(pages in prop::collection::btree_map(prop::collection::vec(any::<u8>(), 3..=6), any::<u32>(), 0..50)) {
            let mut pages: Vec<_> = pages.into_iter().map(|(gram, length)| (Gram::of(&gram), length)).collect();
            pages.sort_unstable();
            let mut directory = GramDirectory::default();
            for (first, length) in pages {
                directory.push(first, length);
            }
            let json = serde_json::to_string(&directory).unwrap();
            prop_assert_eq!(serde_json::from_str::<GramDirectory>(&json).unwrap(), directory);
        }
    }

    #[test]
    fn the_page_of_a_gram_is_the_last_that_begins_at_or_before_it() {
        let gram = |bytes: &[u8]| Gram::of(bytes);
        let mut directory = GramDirectory::default();
        for first in [&b"bbb"[..], b"mmm", b"mmmm", b"ttt"] {
            directory.push(gram(first), 10);
        }
        let pages_of = |from: &[u8], to: &[u8]| directory.pages_of(&(gram(from)..=gram(to)));
        assert_eq!(pages_of(b"aaa", b"aaa"), 0..0);
        assert_eq!(pages_of(b"bbb", b"bbb"), 0..1);
        assert_eq!(pages_of(b"mmma", b"mmma"), 1..2);
        assert_eq!(pages_of(b"nnn", b"nnn"), 2..3);
        assert_eq!(pages_of(b"aaa", b"zzz"), 0..4);
        assert_eq!(directory.range(1), Some(10..20));
    }
}
