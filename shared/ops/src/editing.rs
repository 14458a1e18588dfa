//! Editing the text of one note in one commit, and telling what was there before: also when the call was executed before, and is told again.

use std::sync::{Mutex, PoisonError};

use atlas_mirror::Hash;
use atlas_vault::VaultPath;
use atlas_vault::edit::Problem;
use jiff::Timestamp;
use serde_json::json;

use crate::arguments::invalid_input;
use crate::edit_note::text;
use crate::error::{Code, Error};
use crate::notes::{self, Found};
use crate::operation::{Answer, Context, Info};
use crate::writing::{self, Become, Beforehand, Written};

/// What became of an edit.
pub(crate) struct Edited<T> {
    /// Hash of the note as it is.
    pub(crate) content_hash: Hash,
    /// When the note was last changed: by this, unless it changed nothing.
    pub(crate) updated_at: Timestamp,
    /// Whether the note was not there before.
    pub(crate) created: bool,
    /// What the edit tells of itself.
    pub(crate) told: T,
}

/// Makes of the text of the note at `path` what `edit` makes of it, which tells something of it too.
pub(crate) async fn edit<T: Send>(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    edit: impl Fn(&str) -> Result<(String, T), Error> + Sync,
) -> Result<Answer<Edited<T>>, Error> {
    let edit = |text: Option<&str>| edit(text.ok_or_else(|| notes::missing(path.as_str()))?);
    edit_or_create(context, operation, path, edit).await
}

/// The same of a note that may not be there yet.
pub(crate) async fn edit_or_create<T: Send>(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    edit: impl Fn(Option<&str>) -> Result<(String, T), Error> + Sync,
) -> Result<Answer<Edited<T>>, Error> {
    let last: Mutex<Option<(Timestamp, T)>> = Mutex::new(None);
    let decide = |found: Option<&Found>| {
        let before = found.map(text).transpose()?;
        let (after, told) = edit(before)?;
        let unchanged = found.filter(|_| before == Some(after.as_str())).map(modified);
        let at = unchanged.unwrap_or_else(|| time(context.now.as_millisecond()));
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, told));
        Ok(Become::Text(after.into_bytes()))
    };
    let answer = writing::write(context, operation, path, None, Beforehand::Nothing, decide).await?;
    let Written { sha256, generation, created, is_replayed, .. } = answer.value;
    // What an attempt of this call found says nothing where an earlier call with its key was the one that wrote.
    let (updated_at, told) = match last.into_inner().unwrap_or_else(PoisonError::into_inner).filter(|_| !is_replayed) {
        Some(last) => last,
        None => {
            // That one was executed on the generation before the one that it made.
            let made = notes::at(context, generation).await?;
            let found = match generation.checked_sub(1).filter(|before| *before > 0) {
                Some(before) => notes::find(&*notes::at(context, before).await?, path.as_str(), |_| true).await?,
                None => None,
            };
            let before = found.as_ref().map(text).transpose()?;
            (time(made.manifest().time.as_millisecond()), edit(before)?.1)
        }
    };
    Ok(Answer { value: Edited { content_hash: sha256, updated_at, created, told }, generation: answer.generation })
}

/// When a document was last changed.
pub(crate) fn modified(found: &Found) -> Timestamp {
    time(found.record.modified_ms)
}

/// A time as records keep it, in milliseconds.
pub(crate) fn time(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The error for an edit that such a tool cannot make, for what its argument `field` says.
pub(crate) fn refused(field: &str, problem: &Problem) -> Error {
    if let Problem::TooLong { .. } = problem {
        return Error::new(Code::TooLarge, "note_too_large", problem.to_string());
    }
    let candidates: Vec<_> =
        problem.candidates().iter().map(|one| json!({ "line": one.line, "text": one.text })).collect();
    invalid_input(field, &problem.to_string()).with("candidates", candidates)
}
