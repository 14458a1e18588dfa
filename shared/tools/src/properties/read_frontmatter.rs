//! `read_frontmatter`: a note's properties without its text.

use atlas_access::Access;
use atlas_ops::arguments::ReadPath;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Returns the properties of the note at a path, without its text.
pub struct ReadFrontmatter;

/// The note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.md`.
    path: ReadPath,
}

/// Its properties.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    path: String,
    /// Its properties, by name.
    frontmatter: Map<String, Value>,
    /// Their format.
    format: Format,
}

/// The format of properties.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// As YAML.
    Yaml,
    /// There are none, or they cannot be read.
    Missing,
}

impl Operation for ReadFrontmatter {
    const INFO: Info = Info {
        name: "read_frontmatter",
        title: "Read a note's properties",
        description: "Returns the properties of the note at a path, without its text. Example: {\"path\": \"Projects/Atlas.md\"}",
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
        let Answer { value: frontmatter, generation } =
            context.read(|view| super::of_note(context, view, path.as_str())).await?;
        let format = if frontmatter.is_empty() { Format::Missing } else { Format::Yaml };
        Ok(Answer { value: Output { path: path.as_str().to_owned(), frontmatter, format }, generation })
    }
}
