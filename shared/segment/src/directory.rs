//! Page directories: the position of each page in its section, by the first key of the page. They are small, and stored in the manifest as
//! long as a vault has few, so that a reader finds a page without a separate request.

use std::ops::{Range, RangeInclusive};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::gram::{self, Gram};
use crate::varint;

/// Most pages in a directory; one with more is damaged.
const MAX_PAGES: usize = 1 << 16;

/// Pages of document records by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyDirectory {
    /// For each page after the first: the shortest string that is greater than every path of the previous page and not
    /// greater than the page's first path.
    separators: Vec<String>,
    pages: Vec<KeyPage>,
    /// For each page: the offset in the packed text of the block that holds the page's first text.
    texts: Vec<u64>,
    /// Length of the longest packed text block, in bytes.
    longest_text: u32,
}

/// A page of a [`KeyDirectory`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPage {
    /// Byte range of the page within its section.
    pub range: Range<u64>,
    /// The ids of the documents whose records the page contains.
    pub documents: Range<u32>,
}

impl KeyDirectory {
    /// Adds a page. None of its texts begins before text block `block`.
    pub(crate) fn push(&mut self, last_before: Option<&str>, first: &str, length: u32, documents: u32, block: u32) {
        if let Some(last) = last_before {
            self.separators.push(shortest_separator(last, first).to_owned());
        }
        self.texts.push(u64::from(block));
        self.add(length, documents);
    }

    /// Adds a page after the last. Returns false if the document ids overflow.
    fn add(&mut self, length: u32, documents: u32) -> bool {
        let (start, first) = self.pages.last().map_or((0, 0), |page| (page.range.end, page.documents.end));
        let end = first.checked_add(documents);
        let range = start..start.saturating_add(u64::from(length));
        self.pages.push(KeyPage { range, documents: first..end.unwrap_or(first) });
        end.is_some()
    }

    /// Replaces the block numbers given to `push` by the blocks' offsets in the packed text. `blocks` are the packed lengths.
    pub(crate) fn place(&mut self, blocks: impl Iterator<Item = u32>) {
        let mut offsets = vec![0u64];
        for length in blocks {
            offsets.push(offsets.last().map_or(0, |last| last + u64::from(length)));
            self.longest_text = self.longest_text.max(length);
        }
        let end = offsets.last().copied().unwrap_or(0);
        for text in &mut self.texts {
            *text = usize::try_from(*text).ok().and_then(|block| offsets.get(block).copied()).unwrap_or(end);
        }
    }

    /// A range of the packed text that includes the text of `path`, if that path is in the segment. It is not much longer than the texts
    /// of one page of records.
    pub fn text_of(&self, path: &str) -> Range<u64> {
        let index = self.index_of(path);
        let start = self.texts.get(index).copied().unwrap_or(0);
        let next = self.texts.get(index + 1);
        start..next.map_or(u64::MAX, |next| next.saturating_add(u64::from(self.longest_text)))
    }

    /// The page that holds the record of `path`, if there is one.
    pub fn page_of(&self, path: &str) -> Option<KeyPage> {
        self.pages.get(self.index_of(path)).cloned()
    }

    /// The pages that can hold paths with this `prefix`.
    pub fn pages_of_prefix(&self, prefix: &str) -> impl Iterator<Item = KeyPage> + '_ {
        let first = self.index_of(prefix);
        let rest = self.separators.get(first..).unwrap_or_default();
        let more = rest.iter().take_while(|separator| separator.as_str() < prefix || separator.starts_with(prefix));
        let count = 1 + more.count();
        self.pages.iter().skip(first).take(count).cloned()
    }

    /// The page that holds the record of `document`.
    pub fn page_of_document(&self, document: u32) -> Option<KeyPage> {
        let index = self.pages.partition_point(|page| page.documents.end <= document);
        self.pages.get(index).cloned()
    }

    /// In order, the page of `path` and those after it.
    pub fn pages_from(&self, path: &str) -> impl Iterator<Item = KeyPage> + '_ {
        self.pages.iter().skip(self.index_of(path)).cloned()
    }

    fn index_of(&self, path: &str) -> usize {
        self.separators.partition_point(|separator| separator.as_str() <= path)
    }

    /// Approximate memory use, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let separators = self.separators.iter().map(|separator| separator.len() + size_of::<String>());
        separators.sum::<usize>() + self.pages.len() * (size_of::<KeyPage>() + size_of::<u64>())
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.pages.len() * 32);
        varint::write(&mut bytes, u64::from(self.longest_text));
        let (mut before, mut text_before) = ("", 0);
        let separators = std::iter::once("").chain(self.separators.iter().map(String::as_str));
        for ((page, separator), text) in self.pages.iter().zip(separators).zip(&self.texts) {
            let shared = shared(before.as_bytes(), separator.as_bytes());
            let suffix = separator.as_bytes().get(shared..).unwrap_or_default();
            varint::write(&mut bytes, shared as u64);
            varint::write(&mut bytes, suffix.len() as u64);
            bytes.extend_from_slice(suffix);
            varint::write(&mut bytes, page.range.end - page.range.start);
            varint::write(&mut bytes, u64::from(page.documents.end - page.documents.start));
            varint::write(&mut bytes, text.saturating_sub(text_before));
            (before, text_before) = (separator, *text);
        }
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let rest = &mut bytes;
        let number = |rest: &mut &[u8]| u32::try_from(varint::read(rest)?).ok();
        let mut directory = Self { longest_text: number(rest)?, ..Self::default() };
        let mut text = 0u64;
        while !rest.is_empty() && directory.pages.len() < MAX_PAGES {
            let before = directory.separators.last().map_or("", String::as_str).as_bytes();
            let (shared, length) = (number(rest)? as usize, number(rest)? as usize);
            let (suffix, tail) = rest.split_at_checked(length)?;
            *rest = tail;
            let separator = String::from_utf8([before.get(..shared)?, suffix].concat()).ok()?;
            if !directory.pages.is_empty() {
                if separator.as_bytes() <= before {
                    return None;
                }
                directory.separators.push(separator);
            } else if !separator.is_empty() {
                return None;
            }
            let (length, documents) = (number(rest)?, number(rest)?);
            text = text.checked_add(u64::from(number(rest)?))?;
            directory.texts.push(text);
            if !directory.add(length, documents) {
                return None;
            }
        }
        rest.is_empty().then_some(directory)
    }
}

