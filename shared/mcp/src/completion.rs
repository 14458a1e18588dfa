//! Completion of arguments: paths of notes, tags, and vaults.

use atlas_ops::arguments::VAULT;
use atlas_tools::tags::list_tags::ListTags;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, JsonObject, Reference};
use serde_json::Value;

use crate::server::Server;
use crate::{prompts, resources};

/// The number of most used tags that are searched.
const MAX_TAGS: usize = 1000;

impl Server {
    /// Completes a partial argument.
    pub(crate) async fn completions(&self, request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let argument = request.argument.name.as_str();
        let is_known = match &request.r#ref {
            Reference::Resource(resource) => {
                resource.uri == resources::TEMPLATE && [VAULT, prompts::PATH].contains(&argument)
            }
            Reference::Prompt(prompt) => self.takes(&prompt.name, argument).await?,
            _ => false,
        };
        if !is_known {
            let message = "name an existing prompt or resource template, and one of its arguments";
            return Err(ErrorData::invalid_params(message, None));
        }
        let begun = request.argument.value.as_str();
        let vault = || {
            let named = request.context.as_ref().and_then(|context| context.get_argument(VAULT)).cloned();
            named.or_else(|| self.vault().ok()).unwrap_or_default()
        };
        let (values, more) = match argument {
            VAULT => (self.vaults(begun), false),
            prompts::PATH => self.paths(&vault(), begun, CompletionInfo::MAX_VALUES).await?,
            prompts::TAG => self.tags(&vault(), begun, CompletionInfo::MAX_VALUES).await?,
            _ => (Vec::new(), false),
        };
        let completion = CompletionInfo::with_pagination(values, None, more);
        Ok(CompleteResult::new(completion.map_err(|error| ErrorData::internal_error(error, None))?))
    }

    /// At most `most` tags with this prefix, in any case, the most used first; and whether there are more.
    async fn tags(&self, vault: &str, begun: &str, most: usize) -> Result<(Vec<String>, bool), ErrorData> {
        let begun = begun.trim_start_matches('#').to_lowercase();
        let arguments = JsonObject::from_iter([("limit".to_owned(), MAX_TAGS.into())]);
        let listed = self.answer(atlas_tools::entry::<ListTags>(), vault, arguments).await?.value;
        let tags = listed.get("items").and_then(Value::as_array).into_iter().flatten();
        let tags = tags.filter_map(|tag| tag.get("tag")?.as_str());
        let mut found: Vec<String> =
            tags.filter(|tag| tag.to_lowercase().starts_with(&begun)).map(str::to_owned).collect();
        let more = found.len() > most || listed.get("cursor").is_some();
        found.truncate(most);
        Ok((found, more))
    }
}
