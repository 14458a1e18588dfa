//! Gives notes their vectors after a sync: in a commit of its own that changes only vectors, since a model may take long or fail.

mod background;

use std::collections::HashMap;
use std::fs::{self, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atlas_embeddings::vector::{Code, Row};
use atlas_embeddings::{EmbedError, EmbeddingModel};
use atlas_mirror::embedding::{EmbedProgress, Embedded, Known, StoreModel};
use atlas_mirror::{CommitInfo, Embeddings, Mirror, Snapshot, StoredModelInfo};
use jiff::Timestamp;

pub use self::background::Background;
use crate::error::SyncError;
use crate::progress::{Phase, Progress};

/// How long a commit may take.
const COMMIT_TIME: Duration = Duration::from_secs(300);
/// The operation of these commits.
const OPERATION: &str = "embed";
/// The file in the state that the process locks which embeds.
const LOCK: &str = "embedding.lock";
/// Most bytes of kept vectors that are read.
const MAX_KEPT: u64 = 2 << 30;

/// The author and the time of its commits.
#[derive(Clone, Debug)]
pub struct Embedder {
    /// The author of the commit.
    pub author: String,
    /// The time.
    pub time: Timestamp,
    /// The folder where vectors are kept that cost money or time, until they are committed.
    pub state: Option<PathBuf>,
    /// The number of vectors from which on they are clustered.
    pub clustered_from: u64,
}

/// The model by which a configuration wants notes to be found.
#[derive(Clone, Debug)]
pub enum Chosen {
    /// The one in the store that has this name.
    Stored(String),
    /// A model of a service.
    Service {
        /// What manifests say of it.
        embeddings: Embeddings,
        /// The model.
        model: Arc<dyn EmbeddingModel>,
    },
}

/// Embeds what lacks vectors, with the chosen model; if none is, with that of the newest generation if it is in the store. The reason why
/// notes wait, if they do, is beside what was done.
pub(crate) async fn embed_waiting(
    mirror: &Mirror,
    newest: &Snapshot,
    embedder: &Embedder,
    chosen: Option<&Chosen>,
    progress: &dyn Progress,
) -> Result<(Embedded, Option<String>), SyncError> {
    let now = newest.manifest().embeddings.as_ref();
    let stored = |embeddings: &Embeddings| -> Arc<dyn EmbeddingModel> {
        Arc::new(StoreModel::new(mirror.clone(), embeddings.clone()))
    };
    let (embeddings, model) = match chosen {
        None => match now.filter(|embeddings| embeddings.stored.is_some()) {
            Some(embeddings) => (embeddings.clone(), stored(embeddings)),
            None => return Ok(Default::default()),
        },
        Some(Chosen::Service { embeddings, model }) => (embeddings.clone(), model.clone()),
        Some(Chosen::Stored(name)) => {
            // Nearly always it is the one that there is.
            let known = now.filter(|now| now.stored.is_some() && now.model == *name).cloned();
            let found = match known {
                None => mirror.models().await?.iter().find(|info| info.name == *name).map(StoredModelInfo::embeddings),
                known => known,
            };
            let Some(embeddings) = found else {
                let why = format!("the store has no model {name}: `atlas model add FOLDER --name {name}` adds one");
                return Ok((Embedded::default(), Some(why)));
            };
            let model = stored(&embeddings);
            (embeddings, model)
        }
    };
    let is_same = now.is_some_and(|now| now.id == embeddings.id);
    if is_same && !newest.waits_for_vectors() {
        let generation = embedder.cluster(mirror, newest).await;
        return Ok((Embedded { generation, ..Embedded::default() }, None));
    }
    let (embedded, failure) = embedder.embed(mirror, &embeddings, &*model, progress).await?;
    Ok((embedded, failure.map(|error| error.to_string())))
}

/// How many notes wait for the vectors of the chosen model, at most.
fn waiting(newest: &Snapshot, chosen: Option<&Chosen>) -> u64 {
    let now = newest.manifest().embeddings.as_ref();
    let is_same = match chosen {
        None => true,
        Some(Chosen::Service { embeddings, .. }) => now.is_some_and(|now| now.id == embeddings.id),
        Some(Chosen::Stored(name)) => now.is_some_and(|now| now.stored.is_some() && now.model == *name),
    };
    if is_same { newest.notes_waiting() } else { newest.manifest().totals.notes }
}

impl Embedder {
    /// Embeds with `model` what lacks vectors of `embeddings`; with another model than the mirror has, all notes. The error of the model, if it
    /// failed midway, is beside what was done. While another process embeds for the same folder, nothing is.
    ///
    /// # Errors
    /// When the mirror cannot be read, or not be committed to.
    pub async fn embed(
        &self,
        mirror: &Mirror,
        embeddings: &Embeddings,
        model: &dyn EmbeddingModel,
        progress: &dyn Progress,
    ) -> Result<(Embedded, Option<EmbedError>), SyncError> {
        let kept = match &self.state {
            // A look-up costs nothing the next time.
            Some(state) if !embeddings.is_look_up() => Some(state.join(format!("vectors-{}", embeddings.id))),
            _ => None,
        };
        // Vectors that cost something are not paid for twice.
        let _lock = match self.state.as_deref().filter(|_| kept.is_some()).map(lock) {
            Some(Err(TryLockError::WouldBlock)) => {
                let head = mirror.head().await?;
                let is_same = head.manifest().embeddings.as_ref().is_some_and(|now| now.id == embeddings.id);
                let waiting = if is_same { head.notes_waiting() } else { head.manifest().totals.notes };
                return Ok((Embedded { waiting, ..Embedded::default() }, None));
            }
            Some(Err(TryLockError::Error(error))) => {
                tracing::warn!(%error, "other processes are not kept from embedding the same notes");
                None
            }
            Some(Ok(lock)) => Some(lock),
            None => None,
        };
        let dimensions = embeddings.dimensions as usize;
        let known = kept.as_deref().map(|path| read(path, dimensions)).unwrap_or_default();
        let keeper = Keeper { progress, file: Mutex::new(kept.as_deref().and_then(|path| open(path, dimensions))) };
        let (mut embedded, failure) = mirror.embed_lacking(&self.info(), embeddings, model, known, &keeper).await?;
        if let Some(path) = kept.filter(|_| failure.is_none())
            && let Err(error) = fs::remove_file(&path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "vectors that are committed could not be removed from the state");
        }
        if embedded.generation.is_some() {
            let newest = mirror.head().await?;
            let clustered = self.cluster(mirror, &newest).await;
            embedded.generation = clustered.or(embedded.generation);
        }
        Ok((embedded, failure))
    }

    /// Clusters the vectors if that is due, and returns the new generation. They are found without, so a failure is only told.
    async fn cluster(&self, mirror: &Mirror, newest: &Snapshot) -> Option<u64> {
        if !newest.clusters_are_due(self.clustered_from) {
            return None;
        }
        let clustered = mirror.cluster_vectors(&self.info(), self.clustered_from).await;
        clustered.inspect_err(|error| tracing::warn!(%error, "vectors could not be clustered")).ok().flatten()
    }

    /// Drops all vectors of a mirror.
    ///
    /// # Errors
    /// When the mirror cannot be committed to.
    pub async fn drop_vectors(&self, mirror: &Mirror) -> Result<(), SyncError> {
        Ok(mirror.drop_vectors(&self.info()).await?)
    }

    fn info(&self) -> CommitInfo {
        CommitInfo {
            author: self.author.clone(),
            caller: None,
            operation: OPERATION.to_owned(),
            message: None,
            session: None,
            key: None,
            time: self.time,
            deadline: COMMIT_TIME,
        }
    }
}

