//! Files that a sync has replaced or removed. A program that has such a file open may still write into it. So it is kept
//! for a while, and comes back into the folder if its content changes.
//!
//! It is kept below [`REPLACED`], in a folder of its path, under a [`Mark`]. The folder may be on a file system whose times
//! say little, so the mark has all that shows whether the file has changed, and when it was put there.

use std::fmt;

use atlas_mirror::{Hash, Id};
use atlas_vault::conflict::copy_path;
use cap_std::fs::{Dir, Metadata, MetadataExt as _};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::beside::{list, place_for, put_beside};
use crate::decide::Version;
use crate::folder::{self, Stamp, hash_of};
use crate::moves::{move_away, move_new, unwritable};
use crate::report::{Reason, Skipped};
use crate::target::Target;

/// The folder of replaced files.
pub const REPLACED: &str = ".atlas-mirror/replaced";
/// Hides them from Git.
pub(crate) const IGNORE_FILE: &str = ".atlas-mirror/.gitignore";
/// A file is kept for this time.
const KEPT_FOR_MS: i64 = 3600 * 1000;
/// Longest time from the beginning of a sync to a replacement; a later one is an error of a clock.
const LONGEST_SYNC_MS: i64 = 24 * 3600 * 1000;
/// The times of two changes within this time may be the same.
const COARSE_MS: i64 = 2000;
/// The author in the names of copies.
const AUTHOR: &str = "late-save";

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

/// Most that is kept after a sync, and most that one sync adds.
pub(crate) const ROOM: Room = Room { files: 10_000, bytes: 256 << 20 };

/// A file as it was checked.
#[derive(Clone, Copy)]
pub(crate) struct Checked {
    pub(crate) sha256: [u8; 32],
    /// From before its content was read.
    pub(crate) stamp: Stamp,
}

/// The name of a kept file, with a random id at its end. It has at most 143 bytes, the longest name on eCryptfs.
#[derive(Clone, Copy)]
struct Mark {
    checked: Checked,
    /// When it was put there, in milliseconds since 1970 UTC.
    time_ms: i64,
}

/// A kept file.
struct Kept {
    /// The path at which it was.
    path: String,
    /// Its name.
    name: String,
    mark: Mark,
}

/// What is to be done with a file.
enum Due {
    Nothing,
    Deletion,
    Return,
}

impl Room {
    /// Takes the room of a file, if there is as much.
    pub(crate) const fn take(&mut self, bytes: u64) -> bool {
        let (Some(files), Some(bytes)) = (self.files.checked_sub(1), self.bytes.checked_sub(bytes)) else {
            return false;
        };
        *self = Self { files, bytes };
        true
    }
}

/// Keeps the file `name` in `from`, which was at `path`. If that fails, it is deleted, unless it was written to: another
/// place has its content, and a file that stays would seem to be the rest of a killed sync.
pub(crate) fn put_away(target: &Target, path: &str, checked: Checked, from: &Dir, name: &str) -> Result<(), Reason> {
    let Err(reason) = keep(target, path, checked, from, name) else { return Ok(()) };
    if !is_unchanged(from, name, checked.stamp) {
        // The next sync brings it back.
        return Ok(());
    }
    tracing::debug!(path, %reason, "a replaced file is not kept");
    from.remove_file(name).map_err(|error| unwritable(&error))
}

fn keep(target: &Target, path: &str, checked: Checked, from: &Dir, name: &str) -> Result<(), Reason> {
    let found = from.symlink_metadata(name).map_err(|error| unwritable(&error))?;
    if !target.takes(found.size()) {
        return Err(Reason::Unwritable("enough is kept".to_owned()));
    }
    let id = Id::random().map_err(|error| Reason::Unwritable(error.to_string()))?;
    let mark = Mark { checked, time_ms: moved_ms(&found, target.began()) };
    let folder = target.below(&format!("{REPLACED}/{path}"), true).map_err(|error| unwritable(&error))?;
    target.hide_from_git();
    move_away(from, name, &folder, &format!("{mark}-{id}"))
}

/// When a file was moved, as far as the file system tells, in a sync that began then.
fn moved_ms(found: &Metadata, began: Timestamp) -> i64 {
    let began = began.as_millisecond();
    // Some file systems give the time of its content, which may be any.
    found.ctime().saturating_mul(1000).clamp(began, began.saturating_add(LONGEST_SYNC_MS))
}

/// Brings the files back that were written to, and deletes the others after a while. Returns the files that came back.
pub(crate) fn look_through(
    target: &Target,
    ancestor: impl Fn(&str) -> Version,
    began: Timestamp,
    time_zone: &TimeZone,
) -> Vec<Skipped> {
    let all = all(target);
    let count = all.len();
    let (mut left, mut told) = (Vec::new(), Vec::new());
    for kept in all {
        let Kept { path, name, mark: _ } = &kept;
        let Ok(folder) = kept.folder(target) else { continue };
        let known = ancestor(path);
        let reason = match kept.due(target, &folder, known, began) {
            Due::Nothing => {
                left.push(kept);
                continue;
            }
            Due::Deletion => match folder.remove_file(name) {
                Ok(()) => continue,
                Err(error) => unwritable(&error),
            },
            Due::Return => {
                let time = began.to_zoned(time_zone.clone());
                // An edit beats a deletion.
                let may_have_its_path = known.is_none();
                let copy = |path: &str, attempt| copy_path(path, AUTHOR, &time, attempt);
                match bring_back(target, &folder, name, path, may_have_its_path, copy) {
                    Ok(Some(copy)) => Reason::Late(copy),
                    Ok(None) => Reason::Returned,
                    Err(reason) => reason,
                }
            }
        };
        told.push(Skipped { path: path.clone(), reason });
    }
    let are_all_left = count > 0 && left.len() == count;
    let is_within = bound(target, left, ROOM);
    if !(are_all_left && is_within) {
        target.remove_folder(REPLACED);
    }
    told
}

