//! `commit_capture`: makes a note of a capture, once.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Hash, Snapshot};
use atlas_ops::arguments::{self, Exact, Given, WritePath, invalid_input};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes;
use atlas_ops::write::creating::{self, Creation};
use atlas_ops::write::editing;
use atlas_vault::VaultPath;
use atlas_vault::edit::{self, Edit};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::queue::{self, Capture, CaptureId, CaptureStatus, Committed};

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

/// Like [`answer`], for a note that was made before, if it is still there.
async fn answer_again(
    context: &Context<'_>,
    id: &CaptureId,
    done: Committed,
    call: Hash,
    generation: Option<u64>,
) -> Result<Answer<Output>, Error> {
    let path = &done.path;
    let is_readable = context.check(Access::Read, path).is_ok();
    let head = context.vault.mirror.head().await?;
    if !is_readable || notes::find(&head, path.as_str(), |_| false).await?.is_some() {
        return answer(id, done, call, generation);
    }
    let message = format!(
        "the note that was made of this capture is no longer at {path}: bring it back with restore_note (without a generation from the trash, or with one that note_history lists), or look with search where it was moved"
    );
    Err(Error::not_found(Reason::NoteNotFound, message).with("path", path.as_str()))
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
