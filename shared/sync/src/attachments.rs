//! Uploads attachments, each content once, and none that the mirror already has.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use atlas_mirror::{Hash, Mirror, MirrorError};
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;

use crate::blocking::blocking;
use crate::error::SyncError;
use crate::folder::Folder;
use crate::progress::{Phase, Progress};
use crate::report::Reason;
use crate::write::{Blob, Write};

/// Uploads under way at once.
const PARALLEL: usize = 4;
/// Files are sent in pieces of about this many bytes.
const PIECE: u64 = 1 << 20;

/// Attachments in the mirror: for each content, a path and its object.
pub(crate) type Reusable = HashMap<[u8; 32], (String, String)>;

/// The generation that the commit extends for which something is uploaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parent {
    /// The hash of its manifest, if there is one.
    pub(crate) manifest: Option<Hash>,
    /// The start time of this sync, if the sync before it was interrupted and may have uploaded some.
    pub(crate) uploads: Option<Timestamp>,
}

/// Gives every attachment among `writes` its object, for a commit on `parent`. Returns the indexes of those that could
/// not be read.
pub(crate) async fn upload(
    mirror: &Mirror,
    parent: Parent,
    folder: &Arc<Folder>,
    writes: &mut [Arc<Write>],
    reusable: &Reusable,
    progress: &Arc<dyn Progress>,
) -> Result<Vec<(usize, Reason)>, SyncError> {
    let mut contents: HashMap<[u8; 32], Vec<usize>> = HashMap::new();
    let mut first = Vec::new();
    for (index, write) in writes.iter_mut().enumerate() {
        let Some(sha256) = write.attachment() else {
            continue;
        };
        if let Some((path, name)) = reusable.get(&sha256) {
            Arc::make_mut(write).blob = Some(Box::new(Blob { name: name.clone(), of: Some(path.clone()) }));
            continue;
        }
        let same = contents.entry(sha256).or_default();
        if same.is_empty() {
            first.push((sha256, write.file.clone()));
        }
        same.push(index);
    }
    if first.is_empty() {
        return Ok(Vec::new());
    }
    progress.begin(Phase::Upload, Some(first.iter().map(|(_, file)| file.stamp.size).sum()));
    let uploads = first.into_iter().map(|(sha256, file)| async move {
        let (path, file_size) = (file.disk_path().to_owned(), file.stamp.size);
        let opened = {
            let folder = folder.clone();
            blocking(move || Ok(folder.open_file(file.disk_path(), file.is_link))).await?
        };
        let open = match opened {
            Ok(open) => open,
            Err(reason) => return Ok((sha256, Err(reason))),
        };
        if let Some(began) = parent.uploads {
            let left = mirror.left_blob(parent.manifest, Hash::from_bytes(sha256), file_size, began).await;
            if let Some(key) = left {
                return Ok((sha256, Ok(key.to_string())));
            }
        }
        match mirror.put_blob(parent.manifest, Hash::from_bytes(sha256), pieces(open, progress.clone())).await {
            Ok(key) => Ok((sha256, Ok(key.to_string()))),
            Err(MirrorError::Conflict { reason }) => {
                tracing::info!(path, reason, "an attachment is left for the next sync");
                Ok((sha256, Err(Reason::Unsteady)))
            }
            Err(error) => Err(SyncError::from(error)),
        }
    });
    let done: Vec<([u8; 32], Result<String, Reason>)> = stream::iter(uploads).buffered(PARALLEL).try_collect().await?;
    let mut unread = Vec::new();
    for (sha256, result) in done {
        for index in contents.remove(&sha256).unwrap_or_default() {
            match &result {
                Ok(name) => {
                    if let Some(write) = writes.get_mut(index) {
                        Arc::make_mut(write).blob = Some(Box::new(Blob { name: name.clone(), of: None }));
                    }
                }
                Err(reason) => unread.push((index, reason.clone())),
            }
        }
    }
    Ok(unread)
}

/// A file's bytes, read while they are sent.
pub(crate) fn pieces(file: File, progress: Arc<dyn Progress>) -> impl Stream<Item = Result<Bytes, SyncError>> {
    stream::try_unfold(Some(file), move |file| {
        let progress = progress.clone();
        async move {
            let Some(file) = file else { return Ok(None) };
            let (file, piece) = blocking(move || {
                let mut piece = Vec::new();
                let read = (&file).take(PIECE).read_to_end(&mut piece);
                read.map_err(|error| SyncError::Broken(error.to_string()))?;
                Ok((file, piece))
            })
            .await?;
            progress.advance(piece.len() as u64);
            Ok((!piece.is_empty()).then(|| (Bytes::from(piece), Some(file))))
        }
    })
}
