//! The governor: how large an answer may be.

use std::io;

use serde_json::Value;

use crate::error::{Code, Error};

/// Bytes of an answer that are not the text in it.
pub(crate) const AROUND_TEXT: usize = 4 << 10;

/// Refuses an answer that has more bytes as JSON. Operations that have pages end theirs before.
pub(crate) fn govern(value: &Value, max_bytes: usize) -> Result<(), Error> {
    let mut counter = Counter(0);
    // Counting does not fail.
    let _ = serde_json::to_writer(&mut counter, value);
    let Counter(bytes) = counter;
    if bytes <= max_bytes {
        return Ok(());
    }
    let message = format!("the answer would have {bytes} bytes; at most {max_bytes} are sent: ask for less at a time");
    Err(Error::new(Code::TooLarge, "overflow", message)
        .with("overflow", true)
        .with("bytes", bytes)
        .with("max_bytes", max_bytes))
}

/// Bytes of `text` within JSON.
pub(crate) fn json_bytes(text: &str) -> usize {
    let escaped = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0,
    });
    text.len() + escaped.sum::<usize>()
}

/// Counts what is written.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn what_text_takes_is_known_beforehand(text in "[\\x00-\\x7f]{0,40}|\\PC{0,20}") {
            prop_assert_eq!(json_bytes(&text) + 2, Value::from(text).to_string().len());
        }
    }

    #[test]
    fn what_is_too_large_says_by_how_much() {
        let value = json!({ "text": "x".repeat(100) });
        assert!(govern(&value, 111).is_ok());
        let error = govern(&value, 110).unwrap_err();
        assert_eq!((error.reason(), error.details["bytes"].as_u64()), ("overflow", Some(111)));
    }
}