/// The number of bytes that two strings share at their beginnings.
fn shared(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// The shortest prefix of `next` that is greater than `last`.
fn shortest_separator<'a>(last: &str, next: &'a str) -> &'a str {
    let common = shared(last.as_bytes(), next.as_bytes());
    let end = (common + 1..=next.len()).find(|end| next.is_char_boundary(*end)).unwrap_or(next.len());
    next.get(..end).unwrap_or(next)
}

/// Pages of postings by gram.
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

    /// Indexes of the pages that can hold grams in `grams` (both ends included), or of the last page that begins before them.
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

impl GramDirectory {
    /// Approximate memory use, in bytes.
    pub(crate) fn weight(&self) -> usize {
        self.first.len() * (size_of::<Gram>() + size_of::<u64>())
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.first.len() * 8);
        let mut before = &[][..];
        for (index, first) in self.first.iter().enumerate() {
            let first = first.as_bytes();
            let shared = shared(before, first);
            let suffix = first.get(shared..).unwrap_or_default();
            bytes.push(gram::head(shared, suffix.len()));
            bytes.extend_from_slice(suffix);
            let range = self.range(index).unwrap_or_default();
            varint::write(&mut bytes, range.end - range.start);
            before = first;
        }
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut directory = Self::default();
        while !bytes.is_empty() && directory.len() < MAX_PAGES {
            let (_, first) = gram::read(&mut bytes, directory.first.last())?;
            if directory.first.last().is_some_and(|last| *last >= first) {
                return None;
            }
            directory.push(first, u32::try_from(varint::read(&mut bytes)?).ok()?);
        }
        bytes.is_empty().then_some(directory)
    }
}

/// Encodes a directory as a base64 string in JSON, to keep it short: a hundred thousand notes need some hundred pages
/// of records and some thousand pages of postings.
macro_rules! as_base64 {
    ($($type:ty: $name:literal),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&BASE64.encode(self.encode()))
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                let bytes = BASE64.decode(text.as_bytes()).map_err(D::Error::custom)?;
                Self::decode(&bytes).ok_or_else(|| D::Error::custom(concat!("the directory of ", $name, " is damaged")))
            }
        }
    )*};
}

as_base64!(KeyDirectory: "records", GramDirectory: "grams");

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

        #[test]
        fn a_key_directory_survives_json_and_finds_its_pages(
            firsts in prop::collection::btree_set("[ab/é]{1,9}", 1..30),
            blocks in prop::collection::vec(1..100_000u32, 1..9),
        ) {
            let firsts: Vec<String> = firsts.into_iter().collect();
            let mut directory = KeyDirectory::default();
            for (at, first) in (0u32..).zip(&firsts) {
                let before = at.checked_sub(1).map(|before| firsts[before as usize].as_str());
                directory.push(before, first, 100 + at, 1, (at / 4).min(blocks.len() as u32 - 1));
            }
            directory.place(blocks.iter().copied());
            let json = serde_json::to_string(&directory).unwrap();
            let read = serde_json::from_str::<KeyDirectory>(&json).unwrap();
            prop_assert_eq!(&read, &directory);
            for (at, first) in (0u32..).zip(&firsts) {
                prop_assert_eq!(read.page_of(first).unwrap().documents, at..at + 1);
                prop_assert_eq!(read.page_of_document(at), read.page_of(first));
                let block = (at as usize / 4).min(blocks.len() - 1);
                let start: u64 = blocks[..block].iter().map(|length| u64::from(*length)).sum();
                let text = read.text_of(first);
                prop_assert!(text.start == start && text.end >= start + u64::from(blocks[block]), "{:?}", text);
            }
        }

        #[test]
        fn foreign_bytes_are_no_directory_or_an_ordered_one(bytes in prop::collection::vec(prop_oneof![0..8u8, any::<u8>()], 0..60)) {
            if let Some(directory) = KeyDirectory::decode(&bytes) {
                prop_assert!(directory.separators.is_sorted());
                prop_assert_eq!(KeyDirectory::decode(&directory.encode()), Some(directory));
            }
            if let Some(directory) = GramDirectory::decode(&bytes) {
                prop_assert!(directory.first.is_sorted());
                prop_assert_eq!(GramDirectory::decode(&directory.encode()), Some(directory));
            }
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
