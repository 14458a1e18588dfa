//! The encoding of a part in the object: with a checksum, and compressed where that pays off.

use bytes::Bytes;

use crate::error::FormatError;
use crate::section::SectionName;

const CHECKSUM_BYTES: usize = 4;

/// Compression level of all parts. In measurements on real vaults, higher levels saved a percent of the size and were not worth the time.
const LEVEL: i32 = 4;

/// Appends the checksum to a payload.
pub(crate) fn seal(mut payload: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&payload);
    payload.reserve_exact(CHECKSUM_BYTES);
    payload.extend_from_slice(&checksum.to_le_bytes());
    payload
}

/// Checks and removes the checksum.
pub(crate) fn open(part: &Bytes, section: SectionName) -> Result<Bytes, FormatError> {
    let Some((payload, checksum)) = part.split_last_chunk::<CHECKSUM_BYTES>() else {
        return Err(FormatError::damaged(section, "it is cut short"));
    };
    if crc32fast::hash(payload) != u32::from_le_bytes(*checksum) {
        return Err(FormatError::damaged(section, "its checksum does not match"));
    }
    Ok(part.slice(..payload.len()))
}

/// Compresses and seals payloads; keeps zstd's tables between calls.
pub(crate) struct Packer(zstd::bulk::Compressor<'static>);

impl Packer {
    pub(crate) fn new() -> Result<Self, FormatError> {
        zstd::bulk::Compressor::new(LEVEL).map(Self).map_err(|_| FormatError::Compression)
    }

    pub(crate) fn pack(&mut self, payload: &[u8]) -> Result<Vec<u8>, FormatError> {
        let size = u32::try_from(payload.len()).map_err(|_| FormatError::TooLarge { what: "a part" })?;
        let compressed = self.0.compress(payload).map_err(|_| FormatError::Compression)?;
        let mut packed = Vec::with_capacity(size_of::<u32>() + compressed.len() + CHECKSUM_BYTES);
        packed.extend_from_slice(&size.to_le_bytes());
        packed.extend_from_slice(&compressed);
        Ok(seal(packed))
    }
}

/// Checks and decompresses a packed part whose content is at most `limit` bytes.
pub(crate) fn unpack(part: &Bytes, section: SectionName, limit: usize) -> Result<Vec<u8>, FormatError> {
    let payload = open(part, section)?;
    let (size, packed) = payload.split_first_chunk::<4>().ok_or(FormatError::damaged(section, "it is cut short"))?;
    let size = u32::from_le_bytes(*size) as usize;
    if size > limit {
        return Err(FormatError::damaged(section, "its content is larger than the format allows"));
    }
    match zstd::bulk::decompress(packed, size) {
        Ok(content) if content.len() == size => Ok(content),
        _ => Err(FormatError::damaged(section, "it does not decompress")),
    }
}

/// The bytes of the packed part that `bytes` begin with; [`None`] if they begin with none.
pub(crate) fn packed_length(bytes: &[u8]) -> Option<usize> {
    let (_, packed) = bytes.split_first_chunk::<4>()?;
    let frame = zstd::zstd_safe::find_frame_compressed_size(packed).ok()?;
    let length = size_of::<u32>().checked_add(frame)?.checked_add(CHECKSUM_BYTES)?;
    (length <= bytes.len()).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(payload in prop::collection::vec(any::<u8>(), 0..2000)) {
            let packed = Bytes::from(Packer::new().unwrap().pack(&payload).unwrap());
            prop_assert_eq!(unpack(&packed, SectionName::Text, 2000).unwrap(), payload);
        }

        #[test]
        fn a_flipped_bit_is_noticed(payload in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), bit in 0..8) {
            let mut packed = Packer::new().unwrap().pack(&payload).unwrap();
            let at = at.index(packed.len());
            packed[at] ^= 1u8 << bit;
            prop_assert!(unpack(&Bytes::from(packed), SectionName::Text, 2000).is_err());
        }
    }

    #[test]
    fn content_over_the_limit_is_refused() {
        let packed = Bytes::from(Packer::new().unwrap().pack(&[0; 5000]).unwrap());
        assert!(unpack(&packed, SectionName::Text, 4999).is_err());
    }
}
