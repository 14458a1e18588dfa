//! The tokens of a model and their ids: a map of fst, which is read without decoding.

use bytes::Bytes;
use fst::raw::{Fst, Node, Output};

use super::specification::Tokens;
use crate::ModelError;

/// The penalty of an unknown character, below the least probable token.
const UNKNOWN_PENALTY: f64 = 10.0;

/// A vocabulary.
#[derive(Debug)]
pub struct Vocabulary {
    ids: fst::Map<Bytes>,
    /// By id; empty if tokens have no probabilities.
    scores: Vec<f32>,
    least: f64,
}

impl Vocabulary {
    pub(super) fn new(tokens: Tokens) -> Result<Self, ModelError> {
        let Tokens { mut ids, scores } = tokens;
        ids.sort_unstable();
        // Of two equal tokens the tokenizers of others know the last.
        ids.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = next.1;
            }
            is_same
        });
        let damaged = |error: fst::Error| ModelError::damaged("tokenizer.json", error);
        let mut builder = fst::MapBuilder::memory();
        for (token, id) in &ids {
            builder.insert(token, u64::from(*id)).map_err(damaged)?;
        }
        let bytes = builder.into_inner().map_err(damaged)?;
        Self::of_parts(bytes.into(), scores).map_err(|reason| ModelError::damaged("tokenizer.json", reason))
    }

    /// The vocabulary of an fst and of scores by id.
    pub(crate) fn of_parts(fst: Bytes, scores: Vec<f32>) -> Result<Self, String> {
        let ids = fst::Map::new(fst).map_err(|error| error.to_string())?;
        let least = scores.iter().map(|score| f64::from(*score)).fold(f64::INFINITY, f64::min);
        Ok(Self { ids, scores, least })
    }

    /// The bytes of its fst.
    pub(crate) fn fst(&self) -> &[u8] {
        self.ids.as_fst().as_bytes()
    }

    /// Its scores by id.
    pub(crate) fn scores(&self) -> &[f32] {
        &self.scores
    }

    /// The number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether it has no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The id of a token.
    #[must_use]
    pub fn id(&self, token: &str) -> Option<u32> {
        self.ids.get(token).and_then(|id| u32::try_from(id).ok())
    }

    /// Calls `each` for every token of which `text` begins with the part after `prefix`, and which begins with `prefix`: with the bytes of
    /// that part, ascending, and the id.
    pub(super) fn beginnings(&self, prefix: &str, text: &str, mut each: impl FnMut(usize, u32)) {
        let fst = self.ids.as_fst();
        let mut node = fst.root();
        let mut sum = Output::zero();
        for byte in prefix.bytes() {
            match step(fst, &node, byte) {
                Some((next, output)) => (node, sum) = (next, sum.cat(output)),
                None => return,
            }
        }
        for (at, byte) in text.bytes().enumerate() {
            let Some((next, output)) = step(fst, &node, byte) else { return };
            (node, sum) = (next, sum.cat(output));
            if node.is_final()
                && let Ok(id) = u32::try_from(sum.cat(node.final_output()).value())
            {
                each(at + 1, id);
            }
        }
    }

    /// The logarithm of a token's probability.
    pub(super) fn score(&self, id: u32) -> f64 {
        self.scores.get(id as usize).map_or(self.unknown_score(), |score| f64::from(*score))
    }

    /// The token of an unknown character.
    pub(super) fn unknown_score(&self) -> f64 {
        self.least - UNKNOWN_PENALTY
    }
}

fn step<'f>(fst: &'f Fst<Bytes>, node: &Node<'f>, byte: u8) -> Option<(Node<'f>, Output)> {
    let transition = node.transition(node.find_input(byte)?);
    Some((fst.node(transition.addr), transition.out))
}
