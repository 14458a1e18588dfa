//! The remaining room of a pack.

/// The remaining characters and bytes, counted as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) chars: usize,
    pub(crate) bytes: usize,
}

/// The JSON around the fields of a file, and around the pack: names, quotes, commas.
const AROUND_FILE: usize = r#"{"path":"","reason":"","content":""},"#.len();
const AROUND_PACK: usize = r#"{"task":"","files":[]}"#.len();
/// Marks the cut of a text.
const CUT: char = '…';

impl Room {
    /// The room of a pack for `task`.
    pub(crate) fn of(task: &str, chars: usize, bytes: usize) -> Self {
        let whole = Self { chars, bytes };
        whole.take(AROUND_PACK, AROUND_PACK).map_or(Self { chars: 0, bytes: 0 }, |room| room.less(task))
    }

    /// The room for the content of a file.
    pub(crate) fn after(self, path: &str, reason: &str) -> Option<Self> {
        let left = self.take(AROUND_FILE, AROUND_FILE)?.less(path).less(reason);
        (left.chars > 0 && left.bytes > 0).then_some(left)
    }

    /// The room left after `text`; zero if it is too long.
    pub(crate) fn less(self, text: &str) -> Self {
        self.with(text).unwrap_or(Self { chars: 0, bytes: 0 })
    }

    /// Whether `text` fits.
    pub(crate) fn fits(self, text: &str) -> bool {
        self.with(text).is_some()
    }

    /// The room left after `text`, if that fits.
    pub(crate) fn with(self, text: &str) -> Option<Self> {
        let (chars, bytes) = size(text);
        self.take(chars, bytes)
    }

    /// The room, of at most so many characters.
    pub(crate) fn at_most(self, chars: usize) -> Self {
        Self { chars: self.chars.min(chars), ..self }
    }

    /// The characters of a pack for `task` besides the content of its first file.
    pub(crate) fn around(task: &str, path: &str, reason: &str) -> usize {
        [task, path, reason].map(|text| size(text).0).iter().sum::<usize>() + AROUND_PACK + AROUND_FILE
    }

    /// `text`, cut to the room.
    pub(crate) fn cut(self, text: &str) -> String {
        let (mut chars, mut bytes) = (0, 0);
        // The cut if it does not fit.
        let mut end = 0;
        for (at, one) in text.char_indices() {
            let cost = cost(one);
            (chars, bytes) = (chars + cost.0, bytes + cost.1);
            if chars > self.chars || bytes > self.bytes {
                return format!("{}{CUT}", text.get(..end).unwrap_or_default());
            }
            if chars < self.chars && bytes + CUT.len_utf8() <= self.bytes {
                end = at + one.len_utf8();
            }
        }
        text.to_owned()
    }

    fn take(self, chars: usize, bytes: usize) -> Option<Self> {
        Some(Self { chars: self.chars.checked_sub(chars)?, bytes: self.bytes.checked_sub(bytes)? })
    }
}

/// Characters and bytes of a text within JSON.
fn size(text: &str) -> (usize, usize) {
    text.chars().map(cost).fold((0, 0), |sum, cost| (sum.0 + cost.0, sum.1 + cost.1))
}

/// Characters and bytes of a character within JSON.
const fn cost(one: char) -> (usize, usize) {
    match one {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => (2, 2),
        '\0'..' ' => (6, 6),
        one => (1, one.len_utf8()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn what_is_counted_is_what_json_takes(text in "[\\x00-\\x7f]{0,40}|\\PC{0,20}") {
            let written = json!(text).to_string();
            let left = Room { chars: 1000, bytes: 1000 }.less(&text);
            prop_assert_eq!((1000 - left.chars, 1000 - left.bytes), (written.chars().count() - 2, written.len() - 2));
        }

        #[test]
        fn a_cut_text_fits_and_fills(text in "[a\"é潮\\n]{0,30}", chars in 1usize..40, bytes in 3usize..60) {
            let room = Room { chars, bytes };
            let cut = room.cut(&text);
            let written = json!(cut).to_string();
            prop_assert!(written.chars().count() - 2 <= chars && written.len() - 2 <= bytes, "{}", cut);
            let is_all = json!(text).to_string();
            prop_assert_eq!(cut == text, is_all.chars().count() - 2 <= chars && is_all.len() - 2 <= bytes);
        }
    }
}
