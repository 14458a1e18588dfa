//! The outcome of a sync: what the plan achieved, and so what is equal on both sides now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use atlas_segment::Kind;
use jiff::Timestamp;
use serde::Serialize;

use crate::guard::Side;
use crate::plan::{Lost, PathAction, PathPlan, SyncPlan};
use crate::rules::{Class, class_of};
use crate::state::{CARRIED_NS, Entry};
use crate::target::ExpectedTarget;
use crate::write::{Fingerprint, Write};

/// Most files that are listed; others are only counted.
const MOST: usize = 1000;

/// A file that goes from one side to the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Its path.
    pub path: String,
    /// The side that changes.
    pub side: Side,
    /// The kind of change.
    pub how: ChangeKind,
    /// When the new version was last modified; [`None`] for a removed file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<Timestamp>,
}

/// How a file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It is added.
    Added,
    /// It is changed.
    Changed,
    /// It is removed.
    Removed,
}

impl ChangeKind {
    /// One character: `+`, `~`, or `-`.
    pub const fn sign(self) -> char {
        match self {
            Self::Added => '+',
            Self::Changed => '~',
            Self::Removed => '-',
        }
    }

    const fn of(is_there: bool) -> Self {
        if is_there { Self::Changed } else { Self::Added }
    }
}

/// The outcome of a plan; paths are given by their index in it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) plan: SyncPlan,
    /// The folder's new files; [`None`] where a file was removed.
    pub(crate) pulled: BTreeMap<usize, Option<Fingerprint>>,
    /// The committed files of the folder, in order.
    pub(crate) written: Vec<(usize, Fingerprint)>,
    /// The paths removed from the mirror.
    pub(crate) removed: BTreeSet<usize>,
    /// The committed conflict copies, by path.
    pub(crate) copies: BTreeMap<String, Fingerprint>,
    /// The merges that were committed, each with the folder's new file if it was written.
    pub(crate) merged: BTreeMap<usize, Option<Fingerprint>>,
    /// Whether the newest generation extends only the one that the plan was made for.
    pub(crate) alone: bool,
}

impl Outcome {
    /// The contents that are equal on both sides now, or were last; times from `trusted_ns` on are not trusted.
    pub(crate) fn entries(self, trusted_ns: i64) -> Vec<Arc<Entry>> {
        let Self { plan, pulled, written, removed, copies, merged, .. } = self;
        let entry = |path: String, known: Fingerprint| {
            let Fingerprint { stamp, sha256, kind } = known;
            let mtime_ns = (stamp.mtime_ns < trusted_ns).then_some(stamp.mtime_ns);
            Arc::new(Entry { path, sha256, kind, size: stamp.size, mtime_ns })
        };
        let of_path = |(index, PathPlan { path, entry: last, head, action }): (usize, PathPlan)| match action {
            PathAction::Gone => None,
            PathAction::Keep(known) => Some(entry(path.to_string(), *known)),
            PathAction::Leave => last,
            PathAction::Remove(_) | PathAction::Displace if removed.contains(&index) => None,
            PathAction::Remove(_) | PathAction::Displace => last,
            PathAction::Write(_) | PathAction::Conflict(_) => match at(&written, index) {
                Some(known) => Some(entry(path.to_string(), *known)),
                None => last,
            },
            PathAction::Merge(_) => match merged.get(&index) {
                Some(Some(known)) => Some(entry(path.to_string(), *known)),
                // The next sync merges again, from the same ancestor.
                _ => last,
            },
            PathAction::Pull(pull) => match pulled.get(&index) {
                Some(pulled) => pulled.map(|known| entry(path.to_string(), known)),
                // The next sync reads it: its size and time may hide a change.
                None => match pull.expected {
                    ExpectedTarget::Version(sha256) if head.is_none() => Some(left(&path, last, sha256, pull.size)),
                    _ => last.map(|entry| Arc::new(Entry { mtime_ns: None, ..Arc::unwrap_or_clone(entry) })),
                },
            },
        };
        // Large folders have many paths: the entries take the memory of the plan, and give back what they do not need.
        let mut entries: Vec<Arc<Entry>> = plan.paths.into_iter().enumerate().filter_map(of_path).collect();
        entries.shrink_to_fit();
        entries.extend(copies.into_iter().map(|(path, known)| entry(path, known)));
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries
    }

    /// Whether the mirror's files that a folder can have are exactly the [`entries`](Self::entries).
    pub(crate) fn is_settled(&self) -> bool {
        let is_settled = |(index, path): (usize, &PathPlan)| match &path.action {
            PathAction::Gone => true,
            PathAction::Keep(known) => path.head == Some(known.sha256),
            // No folder can have a file of a name that is left out.
            PathAction::Leave => path.is_head_unchanged() || class_of(&path.path).is_none(),
            PathAction::Remove(_) | PathAction::Displace => self.removed.contains(&index) || path.is_head_unchanged(),
            PathAction::Write(_) | PathAction::Conflict(_) => {
                at(&self.written, index).is_some() || path.is_head_unchanged()
            }
            PathAction::Pull(_) => self.pulled.contains_key(&index),
            PathAction::Merge(_) => self.merged.get(&index).is_some_and(Option::is_some),
        };
        self.alone && self.plan.paths.iter().enumerate().all(is_settled)
    }

