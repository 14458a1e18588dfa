//! The lines of a text that match, found by ripgrep's own searcher.

use std::ops::Range;

use atlas_ops::error::{Error, Reason};
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use crate::search::Case;

/// Most bytes that a compiled pattern takes, and that its cache takes.
const MAX_COMPILED: usize = 10 << 20;
/// Most depth of a pattern.
const MAX_NEST: u32 = 100;

/// Most chunks that are looked at together: between two looks at the clock.
const MAX_CHUNKS: u32 = 128;

/// A pattern that is looked for in lines.
pub(crate) struct Pattern {
    matcher: RegexMatcher,
    /// What it means, for a plan; none for a literal.
    pub(crate) hir: Option<Hir>,
}

impl Pattern {
    /// Compiles `text` as ripgrep does, as a regular expression or as it stands.
    pub(crate) fn new(text: &str, is_literal: bool, case: Case) -> Result<Self, Error> {
        Self::with(text, is_literal, case, false)
    }

    /// The same, which matches only between the ends of words if `is_word`.
    pub(crate) fn with(text: &str, is_literal: bool, case: Case, is_word: bool) -> Result<Self, Error> {
        let invalid = |error: String| Error::bad_request(Reason::PatternInvalid, format!("query: {error}"));
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
            .word(is_word)
            .case_insensitive(case == Case::Insensitive)
            .case_smart(case == Case::Smart)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .nest_limit(MAX_NEST)
            .build(text)
            .map_err(|error| invalid(error.to_string()))?;
        Ok(Self { matcher, hir })
    }

    /// Most chunks that are to be looked at together. A regex engine that meets a letter outside ASCII with a Unicode word boundary
    /// in its pattern takes the slow way through all of the text that it was given.
    pub(crate) fn most_chunks(&self) -> u32 {
        let looks = self.hir.as_ref().map(|hir| hir.properties().look_set());
        if looks.is_some_and(|looks| looks.contains_word_unicode()) { 1 } else { MAX_CHUNKS }
    }

    /// Calls `each` with the lines of `text` that match until it says that it is enough. The text is in UTF-8 or near it, without a NUL.
    pub(crate) fn lines(
        &self,
        searchers: &mut Searchers,
        text: &[u8],
        each: impl FnMut(PatternMatch<'_>) -> bool,
    ) -> Result<(), Error> {
        searchers.lines.search_slice(&self.matcher, text, Each(each)).map_err(failed)
    }

    /// The same for all that is in a file, which may be anything: as ripgrep reads files that it comes upon.
    pub(crate) fn lines_of_file(
        &self,
        searchers: &mut Searchers,
        file: &[u8],
        each: impl FnMut(PatternMatch<'_>) -> bool,
    ) -> Result<(), Error> {
        // Not as a slice: what one holds beyond a NUL is told apart from what a file does.
        searchers.files.search_reader(&self.matcher, file, Each(each)).map_err(failed)
    }

    /// Where in `line` the first match is.
    pub(crate) fn place(&self, line: &[u8]) -> Range<usize> {
        self.matcher.find(line).ok().flatten().map_or(0..0, |found| found.start()..found.end())
    }
}

fn failed(error: std::io::Error) -> Error {
    Error {
        internal: Some(error.to_string()),
        ..Error::new(atlas_ops::Code::Internal, Reason::Internal, "the search failed")
    }
}

/// A line that matches.
pub(crate) struct PatternMatch<'a> {
    /// Where it begins in the text.
    pub(crate) offset: usize,
    /// Its number, counted from 1, where the text is a file.
    pub(crate) number: u64,
    /// Without the end of the line.
    pub(crate) bytes: &'a [u8],
}

/// Searchers for many texts.
pub(crate) struct Searchers {
    /// Set as ripgrep's is for files that it came upon.
    files: Searcher,
    /// For lines of files, when it is known that they are text.
    lines: Searcher,
}

impl Default for Searchers {
    fn default() -> Self {
        let mut builder = SearcherBuilder::new();
        builder.line_number(false);
        let lines = builder.binary_detection(BinaryDetection::none()).bom_sniffing(false).build();
        builder.line_number(true);
        let files = builder.binary_detection(BinaryDetection::quit(0)).bom_sniffing(true).build();
        Self { files, lines }
    }
}

struct Each<F>(F);

impl<F: FnMut(PatternMatch<'_>) -> bool> Sink for Each<F> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let bytes = found.bytes();
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let offset = found.absolute_byte_offset() as usize;
        Ok((self.0)(PatternMatch { offset, number: found.line_number().unwrap_or(0), bytes }))
    }
}
