//! Blocks of text to fetch.

use std::collections::HashMap;

use atlas_segment::TextSpan;
use bytes::Bytes;

use super::{Fetched, Index, Slot, Wave};
use crate::error::{Error, Reason};

/// Blocks of text to fetch together. Neighbouring texts share them.
pub struct Blocks<'a> {
    index: &'a Index,
    wave: Wave,
    slots: HashMap<(usize, u64), Slot>,
}

impl<'a> Blocks<'a> {
    /// No blocks yet.
    pub fn new(index: &'a Index) -> Self {
        Self { index, wave: Wave::default(), slots: HashMap::new() }
    }

    /// Adds the blocks that contain `span` of the text of `segment`.
    pub fn want(&mut self, segment: usize, span: TextSpan) -> Result<(), Error> {
        for part in self.index.text_blocks(segment)?.parts(self.index.layout(segment)?, span)? {
            let wave = &mut self.wave;
            self.slots.entry((segment, part.range.start)).or_insert_with(|| wave.add(segment, part));
        }
        Ok(())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// Keeps only the first `count` of them.
    pub fn truncate(&mut self, count: usize) {
        self.wave.0.truncate(count);
        self.slots.retain(|_, slot| slot.0 < count);
    }

    /// Bytes that fetching them requests from the store; 0 when they are cached.
    pub fn cost(&self) -> Result<u64, Error> {
        Ok(self.index.view.snapshot().cost(&self.wave.0)?)
    }

    /// Fetches them in one wave.
    pub async fn fetch(self) -> Result<FetchedBlocks<'a>, Error> {
        let fetched = self.wave.fetch(self.index.view.snapshot()).await?;
        Ok(FetchedBlocks { index: self.index, slots: self.slots, fetched })
    }
}

/// Fetched blocks of text.
pub struct FetchedBlocks<'a> {
    index: &'a Index,
    slots: HashMap<(usize, u64), Slot>,
    fetched: Fetched,
}

impl FetchedBlocks<'_> {
    /// `span` of the text of `segment`, whose blocks were added before.
    pub fn text(&self, segment: usize, span: TextSpan) -> Result<Bytes, Error> {
        let missing = || Error::new(crate::Code::Internal, Reason::Internal, "a text was not fetched");
        let blocks = self.index.text_blocks(segment)?;
        let mut parts = Vec::new();
        for part in blocks.parts(self.index.layout(segment)?, span)? {
            let slot = self.slots.get(&(segment, part.range.start)).ok_or_else(missing)?;
            parts.push(self.fetched.get(*slot)?);
        }
        Ok(blocks.cut(span, parts.iter().map(AsRef::as_ref))?)
    }
}
