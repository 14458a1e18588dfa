//! Quotes: the line that matched and a line on either side, exactly as they stand, cut where they are too long.

use memchr::memmem;

use atlas_vault::fold;

/// Most bytes of the line that matched, and of a line beside it. With both neighbours a quote stays well
/// under the 5,000 characters that a citation may have.
const MATCH_BYTES: usize = 1_200;
const BESIDE_BYTES: usize = 400;

/// The lines of a text: ended by LF or CRLF, without a byte order mark, and without an empty one after the last end.
pub(crate) struct Lines<'a> {
    text: &'a [u8],
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let starts = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', text).map(|end| end + 1))
            .filter(|start| *start < text.len())
            .collect();
        Self { text, starts }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(crate) fn get(&self, line: usize) -> Option<&'a [u8]> {
        let start = *self.starts.get(line)?;
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let bytes = self.text.get(start..end)?;
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        Some(bytes.strip_suffix(b"\r").unwrap_or(bytes))
    }

    /// Line `line` and its neighbours; a long line is cut around `folded`, the folded term, when it holds it.
    pub(crate) fn around(&self, line: usize, folded: &[u8]) -> String {
        let quoted = (line.saturating_sub(1)..=line.saturating_add(1)).filter_map(|index| {
            let bytes = self.get(index)?;
            Some(if index == line {
                cut_around(bytes, folded, MATCH_BYTES)
            } else {
                cut_around(bytes, &[], BESIDE_BYTES)
            })
        });
        quoted.collect::<Vec<_>>().join("\n")
    }

    /// Lines `from..to`, cut to `limit` bytes.
    pub(crate) fn range(&self, from: usize, to: usize, limit: usize) -> String {
        let mut quoted = String::new();
        for line in (from..to).filter_map(|line| self.get(line)) {
            if quoted.len() + line.len() >= limit {
                let rest = cut_around(line, &[], limit.saturating_sub(quoted.len()));
                quoted.push_str(&rest);
                return quoted;
            }
            quoted.push_str(&String::from_utf8_lossy(line));
            quoted.push('\n');
        }
        quoted.truncate(quoted.trim_end_matches('\n').len());
        quoted
    }
}

/// The first line of `text` that holds `folded`, using `buffer` for the folded text.
pub(crate) fn first_line_holding(text: &[u8], folded: &[u8], buffer: &mut Vec<u8>) -> Option<usize> {
    buffer.clear();
    fold::fold_bytes_into(text, buffer);
    let at = memmem::find(buffer, folded)?;
    Some(memchr::memchr_iter(b'\n', buffer.get(..at)?).count())
}

/// `line` as text; when it has more than `limit` bytes only the surroundings of the first `folded` in it, the cuts marked with `…`.
fn cut_around(line: &[u8], folded: &[u8], limit: usize) -> String {
    if line.len() <= limit || folded.is_empty() {
        return cut_at(line, 0, limit);
    }
    // Folding can change lengths, so a position in the folded line is only about one in the line.
    let at = memmem::find(fold::fold(&String::from_utf8_lossy(line)).as_bytes(), folded);
    cut_at(line, at.unwrap_or(0), limit)
}

/// `line` as text; when it has more than `limit` bytes only the surroundings of byte `at`, the cuts marked with `…`.
pub(crate) fn cut_at(line: &[u8], at: usize, limit: usize) -> String {
    let text = String::from_utf8_lossy(line);
    if text.len() <= limit {
        return text.into_owned();
    }
    let start = text.floor_char_boundary(at.saturating_sub(limit / 3).min(text.len() - limit));
    let end = text.floor_char_boundary(start + limit);
    let kept = text.get(start..end).unwrap_or_default();
    format!("{}{kept}{}", if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_the_line_and_its_neighbours() {
        let lines = Lines::new(b"\xef\xbb\xbfone\r\ntwo\r\nthree\n");
        assert_eq!(lines.len(), 3);
        assert_eq!(lines.around(0, b"one"), "one\ntwo");
        assert_eq!(lines.around(1, b"two"), "one\ntwo\nthree");
        assert_eq!(lines.around(2, b"three"), "two\nthree");
        assert_eq!(Lines::new(b"").len(), 0);
        assert_eq!(Lines::new(b"a\n\nb").around(1, b""), "a\n\nb");
    }

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        let line = format!("{}ミナト{}", "波".repeat(5_000), "x".repeat(5_000));
        let quote = Lines::new(line.as_bytes()).around(0, "ミナト".as_bytes());
        assert!(quote.contains("ミナト") && quote.starts_with('…') && quote.ends_with('…'));
        assert!(quote.len() <= MATCH_BYTES + 6);
        assert_eq!(Lines::new(line.as_bytes()).range(0, 1, 100).len(), 99 + "…".len());
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
