//! Hides text that the markdown parser does not know or cannot handle: Obsidian's comments, display math, and lines with excessive
//! nesting.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use crate::lines::{is_break, line_end, next_line, with_line_feeds};

mod comments;

/// The widest prefix of white space and list or quote markers on a line, in columns; a `>` counts as 4. Markdown parsing takes time in
/// proportion to the number of lines times their nesting.
const MAX_PREFIX_COLUMNS: usize = 200;

/// A part of the body to hide.
struct Hidden {
    range: Range<usize>,
    /// Whether only white space and markers precede it on its first line.
    opens_line: bool,
}

/// The body with the hidden parts blanked out, as the parser reads it. Offsets and lines stay the same; a lone `\r` becomes `\n`.
pub(crate) fn mask(body: &str) -> Cow<'_, str> {
    let body = with_line_feeds(body);
    let mut hidden = deep_lines(&body);
    if memmem::find(body.as_bytes(), b"%%").is_some() || memmem::find(body.as_bytes(), b"$$").is_some() {
        comments::find(&body, &mut hidden);
    }
    if hidden.is_empty() {
        return body;
    }
    let mut bytes = body.as_bytes().to_vec();
    for part in &hidden {
        blank(&body, part, &mut bytes);
    }
    String::from_utf8(bytes).map_or(body, Cow::Owned)
}

/// Overwrites `part` with spaces. Where text follows on the line, uses dots instead, so that the text does not become indented or begin
/// the line.
fn blank(body: &str, part: &Hidden, bytes: &mut [u8]) {
    let mut start = part.range.start;
    let mut opens_line = part.opens_line;
    while start < part.range.end {
        let end = line_end(body.get(..part.range.end).unwrap_or_default(), start);
        let rest = body.as_bytes().get(end..).unwrap_or_default();
        let after = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        let filler = if opens_line && after.is_some_and(|byte| !is_break(*byte)) { b'.' } else { b' ' };
        if let Some(line) = bytes.get_mut(start..end) {
            line.fill(filler);
        }
        opens_line = true;
        start = next_line(body, end).max(end + 1);
    }
}

fn deep_lines(body: &str) -> Vec<Hidden> {
    let mut deep = Vec::new();
    let mut start = 0;
    while start < body.len() {
        let end = line_end(body, start);
        let prefix = Prefix::read(body, start, end);
        if prefix.columns > MAX_PREFIX_COLUMNS && prefix.markers > 0 {
            deep.push(Hidden { range: start..end, opens_line: true });
        }
        start = next_line(body, end);
    }
    deep
}

/// The text on a line before its content: white space, and markers of quotes, list items and footnotes.
struct Prefix {
    /// The start of the content.
    end: usize,
    columns: usize,
    markers: usize,
    quotes: usize,
    /// The width of the white space right before the content.
    indent: usize,
}

impl Prefix {
    fn read(body: &str, start: usize, line_end: usize) -> Self {
        let mut prefix = Self { end: start, columns: 0, markers: 0, quotes: 0, indent: 0 };
        let line = body.as_bytes().get(..line_end).unwrap_or_default();
        while let Some(rest) = line.get(prefix.end..)
            && let Some(byte) = rest.first()
        {
            match byte {
                b' ' | b'\t' => {
                    let width = if *byte == b'\t' { 4 } else { 1 };
                    prefix.end += 1;
                    prefix.columns += width;
                    prefix.indent += width;
                }
                b'>' => {
                    prefix.quotes += 1;
                    prefix.mark(1, 4);
                }
                _ => match marker(rest) {
                    Some(length) => prefix.mark(length, length.min(10)),
                    None => break,
                },
            }
        }
        prefix
    }

    fn mark(&mut self, length: usize, columns: usize) {
        self.end += length;
        self.columns += columns;
        self.markers += 1;
        self.indent = 0;
    }
}

/// The length of the list or footnote marker at the start of `line`.
fn marker(line: &[u8]) -> Option<usize> {
    let length = match line {
        [b'-' | b'+' | b'*', ..] => 1,
        [b'0'..=b'9', ..] => {
            let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
            matches!(line.get(digits), Some(b'.' | b')')).then_some(digits + 1)?
        }
        [b'[', b'^', label @ ..] => {
            let end = memchr::memchr(b']', label)?;
            return (label.get(end + 1) == Some(&b':')).then_some(end + 4);
        }
        _ => return None,
    };
    line.get(length).is_none_or(|byte| matches!(byte, b' ' | b'\t')).then_some(length)
}
