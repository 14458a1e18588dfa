//! Changes one task of a note.

use std::ops::Range;

use super::error::{Candidate, MAX_CANDIDATES, Problem};
use crate::lines::line_end;
use crate::note::{Task, parse};
use crate::task::{Change, ChangeError, Settings, Status, change, fields};

/// A note with one changed task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedTask {
    /// The note's text.
    pub text: String,
    /// The character between the task's brackets and the task's text, before the change.
    pub before: (char, String),
    /// The same after the change.
    pub after: (char, String),
}

/// `text` with a new status or text for the task on `line`, counted from 1. A field that the task does not have yet is written in the
/// format of its others, else in that of the settings, else in that of the note's other tasks.
///
/// # Errors
/// When there is no task, or the change cannot be written.
pub fn change_task(
    text: &str,
    line: u32,
    status: Option<Status>,
    wanted: &Change,
    settings: &Settings,
) -> Result<ChangedTask, Problem> {
    let note = parse(text);
    let Some(task) = note.tasks.iter().find(|task| task.line.checked_add(1) == Some(line)) else {
        let some = note.tasks.iter().take(MAX_CANDIDATES);
        return Err(Problem::NoTask {
            line,
            candidates: some.map(|task| Candidate::new(task.line, &task.text)).collect(),
        });
    };
    let status = status.filter(|status| settings.status(task.status) != *status);
    let mark = match status {
        Some(status) => settings.mark(status).ok_or(ChangeError::Status(status))?,
        None => task.status,
    };
    let of_others = || note.tasks.iter().find_map(|task| fields(&task.text).format);
    let format = settings.format().or_else(of_others).unwrap_or_default();
    let start = text_start(text, task).ok_or(Problem::NoTask { line, candidates: Vec::new() })?;
    let tags = note.tags.iter().filter_map(|tag| tag.range.as_ref());
    let within = |tag: &Range<usize>| Some(tag.start.checked_sub(start)?..tag.end.checked_sub(start)?);
    let tags: Vec<_> = tags.filter_map(within).take_while(|tag| tag.end <= task.text.len()).collect();
    let said = change(&task.text, &tags, wanted, format)?;
    let edited = rewritten(text, task, mark, &said).ok_or(Problem::NoTask { line, candidates: Vec::new() })?;
    // The new text must still be read as the text of this task.
    let is_there = |other: &Task| other.line == task.line && other.status == mark && other.text == said;
    if !parse(&edited).tasks.iter().any(is_there) {
        return Err(Problem::Unreadable("the line would not be a task any more".to_owned()));
    }
    Ok(ChangedTask { text: edited, before: (task.status, task.text.clone()), after: (mark, said) })
}

/// The start of the task's text in `text`.
fn text_start(text: &str, task: &Task) -> Option<usize> {
    let after = text.get(task.status_offset + task.status.len_utf8()..)?.strip_prefix(']')?;
    Some(text.len() - after.trim_start().len())
}

/// `text` with this mark and this text of the task.
fn rewritten(text: &str, task: &Task, mark: char, said: &str) -> Option<String> {
    let after = task.status_offset + task.status.len_utf8();
    let end = line_end(text, after);
    let rest = text.get(after..end)?.strip_prefix(']')?;
    let old = rest.trim();
    let (space, behind) = if old.is_empty() {
        (rest, "")
    } else {
        let start = rest.len() - rest.trim_start().len();
        (rest.get(..start)?, rest.get(start + old.len()..)?)
    };
    let space = if space.is_empty() && !said.is_empty() { " " } else { space };
    Some(
        [text.get(..task.status_offset)?, mark.encode_utf8(&mut [0; 4]), "]", space, said, behind, text.get(end..)?]
            .concat(),
    )
}
