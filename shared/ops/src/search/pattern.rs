//! The lines of a text that match, found by ripgrep's own searcher.

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use crate::error::Error;
use crate::search::Case;

/// Most bytes that a compiled pattern takes, and that its cache takes.
const MAX_COMPILED: usize = 10 << 20;
/// Most depth of a pattern.
const MAX_NEST: u32 = 100;

/// A pattern that is looked for in lines.
pub(crate) struct Pattern {
    matcher: RegexMatcher,
    /// What it means, for a plan; none for a literal.
    pub(crate) hir: Option<Hir>,
}

/// A line that matches.
pub(crate) struct Line {
    /// Counted from 1.
    pub(crate) number: u64,
    /// Without the end of the line.
    pub(crate) bytes: Vec<u8>,
    /// Where the first match begins.
    pub(crate) at: usize,
}

impl Pattern {
    /// Compiles `text` as ripgrep does, as a regular expression or as it stands.
    pub(crate) fn new(text: &str, is_literal: bool, case: Case) -> Result<Self, Error> {
        let invalid = |error: String| Error::bad_request("pattern_invalid", format!("query: {error}"));
        if text.contains('\n') {
            return Err(invalid("a match is within one line: it must not have a line feed".to_owned()));
        }
        // First, since the matcher's error shows the pattern as it is wrapped there.
        let hir = if is_literal {
            None
        } else {
            let parsed = ParserBuilder::new().utf8(false).multi_line(true).nest_limit(MAX_NEST).build().parse(text);
            Some(parsed.map_err(|error| invalid(error.to_string()))?)
        };
        let matcher = RegexMatcherBuilder::new()
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .ban_byte(Some(0))
            .fixed_strings(is_literal)
            .case_insensitive(case == Case::Insensitive)
            .case_smart(case == Case::Smart)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .nest_limit(MAX_NEST)
            .build(text)
            .map_err(|error| invalid(error.to_string()))?;
        Ok(Self { matcher, hir })
    }

    /// The lines of `text` that match, after line `after` (0 for all), at most `limit`. The text is that of a file from its line
    /// `first` (counted from 0) on, without a NUL and not UTF-16; or without `first` all of a file, whatever it holds.
    pub(crate) fn lines(
        &self,
        searchers: &mut Searchers,
        text: &[u8],
        first: Option<u64>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Line>, Error> {
        let before = first.unwrap_or(0);
        let mut found = Found { matcher: &self.matcher, before, after, limit, lines: Vec::new() };
        let searched = match first {
            // As a file is read: what a slice holds beyond a NUL would be told apart from what a file does.
            None => searchers.files.search_reader(&self.matcher, text, &mut found),
            Some(0) => {
                let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
                searchers.lines.search_slice(&self.matcher, text, &mut found)
            }
            Some(_) => searchers.lines.search_slice(&self.matcher, text, &mut found),
        };
        searched.map_err(|error| Error {
            internal: Some(error.to_string()),
            ..Error::new(crate::Code::Internal, "internal", "the search failed")
        })?;
        Ok(found.lines)
    }
}

/// Searchers for many texts.
pub(crate) struct Searchers {
    /// Set as ripgrep's is for files that it came upon.
    files: Searcher,
    /// For lines of files, when it is known that they are text.
    lines: Searcher,
}

impl Searchers {
    pub(crate) fn new() -> Self {
        let mut builder = SearcherBuilder::new();
        builder.line_number(true);
        Self {
            files: builder.clone().binary_detection(BinaryDetection::quit(0)).build(),
            lines: builder.binary_detection(BinaryDetection::none()).bom_sniffing(false).build(),
        }
    }
}

struct Found<'a> {
    matcher: &'a RegexMatcher,
    /// Lines before the text.
    before: u64,
    after: u64,
    limit: usize,
    lines: Vec<Line>,
}

impl Sink for Found<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let number = self.before + found.line_number().unwrap_or(0);
        if number > self.after {
            let bytes = found.bytes();
            let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
            let at = self.matcher.find(bytes)?.map_or(0, |found| found.start());
            self.lines.push(Line { number, bytes: bytes.to_vec(), at });
        }
        Ok(self.lines.len() < self.limit)
    }
}
