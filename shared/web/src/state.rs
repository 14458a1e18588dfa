//! What handlers share.

use std::sync::Arc;
use std::time::Duration;

pub use atlas_access::visibility::Offer;
use atlas_mirror::{Store, VaultId};
use atlas_ops::{Atlas, Entry, Limits, about};
use atlas_tools::facade::Facade;
use jiff::Timestamp;

use crate::caller::Caller;
use crate::config::reloader::{self, Reloader};
use crate::deployed::{Deployed, Deploys};
pub use crate::deployed::{OpenError, Reach};
use crate::gate::Gate;
use crate::hosts::Hosts;
use crate::metrics::Metrics;
use crate::origins::Origins;
use crate::settings::Settings;
use crate::threads::Threads;

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
    reloader: Option<Arc<Reloader>>,
}

impl App {
    /// The deployment that `settings`, which are the environment's, and the document that they name describe.
    ///
    /// # Errors
    /// When the document cannot be used, the store cannot be opened, the keys for tokens cannot be used, or callers who must be told apart
    /// are not. The store is asked for the document at most.
    pub async fn open(settings: &Settings, reach: Reach) -> Result<Self, OpenError> {
        let store = atlas_mirror::location::open(&settings.store, &settings.variables)?;
        Self::open_in(store, settings, reach, reloader::MAX_AGE).await
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
        let (reloader, deployed) = Reloader::start(place, settings.clone(), deploys, max_age, Timestamp::now).await?;
        Ok(Self::new(&deployed, Some(Arc::new(reloader))))
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

    fn new(deployed: &Deployed, reloader: Option<Arc<Reloader>>) -> Self {
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
            configured: Configured { version: deployed.version, checks_hosts: false, reloader },
        }
    }

    /// The same for the names of this machine and those that are configured, and no others.
    #[must_use]
    pub fn for_its_hosts(self) -> Self {
        Self { configured: Configured { checks_hosts: true, ..self.configured }, ..self }
    }

    /// The deployment as it is configured now. What is wrong with its configuration is told to the log only.
    pub(crate) async fn current(&self) -> Result<Self, Unusable> {
        let Some(reloader) = &self.configured.reloader else { return Ok(self.clone()) };
        let now = reloader.current().await.map_err(|_| Unusable)?;
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
        if let Some(reloader) = self.configured.reloader.clone() {
            atlas.about.reload = Some(about::reload_by(move || {
                let reloader = reloader.clone();
                async move { reloader.reload().await.map_err(|_| about::Unusable) }
            }));
        }
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
