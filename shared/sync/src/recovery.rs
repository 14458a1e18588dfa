//! Restores the files that a killed sync had moved aside, and looks through those that were replaced.

use std::time::{Duration, SystemTime};

use atlas_vault::VaultPath;
use atlas_vault::conflict::copy_path;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::beside::{list, place_for, put_beside};
use crate::decide::Version;
use crate::folder;
use crate::moves::move_new;
use crate::report::{Reason, Skipped};
use crate::rules::STAGING;
use crate::target::replaced::{self, Checked};
use crate::target::{ASIDE, Target};

/// Older unfinished files belong to a sync that is not running any more.
const STALE: Duration = Duration::from_secs(3600);
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
    // As the mirror spells it.
    let ancestor = |path: &str| VaultPath::parse_recorded(path).ok().and_then(|path| ancestor(path.as_str()));
    remove_stale(target, began);
    let mut paths = Vec::new();
    if let Ok(aside) = target.below(ASIDE, false) {
        list(&aside, "", &mut paths);
    }
    let time = began.to_zoned(time_zone.clone());
    let mut told = Vec::new();
    for path in paths {
        let name = |path: &str, attempt| copy_path(path, AUTHOR, &time, attempt);
        let reason = match put_back(target, &path, ancestor, name) {
            Ok(None) => continue,
            Ok(Some(copy)) => Reason::Recovered(copy),
            Err(reason) => reason,
        };
        told.push(Skipped { path, reason });
    }
    told.append(&mut replaced::look_through(target, ancestor, began, time_zone));
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
    let (_, stamp, sha256) = folder::look(&aside, &name)?;
    if ancestor(path) == Some(sha256) || place.is_some_and(|folder| folder::hash_of(&folder, &name) == Ok(sha256)) {
        replaced::put_away(target, path, Checked { sha256, stamp }, &aside, &name)?;
        return Ok(None);
    }
    put_beside(target, &aside, &name, &beside, copy).map(Some)
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
