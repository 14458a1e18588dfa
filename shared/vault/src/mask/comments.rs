//! Finds Obsidian's comments (`%%…%%`) and display math (`$$` at the start of a line), outside code and HTML comments.

use std::collections::HashMap;

use memchr::memmem;

use super::{Hidden, Prefix};
use crate::lines::{line_end, next_line, run_length};

/// Adds all comments and display math of `body` to `hidden`.
///
/// A comment at the start of a line ends with the next `%%` or with the note. Elsewhere, a comment must end before the next blank line;
/// otherwise it is text.
pub(super) fn find(body: &str, hidden: &mut Vec<Hidden>) {
    let mut finder = Finder { body, hidden, fence: None, paragraph_end: 0, code_runs: HashMap::new(), html_end: None };
    let mut at = 0;
    while at < body.len() {
        at = finder.line(at);
    }
}

struct Finder<'a> {
    body: &'a str,
    hidden: &'a mut Vec<Hidden>,
    fence: Option<Fence>,
    /// The start of the next blank line. The fields below are valid only up to here.
    paragraph_end: usize,
    /// By length: the start of the last backtick run of that length in this paragraph.
    code_runs: HashMap<usize, usize>,
    /// The most recent search for `-->`: where it began, and the end of the `-->` if there is one.
    html_end: Option<(usize, Option<usize>)>,
}

struct Fence {
    byte: u8,
    length: usize,
    quotes: usize,
}

impl Finder<'_> {
    /// Reads the line that begins at `start`; returns the start of the next line to read.
    fn line(&mut self, start: usize) -> usize {
        let end = line_end(self.body, start);
        if let Some(fence) = &self.fence {
            match fence.holds(self.body, start, end) {
                Some(true) => return next_line(self.body, end),
                Some(false) => {
                    self.fence = None;
                    return next_line(self.body, end);
                }
                None => self.fence = None,
            }
        }
        let prefix = Prefix::read(self.body, start, end);
        let content = prefix.end;
        self.fence = Fence::open(self.slice(content, end), prefix.quotes);
        if self.fence.is_some() {
            return next_line(self.body, end);
        }
        let after = self.slice(content, self.body.len());
        if prefix.indent < 4 && after.starts_with(b"%%") {
            let close = self.find(b"%%", content + 2, self.body.len()).unwrap_or(self.body.len());
            return self.hide(content, close, true);
        }
        if prefix.indent < 4
            && after.starts_with(b"$$")
            && let Some(close) = self.find(b"$$", content + 2, self.body.len())
        {
            return self.hide(content, close, true);
        }
        if after.starts_with(b"<!--") {
            let close = self.html_comment_end(content).unwrap_or(self.body.len());
            return self.inline(close);
        }
        self.inline(content)
    }

    /// Reads from `at`, in the middle of a line; returns the start of the next line to read.
    fn inline(&mut self, mut at: usize) -> usize {
        let mut end = line_end(self.body, at);
        loop {
            if at > end {
                end = line_end(self.body, at);
            }
            let Some(found) = self.slice(at, end).iter().position(|byte| matches!(byte, b'`' | b'%' | b'<' | b'\\'))
            else {
                return next_line(self.body, end);
            };
            at += found;
            at = match self.slice(at, self.body.len()) {
                [b'\\', ..] => (at + 2).min(end),
                [b'`', ..] => self.code(at),
                [b'%', b'%', ..] => {
                    let paragraph = self.paragraph(at);
                    let close = self.find(b"%%", at + 2, paragraph);
                    self.hidden.extend(close.map(|close| Hidden { range: at..close, opens_line: false }));
                    close.unwrap_or(at + 2)
                }
                [b'<', b'!', b'-', b'-', ..] => {
                    let paragraph = self.paragraph(at);
                    self.html_comment_end(at).filter(|close| *close <= paragraph).unwrap_or(at + 4)
                }
                _ => at + 1,
            };
        }
    }

    fn hide(&mut self, start: usize, end: usize, opens_line: bool) -> usize {
        self.hidden.push(Hidden { range: start..end, opens_line });
        self.inline(end)
    }

    /// The end of the inline code that begins at `at`; the end of its backticks if they are plain text.
    fn code(&mut self, at: usize) -> usize {
        let paragraph = self.paragraph(at);
        let run = run_length(self.body.as_bytes(), at, b'`');
        if self.code_runs.get(&run).is_none_or(|last| *last <= at) {
            return at + run;
        }
        let mut next = at + run;
        while let Some(found) = memchr::memchr(b'`', self.slice(next, paragraph)) {
            let length = run_length(self.body.as_bytes(), next + found, b'`');
            next += found + length;
            if length == run {
                break;
            }
        }
        next
    }

    /// The end of the paragraph that contains `at`: before the next blank line.
    fn paragraph(&mut self, at: usize) -> usize {
        if at < self.paragraph_end {
            return self.paragraph_end;
        }
        let mut end = line_end(self.body, at);
        while end < self.body.len() {
            let start = next_line(self.body, end);
            end = line_end(self.body, start);
            if self.slice(start, end).iter().all(u8::is_ascii_whitespace) {
                end = start;
                break;
            }
        }
        self.paragraph_end = end;
        self.code_runs.clear();
        let mut next = at;
        while let Some(found) = memchr::memchr(b'`', self.slice(next, end)) {
            let length = run_length(self.body.as_bytes(), next + found, b'`');
            self.code_runs.insert(length, next + found);
            next += found + length;
        }
        end
    }

    fn html_comment_end(&mut self, at: usize) -> Option<usize> {
        if let Some((from, end)) = self.html_end
            && from <= at
            && end.is_none_or(|end| end >= at + 7)
        {
            return end;
        }
        let end = self.find(b"-->", at + 4, self.body.len());
        self.html_end = Some((at, end));
        end
    }

    /// The end of the first `needle` that lies between `start` and `end`.
    fn find(&self, needle: &[u8], start: usize, end: usize) -> Option<usize> {
        memmem::find(self.slice(start, end), needle).map(|at| start + at + needle.len())
    }

    fn slice(&self, start: usize, end: usize) -> &[u8] {
        self.body.as_bytes().get(start..end).unwrap_or_default()
    }
}

impl Fence {
    /// The fence that a line's content opens.
    fn open(content: &[u8], quotes: usize) -> Option<Self> {
        let byte = *content.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let length = run_length(content, 0, byte);
        let info = content.get(length..).unwrap_or_default();
        (length >= 3 && !(byte == b'`' && info.contains(&b'`'))).then_some(Self { byte, length, quotes })
    }

    /// Whether a line is code. `Some(false)` if it closes the fence. `None` if the fence ended before it, because the
    /// quote that contained it has ended.
    fn holds(&self, body: &str, start: usize, end: usize) -> Option<bool> {
        let line = body.as_bytes().get(start..end).unwrap_or_default();
        let content = line.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'>')).unwrap_or(line.len());
        let (prefix, content) = line.split_at(content);
        if prefix.iter().filter(|byte| **byte == b'>').count() < self.quotes {
            return None;
        }
        let length = run_length(content, 0, self.byte);
        let after = content.get(length..).unwrap_or_default();
        Some(length < self.length || !after.iter().all(u8::is_ascii_whitespace))
    }
}
