//! The host names that a server on loopback answers to. A web page can have its own name resolve to this machine, and
//! would then have the same origin as the server; but a browser still sends that name in `Host`.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::Response;
use serde_json::json;

use crate::response;
use atlas_ops::error::Reason;

/// Host names that a server answers to, besides those of this machine's loopback.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(Arc<[String]>);

impl Hosts {
    /// The names in `text`, comma-separated; [`None`] if one is invalid.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let names = text.split(',').map(|name| name.trim().to_ascii_lowercase());
        let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        let is_name = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
        names.iter().all(is_name).then(|| Self(names.into()))
    }

    /// The names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The names by which other machines can reach this one.
    pub(crate) fn public(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).filter(|name| !is_loopback(name)).collect()
    }

    /// Whether a request for `host`, with or without a port, is answered.
    fn allow(&self, host: &str) -> bool {
        let host = host.trim().to_ascii_lowercase();
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host();
        // Anything but a port beside the name, such as `user@`, is of another name for other readers.
        let is_port =
            |rest: &str| rest.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
        if !host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || is_port(rest)) {
            return false;
        }
        if let Some(address) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
        }
        is_loopback(name) || self.0.iter().any(|allowed| allowed == name)
    }
}

/// Whether `host`, with or without a port, is always the machine's own that asks.
#[must_use]
pub fn is_own_machine(host: &str) -> bool {
    Hosts::default().allow(host)
}

/// Whether a name in lower case is always this machine's own.
fn is_loopback(name: &str) -> bool {
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Refuses requests for other names. Clients other than browsers may omit it.
pub(crate) async fn check(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let named = request.headers().get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
    // A request line may have a name too, which counts instead of the header's.
    let mut named = named.chain(request.uri().authority().map(Authority::as_str));
    if named.all(|host| hosts.allow(host)) {
        return next.run(request).await;
    }
    response::failure(
        StatusCode::FORBIDDEN,
        "FORBIDDEN",
        "this server answers requests for localhost only; set ATLAS_HOSTS to the names that it is to answer for, and ATLAS_AUTH=jwt",
        &json!({ "reason": Reason::HostNotAllowed.as_str() }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_allowed_and_those_that_are_set() {
        let hosts = Hosts::parse("Notes.example.org, atlas").unwrap();
        for host in [
            "localhost",
            "LOCALHOST:3737",
            "127.0.0.1:80",
            "127.8.8.8",
            "[::1]:3737",
            "a.localhost",
            "atlas",
            "notes.example.org:8443",
        ] {
            assert!(hosts.allow(host), "{host}");
        }
        for host in [
            "",
            "evil.example.org",
            "localhost.evil.org",
            "example.org",
            "10.0.0.1",
            "0.0.0.0",
            "[::2]",
            "[::1",
            "127.0.0.1.evil.org",
            "notes.example.org.evil",
            "[::1]evil.example",
            "[::1]evil.example:80",
            "[::1]:80@evil.example",
            "localhost:foo@evil.example:80",
            "localhost@evil.example",
            "evil.example@localhost",
            "localhost:foo",
            "localhost:80:80",
            "localhost/",
            "localhost evil.example",
            ":80",
        ] {
            assert!(!hosts.allow(host), "{host}");
        }
        assert_eq!(Hosts::parse("a b"), None);
        assert_eq!(Hosts::parse(""), Some(Hosts::default()));
    }
}
