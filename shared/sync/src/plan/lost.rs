//! The files that vanish from a side.

use super::{PathAction, PathPlan, SyncPlan};
use crate::decide::Version;
use crate::guard::{FileKind, Loss, Losses, LostFile, Present, Side};
use crate::rules::{Class, class_of};
use crate::target::{ExpectedTarget, TRASH};
use crate::write::Fingerprint;

/// The files of a kind that one side has lost.
#[derive(Debug)]
pub(crate) struct Lost {
    what: FileKind,
    /// They, each with the index of its path.
    files: Vec<(usize, LostFile)>,
    /// The number of all files of the kind.
    of: u64,
    /// Earlier losses, without the files that are there again.
    before: Vec<Loss>,
}

impl Lost {
    /// The losses as of a time in milliseconds since 1970 UTC.
    pub(crate) fn at(&self, time_ms: i64) -> Losses<'_> {
        let files = self.files.iter().map(|(_, file)| *file).collect();
        Losses { before: &self.before, now: Loss { time_ms, what: self.what, files, of: self.of } }
    }

    /// Those whose path index satisfies `is_wanted`.
    pub(crate) fn filtered(&self, is_wanted: impl Fn(usize) -> bool) -> Self {
        let files = self.files.iter().copied().filter(|(index, _)| is_wanted(*index)).collect();
        Self { files, before: self.before.clone(), ..*self }
    }
}

/// The file at a path that the mirror removed and that no sync brought to the folder.
fn carried_over(path: &PathPlan) -> Option<(FileKind, [u8; 32])> {
    let PathAction::Pull(pull) = &path.action else { return None };
    let (None, ExpectedTarget::Version(sha256)) = (path.head, pull.expected) else { return None };
    let is_note = class_of(&path.path) == Some(Class::Note);
    Some((if is_note { FileKind::Notes } else { FileKind::Attachments }, sha256))
}

impl SyncPlan {
    /// The files that vanished from one side, or became empty, and exist nowhere else there, also where no sync looks. `before`
    /// is what that side lost earlier. An empty file is no loss.
    pub(crate) fn lost(&self, side: Side, what: FileKind, before: &[Loss]) -> Lost {
        let (mut files, mut of) = (Vec::new(), 0);
        for (index, path) in self.paths.iter().enumerate() {
            let known = match &path.entry {
                Some(entry) => Some((FileKind::of(entry.kind), entry.sha256, entry.size > 0)),
                None => carried_over(path).filter(|_| side == Side::Mirror).map(|(kind, sha256)| (kind, sha256, true)),
            };
            let Some((_, sha256, is_full)) = known.filter(|(kind, ..)| *kind == what) else { continue };
            of += 1;
            if is_full && self.is_gone(side, path) {
                files.push((index, LostFile::new(&path.path, sha256)));
            }
        }
        if files.is_empty() {
            // Nothing is decided by what was lost before.
            return Lost { what, files, of, before: before.to_vec() };
        }
        let mut present = Present::default();
        for path in &self.paths {
            if let Some(content) = self.present(side, path) {
                present.paths.insert(LostFile::path(&path.path));
                present.contents.extend(content.map(LostFile::content));
            }
        }
        if side == Side::Mirror {
            // A sync of chosen paths has only these, and a file may have moved to others.
            let live = self.heads.documents.iter().filter(|(path, _)| !path.starts_with(TRASH));
            let full = live.filter_map(|(_, documents)| documents.first()).filter(|document| document.bytes > 0);
            present.contents.extend(full.map(|document| LostFile::content(document.sha256)));
        }
        files.retain(|(_, file)| !present.contents.contains(&file.content));
        Lost { what, files, of, before: present.still_lost(before) }
    }

    /// Whether a side has lost the file at a path, or all of its content, and the other side would follow.
    fn is_gone(&self, side: Side, path: &PathPlan) -> bool {
        match (side, &path.action) {
            (Side::Folder, PathAction::Remove(_)) => true,
            (Side::Folder, PathAction::Write(write)) => write.known().is_some_and(|known| known.stamp.size == 0),
            (Side::Mirror, PathAction::Pull(_)) => {
                path.head.is_none() || self.heads.document(&path.path).is_some_and(|document| document.bytes == 0)
            }
            _ => false,
        }
    }

    /// The content at a path of a side, if it has a file there that is not empty; [`None`] within if it was not read.
    fn present(&self, side: Side, path: &PathPlan) -> Option<Version> {
        let of_entry = || path.entry.as_ref().filter(|entry| entry.size > 0).map(|entry| Some(entry.sha256));
        let of_known = |known: Fingerprint| (known.stamp.size > 0).then_some(Some(known.sha256));
        match (side, &path.action) {
            (Side::Mirror, _) => match self.heads.document(&path.path) {
                Some(document) => (document.bytes > 0).then_some(Some(document.sha256)),
                None => path.head.and_then(|_| of_entry()),
            },
            (Side::Folder, PathAction::Leave) => of_entry(),
            (Side::Folder, PathAction::Keep(known)) => of_known(**known),
            (Side::Folder, PathAction::Write(write) | PathAction::Conflict(write)) => match write.known() {
                Some(known) => of_known(known),
                None => (write.file.stamp.size > 0).then_some(None),
            },
            (Side::Folder, PathAction::Merge(merge)) => of_known(merge.known),
            (Side::Folder, PathAction::Pull(pull)) => match pull.expected {
                ExpectedTarget::Version(sha256) => Some(Some(sha256)),
                ExpectedTarget::Anything | ExpectedTarget::Nothing => None,
            },
            (Side::Folder, PathAction::Gone | PathAction::Remove(_) | PathAction::Displace) => None,
        }
    }
}
