//! Where links stand in a note, and the note without some of them: what they show stays, unless that is all of a list item.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::lines::{line_end, next_line};
use crate::note::{Link, LinkKind, parse};
use crate::task::after_marker;

/// A link of a note's body that leads into the vault and is no embed, and what stands around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What it leads to as written, without the subpath.
    pub target: String,
    /// Its line, counted from 0.
    pub line: u32,
    /// Whether it stands on the first line of a list item.
    pub is_in_list_item: bool,
    /// How many characters its line has besides links, list marker and what parts them.
    pub annotation: usize,
    /// How many its paragraph has, or its list item.
    pub prose: usize,
    range: Range<usize>,
    shown: String,
}

/// The links of a note.
#[must_use]
pub fn standings(text: &str) -> Vec<Standing> {
    let note = parse(text);
    let body = note.frontmatter.as_ref().map_or(0, |frontmatter| frontmatter.body_start);
    let ranges: Vec<Range<usize>> = note.links.iter().map(|link| link.range.clone()).collect();
    let lines = Lines::new(text, body, &ranges);
    let is_link = |link: &&Link| {
        let is_kind = matches!(link.kind, LinkKind::Wikilink | LinkKind::Markdown);
        is_kind && !link.target.is_empty() && !link.is_external() && link.range.start >= body
    };
    let standing = |link: &Link| {
        let line = lines.at(link.range.start);
        let subpath = link.subpath.as_ref().map(|subpath| format!("#{subpath}")).unwrap_or_default();
        Standing {
            target: link.target.clone(),
            line: link.line,
            is_in_list_item: line.is_some_and(|line| line.is_item),
            annotation: line.map_or(0, |line| line.characters),
            prose: lines.prose(link.range.start),
            range: link.range.clone(),
            shown: link.display.clone().unwrap_or_else(|| format!("{}{subpath}", link.target)),
        }
    };
    note.links.iter().filter(is_link).map(standing).collect()
}

/// `text` without the links that are `dropped`, which are some of its [`standings`]: a list item of one line that has nothing else goes with
/// them. [`None`] if other links would be others then.
#[must_use]
pub fn without(text: &str, dropped: &[&Standing]) -> Option<String> {
    let all = standings(text);
    let gone: BTreeSet<usize> = dropped.iter().map(|link| link.range.start).collect();
    let is_gone = |link: &Standing| gone.contains(&link.range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for link in all.iter().filter(|link| is_gone(link)) {
        if link.range.start < at {
            continue;
        }
        let start = text.get(..link.range.start)?.rfind('\n').map_or(0, |line_break| line_break + 1);
        let end = next_line(text, line_end(text, link.range.start));
        let is_bare = link.is_in_list_item
            && link.annotation == 0
            && start >= at
            && link.range.end <= end
            && !has_more(text, start, end)
            && all.iter().filter(|other| other.line == link.line).all(is_gone);
        if is_bare {
            out.push_str(text.get(at..start)?);
            at = end;
        } else {
            out.push_str(text.get(at..link.range.start)?);
            out.push_str(&link.shown);
            at = link.range.end;
        }
    }
    out.push_str(text.get(at..)?);
    let targets = |text: &str| -> Vec<String> { standings(text).into_iter().map(|link| link.target).collect() };
    let expected = all.iter().filter(|link| !is_gone(link)).map(|link| &link.target);
    targets(&out).iter().eq(expected).then_some(out)
}

/// Whether the list item on the line from `start` to `end` goes on below: the next line is neither empty nor another item that is indented no deeper.
fn has_more(text: &str, start: usize, end: usize) -> bool {
    let line = |at: usize| text.get(at..line_end(text, at)).unwrap_or_default();
    let next = line(end);
    if next.trim().is_empty() {
        // A blank line may part it from what is indented below.
        let below = text.get(end..).unwrap_or_default().lines().find(|line| !line.trim().is_empty());
        return below.is_some_and(|below| indent(below) > indent(line(start)));
    }
    indent(next) > indent(line(start)) || after_marker(next.trim_start_matches(INDENT)).is_none()
}

const INDENT: [char; 3] = [' ', '\t', '>'];

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(INDENT).len()
}

/// A line of a note.
struct Line {
    start: usize,
    is_item: bool,
    /// Whether it is a paragraph of its own: empty, a heading or a list item.
    is_apart: bool,
    /// Characters besides links and list marker.
    characters: usize,
}

struct Lines(Vec<Line>);

