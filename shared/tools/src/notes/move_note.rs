//! `move_note`: moves a note, and updates the links to it, in one commit.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Attempt, ChangeSet, Hash, Snapshot};
use atlas_ops::arguments::{self, Given, Text, Versions, WritePath};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::write::commit;
use atlas_ops::write::precondition::Condition;
use atlas_ops::write::relocate::{Moving, Plan};
use atlas_ops::write::writable;
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Moves a note to another folder or name, and updates the links that the move would break, in all notes.
pub struct MoveNote;

/// The note, and its new path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.md`.
    #[serde(alias = "path")]
    from: WritePath,
    /// Its new path; it ends in `.md`.
    to: WritePath,
    #[serde(default)]
    if_match: Given<Versions>,
    /// Update the links of all notes, so that they keep their meaning.
    #[serde(default = "arguments::yes", alias = "update_links")]
    update_backlinks: bool,
    /// Whether a note at the new path goes into the trash; if not, the call fails if there is one.
    #[serde(default)]
    overwrite_target: bool,
    /// The reason, for the log; if not given, the old path.
    #[serde(default)]
    message: Given<Text<4096>>,
}

/// The moved note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The old path.
    from: String,
    /// The new path.
    to: String,
    /// When it was moved.
    #[schemars(with = "String", extend("format" = "date-time"))]
    moved_at: Timestamp,
    /// The number of updated links to it, in other notes.
    backlinks_updated: usize,
    /// SHA-256 of its bytes, in hex, for the next `if_match`. It differs from before if links in it were updated.
    new_hash: String,
    /// Equal to `new_hash`.
    sha256: String,
    /// The generation of the move.
    generation: u64,
    /// The number of updated links in all notes, including its own, and links to other notes with its new name.
    links: usize,
    /// The number of notes with such links.
    notes: usize,
}

impl Operation for MoveNote {
    const INFO: Info = Info {
        name: "move_note",
        title: "Move a note",
        description: "Moves or renames a note, and updates the links to it in all notes: wikilinks, embeds and markdown links. Fails if there is a note at the new path, unless overwrite_target moves that to the trash. A person has to confirm it. Example: {\"from\": \"Inbox/Atlas.md\", \"to\": \"Projects/Atlas.md\"}",
        // The result reveals the number of links to it.
        scopes: &[Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault],
        destructive: true,
        tags: &["notes", "links"],
        idempotent: true,
        aliases: &[Alias::Name("overwrite", "overwrite_target"), Alias::Name("prev_hash", "if_match")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        let (from, to): (VaultPath, VaultPath) = (arguments.from.clone().into(), arguments.to.clone().into());
        let replaced = arguments.overwrite_target.then(|| (Access::Delete, to.clone()));
        Ok([(Access::Delete, from), (Access::Write, to)].into_iter().chain(replaced).collect())
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        arguments.update_backlinks || folder(arguments.from.as_str()) != folder(arguments.to.as_str())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let (from, to): (VaultPath, VaultPath) = (arguments.from.clone().into(), arguments.to.clone().into());
        if from == to {
            let message = format!("to: the note is at {from} already");
            return Err(Error::bad_request(Reason::ValidationError, message).with("field", "to"));
        }
        let message =
            arguments.message.as_ref().map_or_else(|| format!("moved from {from}"), |why| why.as_str().to_owned());
        let (from_path, to_path) = (from.as_str().to_owned(), to.as_str().to_owned());
        let change = MoveChange {
            moving: Moving {
                context,
                ways: vec![(from, to)],
                update_links: arguments.update_backlinks,
                overwrite: arguments.overwrite_target,
                made: None,
            },
            condition: Condition::of_existing(arguments.if_match.as_ref())?,
        };
        let done = commit::commit(context, &Self::INFO, Some(&message), &change).await?;
        let (MovedNote { sha256, backlinks, links, notes, at }, generation) = done.made().ok_or_else(nothing_moved)?;
        let output = Output {
            from: from_path,
            to: to_path,
            moved_at: at,
            backlinks_updated: backlinks,
            new_hash: sha256.to_string(),
            sha256: sha256.to_string(),
            generation,
            links,
            notes,
        };
        Ok(Answer { value: output, generation: Some(generation) })
    }
}

fn nothing_moved() -> Error {
    Error::new(Code::Internal, Reason::Internal, "nothing was moved")
}

struct MoveChange<'a> {
    moving: Moving<'a>,
    condition: Condition<'a>,
}

/// The result of a move. A keyed commit stores it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct MovedNote {
    sha256: Hash,
    links: usize,
    notes: usize,
    #[serde(default)]
    backlinks: usize,
    #[serde(default)]
    at: Timestamp,
}

impl ChangeSet for MoveChange<'_> {
    type Error = Error;
    type Outcome = commit::Outcome<MovedNote>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let head = writable::published(head)?;
        let context = self.moving.context;
        let ends: Vec<_> = self.moving.ends(head).await?.into_iter().collect::<Result<_, _>>()?;
        for (ends, (from, _)) in ends.iter().zip(&self.moving.ways) {
            self.condition.check(from.as_str(), Some(&ends.from))?;
        }
        let replaces = ends.iter().any(|ends| ends.to.is_some());
        let Plan { mut batch, moved, links, notes } = self.moving.plan(head, ends).await?;
        if replaces {
            batch.require_confirmation();
        }
        let moved = moved.first().ok_or_else(nothing_moved)?;
        let kept = MovedNote { sha256: moved.sha256, links, notes, backlinks: moved.backlinks, at: context.now };
        Ok(Attempt::changes(batch.derived().await?, kept.into()))
    }
}
