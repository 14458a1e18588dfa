//! The commit of vectors.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::change::{Attempt, ChangeSet, Derived};
use crate::error::MirrorError;
use crate::id::{Hash, SegmentId};
use crate::snapshot::Snapshot;
use crate::vectors::{Embeddings, NewVectors};

/// Vectors to commit.
pub(super) struct Change {
    /// The model of the generation that was embedded.
    pub(super) began: Option<Hash>,
    /// The model of the vectors.
    pub(super) embeddings: Option<Embeddings>,
    pub(super) vectors: BTreeMap<SegmentId, NewVectors>,
    /// Whether another model takes over even if some of the segments were merged meanwhile.
    pub(super) is_last: bool,
}

/// Their results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// All are committed.
    Whole,
    /// Segments were merged meanwhile: their vectors are not.
    Merged,
    /// Somebody chose another model meanwhile, which stays. Nothing is committed.
    Superseded,
}

impl ChangeSet for Change {
    type Error = MirrorError;
    type Outcome = Fate;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Fate>, MirrorError> {
        let Some(head) = head else { return Ok(Attempt::nothing(Fate::Superseded)) };
        let now = head.manifest().embeddings.as_ref().map(|now| now.id);
        let own = self.embeddings.as_ref().map(|embeddings| embeddings.id);
        let is_other = now != own;
        if is_other && now != self.began {
            return Ok(Attempt::nothing(Fate::Superseded));
        }
        let is_live = |id: &SegmentId| head.segments().iter().any(|entry| entry.id == *id);
        let vectors: Vec<_> =
            self.vectors.iter().filter(|(id, _)| is_live(id)).map(|(id, new)| (*id, new.clone())).collect();
        let fate = if vectors.len() == self.vectors.len() { Fate::Whole } else { Fate::Merged };
        // With another model what was merged would have no vectors at all.
        let waits = is_other && fate == Fate::Merged && !self.is_last;
        if waits || (vectors.is_empty() && !is_other) {
            return Ok(Attempt::nothing(fate));
        }
        let derived = Derived {
            vectors,
            embeddings: is_other.then(|| self.embeddings.clone()),
            totals: head.manifest().totals,
            ..Derived::default()
        };
        Ok(Attempt::changes(derived, fate))
    }
}
