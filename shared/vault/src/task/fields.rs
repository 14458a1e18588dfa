//! What the text of a task says.

use std::borrow::Cow;

use super::line::Line;
use super::symbols::{Field, Format, Priority};
use crate::tag;

/// What the text of a task says. Dates are as they are written, `YYYY-MM-DD`, and may be days that no calendar has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskFields<'a> {
    /// What is to be done: the text without the fields, and with its tags.
    pub description: Cow<'a, str>,
    /// The day until which it is to be done.
    pub due: Option<&'a str>,
    /// The day on which to do it.
    pub scheduled: Option<&'a str>,
    /// The day from which on it can be done.
    pub start: Option<&'a str>,
    /// The day on which it was written down.
    pub created: Option<&'a str>,
    /// The day on which it was done.
    pub done: Option<&'a str>,
    /// The day on which it was given up.
    pub cancelled: Option<&'a str>,
    /// How important it is.
    pub priority: Option<Priority>,
    /// When it is to be done again, such as `every day when done`.
    pub recurrence: Option<&'a str>,
    /// What becomes of the line when it is done: `keep` or `delete`.
    pub on_completion: Option<&'a str>,
    /// What other tasks know it by.
    pub id: Option<&'a str>,
    /// The ids of the tasks that come before it.
    pub depends_on: Vec<&'a str>,
    /// Its tags, without `#`, in the order of the text.
    pub tags: Vec<&'a str>,
    /// What links know it by, without `^`.
    pub block_id: Option<&'a str>,
    /// How its fields are written; none if it has none.
    pub format: Option<Format>,
}

/// What `text` says, which is what follows a check box: see [`Task::text`](crate::Task). Takes time in proportion to the text.
#[must_use]
pub fn fields(text: &str) -> TaskFields<'_> {
    let line = Line::read(text);
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

/// The tags of a text that is not looked at as markdown, without `#`.
pub(super) fn tags(text: &str) -> impl Iterator<Item = &str> {
    let places = memchr::memchr_iter(b'#', text.as_bytes());
    places.filter_map(|at| text.get(at + 1..tag::read(text, at)?))
}
