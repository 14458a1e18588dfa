//! The YAML block at the start of a note, and its properties.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::lines::{Lines, line_end, next_line};
use crate::note::parts::{Frontmatter, FrontmatterError, Link, MAX_ITEMS, Tag};
use crate::string_text::StringText;
use crate::yaml::scalars::{self, Scalar};
use crate::{tag, wikilink, yaml};

/// Longest YAML that is read, in bytes.
pub use crate::yaml::MAX_BYTES as MAX_YAML_BYTES;

/// Finds the block that begins at `start`: a line `---`, and a later line `---` or `...`.
pub(crate) fn find(text: &str, start: usize, lines: &Lines) -> Option<Frontmatter> {
    let (range, body_start) = fences(text, start)?;
    let properties = properties(text, &range, lines);
    Some(Frontmatter { range, body_start, properties })
}

/// The range of that block's YAML, and the start of the body.
pub(crate) fn fences(text: &str, start: usize) -> Option<(Range<usize>, usize)> {
    let fence = |line: Range<usize>| text.get(line).map(|line| line.trim_end_matches([' ', '\t']));
    let first_end = line_end(text, start);
    if fence(start..first_end) != Some("---") {
        return None;
    }
    let yaml_start = next_line(text, first_end);
    let mut at = yaml_start;
    while at < text.len() {
        let end = line_end(text, at);
        if matches!(fence(at..end), Some("---" | "...")) {
            return Some((yaml_start..at, next_line(text, end)));
        }
        at = next_line(text, end);
    }
    None
}

/// The block at the start of a note. Reads no more of the text than that.
#[must_use]
pub fn of(text: &str) -> Option<Frontmatter> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let (_, body_start) = fences(text, start)?;
    let head = text.get(..body_start)?;
    find(head, start, &Lines::new(head))
}

/// A note's `title` property, trimmed; `None` if it is missing or empty. Parses no more than the frontmatter.
#[must_use]
pub fn title(text: &str) -> Option<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let head = text.get(..text.floor_char_boundary(MAX_YAML_BYTES + 16))?;
    // Most notes have no frontmatter, so the YAML parser is not called.
    let opening = head.strip_prefix("---")?;
    memchr::memmem::find(opening.get(..opening.find("\n---")?)?.as_bytes(), b"title")?;
    let properties = find(head, 0, &Lines::new(head))?.properties.ok()?;
    let title = properties.get("title")?.as_str()?.trim();
    (!title.is_empty()).then(|| title.to_owned())
}

fn properties(text: &str, range: &Range<usize>, lines: &Lines) -> Result<Map<String, Value>, FrontmatterError> {
    let yaml = text.get(range.clone()).unwrap_or_default();
    let (message, offset) = match yaml::read(yaml) {
        Ok(Value::Object(properties)) => return Ok(properties),
        Ok(Value::Null) => return Ok(Map::new()),
        Ok(_) => ("write each property as \"name: value\"".to_owned(), 0),
        Err(error) => (error.message, error.offset),
    };
    Err(FrontmatterError { message, line: lines.at(range.start + offset) })
}

/// The strings in the properties that have one of `names`, in any case: the entries of a list, or the parts of a string split at
/// `separates`.
fn strings<'a>(
    properties: &'a Map<String, Value>,
    names: [&'a str; 2],
    separates: fn(char) -> bool,
) -> impl Iterator<Item = String> + 'a {
    let named = |name: &str| names.iter().any(|wanted| name.eq_ignore_ascii_case(wanted));
    let mut named: Vec<(&String, &Value)> = properties.iter().filter(|(name, _)| named(name)).collect();
    // So that several spellings of one name always have the same order.
    named.sort_unstable_by_key(|(name, _)| *name);
    named.into_iter().flat_map(move |(_, value)| entries(value, separates))
}

/// The strings of a list, or of a string with separators.
fn entries(value: &Value, separates: fn(char) -> bool) -> Vec<String> {
    let mut entries: Vec<String> = match value {
        Value::Array(entries) => entries.iter().filter_map(scalar).collect(),
        Value::String(text) => text.split(separates).map(str::to_owned).collect(),
        other => scalar(other).into_iter().collect(),
    };
    entries.iter_mut().for_each(|text| *text = text.trim().to_owned());
    entries.retain(|text| !text.is_empty());
    entries
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The properties with a note's other names.
const ALIASES: [&str; 2] = ["aliases", "alias"];

/// The names in `aliases` or `alias`: a list, or a string with commas.
pub(crate) fn aliases(properties: &Map<String, Value>) -> Vec<String> {
    strings(properties, ALIASES, |c| c == ',').take(MAX_ITEMS).collect()
}

/// Whether a property has the note's other names.
#[must_use]
pub fn has_aliases(key: &str) -> bool {
    ALIASES.iter().any(|name| key.eq_ignore_ascii_case(name))
}

/// The names in such a property.
#[must_use]
pub fn aliases_of(value: &Value) -> Vec<String> {
    entries(value, |c| c == ',')
}

/// The tags in `tags` or `tag`: a list, or a string with commas or white space.
pub(crate) fn tags(properties: &Map<String, Value>) -> Vec<Tag> {
    strings(properties, ["tags", "tag"], |c| c == ',' || c.is_whitespace())
        .filter_map(|text| tag::name(text.strip_prefix('#').unwrap_or(&text)).map(str::to_owned))
        .map(|name| Tag { name, range: None })
        .take(MAX_ITEMS)
        .collect()
}

/// The wikilinks in the properties' strings, but not in their names. YAML reads a wikilink without quotes as a list, so that one is not a link.
pub(crate) fn links(text: &str, frontmatter: &Frontmatter, lines: &Lines) -> Vec<Link> {
    let yaml = text.get(frontmatter.range.clone()).unwrap_or_default().as_bytes();
    // An escape may hide the brackets.
    let may_have = || memchr::memmem::find(yaml, b"[[").is_some() || memchr::memchr(b'\\', yaml).is_some();
    if frontmatter.properties.is_err() || !may_have() {
        return Vec::new();
    }
    let values = scalars::values(text, &frontmatter.range).filter(|value| value.text.contains("[["));
    values.flat_map(|value| links_of(value, text, lines)).take(MAX_ITEMS).collect()
}

fn links_of(value: Scalar<'_>, text: &str, lines: &Lines) -> Vec<Link> {
    let notation = value.notation;
    let Some(string) = StringText::located(value.text.into_owned(), text, &value.range, notation) else {
        return Vec::new();
    };
    let links = wikilink::all(&string.text).filter_map(|found| found.link(&string.text, found.range.clone(), 0));
    let written = links.map(|link| {
        let range = string.written(&link.range);
        Link { destination: string.written(&link.destination), line: lines.at(range.start), range, notation, ..link }
    });
    written.collect()
}

/// The wikilinks in the strings of a file that is all YAML.
pub(crate) fn links_of_yaml(text: &str) -> Vec<Link> {
    let lines = Lines::new(text);
    let range = 0..text.len();
    let properties = properties(text, &range, &lines);
    let frontmatter = Frontmatter { range, body_start: text.len(), properties };
    links(text, &frontmatter, &lines)
}
