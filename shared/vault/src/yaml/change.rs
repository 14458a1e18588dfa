//! A YAML text with another value: what is equal keeps its bytes, and so do comments.

use std::ops::Range;

use serde_json::{Map, Value};

use super::tree::{self, Entry, Item, Kind, Node};
use super::{MAX_DEPTH, YamlError, read, write};
use crate::lines::{line_end, line_start, next_line, spliced};

/// Why a text cannot get a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The text is not YAML.
    #[error(transparent)]
    Text(#[from] YamlError),
    /// The value is not one that could be read back.
    #[error("the value would not be read back: {0}")]
    Value(String),
    /// Something in the text depends on what would be changed, such as an alias.
    #[error("a part of it is written in a way that cannot be changed safely, such as an anchor or a long name")]
    Entangled,
}

/// `text` with `wanted` as its value. Of maps and lists only those values are written anew that differ; new ones are added at the end of their
/// map. Names of a map keep their order.
///
/// # Errors
/// If the text is not YAML, or if the value cannot be written into it so that it is read back.
pub fn with_value(text: &str, wanted: &Value) -> Result<String, ChangeError> {
    with_value_in(text, wanted, if text.contains("\r\n") { "\r\n" } else { "\n" })
}

/// The same, with the line break of new lines.
pub(crate) fn with_value_in(text: &str, wanted: &Value, line_break: &'static str) -> Result<String, ChangeError> {
    let text_start = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    let (mark, text) = text.split_at_checked(text_start).unwrap_or_default();
    let old = read(text)?;
    if is_same(&old, wanted) {
        return Ok(format!("{mark}{text}"));
    }
    if !write::is_within(wanted, MAX_DEPTH) {
        return Err(ChangeError::Value(format!("it nests deeper than {MAX_DEPTH} levels")));
    }
    let is_open = !text.is_empty() && !text.ends_with('\n');
    let whole = if is_open { format!("{text}{line_break}") } else { text.to_owned() };
    let mut change = Change { text: &whole, line_break, edits: Vec::new() };
    match tree::read(&whole).map_err(|_| ChangeError::Entangled)? {
        Some(root) => change.node(&root, &old, wanted, Place::Root),
        None => change.edits.push((whole.len()..whole.len(), change.lines(wanted, 0))),
    }
    let mut edited = spliced(&whole, change.edits);
    if is_open {
        edited.truncate(edited.strip_suffix(line_break).map_or(edited.len(), str::len));
    }
    match read(&edited) {
        Ok(value) if is_same(&value, wanted) => Ok(format!("{mark}{edited}")),
        Ok(_) => Err(ChangeError::Entangled),
        Err(error) => Err(ChangeError::Value(error.message)),
    }
}

/// Whether two values are the same. A text without a value and an empty map say the same.
pub(crate) fn is_same(left: &Value, right: &Value) -> bool {
    let is_empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
    left == right || is_empty(left) && is_empty(right)
}

/// Where a value stands, which decides how another is written there.
#[derive(Clone, Copy)]
enum Place {
    /// It is the whole text.
    Root,
    /// After a colon or hyphen whose line may have other lines below it: the end of that sign, and the column of what belongs to it.
    Lines { after: usize, column: usize, is_item: bool },
    /// Between brackets.
    Brackets,
}

struct Change<'t> {
    text: &'t str,
    line_break: &'static str,
    edits: Vec<(Range<usize>, String)>,
}

