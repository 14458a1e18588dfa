//! Operations for the person at this terminal, who is trusted, over the vault at the command's location.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use atlas_access::{Acl, Caller};
use atlas_mirror::Mirror;
use atlas_ops::atlas::CurrentContext;
use atlas_ops::{Atlas, Call, Entry, Limits, Vault, dispatch};
use atlas_tools::notes::read_note::ReadNote;
use futures::future::join_all;
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::vault::author;
use crate::vault_location::VaultLocation;

/// How long a client waits at most until its list of tools is known.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// A vault, for the person at this terminal.
pub(crate) struct Local(Atlas);

impl Local {
    /// The vault at `location`, which was published.
    ///
    /// # Errors
    /// When its store cannot be read, or has no such vault.
    pub(crate) async fn open(location: &VaultLocation) -> Result<Self, Box<dyn Error>> {
        Ok(Self::of(location.published().await?))
    }

    /// The vault of `mirror`.
    pub(crate) fn of(mirror: Mirror) -> Self {
        Self::over(Vault::new(mirror.vault().to_string(), mirror, Acl::default()))
    }

    /// `vault` itself.
    pub(crate) fn over(vault: Vault) -> Self {
        let mut atlas = Atlas::new([vault], Limits::default());
        atlas.current = Arc::new(current());
        Self(atlas)
    }

    /// Calls `operation`.
    ///
    /// # Errors
    /// As the operation.
    pub(crate) async fn try_call(
        &self,
        operation: &'static Entry,
        arguments: Value,
    ) -> Result<Value, atlas_ops::Error> {
        let call = Call::new(operation, arguments, Caller::trusted(&author()), Timestamp::now);
        Ok(dispatch(&self.0, call).await?.value)
    }

    /// Calls `operation`.
    ///
    /// # Errors
    /// As the operation, with its whole reason.
    pub(crate) async fn call(&self, operation: &'static Entry, arguments: Value) -> Result<Value, Box<dyn Error>> {
        Ok(self.try_call(operation, arguments).await.map_err(whole_reason)?)
    }

    /// Reads the text of the file at `path`, now or at a generation, page by page until `take` returns false.
    ///
    /// # Errors As `read_note`.
    pub(crate) async fn read_pages(
        &self,
        path: &str,
        generation: Option<u64>,
        mut take: impl FnMut(&str) -> bool,
    ) -> Result<(), atlas_ops::Error> {
        let mut offset = 0;
        loop {
            let call = given([
                ("path", Some(path.into())),
                ("generation", generation.map(Value::from)),
                ("offset", Some(offset.into())),
                ("include_frontmatter", Some(false.into())),
            ]);
            let page = self.try_call(atlas_tools::entry::<ReadNote>(), call).await?;
            let wants_more = take(page["content"].as_str().unwrap_or_default());
            match page["next_offset"].as_u64() {
                Some(next) if wants_more && next > offset => offset = next,
                _ => return Ok(()),
            }
        }
    }
}

/// The current context on a person's own machine, where today is this machine's day.
pub(crate) fn current() -> CurrentContext {
    let zone = TimeZone::system();
    // Operations know zones by their names only.
    let name = zone.iana_name().filter(|name| TimeZoneDatabase::bundled().get(name).is_ok());
    CurrentContext { time_zone: name.map(str::to_owned), ..CurrentContext::default() }
}

/// Asks the stores whether they may be written to, so that no tool is listed that cannot do its work. A store that does not answer soon is asked again by
/// the first call that writes.
pub(crate) async fn ask_who_writes(atlas: &Atlas) {
    let asked = atlas.vaults().iter().filter(|vault| !vault.acl().is_read_only()).map(|vault| async {
        match vault.mirror.check_writes_once().await {
            Err(error) if vault.mirror.refuses_writes() => {
                tracing::warn!(%error, vault = vault.id, "tools that write are not listed");
            }
            _ => {}
        }
    });
    let _ = timeout(LONGEST_WAIT, join_all(asked)).await;
}

/// Arguments of a call, without those that are not given.
pub(crate) fn given<const N: usize>(arguments: [(&str, Option<Value>); N]) -> Value {
    let given = arguments.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect::<Map<_, _>>())
}

/// The message for a reader who may see the program's log too.
pub(crate) fn whole_reason(error: atlas_ops::Error) -> String {
    let like: Vec<&str> = error
        .details
        .get("suggestions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match error.internal {
        Some(reason) => reason,
        None if like.is_empty() => error.message,
        None => format!("{}; there is {}", error.message, like.join(", ")),
    }
}
