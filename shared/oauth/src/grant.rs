//! Grants: what a person allowed a client, and the codes and refresh tokens that are of it.
//!
//! Everything is created once, below `state/oauth/` of the default vault, and only hashes of secrets are there:
//! - `codes/<hash>`: the grant that a code stands for, until it is redeemed or a minute has passed
//! - `grants/<id>`: the grant, created by who redeems its code first. So that object is what makes a code good for once.
//! - `grants/<id>.ended`: that the grant was revoked, or ended by a replay
//! - `refresh/<grant>.<hash>`: a refresh token; with `.used`, that the next one was given for it, and when
//!
//! The next secret is derived from the one before by the server's own, and is there before the mark that uses that one up. So a request that failed between the two
//! can be made again, and one whose answer was lost gets the same token again, for half a minute.

use std::time::Duration;

use atlas_access::seal::seal;
use atlas_access::{AccessClaims, Scope};
use atlas_mirror::{Hash, Id, MirrorError};
use atlas_web::issuer::ended;
use futures::future::{try_join, try_join3};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Code, OAuthError};
use crate::pkce;
use crate::request::{AuthorizationRequest, scopes_of};
use crate::server::{ACCESS_TIME, MAX_OBJECT, Server, Tokens, hash, is_secret, named, spaced};

/// How long a code can be redeemed.
pub const CODE_TIME: Duration = Duration::from_secs(60);
/// How long a refresh token is good that nobody uses.
const IDLE_TIME: Duration = Duration::from_secs(60 * 24 * 3600);
/// How long a request for the next tokens can be made again, as long as nobody used those.
const REPEAT_TIME: Duration = Duration::from_secs(30);
/// Most grants that are listed.
const MAX_LISTED: usize = 500;
const CODES: &str = "codes";
const GRANTS: &str = "grants";
const REFRESH: &str = "refresh";
const USED: &str = ".used";

/// The rights that a person gave a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The client's id.
    pub client: String,
    /// The name that it gave itself.
    pub client_name: String,
    /// Where it gets its codes, or the host that vouches for it: what the person saw.
    pub client_place: String,
    /// The person.
    pub person: String,
    /// The vault.
    pub vault: String,
    /// The scopes, separated by spaces.
    pub scope: String,
    /// The folders that they hold for; the whole vault if [`None`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<Vec<String>>,
    /// The resource that tokens are for.
    pub resource: String,
    /// When it was given.
    pub made: Timestamp,
    /// When it ends by itself.
    pub expires: Timestamp,
}

impl Grant {
    /// Its scopes.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope> {
        self.scope.split(' ').filter_map(|name| name.parse().ok()).collect()
    }
}

/// The person's choice on the page.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The person.
    pub person: String,
    /// The vault.
    pub vault: String,
    /// The scopes.
    pub scopes: Vec<Scope>,
    /// The folders that they hold for; the whole vault if [`None`].
    pub folders: Option<Vec<String>>,
    /// How long.
    pub time: Duration,
}

/// A code, as stored.
#[derive(Debug, Serialize, Deserialize)]
struct StoredCode {
    id: Id,
    grant: Grant,
    redirect_uri: String,
    challenge: String,
    expires: Timestamp,
}

/// A grant, as stored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredGrant {
    #[serde(flatten)]
    pub(crate) grant: Grant,
    /// Tells the request that created it from others.
    by: Id,
}

/// A refresh token, as stored.
#[derive(Debug, Serialize, Deserialize)]
struct StoredRefresh {
    expires: Timestamp,
}

/// The mark of a used refresh token.
#[derive(Debug, Serialize, Deserialize)]
struct Used {
    /// When; long ago, if it is not said.
    #[serde(default)]
    at: Timestamp,
}

/// The mark of an ended grant.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ended {
    /// When.
    pub at: Timestamp,
    /// Why: `person`, `client` or `replay`.
    pub by: String,
}

/// A grant of a listing.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its id.
    pub id: Id,
    /// The grant.
    pub grant: Grant,
    /// Whether it was ended.
    pub is_ended: bool,
}

