//! Signed tokens (RFC 7519), as requests carry them (RFC 6750).

use jiff::Timestamp;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::Deserialize;

use crate::caller::{Binding, Caller};
use crate::crypto;
use crate::keys::{Key, Keys};
use crate::scope::Scopes;

/// Longest token, in bytes.
pub const MAX_TOKEN: usize = 8 << 10;
/// Greatest accepted difference between clocks, in seconds.
const SKEW: i64 = 30;
/// Longest subject and vault, in bytes.
const MAX_NAME: usize = 200;
/// Longest client, in bytes: it may be a URL.
const MAX_CLIENT: usize = 2048;
/// Most folders of a token.
pub const MAX_FOLDERS: usize = 20;
/// Longest folder of a token, in bytes.
pub const MAX_FOLDER: usize = 200;
/// The algorithms that can be allowed; all are by default.
pub const ALGORITHMS: [&str; 4] = ["HS256", "RS256", "ES256", "EdDSA"];

/// The types of access tokens (RFC 7519, section 5.1; RFC 9068, section 2.1). Issuers sign other tokens for other uses, such as to end a session.
const TYPES: [&str; 2] = ["jwt", "at+jwt"];

/// The claims that a token must contain, besides the issuer, which its key decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Its `aud` contains one of these; not checked if empty.
    pub audiences: Vec<String>,
    /// The same for tokens of the deployment's own authorization server.
    pub own_audiences: Vec<String>,
    /// The deployment's own authorization server, in whichever process: its tokens name the grant that they are of.
    pub own_issuer: Option<String>,
    /// Its `alg` is one of these; one of [`ALGORITHMS`] if empty.
    pub algorithms: Vec<String>,
}

/// Why a token is refused. No variant reveals anything new to the bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not a token, or no key of this deployment signed it.
    #[error("the token is not valid")]
    Invalid,
    /// It has expired.
    #[error("the token has expired")]
    Expired,
    /// It is not valid yet.
    #[error("the token is not valid yet")]
    Early,
    /// It is for another issuer or audience.
    #[error("the token is not for this service")]
    NotForUs,
}

/// Checks tokens.
#[derive(Clone)]
pub struct Verifier {
    keys: Keys,
    expected: Expected,
}

/// The claims that are used.
#[derive(Debug, Deserialize)]
struct Claims {
    #[serde(default)]
    sub: Option<String>,
    exp: f64,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    iss: Option<String>,
    #[serde(default)]
    aud: Option<OneOrMany>,
    /// Separated by spaces (RFC 8693, section 4.2).
    #[serde(default)]
    scope: Option<String>,
    #[serde(default)]
    scopes: Option<Vec<String>>,
    #[serde(default)]
    vault: Option<String>,
    /// The client that the token was given to (RFC 8693, section 4.3; RFC 9068, section 2.2).
    #[serde(default)]
    client_id: Option<String>,
    /// The same, by OpenID Connect's name.
    #[serde(default)]
    azp: Option<String>,
    /// The folders that the scopes hold for; the whole vault if omitted.
    #[serde(default)]
    folders: Option<Vec<String>>,
    /// The grant of the deployment's own authorization server.
    #[serde(default)]
    grant: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn has_one_of(&self, wanted: &[String]) -> bool {
        match self {
            Self::One(one) => wanted.contains(one),
            Self::Many(many) => many.iter().any(|one| wanted.contains(one)),
        }
    }
}

impl Verifier {
    /// A checker with these keys and expectations.
    #[must_use]
    pub fn new(keys: Keys, expected: Expected) -> Self {
        crypto::install();
        Self { keys, expected }
    }

