//! The joints between inserted lines and the lines around them: a blank line goes where one would become part of the other's block.

use crate::frontmatter;
use crate::lines::{line_break, line_end, line_start, next_line, text_start};

use super::quoted;
use super::structure::{Chain, Kind, Structure, changed};

/// Most bytes that are read on each side of an insertion, and of one line.
const MAX_WINDOW: usize = 32 << 10;
const MAX_LINE: usize = 4 << 10;

/// The blank lines that an insertion needs, each without its break: in a quote they have its marks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Gaps {
    pub(super) above: Option<String>,
    pub(super) below: Option<String>,
    /// Whether the first added line goes on with the quote above it.
    pub(super) is_quoted: bool,
}

/// Whether lines appended to `text` need a blank line above them, so as not to become part of its last block.
#[must_use]
pub fn needs_gap(text: &str, added: &str) -> bool {
    gaps(text, text.len(), added).above.is_some()
}

/// The blank lines that `added` needs when its lines are inserted at `at`, the start of a line or the end of `text`. Lines that continue
/// a block on purpose need none: a list item, a table row, an indented line, or a paragraph below a paragraph. Lines that go on with a
/// quote are judged by their texts in it.
pub(super) fn gaps(text: &str, at: usize, added: &str) -> Gaps {
    let start = text_start(text);
    let body = frontmatter::fences(text, start).map_or(start, |(_, body)| body);
    if at > start && at < body {
        return Gaps::default();
    }
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let around = Around::new(last_lines(before.get(body.min(at)..).unwrap_or_default()), first_lines(after));
    if around.is_in_html() {
        return Gaps::default();
    }
    // Of a long text each end is judged alone.
    let is_long = added.len() > 2 * MAX_WINDOW;
    let first: Vec<&str> = if is_long { first_lines(added) } else { lines(added).collect() };
    let last = if is_long { last_lines(added) } else { first.clone() };
    let (first_line, last_line) =
        (first.first().copied().unwrap_or_default(), last.last().copied().unwrap_or_default());
    let (top, bottom) = (around.depth_above(first_line), around.depth_below(last_line));
    let [above, below] = if !is_long && top == bottom && is_within(&first, top) {
        around.judged(top, &first, [true, true], [true, true])
    } else {
        let [above, _] = around.judged(top, &first, [true, !is_long], [true, false]);
        let [_, below] = around.judged(bottom, &last, [!is_long, true], [false, true]);
        [above, below]
    };
    let above = above || at <= start && begins_properties(added, after);
    Gaps {
        above: above.then(|| quoted::prefix(first_line, top).to_owned()),
        below: below.then(|| quoted::prefix(last_line, bottom).to_owned()),
        is_quoted: top > 0,
    }
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

/// Whether all lines are in a quote of this depth.
fn is_within(lines: &[&str], depth: usize) -> bool {
    lines.iter().all(|line| quoted::depth(line) >= depth)
}

/// The lines around an insertion.
struct Around<'a> {
    above: Vec<&'a str>,
    below: Vec<&'a str>,
    /// That of all of them, before the insertion.
    structure: Structure,
}

impl<'a> Around<'a> {
    fn new(above: Vec<&'a str>, below: Vec<&'a str>) -> Self {
        let structure = Structure::of(&[&above, &below]);
        Self { above, below, structure }
    }

    /// Whether the insertion is in a block of HTML, which a blank line would end.
    fn is_in_html(&self) -> bool {
        let at = self.above.len();
        let same = at > 0 && self.structure.are_in_one(at - 1, at);
        same && self.structure.kind_at(at) == Some(Kind::Html)
    }

    /// How many quotes the line above has in common with `first`. A callout begins a new one.
    fn depth_above(&self, first: &str) -> usize {
        let Some(line) = self.above.last() else { return 0 };
        let depth = quoted::depth(line).min(quoted::depth(first));
        let run = (0..self.above.len()).rev().zip(self.above.iter().rev());
        let depth = self.known(run.map(|(at, line)| (at, *line)), depth);
        depth - usize::from(depth > 0 && is_title(&quoted::inner(first, depth)))
    }

    /// How many quotes the line below has in common with `last`.
    fn depth_below(&self, last: &str) -> usize {
        let Some(line) = self.below.first() else { return 0 };
        let depth = quoted::depth(line).min(quoted::depth(last));
        let depth = self.known((self.above.len()..).zip(self.below.iter().copied()), depth);
        depth - usize::from(depth > 0 && is_title(&quoted::inner(line, depth)))
    }

