//! Characters that cannot be seen, made visible: two texts that look equal are equal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

const JOINER: char = '\u{200D}';
const NON_JOINER: char = '\u{200C}';
const AS_TEXT: char = '\u{FE0E}';
const AS_EMOJI: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';

/// Characters without a look of their own, or that change the order of others, in their order.
const UNSEEN: [RangeInclusive<char>; 29] = [
    '\0'..='\u{8}',
    '\u{B}'..='\u{1F}',
    '\u{7F}'..='\u{9F}',
    '\u{AD}'..='\u{AD}',
    '\u{34F}'..='\u{34F}',
    '\u{61C}'..='\u{61C}',
    '\u{70F}'..='\u{70F}',
    '\u{115F}'..='\u{1160}',
    '\u{17B4}'..='\u{17B5}',
    '\u{180B}'..='\u{180F}',
    '\u{200B}'..='\u{200F}',
    '\u{2028}'..='\u{202E}',
    '\u{2060}'..='\u{206F}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{E000}'..='\u{F8FF}',
    '\u{FE00}'..='\u{FE0F}',
    '\u{FEFF}'..='\u{FEFF}',
    '\u{FFA0}'..='\u{FFA0}',
    '\u{FFF0}'..='\u{FFFB}',
    '\u{FFFE}'..='\u{FFFF}',
    '\u{110BD}'..='\u{110BD}',
    '\u{110CD}'..='\u{110CD}',
    '\u{13430}'..='\u{13440}',
    '\u{1BCA0}'..='\u{1BCA3}',
    '\u{1D173}'..='\u{1D17A}',
    '\u{E0000}'..='\u{E0FFF}',
    '\u{F0000}'..='\u{FFFFF}',
    '\u{100000}'..='\u{10FFFF}',
];

/// Scripts whose letters joiners shape, in their order: Arabic, Syriac, N'Ko, Mandaic, those of India, of Myanmar, Khmer and Mongolian, and Adlam.
const JOINED: [RangeInclusive<char>; 10] = [
    '\u{620}'..='\u{8FF}',
    '\u{900}'..='\u{DFF}',
    '\u{F00}'..='\u{109F}',
    '\u{1780}'..='\u{18AA}',
    '\u{1900}'..='\u{1AAF}',
    '\u{1B00}'..='\u{1C4F}',
    '\u{A800}'..='\u{AAFF}',
    '\u{FB50}'..='\u{FDFF}',
    '\u{FE70}'..='\u{FEFC}',
    '\u{1E900}'..='\u{1E95F}',
];

/// Signs that are emoji, or become one by what follows them, in their order.
const EMOJI: [RangeInclusive<char>; 12] = [
    '\u{A9}'..='\u{A9}',
    '\u{AE}'..='\u{AE}',
    '\u{203C}'..='\u{203C}',
    '\u{2049}'..='\u{2049}',
    '\u{2122}'..='\u{21AA}',
    '\u{231A}'..='\u{27BF}',
    '\u{2934}'..='\u{2935}',
    '\u{2B05}'..='\u{2B55}',
    '\u{3030}'..='\u{3030}',
    '\u{303D}'..='\u{303D}',
    '\u{3297}'..='\u{3299}',
    '\u{1F000}'..='\u{1FAFF}',
];

fn is_in(ranges: &[RangeInclusive<char>], letter: char) -> bool {
    let place = ranges.partition_point(|range| *range.end() < letter);
    ranges.get(place).is_some_and(|range| range.contains(&letter))
}

/// Whether this character, which stands between those, is not seen.
fn is_unseen(before: Option<char>, letter: char, after: Option<char>) -> bool {
    if !is_in(&UNSEEN, letter) {
        return false;
    }
    let is = |ranges: &[_], letter: Option<char>| {
        letter.is_some_and(|letter| is_in(ranges, letter) && !is_in(&UNSEEN, letter))
    };
    match letter {
        // The end of a line on Windows.
        '\r' => after != Some('\n'),
        JOINER if (is(&EMOJI, before) || before == Some(AS_EMOJI)) && is(&EMOJI, after) => false,
        JOINER | NON_JOINER => !(is(&JOINED, before) && is(&JOINED, after)),
        AS_TEXT | AS_EMOJI if after == Some(KEYCAP) => {
            !before.is_some_and(|sign| matches!(sign, '0'..='9' | '#' | '*'))
        }
        AS_TEXT | AS_EMOJI => !is(&EMOJI, before),
        _ => true,
    }
}

/// The text, in which each character that is not seen stands as its number, such as `⟨U+202E⟩`. Joiners stay where they join: within emoji, and
/// between letters of scripts that need them.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    piece("", text, "")
}

/// The same for `text`, which stands between others.
#[must_use]
pub fn piece<'a>(before: &str, text: &'a str, after: &str) -> Cow<'a, str> {
    if text.bytes().all(|byte| matches!(byte, b'\t' | b'\n' | b' '..=b'~')) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    let mut previous = before.chars().next_back();
    let mut letters = text.chars().chain(after.chars().next()).peekable();
    for _ in 0..text.chars().count() {
        let Some(letter) = letters.next() else { break };
        if is_unseen(previous, letter, letters.peek().copied()) {
            // Writing to a string does not fail.
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(letter));
        } else {
            shown.push(letter);
        }
        previous = Some(letter);
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_as_its_number() {
        for (text, shown) in [
            ("pay\u{202E}exe.md", "pay⟨U+202E⟩exe.md"),
            ("\u{2066}a\u{2069}", "⟨U+2066⟩a⟨U+2069⟩"),
            ("a\u{200B}b\u{AD}c\u{FEFF}", "a⟨U+200B⟩b⟨U+00AD⟩c⟨U+FEFF⟩"),
            ("a\0\u{1B}[2J\r\u{85}", "a⟨U+0000⟩⟨U+001B⟩[2J⟨U+000D⟩⟨U+0085⟩"),
            ("a\u{E0041}\u{E007F}", "a⟨U+E0041⟩⟨U+E007F⟩"),
            ("a\u{200D}b a\u{200C}b", "a⟨U+200D⟩b a⟨U+200C⟩b"),
            ("a\u{FE0F}1\u{FE01}", "a⟨U+FE0F⟩1⟨U+FE01⟩"),
            ("\u{3164}\u{2800}", "⟨U+3164⟩⟨U+2800⟩"),
        ] {
            assert_eq!(visible(text), shown, "{text:?}");
        }
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        for text in [
            "a\tb\nc\r\n é 漢字 – ½",
            "שלום עולם",
            "السلام عليكم",
            "می\u{200C}خواهم",
            "क्\u{200D}ष",
            "👩\u{200D}👩\u{200D}👧 ❤\u{FE0F}\u{200D}🔥 👍🏽 1\u{FE0F}\u{20E3} ☺\u{FE0E}",
        ] {
            assert_eq!(visible(text), text);
        }
        // A joiner that another joiner follows joins nothing.
        assert_eq!(visible("ی\u{200C}\u{200C}خ").matches("⟨U+200C⟩").count(), 2);
    }

    #[test]
    fn a_piece_is_seen_with_what_is_around_it() {
        assert_eq!(piece("👩", "\u{200D}", "👧"), "\u{200D}");
        assert_eq!(piece("", "\u{200D}", "👧"), "⟨U+200D⟩");
    }

    #[test]
    fn ranges_are_in_their_order() {
        for ranges in [&UNSEEN[..], &JOINED, &EMOJI] {
            assert!(ranges.windows(2).all(|pair| pair[0].end() < pair[1].start()), "{ranges:?}");
        }
    }
}
