//! Clients of a host, identified by unsigned tokens of their own.

use std::fmt;
use std::sync::Arc;

use atlas_access::Caller;

/// Finds the client of a token.
#[derive(Clone)]
pub struct Clients(Arc<ClientOf>);

type ClientOf = dyn Fn(&str) -> Option<Caller> + Send + Sync;

impl Clients {
    /// Clients whose tokens `client_of` resolves.
    pub fn new(client_of: impl Fn(&str) -> Option<Caller> + Send + Sync + 'static) -> Self {
        Self(Arc::new(client_of))
    }

    /// The client that a token belongs to.
    #[must_use]
    pub fn client_of(&self, token: &str) -> Option<Caller> {
        (self.0)(token)
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clients")
    }
}
