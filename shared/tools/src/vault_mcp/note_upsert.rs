//! `note_upsert`, as obsidian-vault-mcp has it: creates a note, or adds to the end of the one that is there.

use atlas_access::Access;
use atlas_ops::arguments::{Given, WritePath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::notes::upsert_note::{New, upsert};

/// Creates a note with these properties, or appends the text to the note that is there, whose properties stay.
pub struct NoteUpsert;

/// What to write.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// The text of the note, or what is added to it on a line of its own.
    content: String,
    /// Its properties, if it is created; nothing if it is there.
    #[serde(default)]
    frontmatter: Given<Map<String, Value>>,
}

/// What was done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Whether the note was created; else its text was added to.
    created: bool,
}

impl Operation for NoteUpsert {
    const INFO: Info = Info {
        name: "note_upsert",
        title: "Create a note or append",
        description: "Creates a note with these properties, or appends the text to the note that is there, whose properties stay. Example: {\"path\": \"Log.md\", \"content\": \"Deployed 1.2\"}",
        scopes: &[Scope::WriteVault],
        tags: &["notes"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let new = New { content: &arguments.content, properties: arguments.frontmatter.as_ref() };
        let Answer { value, generation } = upsert(context, &Self::INFO, &path, new, None).await?;
        Ok(Answer { value: Output { created: value.created }, generation })
    }
}
