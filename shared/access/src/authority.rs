//! The secrets of a deployment's own authorization server: one JSON document, which `atlas auth init` makes and which is kept as other secrets are, outside
//! of the store.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::keys::{KeyError, Secret};
use crate::signing::{SigningError, SigningKeys};

/// Most bytes of the document.
const MAX_BYTES: usize = 16 << 10;
/// Longest name of the person, in bytes.
const MAX_NAME: usize = 100;
/// Fewest and most bytes of the secret of one-time codes.
const CODE_SECRET: std::ops::RangeInclusive<usize> = 16..=64;

/// Why a document is none of an authorization server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// It cannot be read. Its text is not shown, since it is secret.
    #[error("it is not what `atlas auth init` writes")]
    Unreadable,
    /// Its keys cannot sign.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// Its secret is too short.
    #[error(transparent)]
    Secret(#[from] KeyError),
    /// A field is not what it should be.
    #[error("`{0}` is not what `atlas auth init` writes")]
    Field(&'static str),
}

/// The document.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuthorityDocument {
    /// The person's name, which commits have.
    pub person: String,
    /// The hash of their passphrase, as a PHC string of argon2id; none if they sign in elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passphrase: Option<String>,
    /// The secret of their one-time codes (RFC 6238), in Base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totp: Option<String>,
    /// Seals registrations and user codes, in hexadecimal digits.
    pub secret: String,
    /// The keys that sign, the newest first.
    pub keys: Vec<KeyDocument>,
}

/// A key of the document.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyDocument {
    /// When it was made.
    pub made: Timestamp,
    /// The key in PKCS #8, in Base64.
    pub pkcs8: String,
}

impl fmt::Debug for AuthorityDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// The secrets, ready to be used. They are not shown.
pub struct Authority {
    /// The keys that sign.
    pub keys: SigningKeys,
    /// Seals what clients and browsers keep for the server.
    pub secret: Secret,
    /// The person's name.
    pub person: String,
    /// The hash of their passphrase, as a PHC string of argon2id; none if they sign in elsewhere.
    pub passphrase: Option<String>,
    /// The secret of their one-time codes.
    pub totp: Option<Vec<u8>>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl KeyDocument {
    /// A fresh key.
    ///
    /// # Errors
    /// [`SigningError::Failed`].
    pub fn make(now: Timestamp) -> Result<Self, SigningError> {
        Ok(Self { made: now, pkcs8: STANDARD.encode(SigningKeys::make()?) })
    }
}

impl AuthorityDocument {
    /// Reads the document.
    ///
    /// # Errors
    /// [`AuthorityError::Unreadable`].
    pub fn parse(text: &str) -> Result<Self, AuthorityError> {
        let text = Some(text).filter(|text| text.len() <= MAX_BYTES).ok_or(AuthorityError::Unreadable)?;
        serde_json::from_str(text).map_err(|_| AuthorityError::Unreadable)
    }

    /// Its text.
    ///
    /// # Errors
    /// [`AuthorityError::Unreadable`].
    pub fn write(&self) -> Result<String, AuthorityError> {
        serde_json::to_string_pretty(self).map_err(|_| AuthorityError::Unreadable)
    }
}

impl Authority {
    /// The secrets of the document `text`.
    ///
    /// # Errors
    /// [`AuthorityError`].
    pub fn parse(text: &str) -> Result<Self, AuthorityError> {
        Self::of(&AuthorityDocument::parse(text)?)
    }

    /// The secrets of `document`.
    ///
    /// # Errors
    /// [`AuthorityError`].
    pub fn of(document: &AuthorityDocument) -> Result<Self, AuthorityError> {
        let is_name = (1..=MAX_NAME).contains(&document.person.len()) && !document.person.chars().any(char::is_control);
        if !is_name {
            return Err(AuthorityError::Field("person"));
        }
        if document.passphrase.as_ref().is_some_and(|hash| !hash.starts_with("$argon2id$")) {
            return Err(AuthorityError::Field("passphrase"));
        }
        let totp = document.totp.as_ref().map(|text| STANDARD.decode(text)).transpose();
        let totp = totp.map_err(|_| AuthorityError::Field("totp"))?;
        if totp.as_ref().is_some_and(|secret| !CODE_SECRET.contains(&secret.len())) {
            return Err(AuthorityError::Field("totp"));
        }
        let keys: Result<Vec<Vec<u8>>, _> = document.keys.iter().map(|key| STANDARD.decode(&key.pkcs8)).collect();
        Ok(Self {
            keys: SigningKeys::new(&keys.map_err(|_| AuthorityError::Field("keys"))?)?,
            secret: Secret::new(document.secret.as_bytes())?,
            person: document.person.clone(),
            passphrase: document.passphrase.clone(),
            totp,
        })
    }

    /// The public keys as a JWKS: what other functions check tokens against.
    #[must_use]
    pub fn public(&self) -> Value {
        self.keys.public()
    }
}
