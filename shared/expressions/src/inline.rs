//! Inline fields of Dataview: `Key:: value` on a line of its own, `[key:: value]` and `(key:: value)` within one.

use jiff::tz::TimeZone;

use crate::emoji;
use crate::syntax::cursor::Cursor;
use crate::syntax::dataview::{link, string};
use crate::time::read;
use crate::value::{Link, Value};

/// Longest line that is looked at, in bytes.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// A field as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<'l> {
    /// Its name, trimmed.
    pub key: &'l str,
    /// Its value's text, trimmed; [`value`] says what it is.
    pub value: &'l str,
    /// Where it begins in the line, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// The fields in brackets of a line, in order. A field in the value of one in other brackets is there too. Takes time that grows with the
/// line's length.
#[must_use]
pub fn in_brackets(line: &str) -> Vec<Field<'_>> {
    if line.len() > MAX_LINE_BYTES || !line.contains("::") {
        return Vec::new();
    }
    let mut fields = wrapped(line, b'[', b']');
    fields.extend(wrapped(line, b'(', b')'));
    fields.sort_by_key(|field| field.start);
    fields
}

fn wrapped(line: &str, open: u8, close: u8) -> Vec<Field<'_>> {
    let bytes = line.as_bytes();
    let closers = closers(bytes, open, close);
    let brackets: Vec<usize> =
        (0..bytes.len()).filter(|at| matches!(bytes.get(*at), Some(b'[' | b']' | b'(' | b')'))).collect();
    let mut fields: Vec<Field<'_>> = Vec::new();
    for (at, start) in brackets.iter().copied().enumerate() {
        let after = fields.last().is_none_or(|field| start >= field.end);
        if bytes.get(start) != Some(&open) || !after {
            continue;
        }
        // A name has no brackets, so the sign stands before the next.
        let next = brackets.get(at + 1).copied().unwrap_or(bytes.len());
        let Some(name) = line.get(start + 1..next) else { continue };
        let Some(sign) = name.find("::").map(|sign| start + 1 + sign) else { continue };
        let Some(Some(end)) = closers.get(sign + 2).copied() else { continue };
        let (Some(key), Some(value)) = (line.get(start + 1..sign), line.get(sign + 2..end)) else { continue };
        fields.push(Field { key: key.trim(), value: value.trim(), start, end: end + 1 });
    }
    fields
}

/// For each place the first bracket from there that closes one from before; brackets after a backslash are none.
fn closers(bytes: &[u8], open: u8, close: u8) -> Vec<Option<usize>> {
    let mut escaped = vec![false; bytes.len()];
    let mut backslash = false;
    for (byte, is_escaped) in bytes.iter().zip(&mut escaped) {
        *is_escaped = backslash && *byte != b'\\';
        backslash = *byte == b'\\' && !backslash;
    }
    let mut closers = vec![None; bytes.len() + 1];
    let mut unmatched = Vec::new();
    for (at, byte) in bytes.iter().enumerate().rev() {
        if !escaped.get(at).copied().unwrap_or_default() {
            if *byte == close {
                unmatched.push(at);
            } else if *byte == open {
                unmatched.pop();
            }
        }
        if let Some(slot) = closers.get_mut(at) {
            *slot = unmatched.last().copied();
        }
    }
    closers
}

/// The field that a whole line is: `Key:: value`, `**Key**:: value`, `- Key:: value` without its list mark.
#[must_use]
pub fn whole_line(line: &str) -> Option<Field<'_>> {
    if line.len() > MAX_LINE_BYTES {
        return None;
    }
    let (before, value) = line.split_once("::")?;
    let word = |char: char| emoji::is_letter(char) || char.is_ascii_digit() || char == '_';
    let key = before.trim();
    let key = key.get(key.find(word).unwrap_or(key.len())..)?;
    let mut rest = key;
    while let Some(next) = rest.chars().next() {
        let emoji = emoji::prefix(rest);
        if emoji == 0 && !word(next) && !emoji::is_space(next) && next != '/' && next != '-' {
            break;
        }
        rest = rest.get(emoji.max(next.len_utf8())..)?;
    }
    // Only marks of emphasis and code may be between the name and the colons.
    if !rest.trim_start_matches(['_', '*', '~', '`']).is_empty() {
        return None;
    }
    let key = key.get(..key.len() - rest.len())?;
    Some(Field { key: key.trim(), value: value.trim(), start: 0, end: line.len() })
}

