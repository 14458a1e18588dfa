//! Strings in JSON notation.

use serde_json::Value;

use super::Span;

/// A string in JSON notation, and the position of each of its characters there.
pub(crate) struct StringText {
    /// The string.
    pub(crate) text: String,
    /// Where the offsets of string and notation diverge: offsets in both, ascending.
    drift: Vec<(usize, usize)>,
}

impl StringText {
    /// Reads the string at `span` of `text`, including quotes.
    pub(crate) fn read(text: &str, span: &Span) -> Option<Self> {
        let written = text.get(span.clone())?;
        let decoded: String = serde_json::from_str(written).ok()?;
        let mut drift = Vec::new();
        let (mut at, mut from) = (0, 1);
        drift.push((0, span.start + 1));
        while let Some(escape) = written.get(from..).and_then(|rest| rest.find('\\')) {
            at += escape;
            from += escape;
            let c = decoded.get(at..).and_then(|rest| rest.chars().next())?;
            from += match written.as_bytes().get(from + 1) {
                Some(b'u') if c.len_utf16() == 2 => 12,
                Some(b'u') => 6,
                _ => 2,
            };
            at += c.len_utf8();
            drift.push((at, span.start + from));
        }
        Some(Self { text: decoded, drift })
    }

    /// The position of the character at `offset` of the string, in the whole text.
    pub(crate) fn written_at(&self, offset: usize) -> usize {
        let index = self.drift.partition_point(|(at, _)| *at <= offset);
        let (at, written) = self.drift.get(index.saturating_sub(1)).copied().unwrap_or_default();
        written + (offset - at.min(offset))
    }
}

/// `text` escaped for a JSON string, without quotes.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// Like [`escaped`], in ASCII, as many programs write it.
pub(crate) fn escaped_to_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}
