//! Paths and names: which documents there are.

use std::ops::Range;

use bytes::Bytes;
use fst::{IntoStreamer as _, Streamer as _};

use crate::error::FormatError;
use crate::frame;
use crate::layout::SectionName;
use crate::lines::Lines;

/// The fst of paths: path ↔ document id, which is the path's rank.
pub struct Paths(fst::Map<Bytes>);

impl Paths {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let bytes = frame::open(part, SectionName::Paths)?;
        fst::Map::new(bytes)
            .map(Self)
            .map_err(|_| FormatError::damaged(SectionName::Paths, "it is not an fst of a version that this code reads"))
    }

    /// The document at `path`.
    pub fn get(&self, path: &str) -> Option<u32> {
        self.0.get(path).and_then(|id| u32::try_from(id).ok())
    }

    /// The path of `document`.
    pub fn path(&self, document: u32) -> Result<String, FormatError> {
        let key = self.0.as_fst().get_key(u64::from(document)).and_then(|key| String::from_utf8(key).ok());
        key.ok_or(FormatError::damaged(SectionName::Paths, "it lacks a document"))
    }

    /// The documents whose paths begin with `prefix`.
    pub fn with_prefix(&self, prefix: &str) -> Range<u32> {
        let start = self.first_from(prefix.as_bytes());
        let mut end = prefix.as_bytes().to_vec();
        while let Some(last) = end.pop() {
            if let Some(next) = last.checked_add(1) {
                end.push(next);
                return start..self.first_from(&end).max(start);
            }
        }
        start..self.len()
    }

    /// The first document whose path is not less than `key`.
    pub fn first_from(&self, key: &[u8]) -> u32 {
        let mut stream = self.0.range().ge(key).into_stream();
        stream.next().and_then(|(_, id)| u32::try_from(id).ok()).unwrap_or(self.len())
    }

    /// Number of documents.
    pub fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn weight(&self) -> usize {
        self.0.as_fst().size()
    }
}

impl std::fmt::Debug for Paths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Paths({})", self.len())
    }
}

/// The folded file name of every document, by document id.
#[derive(Debug)]
pub struct Names(Lines);

impl Names {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let names = frame::unpack(part, SectionName::Names, MAX_NAMES_BYTES)?;
        Ok(Self(Lines::new(names, SectionName::Names)?))
    }

    /// The documents, ascending, whose folded name holds `folded`.
    pub fn holding<'a>(&'a self, folded: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        self.0.holding(folded)
    }

    /// The folded name of `document`.
    pub fn get(&self, document: u32) -> Option<&[u8]> {
        self.0.get(document)
    }

    pub(crate) fn weight(&self) -> usize {
        self.0.weight()
    }
}

const MAX_NAMES_BYTES: usize = 256 << 20;
