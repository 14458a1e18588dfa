//! `makemd_list_spaces`, `makemd_query`: what the app's make.md answers. It answers of the whole vault, so whoever may read a part of it is
//! refused.

use atlas_ops::app::{Request, Route};
use atlas_ops::arguments::{Bounded, Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Told;
use atlas_access::visibility::NEEDS_APP;

const SCOPES: &[Scope] = &[Scope::ReadVault, Scope::ExecuteMakemd];

/// Lists the spaces of make.md.
pub struct MakemdListSpaces;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListArguments {}

impl Operation for MakemdListSpaces {
    const INFO: Info = Info {
        name: "makemd_list_spaces",
        title: "List make.md spaces",
        description: "Lists the spaces of make.md in the person's running Obsidian. Needs the companion plugin, and a make.md that lists them. Example: {}",
        scopes: SCOPES,
        tags: &[NEEDS_APP],
        ..Info::HARMLESS
    };
    type Arguments = ListArguments;
    type Output = Told;

    async fn run(context: &Context<'_>, _: ListArguments) -> Result<Answer<Told>, Error> {
        context.check_sees_all()?;
        let request = Request::Companion { route: Route::MakemdSpaces, body: json!({}) };
        super::told(context, &Self::INFO, &request).await.map(super::answer)
    }
}

/// Queries a space of make.md.
pub struct MakemdQuery;

/// Which notes of which space.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryArguments {
    /// The space, as makemd_list_spaces gives it.
    space_id: Text<1024>,
    /// Which notes.
    #[serde(default)]
    filter: Given<Map<String, Value>>,
    /// In which order.
    #[serde(default)]
    sort: Given<Map<String, Value>>,
    /// Most notes to return.
    #[serde(default)]
    limit: Given<Bounded<1, 1000>>,
    /// The cursor of the page before.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

impl Operation for MakemdQuery {
    const INFO: Info = Info {
        name: "makemd_query",
        title: "Query a make.md space",
        description: "Queries a space of make.md in the person's running Obsidian. Needs the companion plugin, and a make.md that answers queries. Example: {\"space_id\": \"Books\"}",
        scopes: SCOPES,
        tags: &[NEEDS_APP],
        ..Info::HARMLESS
    };
    type Arguments = QueryArguments;
    type Output = Told;

    async fn run(context: &Context<'_>, arguments: QueryArguments) -> Result<Answer<Told>, Error> {
        context.check_sees_all()?;
        let QueryArguments { space_id, filter, sort, limit, cursor } = arguments;
        let mut body = Map::from_iter([("space_id".to_owned(), space_id.as_str().into())]);
        let given = [
            ("filter", filter.0.map(Value::Object)),
            ("sort", sort.0.map(Value::Object)),
            ("limit", limit.0.map(|limit| limit.get().into())),
            ("cursor", cursor.0.map(|cursor| cursor.as_str().into())),
        ];
        body.extend(given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        let request = Request::Companion { route: Route::MakemdQuery, body: body.into() };
        super::told(context, &Self::INFO, &request).await.map(super::answer)
    }
}
