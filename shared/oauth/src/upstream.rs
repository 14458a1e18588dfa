//! How the person signs in through an OpenID provider: by an authorization code with PKCE, a state and a nonce.
//!
//! The browser keeps a sealed note of what it began, and state, nonce and verifier are derived from that by the server's secret. So who begins without end
//! costs the store nothing. When the browser comes back, `upstream/<hash of the state>` makes the state good once.

use std::time::Duration;

use atlas_access::seal::{is_sealed, seal};
use atlas_mirror::id::NoRandomness;
use atlas_mirror::{Id, MirrorError};
use atlas_web::config::upstream::UpstreamDocument;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::client::plain;
use crate::error::OAuthError;
use crate::request::text;
use crate::server::{Server, hash, named};

#[cfg_attr(not(feature = "upstream"), path = "upstream/absent.rs")]
mod provider;

/// The path that a form begins at.
pub const BEGIN: &str = "/ui/sign-in/upstream";
/// The path that the provider leads the browser back to.
pub const BACK: &str = "/ui/sign-in/back";
/// How long it may take there.
pub const TIME: Duration = Duration::from_secs(600);
/// Most time that the provider is asked, over all requests.
const MAX_ASKED: Duration = Duration::from_secs(15);
/// Longest page that is led to afterwards, in bytes: a cookie has room for no more.
const MAX_NEXT: usize = 2600;
/// Longest code and longest note, in bytes.
const MAX_CODE: usize = 4096;
const MAX_NOTE: usize = 4096;
const PURPOSE: &str = "oauth upstream";

/// What the browser keeps while it is at the provider.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    id: Id,
    next: String,
    /// The browser's mark, if the person signed in with it before: it does not come along from another site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser: Option<String>,
    /// In seconds since 1970.
    expires: i64,
}

/// That a state was used.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Used {
    by: Id,
}

/// Where the browser goes, and what it keeps meanwhile.
#[derive(Debug)]
pub struct Begun {
    /// The provider's page.
    pub address: String,
    /// The sealed note.
    pub kept: String,
}

/// A sign-in that ended well.
#[derive(Debug)]
pub struct Finished {
    /// The page that is led to.
    pub next: String,
    /// Whether the person signed in with this browser before.
    pub is_known: bool,
}

/// What goes to the provider and comes back, or proves to it and to the server that it is the same sign-in.
#[cfg_attr(not(feature = "upstream"), allow(dead_code, reason = "such a build asks nobody"))]
struct Handshake {
    redirect_uri: String,
    state: String,
    nonce: String,
    verifier: String,
}

/// Whom the provider says that somebody is.
#[cfg_attr(not(feature = "upstream"), allow(dead_code, reason = "such a build asks nobody"))]
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    subject: String,
    /// The email, if the provider has verified it.
    email: Option<String>,
}

/// Why nobody signs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// No provider is configured.
    None,
    /// The browser did not begin this, or too long ago, or it was used.
    Stale,
    /// There were too many tries: the next one is looked at in so many seconds.
    Wait(i64),
    /// The provider said no, with this word.
    Refused(String),
    /// The provider gives no answer. The text is for the log.
    Unreachable(String),
    /// The provider's answer proves nothing. The text is for the log.
    Unproven(String),
    /// The provider says that it is this subject, who is not on the list.
    Stranger(String),
    /// This server could not do its part.
    Failed(OAuthError),
}

impl From<OAuthError> for Denied {
    fn from(error: OAuthError) -> Self {
        Self::Failed(error)
    }
}

