//! Finds the links in a note, and removes some of them. A removed link leaves its display text, unless it is all that a list item has.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::lines::{line_end, next_line};
use crate::note::{Link, LinkKind, parse};
use crate::task::after_marker;

/// A link in a note's body that leads into the vault and is not an embed, with its context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkOccurrence {
    /// Its target as written, without the subpath.
    pub target: String,
    /// Its line, counted from 0.
    pub line: u32,
    /// The column it begins in, in characters counted from 0.
    pub column: usize,
    /// Whether it is on the first line of a list item.
    pub is_in_list_item: bool,
    /// The text of its line without links, list marker and separators.
    pub annotation: Arc<str>,
    /// The text of its paragraph or list item without links and list marker, line by line.
    pub prose: Arc<str>,
    range: Range<usize>,
    shown: String,
}

/// The links of a note.
#[must_use]
pub fn link_occurrences(text: &str) -> Vec<LinkOccurrence> {
    let note = parse(text);
    let body = note.frontmatter.as_ref().map_or(0, |frontmatter| frontmatter.body_start);
    let lines = LinkLines::new(text, body, &Covered::by(&note.links));
    let is_link = |link: &&Link| {
        let is_kind = matches!(link.kind, LinkKind::Wikilink | LinkKind::Markdown);
        is_kind && !link.target.is_empty() && !link.is_external() && link.range.start >= body
    };
    // The last column computed, so that a long line is walked only once.
    let mut last = (0, 0);
    let standing = |link: &Link| {
        let line = lines.at(link.range.start);
        let start = line.map_or(0, |line| line.start);
        let (from, before) = if (start..=link.range.start).contains(&last.0) { last } else { (start, 0) };
        let column = before + text.get(from..link.range.start).unwrap_or_default().chars().count();
        last = (link.range.start, column);
        let subpath = link.subpath.as_ref().map(|subpath| format!("#{subpath}")).unwrap_or_default();
        LinkOccurrence {
            target: link.target.clone(),
            line: link.line,
            column,
            is_in_list_item: line.is_some_and(|line| line.is_item),
            annotation: line.map(|line| line.plain.clone()).unwrap_or_default(),
            prose: line.and_then(|line| lines.paragraphs.get(line.paragraph)).cloned().unwrap_or_default(),
            range: link.range.clone(),
            shown: link.display.clone().unwrap_or_else(|| format!("{}{subpath}", link.target)),
        }
    };
    note.links.iter().filter(is_link).map(standing).collect()
}

/// `text` without the links `dropped`, which must be some of its [`link_occurrences`]. A list item of one line that
/// contains nothing else (no text, links or embeds) is removed whole. [`None`] if the removal would change other links.
#[must_use]
pub fn remove_links(text: &str, dropped: &[&LinkOccurrence]) -> Option<String> {
    let note = parse(text);
    let body = note.frontmatter.as_ref().map_or(0, |frontmatter| frontmatter.body_start);
    let lines = LinkLines::new(text, body, &Covered::by(&note.links));
    let gone: BTreeSet<usize> = dropped.iter().map(|link| link.range.start).collect();
    let is_gone = |start: usize| gone.contains(&start);
    let stay: Vec<&Link> = note.links.iter().filter(|link| !is_gone(link.range.start)).collect();
    let lines_that_stay: BTreeSet<u32> = stay.iter().map(|link| link.line).collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for link in link_occurrences(text).iter().filter(|link| is_gone(link.range.start)) {
        if link.range.start < at {
            continue;
        }
        let line = lines.at(link.range.start)?;
        let is_bare = line.is_item
            && !line.has_text
            && line.start >= at
            && link.range.end <= line.next
            && !lines_that_stay.contains(&link.line)
            && !has_more(text, line.start, line.next);
        if is_bare {
            out.push_str(text.get(at..line.start)?);
            at = line.next;
        } else {
            out.push_str(text.get(at..link.range.start)?);
            out.push_str(&link.shown);
            at = link.range.end;
        }
    }
    out.push_str(text.get(at..)?);
    let found = parse(&out).links;
    let as_written = |link: &Link| (link.kind, link.target.clone(), link.subpath.clone(), link.display.clone());
    found.iter().map(as_written).eq(stay.into_iter().map(as_written)).then_some(out)
}

