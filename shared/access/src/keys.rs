//! The keys that tokens are checked against. A shared secret checks only HS256, and public keys never check HS256, so that a public key cannot be
//! used as a secret. With several issuers each key belongs to one of them, so that no issuer signs in another's name.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;

use crate::signing::SigningKeys;

/// Fewest bytes of a shared secret, as HS256 requires (RFC 7518, section 3.2).
const MIN_SECRET: usize = 32;
/// Most keys of all sets, and most bytes of them.
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

/// Why keys are invalid, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The shared secret is too short.
    #[error("the secret has fewer than {MIN_SECRET} bytes: make one with `openssl rand -hex 32`")]
    ShortSecret,
    /// There are no keys.
    #[error("there is neither a secret nor a set of keys to check tokens against")]
    NoKeys,
    /// The set cannot be read.
    #[error(
        "the set of keys cannot be read ({0}): write a JWKS, {{\"keys\": […]}} (RFC 7517), or {{\"ISSUER\": JWKS, …}} with one for each issuer"
    )]
    Unreadable(String),
    /// There are keys of an unknown issuer.
    #[error("{0}")]
    Issuers(String),
    /// A key of the set cannot be used.
    #[error("key {number} of the set cannot be used: {reason}")]
    Key {
        /// Its position in the set, from 1.
        number: usize,
        /// The problem.
        reason: &'static str,
    },
}

/// Keys.
#[derive(Clone)]
pub struct Keys {
    /// The accepted issuers; if empty, any that signs with one of the keys.
    pub(crate) issuers: Vec<String>,
    pub(crate) secret: Option<Key>,
    /// By `kid`, which several issuers may use.
    pub(crate) public: HashMap<String, Vec<Key>>,
    /// The deployment's own issuer, in whose name no other key signs.
    pub(crate) own: Option<String>,
}

/// A key and its issuer.
#[derive(Clone)]
pub(crate) struct Key {
    /// Its issuer; [`None`] if there are not several.
    pub(crate) issuer: Option<String>,
    pub(crate) algorithm: Algorithm,
    pub(crate) key: DecodingKey,
    /// Whether it is of the deployment's own authorization server.
    pub(crate) is_own: bool,
}

/// Sets of keys: one, or one for each issuer.
#[derive(Deserialize)]
#[serde(untagged)]
enum Sets {
    One(Set),
    Each(BTreeMap<String, Set>),
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<serde_json::Value>,
}

impl Keys {
    /// The keys `secret` and those of `sets`, which is a JWKS or an object with one for each issuer. `issuers` are the
    /// accepted ones; if empty, those in `sets`, else any that signs with one of the keys.
    ///
    /// # Errors [`KeyError`]. One invalid key refuses the whole set, since it may be the one in use.
    pub fn new(secret: Option<&Secret>, sets: Option<&str>, issuers: &[String]) -> Result<Self, KeyError> {
        let (one, each) = match sets.map(read).transpose()? {
            None => (None, BTreeMap::new()),
            Some(Sets::One(set)) => (Some(set), BTreeMap::new()),
            Some(Sets::Each(sets)) => (None, sets),
        };
        if secret.is_none() && one.is_none() && each.is_empty() {
            return Err(KeyError::NoKeys);
        }
        let mut issuers = issuers.to_vec();
        if issuers.is_empty() && secret.is_none() {
            issuers.extend(each.keys().cloned());
        }
        issuers.sort_unstable();
        issuers.dedup();
        let of_secret = owners(&issuers, secret.is_some(), one.is_some(), &each)?;
        let mut public: HashMap<String, Vec<Key>> = HashMap::new();
        let sets = one.into_iter().map(|set| (None, set)).chain(each.into_iter().map(|(name, set)| (Some(name), set)));
        for (issuer, set) in sets {
            for (number, key) in (1..).zip(set.keys) {
                let (kid, algorithm, key) = public_key(key).map_err(|reason| KeyError::Key { number, reason })?;
                let named = public.entry(kid).or_default();
                if named.iter().any(|other| other.issuer == issuer) {
                    return Err(KeyError::Key { number, reason: "another has its `kid`" });
                }
                named.push(Key { issuer: issuer.clone(), algorithm, key, is_own: false });
            }
        }
        let secret = secret.map(|secret| Key {
            issuer: of_secret,
            algorithm: Algorithm::HS256,
            key: DecodingKey::from_secret(secret.expose()),
            is_own: false,
        });
        Ok(Self { issuers, secret, public, own: None })
    }

    /// No keys, to which those of the deployment's own authorization server are added.
    #[must_use]
    pub fn none() -> Self {
        Self { issuers: Vec::new(), secret: None, public: HashMap::new(), own: None }
    }

