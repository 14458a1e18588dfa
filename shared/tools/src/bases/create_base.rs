//! `create_base`: a new base.

use atlas_access::Access;
use atlas_ops::arguments;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_vault::yaml;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{definition, parsed, path};
use crate::formats;

/// Creates a base.
pub struct CreateBase;

/// The path, and the content.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.base`.
    path: String,
    /// The document: `filters` (an expression, or `and`, `or`, `not` of some), `formulas`, `properties`, `summaries`, and `views`, each with `type` (`table`, `cards`, `list`, `map`), `name`, `order` (its columns), `sort`, `groupBy`, `limit`, `filters`. Instead of filters `source` with `type` (`tag`, `folder`, `link`, `property`) and `value`. Keys of plugins are kept.
    base: Map<String, Value>,
    /// Replace an existing base, which a person has to confirm.
    #[serde(default)]
    overwrite: bool,
    /// Ignored: a folder exists as soon as it has a file.
    #[serde(default = "arguments::yes")]
    #[expect(dead_code, reason = "it means nothing")]
    create_dirs: bool,
}

/// The created base.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    path: String,
    /// When it was created.
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: Timestamp,
    /// SHA-256 of the file, in hex.
    content_hash: String,
    /// The names of its views.
    views: Vec<String>,
    /// Where it has keys that no part of Bases reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<String>,
}

impl Operation for CreateBase {
    const INFO: Info = Info {
        name: "create_base",
        title: "Create a base",
        description: "Creates a base (.base), a document that shows notes as tables, cards or lists. It is checked first: expressions, formulas that need one another. Fails if one exists at the path; with overwrite it is replaced, after a person has confirmed it. To change a base take update_base. Example: {\"path\": \"Books/Shelf.base\", \"base\": {\"filters\": \"file.hasTag(\\\"book\\\")\", \"views\": [{\"type\": \"table\", \"name\": \"All\", \"order\": [\"file.name\", \"rating\"]}]}}",
        scopes: &[Scope::WriteVault],
        destructive: true,
        tags: &["bases"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, path("path", &arguments.path)?)])
    }

    fn needs_confirmation(_: &Arguments) -> bool {
        // Only if a base exists, which is known at the write.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { path: written, base, overwrite, .. } = arguments;
        let path = path("path", &written)?;
        let document = definition::document(base)?;
        let text = if document.is_empty() { String::new() } else { yaml::written(&Value::Object(document)) };
        let base = parsed("base", &text)?;
        let make = |_: &str| Ok((text.clone(), ()));
        let Answer { value: edited, generation } =
            formats::create(context, &Self::INFO, &path, overwrite, "update_base", make).await?;
        let value = Output {
            path: path.as_str().to_owned(),
            created_at: edited.updated_at,
            content_hash: edited.content_hash.to_string(),
            views: base.views.into_iter().map(|view| view.name).collect(),
            unknown: base.unknown,
        };
        Ok(Answer { value, generation })
    }
}
