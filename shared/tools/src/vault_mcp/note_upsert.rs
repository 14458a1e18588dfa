//! `note_upsert` of obsidian-vault-mcp: creates a note, or adds to the end of an existing one.

use atlas_access::Access;
use atlas_ops::arguments::{Given, WritePath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::notes::upsert_note::{UpsertContent, upsert};

/// Creates a note with these properties, or appends the text to an existing note, whose properties stay.
pub struct NoteUpsert;

/// The content.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// The text of a new note, or the text to add on a line of its own.
    content: String,
    /// The properties of a new note; ignored for an existing one.
    #[serde(default)]
    frontmatter: Given<Map<String, Value>>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Whether the note was created; else the text was added to it.
    created: bool,
}

impl Operation for NoteUpsert {
    const INFO: Info = Info {
        name: "note_upsert",
        title: "Create a note or append",
        description: "Creates a note with these properties, or appends the text to an existing note, whose properties stay. Example: {\"path\": \"Log.md\", \"content\": \"Deployed 1.2\"}",
        scopes: &[Scope::WriteVault],
        tags: &["notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let new = UpsertContent { content: &arguments.content, properties: arguments.frontmatter.as_ref() };
        let Answer { value, generation } = upsert(context, &Self::INFO, &path, new, None).await?;
        Ok(Answer { value: Output { created: value.created }, generation })
    }
}
