//! Embeddings: texts as vectors, of which near ones mean similar things. Pure: models are bytes, and who calls reads them.
//!
//! # Layout
//! - [`model`]: what any model does
//! - [`tokenizer`]: cuts text into the tokens of a model, as its `tokenizer.json` says
//! - [`static_model`]: Model2Vec's format, where a vector is the mean of its tokens' rows; [`stored`]: such a model as one object whose
//!   rows are read by range
//! - [`architecture`]: a network; [`storable`]: what a stored model must tell
//! - [`contextual`]: models of sentence-transformers, of the BERT family; the feature of that name runs them
//! - [`passages`]: the pieces of a note that are embedded
//! - [`vector`]: vectors, and their quantised forms: a bit, or a byte, for each dimension; [`estimate`]: what a bit for each says of an angle;
//!   [`clusters`]: those that are near each other

pub mod architecture;
pub mod clusters;
pub mod contextual;
pub mod estimate;
pub mod model;
pub mod passages;
pub mod static_model;
pub mod storable;
pub mod stored;
pub mod tokenizer;
pub mod vector;

pub use contextual::ContextualModel;
pub use model::{EmbedError, EmbeddingModel, Purpose};
pub use passages::{Passage, passages};
pub use static_model::StaticModel;
pub use stored::StoredModel;
pub use vector::{Code, Row, Vector};

/// Why a model cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A file of it is damaged or of another format.
    #[error("{file}: {reason}")]
    Damaged {
        /// The file, or the part of the object.
        file: &'static str,
        /// The reason.
        reason: String,
    },
    /// It is sound, and needs what this program does not have.
    #[error(
        "{what} is not supported: take a model of Model2Vec, or of sentence-transformers and the BERT family, whose tokenizer is WordPiece, Unigram or SentencePiece's BPE"
    )]
    Unsupported {
        /// The unsupported part.
        what: String,
    },
    /// It is sound, and this program was built without the code for it.
    #[error("{0}")]
    Absent(&'static str),
}

impl ModelError {
    pub(crate) fn damaged(file: &'static str, reason: impl ToString) -> Self {
        Self::Damaged { file, reason: reason.to_string() }
    }
}