    /// The caller that `token` names, if it is valid at `now`.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Caller, Refused> {
        if token.len() > MAX_TOKEN {
            return Err(Refused::Invalid);
        }
        let header = decode_header(token).map_err(|_| Refused::Invalid)?;
        // The token has a critical header that is not supported (RFC 7515, section 4.1.11).
        if header.crit.is_some() || !is_of_access(header.typ.as_deref()) {
            return Err(Refused::Invalid);
        }
        // The library would read the system's clock; here the time is passed in.
        let mut validation = Validation::new(header.alg);
        (validation.validate_exp, validation.validate_nbf, validation.validate_aud) = (false, false, false);
        let claims_by = |key: &Key| Some(decode::<Claims>(token, &key.key, &validation).ok()?.claims);
        let keys = self.keys.of(header.alg, header.kid.as_deref());
        // The deployment's own tokens have the algorithm of its keys, whatever others are allowed.
        let mut keys = keys.filter(|key| key.is_own || self.allows(header.alg));
        let (mut claims, key) = keys.find_map(|key| Some((claims_by(key)?, key))).ok_or(Refused::Invalid)?;
        self.check(&claims, key.is_own, now)?;
        // The key belongs to another issuer than the token claims.
        let is_in_our_name = !key.is_own && claims.iss.is_some() && claims.iss == self.keys.own;
        if is_in_our_name || key.issuer.is_some() && claims.iss != key.issuer {
            return Err(Refused::Invalid);
        }
        let is_ours = claims.iss.is_some() && claims.iss == self.expected.own_issuer;
        let grant = claims.grant.take().filter(|_| key.is_own || is_ours);
        Ok(caller(claims)?.by_grant(grant))
    }

    fn allows(&self, algorithm: Algorithm) -> bool {
        let is = |name: &str| name.parse() == Ok(algorithm);
        let known = ALGORITHMS.iter().any(|name| is(name));
        known && (self.expected.algorithms.is_empty() || self.expected.algorithms.iter().any(|name| is(name)))
    }

    fn check(&self, claims: &Claims, is_own: bool, now: Timestamp) -> Result<(), Refused> {
        let now = now.as_second();
        if claims.exp <= seconds(now.saturating_sub(SKEW)) {
            return Err(Refused::Expired);
        }
        if claims.nbf.is_some_and(|nbf| nbf > seconds(now.saturating_add(SKEW))) {
            return Err(Refused::Early);
        }
        let issuers = &self.keys.issuers;
        let audiences = if is_own { &self.expected.own_audiences } else { &self.expected.audiences };
        let issued = is_own || issuers.is_empty() || claims.iss.as_ref().is_some_and(|iss| issuers.contains(iss));
        let meant = audiences.is_empty() || claims.aud.as_ref().is_some_and(|aud| aud.has_one_of(audiences));
        if issued && meant { Ok(()) } else { Err(Refused::NotForUs) }
    }
}

/// Whether this is the type of an access token. Types are media types, in any case, and may leave out `application/`.
fn is_of_access(typ: Option<&str>) -> bool {
    typ.is_none_or(|typ| {
        let typ = typ.to_ascii_lowercase();
        TYPES.contains(&typ.strip_prefix("application/").unwrap_or(&typ))
    })
}

#[allow(clippy::cast_precision_loss, reason = "seconds of this era are exact")]
const fn seconds(seconds: i64) -> f64 {
    seconds as f64
}

fn caller(claims: Claims) -> Result<Caller, Refused> {
    let is_of = |most: usize, name: &String| (1..=most).contains(&name.len()) && !name.chars().any(char::is_control);
    let is_name = |name: &String| is_of(MAX_NAME, name);
    let name = claims.sub.unwrap_or_else(|| "token".to_owned());
    if !is_name(&name) || claims.vault.as_ref().is_some_and(|vault| !is_name(vault)) {
        return Err(Refused::Invalid);
    }
    let client = claims.client_id.or(claims.azp);
    if client.as_ref().is_some_and(|client| !is_of(MAX_CLIENT, client)) {
        return Err(Refused::Invalid);
    }
    let is_folder = |folder: &String| is_of(MAX_FOLDER, folder) && !folder.ends_with('/');
    if claims.folders.as_ref().is_some_and(|folders| folders.len() > MAX_FOLDERS || !folders.iter().all(is_folder)) {
        return Err(Refused::Invalid);
    }
    let listed = claims.scopes.iter().flatten().map(String::as_str);
    let spaced = claims.scope.iter().flat_map(|scope| scope.split(' '));
    let scopes = Scopes::named(listed.chain(spaced));
    let scopes = claims.folders.as_deref().map_or(scopes.clone(), |folders| scopes.within(folders));
    let binding = claims.vault.map_or(Binding::Default, Binding::One);
    Ok(Caller::subject(name, claims.iss.as_deref(), scopes, binding).through(client))
}
