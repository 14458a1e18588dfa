//! Many lists of bytes that grow side by side, in the blocks of one buffer: as a [`Vec`] each, they would take twice the
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

/// The buffer of all lists.
#[derive(Default)]
pub(crate) struct ByteLists {
    blocks: Vec<Block>,
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
            self.blocks.push(Block::default());
            let new = self.blocks.len() as u32;
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

    fn block(&mut self, number: u32) -> Option<&mut Block> {
        self.blocks.get_mut(number.checked_sub(1)? as usize)
    }

    /// Appends a number to a list.
    pub(crate) fn write(&mut self, list: &mut ByteList, value: u64) {
        varint::each_byte(value, |byte| self.push(list, byte));
    }

    /// Replaces `bytes` by those of a list.
    pub(crate) fn read(&self, list: &ByteList, bytes: &mut Vec<u8>) {
        bytes.clear();
        let mut number = list.first;
        while let Some(block) = number.checked_sub(1).and_then(|index| self.blocks.get(index as usize)) {
            bytes.extend_from_slice(&block.bytes);
            number = block.next;
        }
        bytes.truncate(list.length as usize);
    }

    /// Forgets all lists.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
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
