//! Files that a sync has replaced or removed. A program that has such a file open may still write into it. So it is kept
//! for a while, and comes back into the folder if its content changes.
//!
//! It is kept below [`REPLACED`], in the folder of its path, under its SHA-256, a random id and its name.

use std::time::{Duration, SystemTime};

use atlas_mirror::{Hash, Id};
use atlas_vault::conflict::copy_path;
use cap_std::fs::{Dir, MetadataExt as _};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::decide::Version;
use crate::folder::{self, hash_of};
use crate::moves::{move_away, move_new, unwritable};
use crate::recovery::{list, place_for, put_beside};
use crate::report::{Reason, Skipped};
use crate::target::Target;

/// The folder of replaced files.
pub const REPLACED: &str = ".atlas-mirror/replaced";
/// Hides them from Git.
pub(crate) const IGNORE_FILE: &str = ".atlas-mirror/.gitignore";
/// A file is kept for this time.
const KEPT_FOR: Duration = Duration::from_secs(3600);
/// Bytes of a SHA-256 and an id in hex, with a hyphen between them.
const MARK: usize = 64 + 1 + 32;
/// Longest name of a file, in bytes, on nearly all file systems.
const MAX_NAME: usize = 255;
/// The author in the names of copies.
const AUTHOR: &str = "late-save";

/// Keeps the file `name` in `from`, which was at `path` and has this SHA-256.
pub(crate) fn keep(target: &Target, path: &str, sha256: [u8; 32], from: &Dir, name: &str) -> Result<(), Reason> {
    let id = Id::random().map_err(|error| Reason::Unwritable(error.to_string()))?;
    let (folder, kept) = kept_as(path, &format!("{}-{id}", Hash::from_bytes(sha256)));
    let folder = target.below(&format!("{REPLACED}/{folder}"), true).map_err(|error| unwritable(&error))?;
    target.hide_from_git();
    move_away(from, name, &folder, &kept)
}

/// Brings the files back that were written to, and deletes the others after a while. Returns the copies.
pub(crate) fn look_through(
    target: &Target,
    ancestor: impl Fn(&str) -> Version,
    began: Timestamp,
    time_zone: &TimeZone,
) -> Vec<Skipped> {
    let Ok(replaced) = target.below(REPLACED, false) else { return Vec::new() };
    let mut kept = Vec::new();
    list(&replaced, "", &mut kept);
    let mut are_all_left = !kept.is_empty();
    let mut told = Vec::new();
    for at in kept {
        let Some((path, sha256)) = original(&at) else { continue };
        let (folder, name) = at.rsplit_once('/').unwrap_or(("", &at));
        let Ok(folder) = target.below(&format!("{REPLACED}/{folder}"), false) else { continue };
        let known = ancestor(&path);
        let Some(due) = due(target, &folder, name, &path, [Some(sha256), known], began) else { continue };
        are_all_left = false;
        let result = match due {
            Due::Deletion => folder.remove_file(name).map(|()| None).map_err(|error| unwritable(&error)),
            Due::Return => {
                let time = began.to_zoned(time_zone.clone());
                // An edit beats a deletion.
                bring_back(target, &folder, name, &path, known.is_none(), |path, attempt| {
                    copy_path(path, AUTHOR, &time, attempt)
                })
            }
        };
        match result {
            Ok(None) => {}
            Ok(Some(copy)) => told.push(Skipped { path, reason: Reason::Late(copy) }),
            Err(reason) => told.push(Skipped { path, reason }),
        }
    }
    if !are_all_left {
        target.remove_folder(REPLACED);
    }
    told
}

/// What is to be done with a file.
enum Due {
    Deletion,
    Return,
}

/// What is to be done with the file `name`, which was at `path`; [`None`] for now. Contents that are `safe` or at the path need not come back.
fn due(target: &Target, folder: &Dir, name: &str, path: &str, safe: [Version; 2], began: Timestamp) -> Option<Due> {
    let found = folder.symlink_metadata(name).ok().filter(cap_std::fs::Metadata::is_file)?;
    let [changed, written] = [(found.ctime(), found.ctime_nsec()), (found.mtime(), found.mtime_nsec())];
    let moved =
        u64::try_from(changed.0).ok().and_then(|at| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(at)))?;
    // If the clock was set back since, it is not old.
    let is_old = SystemTime::from(began).duration_since(moved).is_ok_and(|age| age > KEPT_FOR);
    // The move counts as a change of the file, not of its content. Some programs set the time of what they have written, so before its end the
    // content is read.
    if written < changed && !is_old {
        return None;
    }
    let (_, stamp, sha256) = folder::look(folder, name).ok()?;
    let is_there = || {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        target.below(above, false).is_ok_and(|above| hash_of(&above, name) == Ok(sha256))
    };
    if !safe.contains(&Some(sha256)) && !is_there() {
        return Some(Due::Return);
    }
    let is_unchanged = || folder.symlink_metadata(name).is_ok_and(|found| folder::Stamp::of(&found) == stamp);
    (is_old && is_unchanged()).then_some(Due::Deletion)
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

/// The folder and the name of a kept file. A long name is the last folder.
fn kept_as(path: &str, mark: &str) -> (String, String) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match mark.len() + 1 + name.len() <= MAX_NAME {
        true => (folder.to_owned(), format!("{mark}-{name}")),
        false => (path.to_owned(), mark.to_owned()),
    }
}

/// The original path and SHA-256 of the file that is kept at this path.
fn original(at: &str) -> Option<(String, [u8; 32])> {
    let (folder, kept) = at.rsplit_once('/').map_or((None, at), |(folder, kept)| (Some(folder), kept));
    let (mark, rest) = kept.split_at_checked(MARK)?;
    let (sha256, id) = mark.split_once('-')?;
    let (sha256, _) = (sha256.parse::<Hash>().ok()?, id.parse::<Id>().ok()?);
    let name = rest.strip_prefix('-');
    let path = match (folder, name) {
        (Some(folder), Some(name)) => format!("{folder}/{name}"),
        (folder, name) => folder.or(name)?.to_owned(),
    };
    Some((path, *sha256.as_bytes()))
}
