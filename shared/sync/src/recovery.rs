//! Restores the files that a killed sync had moved aside.

use std::time::{Duration, SystemTime};

use atlas_vault::VaultPath;
use atlas_vault::conflict::copy_path;
use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::decide::Version;
use crate::folder;
use crate::moves::move_new;
use crate::report::{Reason, Skipped};
use crate::rules::STAGING;
use crate::target::{ASIDE, Target};

/// Older unfinished files belong to a sync that is not running any more.
const STALE: Duration = Duration::from_secs(3600);
/// Most levels of folders: more than a path of a vault can have.
const MAX_DEPTH: usize = 512;
/// The author in the names of copies without one.
const AUTHOR: &str = "interrupted-sync";

/// Moves the files that were moved aside back to their paths, or to a copy beside it if the path is taken. A file whose
/// content is the `ancestor` of its path is in the mirror's history, and is deleted. Returns the copies.
pub(crate) fn recover(
    target: &Target,
    ancestor: impl Fn(&str) -> Version,
    began: Timestamp,
    time_zone: &TimeZone,
) -> Vec<Skipped> {
    remove_stale(target, began);
    let Ok(aside) = target.below(ASIDE, false) else { return Vec::new() };
    let mut paths = Vec::new();
    list(&aside, "", &mut paths, MAX_DEPTH);
    let time = began.to_zoned(time_zone.clone());
    let mut told = Vec::new();
    for path in paths {
        let name = |path: &str, attempt| copy_path(path, AUTHOR, &time, attempt);
        let reason = match put_back(target, &path, &ancestor, name) {
            Ok(None) => continue,
            Ok(Some(copy)) => Reason::Recovered(copy),
            Err(reason) => reason,
        };
        told.push(Skipped { path, reason });
    }
    target.sync();
    target.clear();
    told
}

/// Returns the path of the copy, if one was needed.
fn put_back(
    target: &Target,
    path: &str,
    ancestor: impl Fn(&str) -> Version,
    copy: impl Fn(&str, u32) -> String,
) -> Result<Option<String>, Reason> {
    let (aside, name) = target.place_of(&format!("{ASIDE}/{path}"))?;
    let (place, beside) = place_for(target, path);
    if let Some(folder) = &place
        && move_new(&aside, &name, folder, &name).is_ok()
    {
        return Ok(None);
    }
    let kept = folder::hash_of(&aside, &name)?;
    let known = VaultPath::parse(path).ok().and_then(|path| ancestor(path.as_str()));
    if known == Some(kept) || place.is_some_and(|folder| folder::hash_of(&folder, &name) == Ok(kept)) {
        aside.remove_file(&name).map_err(|error| Reason::Unwritable(error.to_string()))?;
        return Ok(None);
    }
    let mut refused = Reason::Changed;
    for attempt in 1..=99 {
        let path = copy(&beside, attempt);
        let (folder, new_name) = target.place_of(&path)?;
        match move_new(&aside, &name, &folder, &new_name) {
            Ok(()) => return Ok(Some(path)),
            Err(reason) => refused = reason,
        }
    }
    Err(refused)
}

/// The folder of `path`, if it can exist, and the path beside which to put a copy. If a file has the name of a folder
/// of `path`, the copy goes beside that file.
fn place_for(target: &Target, path: &str) -> (Option<Dir>, String) {
    if let Ok((folder, _)) = target.place_of(path) {
        return (Some(folder), path.to_owned());
    }
    let mut names: Vec<&str> = path.split('/').collect();
    let name = names.pop().unwrap_or_default();
    while names.pop().is_some() {
        let beside = names.iter().copied().chain([name]).collect::<Vec<_>>().join("/");
        if target.place_of(&beside).is_ok() {
            return (None, beside);
        }
    }
    (None, name.to_owned())
}

fn list(dir: &Dir, path: &str, paths: &mut Vec<String>, depth: usize) {
    let Ok(entries) = dir.entries() else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        match entry.file_type() {
            Ok(file_type) if file_type.is_dir() => {
                if let (Ok(below), Some(depth)) = (dir.open_dir_nofollow(&name), depth.checked_sub(1)) {
                    list(&below, &path, paths, depth);
                }
            }
            Ok(_) => paths.push(path),
            Err(_) => {}
        }
    }
}

/// Deletes files that were begun long ago and never finished.
fn remove_stale(target: &Target, began: Timestamp) {
    let Ok(staging) = target.below(STAGING, false) else { return };
    let Ok(entries) = staging.entries() else { return };
    for entry in entries.flatten() {
        let stale = entry.metadata().is_ok_and(|metadata| {
            let age =
                metadata.modified().ok().and_then(|time| SystemTime::from(began).duration_since(time.into_std()).ok());
            metadata.is_file() && age.is_some_and(|age| age > STALE)
        });
        if stale {
            let _ = staging.remove_file(entry.file_name());
        }
    }
}
