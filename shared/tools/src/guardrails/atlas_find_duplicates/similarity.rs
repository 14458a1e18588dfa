//! The similarity of names by their words, which spaces, signs or capitals separate.

use atlas_ops::arguments::Exact;
use atlas_vault::fold;
use strsim::jaro_winkler;

use crate::guardrails::atlas_find_duplicates::rounded;
use crate::search::common_words::is_common;

/// Most words of an intent that are searched for.
const MAX_WORDS: usize = 8;
/// Bytes of a word that names are looked up by: `generator` also finds `generate`.
const STEM_CHARS: usize = 5;
/// The least similarity of words that count as alike.
const ALIKE: f64 = 0.85;

/// The intent.
pub(super) struct Intent {
    words: Vec<String>,
}

impl Intent {
    pub(super) fn of(text: &str) -> Self {
        let mut words = words(text);
        words.dedup();
        words.truncate(MAX_WORDS);
        Self { words }
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
        Exact::new(&self.words.join(" ")).ok()
    }

    /// The similarity of a name, from 0 to 1: the F1 score of common words, weighted by their similarity.
    pub(super) fn score(&self, name: &str) -> f64 {
        let others = words(name);
        if others.is_empty() || self.words.is_empty() {
            return 0.0;
        }
        let share = |of: &[String], among: &[String]| {
            let best = |word: &String| {
                let alike = among.iter().map(|other| jaro_winkler(word, other));
                alike.fold(0.0, f64::max)
            };
            of.iter().map(best).filter(|alike| *alike >= ALIKE).sum::<f64>() / of.len() as f64
        };
        let (found, meant) = (share(&self.words, &others), share(&others, &self.words));
        if found + meant == 0.0 { 0.0 } else { rounded(2.0 * found * meant / (found + meant)) }
    }
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
        let scores =
            ["uuid generator", "UuidGenerators", "generate_uuid", "uuid", "harbour"].map(|name| intent.score(name));
        assert!(scores.is_sorted_by(|one, other| one > other), "{scores:?}");
        assert!((scores[0] - 1.0).abs() < 1e-9 && scores[4] == 0.0);
    }
}
