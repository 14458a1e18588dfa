//! Writes of one note in one commit. The new text is decided again on every state that the commit tries to extend, so
//! that a precondition holds for the very version that is replaced.

use std::sync::Arc;

use atlas_mirror::{Attempt, ChangeSet, Hash, NewSegment, Snapshot};
use atlas_segment::{Body, Document, Record, SegmentsBuilder};
use atlas_vault::VaultPath;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Reason};
use crate::operation::{Answer, Context, Info};
use crate::read::notes::{self, Found};
use crate::write::batch::{Batch, NewDocument, kind_of_text};
use crate::write::commit::{CommitResult, Erased, Outcome, commit, unerased};
use crate::write::writable::{MAX_NOTE_BYTES, Version, published};

/// The new state of a note.
pub enum NoteUpdate {
    /// This text; a person must confirm it if it destroys the old one.
    Text(Vec<u8>),
    /// This text; a person must confirm it.
    IfConfirmed(Vec<u8>),
    /// This text, which was merged with what is there; a person has to confirm it if it destroys what is there.
    Merged(Vec<u8>),
    /// Moved to the trash.
    Trash,
    /// Deleted.
    Gone,
}

/// The inputs of a write that are known before its state.
pub enum KnownInput<'a> {
    /// None: the new text depends on the old one, which is read first.
    Nothing,
    /// The old text is irrelevant.
    NoText,
    /// The old text is irrelevant, and this is the only text that may be written, so that it can be uploaded at once.
    Written(&'a [u8]),
}

/// The result of a write. A keyed commit stores it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct WriteResult {
    /// SHA-256 of the note after it.
    pub sha256: Hash,
    /// Its size.
    pub bytes: u64,
    /// The generation that wrote it; unknown in the commit itself.
    #[serde(skip)]
    pub generation: u64,
    /// Whether an earlier call with the same key wrote it.
    #[serde(skip)]
    pub is_replayed: bool,
    /// Whether the note was created.
    pub created: bool,
    /// The time of the write.
    #[serde(default)]
    pub at: Timestamp,
    /// The version before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Version>,
    /// Whether it has the changes of the version before it, which the caller had not seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_merged: bool,
}

impl WriteResult {
    /// The result for `found`, unchanged.
    pub fn unchanged(found: &Found) -> Self {
        let before = Version::of(found);
        let at = Timestamp::from_millisecond(found.record.modified_ms).unwrap_or_default();
        let Version { sha256, bytes } = before;
        Self {
            sha256,
            bytes,
            generation: found.generation,
            is_replayed: false,
            created: false,
            at,
            before: Some(before),
            is_merged: false,
        }
    }
}

/// Writes the note at `path`: `decide` returns the new state for the existing version, whose text it gets unless
/// `beforehand` declares it irrelevant.
pub async fn write(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    message: Option<&str>,
    beforehand: KnownInput<'_>,
    decide: impl Fn(Option<&Found>) -> Result<NoteUpdate, Error> + Sync,
) -> Result<Answer<WriteResult>, Error> {
    let decide = |found: Option<&Found>| Ok((decide(found)?, ()));
    Ok(write_telling(context, operation, path, message, beforehand, decide).await?.0)
}

/// Like [`write`], with a value that `decide` returns about the replaced version; [`None`] for a repeated call.
pub async fn write_telling<T: Send + 'static>(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    message: Option<&str>,
    beforehand: KnownInput<'_>,
    decide: impl Fn(Option<&Found>) -> Result<(NoteUpdate, T), Error> + Sync,
) -> Result<(Answer<WriteResult>, Option<T>), Error> {
    let decide = |found: Option<&Found>| decide(found).map(|(becomes, told)| (becomes, Box::new(told) as Erased));
    let (answer, told) = write_any(context, operation, path, message, beforehand, &decide).await?;
    Ok((answer, told.map(unerased).transpose()?))
}

/// Not generic, so that its code exists once.
async fn write_any(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    message: Option<&str>,
    beforehand: KnownInput<'_>,
    decide: &Decide<'_>,
) -> Result<(Answer<WriteResult>, Option<Erased>), Error> {
    let with_text = matches!(beforehand, KnownInput::Nothing);
    let early = match beforehand {
        KnownInput::Written(text) => Some((Hash::of(text), segment(path, text, context.now)?)),
        _ => None,
    };
    let change = NoteChange { path, context, with_text, decide, early };
    commit_note(context, operation, message, &change).await
}

