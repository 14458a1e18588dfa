//! Authenticates callers by the bearer token (RFC 6750) in the request's header, and describes the protected resource
//! (RFC 9728).

use std::sync::Arc;

use atlas_access::{Caller, Expected, KeyError, Keys, Refused, Secret, Verifier, scope};
use atlas_ops::{Error, Reason, sorted};
use axum::http::header::{AUTHORIZATION, HOST, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::caller;
use crate::clients::Clients;
use crate::issuer::{self, Issuer, addresses};
use crate::response;
use crate::settings::error::unusable;
use crate::settings::files::read;
use crate::settings::{Auth, Settings, SettingsError, Tokens};

/// The paths of the description (RFC 9728, section 3.1): of the whole service, and of the MCP door.
pub(crate) const METADATA: [&str; 2] =
    ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"];
/// The caller's name if callers are not authenticated.
const ANYBODY: &str = "anonymous";

/// Authenticates callers.
#[derive(Clone, Default)]
pub struct Gate(Credentials);

/// The credentials that a request must present.
#[derive(Clone, Default)]
enum Credentials {
    /// None: any caller may do everything.
    #[default]
    Open,
    /// The token of a client known to the host. Requests without one may read.
    Clients(Clients),
    /// A signed token.
    Tokens(Arc<Guard>),
}

struct Guard {
    verifier: Verifier,
    resource: Option<String>,
    authorization_servers: Vec<String>,
    has_issuer: bool,
    issuer: Option<Arc<Issuer>>,
    check_revocation: bool,
}

impl Gate {
    /// The gate for `settings`. Reads the file of keys, if they name one.
    ///
    /// # Errors
    /// When the keys are invalid.
    pub fn of(settings: &Settings) -> Result<Self, SettingsError> {
        if settings.auth == Auth::None {
            issuer::is_off(settings)?;
            return Ok(Self(settings.clients.clone().map_or(Credentials::Open, Credentials::Clients)));
        }
        let (mode, keys_of) = (settings.called("ATLAS_AUTH"), settings.called("ATLAS_JWKS"));
        let Tokens { jwks, issuers, audiences, algorithms, resource, authorization_servers, .. } = &settings.tokens;
        let secret = secret_of(&settings.tokens)?;
        let set = jwks.as_deref().map(|jwks| set_of(keys_of, jwks)).transpose()?;
        let issuer = Issuer::of(settings)?.map(Arc::new);
        let keys = match Keys::new(secret.as_ref(), set.as_deref(), issuers) {
            Err(KeyError::NoKeys) if issuer.is_some() => Ok(Keys::none()),
            keys => keys,
        };
        let keys = keys.map_err(|error| match error {
            KeyError::NoKeys => {
                unusable(mode, "jwt", "set ATLAS_JWT_SECRET, ATLAS_JWKS, or both; or run `atlas auth init`")
            }
            KeyError::Issuers(remedy) => unusable(settings.called("ATLAS_JWT_ISSUER"), &issuers.join(","), &remedy),
            error => unusable(keys_of, jwks.as_deref().unwrap_or_default(), &error.to_string()),
        })?;
        let mut audiences = audiences.clone();
        // An issuer with its own keys issues tokens for other services too.
        if audiences.is_empty() && jwks.is_some() {
            let missing = || {
                let remedy = "with ATLAS_JWKS set it to what tokens for this deployment have as `aud`, or set ATLAS_RESOURCE to its address";
                unusable("ATLAS_JWT_AUDIENCE", "", remedy)
            };
            audiences = addresses(resource.as_deref().ok_or_else(missing)?);
        }
        let mut authorization_servers = authorization_servers.clone();
        let (keys, own_audiences) = match &issuer {
            None => (keys, Vec::new()),
            Some(issuer) => {
                if !authorization_servers.contains(&issuer.address) {
                    authorization_servers.insert(0, issuer.address.clone());
                }
                (keys.with_own(&issuer.address, &issuer.authority.keys), addresses(&issuer.address))
            }
        };
        let base = resource.as_deref().map(|resource| resource.trim_end_matches('/'));
        let own_issuer =
            base.filter(|base| authorization_servers.iter().any(|server| server.trim_end_matches('/') == *base));
        let own_issuer = own_issuer.map(str::to_owned);
        let expected =
            Expected { audiences, own_audiences, own_issuer: own_issuer.clone(), algorithms: algorithms.clone() };
        Ok(Self(Credentials::Tokens(Arc::new(Guard {
            verifier: Verifier::new(keys, expected),
            resource: resource.clone(),
            authorization_servers,
            has_issuer: own_issuer.is_some(),
            issuer,
            check_revocation: settings.tokens.check_revocation,
        }))))
    }

    /// The deployment's own authorization server, if it has one and this process knows its secrets.
    #[must_use]
    pub fn issuer(&self) -> Option<&Arc<Issuer>> {
        self.guard()?.issuer.as_ref()
    }

    /// Whether the deployment has an authorization server of its own, in this process or another.
    #[must_use]
    pub fn has_issuer(&self) -> bool {
        self.guard().is_some_and(|guard| guard.has_issuer)
    }

    /// The grant whose revocation a request of `caller` has to look for.
    pub(crate) fn revocable<'a>(&self, caller: &'a Caller) -> Option<&'a str> {
        caller.grant().filter(|_| self.guard().is_some_and(|guard| guard.check_revocation))
    }

    /// The name in the caller's token, if there is one.
    pub(crate) fn named(&self, caller: &Caller) -> Option<caller::Caller> {
        (self.is_shut() && caller.is_authenticated()).then(|| caller::Caller::named(caller.identity()))
    }

    /// Whether callers are authenticated.
    #[must_use]
    pub const fn is_shut(&self) -> bool {
        !matches!(self.0, Credentials::Open)
    }

    /// Whether a request with `headers` is answered though nobody knows who makes it: on a host without a token.
    #[must_use]
    pub fn answers_strangers(&self, headers: &HeaderMap) -> bool {
        match &self.0 {
            Credentials::Open => true,
            Credentials::Clients(_) => !headers.contains_key(AUTHORIZATION),
            Credentials::Tokens(_) => false,
        }
    }

    /// The clients that a host knows by tokens of their own, with the time since when; none elsewhere.
    #[must_use]
    pub fn clients(&self) -> Vec<(String, Timestamp)> {
        match &self.0 {
            Credentials::Clients(clients) => clients.names(),
            _ => Vec::new(),
        }
    }

    /// Whether callers have signed tokens.
    #[must_use]
    pub const fn takes_signed(&self) -> bool {
        matches!(self.0, Credentials::Tokens(_))
    }

    /// The caller with this signed token; [`None`] if it is not valid at `now`, or no signed tokens are taken.
    #[must_use]
    pub fn caller_of(&self, token: &str, now: Timestamp) -> Option<Caller> {
        self.guard()?.verifier.verify(token, now).ok()
    }

    fn guard(&self) -> Option<&Guard> {
        match &self.0 {
            Credentials::Tokens(guard) => Some(guard),
            Credentials::Open | Credentials::Clients(_) => None,
        }
    }

    /// Authenticates the caller of a request with `headers`.
    pub(crate) fn caller(&self, headers: &HeaderMap, now: Timestamp) -> Result<Caller, Challenge> {
        match &self.0 {
            Credentials::Open => Ok(Caller::trusted(ANYBODY)),
            Credentials::Clients(clients) => match shown(headers)? {
                None => Ok(Caller::reader()),
                Some(token) => clients.client_of(token).ok_or(Challenge::Refused(Refused::Invalid)),
            },
            Credentials::Tokens(guard) => {
                let token = shown(headers)?.ok_or(Challenge::Missing)?;
                guard.verifier.verify(token, now).map_err(Challenge::Refused)
            }
        }
    }

    /// The address of the description for a request for `path`.
    pub(crate) fn metadata(&self, path: &str, headers: &HeaderMap) -> Option<String> {
        let base = self.base(headers)?;
        let [whole, mcp] = METADATA;
        let place = if whole.len() + path.len() == mcp.len() && mcp.ends_with(path) { mcp } else { whole };
        Some(format!("{base}{place}"))
    }

    /// This deployment's address, from its settings or the request.
    fn base(&self, headers: &HeaderMap) -> Option<String> {
        if let Some(resource) = self.guard()?.resource.as_deref() {
            return Some(resource.trim_end_matches('/').to_owned());
        }
        let host = headers.get(HOST)?.to_str().ok()?;
        let is_plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte));
        let local = ["localhost", "127.", "[::1]"].iter().any(|local| host.starts_with(local));
        is_plain.then(|| format!("{}://{host}", if local { "http" } else { "https" }))
    }

    /// The description of this deployment for clients that need a token (RFC 9728, section 2).
    pub(crate) fn description(&self, path: &str, headers: &HeaderMap) -> Option<Value> {
        let guard = self.guard()?;
        let door = path.strip_prefix(METADATA[0]).unwrap_or_default();
        // Clients ask for all of these, and the deployment's own server grants no others.
        let is_only_its_own = guard.has_issuer && guard.authorization_servers.len() == 1;
        let offered = if is_only_its_own { &scope::GRANTABLE[..] } else { &scope::ALL[..] };
        let scopes: Vec<&str> = offered.iter().map(|scope| scope.as_str()).collect();
        let mut description = json!({
            "bearer_methods_supported": ["header"],
            "resource": format!("{}{door}", self.base(headers)?),
            "scopes_supported": scopes,
        });
        if !guard.authorization_servers.is_empty() {
            description["authorization_servers"] = guard.authorization_servers.clone().into();
        }
        Some(sorted(description))
    }
}

