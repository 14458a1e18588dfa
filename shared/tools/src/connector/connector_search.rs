//! `connector_search`: `search` in the form that connectors of chat applications expect: results to fetch by id.

use atlas_ops::arguments::Exact;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::connector::connector_fetch::address;
use crate::search::{self, Search, SearchResult};

/// Finds notes by words, best first, and returns an id, a title and an address of each.
pub struct ConnectorSearch;

/// The search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Words; also `"phrases"`, `word*`, `-word`, `tag:name`, `path:text`.
    query: Exact<1000>,
}

/// The results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The most relevant notes, best first.
    results: Vec<Hit>,
}

/// A note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hit {
    /// The id for `connector_fetch`: the note's path.
    id: String,
    /// Its title.
    title: String,
    /// The address to cite: `atlas://vault/path`.
    url: String,
}

impl Operation for ConnectorSearch {
    const INFO: Info = Info {
        name: "connector_search",
        title: "Search, for connectors",
        description: "Finds notes by words, best first, and returns an id, a title and an address of each; connector_fetch returns the text of one by its id. Example: {\"query\": \"backup strategy\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let wanted = search::Arguments::of(arguments.query, None, None, None);
        let Answer { value, generation } = Search::run(context, wanted).await?;
        let hit = |found| match found {
            SearchResult::Note(search::Note { path, title, .. }) => {
                Some(Hit { url: address(&context.vault.id, &path), id: path, title })
            }
            SearchResult::Line(_) => None,
        };
        Ok(Answer { value: Output { results: value.results.into_iter().filter_map(hit).collect() }, generation })
    }
}
