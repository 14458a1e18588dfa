//! The plan of a sync: what happens to each path. It is made once, and does not change while it is carried out.

mod lost;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use atlas_mirror::manifest::Changes;
use atlas_segment::Kind;

use crate::clash::{self, InTheWay};
use crate::compare::{InFolder, Item};
use crate::decide::{Action, Version, decide};
use crate::folder::{Content, Folder};
use crate::head::Heads;
use crate::merged::Merge;
use crate::progress::Progress;
use crate::reading::{self, Contents};
use crate::report::{Reason, Skipped};
use crate::rules::class_of;
use crate::scan::File;
use crate::state::Entry;
use crate::target::ExpectedTarget;
use crate::write::{Fingerprint, Write};

pub(crate) use lost::Lost;

/// The action for a path. What it needs is boxed, since most paths need nothing.
#[derive(Debug)]
pub(crate) enum PathAction {
    /// Neither side changes.
    Leave,
    /// Neither side changes; the folder has this content.
    Keep(Box<Fingerprint>),
    /// Neither side has it any more.
    Gone,
    /// Write the folder's file to the mirror.
    Write(Arc<Write>),
    /// Remove it from the mirror, if the mirror has this version.
    Remove(Box<Version>),
    /// Write the mirror's file to the folder, or remove the folder's.
    Pull(Box<Pull>),
    /// Both sides changed it: the mirror's file becomes a copy beside the folder's, and both are written to the mirror.
    Conflict(Arc<Write>),
    /// Both sides changed it, and the changes were merged: both get the merge.
    Merge(Box<Merge>),
    /// Move the mirror's file to another path on both sides, since its own path is a folder.
    Displace,
}

/// A path, and its action.
#[derive(Debug)]
pub(crate) struct PathPlan {
    pub(crate) path: Arc<str>,
    /// The last version that was equal on both sides.
    pub(crate) entry: Option<Arc<Entry>>,
    /// The mirror's version.
    pub(crate) head: Version,
    pub(crate) action: PathAction,
}

impl PathPlan {
    /// Whether the mirror still has the last version that was equal on both sides.
    pub(crate) fn is_head_unchanged(&self) -> bool {
        self.head == self.entry.as_ref().map(|entry| entry.sha256)
    }
}

/// A change of the folder at a path.
#[derive(Debug)]
pub(crate) struct Pull {
    /// The folder's spelling of the path, if it differs.
    pub(crate) on_disk: Option<String>,
    /// The file that is expected there.
    pub(crate) expected: ExpectedTarget,
    /// Its size.
    pub(crate) size: u64,
}

/// The actions for all paths.
#[derive(Debug, Default)]
pub(crate) struct SyncPlan {
    /// In order.
    pub(crate) paths: Vec<PathPlan>,
    /// The mirror's changes since the last sync.
    pub(crate) heads: Heads,
    /// Files of the folder at paths where the mirror has a folder.
    pub(crate) in_the_way: Vec<InTheWay>,
    /// Files that are skipped, with reasons.
    pub(crate) skipped: Vec<Skipped>,
    /// Number of the folder's files that are unchanged.
    pub(crate) unchanged: u64,
    /// Paths that changed in the mirror and cannot be read in the folder.
    pub(crate) waiting: u64,
    /// Why conflicts were not merged, by path.
    pub(crate) overlaps: BTreeMap<String, String>,
}

impl SyncPlan {
    /// Decides every path. `items` are in order; `contents` is what was read of them.
    pub(crate) fn of(mut items: Vec<Item>, mut contents: Contents, heads: Heads, folder: &Folder) -> Self {
        let mut plan = Self { heads, ..Self::default() };
        for index in reading::unlisted(folder, &items) {
            if let Some(item) = items.get_mut(index) {
                plan.skip(&item.path, Reason::Unlisted);
                item.found = InFolder::Unknown;
            }
        }
        let clashes = clash::find(&items, &contents, folder);
        plan.in_the_way = clashes.in_the_way;
        let decided = items.into_iter().enumerate().map(|(index, item)| {
            let ancestor = item.ancestor();
            let Item { path, entry, found, head, is_ignored, .. } = item;
            let action = match head.filter(|_| clashes.displaced.contains(&index)) {
                _ if is_ignored => plan.action_ignored(&path, head),
                Some(_) => PathAction::Displace,
                None => plan.action(found, contents.remove(&index), ancestor, head),
            };
            PathPlan { path, entry, head, action }
        });
        // Large folders have many paths: the plan takes the memory of the items, and gives back what it does not need.
        let mut paths: Vec<PathPlan> = decided.collect();
        paths.shrink_to_fit();
        Self { paths, ..plan }
    }

