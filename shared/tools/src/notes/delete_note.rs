//! `delete_note`: moves a note to the trash.

use atlas_access::Access;
use atlas_ops::arguments::{Given, Message, Versions, WritePath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::precondition::Condition;
use atlas_ops::write::update::{self, KnownInput, NoteUpdate};
use atlas_ops::write::writable::TRASH;
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Deletes the note at a path.
pub struct DeleteNote;

/// The note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.md`.
    path: WritePath,
    #[serde(default)]
    if_match: Given<Versions>,
    /// Keep nothing in the trash. Older generations still have the note while they are kept.
    #[serde(default)]
    hard: bool,
    #[serde(default)]
    message: Given<Message>,
}

/// The deleted note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// SHA-256 of the deleted version, in hex.
    sha256: String,
    /// Its path in the trash; absent if it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    trash: Option<String>,
    /// Equal to `trash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    trash_path: Option<String>,
    /// Whether `restore_note` can take it out of the trash.
    recoverable: bool,
    /// When it was deleted.
    #[schemars(with = "String", extend("format" = "date-time"))]
    deleted_at: Timestamp,
    /// The last generation with the note.
    last_generation: u64,
}

impl Operation for DeleteNote {
    const INFO: Info = Info {
        name: "delete_note",
        title: "Delete a note",
        description: "Moves a note to the trash, from which restore_note restores it. With hard the trash keeps nothing, but older generations still have the note. Send the sha256 that you read as if_match, so that no later change is deleted unseen. A person has to confirm it. Example: {\"path\": \"Inbox/Old.md\"}",
        scopes: &[Scope::DeleteVault],
        destructive: true,
        tags: &["notes"],
        idempotent: true,
        aliases: &[Alias::Name("permanent", "hard"), Alias::Name("prev_hash", "if_match")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Delete, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        // Without a condition any version is deleted: the trash, and history, keep it.
        let condition = Condition::of_existing(arguments.if_match.as_ref())?;
        let message = arguments.message.as_ref().map(Message::as_str);
        let decide = |found: Option<&Found>| {
            if found.is_none() {
                return Err(notes::missing(path.as_str()));
            }
            condition.check(path.as_str(), found)?;
            Ok(if arguments.hard { NoteUpdate::Gone } else { NoteUpdate::Trash })
        };
        let beforehand = if arguments.hard { KnownInput::NoText } else { KnownInput::Nothing };
        let answer = update::write(context, &Self::INFO, &path, message, beforehand, decide).await?;
        let written = answer.value;
        let trash = (!arguments.hard).then(|| format!("{TRASH}{path}"));
        let output = Output {
            path: path.as_str().to_owned(),
            sha256: written.sha256.to_string(),
            trash_path: trash.clone(),
            trash,
            recoverable: !arguments.hard,
            deleted_at: written.at,
            last_generation: written.generation.saturating_sub(1),
        };
        Ok(Answer { value: output, generation: answer.generation })
    }
}
