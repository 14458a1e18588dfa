//! Finds the target of an edit.

use std::ops::Range;

use super::error::{Candidate, MAX_CANDIDATES, Problem, echo};
use super::splice::{line_start, text_start};
use super::{Target, block};
use crate::fold::fold;
use crate::lines::{line_end, next_line};
use crate::note::{Heading, MAX_BODY_BYTES, MAX_ITEMS, Note, parse};

/// The position of a target. All offsets except the end of `content` are the start of a line or the end of the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TargetPosition {
    /// The start of its first line.
    pub(super) start: usize,
    /// After a heading's line; after the block or lines.
    pub(super) below: usize,
    /// The range to replace: lines without the last line break. `None` for a heading with nothing below it.
    pub(super) content: Option<Range<usize>>,
    /// After the last line of the target that is not blank.
    pub(super) end: usize,
}

pub(super) fn find(text: &str, target: &Target) -> Result<TargetPosition, Problem> {
    match target {
        Target::Heading(names) => heading(text, &read(text)?, names),
        Target::HeadingLine(line) => on_line(text, &read(text)?, *line),
        Target::Block(id) => marked(text, &read(text)?, id.strip_prefix('^').unwrap_or(id)),
        Target::Lines([from, to]) => numbered(text, *from, *to),
    }
}

/// The parsed note, if it is short enough to be parsed completely.
fn read(text: &str) -> Result<Note, Problem> {
    if text.len() > MAX_BODY_BYTES {
        return Err(Problem::TooLongForTargets);
    }
    let note = parse(text);
    let full = |count: usize| count >= MAX_ITEMS;
    if full(note.headings.len()) || full(note.block_ids.len()) {
        return Err(Problem::TooLongForTargets);
    }
    Ok(note)
}

fn heading(text: &str, note: &Note, names: &[String]) -> Result<TargetPosition, Problem> {
    let names: Vec<&str> = names.iter().map(|name| name.trim()).collect();
    let Some((name, above)) = names.split_last() else {
        return Err(Problem::NoHeadingNamed);
    };
    let mut outline: Vec<&Heading> = Vec::new();
    let mut found = Vec::new();
    for (index, heading) in note.headings.iter().enumerate() {
        while outline.pop_if(|outer| outer.level >= heading.level).is_some() {}
        let mut outer = outline.iter().map(|outer| outer.text.trim());
        if heading.text.trim() == *name && above.iter().all(|wanted| outer.any(|text| text == *wanted)) {
            found.push((index, heading));
        }
        outline.push(heading);
    }
    match found.as_slice() {
        [(index, heading)] => Ok(section(text, heading, note.headings.iter().skip(index + 1))),
        [] => {
            let candidates = closest(&note.headings, name);
            Err(Problem::HeadingMissing { heading: written(&names), candidates })
        }
        several => {
            let several = several.iter().take(MAX_CANDIDATES);
            let candidates = several.filter_map(|(index, _)| candidate(&note.headings, *index)).collect();
            Err(Problem::HeadingAmbiguous { heading: written(&names), candidates })
        }
    }
}

fn on_line(text: &str, note: &Note, line: u32) -> Result<TargetPosition, Problem> {
    let found = note.headings.iter().position(|heading| heading.line.saturating_add(1) == line);
    match found.and_then(|index| Some((index, note.headings.get(index)?))) {
        Some((index, heading)) => Ok(section(text, heading, note.headings.iter().skip(index + 1))),
        None => {
            let candidates = (0..note.headings.len()).take(MAX_CANDIDATES);
            let candidates = candidates.filter_map(|index| candidate(&note.headings, index)).collect();
            Err(Problem::HeadingMissing { heading: format!("on line {line}"), candidates })
        }
    }
}