    /// How many of so many marks are those of quotes, by the nearest of the lines with these marks that is in a block: marks in code are
    /// none.
    fn known(&self, lines: impl Iterator<Item = (usize, &'a str)>, depth: usize) -> usize {
        let run = lines.take_while(|(_, line)| depth > 0 && quoted::depth(line) >= depth);
        let mut kinds = run.map(|(at, _)| self.structure.chain(at).map(|block| block.kind));
        let Some(kinds) = kinds.find_map(|kinds| Some(kinds.collect::<Vec<Kind>>()).filter(|kinds| !kinds.is_empty()))
        else {
            // A rule is in none.
            return depth;
        };
        // The quote that a definition stands in is not known.
        if kinds == [Kind::Definition] {
            return depth;
        }
        kinds.iter().filter(|kind| **kind == Kind::Quote).count().min(depth)
    }

    /// Whether `added` needs blank lines above and below, judged by the texts in quotes of this depth: together with the lines on these
    /// `sides`, of which those in `asked` may get one.
    fn judged(&self, depth: usize, added: &[&str], sides: [bool; 2], asked: [bool; 2]) -> [bool; 2] {
        let is_outside = |line: &&str| quoted::depth(line) < depth;
        let is_whole = is_within(added, depth);
        let above = match self.above.iter().rposition(is_outside) {
            _ if !sides[0] || !(is_whole || asked[0]) => &[],
            Some(outside) => self.above.get(outside + 1..).unwrap_or_default(),
            None => &self.above[..],
        };
        let below = match self.below.iter().position(is_outside) {
            _ if !sides[1] || !(is_whole || asked[1]) => &[],
            Some(outside) => self.below.get(..outside).unwrap_or_default(),
            None => &self.below[..],
        };
        let added = if asked[0] {
            added.get(..added.iter().position(is_outside).unwrap_or(added.len()))
        } else {
            added.get(added.iter().rposition(is_outside).map_or(0, |outside| outside + 1)..)
        };
        let inner = |lines: &[&str]| -> Vec<String> { lines.iter().map(|line| quoted::inner(line, depth)).collect() };
        let all = [inner(above), inner(added.unwrap_or_default()), inner(below)];
        let [above, added, below] = all.each_ref().map(|lines| lines.iter().map(String::as_str).collect());
        Joint { above, added, below, asked }.gaps()
    }
}

/// Whether the text of a quote's line begins a callout.
fn is_title(text: &str) -> bool {
    text.trim_start().starts_with("[!")
}

/// Inserted lines and those around them.
struct Joint<'a> {
    above: Vec<&'a str>,
    added: Vec<&'a str>,
    below: Vec<&'a str>,
    /// Whether a blank line may go above and below.
    asked: [bool; 2],
}

impl Joint<'_> {
    /// The fewest blank lines, above and below, with which the structure changes least.
    fn gaps(&self) -> [bool; 2] {
        let [above, below] = self.meets();
        let mut best = [false, false];
        if !above && !below {
            return best;
        }
        let old = Structure::of(&[&self.above, &self.below]);
        let own = Structure::of(&[&self.added]);
        let mut least = self.cost(best, &old, &own);
        for gaps in [[true, false], [false, true], [true, true]] {
            if least == 0 {
                break;
            }
            if gaps[0] <= above && gaps[1] <= below {
                let cost = self.cost(gaps, &old, &own);
                if cost < least {
                    (best, least) = (gaps, cost);
                }
            }
        }
        best
    }

    /// Whether text stands on both sides of each joint that is asked for.
    fn meets(&self) -> [bool; 2] {
        let is_text = |line: Option<&&str>| line.is_some_and(|line| !is_blank(line));
        let pairs = [(self.above.last(), self.added.first()), (self.added.last(), self.below.first())];
        let [above, below] = pairs.map(|(line, next)| is_text(line) && is_text(next));
        [above && self.asked[0], below && self.asked[1]]
    }

    /// The change of structure with these blank lines; 0 if there is none.
    fn cost(&self, [gap_above, gap_below]: [bool; 2], old: &Structure, own: &Structure) -> usize {
        let blank = |is_there: bool| if is_there { [""].as_slice() } else { &[] };
        let new = Structure::of(&[&self.above, blank(gap_above), &self.added, blank(gap_below), &self.below]);
        let top = self.above.len();
        let start = top + usize::from(gap_above);
        let end = start + self.added.len();
        let shift = end + usize::from(gap_below) - top;
        let moved = |line: usize| if line < top { line } else { line + shift };
        let kept: usize = (0..top + self.below.len()).map(|line| changed(old, line, &new, moved)).sum();
        let added = self.added.iter().enumerate();
        let taken = added.filter(|(line, text)| self.is_taken(text, own.chain(*line), new.chain(start + line)));
        // Not every program ends a table without a blank line, or begins one.
        let [above, below] = self.meets();
        let met = [(above && !gap_above, start), (below && !gap_below, end)];
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
            Kind::Quote => {
                !line.trim_start().starts_with('>')
                    || self.added.first().is_some_and(|line| is_title(line.trim_start_matches([' ', '>'])))
            }
            Kind::Heading | Kind::Html | Kind::Definition => true,
        })
    }
}
