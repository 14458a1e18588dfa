//! What answers the messages of one client.

use atlas_ops::Error;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;

use crate::server::Server;
use crate::{prompts, resources, tools};

/// How long clients may keep lists that change with the configuration only, in milliseconds.
const LIST_TIME: u64 = 60_000;

/// What clients tell agents of this server.
const INSTRUCTIONS: &str = "The notes of a markdown (Obsidian) vault. Look for notes with `search` (by words) or `find` (by name and heading), read \
    them with `read_note`, and cite them by path. Read a note before you change it, and name the version that you have seen. Failed \
    calls say what to do in `message`.";

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_tools()
            .build();
        let name = Implementation::new("atlas-mirror", env!("CARGO_PKG_VERSION")).with_title("Atlas Mirror");
        ServerConfig::new(capabilities).with_server_info(name).with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        match tools::named(self.meant(name)) {
            Some(offered) => self.has(offered.entry).then(|| offered.tool.clone()),
            None => self.meta_tool(name),
        }
    }

    async fn list_tools(&self, request: Page, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        only(request)?;
        Ok(ListToolsResult::with_all_items(self.listed()).with_ttl_ms(LIST_TIME))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        // What a tool calls for another is named within.
        let within = arguments.get("name").and_then(Value::as_str);
        let name = if tools::named(self.meant(&request.name)).is_some() { None } else { within };
        if let Err(error) = self.prepared(name.unwrap_or(self.meant(&request.name)), &context).await {
            return Ok(tools::failed(&error).into());
        }
        let result = match tools::named(self.meant(&request.name)) {
            Some(offered) if self.has(offered.entry) => match self.operate(offered.entry, arguments).await {
                Ok(value) => Some(CallToolResult::structured(value)),
                Err(error) => Some(tools::failed(&error)),
            },
            Some(_) => None,
            None => self.call_meta_tool(&request.name, arguments).await,
        };
        result.map(Into::into).ok_or_else(|| unknown_tool(&request.name))
    }

    async fn list_resources(
        &self,
        request: Page,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.prepared("list_resources", &context).await.map_err(unprepared)?;
        self.notes(request.and_then(|page| page.cursor)).await
    }

    async fn list_resource_templates(
        &self,
        request: Page,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        only(request)?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()).with_ttl_ms(LIST_TIME))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.prepared("read_resource", &context).await.map_err(unprepared)?;
        self.note(&request.uri).await.map(Into::into)
    }

    async fn list_prompts(&self, request: Page, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData> {
        only(request)?;
        Ok(ListPromptsResult::with_all_items(prompts::all()).with_ttl_ms(LIST_TIME))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request.name, &request.arguments.unwrap_or_default()).map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.prepared("complete", &context).await.map_err(unprepared)?;
        self.completions(&request).await
    }

    /// What is not known, or has parameters that are not the protocol's.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if METHODS.contains(&request.method.as_str()) {
            let message = format!("send the parameters of {} as the protocol says", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there is no such method", None))
    }
}

/// The methods that are answered in both eras.
const METHODS: [&str; 9] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// Which page of a list.
type Page = Option<PaginatedRequestParams>;

/// Refuses to go on with a list that has only one page.
fn only(page: Page) -> Result<(), ErrorData> {
    match page.and_then(|page| page.cursor) {
        Some(_) => Err(ErrorData::invalid_params("cursor: this list has only one page", None)),
        None => Ok(()),
    }
}

fn unprepared(error: Error) -> ErrorData {
    ErrorData::internal_error(error.message, None)
}

fn unknown_tool(name: &str) -> ErrorData {
    let name = name.get(..name.floor_char_boundary(100)).unwrap_or_default();
    ErrorData::invalid_params(format!("Unknown tool: {name}"), None)
}
