//! The joints between inserted lines and the lines around them: a blank line goes where one would become part of the other's block.

use std::ops::Range;

use pulldown_cmark::{Event, Tag};

use crate::frontmatter;
use crate::lines::{line_break, line_end, line_start, next_line};
use crate::markdown::Events;
use crate::mask::mask;

use super::splice::text_start;

/// Most bytes that are read on each side of an insertion, and of one line.
const MAX_WINDOW: usize = 32 << 10;
const MAX_LINE: usize = 4 << 10;

/// The blank lines that an insertion needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gaps {
    pub(crate) above: bool,
    pub(crate) below: bool,
}

/// Whether lines appended to `text` need a blank line above them, so as not to become part of its last block.
#[must_use]
pub fn needs_gap(text: &str, added: &str) -> bool {
    gaps(text, text.len(), added).above
}

/// The blank lines that `added` needs when its lines are inserted at `at`, the start of a line or the end of `text`. Lines that continue
/// a block on purpose need none: a list item, a table row, a line of a quote, an indented line, or a paragraph below a paragraph.
pub(crate) fn gaps(text: &str, at: usize, added: &str) -> Gaps {
    let start = text_start(text);
    let body = frontmatter::fences(text, start).map_or(start, |(_, body)| body);
    if at > start && at < body {
        return Gaps::default();
    }
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let joint = Joint {
        above: last_lines(before.get(body.min(at)..).unwrap_or_default()),
        added: lines(added).collect(),
        below: first_lines(after),
    };
    let above = at <= start && begins_properties(added, after);
    if above { Gaps { above, ..joint.gaps() } } else { joint.gaps() }
}

/// Whether `added` at the start of a note makes properties of the text `below` it.
fn begins_properties(added: &str, below: &str) -> bool {
    if !added.starts_with("---") || below.is_empty() {
        return false;
    }
    let whole = [added, line_break(added).unwrap_or("\n"), below].concat();
    frontmatter::fences(&whole, 0).is_some_and(|(_, body)| body > added.len() + 2)
}

/// The lines of a text, without their breaks. The start of a long line says what block it is of.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let end = line_end(text, start);
        at = next_line(text, end);
        (start < text.len())
            .then(|| text.get(start..text.floor_char_boundary(end.min(start + MAX_LINE))).unwrap_or_default())
    })
}

fn first_lines(text: &str) -> Vec<&str> {
    let mut read = 0;
    let has_room = |line: &&str| {
        read += line.len() + 1;
        read <= MAX_WINDOW
    };
    lines(text).take_while(has_room).collect()
}

/// The last lines of a text. If it is longer than the window, they begin with the first one that surely begins a block.
fn last_lines(text: &str) -> Vec<&str> {
    let Some(cut) = text.len().checked_sub(MAX_WINDOW).filter(|cut| *cut > 0) else { return lines(text).collect() };
    let window = text.get(line_start(text, text.ceil_char_boundary(cut))..).unwrap_or_default();
    let mut all: Vec<&str> = lines(window).collect();
    let begins = |pair: &[&str]| matches!(pair, [above, line] if is_blank(above) && !is_blank(line) && !line.starts_with([' ', '\t']));
    if let Some(first) = all.windows(2).position(begins) {
        all.drain(..=first);
    }
    all
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Inserted lines and those around them.
struct Joint<'a> {
    above: Vec<&'a str>,
    added: Vec<&'a str>,
    below: Vec<&'a str>,
}

