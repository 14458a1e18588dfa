//! YAML: read within limits, written in block style, and changed so that every byte stays that the change does not name.
//!
//! # Layout
//! - `tree`: where each value stands; `scalars`: the values that are texts; `write`: values as text; `change`: a text with another value

use serde_json::Value;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};

pub use change::{ChangeError, with_value};
pub use tree::Step;

pub(crate) mod change;
pub(crate) mod scalars;
pub(crate) mod tree;
pub(crate) mod write;

#[cfg(test)]
mod tests;

/// Longest YAML that is read, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;
/// Most levels of lists and maps.
pub(crate) const MAX_DEPTH: usize = 32;
/// Most repetitions by aliases (`*name`), and most values that they repeat in all. With the longest YAML this bounds
/// the values to some 30 MB.
const MAX_ALIASES: usize = 100;
const MAX_REPEATED_VALUES: usize = 500;
/// Most characters of the YAML parser's message that are kept.
const MAX_MESSAGE_CHARS: usize = 200;

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct YamlError {
    /// The problem, without its place.
    pub message: String,
    /// Where in the text, in bytes.
    pub offset: usize,
}

/// The value of a YAML text; null if it has none.
///
/// # Errors
/// If it is not YAML, has more than [`MAX_BYTES`], nests too deep, or repeats too much.
pub fn read(text: &str) -> Result<Value, YamlError> {
    if text.len() > MAX_BYTES {
        let bytes = text.len();
        return Err(YamlError { message: format!("it has {bytes} bytes; at most {MAX_BYTES} are read"), offset: 0 });
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_aliases: MAX_ALIASES,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_REPEATED_VALUES },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| YamlError { message: message(&error), offset: offset(&error, text) })
}

/// A value as YAML in block style: a list or map in lines, each ended with `\n`.
#[must_use]
pub fn written(value: &Value) -> String {
    let mut out = String::new();
    match write::inline(value) {
        Some(text) => out.extend([&text, "\n"]),
        None => write::block(value, 0, "\n", &mut out),
    }
    out
}

/// Where in `text` the value at `way` begins, in bytes; the last value on the way that there is.
#[must_use]
pub fn place(text: &str, way: &[Step]) -> Option<usize> {
    let root = tree::read(text).ok().flatten()?;
    let mut node = &root;
    for step in way {
        match node.at(step) {
            Some(inner) => node = inner,
            None => break,
        }
    }
    Some(node.range.start)
}

/// The YAML parser's message without the position, which the parser counts from the start of the YAML.
fn message(error: &serde_saphyr::Error) -> String {
    let message = error.to_string();
    let first = message.lines().next().unwrap_or_default();
    let first = first.split_once(" at line ").map_or(first, |(what, _)| what);
    first.chars().take(MAX_MESSAGE_CHARS).collect()
}

/// The position of the error in the YAML, in bytes.
fn offset(error: &serde_saphyr::Error, yaml: &str) -> usize {
    let chars = error.location().map_or(0, |place| place.span().offset());
    let chars = usize::try_from(chars).unwrap_or(usize::MAX);
    let place = yaml.char_indices().nth(chars);
    place.map_or(yaml.trim_end().len(), |(offset, _)| offset)
}
