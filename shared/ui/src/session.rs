//! Sessions: how the page knows its visitors.
//!
//! A session begins with a link that works once, which the host makes for the person at it, with the person's passphrase, or with a token that a visitor shows. The
//! first two stand for the person themselves; the last for the caller of the token, with no more rights than it grants, and no longer than it is valid.
//!
//! A cookie has the session's secret, and the token if there is one. The store has the hash of the secret: `pages/links/<hash>`,
//! `pages/sessions/<hash>`, each created once, and `.used` and `.ended` beside them. So any instance knows a session, any can end it, and who reads the store
//! cannot join one.

pub(crate) mod cookie;

use std::time::Duration;

use atlas_access::Caller;
use atlas_mirror::{Hash, Id, Mirror};
use atlas_ops::Error;
use atlas_web::App;
use atlas_web::auth::is_revoked;
use axum::http::HeaderMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::cookie::Cookie;

/// How long a session lasts.
const SESSION_TIME: Duration = Duration::from_secs(12 * 3600);
/// How long a link works.
pub const LINK_TIME: Duration = Duration::from_secs(3600);
/// Longest token that a cookie has room for, in bytes.
pub(crate) const MAX_TOKEN: usize = 3600;
/// Longest name of a person, in bytes.
const MAX_NAME: usize = 100;

const LINKS: &str = "pages/links";
const SESSIONS: &str = "pages/sessions";
const USED: &str = ".used";
const ENDED: &str = ".ended";

/// A link, as stored under the hash of its code.
#[derive(Debug, Serialize, Deserialize)]
struct Link {
    person: String,
    expires: Timestamp,
}

/// A session, as stored under the hash of its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Session {
    /// The person at the host, or who signed in by a passphrase; [`None`] if a token says who it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<String>,
    expires: Timestamp,
}

/// That a session was ended, or a link was used.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    by: String,
}

/// A visitor with a session.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// Whom their calls are made as.
    pub(crate) caller: Caller,
    /// The token in the forms of their pages, which no other page knows.
    pub(crate) form_token: String,
    /// When the session ends.
    pub(crate) expires: Timestamp,
    /// Whether they are the person, and not the bearer of a token.
    pub(crate) is_person: bool,
    id: Hash,
}

/// Makes a link for `person`, who can do there what they can do at the host. Returns its code: 32 hexadecimal digits.
///
///
/// # Errors When the store cannot keep it.
pub async fn make_link(mirror: &Mirror, person: &str, now: Timestamp) -> Result<String, Error> {
    mirror.check_writes_once().await?;
    let code = Id::random()?.to_string();
    let person = person.get(..person.floor_char_boundary(MAX_NAME)).unwrap_or_default().to_owned();
    let link = Link { person, expires: after(now, LINK_TIME) };
    mirror.create_state_if_absent(&named(LINKS, hash(&code)), &link).await?;
    Ok(code)
}

/// Begins a session by the link with this code: its cookie, and when it ends. [`None`] if the link was used, has expired, or never was.
pub(crate) async fn by_link(mirror: &Mirror, code: &str, now: Timestamp) -> Result<Option<(Cookie, Timestamp)>, Error> {
    if code.parse::<Id>().is_err() {
        return Ok(None);
    }
    let name = named(LINKS, hash(code));
    let Some(link) = mirror.get_state::<Link>(&name).await?.filter(|link| now < link.expires) else { return Ok(None) };
    let cookie = Cookie { secret: Id::random()?.to_string(), token: None };
    let own = Mark { by: hash(&cookie.secret).to_string() };
    let other = mirror.get_or_create_state(&format!("{name}{USED}"), &own).await?;
    if other.is_some_and(|other| other != own) {
        return Ok(None);
    }
    let session = Session { person: Some(link.person), expires: after(now, SESSION_TIME) };
    begin(mirror, &cookie, &session).await?;
    Ok(Some((cookie, session.expires)))
}

/// Begins a session by a token: its cookie, and when it ends at the latest. [`None`] if the token is not valid here.
pub(crate) async fn by_token(app: &App, token: &str, now: Timestamp) -> Result<Option<(Cookie, Timestamp)>, Error> {
    let Some(caller) = app.gate.caller_of(token, now) else { return Ok(None) };
    if is_revoked(app, &caller).await? {
        return Ok(None);
    }
    let app = app.for_caller(&caller).await?;
    let mirror = &app.atlas.vault(caller.vault())?.mirror;
    mirror.check_writes_once().await?;
    let cookie = Cookie { secret: Id::random()?.to_string(), token: Some(token.to_owned()) };
    let session = Session { person: None, expires: after(now, SESSION_TIME) };
    begin(mirror, &cookie, &session).await?;
    Ok(Some((cookie, session.expires)))
}

