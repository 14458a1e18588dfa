//! The texts that can be dates in a format, whatever their language.

use std::borrow::Cow;
use std::collections::BTreeSet;

use regex::Regex;

use super::Locale;
use super::token::{Token, expanded, tokens};

/// A pattern that all dates in a format match, in any language, and some other texts.
#[derive(Debug)]
pub struct Shape(Option<Regex>);

impl Shape {
    /// The shape of dates in `format`.
    #[must_use]
    pub fn of(format: &str) -> Self {
        let is_localized = matches!(expanded(format, Locale::default()), Cow::Owned(_));
        let locales = Locale::all().take(if is_localized { usize::MAX } else { 1 });
        let patterns: BTreeSet<String> = locales.map(|locale| pattern(&expanded(format, locale))).collect();
        let patterns: Vec<String> = patterns.into_iter().collect();
        Self(Regex::new(&format!("^(?:{})$", patterns.join("|"))).ok())
    }

    /// Whether `text` can be a date.
    #[must_use]
    pub fn fits(&self, text: &str) -> bool {
        self.0.as_ref().is_none_or(|shape| shape.is_match(text))
    }
}

/// The pattern of an expanded format.
fn pattern(format: &str) -> String {
    // Any digit of any language.
    const DIGIT: &str = r"[0-9[^\x00-\x7f]]";
    let mut pattern = String::new();
    for token in tokens(format) {
        match token {
            Token::Literal(text) => {
                for letter in text.chars() {
                    match letter {
                        // Languages write these otherwise.
                        '0'..='9' | ',' => pattern.push_str("[^/]"),
                        letter if !letter.is_ascii() => pattern.push_str("[^/]"),
                        letter => pattern.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
                    }
                }
            }
            Token::Part(part) => {
                let digits = match part {
                    "YYYY" | "GGGG" | "gggg" => "{4}",
                    "YY" | "GG" | "gg" | "MM" | "DD" | "WW" | "ww" => "{2}",
                    "M" | "D" | "W" | "w" => "{1,2}",
                    "Q" | "d" | "e" | "E" => "{1}",
                    // Words, and numbers of other lengths.
                    _ => {
                        pattern.push_str("[^/]*");
                        continue;
                    }
                };
                pattern.push_str(DIGIT);
                pattern.push_str(digits);
            }
        }
    }
    pattern
}
