//! Postings under construction: one list of gaps per gram, which takes a tenth of the memory that pairs would. When the lists are large, they
//! are packed, and begin anew.

use crate::byte_lists::{ByteList, ByteLists};
use crate::directory::GramDirectory;
use crate::gram::{Gram, MAX_BYTES, PageWriter, each_place};
use crate::gram_runs::{self, Run};
use crate::growing;

/// A gram is split when more than one in this many chunks contains it, …
const COMMON: u32 = 8;
/// … or more than this many chunks, whatever their total; …
const MANY: u32 = 1000;
/// … but not when at most this many chunks contain it.
const FEW: u32 = 24;

/// Collects, for each gram, the chunks that contain it.
pub(crate) struct GramBuilder {
    /// For each two bytes that grams begin with: one more than the index of their table; 0 if there is none.
    pairs: Vec<u32>,
    tables: Vec<Table>,
    lists: Vec<List>,
    gaps: ByteLists,
    /// For each list, one more than its last chunk. Kept separately, since most places need only this.
    nexts: Vec<u32>,
    /// The packed lists of earlier chunks.
    runs: Vec<Run>,
}

/// The grams that begin with the same bytes.
struct Table {
    /// The number of those bytes.
    bytes: usize,
    /// For each next byte: 0 if there is no gram yet, or one more than the index of the gram's list, or (with the highest bit set) the
    /// index of the next table.
    slots: [u32; 256],
}

const SPLIT: u32 = 1 << 31;

#[derive(Default)]
struct List {
    gaps: ByteList,
    count: u32,
}

impl Table {
    fn after(bytes: usize) -> Self {
        Self { bytes, slots: [0; 256] }
    }
}

impl GramBuilder {
    pub(crate) fn new() -> Self {
        let (tables, lists, nexts, runs) = Default::default();
        Self { pairs: vec![0; 1 << 16], tables, lists, gaps: ByteLists::default(), nexts, runs }
    }

    /// Adds `chunk`, whose folded text is `folded`, to the lists of its grams. Chunks must arrive in order; a list holds each chunk once.
    pub(crate) fn add(&mut self, chunk: u32, folded: &[u8]) {
        let Self { pairs, tables, lists, gaps, nexts, .. } = self;
        each_place(folded, |[a, b, c], after| {
            let Some(pair) = pairs.get_mut(usize::from(u16::from_be_bytes([a, b]))) else { return };
            if *pair == 0 {
                if tables.len() == tables.capacity() {
                    // Doubled, they would take half as much again as all the lists.
                    tables.reserve_exact(tables.len() / 16 + 16);
                }
                tables.push(Table::after(2));
                *pair = tables.len() as u32;
            }
            let mut at = *pair as usize - 1;
            let mut byte = c;
            // A line feed follows the last byte of a line.
            let mut after = after.iter().copied().chain(std::iter::once(b'\n'));
            loop {
                let Some(slot) = tables.get(at).map(|table| table.slots[usize::from(byte)]) else { return };
                if slot & SPLIT == 0 {
                    break;
                }
                at = (slot & !SPLIT) as usize;
                byte = after.next().unwrap_or(b'\n');
            }
            let Some(slot) = tables.get_mut(at).map(|table| &mut table.slots[usize::from(byte)]) else { return };
            if *slot == 0 {
                lists.push(List::default());
                nexts.push(0);
                *slot = lists.len() as u32;
            }
            let list = *slot as usize - 1;
            if let Some(next) = nexts.get_mut(list).filter(|next| **next <= chunk)
                && let Some(list) = lists.get_mut(list)
            {
                gaps.write(&mut list.gaps, u64::from(chunk - *next));
                list.count += 1;
                *next = chunk + 1;
            }
        });
    }

    /// Splits the common grams. The collected chunks are a sample: one of every `step` of all `chunks`. If it returns true, the caller
    /// must add the sample again, for the longer grams.
    pub(crate) fn split(&mut self, step: usize, chunks: u32) -> bool {
        let common = (chunks / COMMON).clamp(FEW, MANY) as usize / step;
        let before = self.tables.len();
        let mut made = Vec::new();
        for table in self.tables.iter_mut().filter(|table| table.bytes + 1 < MAX_BYTES) {
            for (byte, slot) in table.slots.iter_mut().enumerate() {
                let is_common = list_at(&self.lists, *slot).is_some_and(|list| list.count as usize > common);
                if is_common && byte != usize::from(b'\n') {
                    *slot = (before + made.len()) as u32 | SPLIT;
                    made.push(Table::after(table.bytes + 1));
                }
            }
        }
        self.tables.reserve_exact(made.len());
        self.tables.append(&mut made);
        self.tables.len() > before
    }

