//! Templates of notes: the placeholders `{{name}}` of Obsidian's core plugin, and the commands `<% … %>` of Templater
//! that need no program.

pub mod expression;
pub mod templater;

use std::collections::BTreeSet;

/// Most placeholders of a template that are filled in.
const MAX_PLACES: usize = 10_000;
/// Most bytes from `{{` to `}}`: longer than any format.
const MAX_INNER_BYTES: usize = 600;

/// A template with its placeholders filled in: `value` returns the text for `{{name}}` or `{{name:format}}`. Everything
/// else stays unchanged.
pub fn fill(template: &str, mut value: impl FnMut(&str, Option<&str>) -> Option<String>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    for _ in 0..MAX_PLACES {
        let Some((before, after)) = rest.split_once("{{") else { break };
        out.push_str(before);
        let near = after.get(..after.floor_char_boundary(MAX_INNER_BYTES)).unwrap_or_default();
        let inner = near.split_once("}}").map(|(inner, _)| inner);
        let filled = inner.and_then(|inner| {
            let (name, format) = match inner.split_once(':') {
                Some((name, format)) => (name, Some(format.trim()).filter(|format| !format.is_empty())),
                None => (inner, None),
            };
            Some((value(name.trim(), format)?, after.get(inner.len() + 2..)?))
        });
        match filled {
            Some((value, behind)) => {
                out.push_str(&value);
                rest = behind;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// The names of a template's placeholders, each once.
#[must_use]
pub fn names(template: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let is_name = |name: &str| !name.is_empty() && !name.contains(['{', '}', '\n']);
    fill(template, |name, _| {
        if is_name(name) {
            names.insert(name.to_owned());
        }
        None
    });
    names
}
