//! Strings as JSON writes them.

use serde_json::Value;

use super::Span;

/// A string of JSON as it is written, and where each of its characters is written.
pub(crate) struct StringText {
    /// The string.
    pub(crate) text: String,
    /// Where the string and its writing drift apart: offsets in both, ascending.
    drift: Vec<(usize, usize)>,
}

impl StringText {
    /// Reads the string that is written at `span` of `text`, quotes included.
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

    /// Where the character at `offset` of the string is written, in the whole text.
    pub(crate) fn written_at(&self, offset: usize) -> usize {
        let index = self.drift.partition_point(|(at, _)| *at <= offset);
        let (at, written) = self.drift.get(index.saturating_sub(1)).copied().unwrap_or_default();
        written + (offset - at.min(offset))
    }
}

/// `text` as it is written within the quotes of a string.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// The same in ASCII, as many programs write it.
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
