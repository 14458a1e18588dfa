//! `auth.upstream`: an OpenID provider that says who the person is.

use std::time::Duration;

use atlas_outbound::client::Reach;
use atlas_outbound::{Documents, Origin, Policy, Trust, Url};
use serde::{Deserialize, Serialize};

use crate::config::error::{DocumentError, range};
use crate::settings::hidden::Hidden;

/// Most bytes that are read of an answer: sets of keys are the largest.
const MAX_ANSWER: usize = 128 << 10;
/// Milliseconds that an answer may take, where the document does not say it.
const TIME: u64 = 5_000;
/// Longest address and longest name of a client, in bytes.
const MAX_ADDRESS: usize = 1024;
const MAX_CLIENT: usize = 256;
/// Longest name that the page shows, in bytes.
const MAX_NAME: usize = 60;
/// Most people that are let in, and longest subject and email (OpenID Connect Core, section 2).
const MAX_PEOPLE: usize = 50;
const MAX_SUBJECT: usize = 255;
/// Most origins besides the issuer's.
const MAX_ORIGINS: usize = 8;

/// `auth.upstream`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpstreamDocument {
    /// The provider: its `iss`, below which its metadata is.
    pub issuer: String,
    /// What it knows this deployment by.
    pub client_id: String,
    /// What the page calls it; its host if omitted.
    #[serde(default)]
    pub name: Option<String>,
    /// The subjects who are the person.
    #[serde(default)]
    pub subjects: Vec<String>,
    /// The emails of who is the person, where the provider has verified them.
    #[serde(default)]
    pub emails: Vec<String>,
    /// Other origins of the provider, where not all that it offers is at its issuer's.
    #[serde(default)]
    pub origins: Vec<String>,
    /// How long an answer may take, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

/// The provider, ready to be asked.
#[derive(Debug)]
pub struct Upstream {
    /// The configuration.
    pub document: UpstreamDocument,
    /// `ATLAS_UPSTREAM_SECRET`: the secret that the provider gave this deployment, if it gave one.
    pub secret: Option<Hidden>,
    /// Asks the provider, at its origins alone.
    pub documents: Documents,
}

impl UpstreamDocument {
    pub(crate) fn check(&self) -> Result<(), DocumentError> {
        let wrong = |name: &str, remedy: String| Err(DocumentError::new(format!("auth.upstream.{name}"), remedy));
        range("auth.upstream.timeoutMs", self.timeout_ms, 100, 8_000)?;
        if !(1..=MAX_CLIENT).contains(&self.client_id.len()) || !self.client_id.bytes().all(|b| b.is_ascii_graphic()) {
            return wrong("clientId", "write what the provider calls this deployment".to_owned());
        }
        if self.name.as_ref().is_some_and(|name| name.is_empty() || name.len() > MAX_NAME) {
            return wrong("name", format!("write 1 to {MAX_NAME} bytes, or leave it out"));
        }
        let people = self.subjects.len() + self.emails.len();
        let is_text = |text: &String| (1..=MAX_SUBJECT).contains(&text.len()) && !text.chars().any(char::is_control);
        if !(1..=MAX_PEOPLE).contains(&people) || !self.subjects.iter().all(is_text) {
            return wrong("subjects", format!("write 1 to {MAX_PEOPLE} people who may sign in, by their `sub`"));
        }
        if !self.emails.iter().all(|email| is_text(email) && email.contains('@')) {
            return wrong("emails", "write addresses such as ida@example.org".to_owned());
        }
        self.policy().map(drop)
    }

    /// What the page calls the provider.
    #[must_use]
    pub fn shown(&self) -> String {
        let host = || self.issuer.parse::<Url>().ok().and_then(|url| url.host_str().map(str::to_owned));
        self.name.clone().or_else(host).unwrap_or_default()
    }

