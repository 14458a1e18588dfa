//! Tasks: list items with a check box, and the fields of their texts in the syntax of the Tasks plugin: with emoji, or
//! in Dataview's brackets.
//!
//!
//! # Layout
//! - [`Status`], [`Priority`], [`Field`], [`Format`]: the vocabulary of tasks; `symbols`: their notation
//! - [`Settings`]: what the Tasks plugin is told about them
//! - `line`: finds each field; [`fields`]: their values; [`change`]: changes fields and keeps the rest
//! - [`query`]: selects tasks, in the query language of the Tasks plugin

pub use change::{Change, ChangeError, change};
pub use fields::{TaskFields, fields};
pub use settings::{NamedStatus, Settings, StatusType};
pub use symbols::{Field, Format, Priority, Status};

mod change;
mod fields;
mod line;
pub mod query;
mod settings;
mod symbols;

use crate::lines::line_end;
use crate::note::parts::Task;
use crate::note::source::Source;

/// The task in the list item whose marker is at `item`, if it is a task.
pub(crate) fn read(source: &Source<'_>, masked: &str, item: usize) -> Option<Task> {
    let end = line_end(masked, item);
    let line = masked.get(item..end)?;
    let rest = after_marker(line)?;
    let boxed = rest.trim_start_matches([' ', '\t']).strip_prefix('[')?;
    let status = boxed.chars().next()?;
    let text = boxed.strip_prefix(status)?.strip_prefix(']')?;
    if !(text.is_empty() || text.starts_with([' ', '\t'])) {
        return None;
    }
    let status_offset = end - boxed.len();
    Some(Task {
        status,
        text: source.slice(end - text.len()..end).trim().to_owned(),
        line: source.line(item),
        indent: indent(masked.get(..item)?),
        status_offset: source.range(&(status_offset..status_offset)).start,
    })
}

/// The text after `-`, `*`, `+`, `1.` or `1)` and the required white space.
pub(crate) fn after_marker(marked: &str) -> Option<&str> {
    let rest = match marked.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => {
            let rest = marked.trim_start_matches(|c: char| c.is_ascii_digit());
            if rest.len() == marked.len() {
                return None;
            }
            rest.strip_prefix(['.', ')'])?
        }
    };
    rest.starts_with([' ', '\t']).then_some(rest)
}

/// The width of the white space at the end of `before`, without the space that belongs to a `>`.
fn indent(before: &str) -> u16 {
    let outside = before.trim_end_matches([' ', '\t']);
    let space = before.get(outside.len()..).unwrap_or_default();
    let space = space.strip_prefix(' ').filter(|_| outside.ends_with('>')).unwrap_or(space);
    space.bytes().fold(0_u16, |width, byte| match byte {
        b'\t' => width.saturating_add(4 - width % 4),
        _ => width.saturating_add(1),
    })
}