/// Shows the progress, and keeps each vector until all are committed.
struct Keeper<'a> {
    progress: &'a dyn Progress,
    file: Mutex<Option<fs::File>>,
}

impl EmbedProgress for Keeper<'_> {
    fn begin(&self, passages: u64) {
        if passages > 0 {
            self.progress.begin(Phase::Embed, Some(passages));
        }
    }

    fn keep(&self, vectors: &[(u64, Vec<u8>, Vec<u8>)]) {
        self.progress.advance(vectors.len() as u64);
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(open) = file.as_mut() else { return };
        let mut bytes = Vec::new();
        for (key, code, row) in vectors {
            let begin = bytes.len();
            bytes.extend_from_slice(&key.to_le_bytes());
            bytes.extend_from_slice(code);
            bytes.extend_from_slice(row);
            let checksum = crc32fast::hash(bytes.get(begin..).unwrap_or_default());
            bytes.extend_from_slice(&checksum.to_le_bytes());
        }
        if let Err(error) = open.write_all(&bytes) {
            tracing::warn!(%error, "vectors could not be kept: if this sync is stopped, they are asked for again");
            *file = None;
        }
    }
}

/// Bytes of a record: a key, a vector of so many dimensions, and a checksum.
const fn record_bytes(dimensions: usize) -> usize {
    8 + Code::size(dimensions) + Row::size(dimensions) + 4
}

/// Locks the state for the one process that embeds, while the file is open.
fn lock(state: &Path) -> Result<fs::File, TryLockError> {
    let file = fs::File::options().create(true).truncate(false).write(true).open(state.join(LOCK));
    let file = file.map_err(TryLockError::Error)?;
    file.try_lock().map(|()| file)
}

/// Opens the file to append to it, after its last whole record.
fn open(path: &Path, dimensions: usize) -> Option<fs::File> {
    let opened = fs::File::options().create(true).append(true).open(path).and_then(|file| {
        let size = file.metadata()?.len();
        let whole = if size > MAX_KEPT { 0 } else { size - size % record_bytes(dimensions) as u64 };
        file.set_len(whole).map(|()| file)
    });
    opened.inspect_err(|error| tracing::warn!(%error, "vectors cannot be kept")).ok()
}

/// The vectors that an interrupted sync kept, without damaged ones and the last if it was cut short.
fn read(path: &Path, dimensions: usize) -> Known {
    let size = fs::metadata(path).map_or(0, |metadata| metadata.len());
    if size == 0 || size > MAX_KEPT {
        return HashMap::new();
    }
    let bytes = fs::read(path).unwrap_or_default();
    let code = Code::size(dimensions);
    let record = |record: &[u8]| {
        let (payload, checksum) = record.split_last_chunk::<4>()?;
        let (key, vector) = payload.split_first_chunk::<8>()?;
        let (code, row) = vector.split_at_checked(code)?;
        let is_sound = crc32fast::hash(payload) == u32::from_le_bytes(*checksum);
        is_sound.then(|| (u64::from_le_bytes(*key), (code.to_vec(), row.to_vec())))
    };
    bytes.chunks_exact(record_bytes(dimensions)).filter_map(record).collect()
}