/// Whether the list item on the line from `start` to `end` continues below: the next line is neither empty nor an item with the same
/// indent or less.
fn has_more(text: &str, start: usize, end: usize) -> bool {
    let line = |at: usize| text.get(at..line_end(text, at)).unwrap_or_default();
    let next = line(end);
    if next.trim().is_empty() {
        // A blank line may separate it from indented text below.
        let below = text.get(end..).unwrap_or_default().lines().find(|line| !line.trim().is_empty());
        return below.is_some_and(|below| indent(below) > indent(line(start)));
    }
    indent(next) > indent(line(start)) || after_marker(next.trim_start_matches(INDENT)).is_none()
}

const INDENT: [char; 3] = [' ', '\t', '>'];

/// The width of the indent of `line`; a tab advances to the next multiple of 4.
fn indent(line: &str) -> usize {
    let before = line.len() - line.trim_start_matches(INDENT).len();
    let width = |width: usize, byte: &u8| width + if *byte == b'\t' { 4 - width % 4 } else { 1 };
    line.as_bytes().iter().take(before).fold(0, width)
}

/// A line of a note.
struct Line {
    start: usize,
    /// The start of the next line.
    next: usize,
    is_item: bool,
    /// Whether it has anything besides links, list marker and separators.
    has_text: bool,
    /// Its text without links and list marker.
    plain: Arc<str>,
    /// The paragraph it belongs to. Each empty line, heading and list item is a paragraph of its own.
    paragraph: usize,
}

struct LinkLines {
    lines: Vec<Line>,
    /// The text of each paragraph without links and list markers, line by line.
    paragraphs: Vec<Arc<str>>,
}

impl LinkLines {
    /// The lines of `text` from `body` on. `links` are the ranges that links cover.
    fn new(text: &str, body: usize, links: &Covered) -> Self {
        let mut lines: Vec<Line> = Vec::new();
        let mut paragraphs: Vec<String> = Vec::new();
        let (mut start, mut was_apart) = (body, true);
        while start < text.len() {
            let end = line_end(text, start);
            let line = text.get(start..end).unwrap_or_default();
            let marked = line.trim_start_matches(INDENT);
            let rest = after_marker(marked);
            let is_item = rest.is_some();
            let from = end - rest.map_or(marked.len(), str::len);
            let bare = outside(text, from..end, links);
            let plain = bare.trim_matches(is_between).to_owned();
            let has_text = bare.contains(|c: char| !c.is_whitespace() && !SEPARATORS.contains(&c));
            let is_apart = is_item || marked.is_empty() || marked.starts_with('#');
            match paragraphs.last_mut() {
                Some(paragraph) if !is_apart && !was_apart => {
                    let parts = !paragraph.is_empty() && !plain.is_empty();
                    paragraph.extend([if parts { "\n" } else { "" }, &plain]);
                }
                _ => paragraphs.push(plain.clone()),
            }
            let next = next_line(text, end).max(start + 1);
            let paragraph = paragraphs.len() - 1;
            lines.push(Line { start, next, is_item, has_text, plain: plain.into(), paragraph });
            was_apart = is_apart;
            start = next;
        }
        Self { lines, paragraphs: paragraphs.into_iter().map(Arc::from).collect() }
    }

    fn at(&self, at: usize) -> Option<&Line> {
        self.lines.get(self.lines.partition_point(|line| line.start <= at).checked_sub(1)?)
    }
}

/// The ranges of a text that links cover, in order and without overlap.
struct Covered(Vec<Range<usize>>);

impl Covered {
    fn by(links: &[Link]) -> Self {
        let mut ranges: Vec<Range<usize>> = links.iter().map(|link| link.range.clone()).collect();
        ranges.sort_by_key(|range| range.start);
        let mut apart: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match apart.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => apart.push(range),
            }
        }
        Self(apart)
    }

    fn holds(&self, at: usize) -> bool {
        let after = self.0.partition_point(|range| range.start <= at);
        after.checked_sub(1).and_then(|index| self.0.get(index)).is_some_and(|range| range.contains(&at))
    }
}

/// Characters that may separate the links of a list item.
const SEPARATORS: [char; 12] = [',', ';', '.', ':', '-', '|', '/', '&', '–', '—', '·', '•'];

/// Whether a character at the edge of the text around a link is only a separator.
fn is_between(c: char) -> bool {
    c.is_whitespace() || c.is_ascii_punctuation() || SEPARATORS.contains(&c)
}

