//! Parts inside lines: wikilinks, tags, math, block ids, and which markdown links are valid.
//!
//! Where two of them overlap, the one that begins first wins. Where a wikilink and a markdown link begin together
//! (`[[a]](b)`), the wikilink wins.

use std::ops::Range;

use percent_encoding::percent_decode_str;

use crate::lines::run_length;
use crate::markdown::{Blocks, MarkdownLink, Skip};
use crate::note::parts::{BlockId, Link, LinkKind, MAX_ITEMS, Notation, Note, Tag, has_scheme};
use crate::note::source::Source;
use crate::{block_id, tag, wikilink};

/// Adds the links, tags and block ids of the body to `note`. `masked` is the body after masking; it is the text that is scanned.
pub(crate) fn scan(source: &Source<'_>, masked: &str, blocks: Blocks, note: &mut Note) {
    let mut scanner = Scanner {
        source,
        text: masked,
        skips: &blocks.skips,
        links: &blocks.links,
        lost: vec![false; blocks.links.len()],
        at: 0,
        next_skip: 0,
        next_link: 0,
        note,
    };
    scanner.run();
    let lost = scanner.lost;
    let holding = blocks.links.iter().zip(lost).filter(|(_, lost)| !lost);
    note.links.extend(holding.filter_map(|(link, _)| markdown_link(source, link)));
    let in_body = note.links.partition_point(|link| link.range.start < source.body_start());
    if let Some(links) = note.links.get_mut(in_body..) {
        links.sort_by_key(|link| link.range.start);
    }
    note.links.truncate(MAX_ITEMS);
    note.block_ids = block_ids(source, masked, &blocks.skips);
}

struct Scanner<'a> {
    source: &'a Source<'a>,
    text: &'a str,
    skips: &'a [Skip],
    links: &'a [MarkdownLink],
    /// Which markdown links are invalid because they begin inside a wikilink or math.
    lost: Vec<bool>,
    at: usize,
    next_skip: usize,
    next_link: usize,
    note: &'a mut Note,
}

impl Scanner<'_> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            let skip = self.skips.get(self.next_skip);
            let stop = skip.map_or(bytes.len(), |skip| skip.range.start.max(self.at));
            let ahead = bytes.get(self.at..stop).unwrap_or_default();
            if let Some(found) = memchr::memchr3(b'[', b'#', b'$', ahead) {
                let at = self.at + found;
                match bytes.get(at) {
                    Some(b'[') => self.bracket(at),
                    Some(b'#') => self.tag(at),
                    _ => self.math(at),
                }
            } else if let Some(skip) = skip {
                let holds = skip.link.is_none_or(|link| !self.is_lost(link));
                self.at = if holds { self.at.max(skip.range.end) } else { stop };
                self.next_skip += 1;
            } else {
                return;
            }
        }
    }

    fn bracket(&mut self, at: usize) {
        let run = run_length(self.text.as_bytes(), at, b'[');
        if let Some(found) = wikilink::read(self.text, at, run)
            && self.claim(&found.range)
        {
            let range = self.source.range(&found.range);
            let line = self.source.line(found.range.start);
            if self.note.links.len() < MAX_ITEMS {
                self.note.links.extend(found.link(self.text, range, line));
            }
        } else {
            self.at = at + run;
        }
    }

    fn tag(&mut self, at: usize) {
        self.at = at + 1;
        if let Some(end) = tag::read(self.text, at)
            && self.note.tags.len() < MAX_ITEMS
        {
            let name = self.source.slice(at + 1..end).to_owned();
            self.note.tags.push(Tag { name, range: Some(self.source.range(&(at..end))) });
            self.at = end;
        }
    }

    fn math(&mut self, at: usize) {
        let end = math_end(self.text.as_bytes(), at);
        if !end.is_some_and(|end| self.claim(&(at..end))) {
            let run = run_length(self.text.as_bytes(), at, b'$');
            self.at = at + run;
        }
    }

    /// Claims `range` for one part, unless it ends inside a part that began before it, or inside code or HTML. Markdown links that begin
    /// inside become invalid.
    fn claim(&mut self, range: &Range<usize>) -> bool {
        let mut next = self.next_skip;
        while let Some(skip) = self.skips.get(next)
            && skip.range.start < range.end
        {
            let crossed = match skip.link {
                Some(link) => {
                    self.links.get(link).is_some_and(|link| link.range.start >= range.start) || self.is_lost(link)
                }
                None => skip.range.end <= range.end,
            };
            if !crossed {
                return false;
            }
            next += 1;
        }
        self.next_skip = next;
        while let Some(link) = self.links.get(self.next_link)
            && link.range.start < range.end
        {
            if link.range.start >= range.start
                && let Some(lost) = self.lost.get_mut(self.next_link)
            {
                *lost = true;
            }
            self.next_link += 1;
        }
        self.at = range.end;
        true
    }

    fn is_lost(&self, link: usize) -> bool {
        self.lost.get(link).copied().unwrap_or(false)
    }
}

