//! Cuts words into tokens.

use super::specification::{Model, Specification};
use super::vocabulary::Vocabulary;

/// Appends the ids of a word's tokens.
pub(super) fn cut(specification: &Specification, vocabulary: &Vocabulary, word: &str, ids: &mut Vec<u32>) {
    match &specification.model {
        Model::WordPiece { prefix, longest } => {
            let begin = ids.len();
            if word.chars().count() > *longest || !word_piece(vocabulary, prefix, word, ids) {
                ids.truncate(begin);
                ids.extend(specification.unknown);
            }
        }
        Model::Unigram { byte_fallback } => {
            unigram(vocabulary, specification.unknown, *byte_fallback, word, ids);
        }
    }
}

/// Takes the longest token, and then the longest that continues it. Returns whether all of the word is known.
fn word_piece(vocabulary: &Vocabulary, prefix: &str, word: &str, ids: &mut Vec<u32>) -> bool {
    let mut rest = word;
    let mut before = "";
    while !rest.is_empty() {
        let mut longest = None;
        vocabulary.beginnings(before, rest, |bytes, id| {
            if rest.is_char_boundary(bytes) {
                longest = Some((bytes, id));
            }
        });
        let Some((bytes, id)) = longest else { return false };
        ids.push(id);
        rest = rest.get(bytes..).unwrap_or_default();
        before = prefix;
    }
    true
}

/// The best way to a place: its score, where its last token begins, and that token, if it is known.
#[derive(Clone, Copy)]
struct Way {
    score: f64,
    from: usize,
    token: Option<u32>,
}

/// Takes the most probable tokens.
fn unigram(vocabulary: &Vocabulary, unknown: Option<u32>, byte_fallback: bool, word: &str, ids: &mut Vec<u32>) {
    let mut ways: Vec<Option<Way>> = vec![None; word.len() + 1];
    let offer = |ways: &mut Vec<Option<Way>>, to: usize, way: Way| {
        if let Some(best) = ways.get_mut(to)
            && best.is_none_or(|best| way.score > best.score)
        {
            *best = Some(way);
        }
    };
    for (from, character) in word.char_indices() {
        let before = if from == 0 { 0.0 } else { ways.get(from).copied().flatten().map_or(0.0, |way| way.score) };
        let mut is_known = false;
        vocabulary.beginnings("", word.get(from..).unwrap_or_default(), |bytes, id| {
            let to = from + bytes;
            if word.is_char_boundary(to) {
                is_known |= bytes == character.len_utf8();
                offer(&mut ways, to, Way { score: before + vocabulary.score(id), from, token: Some(id) });
            }
        });
        if !is_known {
            let to = from + character.len_utf8();
            offer(&mut ways, to, Way { score: before + vocabulary.unknown_score(), from, token: None });
        }
    }
    let mut found = Vec::new();
    let mut at = word.len();
    while at > 0
        && let Some(way) = ways.get(at).copied().flatten()
    {
        found.push((way.from..at, way.token));
        at = way.from;
    }
    let mut last_unknown = None;
    for (range, token) in found.into_iter().rev() {
        let end = range.end;
        match token {
            Some(id) => ids.push(id),
            None => {
                let bytes = word.get(range.clone()).unwrap_or_default().bytes();
                let bytes = bytes.map(|byte| vocabulary.id(&format!("<0x{byte:02X}>")));
                match bytes.collect::<Option<Vec<u32>>>().filter(|_| byte_fallback) {
                    Some(bytes) => ids.extend(bytes),
                    // Neighbouring unknown characters are one token.
                    None if last_unknown == Some(range.start) => last_unknown = Some(end),
                    None => {
                        ids.extend(unknown);
                        last_unknown = Some(end);
                    }
                }
            }
        }
    }
}
