//! Writes a generation of the mirror into a folder, byte for byte.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use atlas_mirror::{Mirror, Snapshot};
use atlas_vault::conflict::copy_path;
use jiff::Zoned;
use serde::Serialize;

use crate::clash;
use crate::conflict::{everywhere, writer};
use crate::contents::{DocumentWriter, disk_path};
use crate::error::SyncError;
use crate::folder::Stamp;
use crate::head;
use crate::head::Page;
use crate::progress::{Phase, Progress};
use crate::pull::{Conflicted, put_copy};
use crate::report::{Reason, Skipped};
use crate::rules::is_of_program;
use crate::target::{ExpectedTarget, Target, Unfinished};

/// The target and generation of an export.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The folder; created if it does not exist.
    pub to: PathBuf,
    /// The generation; [`None`] for the newest.
    pub generation: Option<u64>,
    /// Write into a folder that is not empty, and overwrite files.
    pub force: bool,
}

/// The result of an export.
#[derive(Debug, Default, Serialize)]
pub struct Exported {
    /// The generation.
    pub generation: u64,
    /// Files written.
    pub files: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Files that were not written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Files that were renamed, since a folder has their name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<Conflicted>,
}

/// Writes all files of a generation below a folder, with their names and times, and checks each. Nothing is written
/// outside of the folder or through a symbolic link.
///
/// # Errors [`SyncError::Target`] before anything is written, [`SyncError::NoGeneration`], and those of reading the
/// mirror.
pub async fn export(
    mirror: &Mirror,
    options: &ExportOptions,
    progress: Arc<dyn Progress>,
) -> Result<Exported, SyncError> {
    let snapshot = match options.generation {
        None => mirror.head().await?,
        Some(generation) => mirror.at(generation).await?.ok_or(SyncError::NoGeneration { generation })?,
    };
    let target = Target::open(&options.to, options.force)?;
    progress.begin(Phase::Write, None);
    let mut exported = Exported { generation: snapshot.generation(), ..Exported::default() };
    let names = clashing(mirror, &snapshot).await?;
    let renamed: Arc<Mutex<Vec<Conflicted>>> = Arc::default();
    let placing = Placing { target: target.clone(), force: options.force, finished: Mutex::default() };
    let contents = DocumentWriter {
        mirror,
        snapshot: snapshot.clone(),
        target: target.clone(),
        place: {
            let (target, names, renamed) = (target.clone(), names, renamed.clone());
            Arc::new(move |file, record| {
                let on_disk = disk_path(record)?;
                if is_of_program(&record.path) {
                    return Err(Reason::LeftOut);
                }
                let Some((author, time)) = names.get(&record.path) else {
                    return placing.finish(file, on_disk, record.modified_ms);
                };
                let (copy, stamp) =
                    put_copy(&target, file, record, |attempt| Some(copy_path(&on_disk, author, time, attempt)))?;
                let one = Conflicted { path: record.path.clone(), copy: Some(copy), is_folder: true, why: None };
                renamed.lock().unwrap_or_else(PoisonError::into_inner).push(one);
                Ok(stamp)
            })
        },
        progress,
    };
    for (segment, entry) in snapshot.segments().iter().enumerate() {
        snapshot.open(|other, _| other == segment).await?;
        for (part, documents) in entry.layout.record_pages()? {
            let done = &mut |record: atlas_segment::Record, result| match result {
                Ok(_) => {
                    exported.files += 1;
                    exported.bytes += record.bytes;
                }
                Err(reason) => exported.skipped.push(Skipped { path: record.path, reason }),
            };
            contents.bring(Page { segment, part, documents }, |_| true, done).await?;
        }
    }
    target.clear();
    exported.renamed = std::mem::take(&mut *renamed.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(exported)
}

/// Moves files to their paths.
struct Placing {
    target: Target,
    /// Whether a file that was there before is replaced.
    force: bool,
    /// The paths of finished files, in lower case.
    finished: Mutex<HashSet<String>>,
}

impl Placing {
    /// Where the file system does not tell cases apart, a finished file may be at the path of another. It is not replaced.
    fn finish(&self, file: &Unfinished, path: String, modified_ms: i64) -> Result<Stamp, Reason> {
        if !self.force {
            return file.finish(&path, modified_ms, ExpectedTarget::Nothing);
        }
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let folded = path.to_lowercase();
        let is_ours = finished.contains(&folded) && self.target.is_listed_otherwise(&path);
        let instead = if is_ours { ExpectedTarget::Nothing } else { ExpectedTarget::Anything };
        let stamp = file.finish(&path, modified_ms, instead)?;
        finished.insert(folded);
        Ok(stamp)
    }
}

/// The files that have the name of a folder, with the author and time in their copies' names.
async fn clashing(mirror: &Mirror, snapshot: &Arc<Snapshot>) -> Result<BTreeMap<String, (String, Zoned)>, SyncError> {
    let documents = head::all(snapshot).await?;
    let mut names = BTreeMap::new();
    for (path, found) in documents.iter().filter(|(path, _)| clash::is_folder(&documents, path)) {
        let Some(document) = found.first() else { continue };
        let (author, time) = writer(mirror, snapshot, document.generation).await?;
        names.insert(path.clone(), (author, everywhere(time)));
    }
    Ok(names)
}
