//! Cuts words into tokens.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

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
            let found = unigram(vocabulary, word);
            add(vocabulary, specification.unknown, *byte_fallback, word, found, ids);
        }
        Model::BytePairs { byte_fallback } => {
            let found = byte_pairs(vocabulary, word);
            add(vocabulary, specification.unknown, *byte_fallback, word, found, ids);
        }
    }
}

/// Appends the ids of tokens, each with its range in the word. Those without an id are tokens of their bytes, or unknown.
fn add(
    vocabulary: &Vocabulary,
    unknown: Option<u32>,
    byte_fallback: bool,
    word: &str,
    found: impl IntoIterator<Item = (Range<usize>, Option<u32>)>,
    ids: &mut Vec<u32>,
) {
    let mut last_unknown = None;
    for (range, token) in found {
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
fn unigram(vocabulary: &Vocabulary, word: &str) -> impl Iterator<Item = (Range<usize>, Option<u32>)> {
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
    found.into_iter().rev()
}

/// A piece of a word, between its neighbours.
struct Piece {
    begin: usize,
    end: usize,
    token: Option<u32>,
    before: Option<usize>,
    after: Option<usize>,
}

/// Two neighbours that are a token together: of the best score first, and then from the left.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    score: i64,
    left: Reverse<usize>,
    middle: usize,
    end: usize,
    token: u32,
}

/// Begins with single characters, and joins the two neighbours whose token has the best score, again and again.
fn byte_pairs(vocabulary: &Vocabulary, word: &str) -> impl Iterator<Item = (Range<usize>, Option<u32>)> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (begin, character) in word.char_indices() {
        let end = begin + character.len_utf8();
        let token = vocabulary.id(character.encode_utf8(&mut [0; 4]));
        let at = pieces.len();
        if let Some(last) = pieces.last_mut() {
            last.after = Some(at);
        }
        pieces.push(Piece { begin, end, token, before: at.checked_sub(1), after: None });
    }
    let pair = |pieces: &[Piece], left: Option<usize>| {
        let at = left?;
        let one = pieces.get(at)?;
        let other = pieces.get(one.after?)?;
        one.token.and(other.token)?;
        let token = vocabulary.id(word.get(one.begin..other.end)?)?;
        let score = vocabulary.score(token) as i64;
        Some(Pair { score, left: Reverse(at), middle: one.end, end: other.end, token })
    };
    let mut pairs: BinaryHeap<Pair> = (0..pieces.len()).filter_map(|left| pair(&pieces, Some(left))).collect();
    while let Some(Pair { left: Reverse(left), middle, end, token, .. }) = pairs.pop() {
        let Some(one) = pieces.get(left).filter(|one| one.end == middle) else { continue };
        let Some((at, other)) = one.after.and_then(|at| Some((at, pieces.get(at)?))) else { continue };
        // One of them may have been joined with another meanwhile.
        if other.end != end {
            continue;
        }
        let (before, after) = (one.before, other.after);
        if let Some(other) = pieces.get_mut(at) {
            other.end = other.begin;
        }
        if let Some(one) = pieces.get_mut(left) {
            (one.end, one.token, one.after) = (end, Some(token), after);
        }
        if let Some(next) = after.and_then(|after| pieces.get_mut(after)) {
            next.before = Some(left);
        }
        pairs.extend(pair(&pieces, before));
        pairs.extend(pair(&pieces, Some(left)));
    }
    pieces.into_iter().filter(|piece| piece.end > piece.begin).map(|piece| (piece.begin..piece.end, piece.token))
}