impl Change<'_> {
    /// Makes the value at `node` a new one.
    fn node(&mut self, node: &Node, old: &Value, new: &Value, place: Place) {
        if old == new {
            return;
        }
        let is_done = match (&node.kind, old, new) {
            (Kind::Map { in_braces, entries }, Value::Object(old), Value::Object(new)) => {
                self.map(*in_braces, entries, old, new)
            }
            (Kind::List { in_brackets, items }, Value::Array(old), Value::Array(new)) => {
                self.list(*in_brackets, items, old, new)
            }
            _ => false,
        };
        if !is_done {
            self.put(node, new, place);
        }
    }

    /// Changes a map value by value; `false` if it has to be written as a whole.
    fn map(&mut self, in_braces: bool, entries: &[Entry], old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
        let name = |entry: &Entry| entry.name.clone().filter(|name| old.contains_key(name));
        let Some(names) = entries.iter().map(name).collect::<Option<Vec<_>>>() else { return false };
        let stays: Vec<bool> = names.iter().map(|name| new.contains_key(name)).collect();
        let mut added = new.clone();
        added.retain(|name, _| !old.contains_key(name));
        if !stays.contains(&true) || in_braces && stays.contains(&false) {
            return false;
        }
        if !in_braces && !self.remove_entries(entries, &stays) {
            return false;
        }
        for (entry, name) in entries.iter().zip(&names) {
            if let (Some(old), Some(new)) = (old.get(name), new.get(name)) {
                let column = entry.key.start - line_start(self.text, entry.key.start);
                let place = match in_braces {
                    true => Place::Brackets,
                    false => Place::Lines { after: entry.colon, column, is_item: false },
                };
                self.node(&entry.value, old, new, place);
            }
        }
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return false };
        if added.is_empty() {
            return true;
        }
        let end = last.value.range.end.max(last.colon);
        if in_braces {
            let written = added.iter().map(|(name, value)| format!(", {}: {}", flow_text(name), flow(value)));
            self.edits.push((end..end, written.collect()));
        } else {
            let at = next_line(self.text, line_end(self.text, end));
            let mut lines = String::new();
            let column = first.key.start - line_start(self.text, first.key.start);
            write::entries(&added, column, self.line_break, &mut lines);
            self.edits.push((at..at, lines));
        }
        true
    }

    /// Removes the lines of the entries that do not stay. The first may begin behind a hyphen.
    fn remove_entries(&mut self, entries: &[Entry], stays: &[bool]) -> bool {
        let lines = |entry: &Entry| {
            let end = entry.value.range.end.max(entry.colon);
            line_start(self.text, entry.key.start)..next_line(self.text, line_end(self.text, end))
        };
        let begins_line = |entry: &Entry| {
            let before = self.text.get(line_start(self.text, entry.key.start)..entry.key.start).unwrap_or_default();
            before.bytes().all(|byte| byte == b' ')
        };
        let Some(first) = stays.iter().position(|stays| *stays) else { return false };
        let mut edits = Vec::new();
        let mut from = 0;
        if let (Some(old), Some(kept), Some(last)) =
            (entries.first(), entries.get(first), first.checked_sub(1).and_then(|last| entries.get(last)))
            && !begins_line(old)
        {
            let end = lines(last).end;
            let between = self.text.get(end..kept.key.start).unwrap_or_default();
            let edit = match between.trim().is_empty() {
                true => (old.key.start..kept.key.start, String::new()),
                // Comments of the entry that stays: they stay on lines of their own.
                false => (old.key.start..end, self.line_break.to_owned()),
            };
            edits.push(edit);
            from = first;
        }
        for (entry, stays) in entries.iter().zip(stays).skip(from) {
            if !stays {
                edits.push((lines(entry), String::new()));
            }
        }
        self.edits.extend(edits);
        true
    }

    /// Changes a list item by item; `false` if it has to be written as a whole.
    fn list(&mut self, in_brackets: bool, items: &[Item], old: &[Value], new: &[Value]) -> bool {
        if items.len() != old.len() || old.is_empty() || new.is_empty() {
            return false;
        }
        let before = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let most = old.len().min(new.len()) - before;
        let after = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
        let (gone, come) = (before..old.len() - after, before..new.len() - after);
        let (Some(items_gone), Some(gone), Some(come)) = (items.get(gone.clone()), old.get(gone), new.get(come)) else {
            return false;
        };
        // A comment stays with its item: only one item, or one with parts, is still the same if it is changed.
        let has_parts = |value: &Value| value.is_object() || value.is_array();
        let is_same = |(old, new): (&Value, &Value)| has_parts(old) && has_parts(new);
        if gone.len() == come.len() && (gone.len() == 1 || gone.iter().zip(come).all(is_same)) {
            for ((item, old), new) in items_gone.iter().zip(gone).zip(come) {
                let column = item.hyphen.saturating_sub(1);
                let column = column - line_start(self.text, column);
                let place = match in_brackets {
                    true => Place::Brackets,
                    false => Place::Lines { after: item.hyphen, column, is_item: true },
                };
                self.node(&item.value, old, new, place);
            }
            return true;
        }
        let previous = before.checked_sub(1).and_then(|at| items.get(at));
        let next = items.get(before + gone.len());
        match in_brackets {
            true => self.bracketed(previous, items_gone, next, come),
            false => self.item_lines(items, previous, items_gone, come),
        }
    }

    /// Replaces items between brackets.
    fn bracketed(&mut self, previous: Option<&Item>, gone: &[Item], next: Option<&Item>, come: &[Value]) -> bool {
        let written = come.iter().map(flow).collect::<Vec<_>>().join(", ");
        let range = |item: &Item| item.value.range.clone();
        let edit = match (gone.first().map(range), gone.last().map(range), previous.map(range), next.map(range)) {
            (Some(first), Some(last), ..) if !come.is_empty() => (first.start..last.end, written),
            (Some(first), _, _, Some(next)) => (first.start..next.start, String::new()),
            (Some(_), Some(last), Some(previous), None) => (previous.end..last.end, String::new()),
            (None, _, Some(previous), _) => (previous.end..previous.end, format!(", {written}")),
            (None, _, None, Some(next)) => (next.start..next.start, format!("{written}, ")),
            _ => return false,
        };
        self.edits.push(edit);
        true
    }

    /// Replaces items that stand on lines of their own.
    fn item_lines(&mut self, items: &[Item], previous: Option<&Item>, gone: &[Item], come: &[Value]) -> bool {
        let start = |item: &Item| line_start(self.text, item.hyphen.saturating_sub(1));
        let end = |item: &Item| next_line(self.text, line_end(self.text, item.value.range.end.max(item.hyphen)));
        let Some(first) = items.first() else { return false };
        let column = (first.hyphen.saturating_sub(1)) - start(first);
        let before = self.text.get(start(first)..start(first) + column).unwrap_or_default();
        if !before.bytes().all(|byte| byte == b' ') {
            return false;
        }
        let at = previous.map_or_else(|| start(first), end);
        let mut edits: Vec<_> = gone.iter().map(|item| (start(item)..end(item), String::new())).collect();
        if !come.is_empty() {
            let mut lines = String::new();
            write::block(&Value::Array(come.to_vec()), column, self.line_break, &mut lines);
            edits.insert(0, (at..at, lines));
        }
        self.edits.extend(edits);
        true
    }

    /// Writes a value where another stands.
    fn put(&mut self, node: &Node, new: &Value, place: Place) {
        let edit = match place {
            Place::Brackets => (node.range.clone(), flow(new)),
            Place::Root => {
                let start = line_start(self.text, node.range.start);
                (start..next_line(self.text, line_end(self.text, node.range.end)), self.lines(new, 0))
            }
            Place::Lines { after, column, is_item } => {
                let end = next_line(self.text, line_end(self.text, node.range.end.max(after)));
                let value = after..node.range.end.max(after);
                (after..end, replacement(self.text, &value, end, new, column, is_item, self.line_break))
            }
        };
        self.edits.push(edit);
    }

    fn lines(&self, value: &Value, indent: usize) -> String {
        let mut lines = String::new();
        match write::inline(value) {
            Some(text) => lines.extend([&text, self.line_break]),
            None => write::block(value, indent, self.line_break, &mut lines),
        }
        lines
    }
}

