//! Many lists of bytes that grow side by side, in blocks that they share: as a [`Vec`] each, they would take twice the
//! memory, most of them having a few bytes.

use crate::varint;

/// Bytes in a block.
const BLOCK: usize = 12;

#[derive(Default)]
struct Block {
    /// One more than the index of the next block of the list; 0 for none.
    next: u32,
    bytes: [u8; BLOCK],
}

/// Blocks in a buffer.
const BUFFER: usize = 1 << 16;

/// The blocks of all lists. They are in several buffers, since one that grows would be copied, and have twice the room.
#[derive(Default)]
pub(crate) struct ByteLists {
    buffers: Vec<Vec<Block>>,
}

/// A list: one more than the indexes of its first and last block, or 0; and its length in bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct ByteList {
    first: u32,
    last: u32,
    length: u32,
}

impl ByteLists {
    /// Appends a byte to a list.
    pub(crate) fn push(&mut self, list: &mut ByteList, byte: u8) {
        let at = list.length as usize % BLOCK;
        if at == 0 {
            let new = self.add();
            match self.block(list.last) {
                Some(last) => last.next = new,
                None => list.first = new,
            }
            list.last = new;
        }
        if let Some(place) = self.block(list.last).and_then(|block| block.bytes.get_mut(at)) {
            *place = byte;
        }
        list.length += 1;
    }

    /// Adds a block; returns one more than its index.
    fn add(&mut self) -> u32 {
        if self.buffers.last().is_none_or(|buffer| buffer.len() == BUFFER) {
            // The first one grows, since most segments are small.
            let room = if self.buffers.is_empty() { 0 } else { BUFFER };
            self.buffers.push(Vec::with_capacity(room));
        }
        let before = self.buffers.len() - 1;
        let Some(buffer) = self.buffers.last_mut() else { return 0 };
        buffer.push(Block::default());
        (before * BUFFER + buffer.len()) as u32
    }

    fn block(&mut self, number: u32) -> Option<&mut Block> {
        let index = number.checked_sub(1)? as usize;
        self.buffers.get_mut(index / BUFFER)?.get_mut(index % BUFFER)
    }

    /// Appends a number to a list.
    pub(crate) fn write(&mut self, list: &mut ByteList, value: u64) {
        varint::each_byte(value, |byte| self.push(list, byte));
    }

    /// Replaces `bytes` by those of a list.
    pub(crate) fn read(&self, list: &ByteList, bytes: &mut Vec<u8>) {
        bytes.clear();
        let mut number = list.first;
        let block = |number: u32| {
            let index = number.checked_sub(1)? as usize;
            self.buffers.get(index / BUFFER)?.get(index % BUFFER)
        };
        while let Some(block) = block(number) {
            bytes.extend_from_slice(&block.bytes);
            number = block.next;
        }
        bytes.truncate(list.length as usize);
    }

    /// The bytes of all blocks.
    pub(crate) fn bytes(&self) -> usize {
        self.buffers.iter().map(Vec::len).sum::<usize>() * size_of::<Block>()
    }

    /// Forgets all lists.
    pub(crate) fn clear(&mut self) {
        self.buffers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_that_grow_side_by_side_keep_their_own(values in prop::collection::vec((0..5usize, any::<u64>()), 0..200)) {
            let mut lists = ByteLists::default();
            let mut all = [ByteList::default(); 5];
            let mut expected: [Vec<u8>; 5] = Default::default();
            for (at, value) in values {
                lists.write(&mut all[at], value);
                varint::write(&mut expected[at], value);
            }
            let mut bytes = vec![1];
            for (list, expected) in all.iter().zip(&expected) {
                lists.read(list, &mut bytes);
                prop_assert_eq!(&bytes, expected);
            }
        }
    }
}
