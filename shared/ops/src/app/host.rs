//! The host of an app: takes requests in the bucket, asks the app, and leaves its answers.

use std::collections::BTreeSet;

use atlas_access::Secret;
use atlas_mirror::Mirror;
use jiff::Timestamp;

use crate::app::Failure;
use crate::app::client::Client;
use crate::app::letters::{LIFETIME, Letter, Letters, MAX_REQUESTS, Reply, SKEW};
use crate::error::Error;

/// Takes the requests of one vault.
#[derive(Debug)]
pub struct Host {
    began: Timestamp,
    /// The names that were looked at, as long as they are listed.
    seen: BTreeSet<String>,
}

/// The result of one look at the bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Requests that were executed and answered.
    pub answered: usize,
    /// Those that were not taken: forged, expired, taken before.
    pub left: usize,
}

impl Host {
    /// A host that takes what is left for it from now on. What was made before is not taken, so that a request whose claim somebody deletes
    /// is not executed again after a restart.
    #[must_use]
    pub const fn new(began: Timestamp) -> Self {
        Self { began, seen: BTreeSet::new() }
    }

    /// Takes and answers what waits, one after the other.
    ///
    /// # Errors
    /// When the store cannot be read or written; what was answered stays.
    pub async fn answer(
        &mut self,
        mirror: &Mirror,
        vault: &str,
        secret: &Secret,
        app: &Client,
        safe: &[String],
        clock: fn() -> Timestamp,
    ) -> Result<Looked, Error> {
        let letters = Letters { mirror, vault, secret };
        let listed: BTreeSet<String> =
            letters.recent(clock()).await?.into_iter().rev().take(2 * MAX_REQUESTS).collect();
        self.seen.retain(|name| listed.contains(name));
        let mut looked = Looked::default();
        for name in listed {
            if !self.seen.insert(name.clone()) {
                continue;
            }
            let Some(letter) = letters.letter(&name).await?.filter(|letter| self.is_good(letter, clock())) else {
                looked.left += 1;
                continue;
            };
            if !letters.take(&letter).await? {
                looked.left += 1;
                continue;
            }
            let Letter { operation, caller, caller_id, .. } = &letter;
            tracing::info!(operation, caller, caller_id, "the app is asked through the bucket");
            let outcome = if letter.request.needs_person(safe) && !letter.confirmed {
                let why = "nobody confirmed this command, and it is not among the safe ones of the host".to_owned();
                Err(Failure::NotAllowed { why })
            } else {
                app.call(&letter.request, clock()).await
            };
            letters.answer(&letter.once, &Reply { outcome, at: clock() }).await?;
            looked.answered += 1;
        }
        Ok(looked)
    }

    /// Whether a request may be taken at `now`.
    fn is_good(&self, letter: &Letter, now: Timestamp) -> bool {
        let is_short = letter.made.checked_add(LIFETIME).is_ok_and(|last| letter.expires <= last);
        let has_come = now.checked_add(SKEW).is_ok_and(|latest| letter.made <= latest);
        let is_good = is_short && has_come && now < letter.expires && self.began <= letter.made;
        if !is_good {
            tracing::warn!(made = %letter.made, expires = %letter.expires, "a request to the app came too late, and is not taken");
        }
        is_good
    }
}
