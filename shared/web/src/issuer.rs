//! The deployment's own authorization server, as its settings describe it. `atlas_oauth` is what it does.

use atlas_access::Authority;
use axum::http::Uri;

use crate::config::document::ServerDocument;
use crate::config::upstream::Upstream;
use crate::settings::error::unusable;
use crate::settings::files::read;
use crate::settings::{Hidden, Settings, SettingsError, Tokens};

/// Where the server keeps its state, below `state/` of the default vault.
pub const FOLDER: &str = "oauth";
/// The MCP door.
const MCP: &str = "/mcp";
const KEYS: &str = "ATLAS_OAUTH_KEYS";
const FILE: &str = "ATLAS_OAUTH_KEYS_FILE";
const UPSTREAM: &str = "auth.upstream";
const UPSTREAM_SECRET: &str = "ATLAS_UPSTREAM_SECRET";
/// Longest secret that a provider gives, in bytes.
const MAX_SECRET: usize = 4096;

/// An authorization server.
#[derive(Debug)]
pub struct Issuer {
    /// Its address, without a slash at the end: what tokens have as `iss`, and where its routes are.
    pub address: String,
    /// Its secrets.
    pub authority: Authority,
    /// How it behaves.
    pub options: ServerDocument,
    /// The OpenID provider that says who the person is, if there is one.
    pub upstream: Option<Upstream>,
}

impl Issuer {
    /// The server of `settings`, if they have its secrets. Reads the file, if they name one.
    ///
    /// # Errors
    /// When the secrets, or the address that they are for, cannot be used.
    pub fn of(settings: &Settings) -> Result<Option<Self>, SettingsError> {
        let tokens = &settings.tokens;
        let (name, text) = match (&tokens.authority, &tokens.authority_file) {
            (None, None) => return Ok(None),
            (Some(_), Some(path)) => {
                return Err(unusable(FILE, path, "there is ATLAS_OAUTH_KEYS as well: set one of them"));
            }
            (Some(Hidden(text)), None) => (KEYS, text.clone()),
            (None, Some(path)) => {
                let unread = |error| {
                    unusable(FILE, path, &format!("write the path of the file that `atlas auth init` made ({error})"))
                };
                (FILE, read(path).map_err(unread)?)
            }
        };
        let shown = tokens.authority_file.as_deref().unwrap_or("…");
        let authority = Authority::parse(&text)
            .map_err(|error| unusable(name, shown, &format!("{error}: run `atlas auth init`")))?;
        let resource = settings.called("ATLAS_RESOURCE");
        let Some(address) = tokens.resource.as_deref() else {
            let remedy = "with an authorization server of its own write this deployment's address, such as https://notes.example.org";
            return Err(unusable(resource, "", remedy));
        };
        let base = address.trim_end_matches('/');
        if !is_base(base) {
            let remedy = "with an authorization server of its own write https:// and a host, without a path; http:// only for this machine";
            return Err(unusable(resource, address, remedy));
        }
        let upstream = upstream_of(tokens)?;
        if authority.passphrase.is_none() && upstream.is_none() {
            let remedy = "it has no passphrase, so that nobody could sign in: run `atlas auth passphrase`, or write `auth.upstream` into the configuration";
            return Err(unusable(name, shown, remedy));
        }
        Ok(Some(Self { address: base.to_owned(), authority, options: tokens.server.clone(), upstream }))
    }

    /// The resources that tokens are given for: the deployment in all spellings, and its MCP door.
    #[must_use]
    pub fn resources(&self) -> Vec<String> {
        addresses(&self.address)
    }
}

/// The provider, if one is configured.
fn upstream_of(tokens: &Tokens) -> Result<Option<Upstream>, SettingsError> {
    let secret = tokens.upstream_secret.clone();
    let Some(document) = &tokens.upstream else {
        return match secret {
            Some(_) => Err(unusable(UPSTREAM_SECRET, "…", "write `auth.upstream` into the configuration as well")),
            None => Ok(None),
        };
    };
    let is_secret = |text: &str| text.len() <= MAX_SECRET && text.bytes().all(|byte| byte.is_ascii_graphic());
    if secret.as_ref().is_some_and(|Hidden(text)| !is_secret(text)) {
        return Err(unusable(UPSTREAM_SECRET, "…", "write the secret as the provider gave it, without spaces"));
    }
    document.open(secret).map(Some).map_err(|error| unusable(UPSTREAM, &document.issuer, &error.remedy))
}

/// Refuses secrets of a server that would never be asked.
pub(crate) fn is_off(settings: &Settings) -> Result<(), SettingsError> {
    let (name, set) = match &settings.tokens {
        tokens if tokens.authority.is_some() => (KEYS, "…"),
        tokens => match &tokens.authority_file {
            Some(path) => (FILE, path.as_str()),
            None => return Ok(()),
        },
    };
    Err(unusable(name, set, "callers that nobody asks for tokens need none: set ATLAS_AUTH=jwt as well"))
}

/// Whether `address` is a scheme and a host that can be trusted with tokens, and nothing more.
fn is_base(address: &str) -> bool {
    let Ok(uri) = address.parse::<Uri>() else { return false };
    let is_bare = uri.path().trim_matches('/').is_empty() && uri.query().is_none();
    let host = uri.host().unwrap_or_default();
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    is_bare && !address.contains('@') && (uri.scheme_str() == Some("https") || is_local)
}

/// The name of the mark that ended a grant.
#[must_use]
pub fn ended(grant: &str) -> String {
    format!("{FOLDER}/grants/{grant}.ended")
}

/// The audiences of tokens for a deployment: its address in all spellings, and that of the MCP door, which clients
/// request.
pub(crate) fn addresses(resource: &str) -> Vec<String> {
    let base = resource.trim_end_matches('/');
    [base.to_owned(), format!("{base}/"), format!("{base}{MCP}")].to_vec()
}
