//! Changes text before it is cut.

use std::borrow::Cow;

use regex::Regex;
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::precompiled::Precompiled;
use super::specification::{Normal, Pattern};
use crate::ModelError;

/// Most bytes of the program that a pattern becomes.
const MAX_REGEX_BYTES: usize = 1 << 20;
/// A change may make a text so many times longer.
const MAX_GROWTH: usize = 8;

#[derive(Debug)]
pub(super) struct Normalizer(Vec<Step>);

#[derive(Debug)]
enum Step {
    Plain(Normal),
    Replace(Regex, String),
    Precompiled(Precompiled),
}

impl Normalizer {
    pub(super) fn new(steps: &[Normal]) -> Result<Self, ModelError> {
        let step = |step: &Normal| {
            Ok(match step {
                Normal::Replace { pattern: Pattern::Regex(pattern), content } => {
                    let regex = regex::RegexBuilder::new(pattern).size_limit(MAX_REGEX_BYTES).build();
                    let what = || format!("the pattern {pattern} of the normalizer");
                    Step::Replace(regex.map_err(|_| ModelError::Unsupported { what: what() })?, content.clone())
                }
                Normal::Precompiled { precompiled_charsmap } => {
                    Step::Precompiled(Precompiled::from_base64(precompiled_charsmap)?)
                }
                step => Step::Plain(step.clone()),
            })
        };
        steps.iter().map(step).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let limit = text.len().saturating_mul(MAX_GROWTH).saturating_add(1024);
        let mut text = Cow::Borrowed(text);
        for step in &self.0 {
            let mut next = match step {
                Step::Plain(step) => plain(step, &text),
                Step::Replace(regex, content) => regex.replace_all(&text, regex::NoExpand(content)).into_owned(),
                Step::Precompiled(map) => map.apply(&text),
            };
            next.truncate(next.floor_char_boundary(limit));
            text = Cow::Owned(next);
        }
        text
    }
}

fn plain(step: &Normal, text: &str) -> String {
    match step {
        Normal::Bert { clean_text, handle_chinese_chars, strip_accents, lowercase } => {
            let mut text = if *clean_text { clean(text) } else { text.to_owned() };
            if *handle_chinese_chars {
                text = apart(&text);
            }
            if strip_accents.unwrap_or(*lowercase) {
                text = without_marks(text.nfd());
            }
            if *lowercase { lower(&text) } else { text }
        }
        Normal::Lowercase => lower(text),
        Normal::StripAccents => text.chars().filter(|c| !is_combining_mark(*c)).collect(),
        Normal::Nfc => text.nfc().collect(),
        Normal::Nfd => text.nfd().collect(),
        Normal::Nfkc => text.nfkc().collect(),
        Normal::Nfkd => text.nfkd().collect(),
        Normal::Strip { strip_left, strip_right } => {
            let text = if *strip_left { text.trim_start() } else { text };
            if *strip_right { text.trim_end() } else { text }.to_owned()
        }
        Normal::Prepend { .. } if text.is_empty() => String::new(),
        Normal::Prepend { prepend } => format!("{prepend}{text}"),
        Normal::Replace { pattern: Pattern::String(pattern), content } if !pattern.is_empty() => {
            text.replace(pattern.as_str(), content)
        }
        // These are steps of their own.
        Normal::Replace { .. } | Normal::Precompiled { .. } => text.to_owned(),
    }
}

/// Each character in lower case on its own, whatever stands beside it.
fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

fn without_marks(characters: impl Iterator<Item = char>) -> String {
    characters.filter(|c| c.is_ascii() || get_general_category(*c) != GeneralCategory::NonspacingMark).collect()
}

/// Without control characters, and with a space for white space.
fn clean(text: &str) -> String {
    let is_control = |c: char| {
        use GeneralCategory as G;
        !matches!(c, '\t' | '\n' | '\r')
            && matches!(get_general_category(c), G::Control | G::Format | G::Unassigned | G::PrivateUse)
    };
    let kept = text.chars().filter(|c| *c != '\0' && *c != '\u{fffd}' && !is_control(*c));
    kept.map(|c| if c.is_whitespace() { ' ' } else { c }).collect()
}

/// With spaces around Chinese characters.
fn apart(text: &str) -> String {
    let mut apart = String::with_capacity(text.len());
    for c in text.chars() {
        let is_chinese = matches!(
            u32::from(c),
            0x3400..=0x4DBF
                | 0x4E00..=0x9FFF
                | 0xF900..=0xFAFF
                | 0x20000..=0x2A6DF
                | 0x2A700..=0x2B73F
                | 0x2B740..=0x2B81F
                | 0x2B920..=0x2CEAF
                | 0x2F800..=0x2FA1F
        );
        if is_chinese {
            apart.extend([' ', c, ' ']);
        } else {
            apart.push(c);
        }
    }
    apart
}
