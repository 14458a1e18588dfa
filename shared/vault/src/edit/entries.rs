//! The position of each property in the frontmatter, as the YAML parser sees it.

use std::ops::Range;

use super::error::Problem;
use crate::lines::{line_end, line_start, next_line};
use crate::yaml::tree::{self, Kind};

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
    /// The entries of its value, if that is a list of plain values.
    pub(super) items: Option<Items>,
}

/// The entries of a list of plain values.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Items {
    /// Whether the list is written in brackets.
    pub(super) flow: bool,
    /// Each item's value, and its range in the YAML.
    pub(super) items: Vec<(String, Range<usize>)>,
}

/// The properties of `yaml`, in their order. `yaml` was parsed before without errors.
pub(super) fn entries(yaml: &str) -> Result<Vec<Entry>, Problem> {
    let root = tree::read(yaml).map_err(|error| Problem::Unreadable(error.to_string()))?;
    let found = match root.map(|root| root.kind) {
        None => return Ok(Vec::new()),
        Some(Kind::Map { in_braces: false, entries }) => entries,
        Some(_) => return Err(Problem::FrontmatterStyle("braces around its properties")),
    };
    let entry = |entry: tree::Entry| {
        let end = entry.value.range.end.max(entry.colon);
        let start = line_start(yaml, entry.key.start);
        let lines = start..next_line(yaml, line_end(yaml, end));
        let style = Problem::FrontmatterStyle("question marks, anchors or tags before a property's name");
        let items = items(entry.value.kind);
        Ok(Entry { name: entry.name.ok_or(style)?, key: entry.key.start, value: entry.colon..end, lines, items })
    };
    found.into_iter().map(entry).collect()
}

/// The items of a list of plain values.
fn items(value: Kind) -> Option<Items> {
    let Kind::List { in_brackets, items } = value else { return None };
    let item = |item: tree::Item| match item.value.kind {
        Kind::Scalar(text) => Some((text, item.value.range)),
        _ => None,
    };
    Some(Items { flow: in_brackets, items: items.into_iter().map(item).collect::<Option<_>>()? })
}