/// The text that replaces `value`, which begins after a colon or hyphen, to the end of its lines. A comment on the line of that sign, or after
/// a value of one line, stays.
pub(crate) fn replacement(
    yaml: &str,
    value: &Range<usize>,
    lines_end: usize,
    new: &Value,
    column: usize,
    is_item: bool,
    line_break: &str,
) -> String {
    let old = yaml.get(value.clone()).unwrap_or_default();
    let first_line = old.get(..line_end(old, 0)).unwrap_or_default();
    let rest = yaml.get(value.end..lines_end).unwrap_or_default();
    let (comment, end) = if first_line.len() == old.len() {
        rest.split_at_checked(line_end(rest, 0)).unwrap_or_default()
    } else if first_line.trim_start().starts_with('#') {
        (first_line, line_break)
    } else {
        ("", line_break)
    };
    if let Some(text) = write::inline(new) {
        return format!(" {text}{comment}{end}");
    }
    let mut lines = String::new();
    write::block(new, column + 2, line_break, &mut lines);
    // The first entry of an item begins on the line of its hyphen.
    match is_item && comment.trim().is_empty() {
        true => format!(" {}", lines.trim_start_matches(' ')),
        false => format!("{comment}{end}{lines}"),
    }
}

/// A value in one line, for places between brackets.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => flow_text(text),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(name, value)| format!("{}: {}", flow_text(name), flow(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn flow_text(text: &str) -> String {
    if text.contains([',', '[', ']', '{', '}']) { write::quoted(text) } else { write::string(text) }
}
