//! Values of documents: any number per document, in order.

use bincode::{Decode, Encode};
use bytes::Bytes;

use super::encoded::{EncodedRows, section};
use super::{codec, damaged, sums};
use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::section::SectionName;

/// A type of value that a section stores without conversion.
pub trait Row: Encode + Decode<()> {
    /// Approximate memory use, in bytes.
    fn weight(&self) -> usize;
}

/// Collects rows.
#[derive(Default)]
pub(super) struct RowWriter(EncodedRows);

impl RowWriter {
    /// Adds a value. `document` is that of the last call or a later one.
    pub(super) fn push(&mut self, document: u32, value: &impl Encode) {
        self.0.push(document, value);
    }

    pub(super) fn finish(self, packer: &mut Packer) -> Result<Vec<u8>, FormatError> {
        section(|bytes| self.0.finish(bytes), packer)
    }
}

/// Values of documents: any number per document, in order.
#[derive(Debug)]
pub struct Rows<T> {
    documents: Vec<u32>,
    values: Vec<T>,
}

impl<T: Row> Rows<T> {
    pub(crate) fn decode(part: &Bytes, section: SectionName) -> Result<Self, FormatError> {
        let bytes = frame::unpack(part, section, super::MAX_BYTES)?;
        let ((documents, values), used): ((Vec<u32>, Vec<T>), usize) =
            bincode::decode_from_slice(&bytes, codec()).map_err(|_| damaged(section))?;
        let documents = sums(documents).ok_or_else(|| damaged(section))?;
        let is_sound = used == bytes.len() && documents.len() == values.len();
        is_sound.then_some(Self { documents, values }).ok_or_else(|| damaged(section))
    }

    pub(crate) fn weight(&self) -> usize {
        self.documents.len() * 4 + self.values.iter().map(Row::weight).sum::<usize>()
    }
}

impl<T> Rows<T> {
    /// All values, each with its document.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.documents.iter().copied().zip(&self.values)
    }

    /// The values of a document, in order.
    pub fn of(&self, document: u32) -> &[T] {
        let from = self.documents.partition_point(|other| *other < document);
        let to = self.documents.partition_point(|other| *other <= document);
        self.values.get(from..to).unwrap_or_default()
    }
}
