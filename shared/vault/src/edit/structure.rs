//! The blocks of a few lines, as markdown has them.

use std::ops::Range;

use pulldown_cmark::{Event, Tag};

use crate::markdown::Events;
use crate::mask::mask;

/// How much the structure of an old line is changed: 1 if its block is only divided.
pub(super) fn changed(old: &Structure, line: usize, new: &Structure, moved: impl Fn(usize) -> usize) -> usize {
    let (mut before, mut after) = (old.chain(line), new.chain(moved(line)));
    let mut cost = 0;
    let mut depth = 0;
    loop {
        match (before.next(), after.next()) {
            (None, None) => return if depth == 1 && cost == 1 && old.is_paragraph(line) { 0 } else { cost },
            (Some(one), Some(other)) if one.kind == other.kind => {
                cost = cost.max(usize::from(moved(one.line) != other.line));
            }
            _ => return 3,
        }
        depth += 1;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Paragraph,
    Heading,
    Item,
    Quote,
    Footnote,
    Code,
    Html,
    Table,
    Definition,
}

/// A block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// Its first line.
    pub(super) line: usize,
    /// The block that it is in.
    parent: Option<usize>,
}

/// The blocks of some lines.
pub(super) struct Structure {
    blocks: Vec<Block>,
    /// The innermost block of each line.
    lines: Vec<Option<usize>>,
}

impl Structure {
    pub(super) fn of(parts: &[&[&str]]) -> Self {
        let text = parts.concat().join("\n");
        let starts: Vec<usize> =
            std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1)).collect();
        let mut found = Self { blocks: Vec::new(), lines: vec![None; starts.len()] };
        let line_of = |offset: usize| starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let masked = mask(&text);
        let events = Events::with_tables(&masked);
        for (_, definition) in events.definitions().iter() {
            let line = line_of(definition.span.start);
            let block = found.add(Kind::Definition, line, None);
            found.mark(line..line_of(definition.span.end.saturating_sub(1)) + 1, block);
        }
        // The open tags, each with its block if it is one.
        let mut open: Vec<Option<usize>> = Vec::new();
        for (event, range) in events {
            let lines = line_of(range.start)..line_of(range.end.saturating_sub(1)).max(line_of(range.start)) + 1;
            let outer = open.last().copied().flatten();
            let parent = open.iter().rev().find_map(|block| *block);
            match event {
                Event::Start(tag) => {
                    let kind = kind(&tag);
                    let block = match (kind, outer.and_then(|outer| found.blocks.get(outer))) {
                        // A list may become a loose one, whose items have paragraphs.
                        (Some(Kind::Paragraph), Some(item)) if item.kind == Kind::Item && item.line == lines.start => {
                            outer
                        }
                        (Some(kind), _) => Some(found.add(kind, lines.start, parent)),
                        (None, _) => None,
                    };
                    match (kind, block) {
                        (Some(Kind::Item | Kind::Quote | Kind::Footnote), Some(block)) => {
                            found.mark(lines.start..lines.start + 1, block);
                        }
                        (_, Some(block)) => found.mark(lines, block),
                        // A link or the like in an item that is not loose.
                        (None, None) if is_inline(&tag) => found.mark_own(lines, outer),
                        _ => {}
                    }
                    open.push(block);
                }
                Event::End(_) => {
                    open.pop();
                }
                _ => found.mark_own(lines, outer),
            }
        }
        found
    }

    fn add(&mut self, kind: Kind, line: usize, parent: Option<usize>) -> usize {
        self.blocks.push(Block { kind, line, parent });
        self.blocks.len() - 1
    }

    fn mark(&mut self, lines: Range<usize>, block: usize) {
        self.lines.get_mut(lines).into_iter().flatten().for_each(|line| *line = Some(block));
    }

    /// Marks the lines of an item's own text.
    fn mark_own(&mut self, lines: Range<usize>, outer: Option<usize>) {
        if let Some(item) = outer.filter(|outer| self.blocks.get(*outer).is_some_and(|block| block.kind == Kind::Item))
        {
            self.mark(lines, item);
        }
    }

    /// The blocks of a line, the innermost first.
    pub(super) fn chain(&self, line: usize) -> Chain<'_> {
        Chain { structure: self, next: self.lines.get(line).copied().flatten() }
    }

    /// Whether two lines are in one innermost block.
    pub(super) fn are_in_one(&self, line: usize, other: usize) -> bool {
        self.lines.get(line) == self.lines.get(other)
    }

    pub(super) fn kind_at(&self, line: usize) -> Option<Kind> {
        self.chain(line).next().map(|block| block.kind)
    }

    pub(super) fn is_paragraph(&self, line: usize) -> bool {
        self.kind_at(line) == Some(Kind::Paragraph)
    }

    /// Whether a table meets other text without a blank line between them.
    pub(super) fn is_crammed(&self, line: usize, next: usize) -> bool {
        let same = self.lines.get(line) == self.lines.get(next);
        match (self.kind_at(line), self.kind_at(next)) {
            (Some(Kind::Table), _) => !same,
            (Some(Kind::Paragraph), Some(Kind::Table)) => true,
            _ => false,
        }
    }
}

pub(super) struct Chain<'a> {
    structure: &'a Structure,
    next: Option<usize>,
}

impl Iterator for Chain<'_> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        let block = *self.structure.blocks.get(self.next?)?;
        self.next = block.parent;
        Some(block)
    }
}

const fn kind(tag: &Tag<'_>) -> Option<Kind> {
    Some(match tag {
        Tag::Paragraph => Kind::Paragraph,
        Tag::Heading { .. } => Kind::Heading,
        Tag::Item => Kind::Item,
        Tag::BlockQuote(_) => Kind::Quote,
        Tag::FootnoteDefinition(_) => Kind::Footnote,
        Tag::CodeBlock(_) => Kind::Code,
        Tag::HtmlBlock => Kind::Html,
        Tag::Table(_) => Kind::Table,
        _ => return None,
    })
}

const fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::Link { .. } | Tag::Image { .. } | Tag::Emphasis | Tag::Strong)
}
