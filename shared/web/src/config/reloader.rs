//! Looking at a document again while a process lives. Nothing runs between requests, so the request that finds that the last look is too
//! long ago looks itself. What turned bad is refused until it is good again: the rules from before may be what it was to change.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Mutex;

use crate::config::document::Document;
use crate::config::error::ConfigError;
use crate::config::source::{ConfigSource, Contents};
use crate::deployed::{Deployed, Deploys, OpenError};
use crate::settings::Settings;

/// How old what was seen may be, unless something else is wanted.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(30);
/// How old a refusal may be, so that a store that is away is not asked by every request.
const MAX_AGE_OF_REFUSAL: Duration = Duration::from_secs(1);

/// A document that is followed.
pub(crate) struct Reloader {
    place: ConfigSource,
    environment: Settings,
    deploys: Deploys,
    max_age: Duration,
    clock: fn() -> Timestamp,
    seen: RwLock<Seen>,
    /// One looks; others wait for what comes of it.
    looking: Mutex<()>,
}

/// What was seen last.
struct Seen {
    at: Timestamp,
    contents: Contents,
    /// How many contents there were.
    version: u64,
    /// What the contents came to, or why they cannot be used.
    deployed: Result<Arc<Deployed>, String>,
    /// Why it could not be looked at.
    fault: Option<String>,
}

impl Seen {
    fn current(&self) -> Result<Arc<Deployed>, String> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => self.deployed.clone(),
        }
    }
}

impl Reloader {
    /// The document at `place`, which must be good.
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
        let seen = Seen { at, contents, version: 1, deployed: Ok(deployed.clone()), fault: None };
        let (seen, looking) = (RwLock::new(seen), Mutex::new(()));
        Ok((Self { place, environment, deploys, max_age, clock, seen, looking }, deployed))
    }

    /// What holds now, or why nothing does.
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

    /// What was seen, if that is not too long ago. A clock that was set back far says nothing of that.
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
                    tracing::info!("the configuration changed, and is used as it is now");
                }
            }
            Err(error) => seen.fault = Some(error.to_string()),
        }
        let current = seen.current();
        // Those who waited for a store that is away do not each ask it in their turn.
        seen.at = if current.is_ok() { begun } else { (self.clock)() };
        if let Err(error) = &current
            && before.as_ref() != Some(error)
        {
            tracing::error!("nothing is answered until the configuration can be used: {error}");
        }
        current
    }

    fn read(&self) -> RwLockReadGuard<'_, Seen> {
        self.seen.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn deploy(contents: &Contents, environment: &Settings, deploys: &Deploys, version: u64) -> Result<Deployed, OpenError> {
    let document = Document::parse(&contents.bytes).map_err(ConfigError::from)?;
    deploys.deploy(&environment.clone().with(document)?, version)
}
