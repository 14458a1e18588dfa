//! Where each value of a YAML text stands, as the parser sees it.

use std::ops::Range;

use granit_parser::{Event, Parser, ScanError, StructureStyle};

use crate::lines::{line_end, line_start};

/// A value and its place.
#[derive(Debug)]
pub(crate) struct Node {
    /// From its first byte to its last; where it would stand, if it is left out. Anchors and tags are before it.
    pub(crate) range: Range<usize>,
    pub(crate) kind: Kind,
}

/// The content of a value.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A text, a number and the like; of a text as it is meant.
    Scalar(String),
    /// `*name`
    Alias,
    /// A map, in braces or not.
    Map { in_braces: bool, entries: Vec<Entry> },
    /// A list, in brackets or not.
    List { in_brackets: bool, items: Vec<Item> },
}

/// A value of a map.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its name; none if that is no text, or stands behind a question mark, an anchor or a tag.
    pub(crate) name: Option<String>,
    /// Where its name is written.
    pub(crate) key: Range<usize>,
    /// After the colon.
    pub(crate) colon: usize,
    pub(crate) value: Node,
}

/// A value of a list.
#[derive(Debug)]
pub(crate) struct Item {
    /// After its hyphen; its own start in brackets.
    pub(crate) hyphen: usize,
    pub(crate) value: Node,
}

/// A step to a value in a map or list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The value of that name.
    Name(String),
    /// The value at that place, counted from 0.
    At(usize),
}

impl Node {
    /// The value one step further.
    pub(crate) fn at(&self, step: &Step) -> Option<&Node> {
        match (&self.kind, step) {
            (Kind::Map { entries, .. }, Step::Name(name)) => {
                entries.iter().find(|entry| entry.name.as_ref() == Some(name)).map(|entry| &entry.value)
            }
            (Kind::List { items, .. }, Step::At(at)) => items.get(*at).map(|item| &item.value),
            _ => None,
        }
    }
}

/// A list or map whose end has not come.
enum Open {
    Map { start: usize, in_braces: bool, entries: Vec<Entry>, key: Option<(Option<String>, Range<usize>)> },
    List { start: usize, in_brackets: bool, items: Vec<Item> },
}

/// The value of `yaml` with its place; none if it has no value. `yaml` was [read](super::read) before, which bounds its depth.
pub(crate) fn read(yaml: &str) -> Result<Option<Node>, ScanError> {
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for next in Parser::new_from_str(yaml) {
        let (event, span) = next?;
        let span = span.byte_range().unwrap_or_default();
        let done = match event {
            Event::MappingStart(style, ..) => {
                let in_braces = style == StructureStyle::Flow;
                open.push(Open::Map { start: span.start, in_braces, entries: Vec::new(), key: None });
                continue;
            }
            Event::SequenceStart(style, ..) => {
                let in_brackets = style == StructureStyle::Flow;
                let start = match open.last() {
                    Some(Open::Map { key: Some((_, key)), .. }) if !in_brackets => first_hyphen(yaml, key.end),
                    _ => span.start,
                };
                open.push(Open::List { start, in_brackets, items: Vec::new() });
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => match open.pop() {
                Some(closed) => closed.close(span.end),
                None => continue,
            },
            Event::Scalar(text, ..) => {
                // The parser ends a block scalar at the start of what follows it.
                let written = yaml.get(span.clone()).unwrap_or_default().trim_end_matches([' ', '\t', '\r', '\n']);
                Node { range: span.start..span.start + written.len(), kind: Kind::Scalar(text.into_owned()) }
            }
            Event::Alias(..) => Node { range: span, kind: Kind::Alias },
            _ => continue,
        };
        match open.last_mut() {
            Some(outer) => outer.add(yaml, done),
            None => root = Some(done),
        }
    }
    // Where nothing is written, the parser sees an empty text.
    Ok(root.filter(|root| !root.range.is_empty()))
}

impl Open {
    fn close(self, end: usize) -> Node {
        match self {
            Self::Map { start, in_braces, entries, .. } => {
                let last = entries.last().map_or(start, |entry| entry.value.range.end.max(entry.colon));
                let start = entries.first().filter(|_| !in_braces).map_or(start, |entry| entry.key.start);
                let end = if in_braces { end } else { last };
                Node { range: start..end, kind: Kind::Map { in_braces, entries } }
            }
            Self::List { start, in_brackets, items } => {
                let last = items.last().map_or(start, |item| item.value.range.end.max(item.hyphen));
                let end = if in_brackets { end } else { last };
                Node { range: start..end, kind: Kind::List { in_brackets, items } }
            }
        }
    }

    fn add(&mut self, yaml: &str, mut node: Node) {
        match self {
            Self::Map { entries, key, in_braces, .. } => match key.take() {
                None => {
                    let from = entries.last().map_or(0, |entry| entry.value.range.end);
                    let before = yaml.get(from..node.range.start).unwrap_or_default();
                    let is_odd = !*in_braces && before.rsplit(['\n', '\r']).next().is_some_and(is_marked);
                    let name = match &node.kind {
                        Kind::Scalar(name) if !is_odd => Some(name.clone()),
                        _ => None,
                    };
                    *key = Some((name, node.range));
                }
                Some((name, key)) => {
                    let after = yaml.get(key.end..).unwrap_or_default();
                    let rest = after.trim_start_matches([' ', '\t']);
                    let is_plain = rest.starts_with(':');
                    let colon = key.end + (after.len() - rest.len()) + usize::from(is_plain);
                    if node.range.is_empty() || node.range.start < colon {
                        node.range = colon..colon;
                    }
                    entries.push(Entry { name: name.filter(|_| is_plain), key, colon, value: node });
                }
            },
            Self::List { start, in_brackets, items } => {
                let hyphen = match items.last() {
                    _ if *in_brackets => node.range.start,
                    None => *start + 1,
                    Some(last) => next_hyphen(yaml, *start, last).unwrap_or(node.range.start),
                };
                if node.range.is_empty() && !*in_brackets {
                    node.range = hyphen..hyphen;
                }
                items.push(Item { hyphen, value: node });
            }
        }
    }
}

/// Whether before a name on its line stands what does not belong there. A hyphen is of the list around the map.
fn is_marked(before: &str) -> bool {
    before.contains(|c: char| !matches!(c, ' ' | '\t' | '-'))
}

/// The first hyphen of the list that is the value of the name which ends at `from`. The parser does not tell it where the list is not indented.
fn first_hyphen(yaml: &str, from: usize) -> usize {
    let text = yaml.get(from..).unwrap_or_default();
    let mut rest = text.trim_start_matches([' ', '\t']);
    rest = rest.strip_prefix(':').unwrap_or(rest);
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let end = match rest.as_bytes().first() {
            Some(b'#') => line_end(rest, 0),
            Some(b'&' | b'!') => rest.find(char::is_whitespace).unwrap_or(rest.len()),
            _ => return from + text.len() - rest.len(),
        };
        rest = rest.get(end..).unwrap_or_default();
    }
}

/// After the hyphen of the item that follows `last`, in the list whose first hyphen is at `start`: in the same column.
fn next_hyphen(yaml: &str, start: usize, last: &Item) -> Option<usize> {
    let column = start - line_start(yaml, start);
    let mut at = line_end(yaml, last.value.range.end.max(last.hyphen));
    while at < yaml.len() {
        let line = at + 1;
        at = line_end(yaml, line);
        let indent = yaml.get(line..at).and_then(|text| text.strip_prefix(&" ".repeat(column)));
        if indent.is_some_and(|rest| rest.starts_with('-')) {
            return Some(line + column + 1);
        }
    }
    None
}
