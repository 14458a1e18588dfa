//! The sections of a drawing's note besides the drawing itself: the texts of its elements, their links, and the files that it shows. There
//! people and searches find them, and the plugin takes them from there.

use std::ops::Range;

use super::block::HEADINGS;
use crate::lines::{line_end, next_line};

/// Characters of the id of an element that such a section names.
pub(super) const ID_CHARS: usize = 8;

const TEXTS: [&str; 2] = ["## Text Elements", "# Text Elements"];
const LINKS: [&str; 2] = ["## Element Links", "# Element Links"];
const FILES: [&str; 3] = ["## Embedded Files", "# Embedded files", "# Embedded Files"];
const DATA: &str = "# Excalidraw Data";
const COMMENT: &str = "%%";

/// Whether a line is a heading by which sections and drawings are found.
pub(super) fn is_heading(line: &str) -> bool {
    let line = line.trim_end();
    [&TEXTS[..], &LINKS, &FILES, &HEADINGS, &[DATA]].iter().any(|headings| headings.contains(&line))
}

/// A text, link or file, by the id of its element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub id: String,
    /// Where it stands.
    pub value: Range<usize>,
    /// The same with its id and what separates it from the next.
    pub whole: Range<usize>,
}

/// The sections of a note.
#[derive(Debug, Default)]
pub(super) struct Sections {
    pub texts: Vec<Entry>,
    pub links: Vec<Entry>,
    pub files: Vec<Entry>,
    /// Where a new text goes, and a new link; and what goes before the first one.
    texts_end: (usize, &'static str),
    links_end: (usize, &'static str, &'static str),
}

impl Sections {
    /// Reads the sections of `text` before its drawing, whose heading begins at `end`.
    pub(super) fn read(text: &str, end: usize) -> Self {
        let mut places = Places { end, ..Places::default() };
        let mut at = 0;
        while at < end {
            let after = line_end(text, at);
            let next = next_line(text, after);
            places.line(text.get(at..after).unwrap_or_default().trim_end(), at, next);
            at = next;
        }
        // A comment that begins right before the drawing is no part of a section.
        let before = text.get(..end).unwrap_or_default().trim_end_matches(['\n', '\r']);
        if before.strip_suffix(COMMENT).is_some_and(|before| before.is_empty() || before.ends_with('\n')) {
            places.end = before.len() - COMMENT.len();
        }
        let Places { data, texts, links, files, end } = places;
        let mut sections = Self::default();
        let links_or_files = links.or(files).map_or(end, |(heading, _)| heading);
        let files_or_end = files.map_or(end, |(heading, _)| heading);
        sections.texts_end = match (texts, data) {
            (Some((_, start)), _) => {
                sections.texts = texts_of(text, start..links_or_files.max(start));
                (sections.texts.last().map_or(start, |last| last.whole.end), "")
            }
            (None, Some(start)) => (start, "## Text Elements\n"),
            (None, None) => (links_or_files, "# Excalidraw Data\n\n## Text Elements\n"),
        };
        sections.links_end = match links {
            Some((_, start)) => {
                sections.links = lines_of(text, start..files_or_end.max(start));
                (sections.links.last().map_or(start, |last| last.whole.end), "", "")
            }
            None => (files_or_end, "## Element Links\n", "\n"),
        };
        if let Some((_, start)) = files {
            sections.files = lines_of(text, start..end.max(start));
        }
        sections.links.retain(|entry| entry.id.chars().count() == ID_CHARS);
        sections
    }

    /// Edits after which the text of the element with this id is `new`, or is gone.
    pub(super) fn set_text(&self, id: &str, new: Option<&str>, edits: &mut Edits) {
        edits.said.extend(new.map(|new| (Part::Text, id.to_owned(), new.to_owned())));
        if !set(&self.texts, id, new, &mut edits.changed)
            && let Some(new) = new
        {
            edits.texts.push_str(&format!("{new} ^{id}\n\n"));
        }
    }

    /// Edits after which the link of the element with this id is `new`, or is gone.
    pub(super) fn set_link(&self, id: &str, new: Option<&str>, edits: &mut Edits) {
        edits.said.extend(new.map(|new| (Part::Link, id.to_owned(), new.to_owned())));
        if !set(&self.links, id, new, &mut edits.changed)
            && let Some(new) = new
        {
            edits.links.push_str(&format!("{id}: {new}\n"));
        }
    }

