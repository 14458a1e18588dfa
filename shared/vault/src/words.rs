//! Words as full-text search defines them: runs of letters, digits and combining marks, with apostrophes inside, folded and in NFC. In
//! scripts without spaces, each pair of adjacent characters is a word, and so is the last character alone. A search for any part of such
//! a run therefore matches the beginning of some word.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::fold;

/// Most bytes of a word. The rest of a longer word is ignored.
pub const MAX_WORD_BYTES: usize = 64;

/// A word and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// Its characters, folded, in NFC, at most [`MAX_WORD_BYTES`].
    pub folded: Cow<'a, str>,
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Whether it is the last character of a run without spaces. The word before it contains that character too.
    pub is_tail: bool,
}

/// The words of `text`, in order.
pub fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    words_where(text, |_| true)
}

/// The words of `text` for which `may` is true as they are written, in order. The others cost little, since they are not folded.
pub fn words_where<'a>(text: &'a str, may: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = Word<'a>> {
    let mut places = Places { text, at: 0, unspaced: 0..0 };
    std::iter::from_fn(move || {
        loop {
            let (range, is_tail) = places.next()?;
            let written = text.get(range.clone())?;
            if may(written) {
                return Some(Word { folded: folded(written), range, is_tail });
            }
        }
    })
}

/// The words of `text`, which is source code. An identifier with several parts (`loginUser`, `HTTPServer2`) in ASCII letters is followed
/// by its parts.
pub fn code_words(text: &str) -> impl Iterator<Item = Word<'_>> {
    words(text).flat_map(move |word| {
        let written = text.get(word.range.clone()).unwrap_or_default();
        let begin = word.range.start;
        let parts = parts(written).map(move |range| Word {
            folded: folded(written.get(range.clone()).unwrap_or_default()),
            range: begin + range.start..begin + range.end,
            is_tail: false,
        });
        std::iter::once(word).chain(parts)
    })
}

/// The ranges of an identifier's parts, if it has several. Parts that begin with a digit are left out.
fn parts(written: &str) -> impl Iterator<Item = Range<usize>> + use<> {
    let bytes = written.as_bytes();
    let mut found = Vec::new();
    // Nearly all words have no capital or digit after the first letter.
    let is_plain = bytes.iter().skip(1).all(u8::is_ascii_lowercase);
    if !is_plain && bytes.iter().all(u8::is_ascii_alphanumeric) {
        let mut start = 0;
        for (at, pair) in bytes.windows(2).enumerate() {
            let &[before, after] = pair else { continue };
            let begins = after.is_ascii_uppercase() && !before.is_ascii_uppercase()
                || before.is_ascii_digit() != after.is_ascii_digit()
                // `HTTPServer` is `HTTP` and `Server`.
                || before.is_ascii_uppercase()
                    && after.is_ascii_uppercase()
                    && bytes.get(at + 2).is_some_and(u8::is_ascii_lowercase);
            if begins {
                found.push(start..at + 1);
                start = at + 1;
            }
        }
        if start > 0 {
            found.push(start..bytes.len());
        }
        found.retain(|range| bytes.get(range.start).is_some_and(u8::is_ascii_alphabetic));
    }
    found.into_iter()
}

/// Where words are, and whether they are tails.
struct Places<'a> {
    text: &'a str,
    at: usize,
    /// The last run without spaces.
    unspaced: Range<usize>,
}

impl Iterator for Places<'_> {
    type Item = (Range<usize>, bool);

    fn next(&mut self) -> Option<(Range<usize>, bool)> {
        loop {
            if self.at < self.unspaced.end {
                return self.pair();
            }
            let rest = self.text.get(self.at..)?;
            let skipped = skipped(rest);
            let rest = rest.get(skipped..).filter(|rest| !rest.is_empty())?;
            let start = self.at + skipped;
            if !rest.as_bytes().first().is_some_and(u8::is_ascii) && rest.starts_with(is_unspaced) {
                let end = rest.find(|c| !is_unspaced(c) && !is_combining_mark(c)).unwrap_or(rest.len());
                (self.at, self.unspaced) = (start, start..start + end);
                continue;
            }
            let end = start + spaced(rest);
            self.at = end;
            return Some((start..end, false));
        }
    }
}

impl Places<'_> {
    /// The character at `at` together with the next one, if the run continues.
    fn pair(&mut self) -> Option<(Range<usize>, bool)> {
        let run = self.text.get(self.at..self.unspaced.end)?;
        let mut after = run.char_indices().skip(1).filter(|(_, c)| !is_combining_mark(*c)).map(|(at, _)| at);
        let second = after.next();
        let end = self.at + after.next().filter(|_| second.is_some()).unwrap_or(run.len());
        let start = self.at;
        self.at += second.unwrap_or(run.len());
        let is_tail = second.is_none() && start > self.unspaced.start;
        Some((start..end, is_tail))
    }
}

/// The number of bytes before the first character of a word.
fn skipped(text: &str) -> usize {
    let ascii = text.bytes().take_while(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric()).count();
    match text.as_bytes().get(ascii) {
        Some(byte) if !byte.is_ascii() => {
            text.get(ascii..).and_then(|rest| rest.find(is_word)).map_or(text.len(), |at| ascii + at)
        }
        _ => ascii,
    }
}

