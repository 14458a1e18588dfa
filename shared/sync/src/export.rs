//! Writes a generation of the mirror into a folder, byte for byte.

use std::path::PathBuf;
use std::sync::Arc;

use atlas_mirror::{BlobKey, Hash, Mirror, MirrorError, Snapshot};
use atlas_segment::{PartRef, Record};
use atlas_vault::VaultPath;
use bytes::Bytes;
use futures::TryStreamExt as _;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::error::SyncError;
use crate::progress::{Phase, Progress};
use crate::push::blocking;
use crate::report::{Reason, Skipped};
use crate::target::Target;

/// Text is fetched and written in batches of about this many bytes.
const BATCH: u64 = 8 << 20;

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
    let target = Arc::new(Target::open(&options.to, options.force)?);
    progress.begin(Phase::Write, None);
    let exported = Exported { generation: snapshot.generation(), ..Exported::default() };
    let mut export = Export { mirror, snapshot, target, progress, exported };
    for segment in 0..export.snapshot.segments().len() {
        export.segment(segment).await?;
    }
    Ok(export.exported)
}

struct Export<'a> {
    mirror: &'a Mirror,
    snapshot: Arc<Snapshot>,
    target: Arc<Target>,
    progress: Arc<dyn Progress>,
    exported: Exported,
}

impl Export<'_> {
    async fn segment(&mut self, segment: usize) -> Result<(), SyncError> {
        let snapshot = self.snapshot.clone();
        let Some(entry) = snapshot.segments().get(segment) else {
            return Ok(());
        };
        let table = entry.layout.text_blocks()?;
        for (part, documents) in entry.layout.record_pages()? {
            let loaded = snapshot.load(&[(segment, part), (segment, table.clone())]).await?;
            let [page, table] = loaded.as_slice() else {
                continue;
            };
            let (page, table) = (page.record_page()?, table.text_blocks()?);
            let mut batch = Vec::new();
            let mut size = 0;
            for (index, document) in (0..page.len()).zip(documents) {
                if !snapshot.is_live(segment, document) {
                    continue;
                }
                let record = page.get(index)?;
                if record.blob.is_some() {
                    self.attachment(record).await?;
                    continue;
                }
                size += u64::from(record.text.length);
                batch.push((table.parts(&entry.layout, record.text)?, record));
                if size >= BATCH {
                    self.texts(segment, std::mem::take(&mut batch)).await?;
                    size = 0;
                }
            }
            self.texts(segment, batch).await?;
        }
        Ok(())
    }

    async fn texts(&mut self, segment: usize, batch: Vec<(Vec<PartRef>, Record)>) -> Result<(), SyncError> {
        let snapshot = self.snapshot.clone();
        let Some(entry) = snapshot.segments().get(segment) else {
            return Ok(());
        };
        let mut wants: Vec<(usize, PartRef)> = Vec::new();
        for part in batch.iter().flat_map(|(parts, _)| parts) {
            if wants.last().is_none_or(|(_, last)| last != part) {
                wants.push((segment, part.clone()));
            }
        }
        wants.push((segment, entry.layout.text_blocks()?));
        let loaded = snapshot.load(&wants).await?;
        let Some((table, blocks)) = loaded.split_last() else {
            return Ok(());
        };
        let table = table.text_blocks()?;
        let block = |part: &PartRef| {
            let at = wants.binary_search_by_key(&part.range.start, |(_, want)| want.range.start);
            at.ok().and_then(|at| blocks.get(at)).map(|block| &**block)
        };
        let mut files: Vec<(Record, Bytes)> = Vec::with_capacity(batch.len());
        for (parts, record) in batch {
            let text = table.cut(record.text, parts.iter().filter_map(block))?;
            files.push((record, text));
        }
        let (target, progress) = (self.target.clone(), self.progress.clone());
        let written = blocking(move || {
            let write = |(record, text): (Record, Bytes)| {
                progress.advance(text.len() as u64);
                (write_text(&target, &record, &text), record)
            };
            Ok(files.into_iter().map(write).collect::<Vec<_>>())
        });
        for (result, record) in written.await? {
            self.done(record, result);
        }
        Ok(())
    }

    async fn attachment(&mut self, record: Record) -> Result<(), SyncError> {
        let result = match self.stream(&record).await {
            Ok(()) => Ok(()),
            Err(Failure::File(reason)) => Err(reason),
            Err(Failure::Mirror(MirrorError::Damaged { object, reason })) => {
                tracing::warn!(object, reason, "an attachment is damaged");
                Err(Reason::Damaged)
            }
            Err(Failure::Mirror(error)) => return Err(error.into()),
            Err(Failure::Sync(error)) => return Err(error),
        };
        self.done(record, result);
        Ok(())
    }

    async fn stream(&self, record: &Record) -> Result<(), Failure> {
        let key = record.blob.as_deref().and_then(|name| name.parse::<BlobKey>().ok());
        let key = key.filter(|key| key.sha256 == Hash::from_bytes(record.sha256)).ok_or(Reason::Damaged)?;
        let mut pieces = self.mirror.get_blob(&key).await?;
        let path = disk_path(record)?;
        let target = self.target.clone();
        let mut file = blocking(move || Ok(target.begin(&path))).await??;
        while let Some(piece) = pieces.try_next().await? {
            self.progress.advance(piece.len() as u64);
            file = blocking(move || Ok(file.append(&piece))).await??;
        }
        let modified_ms = record.modified_ms;
        Ok(blocking(move || Ok(file.finish(modified_ms))).await??)
    }

    fn done(&mut self, record: Record, result: Result<(), Reason>) {
        match result {
            Ok(()) => {
                self.exported.files += 1;
                self.exported.bytes += record.bytes;
            }
            Err(reason) => self.exported.skipped.push(Skipped { path: record.path, reason }),
        }
    }
}

fn write_text(target: &Target, record: &Record, text: &[u8]) -> Result<(), Reason> {
    if Sha256::digest(text).as_slice() != record.sha256 {
        return Err(Reason::Damaged);
    }
    target.begin(&disk_path(record)?)?.append(text)?.finish(record.modified_ms)
}

/// Where a document's file is: at its path, as the folder spelt it if that is another spelling of it.
fn disk_path(record: &Record) -> Result<String, Reason> {
    let path = VaultPath::parse(&record.path)?;
    let on_disk = record.path_on_disk.as_ref().filter(|on_disk| VaultPath::parse(on_disk).as_ref() == Ok(&path));
    Ok(on_disk.unwrap_or(&record.path).clone())
}

/// Why an attachment was not written.
enum Failure {
    File(Reason),
    Mirror(MirrorError),
    Sync(SyncError),
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Self::File(reason)
    }
}

impl From<MirrorError> for Failure {
    fn from(error: MirrorError) -> Self {
        Self::Mirror(error)
    }
}

impl From<SyncError> for Failure {
    fn from(error: SyncError) -> Self {
        Self::Sync(error)
    }
}
