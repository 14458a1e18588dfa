//! Letters and emoji, which may be in the names of Dataview's fields.

use std::sync::LazyLock;

use regex::Regex;

/// An emoji at the start of a text: flags, keycaps, pictures with their skin tones and joined pictures.
static EMOJI: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let picture = r"\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\x{FE0F})?";
    let pattern =
        format!(r"^(?:\p{{Regional_Indicator}}{{2}}|[0-9#*]\x{{FE0F}}?\x{{20E3}}|{picture}(?:\x{{200D}}{picture})*)");
    Regex::new(&pattern).ok()
});
static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{L}$").ok());

/// How many bytes of an emoji `text` begins with; 0 if it begins with none.
pub(crate) fn prefix(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    let keycap = first.is_ascii() && text.as_bytes().get(1).is_some_and(|second| !second.is_ascii());
    if first.is_ascii() && !keycap {
        return 0;
    }
    EMOJI.as_ref().and_then(|emoji| emoji.find(text)).map_or(0, |found| found.len())
}

/// Whether Unicode calls it a letter.
pub(crate) fn is_letter(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_alphabetic();
    }
    let mut bytes = [0; 4];
    LETTER.as_ref().is_some_and(|letter| letter.is_match(char.encode_utf8(&mut bytes)))
}

/// Whether JavaScript calls it white space.
pub(crate) fn is_space(char: char) -> bool {
    (char.is_whitespace() && char != '\u{85}') || char == '\u{feff}'
}
