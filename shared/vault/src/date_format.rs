//! Date formats as in Moment.js: writing and reading, in the languages that Obsidian has. A [`Locale`] has the names of
//! months and days, the localized formats (`L`), and the weeks: their first day, and the day of January that the first
//! week of a year contains. ISO weeks (`W`, `GGGG`) begin on Monday in all of them.
//!
//!
//! # Layout
//! - [`locale`](Locale): languages, from `locales.jsonl`; `token`: the parts of a format; `write`; `read`
//! - [`shape`](Shape): the texts that can be in a format in any language
//!
//! `infra/date_locales.mjs` writes `locales.jsonl`, and the dates of Moment.js in `golden.jsonl`, of which a test is.

use jiff::civil::{Date, DateTime};

pub use locale::Locale;
pub use read::Reader;
pub use shape::Shape;
use token::{Token, expanded, tokens};

mod locale;
mod read;
mod shape;
mod token;
mod write;

/// Longest format, in bytes.
pub const MAX_FORMAT_BYTES: usize = 500;

/// Formats `at`, a time in UTC, in English.
#[must_use]
pub fn write(format: &str, at: DateTime) -> String {
    Locale::default().write(format, at)
}

/// Whether texts in this format differ between languages by more than digits.
#[must_use]
pub fn is_in_words(format: &str) -> bool {
    let is_word = |token| {
        let Token::Part(part) = token else { return false };
        part.ends_with('o')
            || matches!(
                part,
                "MMM" | "MMMM" | "dd" | "ddd" | "dddd" | "N" | "NN" | "NNN" | "NNNN" | "NNNNN" | "a" | "A"
            )
    };
    let expanded = expanded(format, Locale::default());
    *expanded != *format || tokens(&expanded).any(is_word)
}

/// The quarter of `date`, from 1.
#[must_use]
pub(crate) fn quarter(date: Date) -> i8 {
    (date.month() - 1) / 3 + 1
}

#[cfg(test)]
mod tests;
