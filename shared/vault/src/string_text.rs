//! Strings in a notation with escapes: of JSON, and of YAML.

use std::ops::Range;

use crate::yaml::write;

/// How a string is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Notation {
    /// As it is.
    #[default]
    Plain,
    /// In single quotes, as YAML knows them: a single quote is written twice.
    SingleQuoted,
    /// In double quotes, with the escapes of YAML, which include those of JSON.
    DoubleQuoted,
    /// In lines below `|` or `>`.
    Block,
}

impl Notation {
    /// `text` as a part of such a string.
    pub(crate) fn escaped(self, text: &str) -> String {
        match self {
            Self::SingleQuoted => text.replace('\'', "''"),
            Self::DoubleQuoted => write::escaped(text),
            Self::Plain | Self::Block => text.to_owned(),
        }
    }
}

/// A string, and the position of each of its characters where it is written.
pub(crate) struct StringText {
    /// The string.
    pub(crate) text: String,
    /// Where the offsets of string and notation diverge: offsets in both, ascending.
    drift: Vec<(usize, usize)>,
}

impl StringText {
    /// Reads the JSON string at `span` of `text`, including quotes.
    pub(crate) fn read(text: &str, span: &Range<usize>) -> Option<Self> {
        let decoded = serde_json::from_str(text.get(span.clone())?).ok()?;
        Self::located(decoded, text, span, Notation::DoubleQuoted)
    }

    /// The string `decoded`, which is written at `span` of `text`, including quotes. [`None`] if something else is written there.
    pub(crate) fn located(decoded: String, text: &str, span: &Range<usize>, notation: Notation) -> Option<Self> {
        let (start, end) = match notation {
            Notation::Plain | Notation::Block => (span.start, span.end),
            Notation::SingleQuoted | Notation::DoubleQuoted => (span.start + 1, span.end.checked_sub(1)?),
        };
        let written = text.get(start..end)?;
        let mut drift = vec![(0, start)];
        if written != decoded {
            align(&decoded, written, start, notation, &mut drift)?;
        }
        Some(Self { text: decoded, drift })
    }

    /// The position of the character at `offset` of the string, in the whole text.
    pub(crate) fn written_at(&self, offset: usize) -> usize {
        self.at(offset, self.drift.partition_point(|(at, _)| *at <= offset))
    }

    /// Where a part of the string is written, in the whole text.
    pub(crate) fn written(&self, part: &Range<usize>) -> Range<usize> {
        let start = self.written_at(part.start);
        // Without what is written after it for no character.
        let index = self.drift.partition_point(|(at, _)| *at < part.end);
        let is_after = self.drift.get(index).is_some_and(|(at, _)| *at == part.end);
        start..self.at(part.end, index + usize::from(is_after)).max(start)
    }

    fn at(&self, offset: usize, index: usize) -> usize {
        let (at, written) = self.drift.get(index.saturating_sub(1)).copied().unwrap_or_default();
        written + (offset - at.min(offset))
    }
}

/// Finds where the offsets of `decoded` and `written`, which begins at `start`, diverge.
fn align(
    decoded: &str,
    written: &str,
    start: usize,
    notation: Notation,
    drift: &mut Vec<(usize, usize)>,
) -> Option<()> {
    let (mut at, mut from, mut end) = (0, 0, decoded.len());
    if notation == Notation::Block {
        // Its span leaves out white space at its ends.
        (at, from) = (blanks(decoded.as_bytes()).len(), blanks(written.as_bytes()).len());
        end = decoded.trim_ascii_end().len();
        drift.push((at, start + from));
    }
    while at < end {
        let (meant, rest) = (decoded.as_bytes().get(at..)?, written.as_bytes().get(from..)?);
        let (read, gives) = match (notation, rest) {
            (Notation::DoubleQuoted, [b'\\', b'\r' | b'\n', ..]) => {
                // The end of the part before it.
                drift.push((at, start + from));
                let blanks = blanks(rest.get(1..)?);
                (1 + blanks.len(), breaks(blanks).saturating_sub(1))
            }
            (Notation::DoubleQuoted, [b'\\', escape, ..]) => {
                let c = decoded.get(at..)?.chars().next()?;
                let read = match escape {
                    b'x' => 4,
                    b'u' if c.len_utf16() == 2 => 12,
                    b'u' => 6,
                    b'U' => 10,
                    _ => 2,
                };
                (read, c.len_utf8())
            }
            (Notation::SingleQuoted, [b'\'', b'\'', ..]) if meant.starts_with(b"'") => (2, 1),
            (_, [b' ' | b'\t' | b'\r' | b'\n', ..]) => {
                let blanks = blanks(rest);
                let gives = match (notation, breaks(blanks)) {
                    (Notation::Block, _) => self::blanks(meant).len(),
                    (_, 0) => blanks.len(),
                    (_, breaks) => (breaks - 1).max(1),
                };
                (blanks.len(), gives)
            }
            (_, [byte, ..]) if meant.first() == Some(byte) => (1, 1),
            _ => return None,
        };
        at += gives;
        from += read;
        if gives != read {
            drift.push((at, start + from));
        }
    }
    Some(())
}

/// The white space at the start.
fn blanks(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// The number of line breaks.
fn breaks(blanks: &[u8]) -> usize {
    let count = |byte| blanks.iter().filter(|other| **other == byte).count();
    count(b'\n') + count(b'\r') - blanks.windows(2).filter(|pair| pair == b"\r\n").count()
}