/// Deletes what there is no room for after a sync.
pub(crate) fn trim(target: &Target) {
    if !bound(target, all(target), ROOM) {
        target.remove_folder(REPLACED);
    }
}

/// Deletes the oldest of the `kept` files that did not change, until the others need no more than `room`. Returns whether
/// they never needed more.
fn bound(target: &Target, mut kept: Vec<Kept>, room: Room) -> bool {
    let bytes = kept.iter().fold(0, |bytes: u64, kept| bytes.saturating_add(kept.mark.checked.stamp.size));
    let mut needed = Room { files: kept.len(), bytes };
    let is_within = |needed: Room| needed.files <= room.files && needed.bytes <= room.bytes;
    if is_within(needed) {
        return true;
    }
    kept.sort_by_key(|kept| kept.mark.time_ms);
    for kept in kept {
        if is_within(needed) {
            break;
        }
        let Ok(folder) = kept.folder(target) else { continue };
        let is_deleted = matches!(folder::look(&folder, &kept.name), Ok((_, stamp, sha256))
            if sha256 == kept.mark.checked.sha256 && is_unchanged(&folder, &kept.name, stamp))
            && folder.remove_file(&kept.name).is_ok();
        if is_deleted {
            needed.files = needed.files.saturating_sub(1);
            needed.bytes = needed.bytes.saturating_sub(kept.mark.checked.stamp.size);
        }
    }
    false
}

/// All kept files.
fn all(target: &Target) -> Vec<Kept> {
    let Ok(replaced) = target.below(REPLACED, false) else { return Vec::new() };
    let mut paths = Vec::new();
    list(&replaced, "", &mut paths);
    paths.iter().filter_map(|at| Kept::at(at)).collect()
}

fn is_unchanged(folder: &Dir, name: &str, stamp: Stamp) -> bool {
    folder.symlink_metadata(name).is_ok_and(|found| found.is_file() && Stamp::of(&found) == stamp)
}

impl Kept {
    /// The file that is kept at this path below [`REPLACED`].
    fn at(at: &str) -> Option<Self> {
        let (path, name) = at.rsplit_once('/')?;
        Some(Self { path: path.to_owned(), name: name.to_owned(), mark: Mark::of(name)? })
    }

    fn folder(&self, target: &Target) -> Result<Dir, Reason> {
        target.below(&format!("{REPLACED}/{}", self.path), false).map_err(|error| unwritable(&error))
    }

    /// What is to be done with it. Contents that are `known`, or at its path, need not come back.
    fn due(&self, target: &Target, folder: &Dir, known: Version, began: Timestamp) -> Due {
        let Mark { checked, time_ms } = self.mark;
        // If the clock was set back since, it is not old.
        let is_old = began.as_millisecond().saturating_sub(time_ms) > KEPT_FOR_MS;
        let may_hide_a_change = checked.stamp.modified_ms() >= time_ms.saturating_sub(COARSE_MS);
        if !is_old && !may_hide_a_change && is_unchanged(folder, &self.name, checked.stamp) {
            return Due::Nothing;
        }
        // Some programs set the time of what they have written, so before its end the content is read.
        let Ok((_, stamp, sha256)) = folder::look(folder, &self.name) else { return Due::Nothing };
        let is_there = || {
            let (above, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
            target.below(above, false).is_ok_and(|above| hash_of(&above, name) == Ok(sha256))
        };
        match sha256 == checked.sha256 || known == Some(sha256) || is_there() {
            false => Due::Return,
            true if is_old && is_unchanged(folder, &self.name, stamp) => Due::Deletion,
            true => Due::Nothing,
        }
    }
}

impl Mark {
    /// The mark that begins a name.
    fn of(name: &str) -> Option<Self> {
        let mut parts = name.split('-');
        let sha256 = *parts.next()?.parse::<Hash>().ok()?.as_bytes();
        let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
        let (time_ms, mtime_ns, size) = (number()?.cast_signed(), number()?.cast_signed(), number()?);
        parts.next()?.parse::<Id>().ok()?;
        parts.next().is_none().then_some(Self { checked: Checked { sha256, stamp: Stamp { size, mtime_ns } }, time_ms })
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { checked: Checked { sha256, stamp: Stamp { size, mtime_ns } }, time_ms } = self;
        write!(f, "{}-{time_ms:x}-{mtime_ns:x}-{size:x}", Hash::from_bytes(*sha256))
    }
}

/// Returns the path of the copy, if the file did not go to its own path.
fn bring_back(
    target: &Target,
    from: &Dir,
    name: &str,
    path: &str,
    may_have_its_path: bool,
    copy: impl Fn(&str, u32) -> String,
) -> Result<Option<String>, Reason> {
    let (place, beside) = place_for(target, path);
    let old_name = path.rsplit('/').next().unwrap_or(path);
    if let Some(folder) = place.filter(|_| may_have_its_path)
        && move_new(from, name, &folder, old_name).is_ok()
    {
        return Ok(None);
    }
    put_beside(target, from, name, &beside, copy).map(Some)
}