    /// Decides a path that rules or its name exclude. A file that the mirror has no more counts as never synced, so that the end of
    /// a rule deletes nothing.
    fn action_ignored(&mut self, path: &str, head: Version) -> PathAction {
        if head.is_none() {
            return PathAction::Gone;
        }
        self.skip(path, if class_of(path).is_none() { Reason::LeftOut } else { Reason::Ignored });
        PathAction::Leave
    }

    /// Decides a path; `content` is what was read of it.
    fn action(
        &mut self,
        found: InFolder,
        content: Option<Result<Content, Reason>>,
        ancestor: Version,
        head: Version,
    ) -> PathAction {
        match (found, content) {
            (InFolder::Unknown, _) => self.leave(head != ancestor),
            (InFolder::Same(file), _) => match (decide(ancestor, ancestor, head), ancestor) {
                (Action::Pull, Some(version)) => self.pull(&file, version),
                _ => {
                    self.unchanged += 1;
                    PathAction::Leave
                }
            },
            (InFolder::Nothing, _) => match decide(ancestor, None, head) {
                Action::Keep => PathAction::Gone,
                Action::Push => PathAction::Remove(Box::new(ancestor)),
                Action::Pull | Action::Conflict => {
                    PathAction::Pull(Box::new(Pull { on_disk: None, expected: ExpectedTarget::Nothing, size: 0 }))
                }
            },
            (InFolder::Touched(file), None) => PathAction::Write(Arc::new(Write::new(file, ancestor))),
            (InFolder::Touched(file), Some(Ok(content))) => self.action_read(file, ancestor, head, content),
            (InFolder::Touched(file), Some(Err(reason))) => {
                self.skip(file.disk_path(), reason);
                self.leave(head != ancestor)
            }
        }
    }

    fn action_read(&mut self, file: File, ancestor: Version, head: Version, content: Content) -> PathAction {
        let known = content.fingerprint();
        match (decide(ancestor, Some(known.sha256), head), head) {
            (Action::Keep, _) => {
                self.unchanged += 1;
                PathAction::Keep(Box::new(known))
            }
            (Action::Push, _) => PathAction::Write(Arc::new(Write::read(file, ancestor, content))),
            (Action::Conflict, Some(_)) => PathAction::Conflict(Arc::new(Write::read(file, head, content))),
            (Action::Pull | Action::Conflict, _) => match self.pull(&file, known.sha256) {
                // The file was read, so its fingerprint is known.
                PathAction::Leave => PathAction::Keep(Box::new(known)),
                action => action,
            },
        }
    }

    fn leave(&mut self, is_waiting: bool) -> PathAction {
        self.waiting += u64::from(is_waiting);
        PathAction::Leave
    }

    fn pull(&mut self, file: &File, version: [u8; 32]) -> PathAction {
        if file.is_link {
            self.skip(file.disk_path(), Reason::Link);
            return self.leave(true);
        }
        let on_disk = Some(file.disk_path().to_owned());
        PathAction::Pull(Box::new(Pull { on_disk, expected: ExpectedTarget::Version(version), size: file.stamp.size }))
    }

    fn skip(&mut self, path: &str, reason: Reason) {
        self.skipped.push(Skipped { path: path.to_owned(), reason });
    }

    /// Reads the files to write that were not read yet. This finds files that only moved.
    pub(crate) fn read_new(mut self, folder: &Folder, progress: &dyn Progress) -> Self {
        let unread = self.writes().filter(|(_, write)| write.known().is_none());
        let jobs: Vec<(usize, File)> = unread.map(|(index, write)| (index, write.file.clone())).collect();
        reading::read(folder, &jobs, progress, |(index, _), content| {
            let path = self.paths.get_mut(*index);
            // An unreadable file is tried again, and reported, when it is written.
            if let (Ok(content), Some(PathPlan { action: PathAction::Write(write), .. })) = (content, path) {
                Arc::make_mut(write).learn(content);
            }
        });
        self
    }

    /// The files to write to the mirror, each with the index of its path.
    pub(crate) fn writes(&self) -> impl Iterator<Item = (usize, &Arc<Write>)> {
        self.paths.iter().enumerate().filter_map(|(index, path)| match &path.action {
            PathAction::Write(write) => Some((index, write)),
            _ => None,
        })
    }

    /// The paths to remove from the mirror, each with its index and the version to remove.
    pub(crate) fn removes(&self) -> impl Iterator<Item = (usize, &PathPlan, Version)> {
        self.paths.iter().enumerate().filter_map(|(index, path)| match &path.action {
            PathAction::Remove(ancestor) => Some((index, path, **ancestor)),
            _ => None,
        })
    }

