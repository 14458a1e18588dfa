//! Ranks texts by words, with BM25.

use std::collections::HashMap;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The indexes and scores of the `texts` with a word of `query`, best first; of equal ones the first.
pub(super) fn ranked(texts: &[String], query: &str) -> Vec<(usize, f64)> {
    let texts: Vec<HashMap<String, f64>> = texts.iter().map(|text| counts(text)).collect();
    let length = |counts: &HashMap<String, f64>| counts.values().sum::<f64>();
    let mean = texts.iter().map(length).sum::<f64>() / texts.len().max(1) as f64;
    let weight = |word: &str| {
        let having = texts.iter().filter(|counts| counts.contains_key(word)).count() as f64;
        ((texts.len() as f64 - having + 0.5) / (having + 0.5)).ln_1p()
    };
    let words: Vec<(String, f64)> =
        counts(query).into_keys().map(|word| (weight(&word), word)).map(|(weight, word)| (word, weight)).collect();
    let score = |counts: &HashMap<String, f64>| {
        let norm = K1 * (1.0 - B + B * length(counts) / mean);
        let scores = words.iter().filter_map(|(word, weight)| {
            let count = counts.get(word)?;
            Some(weight * count * (K1 + 1.0) / (count + norm))
        });
        scores.sum::<f64>()
    };
    let scored = texts.iter().map(score).enumerate();
    let mut ranked: Vec<(usize, f64)> = scored.filter(|(_, score)| *score > 0.0).collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    ranked
}

/// Words that say nothing of what is looked for.
const COMMON: [&str; 44] = [
    "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "did", "do", "does", "every", "for", "from",
    "has", "have", "how", "in", "is", "it", "its", "me", "my", "no", "of", "on", "one", "or", "out", "please", "that",
    "the", "there", "this", "to", "want", "was", "what", "when", "where", "which", "with",
];

/// The meaningful words of a text, in lower case and in the singular, and the number of occurrences.
fn counts(text: &str) -> HashMap<String, f64> {
    let mut counts = HashMap::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric()) {
        let word = word.to_lowercase();
        if word.len() > 1 && !COMMON.contains(&&*word) {
            *counts.entry(singular(&word).to_owned()).or_default() += 1.0;
        }
    }
    counts
}

/// A word without the ending of the plural, or of the third person.
fn singular(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with(['s', 'u', 'i']) => stem,
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_in_the_singular_and_without_those_that_say_nothing() {
        let words = |text: &str| {
            let mut words: Vec<String> = counts(text).into_keys().collect();
            words.sort_unstable();
            words
        };
        assert_eq!(words("Adds the TAGS of a note's status, by this class"), ["add", "class", "note", "status", "tag"]);
    }

    #[test]
    fn rare_words_count_more_and_long_texts_less() {
        let texts = ["a note", "a note that is long and says much of many things", "a link", "Link_to a Note"];
        let texts = texts.map(str::to_owned);
        let order = |query: &str| ranked(&texts, query).into_iter().map(|(index, _)| index).collect::<Vec<_>>();
        assert_eq!(order("note"), [0, 3, 1]);
        assert_eq!(order("LINK"), [2, 3]);
        assert_eq!(order("link note"), [3, 2, 0, 1]);
        assert_eq!((order("nothing"), order("")), (vec![], vec![]));
        assert_eq!(ranked(&[], "x"), []);
    }
}
