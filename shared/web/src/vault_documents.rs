//! Vaults that have a document of their own in the store: found when a caller's token names one, so that a deployment of many starts and
//! answers like one of few.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use atlas_access::Acl;
use atlas_mirror::{Mirror, Store, VaultId};
use atlas_ops::{Code, Error, Reason, Vault};
use jiff::Timestamp;
use quick_cache::sync::Cache;
use tokio::sync::Mutex;

use crate::config::document::Document;
use crate::config::source::{Contents, Found, read_object};
use crate::open_error::OpenError;
use crate::settings::{FurtherVaults, Settings, VaultSettings};

/// Most vaults that are kept open; others are opened again when they are asked for.
const MAX_OPEN: usize = 128;
/// The age after which a document is read again that was missing or invalid.
const MAX_AGE_OF_NONE: Duration = Duration::from_secs(1);

/// Opens the mirror of a vault.
pub(crate) type Open = Arc<dyn Fn(VaultId) -> Result<Mirror, OpenError> + Send + Sync>;

/// The vaults that are open, whatever configuration names their folder.
pub(crate) struct VaultDocuments {
    store: Store,
    open: Open,
    vaults: Cache<VaultId, Arc<Mutex<Option<Reading>>>>,
    /// The age after which a document is read again.
    max_age: Duration,
}

/// A configuration that names the folder of the documents, and completes them.
pub(crate) struct Completing {
    pub(crate) settings: Settings,
    pub(crate) further: FurtherVaults,
    /// The number of the configuration.
    pub(crate) version: u64,
}

/// The vaults with documents, as the current configuration completes them.
#[derive(Clone)]
pub(crate) struct Further {
    pub(crate) documents: Arc<VaultDocuments>,
    pub(crate) completing: Arc<Completing>,
}

/// The last reading of a document.
struct Reading {
    at: Timestamp,
    version: u64,
    /// Its content; [`None`] if there is none.
    contents: Option<Contents>,
    mirror: Option<Mirror>,
    /// The vault; [`None`] if there is none. Or why it is unknown.
    vault: Result<Option<Vault>, String>,
}

impl Reading {
    fn is_fresh(&self, version: u64, max_age: Duration, now: Timestamp) -> bool {
        let max_age = if matches!(self.vault, Ok(Some(_))) { max_age } else { max_age.min(MAX_AGE_OF_NONE) };
        self.version == version && now.duration_since(self.at).unsigned_abs() < max_age
    }
}

impl VaultDocuments {
    pub(crate) fn new(store: Store, open: Open, max_age: Duration) -> Self {
        Self { store, open, vaults: Cache::new(MAX_OPEN), max_age }
    }

    /// The vault `id`, if it has a document in the folder that `completing` names. A document that was read lately is not read again.
    pub(crate) async fn vault(
        &self,
        id: &str,
        completing: &Completing,
        now: Timestamp,
    ) -> Result<Option<Vault>, Error> {
        let Ok(id) = id.parse::<VaultId>() else { return Ok(None) };
        let found = self.vaults.get_or_insert_with(&id, || Ok::<_, Infallible>(Arc::default()));
        let Ok(slot) = found;
        // One request reads; others of the vault wait for it.
        let mut last = slot.lock().await;
        let reading = match last.take() {
            Some(fresh) if fresh.is_fresh(completing.version, self.max_age, now) => fresh,
            old => self.read(&id, completing, old, now).await,
        };
        let vault = last.insert(reading).vault.clone();
        vault.map_err(|_| {
            let message = "the configuration of this vault cannot be used; its operator must look at the log";
            Error::new(Code::Unavailable, Reason::ConfigUnusable, message)
        })
    }

    async fn read(&self, id: &VaultId, completing: &Completing, old: Option<Reading>, now: Timestamp) -> Reading {
        let version = completing.version;
        let key = format!("{}/{id}.json", completing.further.folder);
        let mut next = Reading { at: now, version, contents: None, mirror: None, vault: Ok(None) };
        let mut kept = None;
        if let Some(old) = old {
            (next.contents, next.mirror) = (old.contents, old.mirror);
            kept = old.vault.ok().flatten().filter(|_| old.version == version);
        }
        match read_object(&self.store, &key, next.contents.as_ref()).await {
            Ok(Found::Unchanged) => {}
            Ok(Found::Contents(contents)) => {
                // What the vault's process knows is kept if nothing changed.
                kept = kept.filter(|_| next.contents.as_ref().is_some_and(|old| old.bytes == contents.bytes));
                next.contents = Some(contents);
            }
            Ok(Found::Nothing) => {
                next.contents = None;
                return next;
            }
            Err(reason) => {
                next.vault = Err(reason);
                return self.faulty(next, id, &key);
            }
        }
        next.vault = match (kept, &next.contents) {
            (Some(vault), _) => Ok(Some(vault)),
            (None, Some(contents)) => match self.made(id, completing, contents, &mut next.mirror) {
                Ok(vault) => Ok(Some(vault)),
                Err(error) => Err(error.to_string()),
            },
            (None, None) => Ok(None),
        };
        self.faulty(next, id, &key)
    }

    /// The vault that a document describes.
    fn made(
        &self,
        id: &VaultId,
        completing: &Completing,
        contents: &Contents,
        mirror: &mut Option<Mirror>,
    ) -> Result<Vault, OpenError> {
        let document = Document::parse_vault(&contents.bytes, id)?;
        let vault = VaultSettings::of(&document, &completing.further.acl)?;
        let mirror = match mirror {
            Some(mirror) => mirror,
            None => mirror.insert((self.open)(id.clone())?),
        };
        opened(&vault, mirror.clone(), &completing.settings)
    }

    /// Logs why a vault is not answered for.
    fn faulty(&self, reading: Reading, id: &VaultId, key: &str) -> Reading {
        if let Err(reason) = &reading.vault {
            let place = self.store.name();
            tracing::error!(
                "nothing of the vault {id} is answered until its document can be used: {key} of {place}: {reason}"
            );
        }
        reading
    }
}

/// The vault that `vault` describes, over `mirror`.
///
/// # Errors
/// When its access list is invalid, or a key for its app is missing.
pub(crate) fn opened(vault: &VaultSettings, mirror: Mirror, settings: &Settings) -> Result<Vault, OpenError> {
    let opened = Vault::new(vault.id.as_str(), mirror, Acl::new(&vault.acl)?).named(vault.name.clone());
    Ok(opened.with_folders(vault.memory.as_ref(), vault.prompts.as_ref()).with_app(settings.reach_of(vault)?))
}