impl Lines {
    /// The lines of `text` from `body` on, where these are the links.
    fn new(text: &str, body: usize, links: &[Range<usize>]) -> Self {
        let mut lines = Vec::new();
        let mut start = body;
        while start < text.len() {
            let end = line_end(text, start);
            let line = text.get(start..end).unwrap_or_default();
            let marked = line.trim_start_matches(INDENT);
            let rest = after_marker(marked);
            let is_item = rest.is_some();
            let from = end - rest.map_or(marked.len(), str::len);
            let characters = plain(text, from..end, links);
            let is_apart = is_item || marked.is_empty() || marked.starts_with('#');
            lines.push(Line { start, is_item, is_apart, characters });
            start = next_line(text, end).max(start + 1);
        }
        Self(lines)
    }

    fn index(&self, at: usize) -> Option<usize> {
        self.0.partition_point(|line| line.start <= at).checked_sub(1)
    }

    fn at(&self, at: usize) -> Option<&Line> {
        self.0.get(self.index(at)?)
    }

    /// The characters of the paragraph or list item that holds `at`.
    fn prose(&self, at: usize) -> usize {
        let Some(index) = self.index(at) else { return 0 };
        let (before, after) = self.0.split_at_checked(index).unwrap_or_default();
        let Some((own, after)) = after.split_first() else { return 0 };
        let above = before.iter().rev().take_while(|line| !own.is_apart && !line.is_apart);
        let below = after.iter().take_while(|line| !own.is_apart && !line.is_apart);
        own.characters + above.chain(below).map(|line| line.characters).sum::<usize>()
    }
}

/// How many characters `range` of `text` has outside of `links`, without a check box, and white space and separators at both ends.
fn plain(text: &str, range: Range<usize>, links: &[Range<usize>]) -> usize {
    let is_plain = |at: usize| !links.iter().any(|link| link.contains(&at));
    let line = text.get(range.clone()).unwrap_or_default();
    let rest: String =
        line.char_indices().filter(|(at, _)| is_plain(range.start + at)).map(|(_, character)| character).collect();
    let rest = rest.trim();
    let unboxed =
        rest.strip_prefix('[').and_then(|boxed| boxed.get(boxed.chars().next()?.len_utf8()..)?.strip_prefix(']'));
    let is_between = |c: char| c.is_whitespace() || c.is_ascii_punctuation() || matches!(c, '–' | '—' | '·' | '•');
    unboxed.unwrap_or(rest).trim_matches(is_between).chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUB: &str = "---\nup: \"[[Top]]\"\n---\n# Hub of [[h]]\n\n- [[a]]\n- [ ] [[b|B]] – why it is here\n* [[c]], [d](d.md)\n  - [[e]]\n1. [[f]]\n\nSome prose about [[g]] and\nmore of it. ![[pic.png]] `[[x]]`\n\n[[i]]\n";

    #[test]
    fn what_stands_around_a_link_is_counted() {
        let found: Vec<_> = standings(HUB)
            .into_iter()
            .map(|link| (link.target, link.line, link.is_in_list_item, link.annotation, link.prose))
            .collect();
        let expected = [
            ("h", 3, false, 6, 6),
            ("a", 5, true, 0, 0),
            ("b", 6, true, 14, 14),
            ("c", 7, true, 0, 0),
            ("d.md", 7, true, 0, 0),
            ("e", 8, true, 0, 0),
            ("f", 9, true, 0, 0),
            ("g", 11, false, 21, 38),
            ("i", 14, false, 0, 0),
        ];
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(target, line, item, own, prose)| (target.to_owned(), line, item, own, prose))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_dropped_leaves_what_it_shows() {
        let all = standings(HUB);
        let drop = |targets: &[&str]| {
            let dropped: Vec<&Standing> = all.iter().filter(|link| targets.contains(&link.target.as_str())).collect();
            without(HUB, &dropped).unwrap()
        };
        assert_eq!(drop(&[]), HUB);
        assert_eq!(drop(&["a", "f"]), HUB.replace("- [[a]]\n", "").replace("1. [[f]]\n", ""));
        assert_eq!(drop(&["b", "g"]), HUB.replace("[[b|B]]", "B").replace("[[g]]", "g"));
        // It has more below it, or beside it.
        assert_eq!(drop(&["c", "d.md"]), HUB.replace("[[c]], [d](d.md)", "c, d"));
        assert_eq!(drop(&["c"]), HUB.replace("[[c]]", "c"));
        assert_eq!(drop(&["c", "d.md", "e"]), HUB.replace("[[c]], [d](d.md)\n  - [[e]]\n", "c, d\n"));
    }
}
