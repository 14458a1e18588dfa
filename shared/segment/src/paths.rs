//! Paths and names of the documents.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use atlas_vault::path::MAX_PATH_BYTES;
use bytes::Bytes;
use fst::{IntoStreamer as _, Streamer as _};

use crate::error::FormatError;
use crate::frame;
use crate::lines::LineStrings;
use crate::section::SectionName;

/// After this many path lookups, all paths are decoded from the fst. That takes as long as a few dozen times this many lookups.
const MANY: u32 = 64;

/// The fst of paths: path ↔ document id, which is the path's rank.
pub struct Paths {
    fst: fst::Map<Bytes>,
    /// The first and last path: in a small segment, most lookups are for paths before or after all of its own.
    ends: Option<(Vec<u8>, Vec<u8>)>,
    /// The documents whose paths begin with a dot.
    dotted: Range<u32>,
    /// The number of path lookups so far.
    asked: AtomicU32,
    all: OnceLock<LineStrings>,
}

impl Paths {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let bytes = frame::open(part, SectionName::Paths)?;
        // The fst's own checksum is checked too, since a walk trusts every byte of it.
        let sound = fst::Map::new(bytes).and_then(|fst| fst.as_fst().verify().map(|()| fst));
        sound
            .map(|fst| {
                let (ends, asked, all) = (ends(&fst), AtomicU32::new(0), OnceLock::new());
                let mut paths = Self { ends, dotted: 0..0, fst, asked, all };
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
        if let Some(all) = self.all() {
            let path = all.get(document).and_then(|path| String::from_utf8(path.to_vec()).ok());
            return path.ok_or(FormatError::damaged(SectionName::Paths, "it lacks a document"));
        }
        let key = self.fst.as_fst().get_key(u64::from(document)).and_then(|key| String::from_utf8(key).ok());
        key.ok_or(FormatError::damaged(SectionName::Paths, "it lacks a document"))
    }

    /// All paths, if there were enough lookups to decode them.
    fn all(&self) -> Option<&LineStrings> {
        if self.all.get().is_none() && self.asked.fetch_add(1, Ordering::Relaxed) < MANY {
            return None;
        }
        let all = self.all.get_or_init(|| {
            let mut bytes = Vec::new();
            let mut stream = self.fst.stream();
            while let Some((path, _)) = stream.next() {
                bytes.extend_from_slice(path);
                bytes.push(b'\n');
            }
            LineStrings::new(bytes, SectionName::Paths).unwrap_or_default()
        });
        // A valid path has no line feed. If one does, the count differs, and lookups use the fst.
        Some(all).filter(|all| all.len() == self.fst.len())
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

    /// Number of documents.
    pub fn len(&self) -> u32 {
        u32::try_from(self.fst.len()).unwrap_or(u32::MAX)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fst.is_empty()
    }

    pub(crate) fn weight(&self) -> usize {
        // Includes all paths, whose size is unknown until they are decoded: in most vaults the fst is a fifth of it.
        self.fst.as_fst().size() * 6
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
