//! The throttle: how often callers may call, and how many writes of a vault run at once.
//!
//! Each instance counts reads and administration for itself, since they burden only that instance. Changes of a vault
//! are counted across all instances, by objects that are created if absent. That is one request, unless others draw on
//! the same tokens.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use atlas_access::policy::Tier;
use atlas_access::throttle::{Buckets, Class};
use atlas_access::{Caller, ThrottleConfig};
use atlas_mirror::{Hash, Id, Mirror};
use jiff::Timestamp;
use serde_json::json;

use crate::error::{Code, Error, Reason};

/// Most buckets in memory.
const MAX_BUCKETS: usize = 4096;
/// Most tokens that a call tries to take before it is refused.
const TRIES: usize = 3;
/// Longest time of a write; an older ticket was left behind by a crash.
const LONGEST_WRITE: Duration = Duration::from_secs(30);
/// Greatest difference between the clocks of writers, which name tickets.
const MAX_SKEW: Duration = Duration::from_secs(30);

/// The throttle of a deployment.
#[derive(Debug)]
pub struct Throttle {
    config: ThrottleConfig,
    buckets: Mutex<Buckets<Bucket>>,
    dice: RandomState,
}

/// Caller, class and vault; the vault's own has no caller.
type Bucket = (String, Class, String);

/// A token to draw: a caller's, or the vault's where [`None`] is named.
struct Drawn<'a> {
    by: Option<String>,
    class: Class,
    vault: &'a str,
    tier: Tier,
}

/// A running write; it counts until it ends or is too old.
pub(crate) struct Ticket {
    mirror: Mirror,
    name: String,
}

impl Throttle {
    /// A throttle without drawn tokens.
    #[must_use]
    pub fn new(config: ThrottleConfig) -> Self {
        Self { config, buckets: Mutex::new(Buckets::new(MAX_BUCKETS)), dice: RandomState::new() }
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &ThrottleConfig {
        &self.config
    }

    /// Takes a token for a call of this class at `now`.
    pub(crate) async fn admit(
        &self,
        mirror: &Mirror,
        vault: &str,
        caller: &Caller,
        class: Class,
        now: Timestamp,
    ) -> Result<(), Error> {
        if !self.config.enabled {
            return Ok(());
        }
        let own = Drawn { by: Some(caller.pseudonym()), class, vault, tier: self.config.tiers.of(class) };
        self.draw(mirror, &own, now).await?;
        // The vault's tokens are not drawn by callers who have none of their own.
        match self.config.vault_tiers.of(class) {
            Some(tier) => self.draw(mirror, &Drawn { by: None, class, vault, tier }, now).await,
            None => Ok(()),
        }
    }

    async fn draw(&self, mirror: &Mirror, drawn: &Drawn<'_>, now: Timestamp) -> Result<(), Error> {
        let Drawn { class, tier, .. } = *drawn;
        let bucket = (drawn.by.clone().unwrap_or_default(), class, drawn.vault.to_owned());
        let refused = || drawn.refused(now);
        if !class.is_shared() {
            return self.take(&bucket, tier, now).map(drop).ok_or_else(refused);
        }
        mirror.check_writes_once().await?;
        let folder =
            format!("throttle/{}", Hash::of(json!([bucket.0, class.as_str(), bucket.2]).to_string().as_bytes()));
        for attempt in 1..=TRIES {
            let token = self.take(&bucket, tier, now).ok_or_else(refused)?;
            if mirror.create_state_if_absent(&format!("{folder}/{token:020}"), &json!({})).await? {
                return Ok(());
            }
            if attempt == 1 {
                let before = tier.window(now).start().saturating_sub(1);
                let made = mirror.list_state(&folder, Some(&format!("{before:020}"))).await?;
                let taken = made.iter().filter_map(|made| made.name.parse().ok());
                self.buckets.lock().unwrap_or_else(PoisonError::into_inner).bucket(&bucket, now).extend(taken);
            }
        }
        Err(refused())
    }

    /// Takes a token that is free as far as this instance knows.
    fn take(&self, bucket: &Bucket, tier: Tier, now: Timestamp) -> Option<u64> {
        let window = tier.window(now);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let random = bucket.1.is_shared().then(|| self.dice.hash_one((bucket, now)));
        buckets.bucket(bucket, now).take(&window, random)
    }

    /// Counts a write as running, unless there are too many. Each writer creates its ticket first and counts then, so
    /// of two concurrent ones at least one sees the other.
    pub(crate) async fn begin_write(&self, mirror: &Mirror, now: Timestamp) -> Result<Option<Ticket>, Error> {
        let Some(most) = self.config.max_concurrent_writes_per_vault.filter(|_| self.config.enabled) else {
            return Ok(None);
        };
        let mirror = mirror.clone();
        mirror.check_writes_once().await?;
        let millisecond = |time: Timestamp| u64::try_from(time.as_millisecond()).unwrap_or(0);
        let ticket = format!("{:020}-{}", millisecond(now), Id::random()?);
        let ticket = Ticket { mirror, name: ticket };
        ticket.mirror.create_state_if_absent(&format!("writing/{}", ticket.name), &json!({})).await?;
        let after = millisecond(now - (LONGEST_WRITE + MAX_SKEW));
        let made = ticket.mirror.list_state("writing", Some(&format!("{after:020}"))).await;
        let others = made.map(|made| {
            let own = made.iter().find(|made| made.name == ticket.name).map_or(Timestamp::MIN, |own| own.written);
            let is_young =
                |written: Timestamp| own.duration_since(written).unsigned_abs() < LONGEST_WRITE || written > own;
            made.iter().filter(|made| made.name != ticket.name && is_young(made.written)).count()
        });
        match others {
            Ok(others) if others < most as usize => Ok(Some(ticket)),
            others => {
                ticket.end().await;
                others?;
                let message = format!(
                    "{most} writes of the vault are under way, and no more are taken at once: try again in 1 s"
                );
                Err(throttled(1, message).with("max_concurrent_writes", most))
            }
        }
    }
}

impl Drawn<'_> {
    fn refused(&self, now: Timestamp) -> Error {
        let wait = self.tier.wait(now).as_millis().div_ceil(1000);
        let seconds = u64::try_from(wait).unwrap_or(u64::MAX);
        let (class, rate) = (self.class.as_str(), self.tier.per_minute);
        let whose = match self.by {
            Some(_) => format!("you may make {rate} {class} calls a minute"),
            None => format!("the vault takes {rate} {class} calls a minute, of all callers together"),
        };
        throttled(seconds, format!("{whose}: wait {seconds} s"))
            .with("scope_class", class)
            .with("current_burst", self.tier.burst)
            .with("current_rate", rate)
    }
}

fn throttled(seconds: u64, message: String) -> Error {
    Error::new(Code::TooManyRequests, Reason::Throttled, message).with("retry_after_seconds", seconds)
}

impl Ticket {
    /// Ends the write.
    pub(crate) async fn end(self) {
        if let Err(error) = self.mirror.delete_state(&format!("writing/{}", self.name)).await {
            tracing::warn!(%error, "a write that has ended counts for half a minute as under way");
        }
    }
}
