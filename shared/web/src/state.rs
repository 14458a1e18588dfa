//! What handlers share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use atlas_access::visibility::Offer;
use atlas_access::{Acl, AclError, ThrottleConfig};
use atlas_mirror::{Mirror, MirrorError, Options, PartCache, Store, VaultId};
use atlas_ops::pipeline::throttle::Throttle;
use atlas_ops::{Atlas, Entry, Limits, Vault};
use jiff::Timestamp;

use crate::auth::Gate;
use crate::caller::Caller;
use crate::config::follower::{self, Follower};
use crate::config::{ConfigError, DocumentError, Facade};
use crate::cors::Origins;
use crate::hosts::Hosts;
use crate::settings::{Auth, Settings, SettingsError};
use crate::telemetry::Metrics;
use crate::threads::{self, Threads};

/// The deployment, as it is configured at one time, and the clock.
#[derive(Clone)]
pub struct App {
    /// The vaults and limits.
    pub atlas: Atlas,
    /// Says what time it is.
    pub clock: fn() -> Timestamp,
    /// Tells callers apart.
    pub gate: Gate,
    /// Which web pages may call.
    pub origins: Origins,
    /// Whether pages of any origin may call tools of the Bridge that only read.
    pub bridge_any_origin: bool,
    /// Which names a server answers for.
    pub hosts: Hosts,
    /// What a list of tools shows.
    pub facade: Facade,
    /// Counts requests.
    pub metrics: Metrics,
    /// Where calls run, if not where requests are received.
    pub(crate) threads: Option<Threads>,
    /// Who asked, if that is known.
    pub(crate) asked_by: Option<Caller>,
    /// Exports requests as spans.
    #[cfg(feature = "otlp")]
    pub spans: Option<crate::otlp::Spans>,
    /// Which configuration it is.
    pub configured: Configured,
}

/// Which of a deployment's configurations an [`App`] is, and how the next one is found.
#[derive(Clone, Default)]
pub struct Configured {
    /// Tells it from those before it.
    pub(crate) version: u64,
    /// Whether requests for hosts that are not its own are refused.
    pub(crate) checks_hosts: bool,
    follower: Option<Arc<Follower>>,
}

/// Who can reach a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine only.
    Loopback,
    /// Others too, so that callers must be told apart.
    Others {
        /// Where it runs.
        place: String,
        /// What to do where callers are not told apart.
        remedy: &'static str,
    },
}

