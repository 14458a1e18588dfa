//! Restores the files that a killed sync had moved aside, and looks through those that were replaced.

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
use crate::pull::MAX_COPIES;
use crate::replaced;
use crate::report::{Reason, Skipped};
use crate::rules::STAGING;
use crate::target::{ASIDE, Target};

/// Older unfinished files belong to a sync that is not running any more.
const STALE: Duration = Duration::from_secs(3600);
/// Most levels of folders: more than a path of a vault can have.
const MAX_DEPTH: usize = 512;
/// Most files of the staging folder that one sync looks at; later ones take the rest.
const MAX_FILES: usize = 100_000;
/// The author in the names of copies without one.
const AUTHOR: &str = "interrupted-sync";

/// Moves the files that were moved aside back to their paths, or to a copy beside it if the path is taken. A file whose
/// content is the `ancestor` of its path is in the mirror's history, and counts as replaced. Returns the copies.
pub(crate) fn recover(
    target: &Target,
    ancestor: impl Fn(&str) -> Version,
    began: Timestamp,
    time_zone: &TimeZone,
) -> Vec<Skipped> {
    remove_stale(target, began);
    let mut paths = Vec::new();
    if let Ok(aside) = target.below(ASIDE, false) {
        list(&aside, "", &mut paths);
    }
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
    told.append(&mut replaced::look_through(target, &ancestor, began, time_zone));
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
        replaced::keep(target, path, kept, &aside, &name)?;
        return Ok(None);
    }
    put_beside(target, &aside, &name, &beside, copy).map(Some)
}

/// Moves a file to the first free name of a copy of `path`. Returns it.
pub(crate) fn put_beside(
    target: &Target,
    from: &Dir,
    name: &str,
    path: &str,
    copy: impl Fn(&str, u32) -> String,
) -> Result<String, Reason> {
    let mut refused = Reason::Changed;
    for attempt in 1..=MAX_COPIES {
        let path = copy(path, attempt);
        let (folder, new_name) = target.place_of(&path)?;
        match move_new(from, name, &folder, &new_name) {
            Ok(()) => return Ok(path),
            Err(reason) => refused = reason,
        }
    }
    Err(refused)
}

/// The folder of `path`, if it can exist, and the path beside which to put a copy. If a file has the name of a folder
/// of `path`, the copy goes beside that file.
pub(crate) fn place_for(target: &Target, path: &str) -> (Option<Dir>, String) {
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

/// Adds the files below a folder of the staging folder, up to [`MAX_FILES`].
pub(crate) fn list(dir: &Dir, path: &str, paths: &mut Vec<String>) {
    list_within(dir, path, paths, MAX_DEPTH);
}

fn list_within(dir: &Dir, path: &str, paths: &mut Vec<String>, depth: usize) {
    let Ok(entries) = dir.entries() else { return };
    for entry in entries.flatten() {
        if paths.len() >= MAX_FILES {
            return;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        match entry.file_type() {
            Ok(file_type) if file_type.is_dir() => {
                if let (Ok(below), Some(depth)) = (dir.open_dir_nofollow(&name), depth.checked_sub(1)) {
                    list_within(&below, &path, paths, depth);
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
            // What hides the folder from Git is no such file.
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            metadata.is_file() && !is_hidden && age.is_some_and(|age| age > STALE)
        });
        if stale {
            let _ = staging.remove_file(entry.file_name());
        }
    }
}
