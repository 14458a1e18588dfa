//! A generation that was the newest, and for how long that counts.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::snapshot::{Snapshot, State};

/// How long a manifest counts as existing after it was seen: far less than generations are retained.
const SEEN_FOR: Duration = Duration::from_secs(600);

/// A generation that was the newest when it was found.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) state: Arc<State>,
    /// When its manifest's own object was last seen.
    pub(crate) seen: Option<Instant>,
    /// When it was last known to be the newest.
    pub(crate) checked: Option<Instant>,
}

impl Head {
    /// A head whose own object was read or written just now.
    pub(crate) fn seen_now(state: State) -> Self {
        Self { state: Arc::new(state), seen: Some(Instant::now()), checked: None }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.state.manifest.generation
    }

    /// This generation if it was lost: it was read before `head` was the newest, and is a later generation of the same
    /// mirror.
    pub(crate) fn lost_after(self, head: &Snapshot) -> Option<Self> {
        let is_of_same = self.state.manifest.lineage == head.manifest().lineage;
        (is_of_same && self.generation() > head.generation()).then_some(self)
    }

    /// This head, known to be the newest since `checked`.
    pub(crate) fn newest_at(self, checked: Instant) -> Self {
        Self { checked: Some(checked), ..self }
    }

    /// Whether it was the newest at most `age` ago.
    pub(crate) fn is_fresh(&self, age: Duration) -> bool {
        !age.is_zero() && self.checked.is_some_and(|checked| checked.elapsed() <= age)
    }

    /// Whether its object was seen recently.
    pub(crate) fn is_seen(&self) -> bool {
        self.seen.is_some_and(|seen| seen.elapsed() <= SEEN_FOR)
    }
}
