//! The response limit: the size of an answer.

use std::io;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Code, Error, Reason};
use crate::operation::Context;

/// Bytes of an answer besides its text.
pub const AROUND_TEXT: usize = 4 << 10;

/// How a door sends an answer, which determines its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sent {
    /// As JSON.
    #[default]
    Plain,
    /// As a JSON string that contains the JSON.
    AsText,
    /// As JSON, and again as a string.
    Twice,
}

impl Sent {
    /// Bytes that doors add around the string.
    const AROUND: usize = 256;

    /// Bytes of an answer that always fit into `max_bytes`: in a string each byte may take two.
    pub(crate) const fn room(self, max_bytes: usize) -> usize {
        match self {
            Self::Plain => max_bytes,
            Self::AsText => max_bytes.saturating_sub(Self::AROUND) / 2,
            Self::Twice => max_bytes.saturating_sub(Self::AROUND) / 3,
        }
    }

    /// Bytes of the message sent.
    const fn bytes(self, size: &Size) -> usize {
        let Size { bytes, escapes } = *size;
        match self {
            Self::Plain => bytes,
            Self::AsText => bytes + escapes + Self::AROUND,
            Self::Twice => 2 * bytes + escapes + Self::AROUND,
        }
    }
}

/// Fails if the answer, as it is sent, has more than `max_bytes`. Operations with pages end a page before that.
pub fn check(value: &Value, sent: Sent, max_bytes: usize) -> Result<(), Error> {
    let bytes = sent.bytes(&Size::of(value));
    if bytes <= max_bytes {
        return Ok(());
    }
    let message = format!("the answer would have {bytes} bytes; at most {max_bytes} are sent: ask for less at a time");
    Err(Error::new(Code::TooLarge, Reason::Overflow, message)
        .with("overflow", true)
        .with("bytes", bytes)
        .with("max_bytes", max_bytes))
}

/// The number of first `items` that fit on a page of at most `max_bytes` with a cursor; at least one, so that paging
/// progresses.
pub fn fitting<T: Serialize>(items: &[T], max_bytes: usize) -> usize {
    let mut left = max_bytes.saturating_sub(AROUND_TEXT);
    let fits = |item: &&T| {
        let rest = left.checked_sub(Counter::of(item).0 + ",".len());
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    items.iter().take_while(fits).count().max(1).min(items.len())
}

/// Bytes of `value` as JSON.
pub fn bytes_of(value: &impl Serialize) -> usize {
    Counter::of(value).0
}

/// Cuts `items` to those that fit into the call's answer; returns whether some were cut.
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

/// The size of a value as JSON, known without writing it: only the door writes an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    /// Bytes of the JSON.
    bytes: usize,
    /// Bytes that the JSON takes more within a JSON string.
    escapes: usize,
}

impl Size {
    fn of(value: &Value) -> Self {
        let mut size = Self::default();
        size.add(value);
        size
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(true) => self.bytes += 4,
            Value::Bool(false) => self.bytes += 5,
            Value::Number(number) => self.bytes += Counter::of(number).0,
            Value::String(text) => self.add_text(text),
            Value::Array(items) => {
                self.add_signs(items.len(), 0);
                items.iter().for_each(|item| self.add(item));
            }
            Value::Object(fields) => {
                self.add_signs(fields.len(), fields.len());
                for (name, value) in fields {
                    self.add_text(name);
                    self.add(value);
                }
            }
        }
    }

    /// Adds the brackets, the commas between `items`, and the colons.
    const fn add_signs(&mut self, items: usize, colons: usize) {
        self.bytes += 2 + items.saturating_sub(1) + colons;
    }

    fn add_text(&mut self, text: &str) {
        self.bytes += json_bytes(text) + 2;
        // The quotes around the text, the backslash of each escape, and what that backslash escapes if it is escaped too.
        let escapes = text.bytes().map(|byte| match byte {
            b'"' | b'\\' => 2,
            0..0x20 => 1,
            _ => 0,
        });
        self.escapes += 2 + escapes.sum::<usize>();
    }
}

/// Counts the bytes written.
#[derive(Default)]
struct Counter(usize);

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

    fn any_json() -> impl Strategy<Value = Value> {
        let text = "[\\x00-\\x7f]{0,12}|\\PC{0,6}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((text, inner), 0..5).prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_size_of_a_value_is_that_of_its_json(value in any_json()) {
            let plain = value.to_string();
            let escapes = json!(plain).to_string().len() - 2 - plain.len();
            prop_assert_eq!(Size::of(&value), Size { bytes: plain.len(), escapes });
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
