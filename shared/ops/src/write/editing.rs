//! Edits of the text of one note in one commit, with a report on the text before, also for a repeated call.

use atlas_mirror::Hash;
use atlas_vault::VaultPath;
use atlas_vault::edit::{self, Candidate, Edit, EditError, Problem};
use jiff::Timestamp;
use serde_json::json;

use crate::arguments::invalid_input;
use crate::error::{Code, Error, Reason};
use crate::operation::{Answer, Context, Info};
use crate::read::notes::{self, Found};
use crate::write::precondition::Condition;
use crate::write::update::{self, KnownInput, NoteUpdate, WriteResult};
use crate::write::writable::{MAX_NOTE_BYTES, text_of};

/// The result of an edit.
pub struct Edited<T> {
    /// Hash of the note after it.
    pub content_hash: Hash,
    /// When the note was last changed: by this edit, unless it changed nothing.
    pub updated_at: Timestamp,
    /// Whether the note was created.
    pub created: bool,
    /// The edit's own result.
    pub told: T,
}

/// Replaces the text of the note at `path`, if `condition` holds, by the result of `edit`, which also returns a value
/// of its own.
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

/// Like [`edit`], for a note that may not exist yet.
pub async fn edit_or_create<T: Send + 'static>(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    edit: impl Fn(Option<&str>) -> Result<(String, T), Error> + Sync,
) -> Result<Answer<Edited<T>>, Error> {
    changed(context, operation, path, &Condition::Any, edit, |_| false).await
}

/// Like [`edit`], but a person must confirm it if the edit's own result requires that.
pub async fn edit_if_confirmed<T: Send + 'static>(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    edit: impl Fn(Option<&str>) -> Result<(String, T), Error> + Sync,
    is_to_be_confirmed: impl Fn(&T) -> bool + Sync,
) -> Result<Answer<Edited<T>>, Error> {
    changed(context, operation, path, &Condition::Any, edit, is_to_be_confirmed).await
}

/// Like [`edit_if_confirmed`], of a version that `condition` names.
pub async fn changed<T: Send + 'static>(
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
    let WriteResult { sha256, generation, created, at, .. } = answer.value;
    let told = match told {
        Some(told) => told,
        None => {
            // The earlier call with its key was executed on the generation before its own.
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

/// The modification time of a document.
pub fn modified(found: &Found) -> Timestamp {
    time(found.record.modified_ms)
}

/// A time from a record's milliseconds.
pub fn time(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// `text` with these edits, which argument `field` contains.
pub fn apply(text: &str, edits: &[Edit], field: &str) -> Result<String, Error> {
    edit::apply(text, edits, MAX_NOTE_BYTES).map_err(|error| unedited(field, &error))
}

/// The error for edits that fail, blamed on argument `field`.
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
    let message = match problem {
        Problem::HeadingAmbiguous { heading, candidates } => {
            format!("there is more than one heading {heading}; write it as one of {}", list(candidates))
        }
        Problem::BlockAmbiguous { id, candidates } => {
            format!("more than one block has ^{id}; give the heading above the one that you mean: {}", list(candidates))
        }
        problem => problem.to_string(),
    };
    let error = invalid_input(field, &message).with("candidates", candidates);
    let example = match problem {
        Problem::HeadingAmbiguous { candidates, .. } => candidates.first().map(ToString::to_string),
        _ => None,
    };
    match example {
        Some(heading) if field == "anchor" => error.with("example", json!({ "type": "heading", "heading": heading })),
        Some(heading) => error.with("example", heading),
        None => error,
    }
}

fn list(candidates: &[Candidate]) -> String {
    candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