impl Joint<'_> {
    /// The fewest blank lines with which the structure changes least.
    fn gaps(&self) -> Gaps {
        let [above, below] = self.meets();
        let mut best = Gaps::default();
        if !above && !below {
            return best;
        }
        let old = Structure::of(&[&self.above, &self.below]);
        let own = Structure::of(&[&self.added]);
        let mut least = self.cost(best, &old, &own);
        for gaps in [(true, false), (false, true), (true, true)].map(|(above, below)| Gaps { above, below }) {
            if least == 0 {
                break;
            }
            if gaps.above <= above && gaps.below <= below {
                let cost = self.cost(gaps, &old, &own);
                if cost < least {
                    (best, least) = (gaps, cost);
                }
            }
        }
        best
    }

    /// Whether text stands on both sides of each joint.
    fn meets(&self) -> [bool; 2] {
        let is_text = |line: Option<&&str>| line.is_some_and(|line| !is_blank(line));
        let pairs = [(self.above.last(), self.added.first()), (self.added.last(), self.below.first())];
        pairs.map(|(line, next)| is_text(line) && is_text(next))
    }

    /// The change of structure with these blank lines; 0 if there is none.
    fn cost(&self, gaps: Gaps, old: &Structure, own: &Structure) -> usize {
        let blank = |is_there: bool| if is_there { [""].as_slice() } else { &[] };
        let new = Structure::of(&[&self.above, blank(gaps.above), &self.added, blank(gaps.below), &self.below]);
        let top = self.above.len();
        let start = top + usize::from(gaps.above);
        let end = start + self.added.len();
        let shift = end + usize::from(gaps.below) - top;
        let moved = |line: usize| if line < top { line } else { line + shift };
        let kept: usize = (0..top + self.below.len()).map(|line| changed(old, line, &new, moved)).sum();
        let added = self.added.iter().enumerate();
        let taken = added.filter(|(line, text)| self.is_taken(text, own.chain(*line), new.chain(start + line)));
        // Not every program ends a table without a blank line, or begins one.
        let [above, below] = self.meets();
        let met = [(above && !gaps.above, start), (below && !gaps.below, end)];
        let met = met.into_iter().filter(|(meets, line)| *meets && new.is_crammed(line.saturating_sub(1), *line));
        kept + 3 * taken.count() + met.count()
    }

    /// Whether an inserted line becomes part of a block above that it does not continue on purpose, or another kind of block.
    fn is_taken(&self, line: &str, mut own: Chain<'_>, chain: Chain<'_>) -> bool {
        let top = self.above.len();
        let own = own.next().map(|block| block.kind);
        let is_indented = line.starts_with("  ") || line.starts_with('\t');
        let content = line.trim_start_matches([' ', '\t', '>']);
        let last = self.above.last().map_or("", |line| line.trim_start_matches([' ', '\t', '>']));
        let is_row = content.starts_with('|') || !last.starts_with('|') && content.contains('|');
        let mut chain = chain.peekable();
        let kind = chain.peek().map(|block| block.kind);
        if kind != own && !is_indented && !(kind == Some(Kind::Table) && is_row) {
            return true;
        }
        chain.filter(|block| block.line < top).any(|block| match block.kind {
            Kind::Paragraph => false,
            Kind::Item | Kind::Footnote | Kind::Code => !is_indented,
            Kind::Table => !is_row || own == Some(Kind::Table),
            Kind::Quote => !line.trim_start().starts_with('>') || self.begins_callout(),
            Kind::Heading | Kind::Html | Kind::Definition => true,
        })
    }

    fn begins_callout(&self) -> bool {
        self.added.first().is_some_and(|line| line.trim_start_matches([' ', '>']).starts_with("[!"))
    }
}

/// How much the structure of an old line is changed: 1 if its block is only divided.
fn changed(old: &Structure, line: usize, new: &Structure, moved: impl Fn(usize) -> usize) -> usize {
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
enum Kind {
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
struct Block {
    kind: Kind,
    /// Its first line.
    line: usize,
    /// The block that it is in.
    parent: Option<usize>,
}

/// The blocks of some lines.
struct Structure {
    blocks: Vec<Block>,
    /// The innermost block of each line.
    lines: Vec<Option<usize>>,
}

impl Structure {
    fn of(parts: &[&[&str]]) -> Self {
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
    fn chain(&self, line: usize) -> Chain<'_> {
        Chain { structure: self, next: self.lines.get(line).copied().flatten() }
    }

    fn kind_at(&self, line: usize) -> Option<Kind> {
        self.chain(line).next().map(|block| block.kind)
    }

    fn is_paragraph(&self, line: usize) -> bool {
        self.kind_at(line) == Some(Kind::Paragraph)
    }

    /// Whether a table meets other text without a blank line between them.
    fn is_crammed(&self, line: usize, next: usize) -> bool {
        let same = self.lines.get(line) == self.lines.get(next);
        match (self.kind_at(line), self.kind_at(next)) {
            (Some(Kind::Table), _) => !same,
            (Some(Kind::Paragraph), Some(Kind::Table)) => true,
            _ => false,
        }
    }
}

struct Chain<'a> {
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
