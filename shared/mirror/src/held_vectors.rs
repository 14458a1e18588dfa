//! All vectors of a segment, in memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use atlas_segment::vectors::{StoredVector, VectorLayout, keys_of, of_document};
use atlas_segment::{Part, PartRef, VectorTable};
use bytes::Bytes;

use crate::error::MirrorError;
use crate::snapshot::Snapshot;
use crate::vectors::VectorEntry;

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
        match Self::load_sound(snapshot, segment).await {
            Err(error @ (MirrorError::Damaged { .. } | MirrorError::Gone { .. })) => {
                tracing::warn!(%error, "vectors are damaged or missing, and are left out");
                Ok(None)
            }
            loaded => loaded,
        }
    }

    /// The same; damaged and missing ones are errors.
    pub(crate) async fn load_sound(snapshot: &Snapshot, segment: usize) -> Result<Option<Self>, MirrorError> {
        let Some(of) = snapshot.segments().get(segment) else { return Ok(None) };
        let Some(VectorEntry { id, layout, .. }) = of.vectors else { return Ok(None) };
        let mut wants = vec![(segment, layout.table()), (segment, layout.codes()), (segment, layout.keys())];
        wants.extend(layout.pages().into_iter().map(|page| (segment, page)));
        let parts = snapshot.load(&wants).await?;
        let table = parts.first().and_then(|table| table.vector_table().ok());
        if table.is_none_or(|table| table.documents() != of.layout.documents || table.len() != layout.rows) {
            return Err(snapshot.damaged(id, "it does not have the vectors that the manifest says"));
        }
        Ok(Some(Self { layout, parts }))
    }

    /// All rows, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let pages = self.parts.iter().skip(3).filter_map(|page| page.vectors().ok());
        pages.flat_map(|page| self.layout.rows_of(page))
    }

    /// The table, and all codes.
    pub(crate) fn table_and_codes(&self) -> Option<(&VectorTable, &Bytes)> {
        let [table, codes, ..] = self.parts.as_slice() else { return None };
        Some((table.vector_table().ok()?, codes.vectors().ok()?))
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

/// The code and row of each of these keys that segment `segment` has, also of documents that are dead.
pub(crate) async fn with_keys(
    snapshot: &Snapshot,
    segment: usize,
    wanted: &HashSet<u64>,
) -> Result<HashMap<u64, (Vec<u8>, Vec<u8>)>, MirrorError> {
    let mut found = HashMap::new();
    let Some(entry) = snapshot.segments().get(segment).and_then(|entry| entry.vectors) else { return Ok(found) };
    let layout = entry.layout;
    let load = async |parts: Vec<PartRef>| {
        let wants: Vec<_> = parts.into_iter().map(|part| (segment, part)).collect();
        match snapshot.load(&wants).await {
            // They are asked for again.
            Err(MirrorError::Damaged { .. } | MirrorError::Gone { .. }) => Ok(Vec::new()),
            loaded => loaded,
        }
    };
    let keys = load(vec![layout.keys()]).await?;
    let Some(keys) = keys.first().and_then(|keys| keys.vectors().ok()) else { return Ok(found) };
    let rows: Vec<(u64, u32)> = keys_of(keys).zip(0..).filter(|(key, _)| wanted.contains(key)).collect();
    let mut pages: Vec<PartRef> = rows.iter().map(|(_, row)| layout.row(*row).0).collect();
    pages.dedup();
    let parts = load(std::iter::once(layout.codes()).chain(pages.iter().cloned()).collect()).await?;
    let Some((codes, parts)) = parts.split_first() else { return Ok(found) };
    for (key, row) in rows {
        let (page, range) = layout.row(row);
        let page = pages.iter().position(|one| *one == page).and_then(|at| parts.get(at));
        let row_bytes = page.and_then(|page| page.vectors().ok()?.get(range));
        let code = codes.vectors().ok().and_then(|codes| codes.get(layout.code_of(row)));
        if let (Some(code), Some(row)) = (code, row_bytes) {
            found.insert(key, (code.to_vec(), row.to_vec()));
        }
    }
    Ok(found)
}
