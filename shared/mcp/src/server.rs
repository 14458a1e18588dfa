//! One client's server: has the caller, and runs operations for them.

use std::sync::{Arc, Mutex, PoisonError};

use atlas_ops::pipeline::gates;
use atlas_ops::{Answer, Call, Entry, Error, Sent};
use atlas_web::routes::{self, Door};
use atlas_web::telemetry::Cost;
use rmcp::RoleServer;
use rmcp::model::JsonObject;
use rmcp::service::RequestContext;
use serde_json::Value;

use crate::indexing::Indexing;

/// A client's server.
#[derive(Clone)]
pub struct Server {
    pub(crate) door: Arc<Door>,
    // The cost of a call, stored here since the library returns only the message.
    last: Arc<Mutex<Option<LastCall>>>,
    indexing: Option<Indexing>,
}

/// The operation and cost of a message's call, for the log.
#[derive(Clone, Debug)]
pub(crate) struct LastCall {
    pub(crate) cost: Cost,
    pub(crate) generation: Option<u64>,
}

impl Server {
    /// The server for the caller at `door`.
    #[must_use]
    pub fn new(door: Door) -> Self {
        Self { door: Arc::new(door), last: Arc::default(), indexing: None }
    }

    /// The same for an index that is being built.
    #[must_use]
    pub fn indexed_by(self, indexing: Option<Indexing>) -> Self {
        Self { indexing, ..self }
    }

    /// Waits until the operation called `name` can answer.
    pub(crate) async fn prepared(&self, name: &str, context: &RequestContext<RoleServer>) -> Result<(), Error> {
        match &self.indexing {
            Some(indexing) => indexing.prepared(name, context).await,
            None => Ok(()),
        }
    }

    /// The last call of an operation.
    pub(crate) fn last(&self) -> Option<LastCall> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The default vault.
    pub(crate) fn vault(&self) -> Result<String, Error> {
        let Door { app, headers, caller } = &*self.door;
        let named = headers.get(routes::VAULT).map(|vault| vault.to_str().unwrap_or_default());
        match named.or_else(|| caller.vault()) {
            Some(vault) => Ok(vault.to_owned()),
            None => Ok(app.atlas.vault(None)?.id.clone()),
        }
    }

    /// The ids of vaults with this prefix that the caller may name.
    pub(crate) fn vaults(&self, begun: &str) -> Vec<String> {
        let Door { app, caller, .. } = &*self.door;
        let default = app.atlas.vaults().first().map_or("", |vault| vault.id.as_str());
        let ids = app.atlas.vaults().iter().map(|vault| vault.id.as_str());
        ids.filter(|id| id.starts_with(begun) && caller.may_name(id, default)).map(str::to_owned).collect()
    }

    /// A call of an operation. A tool's result is sent twice, as text and as structure; resources have the same limit,
    /// since addresses repeat paths.
    pub(crate) fn call_of(&self, entry: &'static Entry, arguments: JsonObject) -> Call {
        Call { sent: Sent::Twice, ..self.door.call_of(entry, arguments.into()) }
    }

    /// Runs a call of an operation.
    pub(crate) async fn run(&self, call: Call) -> Result<Answer<Value>, Error> {
        let (result, cost) = routes::run(&self.door.app, call).await.into_parts();
        if let Err(error) = &result {
            atlas_web::response::log(error);
        }
        let generation = result.as_ref().ok().and_then(|answer| answer.generation);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(LastCall { cost, generation });
        result
    }

    /// Runs an operation in the vault given by its arguments or the headers.
    pub(crate) async fn operate(&self, entry: &'static Entry, arguments: JsonObject) -> Result<Value, Error> {
        let mut call = self.call_of(entry, arguments);
        gates::take_vault(&mut call)?;
        Ok(self.run(call).await?.value)
    }
}
