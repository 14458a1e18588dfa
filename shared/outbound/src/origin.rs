//! Where requests may go.

use std::fmt;

use reqwest::Url;

/// A scheme, a host and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    is_secure: bool,
    host: String,
    port: u16,
}

impl Origin {
    /// The origin of `url`; none if it is not one of HTTP.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        let is_secure = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        Some(Self { is_secure, host: url.host_str()?.to_owned(), port: url.port_or_known_default()? })
    }

    /// Whether what is sent there is encrypted.
    #[must_use]
    pub const fn is_secure(&self) -> bool {
        self.is_secure
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}
