//! The targets of links, by key and document. There may be as many keys as documents, so that all are kept in few arrays.

use std::collections::HashMap;

use bytes::Bytes;

use super::{MAX_BYTES, codec, damaged, sums};
use crate::error::FormatError;
use crate::frame;
use crate::section::SectionName;

/// A column in encoded form: its key, the differences of its document ids, and its values.
type EncodedColumn<'b> = (&'b str, Vec<u32>, Vec<&'b str>);

/// For each key the documents whose links have it, each with its targets.
#[derive(Debug, Default)]
pub struct TargetColumns {
    /// Ascending.
    keys: Texts,
    /// By key the end of its rows.
    ends: Vec<u32>,
    documents: Vec<u32>,
    /// By row the place of its targets in `texts`. Most rows have the same few.
    places: Vec<u32>,
    texts: Texts,
}

/// The targets that links of a document have in common, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Targets<'a>(&'a str);

impl<'a> Targets<'a> {
    /// Each target, or its folder.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        self.0.split('\n')
    }
}

impl TargetColumns {
    pub(crate) fn decode(part: &Bytes, section: SectionName) -> Result<Self, FormatError> {
        let bytes = frame::unpack(part, section, MAX_BYTES)?;
        let (columns, used): (Vec<EncodedColumn<'_>>, usize) =
            bincode::borrow_decode_from_slice(&bytes, codec()).map_err(|_| damaged(section))?;
        let is_sorted = columns.is_sorted_by(|(one, ..), (other, ..)| one < other);
        let all = Some(columns).filter(|_| is_sorted && used == bytes.len());
        all.and_then(Self::of).ok_or_else(|| damaged(section))
    }

    /// [`None`] if the rows of a column are not in order.
    fn of(columns: Vec<EncodedColumn<'_>>) -> Option<Self> {
        let mut all = Self::default();
        let mut known = HashMap::new();
        for (key, documents, targets) in columns {
            let documents = sums(documents)?;
            if documents.len() != targets.len() || !documents.is_sorted_by(|one, other| one < other) {
                return None;
            }
            for text in targets {
                let place = match known.get(text) {
                    Some(place) => *place,
                    None => *known.entry(text).or_insert(all.texts.push(text)?),
                };
                all.places.push(place);
            }
            all.documents.extend(documents);
            all.keys.push(key)?;
            all.ends.push(u32::try_from(all.documents.len()).ok()?);
        }
        all.keys.shrink();
        all.texts.shrink();
        all.documents.shrink_to_fit();
        all.places.shrink_to_fit();
        all.ends.shrink_to_fit();
        Some(all)
    }

    /// The documents of a key, ascending, each with its targets.
    pub fn of_key(&self, key: &str) -> impl Iterator<Item = (u32, Targets<'_>)> {
        let rows = self.keys.find(key).map(|place| {
            let from = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
            from as usize..self.ends.get(place).copied().unwrap_or_default() as usize
        });
        rows.into_iter().flatten().filter_map(|row| {
            let text = self.texts.get(*self.places.get(row)? as usize)?;
            Some((*self.documents.get(row)?, Targets(text)))
        })
    }

    /// The keys, ascending.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        (0..self.keys.ends.len()).filter_map(|place| self.keys.get(place))
    }

    pub(crate) fn weight(&self) -> usize {
        (self.ends.len() + self.documents.len() + self.places.len()) * 4 + self.keys.weight() + self.texts.weight()
    }
}

/// Texts one after the other.
#[derive(Debug, Default)]
struct Texts {
    all: String,
    ends: Vec<u32>,
}

impl Texts {
    /// The place of a new text; [`None`] if there is no room.
    fn push(&mut self, text: &str) -> Option<u32> {
        self.all.push_str(text);
        self.ends.push(u32::try_from(self.all.len()).ok()?);
        u32::try_from(self.ends.len() - 1).ok()
    }

    fn get(&self, place: usize) -> Option<&str> {
        let from = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.all.get(from as usize..*self.ends.get(place)? as usize)
    }

    /// The place of a text, if the texts are in order.
    fn find(&self, text: &str) -> Option<usize> {
        let (mut from, mut until) = (0, self.ends.len());
        while from < until {
            let middle = from.midpoint(until);
            match self.get(middle)?.cmp(text) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => until = middle,
            }
        }
        None
    }

    fn shrink(&mut self) {
        self.all.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    fn weight(&self) -> usize {
        self.all.len() + self.ends.len() * 4
    }
}