impl From<MirrorError> for Denied {
    fn from(error: MirrorError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<NoRandomness> for Denied {
    fn from(error: NoRandomness) -> Self {
        Self::Failed(error.into())
    }
}

impl Denied {
    /// What the person can do, where the provider is called `name`.
    #[must_use]
    pub fn remedy(&self, name: &str) -> String {
        match self {
            Self::None => "Nobody signs in through another service here.".to_owned(),
            Self::Stale => format!(
                "This was begun in another browser, took longer than ten minutes, or was used before. Choose {name} once more."
            ),
            Self::Wait(seconds) => format!("There were too many tries. Wait {seconds} seconds, then try again."),
            Self::Refused(word) => {
                format!("{name} did not sign you in ({word}). Choose it once more, and agree there.")
            }
            Self::Unreachable(_) => format!("{name} does not answer as it should. Try again in a minute."),
            Self::Unproven(_) => format!(
                "The answer of {name} does not prove who you are. Choose it once more; if that does not help, who runs this service finds the reason in its log."
            ),
            Self::Stranger(subject) => format!(
                "{name} knows you as {subject}, who may not sign in here. Who runs this service can add that to auth.upstream.subjects in its configuration."
            ),
            Self::Failed(error) => error.description.clone(),
        }
    }
}

impl Server<'_> {
    /// Begins a sign-in that ends at the page `next`, in a browser that shows `browser`. Costs the store nothing.
    ///
    /// # Errors
    /// [`Denied::None`], [`Denied::Unreachable`], [`Denied::Unproven`].
    pub async fn begin_upstream(&self, next: &str, browser: Option<&str>) -> Result<Begun, Denied> {
        let upstream = self.issuer.upstream.as_ref().ok_or(Denied::None)?;
        let id = (self.random)()?;
        let next = Some(next).filter(|next| next.len() <= MAX_NEXT).unwrap_or_default().to_owned();
        let browser = browser.and_then(|browser| self.known_browser(browser)).map(str::to_owned);
        let note = Note { id, next, browser, expires: self.after(TIME).as_second() };
        let note = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&note).unwrap_or_default());
        let kept = format!("{note}.{}", self.upstream_seal("note", &note));
        let handshake = self.handshake(id);
        Ok(Begun { address: in_time(provider::address(upstream, &handshake)).await?, kept })
    }

    /// Ends a sign-in with the provider's `answer`, in the browser that has `kept` a note of it and comes from `address`, a pseudonym. Three
    /// requests to the store, none for who has no note. The note proves that the browser began this, so it is no guess, and is not counted with tries of passphrases.
    ///
    /// # Errors
    /// [`Denied`].
    pub async fn finish_upstream(
        &self,
        kept: Option<&str>,
        answer: &Map<String, Value>,
        address: &str,
    ) -> Result<Finished, Denied> {
        let upstream = self.issuer.upstream.as_ref().ok_or(Denied::None)?;
        let note = kept.and_then(|kept| self.note(kept)).ok_or(Denied::Stale)?;
        let state = text(answer, "state").unwrap_or_default();
        let is_same = is_sealed(&self.issuer.authority.secret, &[PURPOSE, "state"], &note.id.to_string(), state);
        if !is_same || self.now.as_second() >= note.expires {
            return Err(Denied::Stale);
        }
        self.mirror.check_writes_once().await?;
        let whose = format!("upstream-{}", note.browser.as_deref().unwrap_or(address));
        if let Err(seconds) = self.begin_attempt(&whose).await? {
            return Err(Denied::Wait(seconds));
        }
        let own = Used { by: (self.random)()? };
        let first = self.mirror.get_or_create_state(&named("upstream", hash("upstream state", state)), &own).await?;
        if first.is_some_and(|first| first != own) {
            return Err(Denied::Stale);
        }
        // Before the code goes anywhere (RFC 9207).
        let issuer = text(answer, "iss");
        if issuer.is_some_and(|issuer| issuer != upstream.document.issuer) {
            return Err(Denied::Unproven("the answer is another issuer's".to_owned()));
        }
        if let Some(word) = text(answer, "error") {
            return Err(Denied::Refused(plain(word)));
        }
        let code = text(answer, "code").filter(|code| code.len() <= MAX_CODE);
        let code = code.ok_or_else(|| Denied::Unproven("the answer has no code".to_owned()))?;
        let handshake = self.handshake(note.id);
        let asked = provider::identity(upstream, &handshake, code, issuer.is_some(), self.now);
        let identity = in_time(asked).await?;
        if !is_listed(&upstream.document, &identity) {
            return Err(Denied::Stranger(identity.subject));
        }
        Ok(Finished { next: note.next, is_known: note.browser.is_some() })
    }

    fn upstream_seal(&self, part: &str, text: &str) -> String {
        seal(&self.issuer.authority.secret, &[PURPOSE, part], text)
    }

    fn handshake(&self, id: Id) -> Handshake {
        let part = |part| self.upstream_seal(part, &id.to_string());
        let redirect_uri = format!("{}{BACK}", self.issuer.address);
        Handshake { redirect_uri, state: part("state"), nonce: part("nonce"), verifier: part("verifier") }
    }

    /// The note of a browser that this server gave it.
    fn note(&self, kept: &str) -> Option<Note> {
        let (note, sealed) = kept.split_once('.').filter(|_| kept.len() <= MAX_NOTE)?;
        if !is_sealed(&self.issuer.authority.secret, &[PURPOSE, "note"], note, sealed) {
            return None;
        }
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(note).ok()?).ok()
    }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, Denied>>) -> Result<T, Denied> {
    let late = |_| Err(Denied::Unreachable("it took too long over all".to_owned()));
    tokio::time::timeout(MAX_ASKED, asked).await.unwrap_or_else(late)
}

/// Whether the person may be who the provider says. The provider is the configured issuer, so that its subjects are meant.
fn is_listed(document: &UpstreamDocument, identity: &Identity) -> bool {
    let is_email = |email: &String| document.emails.iter().any(|listed| listed.eq_ignore_ascii_case(email));
    document.subjects.contains(&identity.subject) || identity.email.as_ref().is_some_and(is_email)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn people_are_listed_by_subject_or_by_verified_email() {
        let document = json!({ "issuer": "https://a.example", "clientId": "c", "subjects": ["Ab1"], "emails": ["Ida@example.org"] });
        let document: UpstreamDocument = serde_json::from_value(document).unwrap();
        for (subject, email, is_in) in [
            ("Ab1", None, true),
            ("ab1", None, false),
            ("Ab1 ", None, false),
            ("", None, false),
            ("other", Some("ida@example.org"), true),
            ("other", Some("ida@example.org.evil"), false),
            ("other", None, false),
            // An email is no subject.
            ("Ida@example.org", None, false),
        ] {
            let identity = Identity { subject: subject.to_owned(), email: email.map(str::to_owned) };
            assert_eq!(is_listed(&document, &identity), is_in, "{subject} {email:?}");
        }
    }
}
