//! The order of texts, as JavaScript's `localeCompare` has it in English: first by letters without accents and case, then by
//! accents, then small letters before large ones. Signs come before digits, and digits before letters.

use std::cmp::Ordering;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Signs in their order.
const SIGNS: &str = "\t\n\u{b}\u{c}\r\u{85}\u{2028}\u{2029} _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~";

/// Compares two texts.
#[must_use]
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    if left == right {
        return Ordering::Equal;
    }
    if left.is_ascii() && right.is_ascii() { of_ascii(left, right) } else { of_any(left, right) }
}

/// Of each ASCII character where it stands among all; [`None`] for those that are ignored.
static ASCII: LazyLock<[Option<(u8, u32)>; 128]> = LazyLock::new(|| {
    std::array::from_fn(|byte| {
        let char = char::from(u8::try_from(byte).unwrap_or_default());
        (!ignored(char)).then(|| weight(char))
    })
});

/// [`compare`] of texts that have no accents.
fn of_ascii(left: &str, right: &str) -> Ordering {
    let primary = weights(left).cmp(weights(right));
    primary.then_with(|| cases(left).cmp(cases(right)))
}

fn weights(ascii: &str) -> impl Iterator<Item = (u8, u32)> + '_ {
    ascii.bytes().filter_map(|byte| ASCII.get(usize::from(byte)).copied().flatten())
}

fn of_any(left: &str, right: &str) -> Ordering {
    let primary = letters(left).map(weight).cmp(letters(right).map(weight));
    primary.then_with(|| accents(left).cmp(accents(right))).then_with(|| cases(left).cmp(cases(right)))
}

/// The characters that count first: without accents, and without what cannot be seen.
fn letters(text: &str) -> impl Iterator<Item = char> + '_ {
    text.nfd().filter(|char| !is_combining_mark(*char) && !ignored(*char))
}

/// Every letter's accents, in order: a letter without one gives 0.
fn accents(text: &str) -> impl Iterator<Item = u32> + '_ {
    text.nfd().filter(|char| !ignored(*char)).map(|char| if is_combining_mark(char) { u32::from(char) } else { 0 })
}

fn cases(text: &str) -> impl Iterator<Item = bool> + '_ {
    letters(text).map(char::is_uppercase)
}

/// Control characters, and marks that only join or direct text.
fn ignored(char: char) -> bool {
    let sign = matches!(char, '\t'..='\r' | '\u{85}');
    (char.is_control() && !sign)
        || matches!(char, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}')
}

/// Where a character stands among all.
fn weight(char: char) -> (u8, u32) {
    if char.is_ascii_digit() {
        return (3, u32::from(char));
    }
    if char.is_ascii_alphabetic() {
        return (4, u32::from(char.to_ascii_lowercase()));
    }
    if let Some(at) = SIGNS.chars().position(|sign| sign == char) {
        return (0, u32::try_from(at).unwrap_or(u32::MAX));
    }
    let group = match char {
        '$' | '¢'..='¥' | '\u{20a0}'..='\u{20cf}' => 2,
        _ if char.is_alphabetic() => 4,
        _ => 1,
    };
    (group, char.to_lowercase().next().map_or(0, u32::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn plain_texts_compare_as_all_do(left in "[a-cA-C0-2 _$~\\x00-\\x7f]{0,8}", right in "[a-cA-C0-2 _$~\\x00-\\x7f]{0,8}") {
            prop_assert_eq!(of_ascii(&left, &right), of_any(&left, &right));
        }
    }
}
