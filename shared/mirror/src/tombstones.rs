//! The documents of a segment that newer segments have replaced or deleted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::Id;

/// Longest encoding of a set in the manifest itself, in bytes; a longer one is a separate object.
pub const MAX_INLINE: usize = 4096;

/// A set of document ids of one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentSet {
    /// Ascending, without duplicates.
    documents: Vec<u32>,
}

/// The tombstones of a segment, as in the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tombstones {
    /// The set itself.
    Inline(DocumentSet),
    /// A reference to the set.
    Stored(StoredTombstones),
}

/// A set of tombstones in a separate object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTombstones {
    /// The object's id, below `segments/`.
    pub id: Id,
    /// Number of documents in the set.
    pub count: u32,
    /// Bytes of the object.
    pub bytes: u32,
    /// CRC-32 (IEEE) of the object.
    pub crc32: u32,
}

impl DocumentSet {
    /// Whether `document` is in the set.
    pub fn contains(&self, document: u32) -> bool {
        self.documents.binary_search(&document).is_ok()
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The documents in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.documents.iter().copied()
    }

    /// The greatest document id.
    pub fn last(&self) -> Option<u32> {
        self.documents.last().copied()
    }

    /// The union of this set and `more`.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = u32>) -> Self {
        self.iter().chain(more).collect()
    }

    /// The encoding.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.documents.len() * 2);
        let mut next = 0;
        for document in self.iter() {
            let mut rest = document.wrapping_sub(next);
            while rest >= 0x80 {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
            next = document.wrapping_add(1);
        }
        bytes
    }

    /// Decodes a set; [`None`] when the bytes are invalid.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut documents = Vec::new();
        let mut next = Some(0u32);
        let mut rest = bytes;
        while !rest.is_empty() {
            let document = next?.checked_add(read_varint(&mut rest)?)?;
            documents.push(document);
            next = document.checked_add(1);
        }
        Some(Self { documents })
    }
}

impl FromIterator<u32> for DocumentSet {
    fn from_iter<I: IntoIterator<Item = u32>>(documents: I) -> Self {
        let mut documents: Vec<u32> = documents.into_iter().collect();
        documents.sort_unstable();
        documents.dedup();
        Self { documents }
    }
}

/// One LEB128 varint of at most 32 bits in its shortest form: unlike in segments, each set has one encoding.
fn read_varint(rest: &mut &[u8]) -> Option<u32> {
    let mut value = 0u32;
    for shift in (0..32).step_by(7) {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        let bits = u32::from(byte & 0x7f);
        if bits.checked_shl(shift)? >> shift != bits {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return if *byte == 0 && shift > 0 { None } else { Some(value) };
        }
    }
    None
}

impl Tombstones {
    /// No tombstones.
    pub fn none() -> Self {
        Self::Inline(DocumentSet::default())
    }

    /// Number of documents in the set.
    pub fn count(&self) -> u32 {
        match self {
            Self::Inline(set) => u32::try_from(set.len()).unwrap_or(u32::MAX),
            Self::Stored(stored) => stored.count,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// A set is base64 text, a reference an object.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Encoded<'a> {
    Inline(std::borrow::Cow<'a, str>),
    Stored(StoredTombstones),
}

impl Serialize for Tombstones {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Inline(set) => Encoded::Inline(BASE64.encode(set.encode()).into()),
            Self::Stored(stored) => Encoded::Stored(stored.clone()),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tombstones {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        match Encoded::deserialize(deserializer)? {
            Encoded::Inline(text) => {
                let bytes = BASE64.decode(text.as_bytes()).map_err(D::Error::custom)?;
                DocumentSet::decode(&bytes)
                    .map(Self::Inline)
                    .ok_or_else(|| D::Error::custom("damaged set of documents"))
            }
            Encoded::Stored(stored) => Ok(Self::Stored(stored)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_set() -> impl Strategy<Value = DocumentSet> {
        prop::collection::vec(prop_oneof![any::<u32>(), 0..500u32, Just(u32::MAX)], 0..200)
            .prop_map(DocumentSet::from_iter)
    }

    proptest! {
        #[test]
        fn a_set_survives_its_encoding(set in any_set()) {
            prop_assert_eq!(DocumentSet::decode(&set.encode()), Some(set));
        }

        #[test]
        fn a_set_has_one_encoding(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(set) = DocumentSet::decode(&bytes) {
                prop_assert_eq!(set.encode(), bytes);
            }
        }

        #[test]
        fn a_set_holds_what_was_put_into_it(set in any_set(), more in prop::collection::vec(0..500u32, 0..9), other: u32) {
            let both = set.with(more.iter().copied());
            prop_assert!(set.iter().chain(more.iter().copied()).all(|document| both.contains(document)));
            prop_assert_eq!(both.contains(other), set.contains(other) || more.contains(&other));
        }

        #[test]
        fn tombstones_survive_json(set in any_set(), id: u128, count: u32, bytes: u32, crc32: u32) {
            let stored = StoredTombstones { id: Id::from_u128(id), count, bytes, crc32 };
            for tombstones in [Tombstones::Inline(set), Tombstones::Stored(stored)] {
                let json = serde_json::to_string(&tombstones).unwrap();
                prop_assert_eq!(serde_json::from_str::<Tombstones>(&json).unwrap(), tombstones);
            }
        }
    }

    #[test]
    fn neighbours_cost_a_byte_each() {
        assert_eq!((100..1100).collect::<DocumentSet>().encode().len(), 1000);
    }
}
