//! Vectors of what is written, where the vault's model is in the store. Else, and of much at once, the next sync makes them.

use std::collections::BTreeMap;

use atlas_mirror::{NewSegment, Snapshot};
use atlas_segment::Kind;
use atlas_vault::VaultPath;

use super::{Content, NewDocument};
use crate::operation::Context;

/// Most bytes of text that are embedded by a call.
const MAX_BYTES: usize = 256 << 10;

/// Gives the only one of `segments`, which has all `new` documents, its vectors. A model that fails stops no write.
pub(super) async fn add(
    context: &Context<'_>,
    head: &Snapshot,
    new: &BTreeMap<VaultPath, (NewDocument, u64)>,
    segments: &mut [NewSegment],
) {
    let embeddings = head.manifest().embeddings.as_ref().filter(|embeddings| embeddings.is_look_up());
    let (Some(embeddings), [segment]) = (embeddings, segments) else { return };
    let note = |(new, _): &'_ (NewDocument, u64)| new.kind == Kind::Note;
    let documents: Vec<Option<(&VaultPath, &[u8])>> = new
        .values()
        .map(|document| match &document.0.content {
            Content::Text(text) if note(document) => Some((&document.0.path, &**text)),
            _ => None,
        })
        .collect();
    let bytes: usize = documents.iter().flatten().map(|(_, text)| text.len()).sum();
    let blobs = new.values().filter(|document| note(document)).count() > documents.iter().flatten().count();
    if bytes > MAX_BYTES || blobs || documents.iter().all(Option::is_none) {
        return;
    }
    match context.vault.mirror.vectors_of(embeddings, &documents).await {
        Ok(vectors) => segment.vectors = vectors,
        Err(error) => tracing::warn!(%error, "what was written has no vectors until the next sync"),
    }
}
