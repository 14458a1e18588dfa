//! Conditions on texts.

use regex::{Regex, RegexBuilder};

use crate::fold::fold;

/// Most bytes that a compiled regular expression takes.
const MAX_COMPILED: usize = 256 << 10;

/// A condition on a text.
#[derive(Debug)]
pub(super) enum Condition {
    /// The folded text contains this.
    Includes(String),
    Matches(Regex),
}

impl Condition {
    pub(super) fn includes(text: &str) -> Self {
        Self::Includes(fold(text))
    }

    /// `/pattern/flags`.
    pub(super) fn matches(text: &str) -> Result<Self, String> {
        let written =
            || format!("{text:?}: write a regular expression as /…/, with i behind it if case does not count");
        let (pattern, flags) = text.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')).ok_or_else(written)?;
        let mut builder = RegexBuilder::new(pattern);
        builder.size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).nest_limit(100);
        for flag in flags.chars() {
            match flag {
                'i' => builder.case_insensitive(true),
                'm' => builder.multi_line(true),
                's' => builder.dot_matches_new_line(true),
                // Unicode is always on.
                'u' => builder.unicode(true),
                flag => {
                    return Err(format!(
                        "the flag {flag} of a regular expression is not supported: only i, m, s, u are"
                    ));
                }
            };
        }
        let refused = |error: regex::Error| match error {
            regex::Error::CompiledTooBig(_) => "the regular expression is too large".to_owned(),
            error => format!("{pattern:?} is not a valid regular expression: {error}"),
        };
        builder.build().map(Self::Matches).map_err(refused)
    }
}
