//! Clients. One that registers itself gets an id that has its registration in it, sealed: nothing is stored, so registrations cost nothing however many
//! there are, and every instance knows them.

use atlas_access::Secret;
use atlas_access::seal::{is_sealed, seal};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Code, OAuthError};
use crate::redirect;

/// Most addresses of one client, and most bytes of its id: tokens name it.
const MAX_REDIRECTS: usize = 8;
pub(crate) const MAX_ID: usize = 2000;
/// Longest name, in characters.
const MAX_NAME: usize = 60;
const PURPOSE: &str = "oauth client";
/// The kinds of grants that clients can use.
pub(crate) const GRANT_TYPES: [&str; 3] =
    ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"];

/// A client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// The name that it gave itself, which proves nothing.
    pub name: String,
    /// Where its codes may be sent to.
    pub redirect_uris: Vec<String>,
    /// The host that published its metadata; [`None`] for one that registered itself.
    pub host: Option<String>,
}

/// A registration, as the id has it.
#[derive(Debug, Serialize, Deserialize)]
struct Registration {
    #[serde(rename = "n")]
    name: String,
    #[serde(rename = "r")]
    redirect_uris: Vec<String>,
    #[serde(rename = "t")]
    made: i64,
}

/// A request to register (RFC 7591, section 2). Other fields are ignored, as the standard has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Metadata {
    pub(crate) client_id: Option<String>,
    pub(crate) client_name: Option<String>,
    pub(crate) redirect_uris: Vec<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

impl Metadata {
    pub(crate) fn check(&self) -> Result<(), OAuthError> {
        let refused = |text: String| Err(OAuthError::new(Code::InvalidClientMetadata, text));
        let grants = self.grant_types.clone().unwrap_or_else(|| vec![GRANT_TYPES[0].to_owned()]);
        if let Some(other) = grants.iter().find(|grant| !GRANT_TYPES.contains(&grant.as_str())) {
            return refused(format!("grant_types: {} is not supported", plain(other)));
        }
        if self.response_types.iter().flatten().any(|kind| kind != "code") {
            return refused("response_types: only code is supported".to_owned());
        }
        // A terminal that shows a code to type in gets nothing sent.
        let needs_address = grants.iter().any(|grant| grant == GRANT_TYPES[0]);
        if self.redirect_uris.len() > MAX_REDIRECTS || needs_address && self.redirect_uris.is_empty() {
            return refused(format!("redirect_uris: write 1 to {MAX_REDIRECTS} addresses"));
        }
        if !self.redirect_uris.iter().all(|address| redirect::is_allowed(address)) {
            let text = "redirect_uris: write https://, http:// with localhost, 127.0.0.1 or [::1], or a scheme of the program; without fragment and credentials";
            return Err(OAuthError::new(Code::InvalidRedirectUri, text));
        }
        Ok(())
    }

    /// The name, shortened to one that can be shown.
    pub(crate) fn name(&self) -> String {
        let name = self.client_name.as_deref().unwrap_or_default();
        // Marks that turn the direction of text could make a name look like another.
        let is_shown = |c: &char| {
            !c.is_control()
                && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
        };
        let shown: String = name.chars().filter(is_shown).take(MAX_NAME).collect();
        shown.trim().to_owned()
    }
}

/// Registers a client: its metadata, as the answer has it (RFC 7591, section 3.2.1).
pub(crate) fn register(secret: &Secret, metadata: &Metadata, now: Timestamp) -> Result<Value, OAuthError> {
    metadata.check()?;
    let registration =
        Registration { name: metadata.name(), redirect_uris: metadata.redirect_uris.clone(), made: now.as_second() };
    let text = serde_json::to_vec(&registration).unwrap_or_default();
    let text = URL_SAFE_NO_PAD.encode(text);
    // The place first, since logs and lists show the beginning.
    let first = registration.redirect_uris.first().and_then(|address| address.parse::<atlas_outbound::Url>().ok());
    let host = first.as_ref().and_then(|url| url.host_str()).unwrap_or("terminal");
    let host: String = host.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-')).take(60).collect();
    let body = format!("{host}~{text}");
    let id = format!("{body}~{}", seal(secret, &[PURPOSE], &body));
    if id.len() > MAX_ID {
        return Err(OAuthError::new(Code::InvalidClientMetadata, "redirect_uris: they are too long together"));
    }
    Ok(json!({
        "client_id": id,
        "client_id_issued_at": registration.made,
        "client_name": registration.name,
        "grant_types": GRANT_TYPES,
        "redirect_uris": registration.redirect_uris,
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }))
}

/// The client that registered itself and got this id.
pub(crate) fn registered(secret: &Secret, id: &str) -> Option<Client> {
    let (body, sealed) = id.rsplit_once('~').filter(|_| id.len() <= MAX_ID)?;
    if !is_sealed(secret, &[PURPOSE], body, sealed) {
        return None;
    }
    let (_, text) = body.split_once('~')?;
    let registration: Registration = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let Registration { name, redirect_uris, .. } = registration;
    Some(Client { id: id.to_owned(), name, redirect_uris, host: None })
}

/// `text` as an error may show it: short, and in plain characters.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\')).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(letter: &str) -> Secret {
        Secret::new(letter.repeat(32)).unwrap()
    }

    fn metadata(value: Value) -> Metadata {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_registration_is_in_the_id_and_cannot_be_changed() {
        let request = metadata(json!({ "redirect_uris": ["https://claude.ai/cb"], "client_name": "Claude\u{202e}\n" }));
        let answer = register(&secret("a"), &request, Timestamp::UNIX_EPOCH).unwrap();
        let id = answer["client_id"].as_str().unwrap();
        assert!(id.starts_with("claude.ai~"), "{id}");
        let client = registered(&secret("a"), id).unwrap();
        assert_eq!(
            (client.name.as_str(), &client.redirect_uris[..]),
            ("Claude", &["https://claude.ai/cb".to_owned()][..])
        );
        assert_eq!(registered(&secret("b"), id), None);
        for at in (0..id.len()).step_by(7) {
            let mut other = id.to_owned();
            other.replace_range(at..=at, if &id[at..=at] == "A" { "B" } else { "A" });
            assert_eq!(registered(&secret("a"), &other), None, "{at}");
        }
    }

    #[test]
    fn what_cannot_be_a_client_is_not_registered() {
        for (request, code) in [
            (json!({}), Code::InvalidClientMetadata),
            (json!({ "redirect_uris": ["http://evil.example/"] }), Code::InvalidRedirectUri),
            (json!({ "redirect_uris": ["https://a.example/", "javascript://x"] }), Code::InvalidRedirectUri),
            (json!({ "redirect_uris": vec!["https://a.example/"; 9] }), Code::InvalidClientMetadata),
            (
                json!({ "redirect_uris": vec![format!("https://a.example/{}", "x".repeat(400)); 8] }),
                Code::InvalidClientMetadata,
            ),
            (
                json!({ "redirect_uris": ["https://a.example/"], "grant_types": ["password"] }),
                Code::InvalidClientMetadata,
            ),
            (
                json!({ "redirect_uris": ["https://a.example/"], "response_types": ["token"] }),
                Code::InvalidClientMetadata,
            ),
        ] {
            let error = register(&secret("a"), &metadata(request.clone()), Timestamp::UNIX_EPOCH).unwrap_err();
            assert_eq!(error.code, code, "{request}");
        }
    }
}
