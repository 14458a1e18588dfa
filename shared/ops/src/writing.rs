//! Writing: one note becomes something else in one commit. What it becomes is decided afresh on every state that the commit
//! tries to extend, so that a precondition holds for the very version that is replaced.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atlas_mirror::manifest::Changes;
use atlas_mirror::{ChangeSet, CommitInfo, Committed, Derived, Hash, NewSegment, Snapshot, merge};
use atlas_segment::{Body, Builder, Document, Kind};
use atlas_vault::VaultPath;
use atlas_vault::edit::with_frontmatter;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::arguments;
use crate::error::{Code, Error};
use crate::notes::{self, Found};
use crate::operation::{Answer, Context, Info};

/// Most bytes of a note that an operation writes.
pub(crate) const MAX_NOTE_BYTES: usize = 64 << 20;
/// How long a write tries to win against others.
pub(crate) const COMMIT_TIME: Duration = Duration::from_secs(20);
/// Where deleted notes are kept, each at its path.
pub(crate) const TRASH: &str = ".trash/";
/// Who writes, until callers have names.
pub(crate) const AUTHOR: &str = "anonymous";

/// What a note becomes.
pub(crate) enum Become {
    /// This text.
    Text(Vec<u8>),
    /// Nothing; what it was is kept in the trash.
    Trash,
    /// Nothing.
    Gone,
}

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
    let path = arguments::path(field, text)?;
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

/// A new note's text: `content` below its properties, if it has any.
pub(crate) fn with_properties(properties: Option<&Map<String, Value>>, content: &str) -> Result<String, Error> {
    let Some(properties) = properties else { return Ok(content.to_owned()) };
    with_frontmatter(properties, content).map_err(|problem| {
        Error::bad_request("validation_error", format!("frontmatter: {problem}")).with("field", "frontmatter")
    })
}

/// Writes the note at `path`: it becomes what `decide` makes of the version that is there, whose text it sees if it is
/// `with_text`.
pub(crate) async fn write(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    message: Option<&str>,
    with_text: bool,
    decide: impl Fn(Option<&Found>) -> Result<Become, Error> + Sync,
) -> Result<Answer<Written>, Error> {
    let change = NoteChange { path, now: context.now, with_text, decide, last: Mutex::default() };
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
    with_text: bool,
    decide: F,
    /// What the newest attempt comes to.
    last: Mutex<Option<Written>>,
}

impl<F> NoteChange<'_, F> {
    fn last(&self) -> Option<Written> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, written: Written) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
    }

    /// Adds to `derived` a document with this text, instead of the one that is there.
    fn put(
        &self,
        derived: &mut Derived,
        path: &VaultPath,
        kind: Kind,
        (text, sha256): (&[u8], Hash),
        old: Option<&Found>,
    ) -> Result<(), Error> {
        if text.len() > MAX_NOTE_BYTES {
            let message = format!("a note has at most {MAX_NOTE_BYTES} bytes");
            return Err(Error::new(Code::TooLarge, "note_too_large", message));
        }
        let document = Document {
            path,
            path_on_disk: None,
            kind,
            sha256: *sha256.as_bytes(),
            modified_ms: self.now.as_millisecond(),
            generation: 0,
            replaces: old.map_or(0, |old| old.generation),
            body: Body::Text(text),
        };
        let mut builder = Builder::new()?;
        builder.push(&document)?;
        let new = builder.finish()?.map(|built| NewSegment {
            bytes: built.bytes.into(),
            layout: built.layout,
            deleted: Vec::new(),
        });
        derived.segments.extend(new);
        derived.totals.add(kind, text.len() as u64);
        if let Some(old) = old {
            remove(derived, old);
        }
        Ok(())
    }
}

fn remove(derived: &mut Derived, old: &Found) {
    derived.deleted.push((old.document.0, vec![old.document.1]));
    derived.totals.remove(old.record.kind, old.record.bytes);
}

impl<F: Fn(Option<&Found>) -> Result<Become, Error> + Sync> ChangeSet for NoteChange<'_, F> {
    type Error = Error;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Option<Derived>, Error> {
        let head = head.ok_or_else(|| {
            Error::not_found("vault_not_published", "the vault is not published yet: run `atlas sync`")
        })?;
        let found = notes::find(head, self.path.as_str(), |_| self.with_text).await?;
        let found = found.as_ref();
        if self.with_text && found.is_some_and(|found| found.record.blob.is_some()) {
            // It is kept as an attachment, and its text is not at hand: what would be written instead would lose it.
            let message =
                format!("{} is too large to be changed in parts or put into the trash: replace it whole", self.path);
            return Err(Error::new(Code::TooLarge, "note_too_large", message).with("path", self.path.as_str()));
        }
        let mut derived = Derived { totals: head.manifest().totals, ..Derived::default() };
        match ((self.decide)(found)?, found) {
            (Become::Text(text), found) => {
                let sha256 = Hash::of(&text);
                if let Some(found) = found.filter(|found| found.record.sha256 == *sha256.as_bytes()) {
                    let (bytes, generation) = (found.record.bytes, found.generation);
                    self.keep(Written { sha256, bytes, generation, created: false });
                    return Ok(None);
                }
                self.put(&mut derived, self.path, Kind::Note, (&text, sha256), found)?;
                derived.changes =
                    Changes { added: found.is_none().into(), changed: found.is_some().into(), removed: 0 };
                self.keep(Written { sha256, bytes: text.len() as u64, generation: 0, created: found.is_none() });
            }
            (Become::Trash | Become::Gone, None) => return Ok(None),
            (become_what, Some(found)) => {
                remove(&mut derived, found);
                derived.changes = Changes { removed: 1, ..Changes::default() };
                let sha256 = Hash::from_bytes(found.record.sha256);
                if matches!(become_what, Become::Trash) {
                    let trash = arguments::path("path", &format!("{TRASH}{}", self.path))?;
                    let old = notes::find(head, trash.as_str(), |_| false).await?;
                    // Like configuration it is kept, and never shown.
                    self.put(&mut derived, &trash, Kind::Config, (&found.text, sha256), old.as_ref())?;
                }
                self.keep(Written { sha256, bytes: found.record.bytes, generation: 0, created: false });
            }
        }
        merge::fold(head, merge::SMALL, &mut derived).await?;
        Ok(Some(derived))
    }
}