    /// The part of `lost` that the other side has lost too. Losses that still wait are counted when they are carried
    /// out.
    pub(crate) fn carried_over(&self, lost: &Lost) -> Lost {
        lost.filtered(|index| {
            self.removed.contains(&index) || at(&self.written, index).is_some() || self.pulled.contains_key(&index)
        })
    }

    /// The changed files and their sides, by path, at most [`MOST`].
    pub(crate) fn named(&self) -> Vec<Changed> {
        let of_path = |(index, path): (usize, &PathPlan)| match &path.action {
            PathAction::Write(write) | PathAction::Conflict(write) if at(&self.written, index).is_some() => {
                Some(written(path, write))
            }
            PathAction::Remove(_) | PathAction::Displace if self.removed.contains(&index) => Some(removed(path)),
            PathAction::Pull(pull) if self.pulled.contains_key(&index) => Some(pulled(&self.plan, path, pull.expected)),
            _ => None,
        };
        let copies = self.copies.iter().map(|(path, known)| {
            changed(path.clone(), Side::Mirror, ChangeKind::Added, Some(known.stamp.modified_ms()))
        });
        let merged = self.merged.keys().filter_map(|index| self.plan.paths.get(*index)).flat_map(on_both_sides);
        // Paths are in order, so the first are enough.
        let of_paths = self.plan.paths.iter().enumerate().filter_map(of_path).take(MOST);
        let mut named: Vec<Changed> = of_paths.chain(copies).chain(merged).collect();
        named.sort_by(|a, b| a.path.cmp(&b.path));
        named.truncate(MOST);
        named
    }
}

/// The file of a removal that failed. Without an entry, the next sync would take what no sync brought for a person's new file.
fn left(path: &str, last: Option<Arc<Entry>>, sha256: [u8; 32], size: u64) -> Arc<Entry> {
    let is_note = class_of(path) == Some(Class::Note);
    let kind = last.as_ref().map_or(if is_note { Kind::Note } else { Kind::Attachment }, |entry| entry.kind);
    let is_brought = last.is_some_and(|entry| entry.sha256 == sha256 && !entry.is_carried());
    let mtime_ns = (!is_brought).then_some(CARRIED_NS);
    Arc::new(Entry { path: path.to_owned(), sha256, kind, size, mtime_ns })
}

/// The file at `index` of those that were `written`, which are in order.
fn at(written: &[(usize, Fingerprint)], index: usize) -> Option<&Fingerprint> {
    let at = written.binary_search_by_key(&index, |(index, _)| *index).ok()?;
    written.get(at).map(|(_, known)| known)
}

/// The changes of a merged file.
fn on_both_sides(path: &PathPlan) -> Vec<Changed> {
    let PathAction::Merge(merge) = &path.action else { return Vec::new() };
    let modified_ms = merge.merged.file.stamp.modified_ms();
    let on = |side| changed(path.path.to_string(), side, ChangeKind::Changed, Some(modified_ms));
    vec![on(Side::Mirror), on(Side::Folder)]
}

/// The files that `plan` would change and their sides, by path, at most [`MOST`].
pub(crate) fn planned(plan: &SyncPlan) -> Vec<Changed> {
    let of_path = |path: &PathPlan| match &path.action {
        PathAction::Write(write) => Some(written(path, write)),
        PathAction::Remove(_) => Some(removed(path)),
        PathAction::Pull(pull) => Some(pulled(plan, path, pull.expected)),
        _ => None,
    };
    let merged = plan.merges().flat_map(|(_, path, _)| on_both_sides(path));
    let mut named: Vec<Changed> = plan.paths.iter().filter_map(of_path).take(MOST).chain(merged).collect();
    named.sort_by(|a, b| a.path.cmp(&b.path));
    named.truncate(MOST);
    named
}

fn written(path: &PathPlan, write: &Write) -> Changed {
    let modified_ms = write.file.stamp.modified_ms();
    changed(path.path.to_string(), Side::Mirror, ChangeKind::of(path.head.is_some()), Some(modified_ms))
}

fn removed(path: &PathPlan) -> Changed {
    changed(path.path.to_string(), Side::Mirror, ChangeKind::Removed, None)
}

fn pulled(plan: &SyncPlan, path: &PathPlan, expected: ExpectedTarget) -> Changed {
    let how = match path.head {
        None => ChangeKind::Removed,
        Some(_) => ChangeKind::of(expected != ExpectedTarget::Nothing),
    };
    let document = path.head.and(plan.heads.document(&path.path));
    changed(path.path.to_string(), Side::Folder, how, document.map(|document| document.modified_ms))
}

fn changed(path: String, side: Side, how: ChangeKind, modified_ms: Option<i64>) -> Changed {
    let modified = modified_ms.and_then(|modified_ms| Timestamp::from_millisecond(modified_ms).ok());
    Changed { path, side, how, modified }
}
