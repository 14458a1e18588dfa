//! Writing: one note becomes something else in one commit. What it becomes is decided afresh on every state that the commit
//! tries to extend, so that a precondition holds for the very version that is replaced.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atlas_mirror::manifest::{Changes, Totals};
use atlas_mirror::{ChangeSet, CommitInfo, Committed, Derived, Hash, NewSegment, Snapshot, merge};
use atlas_segment::{Body, Builder, Document, Kind};
use atlas_vault::VaultPath;
use jiff::Timestamp;

use crate::error::{Code, Error};
use crate::notes::{self, Found};
use crate::operation::{Answer, Context, Info};

/// Most bytes of a note that an operation writes.
const MAX_NOTE_BYTES: usize = 64 << 20;
/// How long a write tries to win against others.
const COMMIT_TIME: Duration = Duration::from_secs(20);
/// Who writes, until callers have names.
const AUTHOR: &str = "anonymous";

/// What became of a note.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) sha256: Hash,
    pub(crate) bytes: u64,
    /// The generation that wrote it.
    pub(crate) generation: u64,
    /// Whether it was not there before.
    pub(crate) created: bool,
}

/// The path of a note that an operation may write.
pub(crate) fn path(field: &str, text: &str) -> Result<VaultPath, Error> {
    let path = crate::arguments::path(field, text)?;
    let invalid =
        |message: &str| Err(Error::bad_request("path_invalid", format!("{field}: {message}")).with("field", field));
    if !path.is_note() {
        return invalid("notes are written at paths that end in .md");
    }
    if path.as_str().split('/').any(|part| part.starts_with('.')) {
        return invalid("notes are not written where a name begins with a dot");
    }
    Ok(path)
}

/// Writes the note at `path`: it becomes the text that `decide` makes of the version that is there.
pub(crate) async fn write(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    message: Option<&str>,
    decide: impl Fn(Option<&Found>) -> Result<Vec<u8>, Error> + Sync,
) -> Result<Answer<Written>, Error> {
    let change = NoteChange { path, now: context.now, decide, last: Mutex::default() };
    let info = CommitInfo {
        author: AUTHOR.to_owned(),
        operation: operation.name.to_owned(),
        message: message.map(str::to_owned),
        key: None,
        time: context.now,
        deadline: COMMIT_TIME,
    };
    context.vault.mirror.check_writes_once().await?;
    let committed = context.vault.mirror.commit(&info, &change).await?;
    let mut written = change.last().ok_or_else(|| Error::new(Code::Internal, "internal", "nothing was written"))?;
    let generation = match committed {
        Committed::New(after) => {
            written.generation = after.generation();
            after.generation()
        }
        Committed::Unchanged(head) => head.map_or(0, |head| head.generation()),
        Committed::Replayed { generation, .. } => generation,
    };
    Ok(Answer { value: written, generation: Some(generation) })
}

struct NoteChange<'a, F> {
    path: &'a VaultPath,
    now: Timestamp,
    decide: F,
    /// What the newest attempt comes to.
    last: Mutex<Option<Written>>,
}

impl<F> NoteChange<'_, F> {
    fn last(&self) -> Option<Written> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The segment that has this text as the note.
    fn segment(&self, text: &[u8], sha256: Hash, replaces: u64) -> Result<NewSegment, Error> {
        let document = Document {
            path: self.path,
            path_on_disk: None,
            kind: Kind::Note,
            sha256: *sha256.as_bytes(),
            modified_ms: self.now.as_millisecond(),
            generation: 0,
            replaces,
            body: Body::Text(text),
        };
        let mut builder = Builder::new()?;
        builder.push(&document)?;
        let built = builder.finish()?.ok_or_else(|| Error::new(Code::Internal, "internal", "nothing was built"))?;
        Ok(NewSegment { bytes: built.bytes.into(), layout: built.layout, deleted: Vec::new() })
    }
}

impl<F: Fn(Option<&Found>) -> Result<Vec<u8>, Error> + Sync> ChangeSet for NoteChange<'_, F> {
    type Error = Error;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Option<Derived>, Error> {
        let head = head.ok_or_else(|| {
            Error::not_found("vault_not_published", "the vault is not published yet: run `atlas sync`")
        })?;
        // Without its text: what decides is which version it is.
        let found = notes::find(head, self.path.as_str(), |_| false).await?;
        let found = found.as_ref();
        let text = (self.decide)(found)?;
        let sha256 = Hash::of(&text);
        let keep = |written| *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
        if let Some(found) = found.filter(|found| found.record.sha256 == *sha256.as_bytes()) {
            keep(Written { sha256, bytes: found.record.bytes, generation: found.generation, created: false });
            return Ok(None);
        }
        if text.len() > MAX_NOTE_BYTES {
            let message = format!("a note has at most {MAX_NOTE_BYTES} bytes");
            return Err(Error::new(Code::TooLarge, "note_too_large", message));
        }
        let mut totals: Totals = head.manifest().totals;
        let mut changes = Changes::default();
        match found {
            Some(found) => {
                totals.remove(found.record.kind, found.record.bytes);
                changes.changed = 1;
            }
            None => changes.added = 1,
        }
        totals.add(Kind::Note, text.len() as u64);
        let mut derived = Derived {
            segments: vec![self.segment(&text, sha256, found.map_or(0, |found| found.generation))?],
            deleted: found.map(|found| (found.document.0, vec![found.document.1])).into_iter().collect(),
            changes,
            totals,
            ..Derived::default()
        };
        merge::fold(head, merge::SMALL, &mut derived).await?;
        keep(Written { sha256, bytes: text.len() as u64, generation: 0, created: found.is_none() });
        Ok(Some(derived))
    }
}
