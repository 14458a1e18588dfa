//! `commit_capture`: makes a note of a capture, once.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Hash, Snapshot};
use atlas_ops::arguments::{self, Exact, Given, WritePath, invalid_input};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes;
use atlas_ops::write::creating::{self, Creation};
use atlas_ops::write::{editing, writable};
use atlas_vault::VaultPath;
use atlas_vault::edit::{self, Edit};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::queue::{self, Capture, CaptureId, CaptureStatus, Committed};
use crate::history::gone;

/// Makes a note of a capture, once.
pub struct CommitCapture;

/// Of which capture, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The `capture_id` that enqueue_capture gave, or list_capture_queue.
    capture_id: Exact<32>,
    /// The path of the new note from the root of the vault; it ends in `.md`.
    target_path: WritePath,
    /// Properties of the note, besides the capture's `title` and `tags` or instead of them; none if not given.
    #[serde(default)]
    frontmatter_overrides: Given<Map<String, Value>>,
    /// Take the capture out of the queue. So it is if not given; else it is listed as committed until it expires.
    #[serde(default = "arguments::yes")]
    delete_from_queue: bool,
}

/// The note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The capture.
    capture_id: String,
    /// The note's path.
    target_path: String,
    /// When it was written.
    #[schemars(with = "String", extend("format" = "date-time"))]
    committed_at: Timestamp,
    /// SHA-256 of the note, in hex.
    content_hash: String,
    /// Whether the capture was taken out of the queue.
    removed_from_queue: bool,
    /// Where the note is now, if it is no longer at its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<String>,
}

/// The stored commit: the call, and whether it takes the capture out of the queue.
type Kept = (Hash, bool);

impl Operation for CommitCapture {
    const INFO: Info = Info {
        name: "commit_capture",
        title: "Make a note of a capture",
        description: "Writes what enqueue_capture noted down as a new note, with its title and tags as properties, and takes it out of the queue. A capture becomes one note only, also where two callers try at once; the same call made again gets the same answer. If there is a note at target_path, nothing is written: choose another path, or read the capture and append it there with append_note. Example: {\"capture_id\": \"0123456789abcdef0123456789abcdef\", \"target_path\": \"Ideas/Crane.md\"}",
        // It tells what was captured, and whether it was committed.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["capture"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.target_path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { capture_id, target_path, frontmatter_overrides, delete_from_queue } = arguments;
        let path = VaultPath::from(target_path);
        let mirror = &context.vault.mirror;
        let overrides = frontmatter_overrides.0.unwrap_or_default();
        let call = Hash::of(atlas_ops::sorted(json!([path.as_str(), overrides])).to_string().as_bytes());
        let id = CaptureId::parse(capture_id.as_str());
        let id = id.ok_or_else(|| invalid_input("capture_id", "take the capture_id that enqueue_capture gave"))?;
        let capture = match queue::find(context, &id).await? {
            None => {
                let message = "no capture waits by this id: list those that do with list_capture_queue";
                return Err(invalid_input("capture_id", message));
            }
            Some(CaptureStatus::Committed(done)) => return answer_again(context, &id, done, call, None).await,
            Some(CaptureStatus::Waiting(capture)) => capture,
        };
        let text = text(&capture, overrides)?;
        let kept: Kept = (call, delete_from_queue);
        let plan = |_: Arc<Snapshot>| {
            let creation = Creation { path: path.clone(), text: text.clone().into_bytes(), kept };
            async move { Ok(creation) }
        };
        // The key of the capture stands for that of the call, which alone would let two calls make two notes.
        let once = context.with_key(queue::commit_key(context, &id).await?);
        let Answer { value: created, generation } = creating::create(&once, &Self::INFO, plan).await?;
        let (call_of_note, deletes) = created.kept;
        let (path, at, sha256) = (arguments::path("target_path", &created.path)?, created.at, created.sha256);
        let done = Committed { path, at, sha256, call: call_of_note, deletes };
        queue::finish(mirror, &id, &done).await?;
        match once.key {
            // The note was made before this call, and its mark was missing.
            Some(key) if key.is_executed => answer_again(context, &id, done, call, generation).await,
            _ => answer(&id, done, call, generation),
        }
    }
}

/// Like [`answer`], for a note that was made before, which may no longer be where it was.
async fn answer_again(
    context: &Context<'_>,
    id: &CaptureId,
    done: Committed,
    call: Hash,
    generation: Option<u64>,
) -> Result<Answer<Output>, Error> {
    let gone = gone(context, &done).await?;
    if let Some(gone) = gone.as_ref().filter(|_| done.call != call) {
        let message = format!("a note was made of this capture already: {gone}");
        return Err(Error::not_found(Reason::NoteNotFound, message).with("path", done.path.as_str()));
    }
    let Answer { value, generation } = answer(id, done, call, generation)?;
    Ok(Answer { value: Output { gone, ..value }, generation })
}

/// Where the note is, if it is no longer at its path.
async fn gone(context: &Context<'_>, done: &Committed) -> Result<Option<String>, Error> {
    let path = &done.path;
    let head = context.vault.mirror.head().await?;
    if context.check(Access::Read, path).is_err() || notes::find(&head, path.as_str(), |_| false).await?.is_some() {
        return Ok(None);
    }
    let place = if let Some(to) = gone::moved_to(context, &head, path).await? {
        format!("it was moved to {to}")
    } else if is_in_trash(&head, done).await? {
        "it is in the trash: restore_note brings it back".to_owned()
    } else {
        "look for it with search, or for what became of it with note_history".to_owned()
    };
    Ok(Some(format!("the note is no longer at {path}: {place}")))
}

/// Whether the trash has it where restore_note looks for it.
async fn is_in_trash(head: &Snapshot, done: &Committed) -> Result<bool, Error> {
    let found = notes::find(head, writable::trash(&done.path)?.as_str(), |_| false).await?;
    Ok(found.is_some_and(|found| found.record.sha256 == *done.sha256.as_bytes()))
}

/// The answer to the call that made the note; for any other the error.
fn answer(id: &CaptureId, done: Committed, call: Hash, generation: Option<u64>) -> Result<Answer<Output>, Error> {
    if done.call != call {
        return Err(invalid_input("capture_id", "a note was made of this capture already: look for it with search"));
    }
    let value = Output {
        capture_id: id.written(),
        target_path: done.path.as_str().to_owned(),
        committed_at: done.at,
        content_hash: done.sha256.to_string(),
        removed_from_queue: done.deletes,
        gone: None,
    };
    Ok(Answer { value, generation })
}

/// The text of the note: the capture's properties stand above what was captured, or among the properties that this has.
fn text(capture: &Capture, overrides: Map<String, Value>) -> Result<String, Error> {
    let mut properties = Map::new();
    if let Some(title) = &capture.title {
        properties.insert("title".to_owned(), title.as_str().into());
    }
    if !capture.tags.is_empty() {
        properties.insert("tags".to_owned(), capture.tags.clone().into());
    }
    properties.extend(overrides);
    if properties.is_empty() {
        return Ok(capture.content.clone());
    }
    let edits = [Edit::MergeProperties { properties: properties.clone() }];
    // Lines that look like properties and are none stay below: what was captured must not be lost for its form.
    editing::apply(&capture.content, &edits, "frontmatter_overrides")
        .or_else(|error| edit::with_frontmatter(&properties, &capture.content).map_err(|_| error))
}
