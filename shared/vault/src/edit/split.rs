//! A note's frontmatter apart from its text, for changes of all of it at once.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::entries::entries;
use super::error::Problem;
use super::properties;

/// A note in two parts.
pub(crate) struct Split<'a> {
    /// The frontmatter with its fences and what stands before it; empty or a byte order mark where there is none.
    pub(crate) head: &'a str,
    /// The text below.
    pub(crate) body: &'a str,
    /// The properties; none where there is no frontmatter.
    pub(crate) properties: Map<String, Value>,
    /// The lines of the frontmatter that belong to no property: comments and empty lines, in order.
    pub(crate) between: Vec<&'a str>,
    /// The lines of each property, by its name.
    pub(crate) lines: HashMap<String, &'a str>,
}

/// Splits a note; none if its frontmatter cannot be read, or cannot be changed property by property.
pub(crate) fn split(text: &str) -> Option<Split<'_>> {
    let (head, body) = text.split_at_checked(properties::body_start(text))?;
    let Some(frontmatter) = properties::frontmatter(text) else {
        return Some(Split { head, body, properties: Map::new(), between: Vec::new(), lines: HashMap::new() });
    };
    let yaml = text.get(frontmatter.range)?;
    let (mut between, mut lines) = (Vec::new(), HashMap::new());
    let mut at = 0;
    for entry in entries(yaml).ok()? {
        between.extend(yaml.get(at..entry.lines.start)?.lines());
        at = entry.lines.end;
        lines.insert(entry.name, yaml.get(entry.lines)?);
    }
    between.extend(yaml.get(at..)?.lines());
    Some(Split { head, body, properties: frontmatter.properties.ok()?, between, lines })
}

/// The frontmatter `head`, changed so that it has exactly `wanted`.
pub(crate) fn with_properties(head: &str, wanted: &Map<String, Value>) -> Result<String, Problem> {
    let old = match properties::frontmatter(head) {
        Some(frontmatter) => frontmatter.properties?,
        None => Map::new(),
    };
    let gone: Vec<String> = old.keys().filter(|name| !wanted.contains_key(*name)).cloned().collect();
    properties::set(&properties::remove_properties(head, &gone)?, wanted)
}
