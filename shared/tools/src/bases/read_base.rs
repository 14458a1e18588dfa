//! `read_base`: what a base says.

use atlas_access::Access;
use atlas_expressions::base::Base;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::view::View;
use atlas_segment::text::decoded;
use atlas_vault::yaml;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::definition::Source;
use super::{parsed, path};
use crate::formats;

/// Reads a base.
pub struct ReadBase;

/// The base.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.base`.
    path: String,
}

/// A base.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    path: String,
    /// The document as it is written: `filters`, `formulas`, `properties`, `summaries`, `views`, and keys of plugins.
    base: Map<String, Value>,
    /// Which notes it is about, if one tag, folder, link or property says it; absent if its filters say more, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    /// Its views and their columns.
    views: Vec<ViewColumns>,
    /// Where it has keys that no part of Bases reads; they are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<String>,
    /// SHA-256 of the file, in hex.
    content_hash: String,
}

/// A view and its columns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ViewColumns {
    /// Its name.
    name: String,
    /// `table`, `cards`, `list`, `map`, or what a plugin shows.
    r#type: String,
    /// Its columns; none if it shows the name of each file alone.
    columns: Vec<Column>,
}

/// A column.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Column {
    /// The source: a property, `file.…` or `formula.…`.
    pub(super) property: String,
    /// The name.
    pub(super) title: String,
}

impl Operation for ReadBase {
    const INFO: Info = Info {
        name: "read_base",
        title: "Read a base",
        description: "Returns what a base (.base) says: its filters, formulas and views, with their columns. For its rows take query_base, to change it update_base. Example: {\"path\": \"Books/Shelf.base\"}",
        scopes: &[Scope::ReadVault],
        tags: &["bases"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, path("path", &arguments.path)?)])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = path("path", &arguments.path)?;
        let read = |view: View| {
            let path = &path;
            async move {
                let found = formats::find(&view, path).await?;
                let text = decoded(&found.text);
                let base = parsed(path.as_str(), &text)?;
                let document = match yaml::read(&text) {
                    Ok(Value::Object(document)) => document,
                    _ => Map::new(),
                };
                Ok(Output {
                    path: path.as_str().to_owned(),
                    source: Source::of(document.get("filters")),
                    base: document,
                    views: views(&base),
                    unknown: base.unknown,
                    content_hash: found.sha256(),
                })
            }
        };
        context.read(read).await
    }
}

fn views(base: &Base) -> Vec<ViewColumns> {
    let view = |view: &atlas_expressions::base::View| {
        let columns = view
            .order
            .iter()
            .map(|property| Column { property: property.to_string(), title: base.title(property) })
            .collect();
        ViewColumns { name: view.name.clone(), r#type: view.kind.clone(), columns }
    };
    base.views.iter().map(view).collect()
}
