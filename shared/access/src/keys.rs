//! What tokens are checked against. A shared secret checks HS256 and nothing else, and public keys never check HS256, so that a public
//! key cannot be used as a secret.

use std::collections::HashMap;
use std::fmt;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;

/// Fewest bytes of a shared secret: what HS256 asks for (RFC 7518, section 3.2).
const MIN_SECRET: usize = 32;
/// Most keys of a set, and most bytes of it.
const MAX_KEYS: usize = 64;
const MAX_SET: usize = 256 << 10;
/// Longest name of a key, in bytes.
const MAX_KID: usize = 256;

/// A shared secret; it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// The secret with these bytes.
    ///
    /// # Errors
    /// [`KeyError::ShortSecret`].
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, KeyError> {
        let bytes = bytes.into();
        if bytes.len() < MIN_SECRET { Err(KeyError::ShortSecret) } else { Ok(Self(bytes)) }
    }

    /// Its bytes.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Keys that cannot be used; says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The shared secret is too short to be one.
    #[error("the secret has fewer than {MIN_SECRET} bytes: make one with `openssl rand -hex 32`")]
    ShortSecret,
    /// There is nothing to check tokens against.
    #[error("there is neither a secret nor a set of keys to check tokens against")]
    NoKeys,
    /// The set cannot be read.
    #[error("the set of keys cannot be read ({0}): write a JWKS, {{\"keys\": […]}} (RFC 7517)")]
    Unreadable(String),
    /// A key of the set cannot be used.
    #[error("key {number} of the set cannot be used: {reason}")]
    Key {
        /// Its place in the set, from 1.
        number: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// Keys.
#[derive(Clone)]
pub struct Keys {
    pub(crate) secret: Option<DecodingKey>,
    pub(crate) public: HashMap<String, PublicKey>,
}

/// A key of a set.
#[derive(Clone)]
pub(crate) struct PublicKey {
    pub(crate) algorithm: Algorithm,
    pub(crate) key: DecodingKey,
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<serde_json::Value>,
}

impl Keys {
    /// The keys `secret` and those of the JWKS `set`.
    ///
    /// # Errors
    /// [`KeyError`]: one key that cannot be used refuses the set, since it may be the one that was meant to count.
    pub fn new(secret: Option<&Secret>, set: Option<&str>) -> Result<Self, KeyError> {
        let mut public = HashMap::new();
        if let Some(set) = set {
            if set.len() > MAX_SET {
                return Err(KeyError::Unreadable(format!("it is longer than {MAX_SET} bytes")));
            }
            let set: Set = serde_json::from_str(set).map_err(|error| KeyError::Unreadable(error.to_string()))?;
            if set.keys.is_empty() || set.keys.len() > MAX_KEYS {
                return Err(KeyError::Unreadable(format!("it has none, or more than {MAX_KEYS}")));
            }
            for (number, key) in (1..).zip(set.keys) {
                let (kid, key) = public_key(key).map_err(|reason| KeyError::Key { number, reason })?;
                if public.insert(kid, key).is_some() {
                    return Err(KeyError::Key { number, reason: "another has its `kid`" });
                }
            }
        }
        if secret.is_none() && public.is_empty() {
            return Err(KeyError::NoKeys);
        }
        Ok(Self { secret: secret.map(|secret| DecodingKey::from_secret(secret.expose())), public })
    }
}

fn public_key(key: serde_json::Value) -> Result<(String, PublicKey), &'static str> {
    let jwk: Jwk = serde_json::from_value(key).map_err(|_| "it is no key that this program knows")?;
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
        AlgorithmParameters::OctetKey(_) => return Err("it is a secret, and a set has public keys only"),
        _ => return Err("its curve is none of P-256 and Ed25519"),
    };
    if jwk.common.public_key_use.as_ref().is_some_and(|used| *used != PublicKeyUse::Signature) {
        return Err("its `use` is not `sig`");
    }
    let named = jwk.common.key_algorithm.as_ref().map(ToString::to_string);
    if named.is_some_and(|named| named.parse() != Ok(algorithm)) {
        return Err("its `alg` is none of RS256, ES256 and EdDSA, or another than its kind");
    }
    let kid = jwk.common.key_id.clone().filter(|kid| (1..=MAX_KID).contains(&kid.len()));
    let key = DecodingKey::from_jwk(&jwk).map_err(|_| "its numbers are not base64url")?;
    Ok((kid.ok_or("it has no `kid`")?, PublicKey { algorithm, key }))
}
