//! `copy_note`: copies a note, and keeps the meaning of its links.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Attempt, ChangeSet, Hash, Snapshot};
use atlas_ops::arguments::{self, Given, Text, WritePath};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::index::{Index, Want};
use atlas_ops::read::links;
use atlas_ops::read::notes;
use atlas_ops::write::batch::{Batch, NewDocument};
use atlas_ops::write::commit;
use atlas_ops::write::precondition::{Condition, Mode};
use atlas_ops::write::relocate::unlinkable;
use atlas_ops::write::writable;
use atlas_vault::VaultPath;
use atlas_vault::relink::{names_meant, relink_copy};
use bytes::Bytes;
use futures::future::try_join;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes another note with the same text.
pub struct CopyNote;

/// The note, and the copy's path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.md`.
    from: WritePath,
    /// The path of the copy, which must be free; it ends in `.md`.
    to: WritePath,
    /// Update the copy's links that would mean something else there.
    #[serde(default = "arguments::yes")]
    rewrite_internal_links: bool,
    /// The reason, for the log; if not given, the original's path.
    #[serde(default)]
    message: Given<Text<4096>>,
}

/// The copy.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The path of the note.
    from: String,
    /// The path of the copy.
    to: String,
    /// When it was made.
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: Timestamp,
    /// SHA-256 of its bytes, in hex.
    content_hash: String,
    /// The number of updated links in it.
    links_rewritten: usize,
    /// The generation that made it.
    generation: u64,
}

impl Operation for CopyNote {
    const INFO: Info = Info {
        name: "copy_note",
        title: "Copy a note",
        description: "Copies a note to another path. Links that would mean something else there are updated. A person has to confirm a copy into another folder. Example: {\"from\": \"Templates/Meeting.md\", \"to\": \"Meetings/2026-11-24.md\"}",
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["notes", "links"],
        idempotent: true,
        aliases: &[Alias::Only("overwrite", "false")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.from.clone().into()), (Access::Write, arguments.to.clone().into())])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        folder(arguments.from.as_str()) != folder(arguments.to.as_str())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let (from, to): (VaultPath, VaultPath) = (arguments.from.clone().into(), arguments.to.clone().into());
        let message =
            arguments.message.as_ref().map_or_else(|| format!("a copy of {from}"), |why| why.as_str().to_owned());
        let change = Copying { context, from, to, rewrite: arguments.rewrite_internal_links };
        let done = commit::commit(context, &Self::INFO, Some(&message), &change).await?;
        let nothing = || Error::new(Code::Internal, Reason::Internal, "nothing was copied");
        let (Copied { sha256, links, at }, generation) = done.made().ok_or_else(nothing)?;
        let output = Output {
            from: change.from.as_str().to_owned(),
            to: change.to.as_str().to_owned(),
            created_at: at,
            content_hash: sha256.to_string(),
            links_rewritten: links,
            generation,
        };
        Ok(Answer { value: output, generation: Some(generation) })
    }
}

struct Copying<'a> {
    context: &'a Context<'a>,
    from: VaultPath,
    to: VaultPath,
    rewrite: bool,
}

/// The result. A keyed commit stores it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Copied {
    sha256: Hash,
    links: usize,
    at: Timestamp,
}

impl Copying<'_> {
    /// The copy's text, and the number of its links that differ from the note's.
    async fn text(&self, head: &Arc<Snapshot>, note: &Bytes) -> Result<(Bytes, usize), Error> {
        let Some(text) = std::str::from_utf8(note).ok().filter(|_| self.rewrite) else { return Ok((note.clone(), 0)) };
        links::check_length(&self.from, note)?;
        let names = names_meant(&self.from, text).collect();
        let view = self.context.view(head.clone());
        let index = Index::fetch(view, Want { names: true, ..Want::default() }).await?;
        let files = links::files_named(&index, &names)?;
        let relinked = relink_copy(text, &self.from, &self.to, files).map_err(unlinkable)?;
        Ok(relinked.map_or_else(|| (note.clone(), 0), |relinked| (relinked.text.into(), relinked.meant.len())))
    }
}

impl ChangeSet for Copying<'_> {
    type Error = Error;
    type Outcome = commit::Outcome<Copied>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let head = writable::published(head)?;
        let note = notes::find(head, self.from.as_str(), |_| true);
        let (note, there) = try_join(note, notes::find(head, self.to.as_str(), |_| false)).await?;
        let note = note.ok_or_else(|| notes::missing(self.from.as_str()))?;
        Condition::Mode(Mode::Create, None).check(self.to.as_str(), there.as_ref())?;
        if note.record.blob.is_some() {
            let message = format!("{} is too large to be copied", self.from);
            return Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", self.from.as_str()));
        }
        let (text, links) = self.text(head, &note.text).await?;
        let at = self.context.now;
        let mut batch = Batch::on(head, self.context);
        let new = NewDocument::text(self.to.clone(), text, None, at)?;
        let copied = Copied { sha256: new.sha256(), links, at };
        batch.put(new, None);
        Ok(Attempt::changes(batch.derived().await?, copied.into()))
    }
}
