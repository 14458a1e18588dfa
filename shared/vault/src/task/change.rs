//! Changes what the text of a task says, and no other byte of it. What comes out is read again, and refused unless it says what it should.

use std::borrow::Cow;

use super::fields::{TaskFields, fields, tags};
use super::line::{Line, trimmed};
use super::symbols::{Field, Format, Priority};
use crate::fold::fold;
use crate::tag;

/// What to change of a task's text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// Another description, with its tags.
    pub description: Option<String>,
    /// Other values, by field; none takes the field out.
    pub fields: Vec<(Field, Option<String>)>,
    /// Tags to add at the end of the description, with or without `#`; one that is there already stays as it is.
    pub add_tags: Vec<String>,
    /// Tags to take out, in any case.
    pub remove_tags: Vec<String>,
}

/// Why a task cannot be changed so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// This cannot be the field's value.
    #[error("{value:?} cannot be written as a task's {}", field.key())]
    Value {
        /// The field.
        field: Field,
        /// The value.
        value: String,
    },
    /// It would not be read as a tag.
    #[error("{0:?} cannot be a tag: write letters, digits, _, - and /, and more than a number")]
    Tag(String),
    /// The description does not fit.
    #[error("the description must be one line of text that does not end in a task's fields or a block id")]
    Description,
    /// What stands around the field would change its meaning with it.
    #[error("what stands around the task's {} would not mean the same any more; replace the line instead", field.key())]
    Entangled {
        /// The field.
        field: Field,
    },
}

/// `text`, the text of a task, after `change`. A new field is written as the others of the text are, or in `format` where there are none.
///
/// # Errors
/// When something cannot be written so that it is read again as it was meant.
pub fn change(text: &str, change: &Change, format: Format) -> Result<String, ChangeError> {
    let mut text = text.to_owned();
    if let Some(description) = &change.description {
        text = describe(&text, description.trim())?;
    }
    for tag in &change.remove_tags {
        text = without_tag(&text, name(tag)?);
    }
    for tag in &change.add_tags {
        text = with_tag(&text, name(tag)?);
    }
    for (field, value) in &change.fields {
        let edited = match value {
            Some(value) => set(&text, *field, value, format)?,
            None => remove(&text, *field),
        };
        let (mut before, mut after) = (fields(&text), fields(&edited));
        if Line::read(&edited).value(*field).map(|value| told(*field, value)) != value.as_deref().map(Cow::Borrowed) {
            return Err(ChangeError::Entangled { field: *field });
        }
        clear(&mut before, *field);
        clear(&mut after, *field);
        if before != after {
            return Err(ChangeError::Entangled { field: *field });
        }
        text = edited;
    }
    Ok(text)
}

/// A tag's name, if what is written is one.
fn name(written: &str) -> Result<&str, ChangeError> {
    tag::tag_name(written).ok_or_else(|| ChangeError::Tag(written.to_owned()))
}

/// The value of a field as it is told.
fn told(field: Field, value: &str) -> Cow<'_, str> {
    match field {
        Field::Priority => Priority::read(value).map_or(Cow::Borrowed(value), |priority| priority.as_str().into()),
        _ => Cow::Borrowed(value),
    }
}

/// Makes `of` say nothing of `field`, and of how it is written.
fn clear(of: &mut TaskFields<'_>, field: Field) {
    of.format = None;
    match field {
        Field::Id => of.id = None,
        Field::DependsOn => of.depends_on.clear(),
        Field::Priority => of.priority = None,
        Field::Recurrence => of.recurrence = None,
        Field::OnCompletion => of.on_completion = None,
        Field::Created => of.created = None,
        Field::Start => of.start = None,
        Field::Scheduled => of.scheduled = None,
        Field::Due => of.due = None,
        Field::Cancelled => of.cancelled = None,
        Field::Done => of.done = None,
    }
}

