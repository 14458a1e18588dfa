//! Changes fields in the text of a task, and no other byte of it. The result is read again, and refused unless it has the requested
//! values.

use std::borrow::Cow;
use std::ops::Range;

use super::fields::{TaskFields, fields, tags};
use super::line::{Line, trimmed};
use super::symbols::{Field, Format, Priority, Status};
use crate::fold::fold;
use crate::note::parse;
use crate::tag;

/// The changes to make to a task's text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// The new description, with its tags.
    pub description: Option<String>,
    /// New values, by field; `None` removes the field.
    pub fields: Vec<(Field, Option<String>)>,
    /// Tags to add at the end of the description, with or without `#`. An existing tag stays unchanged.
    pub add_tags: Vec<String>,
    /// Tags to remove; case does not matter.
    pub remove_tags: Vec<String>,
}

/// Why a task cannot be changed as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The value does not fit the field.
    #[error("{value:?} cannot be written as a task's {}", field.key())]
    Value {
        /// The field.
        field: Field,
        /// The value.
        value: String,
    },
    /// The text would not be read as a tag.
    #[error("{0:?} cannot be a tag: write letters, digits, _, - and /, and more than a number")]
    Tag(String),
    /// The settings of the Tasks plugin leave the status out.
    #[error("the settings of the vault's plugin Tasks have no status {}: take another, or a person adds it there", .0.as_str())]
    Status(Status),
    /// The description does not fit.
    #[error("the description must be one line of text that does not end in a task's fields or a block id")]
    Description,
    /// The text around the field would change its meaning too.
    #[error("the text around the task's {} would change its meaning; replace the line instead", field.key())]
    Entangled {
        /// The field.
        field: Field,
    },
}

/// The task text `text` after `change`. `tags` are the ranges of its tags, from parsing the note. A new field is
/// written in the format of the text's other fields, or in `format` if there are none.
///
/// # Errors
/// When something cannot be written so that it is read back with the requested value.
pub fn change(text: &str, tags: &[Range<usize>], change: &Change, format: Format) -> Result<String, ChangeError> {
    let mut text = text.to_owned();
    let mut tags = Cow::Borrowed(tags);
    if let Some(description) = &change.description {
        text = describe(&text, description.trim())?;
        tags = tags_alone(&text).into();
    }
    let gone: Vec<String> = change.remove_tags.iter().map(|tag| name(tag).map(fold)).collect::<Result<_, _>>()?;
    text = without_tags(&text, &tags, &gone);
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

/// A tag's name, if `written` is a tag.
fn name(written: &str) -> Result<&str, ChangeError> {
    tag::tag_name(written).ok_or_else(|| ChangeError::Tag(written.to_owned()))
}

/// The value of a field in its canonical spelling.
fn told(field: Field, value: &str) -> Cow<'_, str> {
    match field {
        Field::Priority => Priority::read(value).map_or(Cow::Borrowed(value), |priority| priority.as_str().into()),
        _ => Cow::Borrowed(value),
    }
}

/// Clears `field` and the format in `of`.
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
        // The Tasks plugin writes two spaces: with one space it would miss every other field.
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

/// Removes all occurrences of `field`. If there are too many to be read, some are left, and the result is refused later.
fn remove(text: &str, field: Field) -> String {
    let line = Line::read(text);
    let of_field = line.tokens.iter().filter(|token| token.field == Some(field));
    let gone: Vec<_> = of_field.map(|token| trimmed(text, token.range.start)..token.range.end).collect();
    without(text, &gone)
}

/// `text` without these ranges, which are in order, and without white space at the start of the result.
fn without(text: &str, gone: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in gone {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    if !gone.is_empty() && out.starts_with([' ', '\t']) { out.trim_start().to_owned() } else { out }
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
    // Before the first field if space separates it from the text; else after all fields.
    let first = line.tokens.iter().find(|token| token.field.is_some()).map(|token| token.range.start);
    let end = first.map(|start| (start, trimmed(text, start))).filter(|(start, end)| *start == 0 || end < start);
    let at = end.map_or(line.end, |(_, end)| end);
    put(text, at, &format!(" #{name}"))
}

/// `text` without those of its tags that have one of these names. One space before each tag is removed too.
fn without_tags(text: &str, tags: &[Range<usize>], names: &[String]) -> String {
    let is_gone = |tag: &&Range<usize>| {
        let name = text.get(tag.start + 1..tag.end).map(fold);
        name.is_some_and(|name| names.contains(&name))
    };
    let with_space = |tag: &Range<usize>| {
        let has_space = text.get(..tag.start).is_some_and(|before| before.ends_with(' '));
        tag.start - usize::from(has_space)..tag.end
    };
    without(text, &tags.iter().filter(is_gone).map(with_space).collect::<Vec<_>>())
}

/// The ranges of the tags in a task's text, parsed without its note.
fn tags_alone(text: &str) -> Vec<Range<usize>> {
    const BEFORE: &str = "- [ ] ";
    let places = parse(&[BEFORE, text].concat()).tags.into_iter().filter_map(|tag| tag.range);
    places.filter_map(|tag| Some(tag.start.checked_sub(BEFORE.len())?..tag.end.checked_sub(BEFORE.len())?)).collect()
}

#[cfg(test)]
mod tests;
