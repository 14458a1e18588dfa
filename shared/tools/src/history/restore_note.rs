//! `restore_note`: restores an earlier version of a note, in a new commit.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Attempt, ChangeSet, Snapshot};
use atlas_ops::arguments::{Given, Message, Versions, WritePath};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::batch::Batch;
use atlas_ops::write::commit;
use atlas_ops::write::precondition::Condition;
use atlas_ops::write::update::{self, KnownInput, NoteUpdate, WriteResult};
use atlas_ops::write::writable::{self, Version};
use atlas_segment::Record;
use atlas_vault::VaultPath;
use futures::future::try_join;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::notes::write_note::Output;

/// Restores a note's version at a generation (see note_history), or takes it out of the trash if no generation is
/// given.
pub struct RestoreNote;

/// The note, and the version.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// The generation to restore, one that `note_history` lists; if none is given, the note is taken out of the trash.
    #[serde(default)]
    generation: Given<u64>,
    /// If a note exists at the path, replace it only if its SHA-256 is this one, or one of these, comma-separated; `*` for any version.
    #[serde(default)]
    if_match: Given<Versions>,
    #[serde(default)]
    message: Given<Message>,
}

impl Operation for RestoreNote {
    const INFO: Info = Info {
        name: "restore_note",
        title: "Restore a note",
        description: "Restores an old version of a note: brings back its text at a generation (see note_history), or takes it out of the trash if no generation is given. This makes a new version: the history stays complete. If there is another note at the path now, pass its sha256 as if_match. Example: {\"path\": \"Projects/Atlas.md\", \"generation\": 12, \"if_match\": \"…\"}",
        scopes: &[Scope::WriteVault],
        destructive: true,
        tags: &["notes", "history"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        // Without it nothing is replaced.
        arguments.if_match.is_some()
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let condition = Condition::of(arguments.if_match.as_ref(), None)?;
        let message = arguments.message.as_ref().map(Message::as_str);
        let written = match *arguments.generation {
            Some(generation) => {
                let old = version(context, &path, generation).await?;
                if old.record.blob.is_some() {
                    // Only that generation may keep its bytes, so a new one refers to those in the trash.
                    let places = writable::in_trash(&path, &old.sha256());
                    let sha256 = old.record.sha256;
                    let missing = too_large(&path, generation);
                    let change = OutOfTrash { path: &path, places, sha256: Some(sha256), missing, condition, context };
                    return out_of_trash(context, &path, message, &change).await;
                }
                let decide = |found: Option<&Found>| {
                    check(&condition, &path, found, &old)?;
                    Ok(NoteUpdate::Text(old.text.to_vec()))
                };
                let beforehand = KnownInput::Written(&old.text);
                update::write(context, &Self::INFO, &path, message, beforehand, decide).await?
            }
            None => {
                let places = vec![writable::trash(&path)?];
                let missing = not_in_trash(&path);
                let change = OutOfTrash { path: &path, places, sha256: None, missing, condition, context };
                return out_of_trash(context, &path, message, &change).await;
            }
        };
        Ok(Output::of(&path, written))
    }
}

/// The note at `path` at `generation`.
async fn version(context: &Context<'_>, path: &VaultPath, generation: u64) -> Result<Found, Error> {
    let snapshot = notes::at(context, generation).await?;
    let has_text = |record: &Record| record.blob.is_none();
    let Some(found) = notes::find(&snapshot, path.as_str(), has_text).await? else {
        let message =
            format!("there was no note at {path} at generation {generation}: note_history lists its versions");
        return Err(Error::not_found(Reason::NoteNotFound, message).with("path", path.as_str()));
    };
    Ok(found)
}

/// The error for a version that neither fits into a note nor is in the trash.
fn too_large(path: &VaultPath, generation: u64) -> Error {
    let message = format!(
        "{path} was too large at generation {generation} to be restored here: run `atlas export --at {generation}`"
    );
    Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", path.as_str())
}

fn not_in_trash(path: &VaultPath) -> Error {
    let message =
        format!("there is no {path} in the trash: name a generation to restore it from, one that note_history lists");
    Error::not_found(Reason::NoteNotFound, message).with("path", path.as_str())
}

async fn out_of_trash(
    context: &Context<'_>,
    path: &VaultPath,
    message: Option<&str>,
    change: &OutOfTrash<'_>,
) -> Result<Answer<Output>, Error> {
    let written = update::commit_note(context, &RestoreNote::INFO, message, change).await?.0;
    Ok(Output::of(path, written))
}

/// Fails if restoring `old` would replace a version that the caller has not seen.
fn check(condition: &Condition<'_>, path: &VaultPath, found: Option<&Found>, old: &Found) -> Result<(), Error> {
    let is_equal = found.is_some_and(|found| found.record.sha256 == old.record.sha256);
    if is_equal && matches!(condition, Condition::None) { Ok(()) } else { condition.check(path.as_str(), found) }
}

/// Takes a note out of the trash.
struct OutOfTrash<'a> {
    path: &'a VaultPath,
    /// Where it may be.
    places: Vec<VaultPath>,
    /// The hash that it has; any if none is given.
    sha256: Option<[u8; 32]>,
    /// The error if it is not there.
    missing: Error,
    condition: Condition<'a>,
    context: &'a Context<'a>,
}

impl ChangeSet for OutOfTrash<'_> {
    type Error = Error;
    type Outcome = commit::Outcome<WriteResult>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let head = writable::published(head)?;
        let found = notes::find(head, self.path.as_str(), |_| self.context.is_to_be_judged());
        let places: Vec<&str> = self.places.iter().map(VaultPath::as_str).collect();
        let is_it = |record: &Record| self.sha256.is_none_or(|sha256| record.sha256 == sha256);
        let (found, kept) = try_join(found, notes::find_all(head, &places, is_it)).await?;
        let Some(kept) = kept.into_iter().flatten().find(|kept| is_it(&kept.record)) else {
            return Err(self.missing.clone());
        };
        let found = found.as_ref();
        check(&self.condition, self.path, found, &kept)?;
        if let Some(found) = found.filter(|found| found.record.sha256 == kept.record.sha256) {
            return Ok(Attempt::nothing(WriteResult::unchanged(found).into()));
        }
        let mut batch = Batch::on(head, self.context);
        batch.take_from_trash(self.path.clone(), &kept, found);
        let Version { sha256, bytes } = Version::of(&kept);
        let (created, before) = (found.is_none(), found.map(Version::of));
        let at = self.context.now;
        let written =
            WriteResult { sha256, bytes, generation: 0, is_replayed: false, created, at, before, is_merged: false };
        Ok(Attempt::changes(batch.derived().await?, written.into()))
    }
}
