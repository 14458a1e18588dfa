//! A build that cannot ask a provider, since it was built without the feature `upstream`.

use atlas_web::config::upstream::Upstream;
use jiff::Timestamp;

use super::{Denied, Handshake, Identity};
use crate::error::{Code, OAuthError};

fn absent() -> Denied {
    let text = "this build cannot ask another service: take a release, or build with the feature upstream";
    Denied::Failed(OAuthError::new(Code::ServerError, text))
}

pub(super) async fn address(_: &Upstream, _: &Handshake) -> Result<String, Denied> {
    Err(absent())
}

pub(super) async fn identity(_: &Upstream, _: &Handshake, _: &str, _: bool, _: Timestamp) -> Result<Identity, Denied> {
    Err(absent())
}
