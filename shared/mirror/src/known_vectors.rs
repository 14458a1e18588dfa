//! Gives rescued notes the vectors that the mirror still has for their passages: they may have been paid for.

use std::collections::{BTreeMap, HashSet};

use atlas_embeddings::{Passage, passages};
use atlas_segment::Kind;
use atlas_segment::text::decoded;

use crate::embedding::{Known, of_passages};
use crate::error::MirrorError;
use crate::held_vectors::with_keys;
use crate::merge::{Content, LiveDocument};
use crate::snapshot::Snapshot;

/// Gives each note its vectors, if those of all its passages are in `head`, whatever note they were made for.
pub(crate) async fn give(head: &Snapshot, notes: &mut BTreeMap<String, LiveDocument>) -> Result<(), MirrorError> {
    if head.manifest().embeddings.is_none() {
        return Ok(());
    }
    let of_notes: Vec<Vec<Passage>> = notes.values().map(passages_of).map(Option::unwrap_or_default).collect();
    let wanted: HashSet<u64> = of_notes.iter().flatten().map(Passage::key).collect();
    let mut known = Known::new();
    for segment in 0..head.segments().len() {
        known.extend(with_keys(head, segment, &wanted).await?);
    }
    for (note, passages) in notes.values_mut().zip(of_notes) {
        note.vectors = of_passages(&passages, &known);
    }
    Ok(())
}

/// The passages of a note; [`None`] of what is none.
fn passages_of(document: &LiveDocument) -> Option<Vec<Passage>> {
    match &document.content {
        Content::Text(text) if document.kind == Kind::Note => Some(passages(&document.path, &decoded(text))),
        _ => None,
    }
}
