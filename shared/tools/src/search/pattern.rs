//! Finds matching lines of a text, with ripgrep's own searcher.

use std::ops::Range;

use atlas_ops::error::{Error, Reason};
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use crate::search::Case;
use crate::search::engine::{Engine, Engines};

/// Most bytes of a compiled pattern, and of its cache.
const MAX_COMPILED: usize = 10 << 20;
/// Greatest nesting depth of a pattern.
const MAX_NEST: u32 = 100;

/// Most chunks that are searched between two checks of the clock.
const MAX_CHUNKS: u32 = 128;

/// A pattern that is matched within lines.
pub(crate) struct Pattern {
    pub(super) engines: Engines,
    /// Its syntax tree, for a plan; [`None`] for a literal.
    pub(crate) hir: Option<Hir>,
}

impl Pattern {
    /// Compiles `text` like ripgrep, as a regular expression or a literal.
    pub(crate) fn new(text: &str, is_literal: bool, case: Case) -> Result<Self, Error> {
        Self::with(text, is_literal, case, false)
    }

    /// Like [`new`](Self::new); with `is_word` it matches only whole words.
    pub(crate) fn with(text: &str, is_literal: bool, case: Case, is_word: bool) -> Result<Self, Error> {
        let invalid = |error: String| Error::bad_request(Reason::PatternInvalid, format!("query: {error}"));
        if text.contains('\n') {
            return Err(invalid("a match is within one line: it must not have a line feed".to_owned()));
        }
        let mut parser = ParserBuilder::new();
        parser.utf8(false).multi_line(true).nest_limit(MAX_NEST);
        // First, since the matcher's error shows the wrapped pattern.
        let hir = match is_literal {
            true => None,
            false => Some(parser.build().parse(text).map_err(|error| invalid(error.to_string()))?),
        };
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .ban_byte(Some(0))
            .fixed_strings(is_literal)
            .word(is_word)
            .case_insensitive(case == Case::Insensitive)
            .case_smart(case == Case::Smart)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .nest_limit(MAX_NEST);
        let quick = hir.as_ref().filter(|_| !is_word && case != Case::Smart).and_then(|hir| match case {
            Case::Insensitive => Engine::quick(&parser.case_insensitive(true).build().parse(text).ok()?, MAX_COMPILED),
            _ => Engine::quick(hir, MAX_COMPILED),
        });
        let engines = match quick {
            Some(quick) => Engines::quick_first(quick, builder, text.to_owned()),
            None => Engines::full(builder.build(text).map_err(|error| invalid(error.to_string()))?),
        };
        Ok(Self { engines, hir })
    }

    /// Most chunks to search together. For a pattern with a Unicode word boundary, a regex engine that meets a letter
    /// outside ASCII switches to its slow path for all of the given text.
    pub(crate) fn most_chunks(&self) -> u32 {
        let looks = self.hir.as_ref().map(|hir| hir.properties().look_set());
        if looks.is_some_and(|looks| looks.contains_word_unicode()) { 1 } else { MAX_CHUNKS }
    }

    /// Calls `each` with the matching lines of `text` until it returns that it is done. The text is nearly valid UTF-8,
    /// without a NUL.
    pub(crate) fn lines(
        &self,
        searchers: &mut Searchers,
        text: &[u8],
        each: impl FnMut(PatternMatch<'_>) -> bool,
    ) -> Result<(), Error> {
        searchers.lines.search_slice(self.engines.for_bytes(text.len()), text, Each(each)).map_err(failed)
    }

    /// Like [`lines`](Self::lines), for the whole content of a file, which may be anything: like ripgrep's search of
    /// files.
    pub(crate) fn lines_of_file(
        &self,
        searchers: &mut Searchers,
        file: &[u8],
        each: impl FnMut(PatternMatch<'_>) -> bool,
    ) -> Result<(), Error> {
        // Not as a slice: ripgrep treats a NUL in a slice differently from one in a file.
        searchers.files.search_reader(self.engines.for_bytes(file.len()), file, Each(each)).map_err(failed)
    }

    /// The range of the first match in `line`.
    pub(crate) fn place(&self, line: &[u8]) -> Range<usize> {
        self.engines.for_bytes(0).find(line).ok().flatten().map_or(0..0, |found| found.start()..found.end())
    }
}

fn failed(error: std::io::Error) -> Error {
    Error {
        internal: Some(error.to_string()),
        ..Error::new(atlas_ops::Code::Internal, Reason::Internal, "the search failed")
    }
}

/// A matching line.
pub(crate) struct PatternMatch<'a> {
    /// Its start in the text.
    pub(crate) offset: usize,
    /// Its number, counted from 1, if the text is a file.
    pub(crate) number: u64,
    /// Without the line break.
    pub(crate) bytes: &'a [u8],
}

/// Searchers for many texts.
pub(crate) struct Searchers {
    /// Configured like ripgrep's for files.
    files: Searcher,
    /// For lines of files that are known to be text.
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
