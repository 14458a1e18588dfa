//! `delete_attachment`: moves a file that is not a note to the trash.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Attempt, ChangeSet, Snapshot};
use atlas_ops::arguments::invalid_input;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::graph::Graph;
use atlas_ops::read::notes;
use atlas_ops::write::batch::Batch;
use atlas_ops::write::commit;
use atlas_ops::write::editing;
use atlas_ops::write::writable;
use atlas_segment::Kind;
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_attachment::missing;

/// Deletes a file that is not a note.
pub struct DeleteAttachment;

/// The file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: String,
    /// Keep nothing in the trash. Older generations still have the file while they are kept.
    #[serde(default)]
    hard: bool,
    /// Delete the file even if notes link to it.
    #[serde(default)]
    force: bool,
}

/// The deleted file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The file's path.
    path: String,
    /// When it was deleted.
    #[schemars(with = "String", extend("format" = "date-time"))]
    deleted_at: Timestamp,
    /// Whether it is in the trash.
    recoverable: bool,
    /// The number of notes that linked to it.
    references_at_delete: usize,
    /// Its path in the trash; absent if it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    trash_path: Option<String>,
}

impl Operation for DeleteAttachment {
    const INFO: Info = Info {
        name: "delete_attachment",
        title: "Delete an attachment",
        description: "Deletes a file that is not a note. It is kept in the trash unless hard is true. A file that notes link to is deleted only with force. A person has to confirm it, unless you made the file. For a note take delete_note. Example: {\"path\": \"media/old.png\"}",
        // The result contains the number of notes that link to it.
        scopes: &[Scope::ReadVault, Scope::DeleteVault],
        destructive: true,
        tags: &["attachments"],
        idempotent: true,
        aliases: &[Alias::Name("permanent", "hard")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Delete, path(&arguments.path)?)])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        // The trash keeps other files. The batch asks about those that the caller did not create.
        arguments.hard
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = path(&arguments.path)?;
        let change = Deletion { context, path: &path, arguments: &arguments };
        let done = commit::commit(context, &Self::INFO, None, &change).await?;
        let (value, generation) = done.kept();
        let trash_path = if arguments.hard { None } else { Some(writable::trash(&path)?.as_str().to_owned()) };
        let value = Output {
            path: path.as_str().to_owned(),
            deleted_at: value.at,
            recoverable: !arguments.hard,
            references_at_delete: value.references,
            trash_path,
        };
        Ok(Answer { value, generation: Some(generation) })
    }
}

/// The path of a file that the operation may delete.
fn path(written: &str) -> Result<VaultPath, Error> {
    super::path("path", written, "deleted", "delete_note")
}

/// The result for a file. A keyed commit stores it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Deleted {
    at: Timestamp,
    references: usize,
}

struct Deletion<'a> {
    context: &'a Context<'a>,
    path: &'a VaultPath,
    arguments: &'a Arguments,
}

impl Deletion<'_> {
    /// The number of notes that link to the file, as the caller sees them; an error if they prevent its deletion.
    async fn references(&self, head: &Arc<Snapshot>) -> Result<usize, Error> {
        let graph = Graph::fetch(self.context, self.context.view(head.clone())).await?;
        let own = graph.index().find(self.path.as_str())?.ok_or_else(|| missing(self.path.as_str()))?;
        let references = graph.incoming(self.path, own)?.len();
        if references > 0 && !self.arguments.force {
            let message = format!("{references} notes link to the file: change them first, or set force");
            return Err(invalid_input("force", &message).with("reference_count", references));
        }
        Ok(references)
    }
}

impl ChangeSet for Deletion<'_> {
    type Error = Error;
    type Outcome = commit::Outcome<Deleted>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let head = writable::published(head)?;
        let now = self.context.now;
        let found = notes::find(head, self.path.as_str(), |_| !self.arguments.hard).await?;
        let found = found.filter(|found| matches!(found.record.kind, Kind::Attachment | Kind::Text));
        let found = found.ok_or_else(|| missing(self.path.as_str()))?;
        let references = self.references(head).await?;
        let mut batch = Batch::on(head, self.context);
        if references > 0 {
            batch.require_confirmation();
        }
        match self.arguments.hard {
            true => batch.destroy(&found),
            false => batch.trash(self.path, &found).await?,
        }
        let at = editing::time(now.as_millisecond());
        Ok(Attempt::changes(batch.derived().await?, Deleted { at, references }.into()))
    }
}
