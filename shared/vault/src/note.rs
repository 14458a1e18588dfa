//! The parts of a note, and [`parse`], which finds them.
//!
//! All offsets are bytes of the text that was given; all lines are counted from 0, and only `\n`
//! ends one, as in ripgrep.

pub use parts::*;

mod lists;
pub(crate) mod parts;
pub(crate) mod source;

use crate::lines::Lines;
use crate::note::source::Source;
use crate::{frontmatter, inline, markdown, mask, task};

/// Most bytes of a note's body that are parsed. Later text is ignored.
pub const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Parses a note into its parts. Never fails. Takes time in proportion to the length of the text, whatever the text is.
///
/// Code, math, HTML and comments (`%%` and `<!--`) contribute no parts.
#[must_use]
pub fn parse(text: &str) -> Note {
    let lines = Lines::new(text);
    let mut note = Note::default();
    let start = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    note.frontmatter = frontmatter::find(text, start, &lines);
    if let Some(frontmatter) = &note.frontmatter
        && let Ok(properties) = &frontmatter.properties
    {
        note.aliases = frontmatter::aliases(properties);
        note.tags = frontmatter::tags(properties);
        note.links = frontmatter::links(text, frontmatter, &lines);
    }
    let body_start = note.frontmatter.as_ref().map_or(start, |frontmatter| frontmatter.body_start);
    let body_end = text.floor_char_boundary(body_start.saturating_add(MAX_BODY_BYTES));
    let source = Source::new(text.get(..body_end).unwrap_or_default(), body_start, &lines);

    let masked = mask::mask(source.body());
    let blocks = markdown::read(&masked);
    note.headings = blocks.headings.iter().map(|block| heading(&source, block)).collect();
    let tasks = blocks.items.iter().filter_map(|item| task::read(&source, &masked, item.start));
    note.tasks = tasks.take(MAX_ITEMS).collect();
    note.items = lists::items(&source, &blocks);
    note.field_lines = lists::field_lines(&source, &masked, &blocks);
    inline::scan(&source, &masked, blocks, &mut note);
    note
}

fn heading(source: &Source<'_>, block: &markdown::HeadingBlock) -> Heading {
    let text = source.slice(block.range.clone());
    let start = block.range.end - text.trim_start().len();
    let range = source.range(&(start..start + text.trim().len()));
    Heading {
        level: block.level,
        text: markdown::heading_text(text),
        line: source.line(start),
        offset: range.start,
        end: range.end,
    }
}

#[cfg(test)]
mod tests;