/// Why a deployment cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The configuration document.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An access list.
    #[error(transparent)]
    Acl(#[from] AclError),
    /// The store.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}

impl From<DocumentError> for OpenError {
    fn from(error: DocumentError) -> Self {
        Self::Config(error.into())
    }
}

/// What a configuration comes to.
pub(crate) struct Deployed {
    version: u64,
    atlas: Atlas,
    gate: Gate,
    origins: Origins,
    bridge_any_origin: bool,
    hosts: Hosts,
    facade: Facade,
}

/// What stays while configurations come and go: the store, and what was fetched from it.
pub(crate) struct Deploys {
    store: Store,
    cache: Arc<PartCache>,
    mirrors: Mutex<BTreeMap<VaultId, Mirror>>,
    throttle: Mutex<Option<(ThrottleConfig, Arc<Throttle>)>>,
    reach: Reach,
    started: Timestamp,
}

impl Deploys {
    fn new(store: Store, cache_bytes: usize, reach: Reach, started: Timestamp) -> Self {
        let cache = Arc::new(PartCache::new(cache_bytes));
        Self { store, cache, mirrors: Mutex::default(), throttle: Mutex::default(), reach, started }
    }

    /// Where the vaults are.
    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    /// What `settings` come to. Mirrors of vaults that were there before are kept.
    pub(crate) fn deploy(&self, settings: &Settings, version: u64) -> Result<Deployed, OpenError> {
        self.reach.admits(settings)?;
        let gate = Gate::of(settings)?;
        let mut mirrors = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
        let mut vaults = Vec::new();
        let mut used = BTreeMap::new();
        for vault in &settings.vaults {
            let mirror = match mirrors.get(&vault.id) {
                Some(mirror) => mirror.clone(),
                None => self.open(vault.id.clone())?,
            };
            used.insert(vault.id.clone(), mirror.clone());
            vaults.push(Vault::new(vault.id.as_str(), mirror, Acl::new(&vault.acl)?).named(vault.name.clone()));
        }
        *mirrors = used;
        let mut atlas = Atlas::new(vaults, settings.limits);
        atlas.visibility = Arc::new(settings.visible()?);
        if let Some(config) = settings.throttle {
            // Callers do not begin anew when something else changes.
            let mut last = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = last.take().filter(|(of, _)| *of == config);
            let (_, throttle) = last.insert(kept.unwrap_or_else(|| (config, Arc::new(Throttle::new(config)))));
            atlas.throttle = throttle.clone();
        }
        atlas.about.started = Some(self.started);
        atlas.about.cpu = threads::cpu_time;
        if settings.auth == Auth::Jwt {
            atlas.about.auth_mode = "jwt";
            atlas.audit = settings.audit.clone();
        }
        let (origins, hosts) = (settings.origins.clone(), settings.hosts.clone());
        let bridge_any_origin = settings.bridge_any_origin;
        Ok(Deployed { version, atlas, gate, origins, bridge_any_origin, hosts, facade: settings.facade })
    }

    fn open(&self, vault: VaultId) -> Result<Mirror, MirrorError> {
        Mirror::open(self.store.clone(), vault, self.cache.clone(), Options::default())
            .map_err(|error| MirrorError::StoreRefused { action: "open", reason: error.to_string() })
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
        // Such a name is for a proxy in front, which brings requests of others here.
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

impl App {
    /// The deployment that `settings`, which are the environment's, and the document that they name describe.
    ///
    /// # Errors
    /// When the document cannot be used, the store cannot be opened, the keys for tokens cannot be used, or callers who must be told apart
    /// are not. The store is asked for the document at most.
    pub async fn open(settings: &Settings, reach: Reach) -> Result<Self, OpenError> {
        let store = atlas_mirror::location::open(&settings.store, &settings.variables)?;
        Self::open_in(store, settings, reach, follower::MAX_AGE).await
    }

    /// The same over a store that is open. The document is looked at again when it was looked at `max_age` ago.
    ///
    /// # Errors
    /// As [`App::open`].
    pub async fn open_in(
        store: Store,
        settings: &Settings,
        reach: Reach,
        max_age: Duration,
    ) -> Result<Self, OpenError> {
        let deploys = Deploys::new(store, settings.cache_bytes, reach, Timestamp::now());
        let Some(place) = settings.config.clone() else {
            return Ok(Self::new(&deploys.deploy(settings, 0)?, None));
        };
        let (follower, deployed) = Follower::start(place, settings.clone(), deploys, max_age, Timestamp::now).await?;
        Ok(Self::new(&deployed, Some(Arc::new(follower))))
    }

    /// The settings that the environment's and the document that they name come to.
    ///
    /// # Errors
    /// When the document cannot be used.
    pub async fn settings(environment: &Settings) -> Result<Settings, OpenError> {
        let Some(place) = &environment.config else { return Ok(environment.clone()) };
        let store = atlas_mirror::location::open(&environment.store, &environment.variables)?;
        Ok(environment.clone().with(place.document(&store).await?)?)
    }

    /// The same by another clock.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> Timestamp) -> Self {
        Self { clock, ..self }
    }

    /// A deployment of one vault in `store`, whose callers are not told apart.
    ///
    /// # Errors
    /// When the store's prefix cannot be part of a key.
    pub fn over(store: Store, vault: VaultId, limits: Limits, cache_bytes: usize) -> Result<Self, OpenError> {
        let settings = Settings { limits, ..Settings::of(vault) };
        Ok(Self::new(&Deploys::new(store, cache_bytes, Reach::Loopback, Timestamp::now()).deploy(&settings, 0)?, None))
    }

    fn new(deployed: &Deployed, follower: Option<Arc<Follower>>) -> Self {
        Self {
            atlas: deployed.atlas.clone(),
            clock: Timestamp::now,
            gate: deployed.gate.clone(),
            origins: deployed.origins.clone(),
            bridge_any_origin: deployed.bridge_any_origin,
            hosts: deployed.hosts.clone(),
            facade: deployed.facade,
            metrics: Metrics::new(false),
            threads: None,
            asked_by: None,
            #[cfg(feature = "otlp")]
            spans: None,
            configured: Configured { version: deployed.version, checks_hosts: false, follower },
        }
    }

    /// The same for the names of this machine and those that are configured, and no others.
    #[must_use]
    pub fn for_its_hosts(self) -> Self {
        Self { configured: Configured { checks_hosts: true, ..self.configured }, ..self }
    }

    /// The deployment as it is configured now. What is wrong with its configuration is told to the log only.
    pub(crate) async fn current(&self) -> Result<Self, Unusable> {
        let Some(follower) = &self.configured.follower else { return Ok(self.clone()) };
        let now = follower.current().await.map_err(|_| Unusable)?;
        Ok(Self {
            atlas: now.atlas.clone(),
            gate: now.gate.clone(),
            origins: now.origins.clone(),
            bridge_any_origin: now.bridge_any_origin,
            hosts: now.hosts.clone(),
            facade: now.facade,
            configured: Configured { version: now.version, ..self.configured.clone() },
            ..self.clone()
        })
    }

    /// What one call runs on: its requests to the store are counted apart, and it can tell what this process has counted.
    pub(crate) fn atlas_of_call(&self) -> Atlas {
        let mut atlas = self.atlas.metered();
        let metrics = self.metrics.clone();
        atlas.about.metrics = Some(Arc::new(move || metrics.encode()));
        #[cfg(feature = "otlp")]
        {
            atlas.about.otlp_enabled = self.spans.is_some();
        }
        atlas
    }

    /// How an operation is offered.
    #[must_use]
    pub fn offers(&self, operation: &Entry) -> Offer {
        self.atlas.visibility.of(operation.info.name)
    }
}

/// The configuration cannot be used at this time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unusable;