/// The secret: inline, or in a file, which may end with a line break.
fn secret_of(tokens: &Tokens) -> Result<Option<Secret>, SettingsError> {
    let Some(path) = &tokens.secret_file else { return Ok(tokens.secret.clone()) };
    let refused = |remedy: &str| unusable("ATLAS_JWT_SECRET_FILE", path, remedy);
    if tokens.secret.is_some() {
        return Err(refused("there is ATLAS_JWT_SECRET as well: set one of them"));
    }
    let text =
        read(path).map_err(|error| refused(&format!("write the path of a file that has the secret ({error})")))?;
    Secret::new(text.trim_end()).map(Some).map_err(|error| refused(&error.to_string()))
}

/// The keys in the setting `name`: inline, or in a file.
fn set_of(name: &'static str, setting: &str) -> Result<String, SettingsError> {
    if setting.trim_start().starts_with('{') {
        return Ok(setting.to_owned());
    }
    read(setting).map_err(|error| {
        unusable(name, setting, &format!("write a JWKS, or the path of a file that has one ({error})"))
    })
}

/// The token of a request, if it has one.
fn shown(headers: &HeaderMap) -> Result<Option<&str>, Challenge> {
    let mut shown = headers.get_all(AUTHORIZATION).iter();
    match (shown.next(), shown.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(Challenge::Twice),
        (Some(header), None) => header.to_str().ok().and_then(bearer).map(Some).ok_or(Challenge::NoBearer),
    }
}

