//! The files that vanish from a side.

use std::collections::HashSet;

use super::{PathAction, PathPlan, SyncPlan};
use crate::guard::{Loss, Side, What};
use crate::head;
use crate::state::Entry;

/// Files of a kind that one side has lost.
#[derive(Debug)]
pub(crate) struct Lost {
    what: What,
    /// Their paths, by index.
    paths: Vec<usize>,
    /// Of how many.
    of: u64,
}

impl Lost {
    /// How many there are, at a time in milliseconds since 1970 UTC.
    pub(crate) fn at(&self, time_ms: i64) -> Loss {
        Loss { time_ms, what: self.what, files: self.paths.len() as u64, of: self.of }
    }

    /// Those of which the path, by its index, is one that `is_wanted`.
    pub(crate) fn filtered(&self, is_wanted: impl Fn(usize) -> bool) -> Self {
        Self { paths: self.paths.iter().copied().filter(|index| is_wanted(*index)).collect(), ..*self }
    }
}

impl SyncPlan {
    /// The files that vanished from one side, or became empty, and are nowhere else.
    pub(crate) fn lost(&self, side: Side, what: What) -> Lost {
        match side {
            Side::Folder => self.lost_in_folder(what),
            Side::Mirror => self.lost_in_mirror(what),
        }
    }

    fn lost_in_folder(&self, what: What) -> Lost {
        let written = self.writes().filter_map(|(_, write)| write.known);
        let elsewhere: HashSet<[u8; 32]> =
            written.filter(|known| known.stamp.size > 0).map(|known| known.sha256).collect();
        self.lost_where(what, |path, entry| match &path.action {
            PathAction::Remove(_) => !elsewhere.contains(&entry.sha256),
            PathAction::Write(write) => entry.size > 0 && write.known.is_some_and(|known| known.stamp.size == 0),
            _ => false,
        })
    }

    fn lost_in_mirror(&self, what: What) -> Lost {
        let elsewhere = head::contents(&self.heads.documents);
        self.lost_where(what, |path, entry| match (&path.action, path.head) {
            (PathAction::Pull(_), None) => !elsewhere.contains(&entry.sha256),
            (PathAction::Pull(_), Some(_)) => {
                entry.size > 0 && self.heads.document(&path.path).is_some_and(|document| document.bytes == 0)
            }
            _ => false,
        })
    }

    fn lost_where(&self, what: What, is_lost: impl Fn(&PathPlan, &Entry) -> bool) -> Lost {
        let mut lost = Lost { what, paths: Vec::new(), of: 0 };
        for (index, path) in self.paths.iter().enumerate() {
            if let Some(entry) = path.entry.as_ref().filter(|entry| What::of(entry.kind) == what) {
                lost.of += 1;
                if is_lost(path, entry) {
                    lost.paths.push(index);
                }
            }
        }
        lost
    }
}
