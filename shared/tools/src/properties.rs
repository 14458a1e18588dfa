//! Properties: the YAML above notes' texts.

pub mod find_notes_by_property;
pub mod list_properties;
pub mod read_frontmatter;
pub mod read_property;
pub mod update_frontmatter;

use atlas_ops::arguments;
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::facts::Facts;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The type of a property's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PropertyType {
    /// Null: the property has no value.
    Null,
    /// True or false.
    Boolean,
    /// A number.
    Number,
    /// Text; dates are texts.
    String,
    /// A list.
    Array,
    /// A map of properties.
    Object,
}

impl PropertyType {
    pub(crate) const fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

/// The value in `value` at these names, nested and separated by dots.
fn within<'v>(value: &'v Value, names: &str) -> Option<&'v Value> {
    names.split('.').try_fold(value, |value, name| value.as_object()?.get(name))
}

/// The properties of the note at `path`; empty if its frontmatter cannot be read.
async fn of_note(context: &Context<'_>, view: View, path: &str) -> Result<Map<String, Value>, Error> {
    let path = arguments::path("path", path)?;
    let facts = Facts::fetch(context, view, &[SectionName::Properties]).await?;
    let found = facts.index().find(path.as_str())?.filter(|_| path.is_note());
    let DocumentRef { segment, document } = found.ok_or_else(|| notes::missing(path.as_str()))?;
    let property =
        |column: &atlas_segment::facts::Column<Value>| Some((column.key().to_owned(), column.of(document)?.clone()));
    Ok(facts.properties(segment)?.iter().filter_map(property).collect())
}
