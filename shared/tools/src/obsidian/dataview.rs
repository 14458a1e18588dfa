//! `search_dql`, `validate_dql`, `eval_dataview_field`: what the app's Dataview answers. It answers of the whole vault, so whoever may read a
//! part of it is refused.

use atlas_access::Access;
use atlas_ops::app::{Request, Route};
use atlas_ops::arguments::{Given, ReadPath, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::Told;
use atlas_access::visibility::NEEDS_APP;

const SCOPES: &[Scope] = &[Scope::ReadVault, Scope::ExecuteDataview];

/// Runs a Dataview query in the app.
pub struct SearchDql;

/// A query.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchArguments {
    /// The query.
    dql: Text<10_000>,
    /// `table`, `list`, `task` or `calendar`; the query itself says it.
    #[serde(default)]
    #[schemars(with = "Text<64>", extend("default" = "table"))]
    #[allow(dead_code, reason = "the query says it")]
    format: Given<Text<64>>,
}

impl Operation for SearchDql {
    const INFO: Info = Info {
        name: "search_dql",
        title: "Dataview query",
        description: "Runs a Dataview query in the person's running Obsidian: headers, rows, and the paths of notes where they are known. Without the companion plugin only TABLE queries of notes are answered. Example: {\"dql\": \"TABLE rating FROM #book\"}",
        scopes: SCOPES,
        tags: &[NEEDS_APP],
        ..Info::HARMLESS
    };
    type Arguments = SearchArguments;
    type Output = Told;

    async fn run(context: &Context<'_>, arguments: SearchArguments) -> Result<Answer<Told>, Error> {
        context.check_sees_all()?;
        let request = Request::Query { dql: arguments.dql.as_str().to_owned() };
        super::told(context, &Self::INFO, &request).await.map(super::answer)
    }
}

/// Says whether a Dataview query can be read.
pub struct ValidateDql;

/// A query.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidateArguments {
    /// The query.
    dql: Text<10_000>,
}

impl Operation for ValidateDql {
    const INFO: Info = Info {
        name: "validate_dql",
        title: "Check a Dataview query",
        description: "Says whether the Dataview of the person's running Obsidian can read a query, and what is wrong with it. Needs the companion plugin. Example: {\"dql\": \"LIST FROM #book\"}",
        scopes: SCOPES,
        tags: &[NEEDS_APP],
        ..Info::HARMLESS
    };
    type Arguments = ValidateArguments;
    type Output = Told;

    async fn run(context: &Context<'_>, arguments: ValidateArguments) -> Result<Answer<Told>, Error> {
        context.check_sees_all()?;
        let request =
            Request::Companion { route: Route::DataviewValidate, body: json!({ "dql": arguments.dql.as_str() }) };
        super::told(context, &Self::INFO, &request).await.map(super::answer)
    }
}

/// Evaluates a Dataview expression for a note.
pub struct EvalDataviewField;

/// A note and an expression.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalArguments {
    /// The note.
    path: ReadPath,
    /// The expression.
    expression: Text<10_000>,
}

impl Operation for EvalDataviewField {
    const INFO: Info = Info {
        name: "eval_dataview_field",
        title: "Evaluate a Dataview expression",
        description: "Evaluates a Dataview expression for a note in the person's running Obsidian: its value and type. Needs the companion plugin. Example: {\"path\": \"Books/Tides.md\", \"expression\": \"length(file.inlinks)\"}",
        scopes: SCOPES,
        tags: &[NEEDS_APP],
        ..Info::HARMLESS
    };
    type Arguments = EvalArguments;
    type Output = Told;

    fn accesses(arguments: &EvalArguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: EvalArguments) -> Result<Answer<Told>, Error> {
        context.check_sees_all()?;
        let path = VaultPath::from(arguments.path);
        let expression = arguments.expression.as_str();
        let body = json!({ "path": path.as_str(), "expression": expression });
        let request = Request::Companion { route: Route::DataviewEval, body };
        let told = super::told(context, &Self::INFO, &request).await?;
        Ok(super::answer(told.with([("path", path.as_str().into()), ("expression", expression.into())])))
    }
}