    /// The changes of the folder, each with the index of its path.
    pub(crate) fn pulls(&self) -> impl Iterator<Item = (usize, &PathPlan, &Pull)> {
        self.paths.iter().enumerate().filter_map(|(index, path)| match &path.action {
            PathAction::Pull(pull) => Some((index, path, &**pull)),
            _ => None,
        })
    }

    /// The conflicts, each with the index of its path and the write that settles it.
    pub(crate) fn conflicts(&self) -> impl Iterator<Item = (usize, &PathPlan, &Arc<Write>)> {
        self.paths.iter().enumerate().filter_map(|(index, path)| match &path.action {
            PathAction::Conflict(write) => Some((index, path, write)),
            _ => None,
        })
    }

    /// The merges, each with the index of its path.
    pub(crate) fn merges(&self) -> impl Iterator<Item = (usize, &PathPlan, &Merge)> {
        self.paths.iter().enumerate().filter_map(|(index, path)| match &path.action {
            PathAction::Merge(merge) => Some((index, path, &**merge)),
            _ => None,
        })
    }

    /// The plan that brings the merges at `indices` into the folder, in that order.
    pub(crate) fn pulls_of_merges(&self, indices: &[usize]) -> Self {
        let pull = |index: &usize| {
            let path = self.paths.get(*index)?;
            let PathAction::Merge(merge) = &path.action else { return None };
            let on_disk = Some(merge.file.disk_path().to_owned());
            let expected = ExpectedTarget::Version(merge.known.sha256);
            let pull = Pull { on_disk, expected, size: merge.known.stamp.size };
            let head = merge.merged.known().map(|known| known.sha256);
            Some(PathPlan { path: path.path.clone(), entry: None, head, action: PathAction::Pull(Box::new(pull)) })
        };
        Self { paths: indices.iter().filter_map(pull).collect(), ..Self::default() }
    }

    /// The mirror's files whose path is a folder, each with its index.
    pub(crate) fn displaced(&self) -> impl Iterator<Item = (usize, &PathPlan)> {
        self.paths.iter().enumerate().filter(|(_, path)| matches!(path.action, PathAction::Displace))
    }

    /// Whether it contains `path`.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.binary_search_by(|one| (*one.path).cmp(path)).is_ok()
    }

    /// Whether either side changes.
    pub(crate) fn changes_anything(&self) -> bool {
        let is_idle =
            |path: &PathPlan| matches!(path.action, PathAction::Leave | PathAction::Keep(_) | PathAction::Gone);
        !self.paths.iter().all(is_idle)
    }

    /// Whether the folder changes.
    pub(crate) fn changes_folder(&self) -> bool {
        let is_of_folder = |path: &PathPlan| {
            matches!(path.action, PathAction::Pull(_) | PathAction::Conflict(_) | PathAction::Displace)
        };
        self.paths.iter().any(is_of_folder)
    }

    /// The number of documents that the commit would change.
    pub(crate) fn pushes(&self) -> Changes {
        let mut changes = Changes::default();
        for path in &self.paths {
            match path.action {
                PathAction::Write(_) if path.head.is_none() => changes.added += 1,
                PathAction::Write(_) | PathAction::Merge(_) => changes.changed += 1,
                PathAction::Remove(_) => changes.removed += 1,
                _ => {}
            }
        }
        changes
    }

    /// The paths at which the last sync left attachments with one of the contents `wanted`, in order.
    pub(crate) fn paths_of(&self, wanted: &HashSet<[u8; 32]>) -> Vec<&str> {
        let entries = self.paths.iter().filter_map(|path| path.entry.as_ref());
        let same = entries.filter(|entry| entry.kind == Kind::Attachment && wanted.contains(&entry.sha256));
        same.map(|entry| entry.path.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{Chosen, WrittenDocument};

    /// A large folder has a million of each: with the path, they are what a first sync holds of a file.
    #[test]
    fn what_is_held_of_a_file_is_small() {
        assert!(size_of::<PathPlan>() <= 80, "{}", size_of::<PathPlan>());
        assert!(size_of::<Write>() <= 88, "{}", size_of::<Write>());
        assert!(size_of::<Chosen>() <= 24, "{}", size_of::<Chosen>());
        assert!(size_of::<Result<WrittenDocument, Reason>>() <= 64, "{}", size_of::<Result<WrittenDocument, Reason>>());
        assert!(size_of::<Item>() >= size_of::<PathPlan>(), "the plan takes the memory of the items");
    }
}