impl Server<'_> {
    /// The grant that `choice` makes of a request for `resource` by a client.
    pub(crate) fn grant_of(&self, client: (&str, &str, &str), resource: &str, choice: &Choice) -> Grant {
        let (id, name, place) = client;
        Grant {
            client: id.to_owned(),
            client_name: name.to_owned(),
            client_place: place.to_owned(),
            person: choice.person.clone(),
            vault: choice.vault.clone(),
            scope: spaced(&choice.scopes),
            folders: choice.folders.clone(),
            resource: resource.to_owned(),
            made: self.now,
            expires: self.after(choice.time),
        }
    }

    /// Makes a code for what the person chose.
    ///
    /// # Errors
    /// When the store cannot keep it.
    pub async fn make_code(&self, request: &AuthorizationRequest, choice: &Choice) -> Result<String, OAuthError> {
        self.mirror.check_writes_once().await?;
        let client = &request.client;
        let place = client.place(&request.redirect_uri);
        let code = self.secret()?;
        let stored = StoredCode {
            id: (self.random)()?,
            grant: self.grant_of((&client.id, &client.name, &place), &request.resource, choice),
            redirect_uri: request.redirect_uri.clone(),
            challenge: request.challenge.clone(),
            expires: self.after(CODE_TIME),
        };
        self.mirror.create_state_if_absent(&named(CODES, hash("code", &code)), &stored).await?;
        Ok(code)
    }

    /// Redeems a code: two requests, and one for the refresh token. A second time it ends the grant, since somebody else knows the code.
    ///
    /// # Errors
    /// [`Code::InvalidGrant`], [`Code::InvalidTarget`], or when the store does not answer.
    pub async fn redeem(
        &self,
        code: &str,
        client: &str,
        redirect_uri: Option<&str>,
        verifier: &str,
        resource: Option<&str>,
    ) -> Result<Tokens, OAuthError> {
        self.mirror.check_writes_once().await?;
        let name = named(CODES, hash("code", code));
        let stored: Option<StoredCode> =
            if is_secret(code) { self.mirror.get_state_up_to(&name, MAX_OBJECT).await? } else { None };
        let stored = stored.ok_or_else(OAuthError::grant)?;
        let is_for = stored.grant.client == client && redirect_uri.is_none_or(|address| address == stored.redirect_uri);
        if !is_for || !pkce::is_proven(&stored.challenge, verifier) || self.now >= stored.expires {
            return Err(OAuthError::grant());
        }
        is_of(&stored.grant, resource)?;
        self.begin(stored.id, stored.grant, code).await
    }

    /// Begins a grant by `code`, once: its first tokens. A second time ends it.
    pub(crate) async fn begin(&self, id: Id, grant: Grant, code: &str) -> Result<Tokens, OAuthError> {
        let name = named(GRANTS, id);
        let refresh = self.next(id, &grant, code).await?;
        let stored = StoredGrant { grant, by: (self.random)()? };
        if !self.mirror.create_state_if_absent(&name, &stored).await? {
            let first: Option<StoredGrant> = self.mirror.get_state_up_to(&name, MAX_OBJECT).await?;
            if first.is_none_or(|first| first.by != stored.by) {
                self.end(id, "replay").await?;
                return Err(OAuthError::grant());
            }
        }
        self.tokens(id, &stored.grant, &stored.grant.scopes(), &refresh)
    }

    /// An access token of the grant `id`, for some of its scopes, and the refresh token with this secret.
    fn tokens(&self, id: Id, grant: &Grant, scopes: &[Scope], secret: &str) -> Result<Tokens, OAuthError> {
        let expires = self.after(ACCESS_TIME).min(grant.expires);
        let scope = spaced(scopes);
        let (iat, exp) = (self.now.as_second(), expires.as_second());
        let (jti, grant_id) = ((self.random)()?.to_string(), id.to_string());
        let claims = AccessClaims {
            iss: &self.issuer.address,
            sub: &grant.person,
            aud: &grant.resource,
            client_id: &grant.client,
            jti: &jti,
            iat,
            exp,
            scope: &scope,
            vault: &grant.vault,
            folders: grant.folders.as_deref(),
            grant: &grant_id,
        };
        let access = self.issuer.authority.keys.sign(&claims).map_err(|error| {
            let internal = Some(error.to_string());
            OAuthError { internal, ..OAuthError::new(Code::ServerError, "this service cannot sign tokens now") }
        })?;
        Ok(Tokens { access, refresh: format!("{id}.{secret}"), expires_in: exp - iat, scope })
    }

    /// The secret of the refresh token that comes after the code or the secret `before`: always the same one, and stored.
    async fn next(&self, id: Id, grant: &Grant, before: &str) -> Result<String, OAuthError> {
        let secret = seal(&self.issuer.authority.secret, &["oauth refresh", &id.to_string()], before);
        let stored = StoredRefresh { expires: self.after(IDLE_TIME).min(grant.expires) };
        self.mirror.create_state_if_absent(&refresh_name(id, &secret), &stored).await?;
        Ok(secret)
    }

    /// Gives the next tokens for a refresh token. One that was used before ends the grant, since two have it; but for a request that is soon made again.
    ///
    /// # Errors
    /// [`Code::InvalidGrant`], [`Code::InvalidScope`], [`Code::InvalidTarget`], or when the store does not answer.
    pub async fn refresh(
        &self,
        token: &str,
        client: &str,
        scope: Option<&str>,
        resource: Option<&str>,
    ) -> Result<Tokens, OAuthError> {
        self.mirror.check_writes_once().await?;
        let (id, secret) = parsed(token).ok_or_else(OAuthError::grant)?;
        let name = refresh_name(id, secret);
        let (stored, grant, is_ended) = try_join3(
            self.mirror.get_state::<StoredRefresh>(&name),
            self.mirror.get_state_up_to::<StoredGrant>(&named(GRANTS, id), MAX_OBJECT),
            self.is_ended(id),
        )
        .await?;
        let (stored, grant) = stored.zip(grant).ok_or_else(OAuthError::grant)?;
        let grant = grant.grant;
        if is_ended || grant.client != client || self.now >= stored.expires || self.now >= grant.expires {
            return Err(OAuthError::grant());
        }
        is_of(&grant, resource)?;
        let mut scopes = grant.scopes();
        if scope.is_some() {
            // Some clients ask each time for what they asked the person for, who granted less.
            let asked = scopes_of(scope);
            scopes.retain(|scope| asked.contains(scope));
            if scopes.is_empty() {
                return Err(OAuthError::new(Code::InvalidScope, "scope: ask for some of what was granted"));
            }
        }
        let next = self.next(id, &grant, secret).await?;
        let first = self.mirror.get_or_create_state(&format!("{name}{USED}"), &Used { at: self.now }).await?;
        if let Some(first) = first
            && !self.is_repeat(id, &first, &next).await?
        {
            self.end(id, "replay").await?;
            return Err(OAuthError::grant());
        }
        self.tokens(id, &grant, &scopes, &next)
    }

    /// Whether a refresh token that was used at `first` is used again by who got no answer: soon, and while nobody has used the `next` one.
    async fn is_repeat(&self, id: Id, first: &Used, next: &str) -> Result<bool, OAuthError> {
        // The clocks of two instances differ.
        let waited = self.now.duration_since(first.at).unsigned_abs();
        if waited >= REPEAT_TIME {
            return Ok(false);
        }
        Ok(self.mirror.get_state::<Used>(&format!("{}{USED}", refresh_name(id, next))).await?.is_none())
    }

    /// Ends the grant that a refresh token of `client` is of, used or not (RFC 7009). Does nothing for any other text.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn revoke(&self, token: &str, client: &str) -> Result<(), OAuthError> {
        let Some((id, secret)) = parsed(token) else { return Ok(()) };
        let (stored, grant) = try_join(
            self.mirror.get_state::<StoredRefresh>(&refresh_name(id, secret)),
            self.mirror.get_state_up_to::<StoredGrant>(&named(GRANTS, id), MAX_OBJECT),
        )
        .await?;
        match stored.and(grant) {
            Some(grant) if grant.grant.client == client => Ok(self.end(id, "client").await?),
            _ => Ok(()),
        }
    }

    /// Ends a grant. Doing it again changes nothing.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn end(&self, id: Id, by: &str) -> Result<(), MirrorError> {
        let mark = Ended { at: self.now, by: by.to_owned() };
        self.mirror.create_state_if_absent(&ended(&id.to_string()), &mark).await?;
        Ok(())
    }

    async fn is_ended(&self, id: Id) -> Result<bool, MirrorError> {
        Ok(self.mirror.get_state::<Ended>(&ended(&id.to_string())).await?.is_some())
    }

    /// The grants that have not expired, the newest first; at most 500.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn grants(&self) -> Result<Vec<Listed>, MirrorError> {
        grants(self.mirror, self.now).await
    }
}

