//! Renames files that are in the way of folders of the same name: each becomes a copy beside its place, named like a conflict copy.

use std::sync::Arc;

use atlas_mirror::{Mirror, Snapshot};
use atlas_vault::conflict::copy_path;
use jiff::Timestamp;

use crate::beside::MAX_COPIES;
use crate::blocking::blocking;
use crate::clash::InTheWay;
use crate::conflict::{everywhere, writer};
use crate::error::SyncError;
use crate::folder::Folder;
use crate::head::{self, HeadDocuments};
use crate::options::SyncOptions;
use crate::plan::SyncPlan;
use crate::pull::Conflicted;
use crate::report::{Reason, Skipped};
use crate::scan::File;
use crate::target::Target;

/// Renames the files that are in the way. A file that equals the mirror's version gets the same new name on every host.
/// Returns the renamed and the failed files.
pub(crate) async fn make_room(
    mirror: &Mirror,
    snapshot: &Arc<Snapshot>,
    folder: &Arc<Folder>,
    options: &SyncOptions,
    plan: &SyncPlan,
) -> Result<(Vec<Conflicted>, Vec<Skipped>), SyncError> {
    let (mut done, mut skipped) = (Vec::new(), Vec::new());
    for InTheWay { file, is_head } in &plan.in_the_way {
        let path = file.path.as_str().to_owned();
        let documents = if *is_head { head::at(snapshot, &[&path]).await? } else { HeadDocuments::new() };
        let (author, time) = match documents.get(&path).and_then(|documents| documents.first()) {
            Some(document) => writer(mirror, snapshot, document.generation).await?,
            None => (options.author.clone(), Timestamp::from_millisecond(file.stamp.modified_ms()).unwrap_or_default()),
        };
        let (from, file, began) = (folder.clone(), file.clone(), options.began);
        let give_way = move || Target::of(&from, began).and_then(|target| give_way(&target, &file, &author, time));
        match blocking(move || Ok(give_way())).await? {
            Ok(copy) => done.push(Conflicted { path, copy: Some(copy), is_folder: true, why: None }),
            Err(reason) => skipped.push(Skipped { path, reason }),
        }
    }
    Ok((done, skipped))
}

fn give_way(target: &Target, file: &File, author: &str, time: Timestamp) -> Result<String, Reason> {
    if file.is_link {
        return Err(Reason::Link);
    }
    let time = everywhere(time);
    let mut refused = Reason::Changed;
    for attempt in 1..=MAX_COPIES {
        let copy = copy_path(file.disk_path(), author, &time, attempt);
        match target.rename(file.disk_path(), &copy) {
            Ok(()) => {
                target.sync();
                return Ok(copy);
            }
            Err(reason) => refused = reason,
        }
    }
    Err(refused)
}