    /// The same keys, and those of the deployment's own authorization server, whose `iss` is `issuer`.
    #[must_use]
    pub fn with_own(mut self, issuer: &str, keys: &SigningKeys) -> Self {
        for (kid, key) in keys.verifying() {
            let key = Key { issuer: Some(issuer.to_owned()), algorithm: Algorithm::ES256, key, is_own: true };
            // Before others of the same name.
            self.public.entry(kid.to_owned()).or_default().insert(0, key);
        }
        self.own = Some(issuer.to_owned());
        self
    }

    /// The keys that may have signed a token with this header.
    pub(crate) fn of(&self, algorithm: Algorithm, kid: Option<&str>) -> impl Iterator<Item = &Key> {
        let named = kid.and_then(|kid| self.public.get(kid)).into_iter().flatten();
        let public = named.filter(move |key| key.algorithm == algorithm && algorithm != Algorithm::HS256);
        public.chain(self.secret.iter().filter(move |_| algorithm == Algorithm::HS256))
    }
}

fn read(sets: &str) -> Result<Sets, KeyError> {
    if sets.len() > MAX_SET {
        return Err(KeyError::Unreadable(format!("it is longer than {MAX_SET} bytes")));
    }
    let sets: serde_json::Value =
        serde_json::from_str(sets).map_err(|error| KeyError::Unreadable(error.to_string()))?;
    // The error of the reader may contain the value, which may be a private key by mistake.
    let sets = serde_json::from_value(sets).map_err(|_| KeyError::Unreadable("it is not one".to_owned()))?;
    let (all, least) = match &sets {
        Sets::One(set) => (set.keys.len(), set.keys.len()),
        Sets::Each(sets) => {
            let sizes = || sets.values().map(|set| set.keys.len());
            (sizes().sum(), sizes().min().unwrap_or_default())
        }
    };
    if least == 0 || all > MAX_KEYS {
        return Err(KeyError::Unreadable(format!("it has none, or more than {MAX_KEYS}")));
    }
    Ok(sets)
}

/// The issuer of the secret, where there are sets of several issuers. Fails where keys of two issuers cannot be told apart.
fn owners(
    issuers: &[String],
    has_secret: bool,
    has_one_set: bool,
    each: &BTreeMap<String, Set>,
) -> Result<Option<String>, KeyError> {
    let refused = |what: &str| Err(KeyError::Issuers(what.to_owned()));
    if let Some(name) = each.keys().find(|name| !issuers.contains(name) && (has_secret || !issuers.is_empty())) {
        return refused(&format!("there is a set of {name:?}, which is not among the issuers: name all issuers"));
    }
    let mut bare = issuers.iter().filter(|issuer| !each.contains_key(*issuer));
    match (has_secret, bare.next(), bare.next()) {
        (true, ..) if issuers.is_empty() && has_one_set => {
            refused("there are a secret and a set of keys: name the issuer that both are of")
        }
        _ if issuers.len() < 2 && each.is_empty() => Ok(None),
        (true, Some(one), None) if !has_one_set => Ok(Some(one.clone())),
        (false, None, _) => Ok(None),
        (true, ..) => refused(
            "name one issuer, or write the sets as {\"ISSUER\": JWKS, …}, with one for each issuer but the one that has the secret",
        ),
        (false, ..) => refused("name one issuer, or write the sets as {\"ISSUER\": JWKS, …}, with one for each issuer"),
    }
}

fn public_key(key: serde_json::Value) -> Result<(String, Algorithm, DecodingKey), &'static str> {
    let jwk: Jwk = serde_json::from_value(key).map_err(|_| "it is of an unsupported kind")?;
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
        AlgorithmParameters::OctetKey(_) => return Err("it is a secret, and a set has public keys only"),
        _ => return Err("its curve is neither P-256 nor Ed25519"),
    };
    if jwk.common.public_key_use.as_ref().is_some_and(|used| *used != PublicKeyUse::Signature) {
        return Err("its `use` is not `sig`");
    }
    let named = jwk.common.key_algorithm.as_ref().map(ToString::to_string);
    if named.is_some_and(|named| named.parse() != Ok(algorithm)) {
        return Err("its `alg` is not RS256, ES256 or EdDSA, or does not fit its kind");
    }
    let kid = jwk.common.key_id.clone().filter(|kid| (1..=MAX_KID).contains(&kid.len()));
    let key = DecodingKey::from_jwk(&jwk).map_err(|_| "its numbers are not base64url")?;
    Ok((kid.ok_or("it has no `kid`")?, algorithm, key))
}