    /// The text for the element with this id in `text`, whose sections these are.
    pub(super) fn said<'a>(&self, text: &'a str, part: Part, id: &str) -> Option<&'a str> {
        let entries = if part == Part::Text { &self.texts } else { &self.links };
        text.get(entries.iter().rfind(|entry| entry.id == id)?.value.clone())
    }

    /// All edits of the note.
    pub(super) fn edits(&self, edits: Edits) -> Vec<(Range<usize>, String)> {
        let Edits { mut changed, texts, links, .. } = edits;
        if !texts.is_empty() {
            let (at, heading) = self.texts_end;
            changed.push((at..at, format!("{heading}{texts}")));
        }
        if !links.is_empty() {
            let (at, heading, end) = self.links_end;
            changed.push((at..at, format!("{heading}{links}{end}")));
        }
        changed
    }
}

/// Edits of the sections.
#[derive(Debug, Default)]
pub(super) struct Edits {
    changed: Vec<(Range<usize>, String)>,
    /// New texts, and new links.
    texts: String,
    links: String,
    /// The texts of elements after the change.
    pub said: Vec<(Part, String, String)>,
}

/// A section that a change may be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Text,
    Link,
}

/// Whether one has this id. Of several, the last counts.
fn set(entries: &[Entry], id: &str, new: Option<&str>, changed: &mut Vec<(Range<usize>, String)>) -> bool {
    let mut found = entries.iter().rev().filter(|entry| entry.id == id).peekable();
    let is_there = found.peek().is_some();
    match new {
        Some(new) => changed.extend(found.next().map(|entry| (entry.value.clone(), new.to_owned()))),
        None => changed.extend(found.map(|entry| (entry.whole.clone(), String::new()))),
    }
    is_there
}

/// Where the sections are: where each heading begins, and what is below it.
#[derive(Default)]
struct Places {
    data: Option<usize>,
    texts: Option<(usize, usize)>,
    links: Option<(usize, usize)>,
    files: Option<(usize, usize)>,
    end: usize,
}

impl Places {
    fn line(&mut self, line: &str, at: usize, next: usize) {
        if line == DATA && self.texts.is_none() {
            self.data = Some(next);
        } else if TEXTS.contains(&line) && self.texts.is_none() {
            self.texts = Some((at, next));
        } else if LINKS.contains(&line) && self.links.is_none() {
            self.links = Some((at, next));
        } else if FILES.contains(&line) && self.files.is_none() {
            self.files = Some((at, next));
        }
    }
}

/// The texts in a part of the note. Each ends with white space, `^` and the id of its element, at the end of a line.
fn texts_of(text: &str, part: Range<usize>) -> Vec<Entry> {
    let mut entries = Vec::new();
    let (mut start, mut at) = (part.start, part.start);
    while at < part.end {
        let after = line_end(text, at);
        let next = next_line(text, after);
        let line = text.get(at..after).unwrap_or_default();
        let ends = line.rsplit_once('^').filter(|(before, id)| {
            let is_apart = before.ends_with([' ', '\t']) || before.is_empty() && at > start;
            is_apart && id.chars().count() == ID_CHARS && next > after
        });
        if let Some((before, id)) = ends {
            // The white space before the id belongs to it: it may be the end of the line before.
            let value = start..(at + before.len()).saturating_sub(1).max(start);
            let end = match text.get(next..part.end) {
                Some(rest) if rest.starts_with('\n') || rest.starts_with("\r\n") => {
                    next_line(text, line_end(text, next))
                }
                _ => next,
            };
            entries.push(Entry { id: id.to_owned(), value, whole: start..end });
            (start, at) = (end, end);
        } else {
            at = next;
        }
    }
    entries
}

/// The lines `id: value` in a part of the note.
fn lines_of(text: &str, part: Range<usize>) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut at = part.start;
    while at < part.end {
        let after = line_end(text, at);
        let next = next_line(text, after);
        if let Some((id, value)) = text.get(at..after).and_then(|line| line.split_once(':'))
            && !id.is_empty()
            && !id.contains(char::is_whitespace)
        {
            let start = after - value.trim_start().len();
            entries.push(Entry { id: id.to_owned(), value: start..after, whole: at..next });
        }
        at = next;
    }
    entries
}
