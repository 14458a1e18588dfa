//! Clients of a host, identified by unsigned tokens of their own.

use std::fmt;
use std::sync::Arc;

use atlas_access::Caller;
use jiff::Timestamp;

/// Finds the client of a token.
#[derive(Clone)]
pub struct Clients {
    client_of: Arc<ClientOf>,
    names: Arc<Names>,
}

type ClientOf = dyn Fn(&str) -> Option<Caller> + Send + Sync;
type Names = dyn Fn() -> Vec<(String, Timestamp)> + Send + Sync;

impl Clients {
    /// Clients whose tokens `client_of` resolves; `names` lists them, with the time since when each has its token.
    pub fn new(
        client_of: impl Fn(&str) -> Option<Caller> + Send + Sync + 'static,
        names: impl Fn() -> Vec<(String, Timestamp)> + Send + Sync + 'static,
    ) -> Self {
        Self { client_of: Arc::new(client_of), names: Arc::new(names) }
    }

    /// The client that a token belongs to.
    #[must_use]
    pub fn client_of(&self, token: &str) -> Option<Caller> {
        (self.client_of)(token)
    }

    /// The names of all clients, with the time since when each has its token.
    #[must_use]
    pub fn names(&self) -> Vec<(String, Timestamp)> {
        (self.names)()
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clients")
    }
}
