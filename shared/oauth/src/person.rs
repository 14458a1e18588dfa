//! How the person signs in: by a passphrase (argon2id), and a one-time code (RFC 6238) where one is set up.
//!
//! Tries are counted in the bucket, so that all instances count together: `attempts/<whose>/<time>-<nonce>`. After some within a quarter of an hour the next one has
//! to wait, each time longer, a minute at most. A browser in which the person signed in before is counted by itself, all
//! others by their address: so nobody's tries keep the person out.

use std::time::Duration;

use atlas_access::seal::{is_sealed, seal};
use atlas_mirror::Id;
use ring::hmac;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::error::{Code, OAuthError};
use crate::passphrase::is_theirs;
use crate::server::{Server, named};

/// Seconds that a one-time code is for, and its digits.
const STEP: i64 = 30;
const DIGITS: usize = 6;
/// The time over which tries are counted, and how many are free.
const WINDOW: Duration = Duration::from_secs(15 * 60);
const FREE: usize = 5;
/// Longest wait, in seconds.
const LONGEST_WAIT: i64 = 60;
const DEVICE: &str = "oauth browser";
/// Comparisons at once in this process, each of which takes a processor and 19 MiB; and the time that a try waits for one to end.
static COMPARISONS: Semaphore = Semaphore::const_new(2);
/// One more, for browsers in which the person signed in before, so that strangers do not keep it from them.
static OF_KNOWN: Semaphore = Semaphore::const_new(1);
const PATIENCE: Duration = Duration::from_secs(2);

/// The outcome of a try to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The person signed in.
    SignedIn,
    /// The passphrase or the code is wrong; it is not told which.
    Wrong,
    /// Too many tries: the next one is looked at in so many seconds.
    Wait(i64),
}

#[derive(Debug, Serialize, Deserialize)]
struct Attempt {}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CodeUse {
    by: Id,
}

/// The one-time code of the step `step`, which has 30 seconds, since 1970.
#[must_use]
pub fn code_at(secret: &[u8], step: i64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let bytes = tag.as_ref();
    let offset = usize::from(bytes.last().copied().unwrap_or_default() & 15);
    let four = bytes.get(offset..offset + 4).unwrap_or_default();
    let number = four.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) & 0x7fff_ffff;
    format!("{:0DIGITS$}", number % 1_000_000)
}

/// The step that `code` is of, if it is valid now: the one before and the one after are, since clocks differ.
fn step_of(secret: &[u8], code: &str, now: i64) -> Option<i64> {
    let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let step = now.div_euclid(STEP);
    (step - 1..=step + 1).rfind(|step| code_at(secret, *step) == code)
}

/// The address that sets up an app for one-time codes.
#[must_use]
pub fn code_app_address(secret: &[u8], person: &str, issuer: &str) -> String {
    let encoded =
        |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    let (issuer, person) = (encoded(issuer), encoded(person));
    format!("otpauth://totp/{issuer}:{person}?secret={}&issuer={issuer}", base32(secret))
}

/// Base32 (RFC 4648) without padding.
fn base32(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bit = |index: usize| bytes.get(index / 8).map_or(0, |byte| byte >> (7 - index % 8) & 1);
    let letters = (0..(bytes.len() * 8).div_ceil(5)).filter_map(|group| {
        let value = (0..5).fold(0_u8, |value, at| value << 1 | bit(group * 5 + at));
        LETTERS.get(usize::from(value)).map(|letter| char::from(*letter))
    });
    letters.collect()
}

