//! Items of lists that have several lines.

use crate::lines::{line_end, next_line};

/// Adds to `lines` the further lines of an item that stand from `at` to `end`, without their indent: those that begin with white space, and
/// empty ones. Returns where the item ends.
pub(crate) fn further_lines<'t>(text: &'t str, mut at: usize, end: usize, lines: &mut Vec<&'t str>) -> usize {
    let mut item_end = at;
    while at < end {
        let line = text.get(at..line_end(text, at)).unwrap_or_default();
        at = next_line(text, line_end(text, at));
        if line.trim().is_empty() {
            lines.push("");
            continue;
        }
        if !line.starts_with([' ', '\t']) {
            break;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        lines.push(line.strip_prefix('\t').or_else(|| line.get(indent.min(4)..)).unwrap_or(line));
        item_end = at;
    }
    item_end
}
