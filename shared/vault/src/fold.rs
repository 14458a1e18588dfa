//! Simple case folding: the statuses C and S of Unicode's `CaseFolding.txt`, one character for one character. Two texts fold alike
//! exactly when a regex with `(?i)` matches one for the other (`K` and U+212A, `ſ` and `s`), so that folded indexes and regexes agree.
//! Nothing is normalised.

/// The folded character of `c`.
#[inline]
#[must_use]
pub fn fold_char(c: char) -> char {
    // Kana, Han, Yi and Hangul have no case. In many vaults, most characters outside ASCII are of these.
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    if matches!(c, '\u{2E80}'..='\u{A63F}' | '\u{AC00}'..='\u{D7FF}') {
        return c;
    }
    unicode_case_mapping::case_folded(c).and_then(|folded| char::from_u32(folded.get())).unwrap_or(c)
}

/// `text`, folded.
#[must_use]
pub fn fold(text: &str) -> String {
    let mut out = String::new();
    fold_into(text, &mut out);
    out
}

/// Appends `text`, folded, to `out`.
pub fn fold_into(text: &str, out: &mut String) {
    out.reserve(text.len());
    fold_runs(text, out);
}

/// Appends `bytes` to `out`: valid UTF-8 folded, invalid bytes as they are.
pub fn fold_bytes_into(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len());
    for chunk in bytes.utf8_chunks() {
        fold_runs(chunk.valid(), out);
        out.extend_from_slice(chunk.invalid());
    }
}

/// The output that folded text is appended to.
trait Sink {
    /// Appends a run in which only ASCII letters change.
    fn run(&mut self, run: &str);
    fn character(&mut self, c: char);
}

impl Sink for String {
    fn run(&mut self, run: &str) {
        let start = self.len();
        self.push_str(run);
        if let Some(added) = self.get_mut(start..) {
            added.make_ascii_lowercase();
        }
    }

    fn character(&mut self, c: char) {
        self.push(c);
    }
}

impl Sink for Vec<u8> {
    fn run(&mut self, run: &str) {
        let start = self.len();
        self.extend_from_slice(run.as_bytes());
        if let Some(added) = self.get_mut(start..) {
            added.make_ascii_lowercase();
        }
    }

    fn character(&mut self, c: char) {
        self.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Copies whole runs, broken only where a character outside ASCII changes.
fn fold_runs(text: &str, out: &mut impl Sink) {
    let mut run = text;
    let mut scanned = 0;
    while let Some(ahead) = run.get(scanned..) {
        scanned += ascii_prefix(ahead.as_bytes());
        let Some(c) = run.get(scanned..).and_then(|ahead| ahead.chars().next()) else {
            break;
        };
        let folded = fold_char(c);
        if folded == c {
            scanned += c.len_utf8();
            continue;
        }
        let (same, changed) = run.split_at(scanned);
        out.run(same);
        out.character(folded);
        run = changed.get(c.len_utf8()..).unwrap_or_default();
        scanned = 0;
    }
    out.run(run);
}

/// The number of ASCII bytes at the start of `bytes`.
fn ascii_prefix(bytes: &[u8]) -> usize {
    const WIDTH: usize = 32;
    let whole = WIDTH * bytes.chunks_exact(WIDTH).take_while(|chunk| chunk.is_ascii()).count();
    let rest = bytes.get(whole..).unwrap_or_default();
    whole + rest.iter().take_while(|byte| byte.is_ascii()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

    fn case_variants(c: char) -> impl Iterator<Item = char> {
        let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
        class.case_fold_simple();
        class.ranges().iter().flat_map(|range| range.start()..=range.end()).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn characters_fold_alike_exactly_when_a_regex_ignoring_case_takes_one_for_the_other() {
        let mut classes = std::collections::HashMap::<char, Vec<char>>::new();
        for c in '\0'..=char::MAX {
            classes.entry(fold_char(c)).or_default().push(c);
        }
        for c in '\0'..=char::MAX {
            let variants: Vec<char> = case_variants(c).collect();
            assert_eq!(classes[&fold_char(c)], variants, "{c:?}");
        }
    }

    #[test]
    fn letters_outside_ascii_fold_too() {
        assert_eq!(fold("ÄÖÜ ΣΑΣ ſ \u{212A}elvin ẞ ǅ Ⱥ"), "äöü σασ s kelvin ß ǆ ⱥ");
        assert_eq!(fold("日本語 ＡＢＣ 한국어 🎉"), "日本語 ａｂｃ 한국어 🎉");
    }

    #[test]
    fn nothing_is_normalised_or_expanded() {
        assert_eq!(fold("e\u{301} İ ß ﬁ"), "e\u{301} İ ß ﬁ");
    }

    #[test]
    fn invalid_bytes_stay_where_they_are() {
        let mut out = b"kept ".to_vec();
        fold_bytes_into(b"A\xFFB\xC3\x84\xE2\x84", &mut out);
        assert_eq!(out, b"kept a\xFFb\xC3\xA4\xE2\x84");
    }

    proptest! {
        #[test]
        fn a_text_folds_character_by_character(text in "(?s)[a-zA-ZÄß\u{212A}ſ日 ]{0,80}|.{0,40}") {
            let expected: String = text.chars().map(fold_char).collect();
            prop_assert_eq!(fold(&text), expected);
        }

        #[test]
        fn folding_twice_is_folding_once(text in ".*") {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }

        #[test]
        fn bytes_fold_as_their_text_does(text in ".*") {
            let mut out = Vec::new();
            fold_bytes_into(text.as_bytes(), &mut out);
            prop_assert_eq!(out, fold(&text).into_bytes());
        }
    }
}
