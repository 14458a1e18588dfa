//! How tokens are checked, and where callers get them.

use atlas_access::Secret;

use crate::config::document::ServerDocument;
use crate::config::upstream::UpstreamDocument;
use crate::settings::hidden::Hidden;

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
    /// The OpenID provider that says who the person is, if there is one.
    pub upstream: Option<UpstreamDocument>,
    /// `ATLAS_UPSTREAM_SECRET`: the secret that it gave this deployment. It is not shown.
    pub upstream_secret: Option<Hidden>,
    /// Whether each request looks whether its grant was revoked.
    pub check_revocation: bool,
}
