//! Making tokens, for trying out and for tests: with the shared secret.

use std::time::Duration;

use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde::Serialize;

use crate::crypto;
use crate::keys::Secret;

/// What a token is to say.
#[derive(Clone, Debug)]
pub struct Grant<'a> {
    /// Who its bearer is.
    pub subject: &'a str,
    /// What they may: scopes parted by spaces.
    pub scopes: &'a str,
    /// For which vault; the default one if none.
    pub vault: Option<&'a str>,
    /// Who says so.
    pub issuer: Option<&'a str>,
    /// To whom.
    pub audience: Option<&'a str>,
    /// By way of which client.
    pub client: Option<&'a str>,
    /// For how long.
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

/// A token that says `grant`, from `now` on, signed with `secret`.
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
