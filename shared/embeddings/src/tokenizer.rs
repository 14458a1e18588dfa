//! Cuts text into tokens, as the `tokenizer.json` of a model says. Of that format it knows what models of Model2Vec and of the BERT
//! family use: WordPiece, Unigram and the byte pair encoding of SentencePiece, with the usual steps before.
//!
//! # Layout
//! - [`specification`]: what `tokenizer.json` says, which is also how a stored model has it
//! - `normalizer`: changes the text first; `precompiled`: by SentencePiece's tables
//! - `splitter`: cuts it into words
//! - `model`: cuts words into tokens of the vocabulary; [`vocabulary`]: the tokens and their ids

mod model;
mod normalizer;
mod precompiled;
pub mod specification;
mod splitter;
pub mod vocabulary;

use crate::ModelError;
use normalizer::Normalizer;
use specification::Specification;
use vocabulary::Vocabulary;

/// Longest text that is cut, in bytes. The rest of a longer one is ignored.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// A tokenizer.
#[derive(Debug)]
pub struct Tokenizer {
    specification: Specification,
    normalizer: Normalizer,
    vocabulary: Vocabulary,
}

impl Tokenizer {
    /// The tokenizer of a `tokenizer.json`.
    ///
    /// # Errors
    /// When the file is damaged, or needs what is not supported.
    pub fn from_json(json: &[u8]) -> Result<Self, ModelError> {
        let (specification, tokens) = specification::read(json)?;
        Self::new(specification, Vocabulary::new(tokens)?)
    }

    /// The tokenizer of a specification and its vocabulary.
    ///
    /// # Errors
    /// When it needs what is not supported.
    pub fn new(specification: Specification, vocabulary: Vocabulary) -> Result<Self, ModelError> {
        let normalizer = Normalizer::new(&specification.normalizer)?;
        Ok(Self { specification, normalizer, vocabulary })
    }

    /// Its steps.
    #[must_use]
    pub const fn specification(&self) -> &Specification {
        &self.specification
    }

    /// Its tokens.
    #[must_use]
    pub const fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The ids of the first `most` tokens of a text, without those that stand for unknown ones.
    #[must_use]
    pub fn ids(&self, text: &str, most: usize) -> Vec<u32> {
        let mut ids = self.all_ids(text, most);
        ids.retain(|id| Some(*id) != self.specification.unknown);
        ids
    }

    /// The ids of the first `most` tokens of a text.
    #[must_use]
    pub fn all_ids(&self, text: &str, most: usize) -> Vec<u32> {
        let text = text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or(text);
        let mut ids = Vec::new();
        let mut rest = text;
        let mut is_first = true;
        // Added tokens are found in the text as it is written.
        while !rest.is_empty() && ids.len() < most {
            let next = self.specification.added.iter().filter_map(|added| {
                rest.find(added.content.as_str()).map(|at| (at, std::cmp::Reverse(added.content.len()), added))
            });
            let next = next.min_by_key(|(at, length, _)| (*at, *length));
            let end = next.map_or(rest.len(), |(at, ..)| at);
            let (before, after) = rest.split_at(end);
            self.add(before, is_first, &mut ids);
            rest = after;
            is_first = false;
            if let Some((.., added)) = next {
                ids.push(added.id);
                rest = rest.get(added.content.len()..).unwrap_or_default();
            }
        }
        ids.truncate(most);
        ids
    }

    fn add(&self, text: &str, is_first: bool, ids: &mut Vec<u32>) {
        if text.is_empty() {
            return;
        }
        let normal = self.normalizer.apply(text);
        splitter::split(&self.specification.splitters, &normal, is_first, &mut |word| {
            model::cut(&self.specification, &self.vocabulary, word, ids);
        });
    }
}
