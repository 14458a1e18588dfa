//! `edit_note`: changes parts of a note, all or nothing, and keeps every other byte.

use atlas_access::Access;
use atlas_mirror::Hash;
use atlas_ops::arguments::{Given, Message, Versions, WritePath};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::precondition::Condition;
use atlas_ops::write::update::{self, KnownInput, NoteUpdate};
use atlas_ops::write::writable::{MAX_NOTE_BYTES, text_of};
use atlas_segment::Record;
use atlas_vault::VaultPath;
use atlas_vault::edit::{Candidate, Edit, EditError, Problem, apply};
use atlas_vault::merge::{Conflict, merge};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::notes::write_note::Output;

/// Changes parts of a note and keeps every other byte.
pub struct EditNote;

/// The changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The note's path from the root of the vault; it ends in `.md`.
    path: WritePath,
    /// The edits, in order, each on the result of the one before; all or none are made.
    edits: Vec<Edit>,
    #[serde(default)]
    if_match: Given<Versions>,
    /// The policy for a note that has changed since the version in `if_match`: `fail` if not given, or `merge` the edits with the newest version. Edits
    /// that touch the same lines are not merged.
    #[serde(default)]
    on_conflict: OnConflict,
    #[serde(default)]
    message: Given<Message>,
}

/// The policy for a note that has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OnConflict {
    /// Change nothing.
    #[default]
    Fail,
    /// Make the edits on the version that was named, and merge the result with the newest one.
    Merge,
}

/// Most versions to look through for the one that was named.
const MAX_VERSIONS_BACK: usize = 100;

impl Operation for EditNote {
    const INFO: Info = Info {
        name: "edit_note",
        title: "Edit a note",
        description: "Changes parts of a note and keeps every other byte: append, prepend, replace_text, replace_section, append_to_section, insert_before, insert_after, set_property, remove_property, merge_properties. All edits are made or none. A target that is missing or ambiguous changes nothing; the error lists what it could be. A person has to confirm edits that remove most of a note, or its frontmatter. For one place take patch_note. Example: {\"path\": \"Projects/Atlas.md\", \"edits\": [{\"op\": \"append_to_section\", \"target\": {\"heading\": [\"Tasks\"]}, \"text\": \"- [ ] Call Ada\"}, {\"op\": \"set_property\", \"name\": \"status\", \"value\": \"active\"}]}",
        // Errors reveal parts of the note.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    fn needs_confirmation(_: &Arguments) -> bool {
        // That depends on the removed text.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let condition = Condition::of_existing(arguments.if_match.as_ref())?;
        if arguments.edits.is_empty() {
            return Err(Error::bad_request(Reason::ValidationError, "edits: name one at least").with("field", "edits"));
        }
        let message = arguments.message.as_ref().map(Message::as_str);
        let base = match (&condition, arguments.on_conflict) {
            (Condition::Versions(versions), OnConflict::Merge) => version(context, &path, versions).await?,
            (_, OnConflict::Merge) => {
                let message = "on_conflict: to merge, send the version that you read (if_match, If-Match)";
                return Err(Error::bad_request(Reason::ValidationError, message).with("field", "on_conflict"));
            }
            (_, OnConflict::Fail) => None,
        };
        let edited =
            |note: &Found| apply(text_of(note)?, &arguments.edits, MAX_NOTE_BYTES).map_err(|error| refused(&error));
        let decide = |found: Option<&Found>| {
            let Some(note) = found else {
                return Err(notes::missing(path.as_str()));
            };
            match (condition.check(path.as_str(), found), &base) {
                (Ok(()), _) => Ok(NoteUpdate::Text(edited(note)?.into_bytes())),
                (Err(changed), Some(base)) => {
                    let merged = merge(path.as_str(), text_of(base)?, text_of(note)?, &edited(base)?);
                    merged.map(|text| NoteUpdate::Merged(text.into_bytes())).map_err(|why| unmerged(changed, &why))
                }
                (Err(changed), None) => Err(changed),
            }
        };
        let answer = update::write(context, &Self::INFO, &path, message, KnownInput::Nothing, decide).await?;
        Ok(Output::of(&path, answer))
    }
}

/// The newest version of the note whose hash is one of `versions`; none if it is not kept, or its text is stored as a blob.
async fn version(context: &Context<'_>, path: &VaultPath, versions: &[&str]) -> Result<Option<Found>, Error> {
    let newest = context.read(|view| async move { Ok(view) }).await?;
    let mut snapshot = newest.value.snapshot().clone();
    for _ in 0..MAX_VERSIONS_BACK {
        let is_named = |record: &Record| versions.contains(&Hash::from_bytes(record.sha256).to_string().as_str());
        let has_text = |record: &Record| record.blob.is_none() && is_named(record);
        let Some(found) = notes::find(&snapshot, path.as_str(), has_text).await? else { return Ok(None) };
        if is_named(&found.record) {
            return Ok(Some(found).filter(|found| found.record.blob.is_none()));
        }
        if found.replaces == 0 {
            return Ok(None);
        }
        let Some(older) = context.vault.mirror.at_if_readable(found.replaces).await? else { return Ok(None) };
        snapshot = older;
    }
    Ok(None)
}

/// The error for a note that has changed where the edits change it too.
fn unmerged(changed: Error, why: &Conflict) -> Error {
    let lines: Vec<_> = match why {
        // Lines of the newest version, counted from 1.
        Conflict::Overlaps(overlaps) => {
            let lines = overlaps.iter().take(20);
            lines.map(|overlap| json!({ "start": overlap.ours.start + 1, "end": overlap.ours.end })).collect()
        }
        Conflict::Member(_) | Conflict::TooLarge => Vec::new(),
    };
    changed.with("conflict", why.to_string()).with("lines", lines)
}

/// The error of failed edits, with candidates for their targets.
pub(crate) fn refused(error: &EditError) -> Error {
    let message = error.to_string();
    let EditError::Refused { edit, problem } = error else {
        return Error::bad_request(Reason::ValidationError, message);
    };
    let (reason, candidates): (_, &[Candidate]) = match &**problem {
        Problem::TooLong { .. } => return Error::new(Code::TooLarge, Reason::NoteTooLarge, message),
        Problem::HeadingMissing { candidates, .. }
        | Problem::BlockMissing { candidates, .. }
        | Problem::TextMissing { candidates }
        | Problem::PropertyMissing { candidates, .. } => (Reason::TargetNotFound, candidates),
        Problem::HeadingAmbiguous { candidates, .. }
        | Problem::BlockAmbiguous { candidates, .. }
        | Problem::TextCount { candidates, .. } => (Reason::TargetAmbiguous, candidates),
        Problem::NoSuchLines { .. } | Problem::OtherLineBreaks { .. } => (Reason::TargetNotFound, &[]),
        _ => (Reason::EditRefused, &[]),
    };
    let candidates: Vec<_> = candidates.iter().map(|one| json!({ "line": one.line, "text": one.text })).collect();
    Error::bad_request(reason, message).with("edit", *edit).with("candidates", candidates)
}
