//! How tokens are checked, and where callers get them.

use std::fmt;

use atlas_access::Secret;

use crate::config::document::ServerDocument;

/// How tokens are checked, and where callers get them.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// `ATLAS_JWT_SECRET`: checks HS256, and nothing else.
    pub secret: Option<Secret>,
    /// `ATLAS_JWT_SECRET_FILE`: the path of a file with the secret.
    pub secret_file: Option<String>,
    /// `ATLAS_JWKS`: public keys, a JWKS or one for each issuer, or the path of a file with that.
    pub jwks: Option<String>,
    /// `ATLAS_JWT_ISSUER`: the accepted `iss`; any if empty.
    pub issuers: Vec<String>,
    /// `ATLAS_JWT_AUDIENCE`: the accepted `aud`. If empty, `resource` with public keys, else any.
    pub audiences: Vec<String>,
    /// `ATLAS_JWT_ALGORITHMS`: the accepted `alg`.
    pub algorithms: Vec<String>,
    /// `ATLAS_RESOURCE`: the address of this deployment, as its callers write it.
    pub resource: Option<String>,
    /// `ATLAS_AUTHORIZATION_SERVERS`: the addresses of the authorization servers.
    pub authorization_servers: Vec<String>,
    /// `ATLAS_OAUTH_KEYS`: the secrets of the deployment's own authorization server. They are not shown.
    pub authority: Option<Hidden>,
    /// `ATLAS_OAUTH_KEYS_FILE`: the path of a file with them.
    pub authority_file: Option<String>,
    /// How the authorization server of its own behaves.
    pub server: ServerDocument,
    /// Whether each request looks whether its grant was revoked.
    pub check_revocation: bool,
}

/// A text that is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(pub String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
