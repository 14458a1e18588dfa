//! Stands in for the crate `crc-fast`, through `[patch.crates-io]` of the workspace.
//!
//! Clients of S3 link it for checksums that they are told to add to uploads; nothing here tells them to. But the tables
//! of all of its CRCs would be 0.6 MB of the 4 that a function may have when it is zipped. This has the three CRCs that its
//! dependents name and the part of its interface that they use; a dependent that wants more does not compile.

/// A CRC by its name in the catalogue of parametrised CRC algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrcAlgorithm {
    /// CRC-32/ISO-HDLC: zip's and Ethernet's.
    Crc32IsoHdlc,
    /// CRC-32/ISCSI, or CRC-32C.
    Crc32Iscsi,
    /// CRC-64/NVME.
    Crc64Nvme,
}

/// The checksum of bytes that come piece by piece.
#[derive(Clone, Copy, Debug)]
pub struct Digest {
    table: &'static [u64; 256],
    /// As many ones as the checksum has bits: the state at the start, and what the end is inverted with.
    ones: u64,
    state: u64,
}

impl Digest {
    /// The checksum of nothing yet.
    #[must_use]
    pub fn new(algorithm: CrcAlgorithm) -> Self {
        static ISO_HDLC: [u64; 256] = table(0xedb8_8320);
        static ISCSI: [u64; 256] = table(0x82f6_3b78);
        static NVME: [u64; 256] = table(0x9a6c_9329_ac4b_c9b5);
        let (table, ones) = match algorithm {
            CrcAlgorithm::Crc32IsoHdlc => (&ISO_HDLC, u64::from(u32::MAX)),
            CrcAlgorithm::Crc32Iscsi => (&ISCSI, u64::from(u32::MAX)),
            CrcAlgorithm::Crc64Nvme => (&NVME, u64::MAX),
        };
        Self { table, ones, state: ones }
    }

    /// Goes on with `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let index = usize::from(self.state.to_le_bytes()[0] ^ byte);
            self.state = self.table[index] ^ (self.state >> 8);
        }
    }

    /// The checksum; one of 32 bits is in the lower half.
    #[must_use]
    pub const fn finalize(&self) -> u64 {
        self.state ^ self.ones
    }
}

/// The checksum of `bytes`.
#[must_use]
pub fn checksum(algorithm: CrcAlgorithm, bytes: &[u8]) -> u64 {
    let mut digest = Digest::new(algorithm);
    digest.update(bytes);
    digest.finalize()
}

/// What each byte adds, for a polynomial whose bits are in reverse.
const fn table(polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            rest = (rest >> 1) ^ (polynomial * (rest & 1));
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [CrcAlgorithm; 3] = [CrcAlgorithm::Crc32IsoHdlc, CrcAlgorithm::Crc32Iscsi, CrcAlgorithm::Crc64Nvme];

    #[test]
    fn the_check_values_are_those_of_the_catalogue() {
        let checks = ALL.map(|algorithm| checksum(algorithm, b"123456789"));
        assert_eq!(checks, [0xcbf4_3926, 0xe306_9283, 0xae8b_1486_0a79_9888]);
    }

    proptest! {
        #[test]
        fn pieces_are_as_good_as_the_whole(bytes: Vec<u8>, at: prop::sample::Index) {
            for algorithm in ALL {
                let (first, second) = bytes.split_at(at.index(bytes.len() + 1));
                let mut digest = Digest::new(algorithm);
                digest.update(first);
                digest.update(second);
                prop_assert_eq!(digest.finalize(), checksum(algorithm, &bytes));
            }
        }
    }
}
