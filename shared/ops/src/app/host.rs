//! The host of an app: takes requests in the bucket, asks the app, and leaves its answers.

use std::collections::BTreeMap;

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
    /// The names of requests that were looked at, and the ids of executions, each with its time, until no copy of them can be good.
    seen: BTreeMap<String, Timestamp>,
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
    /// A host that takes requests made from `began` on. It takes no older ones: else a request whose claim somebody deleted would run again
    /// after a restart.
    #[must_use]
    pub const fn new(began: Timestamp) -> Self {
        Self { began, seen: BTreeMap::new() }
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
        let mut listed: Vec<String> = letters.recent(clock()).await?.into_iter().rev().take(2 * MAX_REQUESTS).collect();
        listed.sort_unstable();
        let now = clock();
        // By age, not while they are listed: a request that is deleted and put back is a copy.
        self.seen.retain(|_, at| at.checked_add(LIFETIME + SKEW + SKEW).is_ok_and(|last| now <= last));
        let (mut looked, mut unread) = (Looked::default(), None);
        for name in listed {
            if self.seen.contains_key(&name) {
                continue;
            }
            let letter = match letters.letter(&name).await {
                Ok(letter) => letter,
                // The next look tries it again.
                Err(error) => {
                    unread = Some(error);
                    continue;
                }
            };
            self.seen.insert(name, now);
            let Some(letter) = letter.filter(|letter| self.is_good(letter, clock())) else {
                looked.left += 1;
                continue;
            };
            let is_new = self.seen.insert(format!("once {}", letter.once), now).is_none();
            if !is_new || !letters.take(&letter).await? {
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
        match unread {
            Some(error) if looked == Looked::default() => Err(error.into()),
            _ => Ok(looked),
        }
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
