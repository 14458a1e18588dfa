//! What a model must tell to be written as an object.

use half::f16;

use crate::architecture::Architecture;
use crate::tokenizer::Tokenizer;

/// How much of a text counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most tokens.
    pub tokens: usize,
    /// Most characters.
    pub characters: usize,
}

impl Limits {
    /// The part of a text that counts.
    pub(crate) fn cut(self, text: &str) -> &str {
        match text.char_indices().nth(self.characters) {
            Some((at, _)) => text.get(..at).unwrap_or(text),
            None => text,
        }
    }
}

/// A model that can be written as an object.
pub trait Storable {
    /// Its tokenizer.
    fn tokenizer(&self) -> &Tokenizer;
    /// How much of a text counts.
    fn limits(&self) -> Limits;
    /// Its network, if it has one.
    fn network(&self) -> Option<&Architecture>;
    /// The number of dimensions of its vectors.
    fn dimensions(&self) -> usize;
    /// Its rows: one for each token, and behind them those of its network.
    fn rows(&self) -> usize;
    /// One of them.
    fn row(&self, row: usize) -> Vec<f16>;
}
