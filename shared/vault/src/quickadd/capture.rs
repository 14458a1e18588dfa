//! Where a capture goes in a note.

use std::collections::HashMap;
use std::ops::Range;

use crate::edit;
use crate::frontmatter;
use crate::lines::{line_end, line_start, next_line};
use crate::note::parse;

/// Where a capture goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsertAt<'a> {
    /// Below the properties.
    Top,
    /// To the end.
    Bottom,
    /// Below a line.
    After {
        /// The line, or how it begins.
        line: &'a str,
        /// Whether to the end of its section.
        at_end: bool,
        /// Whether the sections within belong to it.
        with_subsections: bool,
        /// Where the line is made if there is none: at the top, or not.
        create: Option<bool>,
    },
}

/// The text with `captured` in its place, on lines of its own; none if the line is missing.
#[must_use]
pub fn insert(text: &str, captured: &str, place: InsertAt<'_>) -> Option<String> {
    let top = || frontmatter::fences(text, mark(text)).map_or(mark(text), |(_, body)| body);
    let (at, captured) = match place {
        InsertAt::Top => (top(), captured.to_owned()),
        InsertAt::Bottom => (text.len(), captured.to_owned()),
        InsertAt::After { line, at_end, with_subsections, create } => match (find(text, line), create) {
            (Some(found), _) if at_end => (section_end(text, found, with_subsections), captured.to_owned()),
            (Some(found), _) => (next_line(text, found.end), captured.to_owned()),
            (None, Some(at_top)) => {
                (if at_top { top() } else { text.len() }, format!("{}\n{captured}", line.trim_end()))
            }
            (None, None) => return None,
        },
    };
    let is_ended = captured.ends_with(['\n', '\r']);
    Some(edit::insert(text, at, &if is_ended { captured } else { captured + "\n" }))
}

fn mark(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// The first line that is `target`; else the first that begins so.
fn find(text: &str, target: &str) -> Option<Range<usize>> {
    let target = target.replace("\\n", "");
    let target = target.trim_end();
    let mut begins = None;
    let mut at = 0;
    while at < text.len() {
        let end = line_end(text, at);
        let line = text.get(at..end).unwrap_or_default().trim_start();
        if let Some(rest) = line.strip_prefix(target) {
            if rest.trim().is_empty() {
                return Some(at..end);
            }
            begins.get_or_insert(at..end);
        }
        at = next_line(text, end);
    }
    begins
}

/// Where the section of a line ends: that of a heading before the next one, that of another line before the next heading or empty line.
/// Empty lines at its end do not belong to it.
fn section_end(text: &str, line: Range<usize>, with_subsections: bool) -> usize {
    // What looks like a heading in code is none.
    let headings: HashMap<usize, u8> =
        parse(text).headings.iter().map(|heading| (line_start(text, heading.offset), heading.level)).collect();
    let own = headings.get(&line.start).copied();
    let mut end = next_line(text, line.end);
    let mut at = end;
    while at < text.len() {
        let after = line_end(text, at);
        let next = next_line(text, after);
        let here = text.get(at..after).unwrap_or_default();
        let is_blank = here.trim().is_empty();
        let is_over = match (own, headings.get(&at).copied()) {
            (None, None) => is_blank,
            (None, Some(_)) => true,
            (Some(own), Some(level)) => !with_subsections || level <= own,
            (Some(_), None) => false,
        };
        if is_over {
            break;
        }
        if !is_blank {
            end = next;
        }
        at = next;
    }
    end
}
