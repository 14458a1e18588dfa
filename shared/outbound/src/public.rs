//! Public addresses: hosts that a stranger named. What a name leads to is looked at after it was resolved, and the connection is made to what was looked at, so
//! that no name leads into the network that the program is in.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::error::{Error, NotPublic};

/// The port of HTTPS.
const HTTPS: u16 = 443;

/// Finds the addresses of a name.
pub type Resolver = Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> + Send + Sync>;

/// Which public addresses requests may go to: names over HTTPS, at one port.
#[derive(Clone)]
pub struct Public {
    /// Finds the addresses of a name.
    pub resolver: Resolver,
    /// Whether a connection may be made to an address.
    pub is_public: fn(IpAddr) -> bool,
    /// The port.
    pub port: u16,
}

impl fmt::Debug for Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Public").field("port", &self.port).finish_non_exhaustive()
    }
}

impl Default for Public {
    /// Names that the machine resolves, at the port of HTTPS.
    fn default() -> Self {
        let resolver: Resolver = Arc::new(|name| {
            Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) })
        });
        Self { resolver, is_public, port: HTTPS }
    }
}

impl Public {
    /// Refuses an address that is none of a name over HTTPS.
    pub(crate) fn check(&self, url: &Url) -> Result<(), Error> {
        if url.scheme() != "https" || url.port_or_known_default() != Some(self.port) {
            return Err(Error::Refused("only HTTPS is spoken with strangers, at its own port"));
        }
        // An address of IPv4 in any spelling is parsed as one, and an address of IPv6 is in brackets.
        let host = url.host_str().unwrap_or_default();
        let is_name = host.contains('.') && host.parse::<Ipv4Addr>().is_err() && !host.starts_with('[');
        if is_name { Ok(()) } else { Err(Error::Refused("a public host has a name")) }
    }
}

impl Resolve for Public {
    fn resolve(&self, name: Name) -> Resolving {
        let (resolver, is_public) = (self.resolver.clone(), self.is_public);
        Box::pin(async move {
            let found = resolver(name.as_str().to_owned()).await?;
            // One that is not public among public ones is a trick as well.
            if !found.iter().all(|address| is_public(*address)) {
                return Err(NotPublic.into());
            }
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

/// Whether an address is one that everybody on the Internet can reach.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_reserved = match (a, b, c) {
        // This network, loopback, multicast, reserved.
        (0 | 127 | 224..=255, ..) => true,
        // Private, shared among customers, of this link, of protocols, for relays, for benchmarks.
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => true,
        (100, 64..=127, _) | (169, 254, _) | (192, 0, 0) | (192, 88, 99) | (198, 18..=19, _) => true,
        // Documentation.
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => true,
        _ => false,
    };
    !is_reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let [a, b, ..] = address.segments();
    let is_global = a & 0xe000 == 0x2000;
    // Of protocols and tunnels (2001::/23), documentation (2001:db8::/32, 3fff::/20), and 6to4, which has an address of IPv4 in it.
    let is_special = a == 0x2001 && (b < 0x0200 || b == 0x0db8) || a == 0x2002 || a == 0x3fff && b < 0x1000;
    is_global && !is_special
}

#[cfg(test)]
mod tests;
