//! A sieve for the words of texts: it drops most that are none of the searched ones, before they are folded and looked up.

/// Lengths beyond this count as this.
const MAX_LENGTH: usize = 63;

/// For each first byte the lengths, in bytes, of searched words.
pub(crate) struct Sieve(Box<[u64; 256]>);

impl Default for Sieve {
    fn default() -> Self {
        Self(Box::new([0; 256]))
    }
}

impl Sieve {
    /// Lets a folded word pass; with `is_prefix` also all that it begins.
    pub(crate) fn add(&mut self, word: &str, is_prefix: bool) {
        let Some(lengths) = word.bytes().next().and_then(|first| self.0.get_mut(usize::from(first))) else { return };
        let length = word.len().min(MAX_LENGTH);
        *lengths |= if is_prefix { u64::MAX << length } else { 1 << length };
    }

    /// Whether a word as it is written may be one of them.
    pub(crate) fn may_pass(&self, written: &str) -> bool {
        let Some(first) = written.bytes().next() else { return false };
        let lengths = self.0.get(usize::from(first.to_ascii_lowercase())).copied().unwrap_or_default();
        // Folding a word of ASCII keeps its length, as far as words are not cut.
        lengths & (1 << written.len().min(MAX_LENGTH)) != 0 || !written.is_ascii()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlas_vault::words::words;
    use proptest::prelude::*;

    #[test]
    fn most_other_words_are_dropped() {
        let mut sieve = Sieve::default();
        sieve.add("tide", false);
        sieve.add("harb", true);
        for (word, passes) in [("TIDE", true), ("time", true), ("tides", false), ("side", false)] {
            assert_eq!(sieve.may_pass(word), passes, "{word}");
        }
        for (word, passes) in [("Harbour", true), ("harb", true), ("har", false), ("École", true), ("", false)] {
            assert_eq!(sieve.may_pass(word), passes, "{word}");
        }
    }

    proptest! {
        #[test]
        fn no_searched_word_is_dropped(text in "([a-cA-C0-9' ’]{0,70}|[éÉßſ\u{212A}]{0,3}|[日本の潮]{0,5}|\\PC{0,4}){0,6}", cut in 1usize..5) {
            for word in words(&text) {
                let (mut exact, mut prefix) = (Sieve::default(), Sieve::default());
                exact.add(&word.folded, false);
                let end = word.folded.ceil_char_boundary(cut.min(word.folded.len()));
                prefix.add(&word.folded[..end], true);
                let written = &text[word.range.clone()];
                prop_assert!(exact.may_pass(written) && prefix.may_pass(written), "{}", written);
            }
        }
    }
}
