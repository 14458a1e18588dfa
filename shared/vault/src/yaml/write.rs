//! Writes values as YAML, in block style, so that the frontmatter reader (and every YAML 1.1 or 1.2 reader) reads the
//! same values back.

use serde_json::{Map, Value};

use crate::json_text;

/// Words that some YAML reader takes for another type than string when they are unquoted.
const WORDS: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"];

/// Appends the lines of `properties`, each indented by `indent` and ended with `line_break`.
pub(crate) fn entries(properties: &Map<String, Value>, indent: usize, line_break: &str, out: &mut String) {
    for (name, value) in properties {
        push_indent(indent, out);
        out.push_str(&string(name));
        out.push(':');
        match inline(value) {
            Some(text) => out.extend([" ", &text, line_break]),
            None => {
                out.push_str(line_break);
                block(value, indent + 2, line_break, out);
            }
        }
    }
}

/// A value that fits on the line of its key; `None` for a list or map that is not empty.
pub(crate) fn inline(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(string(text)),
        Value::Array(entries) if !entries.is_empty() => None,
        Value::Object(entries) if !entries.is_empty() => None,
        other => Some(other.to_string()),
    }
}

/// Appends a list or map that is not empty.
pub(crate) fn block(value: &Value, indent: usize, line_break: &str, out: &mut String) {
    match value {
        Value::Object(properties) => entries(properties, indent, line_break, out),
        Value::Array(values) => {
            for value in values {
                push_indent(indent, out);
                out.push_str("- ");
                match inline(value) {
                    Some(text) => out.extend([&text, line_break]),
                    None => {
                        // The first entry begins on the line of its hyphen.
                        let start = out.len();
                        block(value, indent + 2, line_break, out);
                        out.replace_range(start..start + indent + 2, "");
                    }
                }
            }
        }
        _ => {}
    }
}

/// Whether lists and maps in `value` nest at most `depth` levels deep.
pub(crate) fn is_within(value: &Value, depth: usize) -> bool {
    let inner = depth.checked_sub(1);
    match value {
        Value::Array(values) => inner.is_some_and(|inner| values.iter().all(|value| is_within(value, inner))),
        Value::Object(values) => inner.is_some_and(|inner| values.values().all(|value| is_within(value, inner))),
        _ => true,
    }
}

fn push_indent(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// A string: plain where no reader could take it for another type, otherwise in double quotes.
pub(crate) fn string(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

fn is_plain(text: &str) -> bool {
    let allowed = |c: char| {
        c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | ':' | '\'' | '(' | ')' | '+' | '&' | ',')
    };
    let begins = text.starts_with(char::is_alphabetic) || is_date(text);
    begins
        && text.chars().all(allowed)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether this is a date, with or without a time, as Obsidian writes them.
fn is_date(text: &str) -> bool {
    const DATE: &str = "0000-00-00";
    const TIME: &str = "0000-00-00T00:00:00";
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == DATE || shape == TIME
}

/// In single quotes where that spares escapes; else a JSON string, which is also valid YAML. Characters that YAML does not allow are escaped.
pub(crate) fn quoted(text: &str) -> String {
    let is_printed = |c: char| matches!(c, ' '..='~' | '\u{A0}'..='\u{2027}' | '\u{202A}'..='\u{D7FF}');
    if text.contains(['"', '\\']) && text.chars().all(is_printed) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    format!("\"{}\"", escaped(text))
}

/// `text` as it stands between double quotes.
pub(crate) fn escaped(text: &str) -> String {
    let json = json_text::escaped(text);
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let unprintable =
            matches!(c, '\u{7F}'..='\u{9F}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}');
        if unprintable { out.push_str(&format!("\\u{:04x}", u32::from(c))) } else { out.push(c) }
    }
    out
}
