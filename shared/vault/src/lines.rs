//! Lines and their breaks, and runs of one byte within them; and edits of a text.

use std::borrow::Cow;
use std::ops::Range;

/// The starts of the lines of a text. Only `\n` ends a line.
pub(crate) struct Lines {
    breaks: Vec<usize>,
}

impl Lines {
    pub(crate) fn new(text: &str) -> Self {
        Self { breaks: memchr::memchr_iter(b'\n', text.as_bytes()).collect() }
    }

    /// The line, from 0, that contains the byte at `offset`.
    pub(crate) fn at(&self, offset: usize) -> u32 {
        u32::try_from(self.breaks.partition_point(|line_break| *line_break < offset)).unwrap_or(u32::MAX)
    }
}

/// Whether `byte` ends a line for markdown.
pub(crate) fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// The start of the text, after a byte-order mark.
pub(crate) fn text_start(text: &str) -> usize {
    if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 }
}

/// The line break that a text uses: that of its first line.
pub(crate) fn line_break(text: &str) -> Option<&'static str> {
    let at = memchr::memchr(b'\n', text.as_bytes())?;
    let before = text.as_bytes().get(..at).unwrap_or_default();
    Some(if before.ends_with(b"\r") { "\r\n" } else { "\n" })
}

/// `added` with the line breaks of `text`, if `text` has any.
#[must_use]
pub fn fit<'a>(text: &str, added: &'a str) -> Cow<'a, str> {
    let Some(wanted) = line_break(text).filter(|_| added.contains('\n')) else {
        return Cow::Borrowed(added);
    };
    let plain = added.replace("\r\n", "\n");
    Cow::Owned(if wanted == "\n" { plain } else { plain.replace('\n', wanted) })
}

/// The text with the edits, which do not overlap.
pub(crate) fn spliced(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (range, new) in edits {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(&new);
        at = at.max(range.end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// The start of the line that contains `offset`.
pub(crate) fn line_start(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or_default();
    memchr::memrchr2(b'\n', b'\r', before).map_or(0, |at| at + 1)
}

/// The end of the line that contains the byte at `offset`, without its break.
pub(crate) fn line_end(text: &str, offset: usize) -> usize {
    let rest = text.as_bytes().get(offset..).unwrap_or_default();
    memchr::memchr2(b'\n', b'\r', rest).map_or(text.len(), |at| offset + at)
}

/// The start of the line after the one that ends at `end`: after `\n`, `\r\n` or a lone `\r`.
pub(crate) fn next_line(text: &str, end: usize) -> usize {
    match text.as_bytes().get(end..) {
        Some([b'\r', b'\n', ..]) => end + 2,
        Some([_, ..]) => end + 1,
        _ => end,
    }
}

/// `text` with a `\n` for each lone `\r`. Both end a line, but within code the markdown parser looks for `\n` only. Offsets stay the same.
pub(crate) fn with_line_feeds(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut lone = memchr::memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) != Some(&b'\n')).peekable();
    if lone.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = bytes.to_vec();
    for at in lone {
        out.get_mut(at).into_iter().for_each(|byte| *byte = b'\n');
    }
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The number of bytes equal to `byte` at `at`.
pub(crate) fn run_length(bytes: &[u8], at: usize, byte: u8) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take_while(|other| **other == byte).count()
}