/// The grants in `mirror` that have not expired at `now`, the newest first; at most 500.
///
/// # Errors
/// When the store does not answer.
pub async fn grants(mirror: &atlas_mirror::Mirror, now: Timestamp) -> Result<Vec<Listed>, MirrorError> {
    let mut made = mirror.list_state(&format!("{}/{GRANTS}", atlas_web::issuer::FOLDER), None).await?;
    made.sort_by_key(|object| std::cmp::Reverse(object.written));
    let is_ended = |id: &Id| made.iter().any(|object| object.name == format!("{id}.ended"));
    let mut listed = Vec::new();
    for id in made.iter().filter_map(|object| object.name.parse::<Id>().ok()).take(MAX_LISTED) {
        let stored: Option<StoredGrant> = mirror.get_state_up_to(&named(GRANTS, id), MAX_OBJECT).await?;
        if let Some(grant) = stored.map(|stored| stored.grant).filter(|grant| now < grant.expires) {
            listed.push(Listed { id, grant, is_ended: is_ended(&id) });
        }
    }
    Ok(listed)
}

/// Ends the grant `id` in `mirror`, as the person wants it.
///
/// # Errors
/// When the store does not answer.
pub async fn end(mirror: &atlas_mirror::Mirror, id: Id, now: Timestamp) -> Result<(), MirrorError> {
    let mark = Ended { at: now, by: "person".to_owned() };
    mirror.create_state_if_absent(&ended(&id.to_string()), &mark).await?;
    Ok(())
}

/// The grant and the secret of a refresh token.
fn parsed(token: &str) -> Option<(Id, &str)> {
    let (id, secret) = token.split_once('.')?;
    Some((id.parse().ok()?, Some(secret).filter(|secret| is_secret(secret))?))
}

fn refresh_name(id: Id, secret: &str) -> String {
    let hash: Hash = hash("refresh", secret);
    named(REFRESH, format_args!("{id}.{hash}"))
}

/// Refuses another resource than the grant's.
fn is_of(grant: &Grant, resource: Option<&str>) -> Result<(), OAuthError> {
    if resource.is_none_or(|resource| resource == grant.resource) {
        return Ok(());
    }
    Err(OAuthError::new(Code::InvalidTarget, "resource: the person granted another one"))
}
