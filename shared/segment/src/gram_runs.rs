//! Postings of some chunks after those of others, packed: lists that still grow take several times the memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use crate::gram::Gram;
use crate::varint;

/// A block ends when it reaches this many bytes. Blocks are given back one by one while they are read.
const BLOCK: usize = 64 << 10;

/// The lists of consecutive chunks, by gram.
///
/// Of each gram: how many bytes it shares with the one before and how many more it has, in a byte; these; and the gaps between its chunks,
/// after the number of their bytes.
pub(crate) struct Run {
    blocks: VecDeque<Vec<u8>>,
    last: Gram,
}

impl Run {
    pub(crate) fn new() -> Self {
        Self { blocks: VecDeque::new(), last: Gram::of(&[]) }
    }

    /// The bytes of all blocks.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// Appends the list of the next gram.
    pub(crate) fn push(&mut self, gram: Gram, gaps: &[u8]) {
        if self.blocks.back().is_none_or(|block| block.len() >= BLOCK) {
            // The first one grows, since most segments are small.
            let room = if self.blocks.is_empty() { 0 } else { BLOCK + BLOCK / 8 };
            self.blocks.push_back(Vec::with_capacity(room));
            self.last = Gram::of(&[]);
        }
        let Some(block) = self.blocks.back_mut() else { return };
        let last = std::mem::replace(&mut self.last, gram);
        let shared = gram.as_bytes().iter().zip(last.as_bytes()).take_while(|(a, b)| a == b).count();
        let more = gram.as_bytes().get(shared..).unwrap_or_default();
        block.push((shared << 4 | more.len()) as u8);
        block.extend_from_slice(more);
        varint::write(block, gaps.len() as u64);
        block.extend_from_slice(gaps);
    }
}

/// Calls `each` with every gram of `runs` and its chunks, in order. Runs are in the order of their chunks.
pub(crate) fn merge(runs: Vec<Run>, mut each: impl FnMut(Gram, &[u32])) {
    let mut runs: Vec<Reader> = runs.into_iter().map(Reader::of).collect();
    let firsts = runs.iter_mut().enumerate().filter_map(|(index, run)| Some(Reverse((run.next()?, index))));
    let mut heads: BinaryHeap<Reverse<(Gram, usize)>> = firsts.collect();
    let mut ids = Vec::new();
    while let Some(Reverse((gram, index))) = heads.pop() {
        if let Some(run) = runs.get_mut(index) {
            add_ids(run.gaps(), &mut ids);
            heads.extend(run.next().map(|next| Reverse((next, index))));
        }
        if heads.peek().is_none_or(|Reverse((next, _))| *next != gram) {
            each(gram, &ids);
            ids.clear();
        }
    }
}

/// Appends the chunks with these gaps, ascending, to `ids`. The first may be the last of the run before, of which it has another document.
fn add_ids(mut gaps: &[u8], ids: &mut Vec<u32>) {
    let mut next = 0;
    while let Some(gap) = varint::read(&mut gaps) {
        let id = next + gap as u32;
        if ids.last() != Some(&id) {
            ids.push(id);
        }
        next = id + 1;
    }
}

/// Reads a run, and gives back what was read.
struct Reader {
    blocks: VecDeque<Vec<u8>>,
    /// The place in the first block after the list that was read last, the gram of that list, and its gaps.
    at: usize,
    gram: Gram,
    gaps: Range<usize>,
}

impl Reader {
    fn of(run: Run) -> Self {
        Self { blocks: run.blocks, at: 0, gram: Gram::of(&[]), gaps: 0..0 }
    }

    /// The gram of the next list.
    fn next(&mut self) -> Option<Gram> {
        if self.blocks.front().is_some_and(|block| block.len() == self.at) {
            self.blocks.pop_front();
            (self.at, self.gram) = (0, Gram::of(&[]));
        }
        let block = self.blocks.front()?;
        let (lengths, mut rest) = block.get(self.at..)?.split_first()?;
        let mut gram = Gram::of(self.gram.as_bytes().get(..usize::from(lengths >> 4))?);
        let (more, after) = rest.split_at_checked(usize::from(lengths & 0xf))?;
        gram = more.iter().fold(gram, |gram, byte| gram.then(*byte));
        rest = after;
        let bytes = varint::read(&mut rest)? as usize;
        let start = block.len() - rest.len();
        self.gaps = start..start.checked_add(bytes)?;
        (self.at, self.gram) = (self.gaps.end, gram);
        Some(gram)
    }

    /// The gaps of the list that was read last.
    fn gaps(&self) -> &[u8] {
        self.blocks.front().and_then(|block| block.get(self.gaps.clone())).unwrap_or_default()
    }
}
