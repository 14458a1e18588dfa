//! Claims: a keyed request is claimed before it is executed, so that whoever repeats it, on any process, knows from which
//! generation on to look for what it came to.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::change::CommitKey;
use crate::error::MirrorError;
use crate::failure::Failure;
use crate::id::Hash;
use crate::mirror::Mirror;

/// Longest claim.
const MAX_BYTES: u64 = 1 << 10;

/// A claim, as the store keeps it: JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What the key was claimed for.
    pub arguments: Hash,
    /// The newest generation that the claimant knew of: every later one may carry the key's result.
    pub since: u64,
}

impl Claim {
    /// The key of a commit that executes the claimed request.
    pub const fn key(&self, hash: Hash) -> CommitKey {
        CommitKey { hash, since: self.since }
    }
}

impl Mirror {
    /// Claims the key with this hash for `arguments`; gives the claim that is there, which may be an earlier one for others.
    ///
    /// # Errors
    /// [`MirrorError::Damaged`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`]. The key may be claimed nevertheless; claiming
    /// it again does no harm.
    pub async fn claim(&self, hash: Hash, arguments: Hash) -> Result<Claim, MirrorError> {
        let name = format!("claims/{hash}");
        let refused = |reason: String| MirrorError::StoreRefused { action: "write", reason };
        let key = self.keys().state(&name).map_err(|error| refused(error.to_string()))?;
        let claim = Claim { arguments, since: self.some_generation().await? };
        let bytes = Bytes::from(serde_json::to_vec(&claim).map_err(|error| refused(error.to_string()))?);
        match self.store.retry(|| self.store.create(&key, &bytes)).await {
            Ok(()) => Ok(claim),
            // Perhaps by a try of this very call, of which there was no answer.
            Err(Failure::Exists) => {
                let found = self.store.get(&key, MAX_BYTES).await?;
                let found = found.ok_or_else(|| MirrorError::unavailable(format!("{key} is there and is not")))?;
                serde_json::from_slice(&found).map_err(|error| MirrorError::damaged(&key, error))
            }
            Err(failure) => Err(failure.into_error("write", &key)),
        }
    }

    /// A generation that there was, the newest if no other process writes; 0 if there is none.
    async fn some_generation(&self) -> Result<u64, MirrorError> {
        if self.known_head().is_none()
            && let Some(head) = self.first_head().await?
        {
            self.keep_head(head);
        }
        Ok(self.known_head().map_or(0, |head| head.generation()))
    }
}
