//! Paths by document, kept in blocks while they are asked for: an fst finds the path of one document slowly, and those of neighbours fast.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::lines::LineStrings;

/// Documents of a block.
pub(crate) const BLOCK: u32 = 128;
/// Most blocks that are kept. Each has one slot, which it shares with others of a large segment.
const SLOTS: usize = 64;
/// Most documents whose paths are kept.
pub(crate) const MAX_KEPT: usize = SLOTS * BLOCK as usize;
/// After this many lookups a block is decoded: that takes as long as so many lookups in the fst.
const MANY: u32 = 16;

/// The blocks.
pub(crate) struct RecentPaths(Vec<Mutex<Slot>>);

#[derive(Default)]
struct Slot {
    block: u32,
    /// How often it was asked for.
    asked: u32,
    paths: Option<LineStrings>,
}

impl RecentPaths {
    /// No blocks of so many documents yet.
    pub(crate) fn new(documents: u32) -> Self {
        let slots = (documents.div_ceil(BLOCK) as usize).min(SLOTS);
        Self((0..slots).map(|_| Mutex::default()).collect())
    }

    /// The path of a document, if its block was asked for often. `decode` returns the paths of a block, whose number it is given.
    pub(crate) fn path(&self, document: u32, decode: impl FnOnce(u32) -> Option<LineStrings>) -> Option<String> {
        let block = document / BLOCK;
        let mut slot = self.slot(block)?;
        if slot.block != block {
            *slot = Slot { block, ..Slot::default() };
        }
        if slot.paths.is_none() {
            slot.asked = slot.asked.saturating_add(1);
            if slot.asked <= MANY {
                return None;
            }
            slot.paths = decode(block);
        }
        let path = slot.paths.as_ref()?.get(document % BLOCK)?;
        String::from_utf8(path.to_vec()).ok()
    }

    fn slot(&self, block: u32) -> Option<MutexGuard<'_, Slot>> {
        let slot = self.0.get(block as usize % self.0.len().max(1))?;
        Some(slot.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
