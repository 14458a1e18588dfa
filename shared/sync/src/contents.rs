//! Writes documents of the mirror into files: texts in batches, attachments piece by piece, each checked.

use std::sync::Arc;

use atlas_mirror::{BlobKey, Hash, Mirror, MirrorError, Snapshot};
use atlas_segment::{PartRef, Record};
use atlas_vault::VaultPath;
use bytes::Bytes;
use futures::TryStreamExt as _;
use sha2::{Digest as _, Sha256};

use crate::blocking::blocking;
use crate::error::SyncError;
use crate::folder::Stamp;
use crate::head::Page;
use crate::progress::Progress;
use crate::report::Reason;
use crate::target::{Target, Unfinished};

/// Text is fetched and written in batches of about this many bytes.
const BATCH: u64 = 8 << 20;

/// Moves a complete file to its path.
pub(crate) type PlaceFile = Arc<dyn Fn(&Unfinished, &Record) -> Result<Stamp, Reason> + Send + Sync>;

/// Writes documents of `snapshot` into files of `target`.
pub(crate) struct DocumentWriter<'a> {
    pub(crate) mirror: &'a Mirror,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) target: Target,
    pub(crate) place: PlaceFile,
    pub(crate) progress: Arc<dyn Progress>,
}

impl DocumentWriter<'_> {
    /// Writes the live documents on `page` that are `wanted`, and reports the result of each.
    pub(crate) async fn bring(
        &self,
        page: Page,
        wanted: impl Fn(&Record) -> bool,
        done: &mut impl FnMut(Record, Result<Stamp, Reason>),
    ) -> Result<(), SyncError> {
        let Page { segment, part, documents } = page;
        let snapshot = &self.snapshot;
        let Some(entry) = snapshot.segments().get(segment) else {
            return Ok(());
        };
        let loaded = snapshot.load(&[(segment, part), (segment, entry.layout.text_blocks()?)]).await?;
        let [page, table] = loaded.as_slice() else {
            return Ok(());
        };
        let (page, table) = (page.record_page()?, table.text_blocks()?);
        let mut batch = Vec::new();
        let mut size = 0;
        for (index, document) in (0..page.len()).zip(documents) {
            if !snapshot.is_live(segment, document) {
                continue;
            }
            let record = page.get(index)?;
            if !wanted(&record) {
                continue;
            }
            if record.blob.is_some() {
                let result = self.attachment(&record).await?;
                done(record, result);
                continue;
            }
            size += u64::from(record.text.length);
            batch.push((table.parts(&entry.layout, record.text)?, record));
            if size >= BATCH {
                self.texts(segment, std::mem::take(&mut batch), done).await?;
                size = 0;
            }
        }
        self.texts(segment, batch, done).await
    }

    async fn texts(
        &self,
        segment: usize,
        batch: Vec<(Vec<PartRef>, Record)>,
        done: &mut impl FnMut(Record, Result<Stamp, Reason>),
    ) -> Result<(), SyncError> {
        let snapshot = &self.snapshot;
        let Some(entry) = snapshot.segments().get(segment).filter(|_| !batch.is_empty()) else {
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
        let (target, place, progress) = (self.target.clone(), self.place.clone(), self.progress.clone());
        let written = blocking(move || {
            let write = |(record, text): (Record, Bytes)| {
                progress.advance(text.len() as u64);
                (write_text(&target, &*place, &record, &text), record)
            };
            Ok(files.into_iter().map(write).collect::<Vec<_>>())
        });
        for (result, record) in written.await? {
            done(record, result);
        }
        Ok(())
    }

    async fn attachment(&self, record: &Record) -> Result<Result<Stamp, Reason>, SyncError> {
        match self.stream(record).await {
            Ok(stamp) => Ok(Ok(stamp)),
            Err(AttachmentFailure::File(reason)) => Ok(Err(reason)),
            Err(AttachmentFailure::Mirror(MirrorError::Damaged { object, reason })) => {
                tracing::warn!(object, reason, "an attachment is damaged");
                Ok(Err(Reason::Damaged))
            }
            Err(AttachmentFailure::Mirror(error)) => Err(error.into()),
            Err(AttachmentFailure::Sync(error)) => Err(error),
        }
    }

    async fn stream(&self, record: &Record) -> Result<Stamp, AttachmentFailure> {
        let key = record.blob.as_deref().and_then(|name| name.parse::<BlobKey>().ok());
        let key = key.filter(|key| key.sha256 == Hash::from_bytes(record.sha256)).ok_or(Reason::Damaged)?;
        let mut pieces = self.mirror.get_blob(&key).await?;
        let target = self.target.clone();
        let mut file = blocking(move || Ok(target.begin())).await??;
        // A slow large attachment must not delay the others; an unavailable store is noticed before.
        while let Some(piece) = pieces.try_next().await.map_err(broken_off)? {
            self.progress.advance(piece.len() as u64);
            file = blocking(move || Ok(file.append(&piece))).await??;
        }
        let (place, record) = (self.place.clone(), record.clone());
        Ok(blocking(move || Ok(place(&file, &record))).await??)
    }
}

fn write_text(
    target: &Target,
    place: &dyn Fn(&Unfinished, &Record) -> Result<Stamp, Reason>,
    record: &Record,
    text: &[u8],
) -> Result<Stamp, Reason> {
    if Sha256::digest(text).as_slice() != record.sha256 {
        return Err(Reason::Damaged);
    }
    place(&target.begin()?.append(text)?, record)
}

/// The path of a document's file: as the folder spelled it, if that is another spelling of its path.
pub(crate) fn disk_path(record: &Record) -> Result<String, Reason> {
    let path = VaultPath::parse(&record.path)?;
    let on_disk = record.path_on_disk.as_ref().filter(|on_disk| VaultPath::parse(on_disk).as_ref() == Ok(&path));
    Ok(on_disk.unwrap_or(&record.path).clone())
}

fn broken_off(error: MirrorError) -> AttachmentFailure {
    match error {
        MirrorError::Unavailable { reason } => AttachmentFailure::File(Reason::Unfetched(reason)),
        error => AttachmentFailure::Mirror(error),
    }
}

/// Why an attachment was not written.
enum AttachmentFailure {
    File(Reason),
    Mirror(MirrorError),
    Sync(SyncError),
}

impl From<Reason> for AttachmentFailure {
    fn from(reason: Reason) -> Self {
        Self::File(reason)
    }
}

impl From<MirrorError> for AttachmentFailure {
    fn from(error: MirrorError) -> Self {
        Self::Mirror(error)
    }
}

impl From<SyncError> for AttachmentFailure {
    fn from(error: SyncError) -> Self {
        Self::Sync(error)
    }
}
