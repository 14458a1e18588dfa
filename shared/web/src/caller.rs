//! The caller's pseudonym in the log.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use sha2::{Digest as _, Sha256};

/// A pseudonym: equal for all requests from one address, or with tokens of one name. It connects lines of the log. It
/// is not secret: trying all addresses reveals the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller([u8; 6]);

impl Caller {
    /// The caller at an address.
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        Self::named(&place(address).to_string())
    }

    /// The caller with this name in the token.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let hash: [u8; 32] = Sha256::digest(format!("atlas caller {name}")).into();
        let [a, b, c, d, e, f, ..] = hash;
        Self([a, b, c, d, e, f])
    }
}

/// The address that stands for all that one customer has: of IPv6 the network of 64 bits.
pub(crate) fn place(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

impl fmt::Display for Caller {
    /// 12 hexadecimal digits.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> String {
        Caller::at(address.parse().unwrap()).to_string()
    }

    #[test]
    fn a_caller_is_its_address_however_that_is_written() {
        assert_eq!(at("192.0.2.7"), "920d6044124f");
        assert_eq!(at("::ffff:192.0.2.7"), at("192.0.2.7"));
        assert_ne!(at("192.0.2.8"), at("192.0.2.7"));
    }

    #[test]
    fn a_network_of_one_customer_is_one_caller() {
        assert_eq!(at("2001:db8:1:2::7"), at("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(at("2001:db8:1:3::7"), at("2001:db8:1:2::7"));
    }
}