/// The dates that signs in a task's text say: `📅 2024-05-01` is `due`.
#[must_use]
pub fn task_dates(line: &str) -> Vec<Field<'_>> {
    const SIGNS: [(&str, &str); 8] = [
        ("➕", "created"),
        ("🛫", "start"),
        ("⏳", "scheduled"),
        ("⌛", "scheduled"),
        ("📅", "due"),
        ("📆", "due"),
        ("🗓", "due"),
        ("✅", "completion"),
    ];
    let mut fields: Vec<Field<'_>> = Vec::new();
    for (sign, key) in SIGNS {
        let Some(start) = line.find(sign) else { continue };
        let from = start + sign.len();
        let rest = line.get(from..).unwrap_or_default().trim_start_matches('\u{fe0f}').trim_start();
        let from = line.len() - rest.len();
        let is_day = read::date(rest).is_some_and(|(_, length)| length >= 10);
        if let (true, Some(value)) = (is_day && fields.iter().all(|field| field.key != key), rest.get(..10)) {
            fields.push(Field { key, value, start, end: from + 10 });
        }
    }
    fields.sort_by_key(|field| field.start);
    fields
}

/// The value of a field's text: a date, a duration, text in quotes, a tag, a link, a boolean, a number, or a list of these between commas;
/// else the text itself. No text is nothing. Dates without a zone are in `zone`.
#[must_use]
pub fn value(text: &str, zone: &TimeZone) -> Value {
    if text.trim().is_empty() {
        return Value::Null;
    }
    let parsed = Cursor::new(text).ok().and_then(|mut cursor| {
        let value = one_or_list(&mut cursor, zone)?;
        (cursor.at == text.len()).then_some(value)
    });
    parsed.unwrap_or_else(|| text.into())
}

fn one_or_list(cursor: &mut Cursor<'_>, zone: &TimeZone) -> Option<Value> {
    let first = atom(cursor, zone)?;
    let comma = |cursor: &mut Cursor<'_>| {
        cursor.spaces();
        cursor.sign(",", "\",\"")?;
        cursor.spaces();
        Some(())
    };
    if cursor.attempt(comma).is_none() {
        return Some(first);
    }
    let mut items = vec![first];
    if let Some(second) = cursor.attempt(|cursor| atom(cursor, zone)) {
        items.push(second);
        while let Some(next) = cursor.attempt(|cursor| {
            comma(cursor)?;
            atom(cursor, zone)
        }) {
            items.push(next);
        }
    }
    Some(Value::list(items))
}

fn atom(cursor: &mut Cursor<'_>, zone: &TimeZone) -> Option<Value> {
    let rest = cursor.rest();
    if let Some((written, length)) = read::date(rest)
        && let Ok(date) = written.date(zone)
    {
        cursor.at += length;
        return Some(Value::date(date));
    }
    if let Some((duration, length)) = read::duration(rest) {
        cursor.at += length;
        return Some(Value::duration(duration.normal()));
    }
    if let Some(text) = cursor.attempt(string) {
        return Some(Value::Text(text));
    }
    if let Some(tag) = rest.strip_prefix('#') {
        let end = tag.find(crate::dql::ends_tag).unwrap_or(tag.len());
        cursor.at += end + 1;
        return rest.get(..=end).map(Value::from);
    }
    let embedded = cursor.attempt(|cursor| {
        let embed = cursor.sign("!", "\"!\"").is_some();
        Some(Link { embed, ..link(cursor)? })
    });
    if let Some(link) = embedded {
        return Some(Value::link(link));
    }
    for (word, value) in [("true", true), ("false", false), ("True", true), ("False", false)] {
        if rest.starts_with(word) {
            cursor.at += word.len();
            return Some(Value::Boolean(value));
        }
    }
    if let Some((number, end)) = read::number(cursor.text, cursor.at) {
        cursor.at = end;
        return Some(Value::Number(number));
    }
    // Dataview takes this one for text.
    cursor.sign("null", "a value").map(|()| "null".into())
}
