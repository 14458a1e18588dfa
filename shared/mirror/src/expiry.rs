//! Deletes objects below `state/` that have expired. Only their age decides.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde_json::Value;

use crate::claim::{self, ClaimSlot};
use crate::collect::Collected;
use crate::error::MirrorError;
use crate::mirror::Mirror;
use crate::once::StateObject;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Folders, and how old objects in them are deleted. They have no effect a day before, since clocks differ.
const FOLDERS: [(&str, Duration); 8] = [
    // Requests to an app and what came of them answer calls with keys, and so are kept as long as claims.
    ("app", CLAIMS_KEPT),
    ("approvals", DAY.saturating_mul(2)),
    ("captures", DAY.saturating_mul(31)),
    ("confirmations", DAY.saturating_mul(2)),
    ("oauth", DAY.saturating_mul(2)),
    // Sessions of the page, which end before, and the links that begin them.
    ("pages", DAY.saturating_mul(2)),
    ("throttle", DAY.saturating_mul(2)),
    ("writing", DAY.saturating_mul(2)),
];
/// Parts of these folders that are kept longer. Of the authorization server tries to sign in and codes work for minutes, refresh tokens for 60 days, and grants
/// for a year.
const LONGER: [(&str, Duration); 2] =
    [("oauth/grants/", DAY.saturating_mul(368)), ("oauth/refresh/", DAY.saturating_mul(62))];

/// How long claims are kept.
const CLAIMS_KEPT: Duration = claim::LONGEST.saturating_add(DAY);
/// The folder of sessions' traces, which are kept as long as generations; so many are looked at by one collection.
const SESSIONS: &str = "sessions";
const LOOKED_AT: usize = 1_000_000;
/// The folder of the records of builds, one folder for each run; the record of the run that was published last, whose records are kept; and
/// how long those of others are.
const BUILDS: &str = "builds";
const PUBLISHED: &str = "builds/published";
const BUILDS_KEPT: Duration = DAY.saturating_mul(2);
/// Deleted at once.
const PARALLEL: usize = 16;

/// How long the object `name` is kept, if longer than others of its folder.
fn kept_for(name: &str) -> Option<Duration> {
    LONGER.iter().find(|(part, _)| name.starts_with(part)).map(|(_, kept)| *kept)
}

impl Mirror {
    /// Deletes what has expired at `now` by the store's clock: about so many objects of each kind at most. What sessions left is kept for `time`.
    pub(crate) async fn collect_state(
        &self,
        now: Timestamp,
        time: Duration,
        most: usize,
    ) -> Result<Collected, MirrorError> {
        let mut collected = Collected::default();
        for (folder, kept) in FOLDERS {
            let made = self.list_state(folder, None).await?;
            let named = made.into_iter().map(|made| (format!("{folder}/{}", made.name), made.written));
            let old = named.filter(|(name, written)| *written < now - kept_for(name).unwrap_or(kept));
            let names: Vec<String> = old.map(|(name, _)| name).take(most).collect();
            collected.objects += names.len() as u64;
            self.unmake_all(names).await?;
        }
        collected.objects += self.collect_builds(now - BUILDS_KEPT, most).await?;
        collected.objects += self.collect_sessions(now - time.max(DAY.saturating_mul(2)), most).await?;
        let mut keys: BTreeMap<String, Vec<(u32, Timestamp)>> = BTreeMap::new();
        for StateObject { name, written } in self.list_state(claim::FOLDER, None).await? {
            if let Some((hash, number)) = claim::parsed(&name) {
                keys.entry(hash.to_owned()).or_default().push((number, written));
            }
        }
        keys.retain(|_, claims| claims.iter().all(|(_, written)| *written < now - CLAIMS_KEPT));
        let ends: Vec<_> =
            keys.into_iter().take(most).map(|(hash, claims)| self.forget_key(hash, claims, now)).collect();
        let ends: Vec<u64> = stream::iter(ends).buffer_unordered(PARALLEL).try_collect().await?;
        collected.objects += ends.iter().sum::<u64>();
        Ok(collected)
    }

    /// Deletes the records of builds that were made before that time, except those of the run that was published last, and of one that is
    /// being published.
    async fn collect_builds(&self, before: Timestamp, most: usize) -> Result<u64, MirrorError> {
        let made = self.list_state(BUILDS, None).await?;
        if made.is_empty() {
            return Ok(0);
        }
        let published: Option<Value> = self.get_state(PUBLISHED).await?;
        let run = |role: &str| published.as_ref().and_then(|published| published[role]["run"].as_str());
        let kept = [run("last"), run("publishing")];
        let is_kept = |made: &StateObject| match made.name.split_once('/') {
            Some((run, _)) => kept.contains(&Some(run)),
            None => true,
        };
        let old = made.iter().filter(|made| made.written < before && !is_kept(made)).take(most);
        let names: Vec<String> = old.map(|made| format!("{BUILDS}/{}", made.name)).collect();
        let deleted = names.len() as u64;
        self.unmake_all(names).await?;
        Ok(deleted)
    }

    /// Deletes what sessions left before that time.
    async fn collect_sessions(&self, before: Timestamp, most: usize) -> Result<u64, MirrorError> {
        let (made, _) = self.list_state_up_to(SESSIONS, LOOKED_AT).await?;
        let old = made.into_iter().filter(|made| made.written < before).take(most);
        let names: Vec<String> = old.map(|made| format!("{SESSIONS}/{}", made.name)).collect();
        let deleted = names.len() as u64;
        self.unmake_all(names).await?;
        Ok(deleted)
    }

    /// Deletes all `claims` of a key, unless one still counts or a newer one was made. A claim of the next number made meanwhile would not be found once the
    /// first is gone, so the next number is closed before the deletion and opened after it. A caller who finds the first claim gone begins with it again.
    async fn forget_key(
        &self,
        hash: String,
        claims: Vec<(u32, Timestamp)>,
        now: Timestamp,
    ) -> Result<u64, MirrorError> {
        let mut numbers: Vec<u32> = claims.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        // If the store's clock was slow when the claim was made, the claim seems older than it is.
        for number in &numbers {
            let link: Option<ClaimSlot> = match self.get_state(&claim::name(&hash, *number)).await {
                Err(MirrorError::Damaged { .. }) => None,
                link => link?,
            };
            if link.and_then(|link| link.expires()).is_some_and(|expires| now < expires) {
                return Ok(0);
            }
        }
        let Some(last) = numbers.last().copied() else { return Ok(0) };
        let next = last.saturating_add(1);
        if !self.create_state_if_absent(&claim::name(&hash, next), &ClaimSlot::Closed { closed: true }).await? {
            return Ok(0);
        }
        numbers.push(next);
        for number in &numbers {
            self.delete_state(&claim::name(&hash, *number)).await?;
        }
        Ok(claims.len() as u64)
    }

    async fn unmake_all(&self, names: Vec<String>) -> Result<(), MirrorError> {
        let unmade: Vec<_> = names.iter().map(|name| self.delete_state(name)).collect();
        stream::iter(unmade).buffer_unordered(PARALLEL).try_collect().await
    }
}