impl Server<'_> {
    /// A try to sign in from `address`, a pseudonym, by a browser that shows `browser`. Three requests, and one for a one-time code.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn sign_in(
        &self,
        passphrase: &str,
        code: &str,
        address: &str,
        browser: Option<&str>,
    ) -> Result<Outcome, OAuthError> {
        self.mirror.check_writes_once().await?;
        // A browser in which the person signed in before is counted by itself.
        let known = browser.and_then(|browser| self.known_browser(browser));
        let attempt = match self.begin_attempt(known.unwrap_or(address)).await? {
            Ok(attempt) => attempt,
            Err(seconds) => return Ok(Outcome::Wait(seconds)),
        };
        let authority = &self.issuer.authority;
        let (hash, passphrase, check) = (authority.passphrase.clone(), passphrase.to_owned(), self.check);
        let places = if known.is_some() { &OF_KNOWN } else { &COMPARISONS };
        let Ok(Ok(place)) = timeout(PATIENCE, places.acquire()).await else {
            self.mirror.delete_state(&attempt).await?;
            return Ok(Outcome::Wait(PATIENCE.as_secs().cast_signed()));
        };
        // The place is free once the work is done, also where nobody waits for it any more.
        let compare = move || {
            let _place = place;
            is_theirs(hash.as_deref(), &passphrase, check)
        };
        let known = tokio::task::spawn_blocking(compare).await.map_err(|error| OAuthError {
            internal: Some(error.to_string()),
            ..OAuthError::new(Code::ServerError, "this service cannot check passphrases now")
        })?;
        let is_coded = match &authority.totp {
            None => true,
            Some(secret) => match step_of(secret, code, self.now.as_second()) {
                // A code that somebody looked at over a shoulder is good for nothing any more.
                Some(step) if known => self.use_code(step).await?,
                _ => false,
            },
        };
        Ok(if known && is_coded { Outcome::SignedIn } else { Outcome::Wrong })
    }

    /// Begins a try, which counts: its name, or else how long the next one has to wait, in seconds.
    pub(crate) async fn begin_attempt(&self, whose: &str) -> Result<Result<String, i64>, OAuthError> {
        let now = self.now.as_millisecond();
        let folder = named("attempts", whose);
        let name = format!("{now:015}-{}", (self.random)()?);
        let attempt = format!("{folder}/{name}");
        self.mirror.create_state_if_absent(&attempt, &Attempt {}).await?;
        let since = now - i64::try_from(WINDOW.as_millis()).unwrap_or(i64::MAX);
        let all = self.mirror.list_state(&folder, Some(&format!("{since:015}"))).await?;
        let others: Vec<i64> = all
            .iter()
            .filter(|other| other.name != name)
            .filter_map(|other| other.name.split_once('-')?.0.parse().ok())
            .collect();
        let Some(last) = others.iter().max().filter(|_| others.len() >= FREE) else { return Ok(Ok(attempt)) };
        let doublings = u32::try_from(others.len() - FREE).unwrap_or(u32::MAX).min(6);
        let wait = (1_i64 << doublings).min(LONGEST_WAIT);
        let waited = (now - last).max(0) / 1000;
        if waited >= wait {
            return Ok(Ok(attempt));
        }
        // One that is not looked at makes the next wait no longer.
        self.mirror.delete_state(&attempt).await?;
        Ok(Err(wait - waited))
    }

    /// Uses up the one-time code of `step`.
    async fn use_code(&self, step: i64) -> Result<bool, OAuthError> {
        let own = CodeUse { by: (self.random)()? };
        let first = self.mirror.get_or_create_state(&named("one-time", step), &own).await?;
        Ok(first.is_none_or(|first| first == own))
    }

    /// The mark by which a browser is known from now on, so that others' tries are not counted as its own.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn new_browser(&self) -> Result<String, OAuthError> {
        let id = (self.random)()?.to_string();
        let sealed = seal(&self.issuer.authority.secret, &[DEVICE], &id);
        Ok(format!("{id}.{sealed}"))
    }

    /// The browser that shows this, if the person signed in with it before.
    #[must_use]
    pub fn known_browser<'t>(&self, shown: &'t str) -> Option<&'t str> {
        let (id, sealed) = shown.split_once('.')?;
        let is_known = id.parse::<Id>().is_ok() && is_sealed(&self.issuer.authority.secret, &[DEVICE], id, sealed);
        is_known.then_some(id)
    }
}

#[cfg(test)]
mod tests;
