//! The deployment's own authorization server: from a request without a token to a call with one, and everything that must not work.

mod costs;
mod devices;
mod documents;
mod flow;
mod life;
mod processes;
pub(crate) mod provider;
mod signing_in;
pub(crate) mod site;
mod threats;
mod upstream;
