//! Random ids, and hashes of content.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Digest as _;

/// A 128-bit random id, written as 32 lower-case hex digits: of a segment, a lineage, or a writer's nonce.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(u128);

/// The id of a segment object, and of any other object below `segments/`.
pub type SegmentId = Id;

impl Id {
    /// A fresh random id.
    ///
    /// # Errors [`NoRandomness`] when the system returns no random bytes.
    pub fn random() -> Result<Self, NoRandomness> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(NoRandomness)?;
        Ok(Self(u128::from_be_bytes(bytes)))
    }

    /// The id derived from `parts`: the first half of their SHA-256.
    pub(crate) fn derived(parts: &[[u8; 32]]) -> Self {
        let hash: [u8; 32] = sha2::Sha256::digest(parts.concat()).into();
        Self(hash.iter().take(16).fold(0, |value, byte| value << 8 | u128::from(*byte)))
    }

    /// The id with this value: for tests and fixed examples.
    pub const fn from_u128(value: u128) -> Self {
        Self(value)
    }
}

/// A SHA-256, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The hash with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The system returned no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no randomness: {0}")]
pub struct NoRandomness(getrandom::Error);

/// Text that is not an id or a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {digits} lower-case hex digits")]
pub struct NotHex {
    digits: usize,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Id {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        let mut bytes = [0; 16];
        read_hex(text, &mut bytes)?;
        Ok(Self(u128::from_be_bytes(bytes)))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Hash {
    type Err = NotHex;

    fn from_str(text: &str) -> Result<Self, NotHex> {
        let mut bytes = [0; 32];
        read_hex(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

/// Reads exactly as many lower-case hex digits as fill `bytes`, so that every value has one spelling.
fn read_hex(text: &str, bytes: &mut [u8]) -> Result<(), NotHex> {
    let error = NotHex { digits: bytes.len() * 2 };
    if text.len() != bytes.len() * 2 {
        return Err(error);
    }
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(error),
    };
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().as_chunks::<2>().0) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Ok(())
}

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

as_text!(Id, Hash);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ids_and_hashes_read_back_what_they_write(id: u128, hash: [u8; 32]) {
            prop_assert_eq!(Id(id).to_string().parse(), Ok(Id(id)));
            prop_assert_eq!(Hash(hash).to_string().parse(), Ok(Hash(hash)));
        }

        #[test]
        fn an_id_has_one_spelling(text in "[0-9a-fA-F+-]{30,34}") {
            if let Ok(id) = text.parse::<Id>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }

    #[test]
    fn a_hash_is_what_sha256sum_prints() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Hash::of(b"").to_string(), empty);
    }
}
