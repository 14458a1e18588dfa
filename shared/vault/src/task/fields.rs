//! The fields in the text of a task.

use std::borrow::Cow;

use super::line::Line;
use super::symbols::{Field, Format, Priority};
use crate::tag;

/// The fields in the text of a task. Dates are strings as written, `YYYY-MM-DD`, and may not exist in the calendar.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskFields<'a> {
    /// The text without the fields, with its tags.
    pub description: Cow<'a, str>,
    /// The due date.
    pub due: Option<&'a str>,
    /// The day on which it is planned.
    pub scheduled: Option<&'a str>,
    /// The first day on which it can be done.
    pub start: Option<&'a str>,
    /// The day on which it was created.
    pub created: Option<&'a str>,
    /// The day on which it was completed.
    pub done: Option<&'a str>,
    /// The day on which it was cancelled.
    pub cancelled: Option<&'a str>,
    /// Its priority.
    pub priority: Option<Priority>,
    /// The recurrence rule, such as `every day when done`.
    pub recurrence: Option<&'a str>,
    /// The line's fate on completion: `keep` or `delete`.
    pub on_completion: Option<&'a str>,
    /// The id by which other tasks refer to it.
    pub id: Option<&'a str>,
    /// The ids of the tasks that must be done before it.
    pub depends_on: Vec<&'a str>,
    /// Its tags, without `#`, in the order of the text.
    pub tags: Vec<&'a str>,
    /// The block id by which links refer to it, without `^`.
    pub block_id: Option<&'a str>,
    /// The format of its fields; `None` if it has no fields.
    pub format: Option<Format>,
}

/// The fields of `text`, the text after a check box: see [`Task::text`](crate::Task). Takes time in proportion to the text.
#[must_use]
pub fn fields(text: &str) -> TaskFields<'_> {
    fields_in(text, None)
}

/// The fields of `text` in this format only, if one is given.
pub(super) fn fields_in(text: &str, format: Option<Format>) -> TaskFields<'_> {
    let line = Line::read_in(text, format);
    TaskFields {
        description: description(&line),
        due: line.value(Field::Due),
        scheduled: line.value(Field::Scheduled),
        start: line.value(Field::Start),
        created: line.value(Field::Created),
        done: line.value(Field::Done),
        cancelled: line.value(Field::Cancelled),
        priority: line.value(Field::Priority).and_then(Priority::read),
        recurrence: line.value(Field::Recurrence).map(|rule| rule.trim_matches(' ')),
        on_completion: line.value(Field::OnCompletion),
        id: line.value(Field::Id),
        depends_on: line.value(Field::DependsOn).map_or_else(Vec::new, |ids| ids.split(',').map(str::trim).collect()),
        tags: tags(line.text.get(..line.end).unwrap_or_default()).collect(),
        block_id: line.block_id,
        format: line.tokens.iter().find(|token| token.field.is_some()).map(|token| token.format),
    }
}

/// The text without the fields.
fn description<'a>(line: &Line<'a>) -> Cow<'a, str> {
    let is_field = |at: usize| line.tokens.get(at).is_some_and(|token| token.field.is_some());
    let before = (0..line.tokens.len()).take_while(|at| !is_field(*at)).count();
    let end = before.checked_sub(1).and_then(|last| line.tokens.get(last)).map_or(line.head, |tag| tag.range.end);
    let start = line.text.get(..end).unwrap_or_default();
    let tags = line.tokens.iter().skip(before).filter(|token| token.field.is_none());
    let mut words = tags.filter_map(|tag| line.text.get(tag.range.clone())).peekable();
    if words.peek().is_none() {
        return Cow::Borrowed(start.trim_start());
    }
    let mut whole = start.trim_start().to_owned();
    for word in words {
        if !whole.is_empty() {
            whole.push(' ');
        }
        whole.push_str(word);
    }
    Cow::Owned(whole)
}

/// The tags of a text that is not parsed as markdown, without `#`.
pub(super) fn tags(text: &str) -> impl Iterator<Item = &str> {
    let places = memchr::memchr_iter(b'#', text.as_bytes());
    places.filter_map(|at| text.get(at + 1..tag::read(text, at)?))
}
