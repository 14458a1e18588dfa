//! The interface of an embedding model, wherever it runs.

use async_trait::async_trait;

use crate::vector::Vector;

/// The purpose of a text. Some models embed questions otherwise than notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be found.
    Passage,
    /// To find others.
    Query,
}

/// An embedding model.
#[async_trait]
pub trait EmbeddingModel: Send + Sync + std::fmt::Debug {
    /// How many of the next `texts` one call takes, of which there is at least one.
    ///
    /// # Errors
    /// When it takes none any more.
    fn takes(&self, texts: &[&str]) -> Result<usize, EmbedError>;

    /// The vectors of texts, in their order; as many as there are texts, all of the same number of dimensions.
    ///
    /// # Errors
    /// When it gives none.
    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vector>, EmbedError>;
}

/// Why there are no vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The model or its service fails now, and may not later.
    #[error("the embedding model gives no answer: {0}")]
    Unavailable(String),
    /// The answer is not what a model answers, or the service refuses: asking again does not help.
    #[error("the embedding model is of no use: {0}")]
    Refused(String),
    /// The texts are refused; fewer or shorter ones may not be.
    #[error("the embedding model refuses a text: {0}")]
    TooLong(String),
    /// The model or its service fails at these texts, and may not at others.
    #[error("the embedding model fails: {0}")]
    Failed(String),
    /// Another model was chosen while this one was asked.
    #[error("another embedding model was chosen meanwhile: the next sync embeds with that")]
    Superseded,
    /// The deployment's limit on what is sent is reached.
    #[error("the limit on what may be embedded is reached: {0}")]
    Limit(String),
}
