//! `read_property`: one property of a note.

use atlas_access::Access;
use atlas_ops::arguments::{Exact, ReadPath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::within;

/// Returns one property of the note at a path, without its text.
pub struct ReadProperty;

/// The property.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: ReadPath,
    /// The property's name, as the note writes it.
    key: Exact<1024>,
    /// Whether `author.name` may mean `name` in the property `author`, if no property has the whole name.
    #[serde(default)]
    nested: bool,
}

/// The property.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// The property's name.
    key: String,
    /// Its value; null if it has none, or is missing.
    value: Value,
    /// Whether it exists.
    present: bool,
}

impl Operation for ReadProperty {
    const INFO: Info = Info {
        name: "read_property",
        title: "Read a property",
        description: "Returns one property of the note at a path, without its text. Example: {\"path\": \"Projects/Atlas.md\", \"key\": \"status\"}",
        scopes: &[Scope::ReadVault],
        tags: &["properties"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let Answer { value: mut properties, generation } =
            context.read(|view| super::of_note(context, view, path.as_str())).await?;
        let key = arguments.key.as_str().to_owned();
        let value = properties.remove(&key).or_else(|| {
            let (name, names) = key.split_once('.').filter(|_| arguments.nested)?;
            within(properties.get(name)?, names).cloned()
        });
        let present = value.is_some();
        let output = Output { path: path.as_str().to_owned(), key, value: value.unwrap_or_default(), present };
        Ok(Answer { value: output, generation })
    }
}
