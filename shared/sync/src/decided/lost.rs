//! The files that vanished from a side.

use std::collections::HashSet;

use super::{Case, Decided, Fate};
use crate::guard::{Loss, Side, What};
use crate::head;
use crate::state::Entry;

/// Files of a kind that one side has lost.
#[derive(Debug)]
pub(crate) struct Lost {
    what: What,
    /// Their cases, by index.
    cases: Vec<usize>,
    /// Of how many.
    of: u64,
}

impl Lost {
    /// How many there are, at a time in milliseconds since 1970 UTC.
    pub(crate) fn at(&self, time_ms: i64) -> Loss {
        Loss { time_ms, what: self.what, files: self.cases.len() as u64, of: self.of }
    }
}

impl Decided {
    /// The files that vanished from one side, or became empty, and are nowhere else.
    pub(crate) fn lost(&self, side: Side, what: What) -> Lost {
        match side {
            Side::Folder => self.lost_in_folder(what),
            Side::Mirror => self.lost_in_mirror(what),
        }
    }

    fn lost_in_folder(&self, what: What) -> Lost {
        let written = self.writes.iter().filter_map(|write| write.known);
        let elsewhere: HashSet<[u8; 32]> =
            written.filter(|known| known.stamp.size > 0).map(|known| known.sha256).collect();
        self.lost_where(what, |case, entry| match case.fate {
            Fate::Remove(_) => !elsewhere.contains(&entry.sha256),
            Fate::Write(index) => {
                let known = self.writes.get(index).and_then(|write| write.known);
                entry.size > 0 && known.is_some_and(|known| known.stamp.size == 0)
            }
            _ => false,
        })
    }

    fn lost_in_mirror(&self, what: What) -> Lost {
        let elsewhere = head::contents(&self.heads.documents);
        self.lost_where(what, |case, entry| match (&case.fate, case.head) {
            (Fate::Pull(_), None) => !elsewhere.contains(&entry.sha256),
            (Fate::Pull(_), Some(_)) => {
                entry.size > 0 && self.heads.document(&case.path).is_some_and(|document| document.bytes == 0)
            }
            _ => false,
        })
    }

    fn lost_where(&self, what: What, is_lost: impl Fn(&Case, &Entry) -> bool) -> Lost {
        let mut lost = Lost { what, cases: Vec::new(), of: 0 };
        for (index, case) in self.cases.iter().enumerate() {
            if let Some(entry) = case.entry.as_ref().filter(|entry| What::of(entry.kind) == what) {
                lost.of += 1;
                if is_lost(case, entry) {
                    lost.cases.push(index);
                }
            }
        }
        lost
    }

    /// What of `lost` the other side has lost too by now; what waits is counted when it is done.
    pub(crate) fn carried_over(&self, lost: &Lost) -> Lost {
        let fate = |index: usize| self.cases.get(index).map(|case| &case.fate);
        let is_carried_over = |index: &usize| match fate(*index) {
            Some(Fate::Remove(index)) => self.removed.contains(index),
            Some(Fate::Write(index)) => self.written.contains_key(index),
            Some(Fate::Pull(index)) => self.pulled.contains_key(index),
            _ => false,
        };
        Lost { cases: lost.cases.iter().copied().filter(is_carried_over).collect(), ..*lost }
    }
}
