//! Finds the client of an id.

use atlas_outbound::Url;
use atlas_web::App;

use crate::client::{Client, Metadata, registered};
use crate::error::{Code, OAuthError};
use crate::redirect;
use crate::server::Server;

/// Longest address of a metadata document, in bytes.
const MAX_ADDRESS: usize = 512;

/// The client with this id: one that registered itself, or one whose metadata is at an address.
///
/// # Errors
/// [`Code::InvalidClient`].
pub async fn client_of(app: &App, server: &Server<'_>, id: &str) -> Result<Client, OAuthError> {
    match address(server, id)? {
        Some(url) => published(app, id, &url).await,
        None => known(server, id),
    }
}

/// The client with this id, without asking anybody: of one whose metadata is at an address nothing more is known.
///
/// # Errors
/// [`Code::InvalidClient`].
pub(crate) fn unasked_client_of(server: &Server<'_>, id: &str) -> Result<Client, OAuthError> {
    let Some(url) = address(server, id)? else { return known(server, id) };
    let host = url.host_str().map(str::to_owned);
    Ok(Client { id: id.to_owned(), name: String::new(), redirect_uris: Vec::new(), host })
}

/// The client that registered itself, and got this id.
fn known(server: &Server<'_>, id: &str) -> Result<Client, OAuthError> {
    let unknown = || OAuthError::new(Code::InvalidClient, "this client is not known here: it has to register again");
    registered(&server.issuer.authority.secret, id).ok_or_else(unknown)
}

/// The address that `id` is, if it is one and clients may have such ids.
fn address(server: &Server<'_>, id: &str) -> Result<Option<Url>, OAuthError> {
    if !id.starts_with("https://") || !server.issuer.options.client_metadata_documents {
        return Ok(None);
    }
    let url = id.parse::<Url>().ok().filter(|_| id.len() <= MAX_ADDRESS);
    // In one spelling alone, so that no two ids are one client.
    let is_plain =
        |url: &Url| url.as_str() == id && url.path().len() > 1 && url.query().is_none() && url.fragment().is_none();
    let text = "client_id: write the address of a document, with a path, without ? and #";
    url.filter(is_plain).map(Some).ok_or_else(|| OAuthError::new(Code::InvalidClient, text))
}

/// The client whose metadata is at the address `id`.
async fn published(app: &App, id: &str, url: &Url) -> Result<Client, OAuthError> {
    let wrong = |text: &str| OAuthError::new(Code::InvalidClient, text);
    let bytes = app.documents.get(url).await.map_err(|error| OAuthError {
        internal: Some(error.to_string()),
        ..wrong("the metadata document of this client could not be fetched")
    })?;
    let metadata: Metadata =
        serde_json::from_slice(&bytes).map_err(|_| wrong("the metadata document of this client is not one"))?;
    if metadata.client_id.as_deref() != Some(id) {
        return Err(wrong("the metadata document has another client_id than its address"));
    }
    metadata.check()?;
    let host = url.host_str().map(str::to_owned);
    Ok(Client { id: id.to_owned(), name: metadata.name(), redirect_uris: metadata.redirect_uris, host })
}

impl Client {
    /// Where it is, for the person: the host that vouches for it, or the place that its codes are sent to.
    #[must_use]
    pub fn place(&self, redirect_uri: &str) -> String {
        self.host.clone().unwrap_or_else(|| redirect::place(redirect_uri))
    }
}
