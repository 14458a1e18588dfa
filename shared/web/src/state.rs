//! What handlers share.

use std::sync::Arc;

use atlas_access::Acl;
use atlas_mirror::{Mirror, MirrorError, Options, PartCache, Store, VaultId};
use atlas_ops::{Atlas, Limits, Vault};
use jiff::Timestamp;

use crate::auth::Gate;
use crate::settings::{Settings, SettingsError};
use crate::telemetry::Metrics;

/// The deployment and the clock.
#[derive(Clone)]
pub struct App {
    /// The vaults and limits.
    pub atlas: Atlas,
    /// Says what time it is.
    pub clock: fn() -> Timestamp,
    /// Tells callers apart.
    pub gate: Gate,
    /// Counts requests.
    pub metrics: Metrics,
    /// Exports requests as spans.
    #[cfg(feature = "otlp")]
    pub spans: Option<crate::otlp::Spans>,
}

/// Why a deployment cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The store.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}

impl App {
    /// The deployment that `settings` describe.
    ///
    /// # Errors
    /// When the store cannot be opened, or the keys for tokens cannot be used. The store is not asked anything yet.
    pub fn open(settings: &Settings) -> Result<Self, OpenError> {
        let gate = Gate::of(settings)?;
        let store = atlas_mirror::location::open(&settings.store, &settings.variables)?;
        let app = Self::over(store, settings.vault.clone(), settings.limits, settings.cache_bytes)?;
        Ok(Self { gate, ..app })
    }

    /// A deployment of one vault in `store`.
    ///
    /// # Errors
    /// When the store's prefix cannot be part of a key.
    pub fn over(store: Store, vault: VaultId, limits: Limits, cache_bytes: usize) -> Result<Self, MirrorError> {
        let cache = Arc::new(PartCache::new(cache_bytes));
        let id = vault.to_string();
        let mirror = Mirror::open(store, vault, cache, Options::default())
            .map_err(|error| MirrorError::StoreRefused { action: "open", reason: error.to_string() })?;
        Ok(Self {
            atlas: Atlas::new([Vault::new(id, mirror, Acl::default())], limits),
            clock: Timestamp::now,
            gate: Gate::default(),
            metrics: Metrics::new(false),
            #[cfg(feature = "otlp")]
            spans: None,
        })
    }
}
