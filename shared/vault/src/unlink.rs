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
    Linked::of(text).standings
}

/// A note's links, and its lines.
struct Linked {
    /// All its links and embeds.
    links: Vec<Link>,
    lines: Lines,
    standings: Vec<Standing>,
}

impl Linked {
    fn of(text: &str) -> Self {
        let note = parse(text);
        let body = note.frontmatter.as_ref().map_or(0, |frontmatter| frontmatter.body_start);
        let lines = Lines::new(text, body, merged(&note.links));
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
                prose: line.map_or(0, |line| line.prose),
                range: link.range.clone(),
                shown: link.display.clone().unwrap_or_else(|| format!("{}{subpath}", link.target)),
            }
        };
        let standings = note.links.iter().filter(is_link).map(standing).collect();
        Self { links: note.links, lines, standings }
    }
}

/// Where links are, each place once, ascending.
fn merged(links: &[Link]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = links.iter().map(|link| link.range.clone()).collect();
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut().filter(|last| range.start < last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => merged.push(range),
        }
    }
    merged
}

/// `text` without the links that are `dropped`, which are some of its [`standings`]: a list item of one line that has nothing else, neither
/// text nor links nor embeds, goes with them. [`None`] if other links would be others then.
#[must_use]
pub fn without(text: &str, dropped: &[&Standing]) -> Option<String> {
    let Linked { links, lines, standings } = Linked::of(text);
    let gone: BTreeSet<usize> = dropped.iter().map(|link| link.range.start).collect();
    let stay: BTreeSet<u32> =
        links.iter().filter(|link| !gone.contains(&link.range.start)).map(|link| link.line).collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for link in standings.iter().filter(|link| gone.contains(&link.range.start)) {
        if link.range.start < at {
            continue;
        }
        let line = lines.at(link.range.start)?;
        let is_bare = line.is_item
            && line.characters == 0
            && line.range.start >= at
            && link.range.end <= line.range.end
            && !stay.contains(&link.line)
            && !has_more(text, line.range.start, line.range.end);
        if is_bare {
            out.push_str(text.get(at..line.range.start)?);
            at = line.range.end;
        } else {
            out.push_str(text.get(at..link.range.start)?);
            out.push_str(&link.shown);
            at = link.range.end;
        }
    }
    out.push_str(text.get(at..)?);
    let same = |one: &Link, other: &Link| {
        (one.kind, &one.target, &one.subpath, &one.display)
            == (other.kind, &other.target, &other.subpath, &other.display)
    };
    let expected: Vec<&Link> = links.iter().filter(|link| !gone.contains(&link.range.start)).collect();
    let found = parse(&out).links;
    let is_sound =
        found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| same(found, expected));
    is_sound.then_some(out)
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
    /// With its line break.
    range: Range<usize>,
    is_item: bool,
    /// Whether it is a paragraph of its own: empty, a heading or a list item.
    is_apart: bool,
    /// Characters besides links and list marker.
    characters: usize,
    /// The same of its paragraph, or of itself if it stands apart.
    prose: usize,
}

struct Lines(Vec<Line>);

impl Lines {
    /// The lines of `text` from `body` on, where links are in these places, which ascend.
    fn new(text: &str, body: usize, links: Vec<Range<usize>>) -> Self {
        let mut lines = Vec::new();
        let mut links = links.as_slice();
        let mut start = body;
        while start < text.len() {
            let end = line_end(text, start);
            let line = text.get(start..end).unwrap_or_default();
            let marked = line.trim_start_matches(INDENT);
            let rest = after_marker(marked);
            let from = end - rest.map_or(marked.len(), str::len);
            while links.first().is_some_and(|link| link.end <= from) {
                links = links.get(1..).unwrap_or_default();
            }
            let here = links.partition_point(|link| link.start < end);
            let characters = plain(text, from..end, links.get(..here).unwrap_or_default());
            let is_item = rest.is_some();
            let is_apart = is_item || marked.is_empty() || marked.starts_with('#');
            let next = next_line(text, end).max(start + 1);
            lines.push(Line { range: start..next, is_item, is_apart, characters, prose: characters });
            start = next;
        }
        for paragraph in lines.chunk_by_mut(|one, other| !one.is_apart && !other.is_apart) {
            let prose = paragraph.iter().map(|line| line.characters).sum();
            paragraph.iter_mut().for_each(|line| line.prose = prose);
        }
        Self(lines)
    }

    fn at(&self, at: usize) -> Option<&Line> {
        self.0.get(self.0.partition_point(|line| line.range.start <= at).checked_sub(1)?)
    }
}

/// How many characters `range` of `text` has outside of `links`, without a check box, and white space and separators at both ends.
fn plain(text: &str, range: Range<usize>, links: &[Range<usize>]) -> usize {
    let mut rest = String::new();
    let mut at = range.start;
    for link in links {
        rest.push_str(text.get(at..link.start.max(at)).unwrap_or_default());
        at = link.end.clamp(at, range.end);
    }
    rest.push_str(text.get(at..range.end).unwrap_or_default());
    let rest = rest.trim();
    let unboxed =
        rest.strip_prefix('[').and_then(|boxed| boxed.get(boxed.chars().next()?.len_utf8()..)?.strip_prefix(']'));
    let is_between = |c: char| {
        c.is_whitespace() || matches!(c, ',' | ';' | '.' | ':' | '-' | '|' | '/' | '&' | '+' | '–' | '—' | '·' | '•')
    };
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
            ("h", 3, false, 8, 8),
            ("a", 5, true, 0, 0),
            ("b", 6, true, 14, 14),
            ("c", 7, true, 0, 0),
            ("d.md", 7, true, 0, 0),
            ("e", 8, true, 0, 0),
            ("f", 9, true, 0, 0),
            ("g", 11, false, 21, 41),
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
        ] {
            let text = format!("before\n{item}\nafter\n");
            let all = standings(&text);
            let dropped: Vec<&Standing> = all.iter().filter(|link| link.target == "a").collect();
            assert_eq!(without(&text, &dropped).unwrap(), format!("before\n{left}\nafter\n"), "{item}");
        }
    }

    #[test]
    fn a_note_of_many_links_is_pruned_in_a_moment() {
        let text = "[[a]] [[b]] ".repeat(20_000) + &"\n- [[a]]".repeat(20_000);
        let all = standings(&text);
        let dropped: Vec<&Standing> = all.iter().filter(|link| link.target == "a").collect();
        assert_eq!(without(&text, &dropped).map(|left| left.trim_end().len()), Some("a [[b]] ".len() * 20_000 - 1));
    }
}
