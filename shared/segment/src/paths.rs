//! Paths and names of the documents.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

use atlas_vault::path::MAX_PATH_BYTES;
use bytes::Bytes;
use fst::{IntoStreamer as _, Streamer as _};

use crate::error::FormatError;
use crate::frame;
use crate::lines::LineStrings;
use crate::recent_paths::{BLOCK, MAX_KEPT, RecentPaths};
use crate::section::SectionName;

/// The fst of paths: path ↔ document id, which is the path's rank.
pub struct Paths {
    fst: fst::Map<Bytes>,
    /// The first and last path: in a small segment, most lookups are for paths before or after all of its own.
    ends: Option<(Vec<u8>, Vec<u8>)>,
    /// The documents whose paths begin with a dot.
    dotted: Range<u32>,
    recent: RecentPaths,
}

impl Paths {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let bytes = frame::open(part, SectionName::Paths)?;
        // The fst's own checksum is checked too, since a walk trusts every byte of it.
        let sound = fst::Map::new(bytes).and_then(|fst| fst.as_fst().verify().map(|()| fst));
        sound
            .map(|fst| {
                let recent = RecentPaths::new(u32::try_from(fst.len()).unwrap_or(u32::MAX));
                let mut paths = Self { ends: ends(&fst), dotted: 0..0, fst, recent };
                paths.dotted = paths.with_prefix(".");
                paths
            })
            .map_err(|_| FormatError::damaged(SectionName::Paths, "it is not an fst of a version that this code reads"))
    }

    /// The document at `path`.
    pub fn get(&self, path: &str) -> Option<u32> {
        self.fst.get(path).and_then(|id| u32::try_from(id).ok())
    }

    /// The path of `document`.
    pub fn path(&self, document: u32) -> Result<String, FormatError> {
        if let Some(path) = self.recent.path(document, |block| self.block(block)) {
            return Ok(path);
        }
        self.one_path(document)
    }

    /// The path of `document`, for who asks for few of them: it decodes no others.
    pub fn one_path(&self, document: u32) -> Result<String, FormatError> {
        let key = self.fst.as_fst().get_key(u64::from(document)).and_then(|key| String::from_utf8(key).ok());
        key.ok_or(FormatError::damaged(SectionName::Paths, "it lacks a document"))
    }

    /// The paths of a block of documents; [`None`] if they cannot be told apart, since one has a line feed, which no valid path has.
    fn block(&self, block: u32) -> Option<LineStrings> {
        let first = block.checked_mul(BLOCK)?;
        let count = self.len().saturating_sub(first).min(BLOCK);
        let mut stream = self.fst.range().ge(self.fst.as_fst().get_key(u64::from(first))?).into_stream();
        let mut bytes = Vec::new();
        for _ in 0..count {
            bytes.extend_from_slice(stream.next()?.0);
            bytes.push(b'\n');
        }
        LineStrings::new(bytes, SectionName::Paths).ok().filter(|paths| paths.len() == count as usize)
    }

    /// The documents whose paths begin with a dot; computed in advance.
    pub fn dotted(&self) -> Range<u32> {
        self.dotted.clone()
    }

    /// The documents whose paths begin with `prefix`.
    pub fn with_prefix(&self, prefix: &str) -> Range<u32> {
        let prefix = prefix.as_bytes();
        let (start, found) = self.at_or_after(prefix, |path| path.starts_with(prefix));
        if found != Some(true) {
            return start..start;
        }
        let mut end = prefix.to_vec();
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
        self.at_or_after(key, |_| ()).0
    }

    /// The first document whose path is not less than `key`, and the result of `look` for that path, if there is one.
    fn at_or_after<T>(&self, key: &[u8], look: impl Fn(&[u8]) -> T) -> (u32, Option<T>) {
        match &self.ends {
            Some((first, _)) if key <= first.as_slice() => return (0, Some(look(first))),
            Some((_, last)) if key > last.as_slice() => return (self.len(), None),
            _ => {}
        }
        match self.fst.range().ge(key).into_stream().next() {
            Some((path, id)) => (u32::try_from(id).unwrap_or(self.len()), Some(look(path))),
            None => (self.len(), None),
        }
    }

    /// The first and last path; [`None`] if there are none.
    pub fn ends(&self) -> Option<(&[u8], &[u8])> {
        self.ends.as_ref().map(|(first, last)| (first.as_slice(), last.as_slice()))
    }

    /// Number of documents.
    pub fn len(&self) -> u32 {
        u32::try_from(self.fst.len()).unwrap_or(u32::MAX)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fst.is_empty()
    }

    pub(crate) fn weight(&self) -> usize {
        // Includes the paths that are kept, whose size is unknown until they are decoded: in most vaults the fst is a fifth of it.
        let (size, documents) = (self.fst.as_fst().size(), self.fst.len().max(1));
        size + 5 * size * documents.min(MAX_KEPT) / documents
    }
}

/// The least and the greatest key.
fn ends(map: &fst::Map<Bytes>) -> Option<(Vec<u8>, Vec<u8>)> {
    let first = map.stream().next().map(|(key, _)| key.to_vec())?;
    let fst = map.as_fst();
    let (mut last, mut node) = (Vec::new(), fst.root());
    while let Some(transition) = node.len().checked_sub(1).map(|at| node.transition(at)) {
        if last.len() >= MAX_PATH_BYTES {
            return None;
        }
        last.push(transition.inp);
        node = fst.node(transition.addr);
    }
    Some((first, last))
}

impl std::fmt::Debug for Paths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Paths({})", self.len())
    }
}

/// The folded file name of every document, by document id.
#[derive(Debug)]
pub struct Names {
    lines: LineStrings,
    /// The documents by name; made when a name is first looked up.
    by_name: OnceLock<Vec<u32>>,
}

impl Names {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let names = frame::unpack(part, SectionName::Names, MAX_NAMES_BYTES)?;
        Ok(Self { lines: LineStrings::new(names, SectionName::Names)?, by_name: OnceLock::new() })
    }

    /// The documents, ascending, whose folded name contains `folded`.
    pub fn holding<'a>(&'a self, folded: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        self.lines.holding(folded)
    }

    /// The documents with this folded name, ascending.
    pub fn named(&self, folded: &str) -> &[u32] {
        let all = self.by_name.get_or_init(|| {
            let mut all: Vec<u32> = (0..self.lines.len() as u32).collect();
            // Stable, so that equal names stay in order.
            all.sort_by(|one, other| self.get(*one).cmp(&self.get(*other)));
            all
        });
        let folded = Some(folded.as_bytes());
        let from = all.partition_point(|document| self.get(*document) < folded);
        let until = all.partition_point(|document| self.get(*document) <= folded);
        all.get(from..until).unwrap_or_default()
    }

    /// The documents, ascending, whose folded name is one of `folded`.
    pub fn among<'a>(&'a self, folded: &'a HashSet<String>) -> impl Iterator<Item = u32> + 'a {
        self.lines.among(folded)
    }

    /// The folded name of `document`.
    pub fn get(&self, document: u32) -> Option<&[u8]> {
        self.lines.get(document)
    }

    pub(crate) fn weight(&self) -> usize {
        self.lines.weight() + self.lines.len() * 4
    }
}

const MAX_NAMES_BYTES: usize = 256 << 20;