/// The end of the math whose first `$` is at `at`. It ends on the same line; the text inside `$…$` neither begins nor ends with white
/// space, and no digit follows the closing `$`.
fn math_end(bytes: &[u8], at: usize) -> Option<usize> {
    if wikilink::is_escaped(bytes, at) {
        return None;
    }
    let display = bytes.get(at + 1) == Some(&b'$');
    let start = at + 1 + usize::from(display);
    let mut from = start;
    loop {
        let end = from + memchr::memchr3(b'$', b'\n', b'\r', bytes.get(from..)?)?;
        if bytes.get(end) != Some(&b'$') {
            return None;
        }
        from = end + 1;
        if wikilink::is_escaped(bytes, end) {
            continue;
        }
        if display {
            if bytes.get(from) == Some(&b'$') && end > start {
                return Some(from + 1);
            }
            continue;
        }
        let first_and_last = [bytes.get(start)?, bytes.get(end - 1)?];
        let spaced = first_and_last.iter().any(|byte| byte.is_ascii_whitespace());
        let followed = bytes.get(from).is_some_and(u8::is_ascii_digit);
        return (end > start && !spaced && !followed).then_some(from);
    }
}

fn markdown_link(source: &Source<'_>, link: &MarkdownLink) -> Option<Link> {
    let (target, subpath) = if has_scheme(&link.destination) {
        (link.destination.clone(), None)
    } else {
        let (path, subpath) = link.destination.split_once('#').unwrap_or((&link.destination, ""));
        let target = Some(decode(path)).filter(|target| !has_scheme(target)).unwrap_or_else(|| path.to_owned());
        (target, Some(decode(subpath)).filter(|subpath| !subpath.is_empty()))
    };
    if target.is_empty() && subpath.is_none() {
        return None;
    }
    let display = source.slice(link.display.clone());
    Some(Link {
        kind: if link.embed { LinkKind::MarkdownEmbed } else { LinkKind::Markdown },
        target,
        subpath,
        display: (!display.is_empty()).then(|| display.to_owned()),
        range: source.range(&link.range),
        destination: source.range(&link.written),
        line: source.line(link.range.start),
        notation: Notation::Plain,
    })
}

/// `text`, percent-decoded if the result is UTF-8; otherwise unchanged.
pub(crate) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Into::into)
}

/// The ids at the ends of lines.
fn block_ids(source: &Source<'_>, masked: &str, skips: &[Skip]) -> Vec<BlockId> {
    let skipped = |at: usize| {
        let begun = skips.partition_point(|skip| skip.range.start <= at);
        let last = begun.checked_sub(1).and_then(|last| skips.get(last));
        last.is_some_and(|skip| at < skip.range.end)
    };
    memchr::memchr_iter(b'^', masked.as_bytes())
        .filter(|at| !skipped(*at))
        .filter_map(|at| Some(at..block_id::read(masked, at)?))
        .map(|range| BlockId {
            name: source.slice(range.start + 1..range.end).to_owned(),
            line: source.line(range.start),
            range: source.range(&range),
        })
        .take(MAX_ITEMS)
        .collect()
}
