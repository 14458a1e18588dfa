//! `upsert_note`: creates a note, or adds to the end of an existing one, like obsidian-vault-mcp's `note_upsert`.

use atlas_access::Access;
use atlas_ops::arguments::{Given, Message, WritePath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes::Found;
use atlas_ops::write::update::{self, KnownInput, NoteUpdate, WriteResult};
use atlas_ops::write::writable;
use atlas_vault::VaultPath;
use atlas_vault::edit::added_below;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::notes::write_note::Output;

/// Creates the note at a path with this text and these properties.
pub struct UpsertNote;

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
    #[serde(default)]
    message: Given<Message>,
}

impl Operation for UpsertNote {
    const INFO: Info = Info {
        name: "upsert_note",
        title: "Create a note or add to it",
        description: "Creates the note at a path with this text and these properties; if one exists already, adds the text to its end, on a line of its own, and keeps everything else. To replace a note take write_note; to add to one that must exist, append_note. Example: {\"path\": \"Log.md\", \"content\": \"Deployed 1.2\"}",
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
        let message = arguments.message.as_ref().map(Message::as_str);
        let new = UpsertContent { content: &arguments.content, properties: arguments.frontmatter.as_ref() };
        let answer = upsert(context, &Self::INFO, &path, new, message).await?;
        Ok(Output::of(&path, answer))
    }
}

/// The content to write.
pub(crate) struct UpsertContent<'a> {
    pub(crate) content: &'a str,
    /// The properties of a new note.
    pub(crate) properties: Option<&'a Map<String, Value>>,
}

/// Creates the note at `path`, or adds to the end of an existing one.
pub(crate) async fn upsert(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    new: UpsertContent<'_>,
    message: Option<&str>,
) -> Result<Answer<WriteResult>, Error> {
    let UpsertContent { content, properties } = new;
    let decide = |found: Option<&Found>| {
        Ok(NoteUpdate::Text(match found {
            None => writable::with_properties(properties, content)?.into_bytes(),
            // Existing bytes stay, whatever they are.
            Some(found) => added_below(&found.text, content),
        }))
    };
    update::write(context, operation, path, message, KnownInput::Nothing, decide).await
}
