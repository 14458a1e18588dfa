//! The proxies in front of a server, whose word on where a request comes from is taken.

use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use axum::http::HeaderMap;

/// The header in which proxies name the addresses that a request came by, each the one that it heard from.
const FORWARDED: &str = "x-forwarded-for";
/// Most proxies, and most addresses of a request that are looked at.
const MOST: usize = 16;

/// The addresses of proxies that are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies(Arc<[IpAddr]>);

/// A text that is not a list of proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoProxies;

impl FromStr for Proxies {
    type Err = NoProxies;

    /// Addresses, comma-separated.
    fn from_str(text: &str) -> Result<Self, NoProxies> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let addresses = words.map(|word| word.parse::<IpAddr>().map(|address| address.to_canonical()));
        let addresses: Vec<IpAddr> = addresses.collect::<Result<_, _>>().map_err(|_| NoProxies)?;
        if addresses.len() > MOST { Err(NoProxies) } else { Ok(Self(addresses.into())) }
    }
}

impl Proxies {
    /// The addresses.
    #[must_use]
    pub fn addresses(&self) -> &[IpAddr] {
        &self.0
    }

    /// The address that a request with `headers` over a connection from `peer` comes from: the last one that is no trusted proxy. A client can write what it
    /// likes before that one.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.0.contains(&peer) {
            return peer;
        }
        let lines = headers.get_all(FORWARDED).iter().rev();
        let named = lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(','));
        let hops = named.take(MOST).map_while(|name| Some(name.trim().parse::<IpAddr>().ok()?.to_canonical()));
        let mut last = peer;
        for hop in hops {
            last = hop;
            if !self.0.contains(&hop) {
                break;
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_word_of_a_trusted_proxy_is_taken_and_of_nobody_else() {
        let proxies: Proxies = "127.0.0.1, 10.0.0.2".parse().unwrap();
        for (peer, lines, client) in [
            ("127.0.0.1", &["192.0.2.7"][..], "192.0.2.7"),
            ("::ffff:127.0.0.1", &["192.0.2.7"], "192.0.2.7"),
            ("127.0.0.1", &["192.0.2.7, 10.0.0.2"], "192.0.2.7"),
            ("127.0.0.1", &["192.0.2.1, 192.0.2.7,10.0.0.2"], "192.0.2.7"),
            ("127.0.0.1", &["192.0.2.1", "192.0.2.7"], "192.0.2.7"),
            ("127.0.0.1", &["10.0.0.2"], "10.0.0.2"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.1", &["192.0.2.1, unknown"], "127.0.0.1"),
            ("127.0.0.1", &["192.0.2.1, unknown, 10.0.0.2"], "10.0.0.2"),
            ("192.0.2.9", &["192.0.2.7"], "192.0.2.9"),
            ("10.0.0.3", &["192.0.2.7"], "10.0.0.3"),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(FORWARDED, HeaderValue::from_static(line));
            }
            assert_eq!(proxies.client(peer.parse().unwrap(), &headers), client.parse::<IpAddr>().unwrap(), "{peer}");
        }
        let nobody = Proxies::default();
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED, HeaderValue::from_static("192.0.2.7"));
        assert_eq!(nobody.client("127.0.0.1".parse().unwrap(), &headers), "127.0.0.1".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn what_is_no_address_is_no_proxy() {
        assert_eq!("".parse(), Ok(Proxies::default()));
        for wrong in ["localhost", "10.0.0.0/8", "127.0.0.1:80", "*", &["10.0.0.1"; MOST + 1].join(",")] {
            assert_eq!(wrong.parse::<Proxies>(), Err(NoProxies), "{wrong}");
        }
    }
}