    /// Where requests may go.
    fn policy(&self) -> Result<Policy, DocumentError> {
        let wrong = |name: &str, remedy: &str| DocumentError::new(format!("auth.upstream.{name}"), remedy);
        let issuer = address(&self.issuer)
            .ok_or_else(|| wrong("issuer", "write the provider's issuer, such as https://login.example.org"))?;
        let bare = |text: &String| address(text).filter(|url| url.path() == "/" && !text.ends_with('/'));
        let others: Option<Vec<Url>> = self.origins.iter().map(bare).collect();
        let others = others.filter(|others| others.len() <= MAX_ORIGINS).ok_or_else(|| {
            wrong("origins", "write at most 8 origins such as https://oauth2.example.org, without a path")
        })?;
        let origins = [issuer].iter().chain(&others).filter_map(Origin::of).collect();
        let max_time = Duration::from_millis(self.timeout_ms.unwrap_or(TIME));
        Ok(Policy { reach: Reach::Origins(origins), trust: Trust::Machine, max_time, max_bytes: MAX_ANSWER })
    }

    /// The provider, which knows this deployment by `secret`. Nothing is asked of it yet.
    ///
    /// # Errors
    /// When an address cannot be used.
    pub(crate) fn open(&self, secret: Option<Hidden>) -> Result<Upstream, DocumentError> {
        Ok(Upstream { document: self.clone(), secret, documents: Documents::within(self.policy()?) })
    }
}

impl Upstream {
    /// Whether what is at `url` is the provider's.
    #[must_use]
    pub fn is_its(&self, url: &Url) -> bool {
        let Reach::Origins(origins) = &self.documents.client().policy().reach else { return false };
        Origin::of(url).is_some_and(|origin| origins.contains(&origin))
    }
}

/// The address `text`, if secrets can be told there: over HTTPS, or on this machine.
fn address(text: &str) -> Option<Url> {
    let url: Url = Some(text).filter(|text| text.len() <= MAX_ADDRESS)?.parse().ok()?;
    let is_bare = url.query().is_none() && url.fragment().is_none();
    let is_open = url.username().is_empty() && url.password().is_none();
    let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let is_secret = url.scheme() == "https" || url.scheme() == "http" && is_local;
    (is_bare && is_open && is_secret).then_some(url)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn checked(change: Value) -> Result<(), String> {
        let mut document =
            json!({ "issuer": "https://login.example/tenant", "clientId": "atlas", "subjects": ["248289"] });
        for (name, value) in change.as_object().unwrap() {
            document[name] = value.clone();
        }
        let document: UpstreamDocument = serde_json::from_value(document).unwrap();
        document.check().map_err(|error| error.path)
    }

    #[test]
    fn a_provider_is_asked_where_nobody_else_hears_it_and_for_named_people() {
        for good in [
            json!({}),
            json!({ "issuer": "http://127.0.0.1:4444" }),
            json!({ "subjects": [], "emails": ["ida@example.org"] }),
            json!({ "origins": ["https://oauth2.example", "http://localhost:1"], "name": "Example" }),
        ] {
            assert_eq!(checked(good.clone()), Ok(()), "{good}");
        }
        for (bad, name) in [
            (json!({ "issuer": "http://login.example" }), "issuer"),
            (json!({ "issuer": "https://login.example/?x" }), "issuer"),
            (json!({ "issuer": "https://a:b@login.example" }), "issuer"),
            (json!({ "issuer": "login.example" }), "issuer"),
            (json!({ "clientId": "" }), "clientId"),
            (json!({ "clientId": "a b" }), "clientId"),
            (json!({ "subjects": [] }), "subjects"),
            (json!({ "subjects": [""] }), "subjects"),
            (json!({ "subjects": vec!["x"; 51] }), "subjects"),
            (json!({ "emails": ["ida"] }), "emails"),
            (json!({ "origins": ["https://oauth2.example/token"] }), "origins"),
            (json!({ "origins": ["http://oauth2.example"] }), "origins"),
            (json!({ "name": "" }), "name"),
            (json!({ "timeoutMs": 60_000 }), "timeoutMs"),
        ] {
            assert_eq!(checked(bad.clone()), Err(format!("auth.upstream.{name}")), "{bad}");
        }
    }
}
