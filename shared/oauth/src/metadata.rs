//! The server's metadata (RFC 8414, OpenID Connect Discovery).

use atlas_access::scope::GRANTABLE;
use atlas_web::issuer::Issuer;
use serde_json::{Value, json};

use crate::client::GRANT_TYPES;
use crate::pkce;

/// The paths of the metadata: as RFC 8414 has it, and as OpenID Connect does.
pub const METADATA: [&str; 2] = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
/// The path of the public keys.
pub const KEYS: &str = "/oauth/jwks";
/// The path where tokens are given.
pub const TOKEN: &str = "/oauth/token";
/// The path where clients register.
pub const REGISTER: &str = "/oauth/register";
/// The path where tokens are revoked.
pub const REVOKE: &str = "/oauth/revoke";
/// The path where terminals ask for a code.
pub const DEVICE: &str = "/oauth/device_authorization";
/// The page where a person decides.
pub const AUTHORIZE: &str = "/ui/authorize";

/// The metadata of `issuer`.
#[must_use]
pub fn of(issuer: &Issuer) -> Value {
    let (base, options) = (&issuer.address, &issuer.options);
    let scopes: Vec<&str> = GRANTABLE.iter().map(|scope| scope.as_str()).collect();
    let mut grant_types = GRANT_TYPES.to_vec();
    if !options.device_authorization {
        grant_types.pop();
    }
    let mut metadata = json!({
        "authorization_endpoint": format!("{base}{AUTHORIZE}"),
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": options.client_metadata_documents,
        "code_challenge_methods_supported": [pkce::METHOD],
        "grant_types_supported": grant_types,
        "issuer": base,
        "jwks_uri": format!("{base}{KEYS}"),
        "protected_resources": issuer.resources(),
        "response_modes_supported": ["query"],
        "response_types_supported": ["code"],
        "revocation_endpoint": format!("{base}{REVOKE}"),
        "revocation_endpoint_auth_methods_supported": ["none"],
        "scopes_supported": scopes,
        "token_endpoint": format!("{base}{TOKEN}"),
        "token_endpoint_auth_methods_supported": ["none"],
    });
    if options.dynamic_registration {
        metadata["registration_endpoint"] = format!("{base}{REGISTER}").into();
    }
    if options.device_authorization {
        metadata["device_authorization_endpoint"] = format!("{base}{DEVICE}").into();
    }
    atlas_ops::sorted(metadata)
}
