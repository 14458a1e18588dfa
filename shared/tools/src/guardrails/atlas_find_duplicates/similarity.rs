//! The similarity of names by their words, which spaces, signs or capitals separate.

use std::collections::{BTreeMap, HashSet};

use atlas_ops::arguments::Exact;
use atlas_vault::fold;
use strsim::jaro_winkler;

use crate::guardrails::atlas_find_duplicates::rounded;
use crate::guardrails::atlas_pack::named::{PLAIN, named};
use crate::search::common_words::is_common;

/// Most words of an intent that texts are searched for, …
const MAX_WORDS: usize = 8;
/// … and that names are compared with.
const MAX_COMPARED: usize = 64;
/// Bytes of a word that names are looked up by: `generator` also finds `generate`.
const STEM_CHARS: usize = 5;
/// The least similarity of words that count as alike.
const ALIKE: f64 = 0.85;
/// Words of so many characters are alike only if they are equal.
const SHORT: usize = 2;
/// The least similarity of a name that the intent has as a name.
const NAMED: f64 = 0.6;
/// The similarity of a name whose words are all in the intent, however long that is: by several words, …
const SEVERAL: f64 = 0.9;
/// … by some of several words, …
const SOME: f64 = 0.45;
/// … by the only word, where few things have that name, …
const RARE: f64 = 0.55;
/// … and by the only word, which may just be a word.
const PLAIN_WORD: f64 = 0.15;
/// What the word that the intent begins with is worth more than a later one.
const EARLY: f64 = 0.04;

/// The intent.
pub(super) struct Intent {
    words: Vec<String>,
    /// The names that it has, each with how sure that is.
    names: BTreeMap<String, f32>,
}

impl Intent {
    pub(super) fn of(text: &str) -> Self {
        let mut words = words(text);
        let mut seen = HashSet::new();
        words.retain(|word| seen.insert(word.clone()));
        words.truncate(MAX_COMPARED);
        let mut names = named(text);
        names.retain(|_, worth| *worth > PLAIN);
        Self { words, names }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The stems of its words.
    pub(super) fn stems(&self) -> impl Iterator<Item = String> {
        self.words.iter().map(|word| word.chars().take(STEM_CHARS).collect())
    }

    /// Its words as a query.
    pub(super) fn query(&self) -> Option<Exact<1000>> {
        let words: Vec<&str> = self.words.iter().take(MAX_WORDS).map(String::as_str).collect();
        Exact::new(&words.join(" ")).ok()
    }

    /// Whether it has `name` as names are written: as an identifier, in backticks, with `(` behind, or word by word.
    pub(super) fn names(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// The similarity of a name, from 0 to 1: the share of its words that the intent has. The share of the intent's words
    /// that it has decides between such names. A name of one word may be any word of the intent, unless `is_rare`: few
    /// things are called so.
    pub(super) fn score(&self, name: &str, is_rare: bool) -> f64 {
        let others = words(name);
        if others.is_empty() || self.words.is_empty() {
            return 0.0;
        }
        // Of each word how much the most similar one of the other side is like it.
        let (mut here, mut there) = (vec![0.0; self.words.len()], vec![0.0; others.len()]);
        for (word, here) in self.words.iter().zip(&mut here) {
            for (other, there) in others.iter().zip(&mut there) {
                let alike = alike(word, other);
                (*here, *there) = (f64::max(*here, alike), f64::max(*there, alike));
            }
        }
        let share = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let (found, meant) = (share(&here), share(&there));
        let count = there.iter().filter(|alike| **alike > 0.0).count();
        let place = others.first().and_then(|only| self.words.iter().position(|word| word == only));
        let least = match (others.len(), count, place) {
            (1, _, Some(place)) if is_rare => RARE + EARLY / (place + 1) as f64,
            (1, ..) => PLAIN_WORD,
            (all, count, _) if count < all => SOME,
            _ => SEVERAL,
        };
        let score = meant * (least + (1.0 - least) * found);
        rounded(if self.names(name) { score.max(NAMED) } else { score })
    }
}

/// The similarity of two words; none if they are not alike.
fn alike(one: &str, other: &str) -> f64 {
    let is_short = |word: &str| word.chars().nth(SHORT).is_none();
    if one == other {
        return 1.0;
    }
    if is_short(one) || is_short(other) {
        return 0.0;
    }
    Some(jaro_winkler(one, other)).filter(|alike| *alike >= ALIKE).unwrap_or_default()
}

/// The words of a name, folded, without common ones unless there are no others.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before = None;
    let mut characters = name.chars().peekable();
    while let Some(one) = characters.next() {
        let begins = one.is_uppercase()
            && before.is_some_and(|before: char| {
                before.is_lowercase()
                    || before.is_numeric()
                    // `HTTPServer` is `HTTP` and `Server`.
                    || before.is_uppercase() && characters.peek().is_some_and(|next| next.is_lowercase())
            });
        if (begins || !one.is_alphanumeric()) && !word.is_empty() {
            words.push(fold(&word));
            word.clear();
        }
        if one.is_alphanumeric() {
            word.push(one);
        }
        before = Some(one);
    }
    if !word.is_empty() {
        words.push(fold(&word));
    }
    let rare: Vec<String> = words.iter().filter(|word| !is_common(word)).cloned().collect();
    if rare.is_empty() { words } else { rare }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_words_however_they_are_parted() {
        for (name, expected) in [
            ("UuidGenerator", "uuid generator"),
            ("parse_http_header", "parse http header"),
            ("HTTPServer2Go", "http server2 go"),
            ("the tide of the sea", "tide sea"),
            ("The", "the"),
            ("kebab-case/name.md", "kebab case name md"),
            ("…", ""),
        ] {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn what_is_more_alike_scores_more() {
        let intent = Intent::of("UuidGenerator");
        let scores = ["uuid generator", "UuidGenerators", "generate_uuid", "uuid", "harbour"]
            .map(|name| intent.score(name, false));
        assert!(scores.is_sorted_by(|one, other| one > other), "{scores:?}");
        assert!((scores[0] - 1.0).abs() < 1e-9 && scores[4] == 0.0);
    }

    #[test]
    fn a_name_in_a_long_intent_is_found_and_its_other_words_are_not_taken_for_names() {
        let intent =
            Intent::of("debounce a handler so that input events fire once per interval, as in `tick` of makeTimer");
        let score = |name: &str| intent.score(name, true);
        assert!(score("debounce") > score("handler") && score("handler") > RARE, "{}", score("debounce"));
        // Beyond the words that texts are searched for.
        assert!(score("interval") > RARE);
        for named in ["tick", "makeTimer"] {
            assert!(intent.score(named, false) >= NAMED, "{named}");
        }
        assert!(score("handle_input_events") > score("debounce") && score("debounce") > score("input_size"));
        for plain in ["input", "handlers", "once"] {
            assert!(intent.score(plain, false) < 0.3, "{plain} {}", intent.score(plain, false));
        }
    }

    #[test]
    fn words_of_one_letter_or_two_are_alike_only_if_they_are_equal() {
        let score = |intent: &str, name: &str| Intent::of(intent).score(name, true);
        assert!(score("C++", "ci") == 0.0 && score("an id", "ids") == 0.0);
        assert!(score("C++", "C") > 0.9 && score("user id", "id_of_user") > 0.9);
    }
}
