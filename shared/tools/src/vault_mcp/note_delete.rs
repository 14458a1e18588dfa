//! `note_delete` of obsidian-vault-mcp: deletes a note, if it exists.

use atlas_access::Access;
use atlas_ops::arguments::WritePath;
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::update::{self, KnownInput, NoteUpdate};
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Moves the note at a path to the trash.
pub struct NoteDelete;

/// The note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.md`.
    path: WritePath,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Whether the note existed, and was deleted.
    deleted: bool,
}

impl Operation for NoteDelete {
    const INFO: Info = Info {
        name: "note_delete",
        title: "Delete a note if it exists",
        description: "Moves a note to the trash; deleted is false if there is none. A person has to confirm it. Example: {\"path\": \"Inbox/Old.md\"}",
        scopes: &[Scope::DeleteVault],
        destructive: true,
        tags: &["notes"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Delete, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let decide = |found: Option<&Found>| match found {
            Some(_) => Ok(NoteUpdate::Trash),
            None => Err(notes::missing(path.as_str())),
        };
        match update::write(context, &Self::INFO, &path, None, KnownInput::Nothing, decide).await {
            Ok(answer) => Ok(Answer { value: Output { deleted: true }, generation: answer.generation }),
            Err(error) if error.is(Reason::NoteNotFound) => {
                Ok(Answer { value: Output { deleted: false }, generation: None })
            }
            Err(error) => Err(error),
        }
    }
}