/// The length in bytes of the word at the start of `text`.
fn spaced(text: &str) -> usize {
    let mut end = 0;
    loop {
        let rest = text.as_bytes().get(end..).unwrap_or_default();
        end += rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let mut ahead = text.get(end..).unwrap_or_default().chars();
        let Some(c) = ahead.next() else { return end };
        let goes_on = if matches!(c, '\'' | '’') {
            end > 0 && ahead.next().is_some_and(|c| c.is_alphabetic() && !is_unspaced(c))
        } else {
            !c.is_ascii() && is_word(c) && !is_unspaced(c)
        };
        if !goes_on {
            return end;
        }
        end += c.len_utf8();
    }
}

pub(crate) fn is_word(c: char) -> bool {
    // Han radicals are symbols, but occur in runs like letters.
    c.is_alphanumeric() || is_combining_mark(c) || is_unspaced(c)
}

/// Letters of scripts that put no spaces between words, and Hangul, whose spaces enclose more than a word.
#[must_use]
pub const fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E01}'..='\u{0E3A}' | '\u{0E40}'..='\u{0E4E}' // Thai
        | '\u{0E81}'..='\u{0EDF}' // Lao
        | '\u{1000}'..='\u{103F}' // Myanmar
        | '\u{1100}'..='\u{11FF}' // Hangul
        | '\u{1780}'..='\u{17D3}' // Khmer
        | '\u{2E80}'..='\u{2FDF}' | '\u{3005}'..='\u{3007}' // Han
        | '\u{3041}'..='\u{3096}' | '\u{309D}'..='\u{309F}' // Hiragana
        | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF9F}' // Katakana
        | '\u{3105}'..='\u{312F}' | '\u{3131}'..='\u{318E}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}'
        | '\u{AC00}'..='\u{D7AF}')
}

fn folded(word: &str) -> Cow<'_, str> {
    let cut = word.get(..word.floor_char_boundary(MAX_WORD_BYTES)).unwrap_or_default();
    if cut.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(cut);
    }
    if cut.is_ascii() {
        return Cow::Owned(cut.to_ascii_lowercase());
    }
    let mut folded = fold::fold(cut);
    if !is_nfc(&folded) {
        // Composing can give a letter that is not folded.
        folded = fold::fold(&folded.nfc().collect::<String>());
        folded.truncate(folded.floor_char_boundary(MAX_WORD_BYTES));
    }
    Cow::Owned(folded.replace('’', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded_words(text: &str) -> Vec<String> {
        words(text).map(|word| word.folded.into_owned()).collect()
    }

    #[test]
    fn words_are_runs_of_letters_digits_and_marks() {
        for (text, expected) in [
            ("The Harbour-master's log, 2026!", &["the", "harbour", "master's", "log", "2026"][..]),
            (
                "snake_case foo.bar/baz [[Link|text]] #tag",
                &["snake", "case", "foo", "bar", "baz", "link", "text", "tag"],
            ),
            ("don't don’t 'quoted' rock 'n' roll", &["don't", "don't", "quoted", "rock", "n", "roll"]),
            ("École E\u{301}cole STRASSE \u{212A}elvin", &["école", "école", "strasse", "kelvin"]),
            ("हिन्दी किताब", &["हिन्दी", "किताब"]),
            ("日本の潮", &["日本", "本の", "の潮", "潮"]),
            ("v2日本x", &["v2", "日本", "本", "x"]),
            ("潮 ข้อ", &["潮", "ข้อ", "อ"]),
            ("🎉 — …", &[]),
            ("", &[]),
        ] {
            assert_eq!(folded_words(text), expected, "{text}");
        }
    }

    #[test]
    fn words_of_code_have_parts() {
        for (text, expected) in [
            ("loginUser login_user", &["loginuser", "login", "user", "login", "user"][..]),
            ("HTTPServer2", &["httpserver2", "http", "server"]),
            ("Plain UPPER x2y 42 déjàVu", &["plain", "upper", "x2y", "x", "y", "42", "déjàvu"]),
            ("getURLFor9Lives", &["geturlfor9lives", "get", "url", "for", "lives"]),
        ] {
            let found: Vec<String> = code_words(text).map(|word| word.folded.into_owned()).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_tail_is_in_the_word_before() {
        let tails: Vec<bool> = words("日本 潮 x").map(|word| word.is_tail).collect();
        assert_eq!(tails, [false, true, false, false]);
        assert_eq!(folded_words("\u{1780}\u{2E9B} \u{2E9B}"), ["\u{1780}\u{2E9B}", "\u{2E9B}", "\u{2E9B}"]);
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(folded_words(&"É".repeat(1000)), ["é".repeat(32)]);
        assert_eq!(folded_words(&format!("x{}", "日本".repeat(1000))).len(), 2001);
    }

    proptest! {
        #[test]
        fn words_stand_where_they_say(text in "([a-cA-C0-9' ’.]{0,6}|[éÉ\u{301}ßſ\u{212A}]{0,3}|[日本の潮ก้อ한국]{0,5}|\\PC{0,4}){0,6}") {
            let mut at = 0;
            for word in words(&text) {
                prop_assert!(word.range.start >= at && word.range.end <= text.len() && !word.range.is_empty());
                prop_assert!(!word.folded.is_empty() && word.folded.len() <= MAX_WORD_BYTES);
                prop_assert_eq!(&fold::fold(&word.folded), word.folded.as_ref());
                at = word.range.start;
                // A word that is parsed alone stays the same, so that queries find it.
                let alone = words(&text[word.range.clone()]).next().unwrap();
                prop_assert_eq!(alone.folded, word.folded);
            }
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
            let covered: std::collections::BTreeSet<usize> = words(&text).flat_map(|word| word.range).collect();
            let kept: String = text.char_indices().filter(|(at, _)| covered.contains(at)).map(|(_, c)| c).collect();
            prop_assert_eq!(letters(&kept), letters(&text));
        }
    }
}
