//! The state shared by handlers.

use std::sync::Arc;
use std::time::Duration;

pub use atlas_access::visibility::Offer;
use atlas_mirror::{Store, VaultId};
use atlas_ops::about::{self, InvalidConfiguration};
use atlas_ops::{Atlas, Caller as Access, Entry, Error, Limits, Vault};
use atlas_outbound::Documents;
use atlas_tools::facade::Facade;
use jiff::Timestamp;

use crate::caller::Caller;
use crate::config::document::Document;
use crate::config::error::ConfigError;
use crate::config::reloader::{self, Reloader};
use crate::deployed::{Deployed, Deploys};
pub use crate::deployed::{OpenError, Reach};
use crate::gate::Gate;
use crate::hosts::Hosts;
use crate::metrics::Metrics;
use crate::origins::Origins;
use crate::settings::Settings;
use crate::threads::Threads;
use crate::vault_documents::Further;

/// The deployment with its current configuration, and the clock.
#[derive(Clone)]
pub struct App {
    /// The vaults and limits.
    pub atlas: Atlas,
    /// Returns the current time.
    pub clock: fn() -> Timestamp,
    /// Authenticates callers.
    pub gate: Gate,
    /// The origins whose pages may call.
    pub origins: Origins,
    /// Whether pages of any origin may call tools of the Bridge that only read.
    pub bridge_any_origin: bool,
    /// The host names that a server answers to.
    pub hosts: Hosts,
    /// Which tools are listed.
    pub facade: Facade,
    /// Request counters.
    pub metrics: Metrics,
    /// The threads that calls run on, if not the current one.
    pub(crate) threads: Option<Threads>,
    /// The vaults that have documents of their own.
    pub(crate) further: Option<Further>,
    /// The address of the page for people, if known.
    pub page: Option<Arc<str>>,
    /// The client's pseudonym, if known.
    pub(crate) asked_by: Option<Caller>,
    /// Exports requests as spans.
    #[cfg(feature = "otlp")]
    pub spans: Option<crate::otlp::Spans>,
    /// Fetches what strangers publish, where the configuration allows that.
    pub documents: Arc<Documents>,
    /// The current configuration.
    pub configured: Configured,
}

/// The current configuration of a deployment, and how to find the next one.
#[derive(Clone, Default)]
pub struct Configured {
    /// The number of the configuration.
    pub(crate) version: u64,
    /// Whether requests for hosts that are not its own are refused.
    pub(crate) checks_hosts: bool,
    reloader: Option<Arc<Reloader>>,
}

impl App {
    /// Opens the deployment that `settings` (the environment's) and their document describe.
    ///
    /// # Errors
    /// When the document is invalid, the store cannot be opened, the keys for tokens are invalid, or callers
    /// who must authenticate do not. The only request to the store is for the document.
    pub async fn open(settings: &Settings, reach: Reach) -> Result<Self, OpenError> {
        let store = atlas_mirror::location::open(&settings.store, &settings.variables)?;
        Self::open_in(store, settings, reach, reloader::MAX_AGE).await
    }

    /// Like [`App::open`], over an open store. The document is read again when the last reading is `max_age` old.
    ///
    /// # Errors As [`App::open`].
    pub async fn open_in(
        store: Store,
        settings: &Settings,
        reach: Reach,
        max_age: Duration,
    ) -> Result<Self, OpenError> {
        let deploys = Deploys::new(store, settings.cache_bytes, reach, Timestamp::now(), max_age);
        let Some(place) = settings.config.clone() else {
            return Ok(Self::new(&deploys.deploy(settings, 0)?, None));
        };
        let (reloader, deployed) = Reloader::start(place, settings.clone(), deploys, max_age, Timestamp::now).await?;
        Ok(Self::new(&deployed, Some(Arc::new(reloader))))
    }

    /// The settings of the environment, completed by the document that they name.
    ///
    /// # Errors
    /// When the document is invalid.
    pub async fn settings(environment: &Settings) -> Result<Settings, OpenError> {
        let Some(place) = &environment.config else { return Ok(environment.clone()) };
        let store = atlas_mirror::location::open(&environment.store, &environment.variables)?;
        let contents = place.read(&store, None).await?.unwrap_or_default();
        let document = Document::parse(&contents.bytes).map_err(ConfigError::from)?;
        Ok(environment.clone().with(document)?)
    }