    /// Discards the sample, but keeps the splits.
    pub(crate) fn clear(&mut self) {
        for slot in self.tables.iter_mut().flat_map(|table| table.slots.iter_mut()).filter(|slot| **slot & SPLIT == 0) {
            *slot = 0;
        }
        self.lists.clear();
        self.gaps.clear();
        self.nexts.clear();
    }

    /// Packs the lists if they take more than about `most` bytes. Not to be called while a sample is collected.
    pub(crate) fn pack_over(&mut self, most: usize) {
        if self.bytes() > most {
            self.pack();
        }
    }

    /// The bytes of the lists that are not packed.
    fn bytes(&self) -> usize {
        self.gaps.bytes() + self.lists.len() * (size_of::<List>() + size_of::<u32>())
    }

    fn pack(&mut self) {
        let (mut run, mut gaps) = (Run::new(), Vec::new());
        self.each(|gram, list| {
            self.gaps.read(&list.gaps, &mut gaps);
            run.push(gram, &gaps);
        });
        self.runs.push(run);
        self.clear();
    }

    /// Calls `each` with every gram and its list, in order.
    fn each(&self, mut each: impl FnMut(Gram, &List)) {
        for (pair, table) in (0..=u16::MAX).zip(&self.pairs) {
            if let Some(table) = table.checked_sub(1) {
                self.each_below(Gram::of(&pair.to_be_bytes()), table, &mut each);
            }
        }
    }

    fn each_below(&self, prefix: Gram, table: u32, each: &mut impl FnMut(Gram, &List)) {
        let Some(table) = self.tables.get(table as usize) else { return };
        for (byte, slot) in (0u8..=255).zip(table.slots.iter()) {
            if slot & SPLIT != 0 {
                self.each_below(prefix.then(byte), slot & !SPLIT, each);
            } else if let Some(list) = list_at(&self.lists, *slot) {
                each(prefix.then(byte), list);
            }
        }
    }

    /// The packed lists of all chunks. Everything else is given back.
    fn into_runs(mut self) -> Vec<Run> {
        self.pack();
        self.runs
    }

    /// The encoded section: pages of postings. Adds each page to `directory`.
    pub(crate) fn finish(self, chunks: u32, directory: &mut GramDirectory) -> Vec<u8> {
        let mut section = Vec::new();
        let mut writer = PageWriter::new(chunks);
        let mut add = |page: Option<(Gram, Vec<u8>)>| {
            if let Some((first, page)) = page {
                directory.push(first, page.len() as u32);
                growing::append(&mut section, &page);
            }
        };
        gram_runs::merge(self.into_runs(), |gram, ids| add(writer.push(gram, ids)));
        add(writer.take());
        section
    }
}

/// The list that `slot` refers to, if any.
fn list_at(lists: &[List], slot: u32) -> Option<&List> {
    lists.get(slot.checked_sub(1)? as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The section of chunks with three of these documents each, packed whenever the lists take more than `most` bytes.
    fn section(texts: &[String], most: usize) -> (Vec<u8>, GramDirectory) {
        let mut grams = GramBuilder::new();
        for (document, text) in (0u32..).zip(texts) {
            grams.add(document / 3, text.as_bytes());
            grams.pack_over(most);
        }
        let mut directory = GramDirectory::default();
        (grams.finish(texts.len().div_ceil(3) as u32, &mut directory), directory)
    }

    #[test]
    fn packed_lists_take_a_third_of_the_memory() {
        let mut grams = GramBuilder::new();
        (0..2000u32).for_each(|chunk| grams.add(chunk, format!("{:x}", chunk.wrapping_mul(0x9e37_79b1)).as_bytes()));
        let lists = grams.bytes();
        let packed: usize = grams.into_runs().iter().map(Run::bytes).sum();
        assert!(packed > 0 && packed * 3 < lists, "{packed} of {lists}");
    }

    proptest! {
        #[test]
        fn lists_packed_in_between_give_the_same_section(texts in prop::collection::vec("[a-d\n]{0,60}", 0..40), most in 0..4000usize) {
            prop_assert_eq!(section(&texts, most), section(&texts, usize::MAX));
        }
    }
}
