//! The engines of a pattern: a quick one for what looks at little text, and ripgrep's for the rest.
//!
//! ripgrep's matcher builds whole automata in advance. For a large class such as `\w` that takes up to 70 ms, which only
//! a search of many megabytes earns back. The quick engine has the same syntax tree and no such automaton: its states are
//! made when a text needs them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoCaptures, NoError};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_automata::Input;
use regex_automata::meta::{Config, Regex};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Literal};

/// A class with fewer ranges costs little to build.
const MANY_RANGES: usize = 64;
/// The bytes of text after which ripgrep's matcher is built: searching them takes as long as building it.
const QUICK_BYTES: usize = 4 << 20;

/// An engine that finds matches within lines.
pub(super) enum Engine {
    Quick(Regex),
    Full(RegexMatcher),
}

/// The engines of a pattern.
pub(super) struct Engines {
    first: Engine,
    /// Builds the full engine, if the first is the quick one.
    later: Option<Later>,
}

struct Later {
    builder: RegexMatcherBuilder,
    pattern: String,
    /// The bytes that were searched.
    searched: AtomicUsize,
    /// [`None`] if it is too large to be built.
    full: OnceLock<Option<Engine>>,
}

impl Engines {
    /// ripgrep's matcher only.
    pub(super) const fn full(matcher: RegexMatcher) -> Self {
        Self { first: Engine::Full(matcher), later: None }
    }

    /// The quick engine, and later what `builder` makes of the same pattern.
    pub(super) const fn quick_first(quick: Engine, builder: RegexMatcherBuilder, pattern: String) -> Self {
        let later = Later { builder, pattern, searched: AtomicUsize::new(0), full: OnceLock::new() };
        Self { first: quick, later: Some(later) }
    }

    /// The engine for the next `bytes` of text.
    pub(super) fn for_bytes(&self, bytes: usize) -> &Engine {
        let Some(later) = &self.later else { return &self.first };
        if later.searched.fetch_add(bytes, Ordering::Relaxed) < QUICK_BYTES {
            return &self.first;
        }
        let build = || later.builder.build(&later.pattern).ok().map(Engine::Full);
        later.full.get_or_init(build).as_ref().unwrap_or(&self.first)
    }
}

impl Engine {
    /// The quick engine, if the full one is costly to build and finds the same lines.
    pub(super) fn quick(hir: &Hir, most_bytes: usize) -> Option<Self> {
        let looks = hir.properties().look_set();
        // With these ripgrep builds little, or searches line by line.
        if most_ranges(hir) < MANY_RANGES || looks.contains_word_unicode() || looks.contains_anchor_haystack() {
            return None;
        }
        let config = Config::new()
            .utf8_empty(false)
            .dfa(false)
            .onepass(false)
            .nfa_size_limit(Some(most_bytes))
            .hybrid_cache_capacity(most_bytes);
        Regex::builder().configure(config).build_from_hir(&within_lines(hir)?).ok().map(Self::Quick)
    }
}

/// The ranges of the largest class.
fn most_ranges(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => class.ranges().len(),
        HirKind::Repetition(repetition) => most_ranges(&repetition.sub),
        HirKind::Capture(capture) => most_ranges(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(most_ranges).max().unwrap_or(0),
        HirKind::Class(Class::Bytes(_)) | HirKind::Empty | HirKind::Literal(_) | HirKind::Look(_) => 0,
    }
}

/// The pattern without line feeds in its classes. [`None`] if it must match a line feed or a NUL, which ripgrep refuses.
fn within_lines(hir: &Hir) -> Option<Hir> {
    let every = |parts: &[Hir]| parts.iter().map(within_lines).collect::<Option<Vec<Hir>>>();
    Some(match hir.kind() {
        HirKind::Literal(Literal(bytes)) if bytes.iter().any(|byte| matches!(byte, 0 | b'\n')) => return None,
        HirKind::Class(Class::Unicode(class)) => {
            let mut class = class.clone();
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
            let is_nul = |class: &ClassUnicode| matches!(class.ranges(), [only] if only.end() == '\0');
            Hir::class(Class::Unicode(Some(class).filter(|class| !class.ranges().is_empty() && !is_nul(class))?))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut class = class.clone();
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            let is_nul = |class: &ClassBytes| matches!(class.ranges(), [only] if only.end() == 0);
            Hir::class(Class::Bytes(Some(class).filter(|class| !class.ranges().is_empty() && !is_nul(class))?))
        }
        HirKind::Repetition(repetition) => Hir::repetition(repetition.with(within_lines(&repetition.sub)?)),
        HirKind::Capture(capture) => within_lines(&capture.sub)?,
        HirKind::Concat(parts) => Hir::concat(every(parts)?),
        HirKind::Alternation(parts) => Hir::alternation(every(parts)?),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Look(_) => hir.clone(),
    })
}

impl Matcher for Engine {
    type Captures = NoCaptures;
    type Error = NoError;

    fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Match>, NoError> {
        match self {
            Self::Quick(regex) => {
                let found = regex.find(Input::new(text).span(at..text.len()));
                Ok(found.map(|found| Match::new(found.start(), found.end())))
            }
            Self::Full(matcher) => matcher.find_at(text, at),
        }
    }

    fn new_captures(&self) -> Result<NoCaptures, NoError> {
        Ok(NoCaptures::new())
    }

    fn shortest_match_at(&self, text: &[u8], at: usize) -> Result<Option<usize>, NoError> {
        match self {
            Self::Quick(regex) => {
                Ok(regex.search_half(&Input::new(text).span(at..text.len())).map(|found| found.offset()))
            }
            Self::Full(matcher) => matcher.shortest_match_at(text, at),
        }
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        match self {
            Self::Quick(_) => None,
            Self::Full(matcher) => matcher.non_matching_bytes(),
        }
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        match self {
            Self::Quick(_) => Some(LineTerminator::byte(b'\n')),
            Self::Full(matcher) => matcher.line_terminator(),
        }
    }

    fn find_candidate_line(&self, text: &[u8]) -> Result<Option<LineMatchKind>, NoError> {
        match self {
            Self::Quick(_) => Ok(self.shortest_match(text)?.map(LineMatchKind::Confirmed)),
            Self::Full(matcher) => matcher.find_candidate_line(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_syntax::ParserBuilder;

    use super::*;
    use crate::search::Case;
    use crate::search::pattern::{Pattern, Searchers};

    fn quick(pattern: &str) -> Option<Engine> {
        let hir = ParserBuilder::new().utf8(false).multi_line(true).build().parse(pattern).unwrap();
        Engine::quick(&hir, 10 << 20)
    }

    fn is_quick(pattern: &Pattern) -> bool {
        matches!(pattern.engines.for_bytes(0), Engine::Quick(_))
    }

    fn lines(pattern: &Pattern, text: &str) -> Vec<(usize, Vec<u8>)> {
        let mut found = Vec::new();
        let each = |line: crate::search::pattern::PatternMatch<'_>| {
            found.push((line.offset, line.bytes.to_vec()));
            true
        };
        pattern.lines(&mut Searchers::default(), text.as_bytes(), each).unwrap();
        found
    }

    #[test]
    fn a_large_class_is_searched_without_the_automaton_that_costs_most() {
        for costly in [r"word\w*", r"\p{L}*", r"(?i)word\w*", r"TODO\(\w+\)", r"\d{4}-\d{2}", r"[^\w]x"] {
            assert!(quick(costly).is_some(), "{costly}");
        }
        for plain in ["word", "a.*b", r"\s+x", "[a-z]+", r"\bword\b", r"\w+ing\b", r"\A\w+", r"\w+\z"] {
            assert!(quick(plain).is_none(), "{plain}");
        }
        for refused in [r"\w\n", r"\w\x00", r"\w[\n]", r"\w[\x00]", r"\w(?-u:[\n])"] {
            assert!(quick(refused).is_none(), "{refused}");
            assert!(Pattern::new(refused, false, Case::Sensitive).is_err(), "{refused}");
        }
    }

    #[test]
    fn ripgreps_matcher_is_built_once_much_text_was_searched() {
        let pattern = Pattern::new(r"word\w*", false, Case::Sensitive).unwrap();
        let text = "a wording\n".repeat(1 << 10);
        while pattern.engines.later.as_ref().unwrap().searched.load(Ordering::Relaxed) < QUICK_BYTES {
            assert!(is_quick(&pattern));
            assert_eq!(lines(&pattern, &text).len(), 1 << 10);
        }
        assert!(!is_quick(&pattern));
        assert_eq!(lines(&pattern, &text).len(), 1 << 10);
    }

    proptest! {
        #[test]
        fn both_engines_find_the_same(
            pattern in r"(\\w|\\p\{L\}|\\d|[a-cäK]|\\W|\.|\^|\$|\[\^\\w\]|\(a\|\\w\)|\\s|\(\?-u:\\xff\)){1,5}[*+?]?(\\w|b|\$|\{2\})?",
            text in r"([a-cäkKſ\u{212a}潮٣ 0-9_\r]{0,6}\n){0,6}[a-cä]{0,3}",
            is_insensitive in any::<bool>(),
        ) {
            let case = if is_insensitive { Case::Insensitive } else { Case::Sensitive };
            let Ok(pattern) = Pattern::new(&pattern, false, case) else { return Ok(()) };
            let first = lines(&pattern, &text);
            let places: Vec<_> = first.iter().map(|(_, line)| pattern.place(line)).collect();
            pattern.engines.for_bytes(QUICK_BYTES);
            prop_assert_eq!(&lines(&pattern, &text), &first);
            prop_assert_eq!(first.iter().map(|(_, line)| pattern.place(line)).collect::<Vec<_>>(), places);
        }
    }
}
