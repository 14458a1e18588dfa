//! The pieces of a note that are embedded: its sections, long ones in several pieces, short ones together with the next.

use atlas_vault::VaultPath;

/// A piece gets further lines up to this many bytes, …
const FULL: usize = 1_200;
/// … and further sections until it has this many.
const SHORT: usize = 300;
/// Most bytes of a piece that are embedded: of a longer line the beginning, …
const MAX_BYTES: usize = 4_096;
/// … and of a heading above.
const MAX_HEADING_BYTES: usize = 200;
/// Most pieces of a note; what stands after them is not embedded.
pub const MAX_PASSAGES: usize = 1_024;

/// A piece of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its first line, counted from 0.
    pub line: u32,
    /// Its number of lines.
    pub lines: u32,
    /// The text to embed: the note's name, the heading above, and the lines.
    pub text: String,
}

impl Passage {
    /// The identity of its vector: a hash of the text.
    #[must_use]
    pub fn key(&self) -> u64 {
        key(&self.text)
    }
}

/// The identity of the vector of a text: the first 8 bytes of its SHA-256.
#[must_use]
pub fn key(text: &str) -> u64 {
    use sha2::Digest as _;
    let hash: [u8; 32] = sha2::Sha256::digest(text.as_bytes()).into();
    hash.iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte))
}

/// A piece under construction: where it begins, the heading that was above there, and its text.
struct Piece {
    line: usize,
    heading: String,
    text: String,
    has_words: bool,
}

/// The passages of the note at `path`, in order. Properties, and lines without letters or digits alone, are none.
#[must_use]
pub fn passages(path: &VaultPath, text: &str) -> Vec<Passage> {
    let note = atlas_vault::parse(text);
    let name = path.file_name();
    let name = name.strip_suffix(".md").unwrap_or(name);
    let mut headings = note.headings.iter().map(|heading| (heading.line as usize, heading.text.trim())).peekable();
    let first = properties_end(text);
    let mut found = Vec::new();
    let mut heading = "";
    let mut open: Option<Piece> = None;
    let mut lines = 0;
    for (at, line) in text.lines().enumerate() {
        lines = at + 1;
        let above = heading;
        let begins = headings.next_if(|(line, _)| *line <= at).map(|(_, text)| heading = text).is_some();
        if at < first {
            continue;
        }
        let is_full = |piece: &Piece| {
            piece.has_words && (piece.text.len() + line.len() > FULL || (begins && piece.text.len() >= SHORT))
        };
        if let Some(piece) = open.take_if(|piece| is_full(piece)) {
            found.extend(piece.close(name, at));
            if found.len() >= MAX_PASSAGES {
                return found;
            }
        }
        // A line without words does not begin a piece.
        let has_words = line.chars().any(char::is_alphanumeric);
        if open.is_none() && !has_words {
            continue;
        }
        let piece = open.get_or_insert_with(|| Piece {
            line: at,
            heading: if begins { String::new() } else { cut(above, MAX_HEADING_BYTES).to_owned() },
            text: String::new(),
            has_words: false,
        });
        piece.has_words |= has_words;
        if piece.text.len() < MAX_BYTES {
            piece.text.push_str(line.trim_end());
            piece.text.push('\n');
        }
    }
    found.extend(open.and_then(|piece| piece.close(name, lines)));
    found
}

impl Piece {
    fn close(self, name: &str, end: usize) -> Option<Passage> {
        if !self.has_words {
            return None;
        }
        let mut text = format!("{name}\n");
        if !self.heading.is_empty() {
            text.push_str(&self.heading);
            text.push('\n');
        }
        text.push_str(cut(self.text.trim_end(), MAX_BYTES));
        let (line, lines) = (u32::try_from(self.line).ok()?, u32::try_from(end - self.line).ok()?);
        Some(Passage { line, lines, text })
    }
}

/// The first `most` bytes of a text, without a part of a character.
#[must_use]
pub fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// The number of lines that properties take.
fn properties_end(text: &str) -> usize {
    let mut lines = text.lines();
    if lines.next().is_none_or(|line| line.trim_end() != "---") {
        return 0;
    }
    lines.position(|line| line.trim_end() == "---").map_or(0, |at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Vec<Passage> {
        passages(&VaultPath::parse("Places/Harbour.md").unwrap(), text)
    }

    #[test]
    fn short_sections_stand_together_and_long_ones_apart() {
        let long = "The tide turns at six. ".repeat(20);
        let text = format!("---\ntags: [a]\n---\n\nIntro.\n# One\n{long}\n{long}\n{long}\n## Two\nShort.\n");
        let found = of(&text);
        assert_eq!(
            found.iter().map(|passage| (passage.line, passage.lines)).collect::<Vec<_>>(),
            [(4, 4), (8, 1), (9, 2)]
        );
        assert!(found[0].text.starts_with("Harbour\nIntro.\n# One\n"));
        assert!(found[1].text.starts_with("Harbour\nOne\nThe tide"));
        assert!(!found[0].text.contains("tags"));
    }

    #[test]
    fn what_has_no_words_is_no_passage() {
        assert_eq!(of(""), []);
        assert_eq!(of("---\n---\n\n***\n"), []);
        assert_eq!(of("---\nnever closed").len(), 1);
        assert_eq!(of(&"word\n\n".repeat(1_000_000)).len(), MAX_PASSAGES);
    }

    #[test]
    fn equal_texts_have_equal_keys() {
        let (one, two) = (of("# A\nx"), of("# A\nx\n\n"));
        assert_eq!(one[0].key(), two[0].key());
        assert_ne!(one[0].key(), of("# A\ny")[0].key());
    }

    proptest! {
        #[test]
        fn passages_are_in_order_and_apart(text in "([a-z ]{0,40}|# [a-z]{1,9}|---|é{0,2000})(\n([a-z ]{0,400}|## [a-z]{1,9}|---|))*") {
            let found = of(&text);
            for pair in found.windows(2) {
                prop_assert!(pair[0].line + pair[0].lines <= pair[1].line);
            }
            for passage in &found {
                prop_assert!(passage.lines > 0 && (passage.line + passage.lines) as usize <= text.lines().count());
                prop_assert!(passage.text.len() <= MAX_BYTES + 2_000);
            }
        }
    }
}
