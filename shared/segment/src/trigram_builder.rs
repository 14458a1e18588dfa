//! Postings under construction: one gap list a trigram, which takes a tenth of the memory that pairs would.

use crate::directory::TrigramDirectory;
use crate::postings;
use crate::trigram::{PageWriter, Trigram, each_trigram};
use crate::varint;

/// Collects which chunks hold which trigrams.
pub(crate) struct TrigramBuilder {
    /// By the first two bytes of a trigram, then by its third: one more than the index of its list.
    leaves: Vec<Option<Box<Leaf>>>,
    lists: Vec<List>,
    bytes: usize,
}

type Leaf = [u32; 256];

#[derive(Default)]
struct List {
    gaps: Vec<u8>,
    count: u32,
    /// One more than the last chunk.
    next: u32,
}

impl TrigramBuilder {
    pub(crate) fn new() -> Self {
        Self { leaves: vec![None; 1 << 16], lists: Vec::new(), bytes: 0 }
    }

    /// Bytes of postings so far, about.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the folded text of `chunk`; chunks arrive in order.
    pub(crate) fn add(&mut self, chunk: u32, folded: &[u8]) {
        each_trigram(folded, |[a, b, c]| {
            let Some(leaf) = self.leaves.get_mut(usize::from(u16::from_be_bytes([a, b]))) else {
                return;
            };
            let slot = &mut leaf.get_or_insert_with(|| Box::new([0; 256]))[usize::from(c)];
            if *slot == 0 {
                self.lists.push(List::default());
                *slot = self.lists.len() as u32;
            }
            if let Some(list) = self.lists.get_mut(*slot as usize - 1)
                && list.next <= chunk
            {
                let before = list.gaps.len();
                varint::write(&mut list.gaps, u64::from(chunk - list.next));
                list.count += 1;
                list.next = chunk + 1;
                self.bytes += list.gaps.len() - before;
            }
        });
    }

    /// The section: pages of postings, listed in `directory`.
    pub(crate) fn finish(self, chunks: u32, directory: &mut TrigramDirectory) -> Vec<u8> {
        let mut section = Vec::with_capacity(self.bytes);
        let mut writer = PageWriter::new();
        let mut add = |page: Option<(Trigram, Vec<u8>)>| {
            if let Some((first, page)) = page {
                directory.push(first, page.len() as u32);
                section.extend_from_slice(&page);
            }
        };
        for (prefix, leaf) in (0..=u16::MAX).zip(&self.leaves) {
            let [a, b] = prefix.to_be_bytes();
            for (c, slot) in (0u8..=255).zip(leaf.as_deref().into_iter().flatten()) {
                let Some(list) = (*slot as usize).checked_sub(1).and_then(|index| self.lists.get(index)) else {
                    continue;
                };
                let ids = Ids { gaps: &list.gaps, next: 0, left: list.count as usize };
                add(writer.push([a, b, c], list.count, &postings::encode(ids, chunks)));
            }
        }
        add(writer.take());
        section
    }
}

struct Ids<'a> {
    gaps: &'a [u8],
    next: u32,
    left: usize,
}

impl Iterator for Ids<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let gap = varint::read(&mut self.gaps).and_then(|gap| u32::try_from(gap).ok())?;
        let id = self.next.checked_add(gap)?;
        self.next = id + 1;
        self.left = self.left.saturating_sub(1);
        Some(id)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Ids<'_> {}
