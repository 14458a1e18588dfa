//! Facts under construction, encoded as they come: as values they would take many times the memory.

use bincode::Encode;

use super::{MAX_BYTES, codec};
use crate::error::FormatError;
use crate::frame::Packer;
use crate::growing;

const TOO_LARGE: FormatError = FormatError::TooLarge { what: "a section" };

/// The values of documents, as a list of the differences of their ids and a list of values.
#[derive(Default)]
pub(super) struct EncodedRows {
    count: u32,
    last: u32,
    differences: Vec<u8>,
    values: Vec<u8>,
    /// Whether a value could not be encoded.
    is_broken: bool,
}

impl EncodedRows {
    /// Adds a value. `document` is that of the last call or a later one.
    pub(super) fn push(&mut self, document: u32, value: &impl Encode) {
        let difference = document.wrapping_sub(std::mem::replace(&mut self.last, document));
        growing::make_room(&mut self.values);
        let result = encode(&difference, &mut self.differences).and_then(|()| encode(value, &mut self.values));
        self.is_broken |= result.is_err();
        self.count = self.count.saturating_add(1);
    }

    /// Appends both lists to a section.
    pub(super) fn finish(self, section: &mut Vec<u8>) -> Result<(), FormatError> {
        if self.is_broken || self.count == u32::MAX {
            return Err(TOO_LARGE);
        }
        for list in [self.differences, self.values] {
            encode(&u64::from(self.count), section)?;
            growing::append(section, &list);
        }
        Ok(())
    }
}

/// Appends a value. A list is encoded as its length, as a [`u64`], and its values.
pub(super) fn encode(value: &impl Encode, bytes: &mut Vec<u8>) -> Result<(), FormatError> {
    bincode::encode_into_std_write(value, bytes, codec()).map(drop).map_err(|_| TOO_LARGE)
}

/// The packed section that `write` writes.
pub(super) fn section(
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), FormatError>,
    packer: &mut Packer,
) -> Result<Vec<u8>, FormatError> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    if bytes.len() <= MAX_BYTES { packer.pack(&bytes) } else { Err(TOO_LARGE) }
}
