//! The authorization server of a deployment, at one moment: its settings, its state in the bucket, the time, and randomness.

use std::time::Duration;

use atlas_access::Scope;
use atlas_mirror::id::NoRandomness;
use atlas_mirror::{Hash, Id, Mirror};
use atlas_web::App;
use atlas_web::issuer::{FOLDER, Issuer};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::passphrase::{Check, is_passphrase};

/// How long an access token is valid.
pub const ACCESS_TIME: Duration = Duration::from_secs(600);
/// Most bytes of an object of state.
pub(crate) const MAX_OBJECT: u64 = 16 << 10;

/// Where random ids come from.
pub type Random = fn() -> Result<Id, NoRandomness>;

/// The server.
#[derive(Clone, Copy)]
pub struct Server<'a> {
    /// Its settings and secrets.
    pub issuer: &'a Issuer,
    /// The default vault's mirror, which has its state.
    pub mirror: &'a Mirror,
    /// The time.
    pub now: Timestamp,
    /// Where random ids come from.
    pub random: Random,
    /// What compares a passphrase with a hash.
    pub check: Check,
}

/// The answer to a client that gets tokens.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// The access token.
    pub access: String,
    /// The refresh token.
    pub refresh: String,
    /// Seconds until the access token expires.
    pub expires_in: i64,
    /// The scopes of the access token, separated by spaces.
    pub scope: String,
}

impl Tokens {
    /// The answer as JSON (RFC 6749, section 5.1).
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "access_token": self.access,
            "expires_in": self.expires_in,
            "refresh_token": self.refresh,
            "scope": self.scope,
            "token_type": "Bearer",
        })
    }
}

impl<'a> Server<'a> {
    /// The server of `app`; [`None`] if it has none, or this process does not know its secrets.
    #[must_use]
    pub fn of(app: &'a App) -> Option<Self> {
        let issuer = app.gate.issuer()?;
        let mirror = &app.atlas.vault(None).ok()?.mirror;
        Some(Self { issuer, mirror, now: (app.clock)(), random: Id::random, check: is_passphrase })
    }

    /// A secret of 64 hexadecimal digits.
    pub(crate) fn secret(&self) -> Result<String, NoRandomness> {
        Ok(format!("{}{}", (self.random)()?, (self.random)()?))
    }

    /// `time` from now.
    pub(crate) fn after(&self, time: Duration) -> Timestamp {
        self.now.checked_add(time).unwrap_or(Timestamp::MAX)
    }
}

/// The scopes as tokens have them.
pub(crate) fn spaced(scopes: &[Scope]) -> String {
    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" ")
}

/// The hash that a secret of this kind is stored under.
pub(crate) fn hash(kind: &str, secret: &str) -> Hash {
    Hash::of(format!("atlas oauth {kind} {secret}").as_bytes())
}

/// The name of an object of state.
pub(crate) fn named(folder: &str, name: impl std::fmt::Display) -> String {
    format!("{FOLDER}/{folder}/{name}")
}

/// Whether `text` can be a secret of [`Server::secret`].
pub(crate) fn is_secret(text: &str) -> bool {
    text.parse::<Hash>().is_ok()
}
