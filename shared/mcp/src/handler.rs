//! Answers the messages of one client.

use crate::server::Server;
use crate::{elicitation, message, resources, tools};
use atlas_ops::Error;
use atlas_tools::facade::Resolved;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

/// How long clients may cache lists that change only with the configuration, in milliseconds.
const LIST_TIME: u64 = 60_000;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_tools()
            .build();
        let name = Implementation::new("atlas-mirror", env!("CARGO_PKG_VERSION")).with_title("Atlas Mirror");
        ServerConfig::new(capabilities).with_server_info(name).with_instructions(self.door.toolbox().instructions())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.door.toolbox().tool(name).map(tools::rendered)
    }

    async fn list_tools(&self, request: Page, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        only(request)?;
        let listed = self.door.toolbox().listed().into_iter().map(tools::rendered).collect();
        Ok(ListToolsResult::with_all_items(listed).with_ttl_ms(LIST_TIME))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = elicitation::Client {
            version: context.protocol_version(),
            capabilities: context.client_capabilities(),
            has_answered: request.input_responses.is_some(),
        };
        let resolved = self.door.toolbox().resolve(&request.name, request.arguments.unwrap_or_default());
        let called = match resolved.ok_or_else(|| unknown_tool(&request.name))? {
            Ok(Resolved::Answer(value)) => Ok(value),
            Ok(Resolved::Call(entry, arguments)) => match self.prepared(entry.info.name, &context).await {
                Ok(()) => self.operate(entry, arguments).await,
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        match called {
            Ok(value) => Ok(tools::answered(value).into()),
            Err(error) => Ok(elicitation::of(&error, &client).unwrap_or_else(|| tools::failed(&error).into())),
        }
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
        self.resource(&request.uri).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        request: Page,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        only(request)?;
        self.prepared("list_prompts", &context).await.map_err(unprepared)?;
        Ok(ListPromptsResult::with_all_items(self.prompts().await?).with_ttl_ms(LIST_TIME))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.prepared("get_prompt", &context).await.map_err(unprepared)?;
        self.prompt(&request.name, request.arguments.unwrap_or_default()).await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.prepared("complete", &context).await.map_err(unprepared)?;
        self.completions(&request).await
    }

    /// The answer to unknown methods and invalid parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(message::not_taken(&request.method))
    }
}

/// The requested page of a list.
type Page = Option<PaginatedRequestParams>;

/// Refuses a cursor for a list of one page.
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
