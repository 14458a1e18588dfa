//! Writes a generation of the mirror into a folder, byte for byte.

use std::path::PathBuf;
use std::sync::Arc;

use atlas_mirror::Mirror;
use serde::Serialize;

use crate::contents::{Contents, Page, disk_path};
use crate::error::SyncError;
use crate::progress::{Phase, Progress};
use crate::report::Skipped;
use crate::target::{Instead, Target};

/// What to export, and where to.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// The folder; made if it is not there.
    pub to: PathBuf,
    /// The generation; [`None`] for the newest.
    pub generation: Option<u64>,
    /// Write also into a folder that is not empty, over what is there.
    pub force: bool,
}

/// What an export did.
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
}

/// Writes all files of a generation below a folder, with their names and times, and checks what it writes. Nothing
/// is written outside of the folder or through a symbolic link.
///
/// # Errors
/// [`SyncError::Target`] before anything is written, [`SyncError::NoGeneration`], and those of reading the mirror.
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
    let instead = if options.force { Instead::Anything } else { Instead::Nothing };
    let contents = Contents {
        mirror,
        snapshot: snapshot.clone(),
        target: target.clone(),
        place: Arc::new(move |file, record| file.finish(&disk_path(record)?, record.modified_ms, instead)),
        progress,
    };
    for (segment, entry) in snapshot.segments().iter().enumerate() {
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
    Ok(exported)
}
