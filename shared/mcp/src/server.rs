//! What answers the messages of one client.

use std::sync::{Arc, Mutex, PoisonError};

use atlas_ops::{Answer, Call, Entry, Error};
use atlas_web::routes::{self, Door};
use atlas_web::state::Offer;
use atlas_web::telemetry::Cost;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;

use crate::{schema, tools};

/// How long clients may keep lists that change with the configuration only, in milliseconds.
const LIST_TIME: u64 = 60_000;

/// What clients tell agents of this server.
const INSTRUCTIONS: &str = "The notes of a markdown (Obsidian) vault. Look for notes with `search` (by words) or `find` (by name and heading), read \
    them with `read_note`, and cite them by path. Read a note before you change it, and name the version that you have seen. Failed \
    calls say what to do in `message`.";

/// A client's server.
#[derive(Clone)]
pub struct Server {
    door: Arc<Door>,
    last: Arc<Mutex<Option<Called>>>,
}

/// What is told of the call that a message was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    pub(crate) cost: Cost,
    pub(crate) generation: Option<u64>,
}

impl Server {
    /// The server for who came through `door`.
    #[must_use]
    pub fn new(door: Door) -> Self {
        Self { door: Arc::new(door), last: Arc::default() }
    }

    /// The last call that was made of an operation.
    pub(crate) fn last(&self) -> Option<Called> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an operation is there.
    pub(crate) fn has(&self, entry: &Entry) -> bool {
        self.door.app.offers(entry) != Offer::Disabled
    }

    /// Runs a call of an operation.
    pub(crate) async fn run(&self, call: Call) -> Result<Answer<Value>, Error> {
        let (result, cost) = routes::run(&self.door.app, call).await.into_parts();
        if let Err(error) = &result {
            atlas_web::response::log(error);
        }
        let generation = result.as_ref().ok().and_then(|answer| answer.generation);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Called { cost, generation });
        result
    }

    /// Runs an operation in the vault that its arguments or the headers name.
    pub(crate) async fn operate(&self, entry: &'static Entry, mut arguments: JsonObject) -> Result<Value, Error> {
        let vault = tools::take_text(&mut arguments, schema::VAULT)?;
        let mut call = self.door.call_of(entry, arguments.into());
        match (&vault, &call.vault) {
            (Some(named), Some(header)) if named != header => {
                let error = Error::bad_request("validation_error", "vault: the header says another");
                return Err(error.with("field", schema::VAULT));
            }
            (Some(_), _) => call.vault = vault,
            (None, _) => {}
        }
        Ok(self.run(call).await?.value)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let name = Implementation::new("atlas-mirror", env!("CARGO_PKG_VERSION")).with_title("Atlas Mirror");
        ServerConfig::new(capabilities).with_server_info(name).with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::named(name).filter(|offered| self.has(offered.entry)).map(|offered| offered.tool.clone())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed = tools::ALL.iter().filter(|offered| self.door.app.offers(offered.entry) == Offer::Listed);
        let tools = listed.map(|offered| offered.tool.clone()).collect();
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(LIST_TIME))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(offered) = tools::named(&request.name).filter(|offered| self.has(offered.entry)) else {
            return Err(unknown_tool(&request.name));
        };
        let result = self.operate(offered.entry, request.arguments.unwrap_or_default()).await;
        Ok(match result {
            Ok(value) => CallToolResult::structured(value),
            Err(error) => tools::failed(&error),
        }
        .into())
    }
}

fn unknown_tool(name: &str) -> ErrorData {
    let name = name.get(..name.floor_char_boundary(100)).unwrap_or_default();
    ErrorData::invalid_params(format!("Unknown tool: {name}"), None)
}