/// Begins a session of the person, who signed in at the deployment's own authorization server: its cookie, and when it ends.
pub(crate) async fn of_person(mirror: &Mirror, person: &str, now: Timestamp) -> Result<(Cookie, Timestamp), Error> {
    let cookie = Cookie { secret: Id::random()?.to_string(), token: None };
    let session = Session { person: Some(person.to_owned()), expires: after(now, SESSION_TIME) };
    begin(mirror, &cookie, &session).await?;
    Ok((cookie, session.expires))
}

async fn begin(mirror: &Mirror, cookie: &Cookie, session: &Session) -> Result<(), Error> {
    mirror.create_state_if_absent(&named(SESSIONS, hash(&cookie.secret)), session).await?;
    Ok(())
}

/// The visitor of a request with `headers`, if one of its cookies is of a session that goes on.
pub(crate) async fn visitor(app: &App, headers: &HeaderMap, now: Timestamp) -> Result<Option<Visitor>, Error> {
    for cookie in cookie::of(headers) {
        if let Some(visitor) = known(app, &cookie, now).await? {
            return Ok(Some(visitor));
        }
    }
    Ok(None)
}

async fn known(app: &App, cookie: &Cookie, now: Timestamp) -> Result<Option<Visitor>, Error> {
    // The token is looked at each time: it may have expired, or its key may have been taken back.
    let (bearer, atlas) = match &cookie.token {
        Some(token) => match app.gate.caller_of(token, now) {
            Some(caller) if is_revoked(app, &caller).await? => return Ok(None),
            Some(caller) => {
                let atlas = app.for_caller(&caller).await?.atlas;
                (Some(caller), atlas)
            }
            None => return Ok(None),
        },
        None => (None, app.atlas.clone()),
    };
    let vault = atlas.vault(bearer.as_ref().and_then(Caller::vault))?;
    let id = hash(&cookie.secret);
    let name = named(SESSIONS, id);
    let (session, ended) = futures::future::try_join(
        vault.mirror.get_state::<Session>(&name),
        vault.mirror.get_state::<Mark>(&format!("{name}{ENDED}")),
    )
    .await?;
    let Some(session) = session.filter(|session| now < session.expires && ended.is_none()) else { return Ok(None) };
    let caller = match (&session.person, bearer) {
        // A server on the host trusts the person at it, and a deployment who signed in at its own authorization server.
        (Some(person), None) if app.is_on_host() || app.gate.has_issuer() => Caller::trusted(person),
        (None, Some(caller)) => caller,
        _ => return Ok(None),
    };
    let form_token = hash(&format!("form {}", cookie.secret)).to_string();
    Ok(Some(Visitor { caller, form_token, expires: session.expires, is_person: session.person.is_some(), id }))
}

/// Ends the session of `visitor`.
pub(crate) async fn end(mirror: &Mirror, visitor: &Visitor) -> Result<(), Error> {
    end_one(mirror, &visitor.id.to_string(), visitor.caller.name()).await
}

/// Ends all sessions of the page.
///
///
/// # Errors When the store cannot be read, or cannot keep it.
pub async fn end_all(mirror: &Mirror, by: &str) -> Result<(), Error> {
    for made in mirror.list_state(SESSIONS, None).await? {
        if made.name.parse::<Hash>().is_ok() {
            end_one(mirror, &made.name, by).await?;
        }
    }
    Ok(())
}

async fn end_one(mirror: &Mirror, id: &str, by: &str) -> Result<(), Error> {
    mirror.create_state_if_absent(&format!("{SESSIONS}/{id}{ENDED}"), &Mark { by: by.to_owned() }).await?;
    Ok(())
}

fn after(now: Timestamp, time: Duration) -> Timestamp {
    now.checked_add(time).unwrap_or(Timestamp::MAX)
}

fn hash(secret: &str) -> Hash {
    Hash::of(format!("atlas page {secret}").as_bytes())
}

fn named(folder: &str, hash: Hash) -> String {
    format!("{folder}/{hash}")
}
