//! The response limit: how large an answer may be.

use std::io;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Code, Error, Reason};
use crate::operation::Context;

/// Bytes of an answer that are not the text in it.
pub const AROUND_TEXT: usize = 4 << 10;

/// How a door sends an answer, which decides how many bytes it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sent {
    /// As it is.
    #[default]
    Plain,
    /// As a text that is the answer as JSON.
    AsText,
    /// As it is, and also as a text.
    Twice,
}

impl Sent {
    /// Bytes that doors put around the text.
    const AROUND: usize = 256;

    /// Bytes of an answer that certainly fit into `max_bytes`: in a text each byte may take two.
    pub(crate) const fn room(self, max_bytes: usize) -> usize {
        match self {
            Self::Plain => max_bytes,
            Self::AsText => max_bytes.saturating_sub(Self::AROUND) / 2,
            Self::Twice => max_bytes.saturating_sub(Self::AROUND) / 3,
        }
    }

    /// Bytes of what is sent.
    fn bytes(self, counted: &Counter) -> usize {
        let Counter { bytes, escapes } = counted;
        match self {
            Self::Plain => *bytes,
            Self::AsText => bytes + escapes + Self::AROUND,
            Self::Twice => 2 * bytes + escapes + Self::AROUND,
        }
    }
}

/// Refuses an answer whose JSON, as it is sent, has more bytes. Operations with pages end a page before that.
pub fn check(value: &Value, sent: Sent, max_bytes: usize) -> Result<(), Error> {
    let bytes = sent.bytes(&Counter::of(value));
    if bytes <= max_bytes {
        return Ok(());
    }
    let message = format!("the answer would have {bytes} bytes; at most {max_bytes} are sent: ask for less at a time");
    Err(Error::new(Code::TooLarge, Reason::Overflow, message)
        .with("overflow", true)
        .with("bytes", bytes)
        .with("max_bytes", max_bytes))
}

/// How many of the first `items` stand on a page of at most `max_bytes`, besides a cursor; one at least, so that pages go on.
pub fn fitting<T: Serialize>(items: &[T], max_bytes: usize) -> usize {
    let mut left = max_bytes.saturating_sub(AROUND_TEXT);
    let fits = |item: &&T| {
        let rest = left.checked_sub(Counter::of(item).bytes + ",".len());
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    items.iter().take_while(fits).count().max(1).min(items.len())
}

/// Bytes of `value` as JSON.
pub fn bytes_of(value: &impl Serialize) -> usize {
    Counter::of(value).bytes
}

/// Cuts `items` to those that an answer to the call has room for; whether there were more.
pub fn cut<T: Serialize>(items: &mut Vec<T>, context: &Context<'_>) -> bool {
    let all = items.len();
    items.truncate(fitting(items, context.limits.max_response_bytes));
    items.len() < all
}

/// Bytes of `text` within JSON.
pub fn json_bytes(text: &str) -> usize {
    let escaped = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0,
    });
    text.len() + escaped.sum::<usize>()
}

/// Counts what is written, and what of it is escaped in a text.
#[derive(Default)]
struct Counter {
    bytes: usize,
    escapes: usize,
}

impl Counter {
    fn of(value: &impl Serialize) -> Self {
        let mut counter = Self::default();
        // Counting does not fail.
        let _ = serde_json::to_writer(&mut counter, value);
        counter
    }
}

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len();
        // There is nothing else in JSON that is escaped.
        self.escapes += memchr::memchr2_iter(b'"', b'\\', bytes).count();
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

        #[test]
        fn an_answer_takes_what_is_counted_and_fits_where_there_is_room(text in "[\\x00-\\x7f]{0,40}|\\PC{0,20}") {
            let value = json!({ "text": text });
            let plain = value.to_string();
            let quoted = json!(plain).to_string().len() - 2;
            for (sent, bytes) in [
                (Sent::Plain, plain.len()),
                (Sent::AsText, quoted + Sent::AROUND),
                (Sent::Twice, plain.len() + quoted + Sent::AROUND),
            ] {
                prop_assert!(check(&value, sent, bytes).is_ok());
                prop_assert!(check(&value, sent, bytes - 1).is_err());
                prop_assert!(sent.room(bytes) <= plain.len(), "{:?} has more room than there is", sent);
                let enough = (1..).find(|max_bytes| sent.room(*max_bytes) >= plain.len()).unwrap_or_default();
                prop_assert!(check(&value, sent, enough).is_ok());
            }
        }
    }

    #[test]
    fn a_page_ends_before_what_does_not_fit() {
        let items = ["x".repeat(100), "\"".repeat(100), String::new()];
        let bytes = |items: usize| AROUND_TEXT + [0, 103, 306, 309][items];
        for (max_bytes, count) in [(0, 1), (bytes(1), 1), (bytes(2) - 1, 1), (bytes(2), 2), (bytes(3), 3)] {
            assert_eq!(fitting(&items, max_bytes), count, "{max_bytes}");
        }
        assert_eq!(fitting(&items[..0], 10_000), 0);
    }

    #[test]
    fn what_is_too_large_says_by_how_much() {
        let value = json!({ "text": "x".repeat(100) });
        assert!(check(&value, Sent::Plain, 111).is_ok());
        let error = check(&value, Sent::Plain, 110).unwrap_err();
        assert_eq!((error.reason(), error.details["bytes"].as_u64()), ("overflow", Some(111)));
    }
}
