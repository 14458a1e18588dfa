//! A configuration's deployment, and the state that survives a reload.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atlas_access::ThrottleConfig;
use atlas_mirror::{Mirror, MirrorError, Options, PartCache, Store, VaultId};
use atlas_ops::Atlas;
use atlas_ops::pipeline::throttle::Throttle;
use atlas_tools::facade::Facade;
use jiff::Timestamp;

use crate::gate::Gate;
use crate::hosts::Hosts;
pub use crate::open_error::OpenError;
use crate::origins::Origins;
use crate::settings::{Auth, FurtherVaults, Settings, SettingsError};
use crate::threads;
use crate::vault_documents::{Completing, Further, Open, VaultDocuments, opened};

/// The path of the page for people.
pub(crate) const PAGE: &str = "/ui";

/// The clients that can reach a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine only.
    Loopback,
    /// Other machines too, so callers must be authenticated.
    Others {
        /// The environment of the service.
        place: String,
        /// The remedy if callers are not authenticated.
        remedy: &'static str,
    },
}

/// The deployment of a configuration.
pub(crate) struct Deployed {
    pub(crate) version: u64,
    pub(crate) atlas: Atlas,
    pub(crate) further: Option<Further>,
    pub(crate) gate: Gate,
    pub(crate) origins: Origins,
    pub(crate) bridge_any_origin: bool,
    pub(crate) hosts: Hosts,
    pub(crate) facade: Facade,
    pub(crate) page: Option<Arc<str>>,
    pub(crate) cache: Arc<PartCache>,
}

/// The state that survives a reload: the store, and the data fetched from it.
pub(crate) struct Deploys {
    store: Store,
    cache: Arc<PartCache>,
    open: Open,
    documents: Arc<VaultDocuments>,
    mirrors: Mutex<BTreeMap<VaultId, Mirror>>,
    throttle: Mutex<Option<(ThrottleConfig, Arc<Throttle>)>>,
    reach: Reach,
    started: Timestamp,
}

impl Deploys {
    pub(crate) fn new(store: Store, cache_bytes: usize, reach: Reach, started: Timestamp, max_age: Duration) -> Self {
        let cache = Arc::new(PartCache::new(cache_bytes));
        let open: Open = {
            let (store, cache) = (store.clone(), cache.clone());
            Arc::new(move |vault| {
                let opened = Mirror::open(store.clone(), vault, cache.clone(), Options::default());
                let refused = |reason: String| MirrorError::StoreRefused { action: "open", reason };
                Ok(opened.map_err(|error| refused(error.to_string()))?)
            })
        };
        let documents = Arc::new(VaultDocuments::new(store.clone(), open.clone(), max_age));
        let (mirrors, throttle) = (Mutex::default(), Mutex::default());
        Self { store, cache, open, documents, mirrors, throttle, reach, started }
    }

    /// The store of the vaults.
    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    /// Deploys `settings`. Mirrors of known vaults are kept.
    pub(crate) fn deploy(&self, settings: &Settings, version: u64) -> Result<Deployed, OpenError> {
        self.reach.admits(settings)?;
        let gate = Gate::of(settings)?;
        let mut mirrors = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
        let mut vaults = Vec::new();
        let mut used = BTreeMap::new();
        for vault in &settings.vaults {
            let mirror = match mirrors.get(&vault.id) {
                Some(mirror) => mirror.clone(),
                None => (self.open)(vault.id.clone())?,
            };
            used.insert(vault.id.clone(), mirror.clone());
            vaults.push(opened(vault, mirror, settings)?);
        }
        *mirrors = used;
        let mut atlas = Atlas::new(vaults, settings.limits);
        atlas.visibility = Arc::new(settings.visible()?);
        if let Some(config) = settings.throttle {
            // The throttle is kept when something else changes.
            let mut last = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = last.take().filter(|(of, _)| *of == config);
            let (_, throttle) = last.insert(kept.unwrap_or_else(|| (config, Arc::new(Throttle::new(config)))));
            atlas.throttle = throttle.clone();
        }
        atlas.current = Arc::new(settings.current.clone());
        atlas.scale_picture = settings.scale_picture;
        atlas.query_passages = settings.query_passages;
        atlas.services = Arc::new(settings.services.open()?);
        atlas.about.started = Some(self.started);
        atlas.about.cpu = threads::cpu_time;
        if settings.auth == Auth::Jwt {
            atlas.about.auth_mode = "jwt";
            atlas.audit = settings.audit.clone();
        }
        let (origins, hosts) = (settings.origins.clone(), settings.hosts.clone());
        let bridge_any_origin = settings.bridge_any_origin;
        let resource = settings.tokens.resource.as_deref().filter(|_| settings.auth == Auth::Jwt);
        let page = resource.map(|resource| format!("{}{PAGE}", resource.trim_end_matches('/')).into());
        let completing =
            |further: &FurtherVaults| Completing { settings: settings.clone(), further: further.clone(), version };
        Ok(Deployed {
            version,
            further: settings.further.as_ref().map(|further| Further {
                documents: self.documents.clone(),
                completing: Arc::new(completing(further)),
            }),
            atlas,
            gate,
            origins,
            bridge_any_origin,
            hosts,
            facade: settings.facade,
            page,
            cache: self.cache.clone(),
        })
    }
}

impl Reach {
    fn admits(&self, settings: &Settings) -> Result<(), SettingsError> {
        if settings.auth != Auth::None {
            return Ok(());
        }
        if let Self::Others { place, remedy } = self {
            return Err(SettingsError::Open { place: place.clone(), remedy });
        }
        // A public name means a proxy in front, which forwards requests of others.
        match settings.hosts.public().as_slice() {
            [] => Ok(()),
            names => {
                let place = format!("{}={}", settings.called("ATLAS_HOSTS"), names.join(","));
                let remedy = "set ATLAS_AUTH=jwt, or name only localhost and addresses of this machine's loopback";
                Err(SettingsError::Open { place, remedy })
            }
        }
    }
}
