//! A vault's mirror in a store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use tokio::sync::OnceCell;

use crate::cache::{Forgotten, PartCache};
use crate::counters::Counts;
use crate::error::MirrorError;
use crate::head::Head;
use crate::keys::{InvalidKey, Keys, VaultId};
use crate::last_sync::Told;
use crate::loaded_model::LoadedModel;
use crate::probe::probe_conditional_writes;
use crate::snapshot::{Reader, Snapshot, State};
use crate::store::Store;

/// Options for reading a mirror.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The greatest age of the last check of the head for an answer that does not check it again. With zero, the
    /// default, every read sees every earlier commit.
    pub freshness: Duration,
    /// Most requests of one load, as far as merging ranges can achieve it.
    pub max_requests: usize,
    /// Most bytes of the directories of pages in the next manifest, nearly; larger ones stay in their segments alone. A cold call reads the
    /// manifest whole, before it knows which of them it needs.
    pub max_directories: usize,
    /// Most bytes of tables and codes of vectors that a query of a caller who does not see everything reads. Such a caller is not answered from
    /// clusters, which are made of hidden notes too. The default has room for 3.6 million rows of 256 dimensions.
    pub max_flat: u64,
    /// Whether networks of models run here, if the program has the code for them.
    pub runs_networks: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            freshness: Duration::ZERO,
            max_requests: 11,
            max_directories: 40 << 10,
            max_flat: 128 << 20,
            runs_networks: true,
        }
    }
}

/// A vault's mirror. Cloning is cheap; clones share the known head.
#[derive(Clone, Debug)]
pub struct Mirror {
    pub(crate) shared: Arc<Shared>,
    pub(crate) store: Store,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) vault: VaultId,
    pub(crate) keys: Arc<Keys>,
    pub(crate) options: Options,
    pub(crate) cache: Arc<PartCache>,
    pub(crate) head: Mutex<Option<Head>>,
    /// Whose turn it is to commit, in this process.
    pub(crate) turn: tokio::sync::Mutex<()>,
    /// The store's last answer to a question for the last sync.
    pub(crate) synced: tokio::sync::Mutex<Option<Told>>,
    /// Set once the store has passed the test of its conditional writes.
    is_fit: OnceCell<()>,
    /// Whether the store refused to be written to when it was asked last.
    refuses: AtomicBool,
    /// The model that was used last.
    pub(crate) model: Mutex<Option<Arc<LoadedModel>>>,
}

impl Mirror {
    /// The mirror of `vault` in `store`. No request is made.
    ///
    /// # Errors
    /// When the store's prefix cannot be part of a key.
    pub fn open(store: Store, vault: VaultId, cache: Arc<PartCache>, options: Options) -> Result<Self, InvalidKey> {
        let keys = Arc::new(Keys::new(store.prefix(), &vault)?);
        let shared = Shared {
            vault,
            keys,
            options,
            cache,
            head: Mutex::new(None),
            turn: tokio::sync::Mutex::new(()),
            synced: tokio::sync::Mutex::default(),
            is_fit: OnceCell::new(),
            refuses: AtomicBool::new(false),
            model: Mutex::new(None),
        };
        Ok(Self { shared: Arc::new(shared), store })
    }

    /// The vault's id.
    pub fn vault(&self) -> &VaultId {
        &self.shared.vault
    }

    /// The keys of the vault's objects.
    pub fn keys(&self) -> &Keys {
        &self.shared.keys
    }

    /// The error that the vault has no generation.
    pub fn not_published(&self) -> MirrorError {
        MirrorError::NotPublished { vault: self.vault().to_string(), store: self.store.name().to_owned() }
    }

    /// Drops what this process holds of the segments of `snapshot`, and what it knows of the head. Nothing is lost: it is fetched again.
    pub fn forget(&self, snapshot: &Snapshot) -> Forgotten {
        *self.shared.head.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let ids =
            snapshot.segments().iter().flat_map(|entry| [Some(entry.id), entry.vectors.map(|vectors| vectors.id)]);
        let clusters = snapshot.manifest().clusters.map(|clusters| clusters.id);
        self.shared.cache.forget(&ids.flatten().chain(clusters).collect())
    }

    /// A handle on the same mirror that counts its requests on its own: one for each request that is answered.
    #[must_use]
    pub fn metered(&self) -> Self {
        Self { shared: self.shared.clone(), store: self.store.metered() }
    }

    /// The requests of this handle, its clones and its snapshots.
    pub fn counts(&self) -> Counts {
        self.store.counts()
    }

    /// Tests whether commits can rely on the store's conditional writes. To be called once before a process begins to
    /// write.
    ///
    /// # Errors As [`probe_conditional_writes`].
    pub async fn check_writes(&self) -> Result<(), MirrorError> {
        probe_conditional_writes(&self.store).await
    }

    /// Like [`check_writes`](Self::check_writes), but tests the store only before the first write of the process.
    ///
    /// # Errors As [`probe_conditional_writes`].
    pub async fn check_writes_once(&self) -> Result<(), MirrorError> {
        let checked = self.shared.is_fit.get_or_try_init(|| self.check_writes()).await.copied();
        let refuses = matches!(checked, Err(MirrorError::StoreRefused { .. } | MirrorError::UnsafeStore { .. }));
        self.shared.refuses.store(refuses, Ordering::Relaxed);
        checked
    }

    /// Whether the store may only be read, as far as this process knows: [`Self::check_writes_once`] was refused when it was called last.
    pub fn refuses_writes(&self) -> bool {
        self.shared.refuses.load(Ordering::Relaxed)
    }

    /// Decodes a manifest of this vault.
    pub(crate) fn decode(&self, key: &Path, bytes: &Bytes, generation: Option<u64>) -> Result<State, MirrorError> {
        let state = State::decode(key, bytes, generation)?;
        if state.manifest.vault == self.shared.vault {
            Ok(state)
        } else {
            Err(MirrorError::damaged(key, format!("it is a manifest of the vault {}", state.manifest.vault)))
        }
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader {
            store: self.store.clone(),
            keys: self.shared.keys.clone(),
            cache: self.shared.cache.clone(),
            max_requests: self.shared.options.max_requests,
            max_flat: self.shared.options.max_flat,
        }
    }
}
