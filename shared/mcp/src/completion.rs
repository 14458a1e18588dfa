//! Completion of arguments: paths of notes, and vaults.

use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, Reference};

use crate::server::Server;
use crate::{prompts, resources, schema};

impl Server {
    /// What an argument that was begun can be.
    pub(crate) async fn completions(&self, request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let argument = request.argument.name.as_str();
        let is_known = match &request.r#ref {
            Reference::Resource(resource) => {
                resource.uri == resources::TEMPLATE && [schema::VAULT, prompts::PATH].contains(&argument)
            }
            Reference::Prompt(prompt) => prompts::takes(&prompt.name, argument),
            _ => false,
        };
        if !is_known {
            let message = "name a prompt or a resource template that there is, and one of its arguments";
            return Err(ErrorData::invalid_params(message, None));
        }
        let begun = request.argument.value.as_str();
        let (values, more) = match argument {
            schema::VAULT => (self.vaults(begun), false),
            prompts::PATH => {
                let named = request.context.as_ref().and_then(|context| context.get_argument(schema::VAULT)).cloned();
                let vault = named.or_else(|| self.vault().ok()).unwrap_or_default();
                self.paths(&vault, begun, CompletionInfo::MAX_VALUES).await?
            }
            _ => (Vec::new(), false),
        };
        let completion = CompletionInfo::with_pagination(values, None, more);
        Ok(CompleteResult::new(completion.map_err(|error| ErrorData::internal_error(error, None))?))
    }
}