    /// The same deployment with another clock.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> Timestamp) -> Self {
        Self { clock, ..self }
    }

    /// A deployment of one vault in `store`, without authentication.
    ///
    /// # Errors
    /// When the store's prefix cannot be part of a key.
    pub fn over(store: Store, vault: VaultId, limits: Limits, cache_bytes: usize) -> Result<Self, OpenError> {
        let settings = Settings { limits, ..Settings::of(vault) };
        let deploys = Deploys::new(store, cache_bytes, Reach::Loopback, Timestamp::now(), reloader::MAX_AGE);
        Ok(Self::new(&deploys.deploy(&settings, 0)?, None))
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
            metrics: Metrics::default().over(deployed.cache.clone()),
            threads: None,
            further: deployed.further.clone(),
            page: deployed.page.clone(),
            asked_by: None,
            #[cfg(feature = "otlp")]
            spans: None,
            documents: Arc::default(),
            configured: Configured { version: deployed.version, checks_hosts: false, reloader },
        }
    }

    /// The same deployment, answering only to the names of this machine and the configured ones.
    #[must_use]
    pub fn for_its_hosts(self) -> Self {
        Self { configured: Configured { checks_hosts: true, ..self.configured }, ..self }
    }

    /// The same deployment, whose page has this address where the configuration names no other.
    #[must_use]
    pub fn with_page(self, address: &str) -> Self {
        Self { page: self.page.or_else(|| Some(address.into())), ..self }
    }

    /// Whether it is a server on a host, and not a function.
    #[must_use]
    pub const fn is_on_host(&self) -> bool {
        self.configured.checks_hosts
    }

    /// The deployment with its current configuration. Faults of the configuration are only logged.
    pub(crate) async fn current(&self) -> Result<Self, InvalidConfiguration> {
        let Some(reloader) = &self.configured.reloader else { return Ok(self.clone()) };
        let now = reloader.current().await.map_err(|_| InvalidConfiguration)?;
        Ok(Self {
            atlas: now.atlas.clone(),
            further: now.further.clone(),
            gate: now.gate.clone(),
            origins: now.origins.clone(),
            bridge_any_origin: now.bridge_any_origin,
            hosts: now.hosts.clone(),
            facade: now.facade,
            page: now.page.clone().or_else(|| self.page.clone()),
            configured: Configured { version: now.version, ..self.configured.clone() },
            ..self.clone()
        })
    }

    /// The vault that the token of `caller` names, if it is none of the configuration's but has a document of its own.
    pub(crate) async fn further_vault(&self, caller: &Access) -> Result<Option<Vault>, Error> {
        match caller.vault() {
            Some(id) => self.documented(id).await,
            None => Ok(None),
        }
    }

    /// The vault `id`, if it is none of the configuration's but has a document of its own.
    async fn documented(&self, id: &str) -> Result<Option<Vault>, Error> {
        match &self.further {
            Some(further) if self.atlas.vault(Some(id)).is_err() => {
                further.documents.vault(id, &further.completing, (self.clock)()).await
            }
            _ => Ok(None),
        }
    }

    /// Whether vaults may have documents of their own, so that no list names all.
    #[must_use]
    pub const fn has_documented_vaults(&self) -> bool {
        self.further.is_some()
    }

    /// Whether there is a vault `id`, in the configuration or by a document of its own.
    ///
    /// # Errors
    /// When the vault's own document cannot be used, or not be read.
    pub async fn has_vault(&self, id: &str) -> Result<bool, Error> {
        Ok(self.atlas.vaults().iter().any(|vault| vault.id == id) || self.documented(id).await?.is_some())
    }

    /// The same deployment with the vault that the token of `caller` names.
    ///
    /// # Errors
    /// When the vault's own document cannot be used, or not be read.
    pub async fn for_caller(&self, caller: &Access) -> Result<Self, Error> {
        match caller.vault() {
            Some(id) => self.with_vault(id).await,
            None => Ok(self.clone()),
        }
    }

    /// The same deployment, also with the vault `id`, if that is none of the configuration's but has a document of its own.
    ///
    /// # Errors
    /// When the vault's own document cannot be used, or not be read.
    pub async fn with_vault(&self, id: &str) -> Result<Self, Error> {
        Ok(Self { atlas: self.atlas.with(self.documented(id).await?), ..self.clone() })
    }

    /// The environment of one call: its requests to the store have their own counters, and it can report this process's
    /// metrics.
    pub(crate) fn atlas_of_call(&self) -> Atlas {
        let mut atlas = self.atlas.metered();
        let metrics = self.metrics.clone();
        atlas.about.metrics = Some(Arc::new(move || metrics.encode()));
        atlas.about.has_more_vaults = self.has_documented_vaults();
        atlas.about.page.clone_from(&self.page);
        if let Some(reloader) = self.configured.reloader.clone() {
            atlas.about.reload = Some(about::reload_by(move || {
                let reloader = reloader.clone();
                async move { reloader.reload().await.map_err(|_| InvalidConfiguration) }
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
