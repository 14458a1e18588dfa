//! The files that vanish from a side.

use std::collections::HashSet;

use super::{PathAction, PathPlan, SyncPlan};
use crate::guard::{FileKind, Loss, Side};
use crate::state::Entry;
use crate::target::TRASH;

/// The files of a kind that one side has lost.
#[derive(Debug)]
pub(crate) struct Lost {
    what: FileKind,
    /// Their paths, by index.
    paths: Vec<usize>,
    /// The number of all files of the kind.
    of: u64,
}

impl Lost {
    /// The number of lost files, with a time in milliseconds since 1970 UTC.
    pub(crate) fn at(&self, time_ms: i64) -> Loss {
        Loss { time_ms, what: self.what, files: self.paths.len() as u64, of: self.of }
    }

    /// Those whose path index satisfies `is_wanted`.
    pub(crate) fn filtered(&self, is_wanted: impl Fn(usize) -> bool) -> Self {
        Self { paths: self.paths.iter().copied().filter(|index| is_wanted(*index)).collect(), ..*self }
    }
}

impl SyncPlan {
    /// The files that vanished from one side, or became empty, and exist nowhere else.
    pub(crate) fn lost(&self, side: Side, what: FileKind) -> Lost {
        match side {
            Side::Folder => self.lost_in_folder(what),
            Side::Mirror => self.lost_in_mirror(what),
        }
    }

    fn lost_in_folder(&self, what: FileKind) -> Lost {
        let written = self.writes().filter_map(|(_, write)| write.known());
        let elsewhere: HashSet<[u8; 32]> =
            written.filter(|known| known.stamp.size > 0).map(|known| known.sha256).collect();
        self.lost_where(what, |path, entry| match &path.action {
            PathAction::Remove(_) => !elsewhere.contains(&entry.sha256),
            PathAction::Write(write) => entry.size > 0 && write.known().is_some_and(|known| known.stamp.size == 0),
            _ => false,
        })
    }

    fn lost_in_mirror(&self, what: FileKind) -> Lost {
        // An agent may have put every note into the trash, one by one.
        let kept = self.heads.documents.iter().filter(|(path, _)| !path.starts_with(TRASH));
        let elsewhere: HashSet<[u8; 32]> = kept.flat_map(|(_, documents)| documents).map(|one| one.sha256).collect();
        self.lost_where(what, |path, entry| match (&path.action, path.head) {
            (PathAction::Pull(_), None) => !elsewhere.contains(&entry.sha256),
            (PathAction::Pull(_), Some(_)) => {
                entry.size > 0 && self.heads.document(&path.path).is_some_and(|document| document.bytes == 0)
            }
            _ => false,
        })
    }

    fn lost_where(&self, what: FileKind, is_lost: impl Fn(&PathPlan, &Entry) -> bool) -> Lost {
        let mut lost = Lost { what, paths: Vec::new(), of: 0 };
        for (index, path) in self.paths.iter().enumerate() {
            if let Some(entry) = path.entry.as_ref().filter(|entry| FileKind::of(entry.kind) == what) {
                lost.of += 1;
                if is_lost(path, entry) {
                    lost.paths.push(index);
                }
            }
        }
        lost
    }
}
