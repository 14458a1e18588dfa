//! Reads a document again while a process lives. Nothing runs between requests, so a request reads it again when the
//! last reading is too old. While the new document is invalid, requests are refused, since it may have been meant to
//! change the old rules.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Mutex;

use crate::config::document::Document;
use crate::config::error::ConfigError;
use crate::config::source::{ConfigSource, Contents};
use crate::deployed::{Deployed, Deploys, OpenError};
use crate::settings::Settings;

/// The default age after which the document is read again.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(30);
/// How long a refusal is cached, so that not every request reads from an unavailable store.
const MAX_AGE_OF_REFUSAL: Duration = Duration::from_secs(1);

/// Reloads a document.
pub(crate) struct Reloader {
    place: ConfigSource,
    environment: Settings,
    deploys: Deploys,
    max_age: Duration,
    clock: fn() -> Timestamp,
    seen: RwLock<LastReading>,
    /// One request reads; others wait for it.
    looking: Mutex<()>,
}

/// The last reading.
struct LastReading {
    at: Timestamp,
    contents: Contents,
    /// The number of different contents so far.
    version: u64,
    /// The deployment of the contents, or why they are invalid.
    deployed: Result<Arc<Deployed>, String>,
    /// The error of the last reading, if it failed.
    fault: Option<String>,
}

impl LastReading {
    fn current(&self) -> Result<Arc<Deployed>, String> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => self.deployed.clone(),
        }
    }
}

impl Reloader {
    /// Reads the document at `place`, which must be valid.
    pub(crate) async fn start(
        place: ConfigSource,
        environment: Settings,
        deploys: Deploys,
        max_age: Duration,
        clock: fn() -> Timestamp,
    ) -> Result<(Self, Arc<Deployed>), OpenError> {
        let at = clock();
        let contents = place.read(deploys.store(), None).await?.unwrap_or_default();
        let deployed = Arc::new(deploy(&contents, &environment, &deploys, 1)?);
        let seen = LastReading { at, contents, version: 1, deployed: Ok(deployed.clone()), fault: None };
        let (seen, looking) = (RwLock::new(seen), Mutex::new(()));
        Ok((Self { place, environment, deploys, max_age, clock, seen, looking }, deployed))
    }

    /// The current deployment, or why there is none.
    pub(crate) async fn current(&self) -> Result<Arc<Deployed>, String> {
        if let Some(current) = self.fresh() {
            return current;
        }
        let _looking = self.looking.lock().await;
        match self.fresh() {
            Some(current) => current,
            None => self.look().await,
        }
    }

    /// Reads the document again, however old the last reading is; whether it is another one.
    pub(crate) async fn reload(&self) -> Result<bool, String> {
        let _looking = self.looking.lock().await;
        let before = self.read().version;
        self.look().await?;
        Ok(self.read().version != before)
    }

    /// The last reading, if it is not too old. A clock that was set back far makes it too old.
    fn fresh(&self) -> Option<Result<Arc<Deployed>, String>> {
        let seen = self.read();
        let current = seen.current();
        let max_age = if current.is_ok() { self.max_age } else { self.max_age.min(MAX_AGE_OF_REFUSAL) };
        let is_fresh = (self.clock)().duration_since(seen.at).unsigned_abs() < max_age;
        (is_fresh || !self.place.can_change()).then_some(current)
    }

    async fn look(&self) -> Result<Arc<Deployed>, String> {
        let begun = (self.clock)();
        let contents = self.read().contents.clone();
        let read = self.place.read(self.deploys.store(), Some(&contents)).await;
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        let before = seen.current().err();
        match read {
            Ok(None) => seen.fault = None,
            Ok(Some(contents)) => {
                seen.version += 1;
                let deployed = deploy(&contents, &self.environment, &self.deploys, seen.version);
                seen.deployed = deployed.map(Arc::new).map_err(|error| error.to_string());
                (seen.contents, seen.fault) = (contents, None);
                if seen.deployed.is_ok() {
                    tracing::info!("the changed configuration is used from now on");
                }
            }
            Err(error) => seen.fault = Some(error.to_string()),
        }
        let current = seen.current();
        // Waiting requests must not each ask an unavailable store in turn.
        seen.at = if current.is_ok() { begun } else { (self.clock)() };
        if let Err(error) = &current
            && before.as_ref() != Some(error)
        {
            tracing::error!("nothing is answered until the configuration can be used: {error}");
        }
        current
    }

    fn read(&self) -> RwLockReadGuard<'_, LastReading> {
        self.seen.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn deploy(contents: &Contents, environment: &Settings, deploys: &Deploys, version: u64) -> Result<Deployed, OpenError> {
    let document = Document::parse(&contents.bytes).map_err(ConfigError::from)?;
    deploys.deploy(&environment.clone().with(document)?, version)
}
