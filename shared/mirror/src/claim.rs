//! Claims of idempotency keys. A request with a key is claimed before it runs. A process that repeats the request finds
//! the claim, and knows from which generation on to look for the result.
//!
//! When a claim ends, the key is free, and its next claim has the next number. Readers go through a key's claims from
//! the first, so a claim counts only while all claims before it exist. `expiry` deletes them in that order.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::change::CommitKey;
use crate::error::MirrorError;
use crate::id::Hash;
use crate::mirror::Mirror;

/// The folder of claims.
pub(crate) const FOLDER: &str = "claims";
/// Most claims of one key that exist at once.
const MOST: u32 = 64;
/// Longest time of a claim.
pub const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// A claim, as stored: JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Claim {
    /// A hash of the arguments that the key was claimed for.
    arguments: Hash,
    /// The newest generation that the claimant knew. The result, if any, is in a later generation.
    since: u64,
    /// When it ends; [`None`] if only deletion ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
    /// When it was made; [`None`] in claims of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<Timestamp>,
}

/// The content of one claim number of a key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum ClaimSlot {
    #[allow(private_interfaces, reason = "others only close")]
    Claim(Claim),
    /// The claims before are being deleted, and none may follow.
    Closed { closed: bool },
}

impl ClaimSlot {
    /// When it ends, if it does.
    pub(crate) const fn expires(&self) -> Option<Timestamp> {
        match self {
            Self::Claim(claim) => claim.expires,
            Self::Closed { .. } => None,
        }
    }
}

/// A key that is claimed: by this call, or by an earlier one, perhaps for other arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The hash of the arguments that it was claimed for.
    pub arguments: Hash,
    /// The key of a commit that executes the claimed request.
    pub key: CommitKey,
    /// When it was claimed, if known.
    pub made: Option<Timestamp>,
    /// Whether this call certainly made the claim. If so, the request has not run yet.
    pub is_new: bool,
}

impl Mirror {
    /// Claims the key with this hash for `arguments`, from `now` on for `time` (at most [`LONGEST`]). Returns the claim
    /// that counts, which may be an earlier one.
    ///
    /// # Errors [`MirrorError::Damaged`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`]. The key may be
    /// claimed nevertheless; claiming it again is harmless.
    pub async fn claim(
        &self,
        hash: Hash,
        arguments: Hash,
        now: Timestamp,
        time: Duration,
    ) -> Result<Claimed, MirrorError> {
        let since = self.some_generation().await?;
        self.claim_since(since, hash, arguments, now, time).await
    }

    /// Claims the key with this hash for what has the hash `of`, as [`Mirror::claim`] does, where no commit answers the
    /// claim. Returns the hash of what it is claimed for.
    ///
    /// # Errors
    /// As [`Mirror::claim`].
    pub async fn claim_name(&self, hash: Hash, of: Hash, now: Timestamp, time: Duration) -> Result<Hash, MirrorError> {
        Ok(self.claim_since(0, hash, of, now, time).await?.arguments)
    }

    async fn claim_since(
        &self,
        since: u64,
        hash: Hash,
        arguments: Hash,
        now: Timestamp,
        time: Duration,
    ) -> Result<Claimed, MirrorError> {
        let expires = now.checked_add(time.min(LONGEST)).unwrap_or(Timestamp::MAX);
        let own = Claim { arguments, since, expires: Some(expires), made: Some(now) };
        for number in 0..MOST {
            let claimed = |claim: Claim, is_new| Claimed {
                arguments: claim.arguments,
                key: CommitKey { hash: numbered(hash, number), since: claim.since, is_executed: false },
                made: claim.made,
                is_new,
            };
            match self.get_or_create_state(&name(&hash.to_string(), number), &ClaimSlot::Claim(own)).await? {
                None => return Ok(claimed(own, true)),
                Some(ClaimSlot::Claim(found)) if found.expires.is_none_or(|expires| now < expires) => {
                    return Ok(claimed(found, false));
                }
                Some(ClaimSlot::Claim(_)) => {}
                Some(ClaimSlot::Closed { .. }) => {
                    return Err(MirrorError::unavailable("old claims of the key are being deleted"));
                }
            }
        }
        Err(MirrorError::unavailable(format!("the key was claimed {MOST} times within days")))
    }

    /// A recent generation: the newest if no other process writes, 0 if there is none. With an old one the caller would
    /// find results of expired claims.
    async fn some_generation(&self) -> Result<u64, MirrorError> {
        if !self.known_head().is_some_and(|head| head.is_seen())
            && let Some(head) = self.first_head().await?
        {
            self.keep_head(head);
        }
        Ok(self.known_head().map_or(0, |head| head.generation()))
    }
}

/// The name of claim `number` of a key.
pub(crate) fn name(hash: &str, number: u32) -> String {
    if number == 0 { format!("{FOLDER}/{hash}") } else { format!("{FOLDER}/{hash}.{number}") }
}

/// The key and number of the claim with this name below the folder.
pub(crate) fn parsed(name: &str) -> Option<(&str, u32)> {
    match name.split_once('.') {
        None => Some((name, 0)),
        Some((hash, number)) => Some((hash, number.parse().ok()?)),
    }
}

/// The commit key of claim `number`. Each claim of a key has its own, so that it does not find the result of an earlier
/// claim.
fn numbered(hash: Hash, number: u32) -> Hash {
    if number == 0 { hash } else { Hash::of(format!("{hash}.{number}").as_bytes()) }
}
