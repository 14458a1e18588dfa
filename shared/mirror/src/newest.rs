//! Finding the newest generation.
//!
//! A missing manifest *N+1* proves that *N* is the newest only while *N* itself exists, since collected generations are
//! missing too. *N* existed when it was last **seen**: when its own object was read, created or measured. Within
//! [`SEEN_FOR`](crate::head) it cannot have been collected, since collection waits for days after a generation was
//! superseded. So a handle in use requests *N+1* alone. From time to time, and after a start from the hint (a copy of
//! any age), it requests the size of *N* in the same wave. A commit always reads *N* too: it must not build on a state
//! that the store does not have, such as one from before the bucket was restored. Only where this process made *N* after
//! the commit began, nothing is requested. A read may show such a state until its next check.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures::future::try_join;
use tokio::time::Instant;

use crate::error::MirrorError;
use crate::head::Head;
use crate::id::Hash;
use crate::mirror::Mirror;
use crate::snapshot::{MAX_MANIFEST, Snapshot};

/// How sure a probe must be that the head itself exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Seen recently, or of the right size now.
    Likely,
    /// Read now, and equal.
    Certain,
}

/// What must be known of a head.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Newest {
    /// To read: it was the newest at most so long ago.
    Within(Duration),
    /// To commit: it was there, and the newest, after then.
    Since(Instant),
}

impl Newest {
    pub(crate) fn is_met(self, head: &Head) -> bool {
        match self {
            Self::Within(age) => head.is_fresh(age),
            Self::Since(begun) => [head.seen, head.checked].into_iter().all(|at| at.is_some_and(|at| at > begun)),
        }
    }

    pub(crate) const fn presence(self) -> Presence {
        match self {
            Self::Within(_) => Presence::Likely,
            Self::Since(_) => Presence::Certain,
        }
    }
}

/// The result of a probe.
#[derive(Debug)]
pub(crate) enum Probed {
    /// The head is the newest.
    Newest(Head),
    /// The next generation exists, and perhaps later ones.
    Newer(Head),
    /// The head is not in the store: it was collected, or the store was changed.
    Lost,
}

impl Mirror {
    /// The newest generation that this process has seen. No request is made.
    #[must_use]
    pub fn known_generation(&self) -> Option<u64> {
        self.known_head().map(|head| head.generation())
    }

    /// Whether that generation has an embedding model. No request is made.
    #[must_use]
    pub fn knows_model(&self) -> Option<bool> {
        self.known_head().map(|head| head.state.manifest.embeddings.is_some())
    }

    /// The head that the last request stored.
    pub(crate) fn known_head(&self) -> Option<Head> {
        self.shared.head.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores `head` for later requests, unless a newer one is stored. Where a purge ended history since the last one, everything in memory is
    /// dropped: it may be of what was erased.
    pub(crate) fn keep_head(&self, head: Head) {
        let mut known = self.shared.head.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| known.generation() <= head.generation()) {
            let history_from = |head: &Head| head.state.manifest.history_from;
            let has_ended = known.as_ref().is_some_and(|known| history_from(known) < history_from(&head));
            *known = Some(head);
            if has_ended {
                self.shared.cache.clear();
            }
        }
    }

    /// Drops the stored head if it is still `lost`.
    pub(crate) fn forget_head(&self, lost: Hash) {
        let mut known = self.shared.head.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_some_and(|known| known.state.hash == lost) {
            *known = None;
        }
    }

    pub(crate) fn snapshot(&self, head: &Head) -> Arc<Snapshot> {
        Arc::new(Snapshot::new(head.state.clone(), self.reader()))
    }

    /// Where to begin when no head is known: at the hint, or else at the end of a listing. [`None`] when there is no
    /// generation.
    pub(crate) async fn first_head(&self) -> Result<Option<Head>, MirrorError> {
        match self.hinted().await? {
            Some(head) => Ok(Some(head)),
            None => self.listed_head().await,
        }
    }

    /// The generation of the hint, if it is readable. If it is later than the newest, that generation was lost.
    pub(crate) async fn hinted(&self) -> Result<Option<Head>, MirrorError> {
        match self.known_hint().await {
            // It is only a hint: the manifests decide.
            Err(error @ MirrorError::Newer { .. }) => {
                tracing::warn!(%error, "the hint is not readable");
                Ok(None)
            }
            hinted => hinted,
        }
    }

    /// As [`hinted`](Self::hinted), for who may write over what is lost or delete it: a hint of a newer format is an error, since it may be all
    /// that is left of its generation.
    pub(crate) async fn known_hint(&self) -> Result<Option<Head>, MirrorError> {
        let key = self.shared.keys.latest();
        let hint = match self.store.get(&key, MAX_MANIFEST).await {
            Ok(Some(bytes)) => self.decode(&key, &bytes, None),
            Ok(None) => return Ok(None),
            Err(error) => Err(error),
        };
        match hint {
            Ok(state) => Ok(Some(Head { state: Arc::new(state), seen: None, checked: None })),
            Err(error @ MirrorError::Damaged { .. }) => {
                tracing::warn!(%error, "the hint is not readable");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The newest generation, from a full listing.
    pub(crate) async fn listed_head(&self) -> Result<Option<Head>, MirrorError> {
        let keys = &self.shared.keys;
        let newest = self.store.greatest_after(&keys.manifests(), None, |key| keys.generation(key)).await?;
        let Some(generation) = newest else { return Ok(None) };
        self.head_at(generation).await
    }

    /// The newest generation, from a listing of those after `head`; `head` itself if there are none.
    pub(crate) async fn listed_after(&self, head: Head) -> Result<Head, MirrorError> {
        let keys = &self.shared.keys;
        let after = keys.manifest(head.generation());
        let newest = self.store.greatest_after(&keys.manifests(), Some(&after), |key| keys.generation(key)).await?;
        match newest {
            Some(generation) if generation > head.generation() => Ok(self.head_at(generation).await?.unwrap_or(head)),
            _ => Ok(head),
        }
    }

    /// The manifest of `generation`, if there is one.
    pub(crate) async fn head_at(&self, generation: u64) -> Result<Option<Head>, MirrorError> {
        let key = self.shared.keys.manifest(generation);
        match self.store.get(&key, MAX_MANIFEST).await? {
            Some(bytes) => Ok(Some(Head::seen_now(self.decode(&key, &bytes, Some(generation))?))),
            None => Ok(None),
        }
    }

    /// Requests, in one wave, the generation after `head`, and `head` itself.
    pub(crate) async fn probe(&self, head: Head, presence: Presence) -> Result<Probed, MirrorError> {
        let begun = Instant::now();
        let next = self.head_at(head.generation().saturating_add(1));
        let (next, present) = try_join(next, self.is_present(&head, presence)).await?;
        Ok(match next {
            Some(next) => Probed::Newer(next),
            None if present => {
                let seen = if head.is_seen() && presence == Presence::Likely { head.seen } else { Some(begun) };
                Probed::Newest(Head { seen, ..head }.newest_at(begun))
            }
            None => Probed::Lost,
        })
    }

    async fn is_present(&self, head: &Head, presence: Presence) -> Result<bool, MirrorError> {
        let key = self.shared.keys.manifest(head.generation());
        match presence {
            Presence::Likely if head.is_seen() => Ok(true),
            Presence::Likely => Ok(self.store.size(&key).await? == Some(head.state.size)),
            Presence::Certain => {
                let bytes = self.store.get(&key, MAX_MANIFEST).await?;
                Ok(bytes.is_some_and(|bytes| Hash::of(&bytes) == head.state.hash))
            }
        }
    }
}