fn set(text: &str, field: Field, value: &str, format: Format) -> Result<String, ChangeError> {
    let refused = || ChangeError::Value { field, value: value.to_owned() };
    if !field.accepts(value) || !value.is_ascii() || value.trim_matches(' ') != value {
        return Err(refused());
    }
    let line = Line::read(text);
    let written = |format| match (format, Priority::read(value)) {
        (Format::Emoji, Some(priority)) if field == Field::Priority => priority.symbol().to_string(),
        _ => value.to_owned(),
    };
    if let Some(token) = line.find(field) {
        let (before, after) = (text.get(..token.value.start), text.get(token.value.end..));
        return Ok([before.unwrap_or_default(), &written(token.format), after.unwrap_or_default()].concat());
    }
    let mut of_fields = line.tokens.iter().filter(|token| token.field.is_some());
    let format = of_fields.clone().next().map_or(format, |token| token.format);
    let at = match of_fields.clone().find(|token| token.field > Some(field)) {
        Some(next) => trimmed(text, next.range.start),
        None => of_fields.next_back().map_or(line.end, |last| last.range.end),
    };
    let value = written(format);
    let added = match (format, field.symbol()) {
        // One space hides every other field: the Tasks plugin writes two.
        (Format::Dataview, _) => format!("  [{}:: {value}]", field.key()),
        (Format::Emoji, Some(symbol)) => format!(" {symbol} {value}"),
        (Format::Emoji, None) => format!(" {value}"),
    };
    Ok(put(text, at, &added))
}

/// `text` with `added`, which begins with white space, at `at`.
fn put(text: &str, at: usize, added: &str) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let added = if before.is_empty() { added.trim_start() } else { added };
    let space = if after.is_empty() || after.starts_with(char::is_whitespace) { "" } else { " " };
    [before, added, space, after].concat()
}

fn remove(text: &str, field: Field) -> String {
    let mut text = text.to_owned();
    loop {
        let line = Line::read(&text);
        let Some(range) = line.find(field).map(|token| token.range.clone()) else { return text };
        text.replace_range(trimmed(&text, range.start)..range.end, "");
        if text.starts_with([' ', '\t']) {
            text = text.trim_start().to_owned();
        }
    }
}

fn describe(text: &str, description: &str) -> Result<String, ChangeError> {
    let line = Line::read(text);
    let mut edited = description.to_owned();
    let mut at = line.head;
    for token in &line.tokens {
        if token.field.is_some() {
            edited.push_str(text.get(at..token.range.end).unwrap_or_default());
        }
        at = token.range.end;
    }
    edited.push_str(text.get(at..).unwrap_or_default());
    let (mut before, mut after) = (fields(text), fields(&edited));
    let is_said = after.description == description && !description.contains(['\n', '\r']);
    for of in [&mut before, &mut after] {
        of.description = Cow::Borrowed("");
        of.tags.clear();
    }
    if is_said && before == after { Ok(edited) } else { Err(ChangeError::Description) }
}

fn with_tag(text: &str, name: &str) -> String {
    let line = Line::read(text);
    if tags(text.get(..line.end).unwrap_or_default()).any(|tag| fold(tag) == fold(name)) {
        return text.to_owned();
    }
    // Where the first field stands apart, before it; else behind all fields.
    let first = line.tokens.iter().find(|token| token.field.is_some()).map(|token| token.range.start);
    let end = first.map(|start| (start, trimmed(text, start))).filter(|(start, end)| *start == 0 || end < start);
    let at = end.map_or(line.end, |(_, end)| end);
    put(text, at, &format!(" #{name}"))
}

fn without_tag(text: &str, name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for at in memchr::memchr_iter(b'#', text.as_bytes()) {
        let Some(end) = tag::read(text, at) else { continue };
        if text.get(at + 1..end).is_none_or(|tag| fold(tag) != fold(name)) {
            continue;
        }
        let before = text.get(kept..at).unwrap_or_default();
        out.push_str(before.strip_suffix(' ').unwrap_or(before));
        kept = end;
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    if out.starts_with(' ') && kept > 0 { out.trim_start().to_owned() } else { out }
}

#[cfg(test)]
mod tests;
