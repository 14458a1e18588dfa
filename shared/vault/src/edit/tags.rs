//! Adds tags to a note and removes them: in the frontmatter's list, which keeps its style, or in the text. Every result is parsed again
//! to check it.

use std::ops::Range;

use serde_json::{Map, Value};

use super::entries::{Entry, Items, entries};
use super::error::Problem;
use super::properties::{self, frontmatter, spliced, verified};
use super::splice::{self, line_start};
use crate::fold::fold;
use crate::frontmatter::tags;
use crate::lines::{line_end, next_line};
use crate::note::{Frontmatter, parse};
use crate::tag::tag_name;
use crate::task::after_marker;
use crate::yaml::write as yaml;

/// `text` with the tag `name` added to its frontmatter. `None` if it already has the tag; case does not matter.
///
/// # Errors
/// When the frontmatter cannot be changed safely.
pub fn add_tag(text: &str, name: &str) -> Result<Option<String>, Problem> {
    let Some(found) = frontmatter(text) else {
        return properties::set(text, &one("tags", Value::from(vec![name]))).map(Some);
    };
    let properties = found.properties.clone()?;
    if tags(&properties).iter().any(|tag| fold(&tag.name) == fold(name)) {
        return Ok(None);
    }
    let key = keys(&properties).into_iter().next().unwrap_or_else(|| "tags".to_owned());
    let key = key.as_str();
    let value = match properties.get(key) {
        None | Some(Value::Null) => Value::from(vec![name]),
        Some(Value::String(written)) if written.trim().is_empty() => Value::from(vec![name]),
        Some(Value::String(written)) => {
            let written = written.trim_end();
            let between = if !written.contains(',') && written.contains(char::is_whitespace) { " " } else { ", " };
            Value::from(format!("{written}{between}{name}"))
        }
        Some(Value::Number(number)) => Value::from(vec![Value::from(number.clone()), Value::from(name)]),
        Some(Value::Array(written)) => Value::from_iter(written.iter().cloned().chain([Value::from(name)])),
        Some(_) => return Err(Problem::TagsStyle),
    };
    let spliced = added_item(text, &found, key, name).and_then(|edited| expect(edited, &properties, key, Some(&value)));
    spliced.map_or_else(|| properties::set(text, &one(key, value)), Ok).map(Some)
}

/// `text` without the tag `name` in its frontmatter. `None` if it does not have the tag; case does not matter. A
/// property without tags left is removed, and so is a frontmatter without properties left.
///
/// # Errors
/// When the frontmatter cannot be changed safely.
pub fn remove_tag(text: &str, name: &str) -> Result<Option<String>, Problem> {
    let Some(found) = frontmatter(text) else { return Ok(None) };
    let mut edited = text.to_owned();
    for key in keys(&found.properties.clone()?) {
        edited = without(&edited, &key, name)?;
    }
    Ok((edited != text).then_some(edited))
}

/// `text` with `#name` on a line of its own at the end, or at the byte offset `at`, separated by spaces from the text around it.
///
/// # Errors
/// When it would not be read as a tag there, for example inside code.
pub fn add_inline_tag(text: &str, name: &str, at: Option<usize>) -> Result<Option<String>, Problem> {
    let before = written(text);
    if before.iter().any(|(tag, _)| fold(tag) == fold(name)) {
        return Ok(None);
    }
    let tag = format!("#{name}");
    let edited = match at {
        None => splice::insert(text, text.len(), &tag),
        Some(at) => {
            let (above, below) = text.split_at_checked(at).ok_or(Problem::TagHidden)?;
            if above.ends_with('\r') && below.starts_with('\n') {
                return Err(Problem::TagHidden);
            }
            let space = |is_wanted: bool| if is_wanted { " " } else { "" };
            let first = space(!above.is_empty() && !above.ends_with(char::is_whitespace));
            let last = space(!below.is_empty() && !below.starts_with(char::is_whitespace));
            [above, first, &tag, last, below].concat()
        }
    };
    let after = written(&edited).len();
    if after != before.len() + 1 || parse(&edited).properties() != parse(text).properties() {
        return Err(Problem::TagHidden);
    }
    Ok(Some(edited))
}

