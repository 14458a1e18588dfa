//! The keys that a deployment's own authorization server signs access tokens with: ES256, the first signs, all are accepted, so that keys are changed by
//! overlap.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, encode};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::crypto;

/// Most keys at once.
const MAX_KEYS: usize = 8;
/// The type of access tokens (RFC 9068, section 2.1).
const TYPE: &str = "at+jwt";
/// Bytes of a coordinate of a point on P-256.
const COORDINATE: usize = 32;

/// Why keys cannot sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    /// There are none, or too many.
    #[error("there are no keys to sign with, or more than {MAX_KEYS}")]
    Count,
    /// One is not a key.
    #[error("a key is not a private key of P-256 in PKCS #8")]
    Key,
    /// The system gave no randomness, or the signature failed.
    #[error("the token could not be signed")]
    Failed,
}

/// The claims of an access token (RFC 9068, section 2.2).
#[derive(Clone, Debug, Serialize)]
pub struct AccessClaims<'a> {
    /// The issuer.
    pub iss: &'a str,
    /// The person who granted it.
    pub sub: &'a str,
    /// The resource that it is for.
    pub aud: &'a str,
    /// The client that got it.
    pub client_id: &'a str,
    /// Its own name.
    pub jti: &'a str,
    /// When it was made, in seconds since 1970.
    pub iat: i64,
    /// When it expires, in seconds since 1970.
    pub exp: i64,
    /// Its scopes, separated by spaces.
    pub scope: &'a str,
    /// The vault.
    pub vault: &'a str,
    /// The folders that the scopes hold for; the whole vault if [`None`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folders: Option<&'a [String]>,
    /// The grant.
    pub grant: &'a str,
}

/// Keys.
pub struct SigningKeys(Vec<SigningKey>);

struct SigningKey {
    kid: String,
    key: EncodingKey,
    /// Its point, uncompressed.
    point: Vec<u8>,
}

impl SigningKeys {
    /// The keys with these PKCS #8 documents.
    ///
    /// # Errors
    /// [`SigningError::Count`], [`SigningError::Key`].
    pub fn new(documents: &[Vec<u8>]) -> Result<Self, SigningError> {
        crypto::install();
        if documents.is_empty() || documents.len() > MAX_KEYS {
            return Err(SigningError::Count);
        }
        documents.iter().map(|document| SigningKey::new(document)).collect::<Result<_, _>>().map(Self)
    }

    /// The PKCS #8 document of a fresh key.
    ///
    /// # Errors
    /// [`SigningError::Failed`].
    pub fn make() -> Result<Vec<u8>, SigningError> {
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        made.map(|document| document.as_ref().to_vec()).map_err(|_| SigningError::Failed)
    }

    /// The public keys as a JWKS (RFC 7517).
    #[must_use]
    pub fn public(&self) -> Value {
        let keys: Vec<Value> = self.0.iter().map(SigningKey::public).collect();
        json!({ "keys": keys })
    }

    /// The name of the key that signs.
    #[must_use]
    pub fn kid(&self) -> &str {
        self.0.first().map_or("", |key| &key.kid)
    }

    /// An access token with these claims.
    ///
    /// # Errors
    /// [`SigningError::Failed`].
    pub fn sign(&self, claims: &AccessClaims<'_>) -> Result<String, SigningError> {
        let key = self.0.first().ok_or(SigningError::Count)?;
        let header = Header { typ: Some(TYPE.to_owned()), kid: Some(key.kid.clone()), ..Header::new(Algorithm::ES256) };
        encode(&header, claims, &key.key).map_err(|_| SigningError::Failed)
    }

    /// The keys that check what these signed, by name.
    pub(crate) fn verifying(&self) -> impl Iterator<Item = (&str, DecodingKey)> {
        self.0.iter().map(|key| (key.kid.as_str(), DecodingKey::from_ec_der(&key.point)))
    }
}

impl SigningKey {
    fn new(document: &[u8]) -> Result<Self, SigningError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document, &SystemRandom::new());
        let pair = pair.map_err(|_| SigningError::Key)?;
        let point = pair.public_key().as_ref().to_vec();
        let kid = Sha256::digest(&point).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { kid, key: EncodingKey::from_ec_der(document), point })
    }

    fn public(&self) -> Value {
        // The first byte says that both coordinates follow.
        let coordinates = self.point.get(1..).unwrap_or_default();
        let (x, y) = coordinates.split_at_checked(COORDINATE).unwrap_or_default();
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({ "alg": "ES256", "crv": "P-256", "kid": self.kid, "kty": "EC", "use": "sig", "x": text(x), "y": text(y) })
    }
}