/// Commits `change` of one note. The other part of its outcome is [`None`] for a repeated call.
pub async fn commit_note<C, T>(
    context: &Context<'_>,
    operation: &Info,
    message: Option<&str>,
    change: &C,
) -> Result<(Answer<WriteResult>, Option<T>), Error>
where
    C: ChangeSet<Error = Error, Outcome = Outcome<WriteResult, T>>,
    T: Send + 'static,
{
    Ok(match commit(context, operation, message, change).await? {
        CommitResult::Committed(Outcome { kept, told }, generation) => {
            (Answer { value: WriteResult { generation, ..kept }, generation: Some(generation) }, Some(told))
        }
        CommitResult::Replayed(kept, generation) => {
            let value = WriteResult { generation, is_replayed: true, ..kept };
            (Answer { value, generation: Some(generation) }, None)
        }
        CommitResult::Unchanged(Outcome { kept, told }, newest) => {
            (Answer { value: kept, generation: Some(newest) }, Some(told))
        }
    })
}

/// Decides the new state for the existing version, and returns a value of its own.
type Decide<'a> = dyn Fn(Option<&Found>) -> Result<(NoteUpdate, Erased), Error> + Sync + 'a;

struct NoteChange<'a> {
    path: &'a VaultPath,
    context: &'a Context<'a>,
    with_text: bool,
    decide: &'a Decide<'a>,
    /// The segment with the text that will probably be written, and its hash.
    early: Option<(Hash, NewSegment)>,
}

/// A segment of one note. It is the same whatever the note replaces, so that it can be uploaded early.
fn segment(path: &VaultPath, text: &[u8], now: Timestamp) -> Result<NewSegment, Error> {
    if text.len() > MAX_NOTE_BYTES {
        let message = format!("a note has at most {MAX_NOTE_BYTES} bytes");
        return Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message));
    }
    let document = Document {
        path,
        path_on_disk: None,
        kind: kind_of_text(path),
        sha256: *Hash::of(text).as_bytes(),
        modified_ms: now.as_millisecond(),
        generation: 0,
        replaces: 0,
        body: Body::Text(text),
    };
    let mut segments = SegmentsBuilder::default();
    segments.push(&document)?;
    let empty = || Error::new(Code::Internal, Reason::Internal, "a segment of one document is empty");
    segments.finish()?.pop().map(NewSegment::from).ok_or_else(empty)
}

impl ChangeSet for NoteChange<'_> {
    type Error = Error;
    type Outcome = Outcome<WriteResult, Erased>;

    fn early(&self) -> &[NewSegment] {
        self.early.as_ref().map_or(&[], |(_, segment)| std::slice::from_ref(segment))
    }

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let head = published(head)?;
        let is_read = self.with_text || self.context.is_to_be_judged();
        let found = match is_read {
            true => {
                let wanted = |record: &Record| !self.with_text || record.bytes <= MAX_NOTE_BYTES as u64;
                notes::find_at_once(head, self.path.as_str(), wanted).await?
            }
            false => notes::find(head, self.path.as_str(), |_| false).await?,
        };
        let found = found.as_ref();
        // A note that is stored as an attachment has no text here: a partial change would lose it.
        let is_too_large = |record: &Record| record.blob.is_some() || record.bytes > MAX_NOTE_BYTES as u64;
        if self.with_text
            && let Some(record) = found.map(|found| &found.record).filter(|record| is_too_large(record))
        {
            let message = format!(
                "{} has {} bytes; only notes up to {MAX_NOTE_BYTES} are changed in parts or put into the trash: replace it whole",
                self.path, record.bytes
            );
            return Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", self.path.as_str()));
        }
        let now = self.context.now;
        let mut batch = Batch::on(head, self.context);
        let (becomes, told) = (self.decide)(found)?;
        let is_to_be_confirmed = matches!(becomes, NoteUpdate::IfConfirmed(_));
        let is_merged = matches!(becomes, NoteUpdate::Merged(_));
        let written = match (becomes, found) {
            (NoteUpdate::Text(text) | NoteUpdate::IfConfirmed(text) | NoteUpdate::Merged(text), found) => {
                let new = NewDocument::text(self.path.clone(), text.into(), found, now)?;
                let Version { sha256, bytes } = new.version();
                if let Some(found) = found.filter(|found| found.record.sha256 == *sha256.as_bytes()) {
                    return Ok(Attempt::nothing(Outcome { kept: WriteResult::unchanged(found), told }));
                }
                if is_to_be_confirmed {
                    batch.require_confirmation();
                }
                batch.put(new, found);
                let (created, before) = (found.is_none(), found.map(Version::of));
                WriteResult { sha256, bytes, generation: 0, is_replayed: false, created, at: now, before, is_merged }
            }
            (NoteUpdate::Trash | NoteUpdate::Gone, None) => return Err(notes::missing(self.path.as_str())),
            (NoteUpdate::Trash, Some(found)) => {
                batch.trash(self.path, found).await?;
                WriteResult { at: now, generation: 0, ..WriteResult::unchanged(found) }
            }
            (NoteUpdate::Gone, Some(found)) => {
                batch.destroy(found);
                WriteResult { at: now, generation: 0, ..WriteResult::unchanged(found) }
            }
        };
        let derived = batch.derived_with(self.early.as_ref()).await?;
        Ok(Attempt::changes(derived, Outcome { kept: written, told }))
    }
}