/// `text` without `#name` in its body. Case does not matter. One space before each tag is removed too, and a line with
/// nothing else is removed whole; so is one with only the marker of an item that has no lines below. `None` if the tag
/// does not occur.
///
/// # Errors
/// When the rest of the note would change its meaning.
pub fn remove_inline_tag(text: &str, name: &str) -> Result<Option<String>, Problem> {
    let all = written(text);
    let (gone, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(|(tag, _)| fold(tag) == fold(name));
    if gone.is_empty() {
        return Ok(None);
    }
    let mut edited = String::with_capacity(text.len());
    let mut at = 0;
    let mut gone = gone.into_iter().map(|(_, range)| range).peekable();
    while let Some(first) = gone.next() {
        let line = line_start(text, first.start)..line_end(text, first.end);
        let mut rest = String::new();
        let mut from = line.start;
        let mut next = Some(first);
        while let Some(range) = next {
            let before = text.get(from..range.start).unwrap_or_default();
            rest.push_str(before.strip_suffix(' ').unwrap_or(before));
            from = range.end;
            next = gone.next_if(|range| range.start < line.end);
        }
        let after = text.get(from..line.end).unwrap_or_default();
        rest.push_str(if rest.is_empty() { after.strip_prefix(' ').unwrap_or(after) } else { after });
        edited.push_str(text.get(at..line.start).unwrap_or_default());
        at = line.end;
        if !is_bare(&rest) || is_continued(&rest, text.get(line.end..).unwrap_or_default()) {
            edited.push_str(&rest);
        } else if line.end < text.len() {
            at = next_line(text, line.end);
        } else {
            // The last line is removed together with the line break before it.
            edited.truncate(edited.len() - edited.len().min(break_length(&edited)));
        }
    }
    edited.push_str(text.get(at..).unwrap_or_default());
    let levels = |text: &str| parse(text).headings.into_iter().map(|heading| heading.level).collect::<Vec<_>>();
    let (kept, left) = (kept.into_iter().map(|(tag, _)| tag), written(&edited).into_iter().map(|(tag, _)| tag));
    if !left.eq(kept) || levels(text) != levels(&edited) {
        return Err(Problem::TagNeeded);
    }
    Ok(Some(edited))
}

/// A line without its indent, and the `>` of quotes.
fn unquoted(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '>'])
}

/// Whether a line has nothing but the markers of quotes and items, and a check box.
fn is_bare(line: &str) -> bool {
    let spaced = format!("{} ", line.trim_end());
    let mut rest = unquoted(&spaced);
    let mut is_item = false;
    while let Some(inner) = after_marker(rest) {
        rest = unquoted(inner);
        is_item = true;
    }
    let status = rest.trim_end().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    rest.is_empty() || is_item && status.is_some_and(|status| status.chars().count() == 1)
}

/// Whether the line below, with which `below` begins after a break, belongs to the item that begins on `line`.
fn is_continued(line: &str, below: &str) -> bool {
    let mut lines = below.get(next_line(below, 0)..).unwrap_or_default().lines();
    let indent = |line: &str| line.len() - unquoted(line).len();
    let is_blank = |line: &str| unquoted(line).trim().is_empty();
    !is_blank(line) && lines.find(|next| !is_blank(next)).is_some_and(|next| indent(next) > indent(line))
}

fn break_length(text: &str) -> usize {
    if text.ends_with("\r\n") { 2 } else { usize::from(text.ends_with(['\n', '\r'])) }
}

/// The tags in the body, with their ranges.
fn written(text: &str) -> Vec<(String, Range<usize>)> {
    parse(text).tags.into_iter().filter_map(|tag| Some((tag.name, tag.range?))).collect()
}

fn one(key: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value)])
}

/// The properties that contain tags. New tags go into the first one.
fn keys(properties: &Map<String, Value>) -> Vec<String> {
    let named = |name: &'static str| properties.keys().filter(move |key| key.eq_ignore_ascii_case(name));
    named("tags").chain(named("tag")).cloned().collect()
}

/// `edited`, if it has the same `properties` except for `key`, which has the new `value` or is removed.
fn expect(edited: String, properties: &Map<String, Value>, key: &str, value: Option<&Value>) -> Option<String> {
    let mut expected = properties.clone();
    match value {
        Some(value) => expected.insert(key.to_owned(), value.clone()),
        None => expected.remove(key),
    };
    verified(edited, &expected, || Problem::TagsStyle).ok()
}

/// The list at `key`, with its entry.
fn list(yaml: &str, key: &str) -> Option<(Entry, Items)> {
    let mut entry = entries(yaml).ok()?.into_iter().find(|entry| entry.name == key)?;
    let items = entry.items.take()?;
    Some((entry, items))
}

