//! Changes JSON texts value by value, and keeps every other byte. `serde_json` reads the texts; this module tracks the
//! position of each value.

mod string;

use std::fmt;
use std::ops::Range;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::ser::PrettyFormatter;
use serde_json::value::RawValue;

pub(crate) use string::{escaped, escaped_to_ascii};

use crate::lines::line_break;

/// Most members of an object, and most elements of an array.
pub const MAX_ITEMS: usize = 100_000;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The byte range of a part of a JSON text.
pub type Span = Range<usize>;

/// Why a text is not valid JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct JsonError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The problem.
    pub message: String,
}

impl JsonError {
    /// An error at the byte `offset` of `text`.
    #[must_use]
    pub fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..text.floor_char_boundary(offset)).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self { line: before.matches('\n').count() + 1, column, message: message.into() }
    }
}

/// A JSON text that is being changed. Spans refer to the original text; [`finish`](Self::finish) applies all changes at
/// once.
#[derive(Debug)]
pub struct JsonText<'a> {
    text: &'a str,
    edits: Vec<(Span, String)>,
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name, decoded.
    pub name: String,
    /// The span of its value.
    pub value: Span,
}

/// The layout of a new value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// On one line.
    OneLine,
    /// Indented like its surroundings, if these are.
    Indented,
}

impl<'a> JsonText<'a> {
    /// Reads a text. A byte order mark before it is kept.
    ///
    /// # Errors
    /// When it is not one JSON value.
    pub fn read(text: &'a str) -> Result<Self, JsonError> {
        let start = mark(text);
        let json = text.get(start..).unwrap_or_default();
        serde_json::from_str::<&RawValue>(json).map_err(|error| problem(text, start, &error))?;
        Ok(Self { text, edits: Vec::new() })
    }

    /// The original text.
    #[must_use]
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// The span of the whole value.
    #[must_use]
    pub fn root(&self) -> Span {
        let json = self.text.get(mark(self.text)..).unwrap_or_default();
        self.text.len() - json.trim_start().len()..self.text.trim_end().len()
    }

