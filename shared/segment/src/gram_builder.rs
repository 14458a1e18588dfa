//! Postings under construction: one gap list a gram, which takes a tenth of the memory that pairs would.

use crate::directory::GramDirectory;
use crate::gram::{Gram, PageWriter, each_trigram};
use crate::postings;
use crate::varint;

/// A gram is split when it is in more than one chunk of so many, …
const COMMON: u32 = 20;
/// … or in more than so many chunks whatever the number of all; …
const MANY: u32 = 1000;
/// … but not when it is in so few.
const FEW: u32 = 24;

/// Collects which chunks hold which grams.
pub(crate) struct GramBuilder {
    /// By the first two bytes of a trigram, then by its third: one more than the index of its list.
    trigrams: Vec<Option<Box<Slots>>>,
    /// For each gram that is split, by the byte that follows: one more than the index of the longer gram's list.
    longer: Vec<Box<Slots>>,
    lists: Vec<List>,
    bytes: usize,
}

type Slots = [u32; 256];

#[derive(Default)]
struct List {
    gaps: Vec<u8>,
    count: u32,
    /// One more than the last chunk.
    next: u32,
    /// One more than the index of its longer grams, if it is split.
    split: u32,
}

impl List {
    /// Adds `chunk`; returns the bytes that this took.
    fn add(&mut self, chunk: u32) -> usize {
        let before = self.gaps.len();
        if self.next <= chunk {
            varint::write(&mut self.gaps, u64::from(chunk - self.next));
            self.count += 1;
            self.next = chunk + 1;
        }
        self.gaps.len() - before
    }
}

/// The list that `slot` names, which is made if there is none.
fn list_at<'a>(lists: &'a mut Vec<List>, slot: &mut u32) -> Option<&'a mut List> {
    if *slot == 0 {
        lists.push(List::default());
        *slot = lists.len() as u32;
    }
    lists.get_mut(*slot as usize - 1)
}

fn index(slot: u32) -> Option<usize> {
    slot.checked_sub(1).map(|index| index as usize)
}

impl GramBuilder {
    pub(crate) fn new() -> Self {
        Self { trigrams: vec![None; 1 << 16], longer: Vec::new(), lists: Vec::new(), bytes: 0 }
    }

    /// Bytes of postings so far, about.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the trigrams of the folded text of `chunk`; chunks arrive in order.
    pub(crate) fn add(&mut self, chunk: u32, folded: &[u8]) {
        each_trigram(folded, |[a, b, c], _| {
            if let Some(slots) = self.trigrams.get_mut(usize::from(u16::from_be_bytes([a, b]))) {
                let slot = &mut slots.get_or_insert_with(|| Box::new([0; 256]))[usize::from(c)];
                if let Some(list) = list_at(&mut self.lists, slot) {
                    self.bytes += list.add(chunk);
                }
            }
        });
    }

    /// Splits the grams of `length` bytes that are common among `chunks`. The next longer ones are then to be added,
    /// with [`Self::lengthen`]. Returns whether there are any.
    pub(crate) fn split(&mut self, length: usize, chunks: u32) -> bool {
        let common = (chunks / COMMON).clamp(FEW, MANY);
        let mut split = Vec::new();
        self.each(|gram, list| {
            // What stands at the end of a line has nothing after it.
            let is_open = gram.len() == length && gram.last() != Some(&b'\n');
            if is_open && self.lists.get(list).is_some_and(|list| list.count > common) {
                split.push(list);
            }
        });
        for index in &split {
            if let Some(list) = self.lists.get_mut(*index) {
                self.longer.push(Box::new([0; 256]));
                list.split = self.longer.len() as u32;
                self.bytes -= std::mem::take(&mut list.gaps).len();
            }
        }
        !split.is_empty()
    }

    /// Adds the grams of `length` bytes of the folded text of `chunk`, as far as the next shorter ones are split.
    pub(crate) fn lengthen(&mut self, length: usize, chunk: u32, folded: &[u8]) {
        each_trigram(folded, |[a, b, c], after| {
            let pair = usize::from(u16::from_be_bytes([a, b]));
            let Some(Some(slots)) = self.trigrams.get(pair) else { return };
            let mut slot = slots[usize::from(c)];
            let (middle, last) = match (after.get(..length - 4), after.get(length - 4)) {
                (Some(middle), last) => (middle, last.copied().unwrap_or(b'\n')),
                _ => return,
            };
            for byte in middle {
                let Some(longer) = self.longer_of(slot) else { return };
                slot = longer[usize::from(*byte)];
            }
            let Some(longer) = index(slot).and_then(|list| index(self.lists.get(list)?.split)) else { return };
            if let Some(slots) = self.longer.get_mut(longer)
                && let Some(list) = list_at(&mut self.lists, &mut slots[usize::from(last)])
            {
                self.bytes += list.add(chunk);
            }
        });
    }

    fn longer_of(&self, slot: u32) -> Option<&Slots> {
        self.longer.get(index(self.lists.get(index(slot)?)?.split)?).map(Box::as_ref)
    }

    /// Calls `each` with every gram that is not split, in order, and the index of its list.
    fn each(&self, mut each: impl FnMut(&[u8], usize)) {
        for (prefix, slots) in (0..=u16::MAX).zip(&self.trigrams) {
            if let Some(slots) = slots {
                self.each_below(&prefix.to_be_bytes(), slots, &mut each);
            }
        }
    }

    fn each_below(&self, prefix: &[u8], slots: &Slots, each: &mut impl FnMut(&[u8], usize)) {
        for (byte, slot) in (0u8..=255).zip(slots) {
            let Some(list) = index(*slot) else { continue };
            let gram = [prefix, &[byte]].concat();
            match self.longer_of(*slot) {
                Some(longer) => self.each_below(&gram, longer, each),
                None => each(&gram, list),
            }
        }
    }

    /// The section: pages of postings, listed in `directory`.
    pub(crate) fn finish(self, chunks: u32, directory: &mut GramDirectory) -> Vec<u8> {
        let mut section = Vec::with_capacity(self.bytes);
        let mut writer = PageWriter::new();
        let mut add = |page: Option<(Gram, Vec<u8>)>| {
            if let Some((first, page)) = page {
                directory.push(first, page.len() as u32);
                section.extend_from_slice(&page);
            }
        };
        self.each(|gram, list| {
            if let Some(list) = self.lists.get(list) {
                let ids = Ids { gaps: &list.gaps, next: 0, left: list.count as usize };
                add(writer.push(Gram::of(gram), list.count, &postings::encode(ids, chunks)));
            }
        });
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
