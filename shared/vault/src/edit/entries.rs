//! Where each property stands in the frontmatter, as the YAML parser sees it.

use std::ops::Range;

use granit_parser::{Event, Parser, Span, StructureStyle};

use super::error::Problem;
use super::splice::line_start;
use crate::lines::{line_end, next_line};

/// One property of the frontmatter's top level. Offsets are of the YAML.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// Where the name begins, on its line.
    pub(super) key: usize,
    /// From behind the colon to the end of the value.
    pub(super) value: Range<usize>,
    /// Its lines, with the break of the last.
    pub(super) lines: Range<usize>,
}

/// The properties of `yaml`, which was read without errors, in its order.
pub(super) fn entries(yaml: &str) -> Result<Vec<Entry>, Problem> {
    let unreadable = |error: granit_parser::ScanError| Problem::Unreadable(error.to_string());
    let mut entries: Vec<Entry> = Vec::new();
    // The styles of the lists and maps that are begun and not ended.
    let mut open: Vec<StructureStyle> = Vec::new();
    let mut key_is_next = true;
    for next in Parser::new_from_str(yaml) {
        let (event, span) = next.map_err(unreadable)?;
        let outermost = open.len() <= 1;
        match event {
            Event::MappingStart(style, ..) | Event::SequenceStart(style, ..) => {
                if open.is_empty() {
                    if style == StructureStyle::Flow {
                        return Err(Problem::FrontmatterStyle("braces around its properties"));
                    }
                } else if outermost && key_is_next {
                    return Err(Problem::FrontmatterStyle("a list or map for a property's name"));
                }
                open.push(style);
            }
            Event::MappingEnd | Event::SequenceEnd => {
                // Only a bracket ends where the event says; a block's event stands at what follows it.
                if open.pop() == Some(StructureStyle::Flow) {
                    extend(&mut entries, &span);
                }
                if open.len() == 1 {
                    key_is_next = true;
                }
            }
            Event::Scalar(name, ..) if outermost && key_is_next => {
                if open.is_empty() {
                    return if span.is_empty() {
                        Ok(entries)
                    } else {
                        Err(Problem::FrontmatterStyle("a single value"))
                    };
                }
                entries.push(begin(yaml, name.into_owned(), &span)?);
                key_is_next = false;
            }
            Event::Alias(_) if outermost && key_is_next => {
                return Err(Problem::FrontmatterStyle("an alias for a property's name"));
            }
            Event::Scalar(..) | Event::Alias(_) => {
                extend(&mut entries, &span);
                if outermost {
                    key_is_next = true;
                }
            }
            _ => {}
        }
    }
    for entry in &mut entries {
        // A block scalar ends where what follows it begins.
        let written = yaml.get(entry.value.clone()).unwrap_or_default().trim_end_matches([' ', '\t', '\r', '\n']);
        entry.value.end = entry.value.start + written.len();
        entry.lines.end = next_line(yaml, line_end(yaml, entry.value.end));
    }
    if entries.windows(2).all(|pair| matches!(pair, [above, below] if above.lines.end <= below.lines.start)) {
        Ok(entries)
    } else {
        Err(Problem::FrontmatterStyle("several properties on a line"))
    }
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

/// Makes the last entry's value reach to the end of `span`.
fn extend(entries: &mut [Entry], span: &Span) {
    // A value that is left out is at what follows it.
    if let (Some(entry), Some(range)) = (entries.last_mut(), span.byte_range().filter(|range| !range.is_empty())) {
        entry.value.end = entry.value.end.max(range.end);
    }
}
