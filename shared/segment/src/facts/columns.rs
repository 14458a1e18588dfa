//! Values by key and document.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};
use bytes::Bytes;

use super::encoded::{EncodedRows, encode, section};
use super::{codec, damaged, sums};
use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::section::SectionName;

/// A type of value that a section stores.
pub trait Stored: Sized {
    /// The encoded form.
    type Encoded: Encode + Decode<()>;
    /// The value with this encoded form; `None` if the form is invalid.
    fn of(form: Self::Encoded) -> Option<Self>;
    /// Approximate memory use, in bytes.
    fn weight(&self) -> usize;
}

/// Collects columns.
#[derive(Default)]
pub(super) struct ColumnWriter(BTreeMap<String, EncodedRows>);

impl ColumnWriter {
    /// Adds a value for `key`. `document` is that of the last call, with a new key, or a later one.
    pub(super) fn push(&mut self, key: &str, document: u32, value: &impl Encode) {
        if !self.0.contains_key(key) {
            self.0.insert(key.to_owned(), EncodedRows::default());
        }
        if let Some(rows) = self.0.get_mut(key) {
            rows.push(document, value);
        }
    }

    pub(super) fn finish(self, packer: &mut Packer) -> Result<Vec<u8>, FormatError> {
        let columns = |bytes: &mut Vec<u8>| {
            encode(&(self.0.len() as u64), bytes)?;
            for (key, rows) in self.0 {
                encode(&key, bytes)?;
                rows.finish(bytes)?;
            }
            Ok(())
        };
        section(columns, packer)
    }
}

/// A column in encoded form: its key, the differences of its document ids, and its values.
type EncodedColumn<F> = (String, Vec<u32>, Vec<F>);

/// Values by key and document.
#[derive(Debug)]
pub struct Columns<T>(Vec<Column<T>>);

/// The values of a key.
#[derive(Debug)]
pub struct Column<T> {
    key: String,
    documents: Vec<u32>,
    values: Vec<T>,
}

impl<T: Stored> Columns<T> {
    pub(crate) fn decode(part: &Bytes, section: SectionName) -> Result<Self, FormatError> {
        let bytes = frame::unpack(part, section, super::MAX_BYTES)?;
        let (columns, used): (Vec<EncodedColumn<T::Encoded>>, usize) =
            bincode::decode_from_slice(&bytes, codec()).map_err(|_| damaged(section))?;
        let column = |(key, documents, forms): EncodedColumn<T::Encoded>| {
            let documents = sums(documents)?;
            let values = forms.into_iter().map(T::of).collect::<Option<Vec<T>>>()?;
            let is_sound = documents.len() == values.len() && documents.is_sorted_by(|one, other| one < other);
            is_sound.then_some(Column { key, documents, values })
        };
        let columns: Option<Vec<Column<T>>> = columns.into_iter().map(column).collect();
        let columns = columns.filter(|columns| columns.is_sorted_by(|one, other| one.key < other.key));
        columns.filter(|_| used == bytes.len()).map(Self).ok_or_else(|| damaged(section))
    }

    pub(crate) fn weight(&self) -> usize {
        let of = |column: &Column<T>| {
            column.key.len() + column.documents.len() * 4 + column.values.iter().map(Stored::weight).sum::<usize>()
        };
        self.0.iter().map(of).sum()
    }
}

impl<T> Columns<T> {
    /// All columns, by key.
    pub fn iter(&self) -> impl Iterator<Item = &Column<T>> {
        self.0.iter()
    }

    /// The place of the column of a key among all.
    pub fn place(&self, key: &str) -> Option<usize> {
        self.0.binary_search_by(|column| column.key.as_str().cmp(key)).ok()
    }

    /// The column at a place.
    pub fn at(&self, place: usize) -> Option<&Column<T>> {
        self.0.get(place)
    }

    /// The column of a key.
    pub fn get(&self, key: &str) -> Option<&Column<T>> {
        self.at(self.place(key)?)
    }
}

impl<T> Column<T> {
    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The documents with a value, ascending, each with its value.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.documents.iter().copied().zip(&self.values)
    }

    /// The value of a document.
    pub fn of(&self, document: u32) -> Option<&T> {
        self.values.get(self.documents.binary_search(&document).ok()?)
    }
}
