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
        // One request reads; others of the vault wait for it. If it is given up, the last reading stays.
        let mut last = slot.lock().await;
        let vault = match &*last {
            Some(fresh) if fresh.is_fresh(completing.version, self.max_age, now) => fresh.vault.clone(),
            old => {
                let next = self.read(&id, completing, old.as_ref(), now).await;
                last.insert(next).vault.clone()
            }
        };
        vault.map_err(|_| {
            let message = "the configuration of this vault cannot be used; its operator must look at the log";
            Error::new(Code::Unavailable, Reason::ConfigUnusable, message)
        })
    }

    async fn read(&self, id: &VaultId, completing: &Completing, old: Option<&Reading>, now: Timestamp) -> Reading {
        let version = completing.version;
        let key = format!("{}/{id}.json", completing.further.folder);
        let seen = old.and_then(|old| old.contents.clone());
        let mut mirror = old.and_then(|old| old.mirror.clone());
        let read = match read_object(&self.store, &key, seen.as_ref()).await {
            Ok(Found::Unchanged) => Ok(seen.clone()),
            Ok(Found::Contents(contents)) => Ok(Some(contents)),
            Ok(Found::Nothing) => Ok(None),
            Err(reason) => Err(reason),
        };
        let bytes = |contents: &Option<Contents>| contents.as_ref().map(|contents| contents.bytes.clone());
        // What the process knows of the vault is kept if nothing changed.
        let is_same = old.is_some_and(|old| old.version == version)
            && read.as_ref().is_ok_and(|read| bytes(read) == bytes(&seen));
        let kept = old.filter(|_| is_same).and_then(|old| old.vault.clone().ok().flatten());
        let vault = match (&read, kept) {
            (Err(reason), _) => Err(reason.clone()),
            (Ok(None), _) => Ok(None),
            (Ok(Some(_)), Some(kept)) => Ok(Some(kept)),
            (Ok(Some(contents)), None) => {
                self.made(id, completing, contents, &mut mirror).map(Some).map_err(|error| error.to_string())
            }
        };
        if let Err(reason) = &vault
            && old.is_none_or(|old| old.vault.as_ref().err() != Some(reason))
        {
            let place = self.store.name();
            tracing::error!(
                "nothing of the vault {id} is answered until its document can be used: {key} of {place}: {reason}"
            );
        }
        Reading { at: now, version, contents: read.unwrap_or(seen), mirror, vault }
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
}

/// The vault that `vault` describes, over `mirror`.
///
/// # Errors
/// When its access list is invalid, or a key for its app is missing.
pub(crate) fn opened(vault: &VaultSettings, mirror: Mirror, settings: &Settings) -> Result<Vault, OpenError> {
    let opened = Vault::new(vault.id.as_str(), mirror, Acl::new(&vault.acl)?).named(vault.name.clone());
    Ok(opened.with_folders(vault.memory.as_ref(), vault.prompts.as_ref()).with_app(settings.reach_of(vault)?))
}