/// The token of an `Authorization` header.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim_matches(' ');
    let is_token =
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
    (scheme.eq_ignore_ascii_case("bearer") && is_token).then_some(token)
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Challenge {
    Missing,
    Twice,
    NoBearer,
    Refused(Refused),
}

impl Challenge {
    /// RFC 6750's error ([`None`] for a request without a token), the reason for programs, and the message for people.
    fn told(self) -> (Option<&'static str>, Reason, String) {
        match self {
            Self::Missing => {
                (None, Reason::TokenMissing, "this needs a token: send `Authorization: Bearer TOKEN`".to_owned())
            }
            Self::Twice => (Some("invalid_request"), Reason::TokenTwice, "send one Authorization header".to_owned()),
            Self::NoBearer => (
                Some("invalid_request"),
                Reason::TokenInvalid,
                "send the token as `Authorization: Bearer TOKEN`".to_owned(),
            ),
            Self::Refused(refused) => {
                let reason = match refused {
                    Refused::Expired => Reason::TokenExpired,
                    Refused::Invalid | Refused::Early | Refused::NotForUs => Reason::TokenInvalid,
                };
                (Some("invalid_token"), reason, refused.to_string())
            }
        }
    }

    pub(crate) fn response(self, metadata: Option<&str>) -> Response {
        let (error, reason, message) = self.told();
        let mut challenge = "Bearer realm=\"atlas-mirror\"".to_owned();
        if let Some(error) = error {
            challenge += &format!(", error=\"{error}\", error_description=\"{}\"", message.replace('"', "'"));
        }
        if let Some(metadata) = metadata {
            challenge += &format!(", resource_metadata=\"{metadata}\"");
        }
        // Some gateways rename the header, so the body contains it too.
        let error = Error::unauthorized(reason, message).with("www_authenticate", challenge.as_str());
        let mut response = response::error(&error);
        if let Ok(challenge) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_is_one_token() {
        for (header, token) in [
            ("Bearer a.b.c", Some("a.b.c")),
            ("bearer  a.b.c ", Some("a.b.c")),
            ("BEARER a", Some("a")),
            ("Bearer", None),
            ("Bearer ", None),
            ("Bearer a b", None),
            ("Bearer a,b", None),
            ("Basic YTpi", None),
            ("a.b.c", None),
        ] {
            assert_eq!(bearer(header), token, "{header}");
        }
    }
}