/// The text of `range` outside of `links`, without a check box.
fn outside(text: &str, range: Range<usize>, links: &Covered) -> String {
    let line = text.get(range.clone()).unwrap_or_default();
    let rest: String =
        line.char_indices().filter(|(at, _)| !links.holds(range.start + at)).map(|(_, character)| character).collect();
    let rest = rest.trim();
    let unboxed =
        rest.strip_prefix('[').and_then(|boxed| boxed.get(boxed.chars().next()?.len_utf8()..)?.strip_prefix(']'));
    unboxed.unwrap_or(rest).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUB: &str = "---\nup: \"[[Top]]\"\n---\n# Hub of [[h]]\n\n- [[a]]\n- [ ] [[b|B]] – why it is here\n* [[c]], [d](d.md)\n  - [[e]]\n1. [[f]]\n\nSome prose about [[g]] and\nmore of it. ![[pic.png]] `[[x]]`\n\n[[i]]\n";

    #[test]
    fn what_stands_around_a_link_is_told() {
        let found = link_occurrences(HUB);
        let found: Vec<_> = found
            .iter()
            .map(|link| (&*link.target, link.line, link.column, link.is_in_list_item, &*link.annotation, &*link.prose))
            .collect();
        let why = "why it is here";
        let expected = [
            ("h", 3, 9, false, "Hub of", "Hub of"),
            ("a", 5, 2, true, "", ""),
            ("b", 6, 6, true, why, why),
            ("c", 7, 2, true, "", ""),
            ("d.md", 7, 9, true, "", ""),
            ("e", 8, 4, true, "", ""),
            ("f", 9, 3, true, "", ""),
            ("g", 11, 17, false, "Some prose about  and", "Some prose about  and\nmore of it.  `[[x"),
            ("i", 14, 0, false, "", ""),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_dropped_leaves_what_it_shows() {
        let all = link_occurrences(HUB);
        let drop = |targets: &[&str]| {
            let dropped: Vec<&LinkOccurrence> =
                all.iter().filter(|link| targets.contains(&link.target.as_str())).collect();
            remove_links(HUB, &dropped).unwrap()
        };
        assert_eq!(drop(&[]), HUB);
        assert_eq!(drop(&["a", "f"]), HUB.replace("- [[a]]\n", "").replace("1. [[f]]\n", ""));
        assert_eq!(drop(&["b", "g"]), HUB.replace("[[b|B]]", "B").replace("[[g]]", "g"));
        // The item has more text below it or beside it.
        assert_eq!(drop(&["c", "d.md"]), HUB.replace("[[c]], [d](d.md)", "c, d"));
        assert_eq!(drop(&["c"]), HUB.replace("[[c]]", "c"));
        assert_eq!(drop(&["c", "d.md", "e"]), HUB.replace("[[c]], [d](d.md)\n  - [[e]]\n", "c, d\n"));
    }

    #[test]
    fn a_list_item_stays_for_whatever_else_it_has() {
        for (item, left) in [
            ("- [[a]] ![[diagram.png]]\n", "- a ![[diagram.png]]\n"),
            ("- [[a]] [docs](https://x.org/1)\n", "- a [docs](https://x.org/1)\n"),
            ("- [[a]] [[#Notes]]\n", "- a [[#Notes]]\n"),
            ("- [[a]] ???\n", "- a ???\n"),
            ("- [[a]] (!)\n", "- a (!)\n"),
            ("- [[a]] #tag\n", "- a #tag\n"),
            ("- [[a]], [[a]].\n", ""),
            ("- b\n  - [[a]]\n\t- c\n", "- b\n  - a\n\t- c\n"),
        ] {
            let text = format!("before\n{item}\nafter\n");
            let all = link_occurrences(&text);
            let dropped: Vec<&LinkOccurrence> = all.iter().filter(|link| link.target == "a").collect();
            assert_eq!(remove_links(&text, &dropped).unwrap(), format!("before\n{left}\nafter\n"), "{item}");
        }
    }

    #[test]
    fn a_note_of_many_links_is_pruned_in_a_moment() {
        let text = "[[a]] [[b]] ".repeat(20_000) + &"\n- [[a]]".repeat(20_000);
        let all = link_occurrences(&text);
        let dropped: Vec<&LinkOccurrence> = all.iter().filter(|link| link.target == "a").collect();
        assert_eq!(
            remove_links(&text, &dropped).map(|left| left.trim_end().len()),
            Some("a [[b]] ".len() * 20_000 - 1)
        );
    }
}