/// `text` with `name` added to the list at `key`, in the list's own style.
fn added_item(text: &str, found: &Frontmatter, key: &str, name: &str) -> Option<String> {
    let yaml = text.get(found.range.clone())?;
    let (entry, list) = list(yaml, key)?;
    let (_, last) = list.items.last()?;
    let name = yaml::string(name);
    let (at, added) = if list.flow {
        (last.end, format!(", {name}"))
    } else {
        let before = yaml.get(line_start(yaml, last.start)..last.start)?;
        let line_break = splice::line_break(text).unwrap_or("\n");
        (entry.lines.end, format!("{before}{name}{line_break}"))
    };
    let at = at + found.range.start;
    Some(spliced(text, at..at, &added))
}

/// `text` without the tag `name` in the property `key`.
fn without(text: &str, key: &str, name: &str) -> Result<String, Problem> {
    let Some(found) = frontmatter(text) else { return Ok(text.to_owned()) };
    let properties = found.properties.clone()?;
    let is_it = |tag: &str| tag_name(tag).is_some_and(|tag| fold(tag) == fold(name));
    let left = match properties.get(key) {
        Some(Value::Array(written)) => {
            let left: Vec<Value> =
                written.iter().filter(|value| value.as_str().is_none_or(|tag| !is_it(tag))).cloned().collect();
            if left.len() == written.len() {
                return Ok(text.to_owned());
            }
            (!left.is_empty()).then(|| Value::from(left))
        }
        Some(Value::String(written)) => {
            let Some(left) = without_word(written, is_it) else { return Ok(text.to_owned()) };
            (!left.is_empty()).then(|| Value::from(left))
        }
        _ => return Ok(text.to_owned()),
    };
    let Some(left) = left else {
        let edited = properties::remove_properties(text, &[key.to_owned()])?;
        let is_empty = |found: &Frontmatter| edited.get(found.range.clone()).is_some_and(|yaml| yaml.trim().is_empty());
        return match frontmatter(&edited) {
            Some(found) if is_empty(&found) => properties::replace_frontmatter(&edited, &Map::new()).or(Ok(edited)),
            _ => Ok(edited),
        };
    };
    let spliced = removed_items(text, &found, key, is_it);
    let spliced = spliced.and_then(|edited| expect(edited, &properties, key, Some(&left)));
    spliced.map_or_else(|| properties::set(text, &one(key, left)), Ok)
}

/// `written` without the words for which `is_it` holds, each removed with the separator before it.
fn without_word(written: &str, is_it: impl Fn(&str) -> bool) -> Option<String> {
    let parts = |c: char| c == ',' || c.is_whitespace();
    let mut out = String::new();
    let mut changed = false;
    let mut rest = written;
    while !rest.is_empty() {
        let start = rest.find(|c| !parts(c)).unwrap_or(rest.len());
        let end = rest.get(start..).and_then(|word| word.find(parts)).map_or(rest.len(), |length| start + length);
        let (word, after) = rest.split_at_checked(end)?;
        if word.get(start..).is_some_and(|word| !word.is_empty() && is_it(word)) {
            changed = true;
        } else if out.is_empty() {
            out.push_str(word.get(start..)?);
        } else {
            out.push_str(word);
        }
        rest = after;
    }
    changed.then_some(out)
}

/// `text` without the items of the list at `key` for which `is_it` holds, each removed with its line or its comma.
fn removed_items(text: &str, found: &Frontmatter, key: &str, is_it: impl Fn(&str) -> bool) -> Option<String> {
    let yaml = text.get(found.range.clone())?;
    let (_, list) = list(yaml, key)?;
    let mut out = String::new();
    let mut at = 0;
    for (index, (value, range)) in list.items.iter().enumerate() {
        if !is_it(value) {
            continue;
        }
        let gone = if list.flow {
            let next = list.items.get(index + 1).map(|(_, next)| next.start);
            let before = index.checked_sub(1).and_then(|before| list.items.get(before));
            match (next, before) {
                (Some(next), _) => range.start..next,
                (None, Some((_, before))) => before.end..range.end,
                (None, None) => range.clone(),
            }
        } else {
            let line = line_start(yaml, range.start)..next_line(yaml, line_end(yaml, range.end));
            let marker = yaml.get(line.start..range.start)?.trim();
            (marker == "-").then_some(line)?
        };
        out.push_str(yaml.get(at..gone.start.max(at))?);
        at = gone.end.max(at);
    }
    out.push_str(yaml.get(at..)?);
    Some(spliced(text, found.range.clone(), &out))
}
