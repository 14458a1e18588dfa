//! Items of lists, and the lines beside them that may have fields.

use std::ops::Range;

use crate::lines::line_end;
use crate::markdown::Blocks;
use crate::note::parts::{Item, MAX_ITEMS};
use crate::note::source::Source;

/// The items of the body, in the order of the text.
pub(super) fn items(source: &Source<'_>, blocks: &Blocks) -> Vec<Item> {
    let item = |block: &crate::markdown::ItemBlock| {
        let own = own_text(source.slice(block.start..block.end));
        let range = block.start..block.start + own.len();
        let line = source.line(range.start);
        Item {
            line,
            lines: source.line(range.end.max(range.start)).saturating_sub(line).saturating_add(1),
            parent: block.parent,
            list: source.line(block.list),
            range: source.range(&range),
        }
    };
    blocks.items.iter().take(MAX_ITEMS).map(item).collect()
}

/// The text without what stands before the next line's content: white space, and signs of quotes.
fn own_text(text: &str) -> &str {
    let mut own = text.trim_end();
    while let Some((before, last)) = own.rsplit_once(['\n', '\r'])
        && last.chars().all(|char| char == '>' || char.is_whitespace())
    {
        own = before.trim_end();
    }
    own
}

/// The lines with `::` that are no part of an item, of code, of HTML or of a comment.
pub(super) fn field_lines(source: &Source<'_>, masked: &str, blocks: &Blocks) -> Vec<Range<usize>> {
    let mut lines: Vec<Range<usize>> = Vec::new();
    for at in memchr::memmem::find_iter(masked.as_bytes(), b"::") {
        let known = lines.last().is_some_and(|line| at < line.end);
        if known || is_skipped(blocks, at) || is_in_item(blocks, at) || lines.len() >= MAX_ITEMS {
            continue;
        }
        let before = masked.get(..at).unwrap_or_default();
        let start = memchr::memrchr2(b'\n', b'\r', before.as_bytes()).map_or(0, |end| end + 1);
        lines.push(start..line_end(masked, at));
    }
    lines.iter().map(|line| source.range(line)).collect()
}

fn is_skipped(blocks: &Blocks, at: usize) -> bool {
    let begun = blocks.skips.partition_point(|skip| skip.range.start <= at);
    let last = begun.checked_sub(1).and_then(|last| blocks.skips.get(last));
    last.is_some_and(|skip| skip.link.is_none() && at < skip.range.end)
}

fn is_in_item(blocks: &Blocks, at: usize) -> bool {
    let begun = blocks.items.partition_point(|item| item.start <= at);
    let last = begun.checked_sub(1).and_then(|last| blocks.items.get(last));
    last.is_some_and(|item| at < item.end)
}
