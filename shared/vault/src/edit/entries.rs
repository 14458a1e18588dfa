//! The position of each property in the frontmatter, as the YAML parser sees it.

use std::ops::Range;

use granit_parser::{Event, Parser, Span, StructureStyle};

use super::error::Problem;
use super::splice::line_start;
use crate::lines::{line_end, next_line};

/// One property at the frontmatter's top level. Offsets count from the start of the YAML.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// The start of the name, on its line.
    pub(super) key: usize,
    /// The range from after the colon to the end of the value.
    pub(super) value: Range<usize>,
    /// Its lines, with the last line break.
    pub(super) lines: Range<usize>,
}

/// The properties of `yaml`, in their order. `yaml` was parsed before without errors.
pub(super) fn entries(yaml: &str) -> Result<Vec<Entry>, Problem> {
    let mut entries: Vec<Entry> = Vec::new();
    // The number of open lists and maps.
    let mut depth = 0_usize;
    // At depth 1.
    let mut key_is_next = true;
    for next in Parser::new_from_str(yaml) {
        let (event, span) = next.map_err(|error| Problem::Unreadable(error.to_string()))?;
        let is_end = matches!(event, Event::MappingEnd | Event::SequenceEnd);
        depth = depth.saturating_sub(usize::from(is_end));
        match event {
            Event::MappingStart(StructureStyle::Block, ..) if depth == 0 => depth = 1,
            Event::Scalar(..) if depth == 0 && span.is_empty() => {}
            Event::MappingStart(..) if depth == 0 => {
                return Err(Problem::FrontmatterStyle("braces around its properties"));
            }
            Event::Scalar(name, ..) if depth == 1 && key_is_next => {
                entries.push(begin(yaml, name.into_owned(), &span)?);
                key_is_next = false;
            }
            event if event.is_node() && (depth == 0 || depth == 1 && key_is_next) => {
                return Err(Problem::FrontmatterStyle("more than a word for a property's name"));
            }
            event if event.is_node() || is_end => {
                extend(&mut entries, &span);
                let begins = matches!(event, Event::MappingStart(..) | Event::SequenceStart(..));
                depth += usize::from(begins);
                key_is_next = true;
            }
            _ => {}
        }
    }
    for entry in &mut entries {
        // The parser ends a block scalar at the start of what follows it.
        let written = yaml.get(entry.value.clone()).unwrap_or_default().trim_end_matches([' ', '\t', '\r', '\n']);
        entry.value.end = entry.value.start + written.len();
        entry.lines.end = next_line(yaml, line_end(yaml, entry.value.end));
    }
    Ok(entries)
}

/// The entry whose key is at `span`.
fn begin(yaml: &str, name: String, span: &Span) -> Result<Entry, Problem> {
    let key = span.byte_range().unwrap_or_default();
    let start = line_start(yaml, key.start);
    let before = yaml.get(start..key.start).unwrap_or_default();
    let after = yaml.get(key.end..).unwrap_or_default();
    let spaces = after.len() - after.trim_start_matches([' ', '\t']).len();
    if !before.trim_matches(' ').is_empty() || !after.trim_start_matches([' ', '\t']).starts_with(':') {
        return Err(Problem::FrontmatterStyle("question marks, anchors or tags before a property's name"));
    }
    let colon = key.end + spaces + 1;
    Ok(Entry { name, key: key.start, value: colon..colon, lines: start..colon })
}

/// Extends the last entry's value to the end of `span`.
fn extend(entries: &mut [Entry], span: &Span) {
    // Events without text of their own, such as the end of a block or an omitted value, point at what follows them.
    if let (Some(entry), Some(range)) = (entries.last_mut(), span.byte_range().filter(|range| !range.is_empty())) {
        entry.value.end = entry.value.end.max(range.end);
    }
}

/// The entries of a list of plain values.
#[derive(Debug)]
pub(super) struct Items {
    /// Whether the list is written in brackets.
    pub(super) flow: bool,
    /// Each item's value, and its range in the YAML.
    pub(super) items: Vec<(String, Range<usize>)>,
}

/// The items of the list that is the value of `entry`; `None` unless it is a list of plain values.
pub(super) fn items(yaml: &str, entry: &Entry) -> Option<Items> {
    let mut list: Option<Items> = None;
    let is_in = |span: &Span| span.byte_range().is_some_and(|range| entry.value.start <= range.start);
    for next in Parser::new_from_str(yaml) {
        let (event, span) = next.ok()?;
        match (event, &mut list) {
            (Event::SequenceStart(style, ..), None) if is_in(&span) => {
                list = Some(Items { flow: style == StructureStyle::Flow, items: Vec::new() });
            }
            (Event::Scalar(value, ..), Some(list)) => list.items.push((value.into_owned(), span.byte_range()?)),
            (Event::SequenceEnd, Some(_)) => return list,
            (_, Some(_)) => return None,
            (event, None) if event.is_node() && is_in(&span) && span.byte_range()?.start < entry.lines.end => {
                return None;
            }
            _ => {}
        }
    }
    None
}