    /// The text at `span`.
    #[must_use]
    pub fn written(&self, span: &Span) -> &'a str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// The value at `span`.
    ///
    /// # Errors
    /// When it nests too deeply, or has an invalid number.
    pub fn value<T: Deserialize<'a>>(&self, span: &Span) -> Result<T, JsonError> {
        serde_json::from_str(self.written(span)).map_err(|error| problem(self.text, span.start, &error))
    }

    /// The members of the object at `span`, in order; names may repeat.
    ///
    /// # Errors
    /// When it is not an object, or has more than [`MAX_ITEMS`] members.
    pub fn members(&self, span: &Span) -> Result<Vec<Member>, JsonError> {
        let Members(members) = self.value(span)?;
        let member = |(name, value): (String, &RawValue)| Member { name, value: self.span(value) };
        Ok(members.into_iter().map(member).collect())
    }

    /// The elements of the array at `span`, in order.
    ///
    /// # Errors
    /// When it is not an array, or has more than [`MAX_ITEMS`] elements.
    pub fn elements(&self, span: &Span) -> Result<Vec<Span>, JsonError> {
        let Elements(elements) = self.value(span)?;
        Ok(elements.into_iter().map(|element| self.span(element)).collect())
    }

    /// The span of a value that was read from the text.
    pub(crate) fn span(&self, value: &RawValue) -> Span {
        let start = value.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        start..start + value.get().len()
    }

    /// Replaces the value at `span`.
    pub fn replace(&mut self, span: &Span, value: &Value) {
        self.edits.push((span.clone(), value.to_string()));
    }

    /// Replaces the value at `span` by JSON that is already written.
    pub(crate) fn put(&mut self, span: &Span, written: &str) {
        self.edits.push((span.clone(), written.to_owned()));
    }

    /// Adds members to the end of the object at `object`, whose members are `members`.
    pub fn add_members(&mut self, object: &Span, members: &[Member], new: &[(&str, &Value)], layout: Layout) {
        self.change_members(object, members, &[], new, layout);
    }

    /// Changes the object at `object`, whose members are `members`: those with an index in `gone`, which is ascending,
    /// are removed, and `new` ones are added at its end.
    pub fn change_members(
        &mut self,
        object: &Span,
        members: &[Member],
        gone: &[usize],
        new: &[(&str, &Value)],
        layout: Layout,
    ) {
        let mut at = object.start + 1;
        let mut items = Vec::with_capacity(members.len());
        for member in members {
            let before = self.written(&(at..member.value.start));
            items.push(at + before.find('"').unwrap_or_default()..member.value.end);
            at = member.value.end;
        }
        let gap = self.gap(object, &items);
        let colon = match members.last() {
            Some(last) => self.colon(last),
            None if gap.contains('\n') => ": ",
            None => ":",
        };
        let member = |(name, value): &(&str, &Value)| {
            format!("{}{colon}{}", Value::from(*name), self.laid_out(value, &gap, layout))
        };
        let new: Vec<String> = new.iter().map(member).collect();
        self.change_items(object, &items, gone, &gap, &new);
    }

    /// Changes the array at `array`, whose elements are `elements`: those with an index in `gone`, which is ascending,
    /// are removed, and `new` ones are added at its end.
    pub fn change_elements(&mut self, array: &Span, elements: &[Span], gone: &[usize], new: &[Value], layout: Layout) {
        let gap = self.gap(array, elements);
        let new: Vec<String> = new.iter().map(|value| self.laid_out(value, &gap, layout)).collect();
        self.change_items(array, elements, gone, &gap, &new);
    }

    fn change_items(&mut self, container: &Span, items: &[Span], gone: &[usize], gap: &str, new: &[String]) {
        let between = format!(",{gap}");
        let joined = new.join(&between);
        let is_gone = |index: usize| gone.binary_search(&index).is_ok();
        let first_kept = (0..items.len()).find(|index| !is_gone(*index));
        let (Some(first_kept), Some(first), Some(last)) = (first_kept, items.first(), items.last()) else {
            let inside = container.start + 1..container.end.saturating_sub(1);
            if !new.is_empty() {
                // The closing bracket of an indented container is indented one step less than its content.
                let close = gap.get(last_break(gap)..).unwrap_or_default();
                let close = close.strip_suffix(self.unit()).unwrap_or(close);
                self.edits.push((inside, format!("{gap}{joined}{close}")));
            } else if !gone.is_empty() {
                self.edits.push((inside, String::new()));
            }
            return;
        };
        if let Some(kept) = items.get(first_kept).filter(|_| first_kept > 0) {
            self.edits.push((first.start..kept.start, String::new()));
        }
        for index in gone.iter().filter(|index| **index > first_kept) {
            if let (Some(before), Some(item)) = (items.get(index - 1), items.get(*index)) {
                self.edits.push((before.end..item.end, String::new()));
            }
        }
        if !new.is_empty() {
            self.edits.push((last.end..last.end, format!("{between}{joined}")));
        }
    }

    /// The white space before each item of a container: that before its last one.
    fn gap(&self, container: &Span, items: &[Span]) -> String {
        let last = items.last().map(|span| span.start);
        let before = items.len().checked_sub(2).and_then(|at| items.get(at)).map(|span| span.end);
        match (before, last) {
            (Some(before), Some(last)) => {
                self.written(&(before..last)).trim_start().strip_prefix(',').unwrap_or_default().to_owned()
            }
            (None, Some(last)) => self.written(&(container.start + 1..last)).to_owned(),
            // An empty container in a text of several lines.
            (_, None) if self.text.contains('\n') => {
                let line_start = self.text.get(..container.start).and_then(|before| before.rfind('\n'));
                let line = self.text.get(line_start.map_or(0, |at| at + 1)..).unwrap_or_default();
                let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
                let line_break = line_break(self.text).unwrap_or("\n");
                format!("{line_break}{}{}", line.get(..indent).unwrap_or_default(), self.unit())
            }
            (_, None) => String::new(),
        }
    }

    /// The text between the name and the value of a member.
    fn colon(&self, member: &Member) -> &'a str {
        let before = self.text.get(..member.value.start).unwrap_or_default();
        let name_end = before.trim_end().trim_end_matches(':').trim_end().len();
        before.get(name_end..).unwrap_or(":")
    }

    /// One step of the text's indentation.
    fn unit(&self) -> &'a str {
        let indents = self.text.lines().skip(1).map(|line| {
            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            line.get(..indent).unwrap_or_default()
        });
        indents.into_iter().find(|indent| !indent.is_empty()).unwrap_or(if self.text.contains('\n') {
            "\t"
        } else {
            ""
        })
    }

    fn laid_out(&self, value: &Value, gap: &str, layout: Layout) -> String {
        if layout != Layout::Indented || !gap.contains('\n') {
            return value.to_string();
        }
        let mut out = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.unit().as_bytes());
        let written = value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, formatter));
        match (written, String::from_utf8(out)) {
            // A JSON string contains no literal line break.
            (Ok(()), Ok(text)) => text.replace('\n', gap.get(last_break(gap)..).unwrap_or("\n")),
            _ => value.to_string(),
        }
    }

    /// The text with the changes. Of overlapping changes, the one that begins first counts.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.edits.sort_by_key(|(span, _)| (span.start, span.end));
        let mut out = String::with_capacity(self.text.len() + 256);
        let mut at = 0;
        for (span, new) in &self.edits {
            if span.start < at {
                continue;
            }
            out.push_str(self.text.get(at..span.start).unwrap_or_default());
            out.push_str(new);
            at = span.end;
        }
        out.push_str(self.text.get(at..).unwrap_or_default());
        out
    }
}

/// Where the last line break of `gap` begins; its end if it has none.
fn last_break(gap: &str) -> usize {
    gap.rfind('\n')
        .map_or(gap.len(), |at| gap.get(..at).map_or(at, |before| before.strip_suffix('\r').map_or(at, str::len)))
}

/// The number of bytes of the byte order mark before a text.
fn mark(text: &str) -> usize {
    if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 }
}

/// The error of `serde_json` for a part of `text` that begins at `offset`.
fn problem(text: &str, offset: usize, error: &serde_json::Error) -> JsonError {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    let part = text.get(offset..).unwrap_or_default();
    let lines = part.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    JsonError::at(text, offset + lines + error.column().saturating_sub(1), message)
}

struct Members<'a>(Vec<(String, &'a RawValue)>);
struct Elements<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    if members.len() == MAX_ITEMS {
                        return Err(serde::de::Error::custom(format_args!("more than {MAX_ITEMS} members")));
                    }
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Read).map(Self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Elements<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = seq.next_element()? {
                    if elements.len() == MAX_ITEMS {
                        return Err(serde::de::Error::custom(format_args!("more than {MAX_ITEMS} elements")));
                    }
                    elements.push(element);
                }
                Ok(elements)
            }
        }
        deserializer.deserialize_seq(Read).map(Self)
    }
}

#[cfg(test)]
mod tests;
