//! The files that a sync changes on either side, by name.

use jiff::Timestamp;
use serde::Serialize;

use super::{Decided, Fate};
use crate::guard::Side;
use crate::target::Instead;

/// Most files that are named; the others are counted.
const MOST: usize = 1000;

/// A file that goes from one side to the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Its path.
    pub path: String,
    /// Where it changes.
    pub side: Side,
    /// How.
    pub how: How,
    /// When what comes was last modified; none for what goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<Timestamp>,
}

/// How a file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// It comes.
    Added,
    /// It becomes another.
    Changed,
    /// It goes.
    Removed,
}

impl How {
    /// One character for it: `+`, `~`, or `-`.
    pub const fn sign(self) -> char {
        match self {
            Self::Added => '+',
            Self::Changed => '~',
            Self::Removed => '-',
        }
    }
}

impl Decided {
    /// What changes where, by path, as far as it `is_done`; the first ones, if it is very many.
    pub(crate) fn named(&self, is_done: bool) -> Vec<Changed> {
        let how = |is_there: bool| if is_there { How::Changed } else { How::Added };
        let changed = self.cases.iter().filter_map(|case| {
            let (side, how, modified_ms) = match case.fate {
                Fate::Write(index) if !is_done || self.written.contains_key(&index) => {
                    let write = self.writes.get(index)?;
                    (Side::Mirror, how(case.head.is_some()), Some(write.file.stamp.modified_ms()))
                }
                Fate::Remove(index) if !is_done || self.removed.contains(&index) => (Side::Mirror, How::Removed, None),
                Fate::Pull(index) if !is_done || self.pulled.contains_key(&index) => {
                    let pull = self.pulls.get(index)?;
                    let how = if pull.head.is_none() { How::Removed } else { how(pull.instead != Instead::Nothing) };
                    let document = pull.head.and(self.heads.document(&pull.path));
                    (Side::Folder, how, document.map(|document| document.modified_ms))
                }
                _ => return None,
            };
            let modified = modified_ms.and_then(|modified_ms| Timestamp::from_millisecond(modified_ms).ok());
            Some(Changed { path: case.path.clone(), side, how, modified })
        });
        changed.take(MOST).collect()
    }
}
