//! Editing the text of one note in one commit, and telling what was there before: also when the call was executed before, and is told again.

use atlas_mirror::Hash;
use atlas_vault::VaultPath;
use atlas_vault::edit::{self, Edit, EditError, Problem};
use jiff::Timestamp;
use serde_json::json;

use crate::arguments::invalid_input;
use crate::error::{Code, Error, Reason};
use crate::operation::{Answer, Context, Info};
use crate::read::notes::{self, Found};
use crate::write::precondition::Condition;
use crate::write::update::{self, KnownInput, NoteUpdate, Written};
use crate::write::writable::{MAX_NOTE_BYTES, text_of};

/// What became of an edit.
pub struct Edited<T> {
    /// Hash of the note as it is.
    pub content_hash: Hash,
    /// When the note was last changed: by this, unless it changed nothing.
    pub updated_at: Timestamp,
    /// Whether the note was not there before.
    pub created: bool,
    /// What the edit tells of itself.
    pub told: T,
}

/// Makes of the text of the note at `path`, if it is as `condition` says, what `edit` makes of it, which tells something of it too.
pub async fn edit<T: Send + 'static>(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    condition: &Condition<'_>,
    edit: impl Fn(&str) -> Result<(String, T), Error> + Sync,
) -> Result<Answer<Edited<T>>, Error> {
    let edit = |text: Option<&str>| edit(text.ok_or_else(|| notes::missing(path.as_str()))?);
    changed(context, operation, path, condition, edit, |_| false).await
}

/// The same of a note that may not be there yet.
pub async fn edit_or_create<T: Send + 'static>(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    edit: impl Fn(Option<&str>) -> Result<(String, T), Error> + Sync,
) -> Result<Answer<Edited<T>>, Error> {
    edit_if_confirmed(context, operation, path, edit, |_| false).await
}

/// The same, which a person has to confirm if what the edit tells says so.
pub async fn edit_if_confirmed<T: Send + 'static>(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    edit: impl Fn(Option<&str>) -> Result<(String, T), Error> + Sync,
    is_to_be_confirmed: impl Fn(&T) -> bool + Sync,
) -> Result<Answer<Edited<T>>, Error> {
    changed(context, operation, path, &Condition::Any, edit, is_to_be_confirmed).await
}

async fn changed<T: Send + 'static>(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    condition: &Condition<'_>,
    edit: impl Fn(Option<&str>) -> Result<(String, T), Error> + Sync,
    is_to_be_confirmed: impl Fn(&T) -> bool + Sync,
) -> Result<Answer<Edited<T>>, Error> {
    let decide = |found: Option<&Found>| {
        if found.is_some() {
            condition.check(path.as_str(), found)?;
        }
        let (after, told) = edit(found.map(text_of).transpose()?)?;
        let after = after.into_bytes();
        let becomes = if is_to_be_confirmed(&told) { NoteUpdate::IfConfirmed(after) } else { NoteUpdate::Text(after) };
        Ok((becomes, told))
    };
    let (answer, told) = update::write_telling(context, operation, path, None, KnownInput::Nothing, decide).await?;
    let Written { sha256, generation, created, at, .. } = answer.value;
    let told = match told {
        Some(told) => told,
        None => {
            // The earlier call with its key was executed on the generation before the one that it made.
            let found = match generation.checked_sub(1).filter(|before| *before > 0) {
                Some(before) => notes::find(&*notes::at(context, before).await?, path.as_str(), |_| true).await?,
                None => None,
            };
            let before = found.as_ref().map(text_of).transpose()?;
            edit(before)?.1
        }
    };
    let updated_at = time(at.as_millisecond());
    Ok(Answer { value: Edited { content_hash: sha256, updated_at, created, told }, generation: answer.generation })
}

/// When a document was last changed.
pub fn modified(found: &Found) -> Timestamp {
    time(found.record.modified_ms)
}

/// A time as records keep it, in milliseconds.
pub fn time(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// `text` with these edits, which argument `field` asks for.
pub fn apply(text: &str, edits: &[Edit], field: &str) -> Result<String, Error> {
    edit::apply(text, edits, MAX_NOTE_BYTES).map_err(|error| unedited(field, &error))
}

/// The error for edits that such a tool cannot make, for what its argument `field` says.
pub fn unedited(field: &str, error: &EditError) -> Error {
    match error {
        EditError::Refused { problem, .. } => refused(field, problem),
        EditError::TooMany { .. } => invalid_input(field, &error.to_string()),
    }
}

/// A heading as such tools take it: `Parent > Child`, of the list that edits name it by.
fn in_one_text(names: &str) -> String {
    serde_json::from_str::<Vec<String>>(names).map_or_else(|_| names.to_owned(), |names| names.join(" > "))
}

/// `problem`, where headings are named in one text.
fn told(problem: &Problem) -> Problem {
    let mut told = problem.clone();
    if let Problem::HeadingMissing { heading, candidates } | Problem::HeadingAmbiguous { heading, candidates } =
        &mut told
    {
        *heading = in_one_text(heading);
        candidates.iter_mut().for_each(|one| one.text = in_one_text(&one.text));
    }
    told
}

/// The error for an edit that such a tool cannot make, for what its argument `field` says.
pub fn refused(field: &str, problem: &Problem) -> Error {
    let problem = &told(problem);
    if let Problem::TooLong { .. } = problem {
        return Error::new(Code::TooLarge, Reason::NoteTooLarge, problem.to_string());
    }
    let candidates: Vec<_> =
        problem.candidates().iter().map(|one| json!({ "line": one.line, "text": one.text })).collect();
    invalid_input(field, &problem.to_string()).with("candidates", candidates)
}
