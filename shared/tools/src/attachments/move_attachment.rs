//! `move_attachment`: moves a file that is not a note, and updates the links to it, in one commit.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Attempt, ChangeSet, Hash, Snapshot};
use atlas_ops::arguments::{self, Given, Text};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::write::commit;
use atlas_ops::write::relocate::Moving;
use atlas_ops::write::writable;
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::attachments;

/// Moves a file that is not a note to another path with the same extension, and updates the links to it in all notes,
/// in one commit.
pub struct MoveAttachment;

/// The file, and its new path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    from: String,
    /// Its new path, which must be free; it has the same extension.
    to: String,
    /// Update the links to it in all notes.
    #[serde(default = "arguments::yes")]
    update_references: bool,
    /// The reason, for the log; if not given, the old path.
    #[serde(default)]
    message: Given<Text<4096>>,
}

/// The moved file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The old path.
    from: String,
    /// The new path.
    to: String,
    /// When it was moved.
    #[schemars(with = "String", extend("format" = "date-time"))]
    moved_at: Timestamp,
    /// The number of updated links to it.
    references_updated: usize,
    /// SHA-256 of its bytes, in hex.
    sha256: String,
    /// The generation of the move.
    generation: u64,
}

/// Updating more links than this requires a person's confirmation.
const UNCONFIRMED: usize = 10;

impl Operation for MoveAttachment {
    const INFO: Info = Info {
        name: "move_attachment",
        title: "Move an attachment",
        description: "Moves a file that is not a note to another path, with the same extension, and updates the links to it in all notes, in one commit. Fails if there is a file at the new path. A person has to confirm updates of more than 10 links. For a note take move_note. Example: {\"from\": \"inbox/plan.png\", \"to\": \"media/plan.png\"}",
        // The result reveals the number of links to it.
        scopes: &[Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault],
        destructive: true,
        tags: &["attachments", "links"],
        idempotent: true,
        aliases: &[Alias::Only("overwrite", "false")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        let (from, to) = ends(arguments)?;
        Ok(vec![(Access::Delete, from), (Access::Write, to)])
    }

    fn needs_confirmation(_: &Arguments) -> bool {
        // That depends on the links to it.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let (from, to) = ends(&arguments)?;
        let message =
            arguments.message.as_ref().map_or_else(|| format!("moved from {from}"), |why| why.as_str().to_owned());
        let (from_path, to_path) = (from.as_str().to_owned(), to.as_str().to_owned());
        let moving = Moving {
            context,
            ways: vec![(from, to)],
            update_links: arguments.update_references,
            overwrite: false,
            made: None,
        };
        let change = AttachmentMove { moving };
        let done = commit::commit(context, &Self::INFO, Some(&message), &change).await?;
        let (MovedAttachment { sha256, references, at }, generation) = done.made().ok_or_else(nothing_moved)?;
        let output = Output {
            from: from_path,
            to: to_path,
            moved_at: at,
            references_updated: references,
            sha256: sha256.to_string(),
            generation,
        };
        Ok(Answer { value: output, generation: Some(generation) })
    }
}

fn nothing_moved() -> Error {
    Error::new(Code::Internal, Reason::Internal, "nothing was moved")
}

/// The old and the new path.
fn ends(arguments: &Arguments) -> Result<(VaultPath, VaultPath), Error> {
    let from = attachments::path("from", &arguments.from, "moved", "move_note")?;
    let to = attachments::new_path("to", &arguments.to, "moved", "move_note")?;
    let extension = |path: &VaultPath| path.file_name().rsplit_once('.').map(|(_, extension)| extension.to_lowercase());
    let problem = match (from == to, extension(&from) == extension(&to)) {
        (true, _) => "the file exists already",
        (_, false) => "a file keeps its extension",
        _ => return Ok((from, to)),
    };
    Err(Error::bad_request(Reason::PathInvalid, format!("to: {problem}")).with("field", "to"))
}

struct AttachmentMove<'a> {
    moving: Moving<'a>,
}

/// The result of a move. A keyed commit stores it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct MovedAttachment {
    sha256: Hash,
    references: usize,
    at: Timestamp,
}

impl ChangeSet for AttachmentMove<'_> {
    type Error = Error;
    type Outcome = commit::Outcome<MovedAttachment>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let head = writable::published(head)?;
        let ends = self.moving.ends(head).await?.into_iter().collect::<Result<_, _>>()?;
        let mut plan = self.moving.plan(head, ends).await?;
        let moved = plan.moved.first().ok_or_else(nothing_moved)?;
        if moved.backlinks > UNCONFIRMED {
            plan.batch.require_confirmation();
        }
        let kept = MovedAttachment { sha256: moved.sha256, references: moved.backlinks, at: self.moving.context.now };
        Ok(Attempt::changes(plan.batch.derived().await?, kept.into()))
    }
}
