//! Makes tokens with the shared secret, for tests and trials.

use std::time::Duration;

use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde::Serialize;

use crate::crypto;
use crate::keys::Secret;

/// The claims of a token.
#[derive(Clone, Debug)]
pub struct Grant<'a> {
    /// The subject.
    pub subject: &'a str,
    /// The scopes, separated by spaces.
    pub scopes: &'a str,
    /// The vault; the default one if [`None`].
    pub vault: Option<&'a str>,
    /// The issuer.
    pub issuer: Option<&'a str>,
    /// The audience.
    pub audience: Option<&'a str>,
    /// The client.
    pub client: Option<&'a str>,
    /// How long it is valid.
    pub time: Duration,
}

#[derive(Serialize)]
struct Claims<'a> {
    sub: &'a str,
    scope: &'a str,
    iat: i64,
    exp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    vault: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'a str>,
}

/// A token with the claims `grant`, valid from `now` on, signed with `secret`.
///
/// # Errors
/// When it cannot be signed.
pub fn mint(secret: &Secret, grant: &Grant<'_>, now: Timestamp) -> Result<String, String> {
    crypto::install();
    let claims = Claims {
        sub: grant.subject,
        scope: grant.scopes,
        iat: now.as_second(),
        exp: now.as_second().saturating_add(i64::try_from(grant.time.as_secs()).unwrap_or(i64::MAX)),
        vault: grant.vault,
        iss: grant.issuer,
        aud: grant.audience,
        client_id: grant.client,
    };
    let key = EncodingKey::from_secret(secret.expose());
    encode(&Header::new(Algorithm::HS256), &claims, &key).map_err(|error| error.to_string())
}
