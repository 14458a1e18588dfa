//! All vectors of a segment, in memory.

use std::sync::Arc;

use atlas_segment::Part;
use atlas_segment::vectors::{StoredVector, VectorLayout, of_document};
use bytes::Bytes;

use crate::error::MirrorError;
use crate::snapshot::Snapshot;

/// The vectors of a segment.
#[derive(Debug)]
pub struct HeldVectors {
    layout: VectorLayout,
    /// The table, the codes, the keys, and the pages of rows.
    parts: Vec<Arc<Part>>,
}

impl HeldVectors {
    /// Loads the vectors of segment `segment`; [`None`] if it has none, or they are damaged: then they are made anew.
    ///
    /// # Errors
    /// As [`Snapshot::load`].
    pub async fn load(snapshot: &Snapshot, segment: usize) -> Result<Option<Self>, MirrorError> {
        let Some(entry) = snapshot.segments().get(segment).and_then(|entry| entry.vectors) else { return Ok(None) };
        let layout = entry.layout;
        let mut wants = vec![(segment, layout.table()), (segment, layout.codes()), (segment, layout.keys())];
        wants.extend(layout.pages().into_iter().map(|page| (segment, page)));
        match snapshot.load(&wants).await {
            Ok(parts) => Ok(Some(Self { layout, parts })),
            Err(error @ MirrorError::Damaged { .. }) => {
                tracing::warn!(%error, "vectors are damaged, and are left out");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The vectors of a document; [`None`] if it waits for them.
    #[must_use]
    pub fn of(&self, document: u32) -> Option<Vec<StoredVector>> {
        let [table, codes, keys, pages @ ..] = self.parts.as_slice() else { return None };
        let pages: Vec<&Bytes> = pages.iter().map(|page| page.vectors()).collect::<Result<_, _>>().ok()?;
        let parts = [codes.vectors().ok()?, keys.vectors().ok()?];
        of_document(&self.layout, table.vector_table().ok()?, parts, &pages, document)
    }
}