/// The place of `heading`. `below` are the headings that follow it in the note.
fn section<'a>(text: &str, heading: &Heading, mut below: impl Iterator<Item = &'a Heading>) -> TargetPosition {
    let next = below.find(|next| next.level <= heading.level);
    let section_end = next.map_or(text.len(), |next| line_start(text, next.offset));
    let below = next_line(text, line_end(text, heading.end));
    let body = text.get(below..section_end).unwrap_or_default();
    let blank = [' ', '\t', '\n', '\r'];
    let content = (!body.trim_matches(blank).is_empty()).then(|| {
        let first = below + body.len() - body.trim_start_matches(blank).len();
        line_start(text, first)..line_end(text, below + body.trim_end_matches(blank).len())
    });
    let end = content.as_ref().map_or(below, |content| next_line(text, content.end));
    TargetPosition { start: line_start(text, heading.offset), below, content, end }
}

/// The headings whose text contains `name`, ignoring case; all headings if there are none.
fn closest(headings: &[Heading], name: &str) -> Vec<Candidate> {
    let name = fold(name);
    let like = |index: &usize| headings.get(*index).is_some_and(|heading| fold(&heading.text).contains(&*name));
    let mut indices: Vec<usize> = (0..headings.len()).filter(like).take(MAX_CANDIDATES).collect();
    if indices.is_empty() {
        indices = (0..headings.len()).take(MAX_CANDIDATES).collect();
    }
    indices.into_iter().filter_map(|index| candidate(headings, index)).collect()
}

fn candidate(headings: &[Heading], index: usize) -> Option<Candidate> {
    let heading = headings.get(index)?;
    let mut path = vec![heading.text.as_str()];
    let mut level = heading.level;
    for outer in headings.get(..index)?.iter().rev() {
        if outer.level < level {
            path.push(&outer.text);
            level = outer.level;
        }
    }
    path.reverse();
    Some(Candidate::new(heading.line, &written(&path)))
}

/// A heading path as it is written in a target.
fn written(path: &[&str]) -> String {
    serde_json::to_string(path).map(|path| echo(&path)).unwrap_or_default()
}

fn marked(text: &str, note: &Note, id: &str) -> Result<TargetPosition, Problem> {
    let carriers: Vec<_> = note.block_ids.iter().filter(|block| block.name == id).collect();
    match carriers.as_slice() {
        [carrier] => {
            let body_start = note.frontmatter.as_ref().map_or(text_start(text), |frontmatter| frontmatter.body_start);
            Ok(lines(text, block::lines(text, body_start, carrier.range.start)))
        }
        [] => {
            let some = note.block_ids.iter().take(MAX_CANDIDATES);
            let candidates = some.map(|block| Candidate::new(block.line, &format!("^{}", block.name))).collect();
            Err(Problem::BlockMissing { id: echo(id), candidates })
        }
        several => {
            let several = several.iter().take(MAX_CANDIDATES);
            let line = |offset: usize| text.get(line_start(text, offset)..line_end(text, offset)).unwrap_or_default();
            let candidates = several.map(|block| Candidate::new(block.line, line(block.range.start))).collect();
            Err(Problem::BlockAmbiguous { id: echo(id), candidates })
        }
    }
}

/// Lines as ripgrep counts them: only `
/// ` ends a line, and an empty rest after the last `
/// ` is not a line.
fn numbered(text: &str, from: u32, to: u32) -> Result<TargetPosition, Problem> {
    let ended = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let count = ended + usize::from(!text.is_empty() && !text.ends_with('\n'));
    let (first, last) = (from as usize, to as usize);
    if first < 1 || first > last || last > count {
        return Err(Problem::NoSuchLines { from, to, count });
    }
    let mut breaks = memchr::memchr_iter(b'\n', text.as_bytes());
    let start = if first == 1 { text_start(text) } else { breaks.nth(first - 2).map_or(text.len(), |at| at + 1) };
    let end = breaks.nth(last - first).unwrap_or(text.len());
    let before_end = text.as_bytes().get(start..end).unwrap_or_default();
    let end = if before_end.ends_with(b"\r") && end < text.len() { end - 1 } else { end };
    Ok(lines(text, start..end))
}

/// The place of whole lines, whose range excludes the last line break.
fn lines(text: &str, content: Range<usize>) -> TargetPosition {
    let below = next_line(text, content.end);
    TargetPosition { start: content.start, below, content: Some(content), end: below }
}
