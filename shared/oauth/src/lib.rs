//! The authorization server: it gives clients tokens that a person granted. OAuth 2.1, as MCP's authorization has it, over nothing but the bucket; any number of
//! instances can answer.
//!
//! The pages where the person signs in and decides are `atlas_ui`'s. The same gates decide about its tokens as about any others.
//!
//! # Layout
//!
//! - this file: the routes of programs; `endpoints` answers them; [`metadata`] describes them
//! - [`request`]: a request for authorization; [`redirect`]: where codes may be sent to; `pkce`: who may redeem them
//! - [`client`] and [`clients`]: who asks
//! - [`server`]: the server at one moment; [`grant`]: grants, codes and refresh tokens; [`device`]: terminals
//! - [`person`]: how the person signs in, with a [`passphrase`]; [`upstream`]: through an OpenID provider
//! - [`error`]: errors, as clients of OAuth know them

pub mod client;
pub mod clients;
pub mod device;
mod endpoints;
pub mod error;
pub mod grant;
pub mod metadata;
pub mod passphrase;
pub mod person;
mod pkce;
pub mod redirect;
pub mod request;
pub mod server;
pub mod upstream;

pub use client::Client;
pub use clients::client_of;
pub use error::OAuthError;
pub use grant::{Choice, Grant};
pub use request::{AuthorizationRequest, Refusal};
pub use server::Server;

use atlas_web::Routes;
use axum::routing::{get, post};

use crate::metadata::{DEVICE, KEYS, METADATA, REGISTER, REVOKE, TOKEN};

/// The routes that programs ask.
#[must_use]
pub fn routes() -> Routes {
    let [of_oauth, of_openid] = METADATA;
    let described = || get(endpoints::metadata).options(endpoints::preflight);
    Routes::default()
        .without_token(&[of_oauth, of_openid, KEYS, TOKEN, REGISTER, REVOKE, DEVICE])
        .serve(of_oauth, &[], described())
        .serve(of_openid, &[], described())
        .serve(KEYS, &[], get(endpoints::keys).options(endpoints::preflight))
        .serve(TOKEN, &[], post(endpoints::token).options(endpoints::preflight))
        .serve(REGISTER, &[], post(endpoints::registration).options(endpoints::preflight))
        .serve(REVOKE, &[], post(endpoints::revocation).options(endpoints::preflight))
        .serve(DEVICE, &[], post(endpoints::device).options(endpoints::preflight))
}
