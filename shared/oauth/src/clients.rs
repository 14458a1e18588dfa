//! Finds the client of an id.

use atlas_web::App;

use crate::client::{Client, registered};
use crate::error::{Code, OAuthError};
use crate::redirect;
use crate::server::Server;

/// The client with this id: one that registered itself, or one whose metadata is at an address.
///
/// # Errors
/// [`Code::InvalidClient`].
pub async fn client_of(_app: &App, server: &Server<'_>, id: &str) -> Result<Client, OAuthError> {
    let unknown = || OAuthError::new(Code::InvalidClient, "this client is not known here: it has to register again");
    registered(&server.issuer.authority.secret, id).ok_or_else(unknown)
}

impl Client {
    /// Where it is, for the person: the host that vouches for it, or the place that its codes are sent to.
    #[must_use]
    pub fn place(&self, redirect_uri: &str) -> String {
        self.host.clone().unwrap_or_else(|| redirect::place(redirect_uri))
    }
}
