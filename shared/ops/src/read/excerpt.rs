//! Excerpts: the matching line and a line on either side, unchanged except that line breaks are LF. Too long lines are
//! cut at their ends only.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use atlas_vault::fold;

/// Most bytes of the matching line, and of each neighbour. With both neighbours an excerpt stays well under the 5,000
/// characters of a citation.
const MATCH_BYTES: usize = 1_200;
const BESIDE_BYTES: usize = 400;

/// The lines of a text: ended by LF or CRLF, without a byte order mark, and without an empty one after the last end.
pub struct TextLines<'a> {
    text: &'a [u8],
    starts: Vec<usize>,
}

impl<'a> TextLines<'a> {
    /// The lines of `text`.
    pub fn new(text: &'a [u8]) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let starts = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', text).map(|end| end + 1))
            .filter(|start| *start < text.len())
            .collect();
        Self { text, starts }
    }

    /// Number of lines.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// A line, without its line break.
    pub fn get(&self, line: usize) -> Option<&'a [u8]> {
        let start = *self.starts.get(line)?;
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let bytes = self.text.get(start..end)?;
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        Some(bytes.strip_suffix(b"\r").unwrap_or(bytes))
    }

    /// Line `line` and its neighbours. Of a long line only the part around `folded`, the folded term, if the line
    /// contains it; a neighbour on the cut side is omitted.
    pub fn around(&self, line: usize, folded: &[u8]) -> String {
        let Some(matched) = self.text(line) else { return String::new() };
        // Folding can change lengths, so a position in the folded line is only an estimate.
        let is_long = matched.len() > MATCH_BYTES && !folded.is_empty();
        let at = is_long.then(|| memmem::find(fold::fold(&matched).as_bytes(), folded)).flatten().unwrap_or(0);
        let kept = window(&matched, at, MATCH_BYTES);
        let mut quoted = String::new();
        if let Some(before) = line.checked_sub(1).and_then(|before| self.text(before)).filter(|_| kept.start == 0) {
            let start = before.ceil_char_boundary(before.len().saturating_sub(BESIDE_BYTES));
            quoted.push_str(before.get(start..).unwrap_or_default());
            quoted.push('\n');
        }
        quoted.push_str(matched.get(kept.clone()).unwrap_or_default());
        if let Some(after) = self.text(line.saturating_add(1)).filter(|_| kept.end == matched.len()) {
            quoted.push('\n');
            quoted.push_str(head(&after, BESIDE_BYTES));
        }
        quoted
    }

    fn text(&self, line: usize) -> Option<Cow<'a, str>> {
        self.get(line).map(String::from_utf8_lossy)
    }

    /// Lines `from..to` as one text, cut to `limit` bytes.
    pub fn range(&self, from: usize, to: usize, limit: usize) -> String {
        let mut quoted = String::new();
        for line in (from..to).filter_map(|line| self.text(line)) {
            if quoted.len() + line.len() >= limit {
                quoted.push_str(head(&line, limit.saturating_sub(quoted.len())));
                return quoted;
            }
            quoted.push_str(&line);
            quoted.push('\n');
        }
        quoted.truncate(quoted.trim_end_matches('\n').len());
        quoted
    }
}

/// The first line of `text` that contains `folded`, using `buffer` for the folded text.
pub fn first_line_holding(text: &[u8], folded: &[u8], buffer: &mut Vec<u8>) -> Option<usize> {
    buffer.clear();
    fold::fold_bytes_into(text, buffer);
    let at = memmem::find(buffer, folded)?;
    Some(memchr::memchr_iter(b'\n', buffer.get(..at)?).count())
}

/// At most the first `limit` bytes of `text`.
fn head(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or_default()
}

/// The range around byte `at` of `text`, at most `limit` bytes.
fn window(text: &str, at: usize, limit: usize) -> Range<usize> {
    if text.len() <= limit {
        return 0..text.len();
    }
    let start = text.floor_char_boundary(at.saturating_sub(limit / 3).min(text.len() - limit));
    start..text.floor_char_boundary(start + limit)
}

/// `line` as text. If it has more than `limit` bytes, only the part around byte `at`, with `…` at each cut.
pub fn cut_at(line: &[u8], at: usize, limit: usize) -> String {
    let text = String::from_utf8_lossy(line);
    let Range { start, end } = window(&text, at, limit);
    let kept = text.get(start..end).unwrap_or_default();
    format!("{}{kept}{}", if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_the_line_and_its_neighbours() {
        let lines = TextLines::new(b"\xef\xbb\xbfone\r\ntwo\r\nthree\n");
        assert_eq!(lines.count(), 3);
        assert_eq!(lines.around(0, b"one"), "one\ntwo");
        assert_eq!(lines.around(1, b"two"), "one\ntwo\nthree");
        assert_eq!(lines.around(2, b"three"), "two\nthree");
        assert_eq!(TextLines::new(b"").count(), 0);
        assert_eq!(TextLines::new(b"a\n\nb").around(1, b""), "a\n\nb");
    }

    #[test]
    fn a_quote_is_exact_and_a_long_line_is_quoted_around_the_match() {
        let long = format!("{}ミナト{}", "波".repeat(5_000), "x".repeat(5_000));
        let text = format!("{long}\nbeside\n{long}\n");
        let lines = TextLines::new(text.as_bytes());
        for (line, term) in [(0, "ミナト"), (1, "beside"), (2, "ミナト"), (0, "波波"), (2, "xxx"), (0, "")] {
            let quote = lines.around(line, term.as_bytes());
            assert!(text.contains(&quote) && quote.contains(term) && !quote.is_empty(), "{line} {term}: {quote}");
            assert!(quote.len() <= MATCH_BYTES + 2 * (BESIDE_BYTES + 1), "{line} {term}: {quote}");
        }
        // Neighbouring lines are included.
        let beside = lines.around(1, b"beside");
        assert!(beside.starts_with("xxx") && beside.contains("x\nbeside\n波") && beside.ends_with('波'), "{beside}");
        let section = lines.range(0, 3, 100);
        assert!(text.starts_with(&section) && section.len() == 99, "{section}");
    }

    #[test]
    fn the_first_line_is_found_whatever_the_case() {
        let mut buffer = Vec::new();
        assert_eq!(
            first_line_holding("a\nb\nHARBOUR \u{212A}\n".as_bytes(), fold::fold("harbour k").as_bytes(), &mut buffer),
            Some(2)
        );
        assert_eq!(first_line_holding(b"\xff\nb", b"b", &mut buffer), Some(1));
        assert_eq!(first_line_holding(b"a\nb", b"c", &mut buffer), None);
    }
}
