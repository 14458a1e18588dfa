//! What handlers share.

use std::sync::Arc;

use atlas_mirror::{Mirror, MirrorError, Options, PartCache, Store, VaultId};
use atlas_ops::{Atlas, Limits, Vault};
use jiff::Timestamp;

use crate::settings::Settings;
use crate::telemetry::Metrics;

/// The deployment and the clock.
#[derive(Clone)]
pub struct App {
    /// The vaults and limits.
    pub atlas: Atlas,
    /// Says what time it is.
    pub clock: fn() -> Timestamp,
    /// Counts requests.
    pub metrics: Metrics,
    /// Exports requests as spans.
    #[cfg(feature = "otlp")]
    pub spans: Option<crate::otlp::Spans>,
}

impl App {
    /// The deployment that `settings` describe.
    ///
    /// # Errors
    /// When the store cannot be opened. The store is not asked anything yet.
    pub fn open(settings: &Settings) -> Result<Self, MirrorError> {
        let store = atlas_mirror::location::open(&settings.store, &settings.variables)?;
        Self::over(store, settings.vault.clone(), settings.limits, settings.cache_bytes)
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
            atlas: Atlas::new([Vault { id, mirror }], limits),
            clock: Timestamp::now,
            metrics: Metrics::new(false),
            #[cfg(feature = "otlp")]
            spans: None,
        })
    }
}
