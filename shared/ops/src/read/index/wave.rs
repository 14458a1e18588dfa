//! Parts of segments that are fetched in one wave.

use std::sync::Arc;

use atlas_mirror::Snapshot;
use atlas_segment::{Part, PartRef};

use crate::error::{Error, Reason};

/// Parts to fetch together.
#[derive(Default)]
pub struct Wave(pub(super) Vec<(usize, PartRef)>);

/// The position of a part in a wave.
#[derive(Clone, Copy)]
pub struct Slot(pub(super) usize);

impl Wave {
    /// Adds a part of a segment.
    pub fn add(&mut self, segment: usize, part: PartRef) -> Slot {
        self.0.push((segment, part));
        Slot(self.0.len() - 1)
    }

    /// Fetches all parts at once.
    pub async fn fetch(self, snapshot: &Snapshot) -> Result<Fetched, Error> {
        Ok(Fetched(snapshot.load(&self.0).await?))
    }
}

/// The parts of a wave.
pub struct Fetched(pub(super) Vec<Arc<Part>>);

impl Fetched {
    /// The part of a slot.
    pub fn get(&self, slot: Slot) -> Result<Arc<Part>, Error> {
        self.0
            .get(slot.0)
            .cloned()
            .ok_or_else(|| Error::new(crate::Code::Internal, Reason::Internal, "a fetched part is missing"))
    }
}
