//! Models of sentence-transformers whose network is of the BERT family, such as MiniLM, E5 and BGE: the vector of a token depends on the
//! tokens around it, and that of a text is pooled from them.
//!
//! # Layout
//! - `folder`: reads the files of a model; `frame`: the tokens that are put around each text
//! - `network`: computes vectors; only with the feature `contextual`, else `absent` stands there

#[cfg(not(feature = "contextual"))]
mod absent;
mod folder;
mod frame;
#[cfg(feature = "contextual")]
mod network;

use half::f16;

use crate::ModelError;
use crate::architecture::Architecture;
use crate::storable::{Limits, Storable};
use crate::tokenizer::Tokenizer;

#[cfg(not(feature = "contextual"))]
pub use absent::Network;
pub use folder::Files;
#[cfg(feature = "contextual")]
pub use network::Network;

/// Whether this program computes vectors of contextual models.
pub const RUNS: bool = cfg!(feature = "contextual");

/// The advice where it does not.
pub const REMEDY: &str = "this program is built without networks: use `atlas` of a release, deploy `search` with SEARCH=contextual, or add a static model";

/// A model of sentence-transformers.
#[derive(Debug)]
pub struct ContextualModel {
    tokenizer: Tokenizer,
    architecture: Architecture,
    dimensions: usize,
    /// The rows of the tokens, and then the numbers of the network.
    numbers: Vec<f16>,
}

impl ContextualModel {
    /// The model of a folder's files.
    ///
    /// # Errors
    /// When a file is damaged, they do not fit together, or the model needs what is not supported.
    pub fn from_files(files: &Files<'_>) -> Result<Self, ModelError> {
        folder::read(files)
    }

    /// Its network.
    #[must_use]
    pub const fn architecture(&self) -> &Architecture {
        &self.architecture
    }
}

impl Storable for ContextualModel {
    fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    fn limits(&self) -> Limits {
        Limits { tokens: self.architecture.tokens(), characters: usize::MAX }
    }

    fn network(&self) -> Option<&Architecture> {
        Some(&self.architecture)
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn rows(&self) -> usize {
        self.numbers.len().div_ceil(self.dimensions)
    }

    fn row(&self, row: usize) -> Vec<f16> {
        let numbers = self.numbers.iter().skip(row * self.dimensions).copied();
        // The last row is filled up.
        numbers.chain(std::iter::repeat(f16::ZERO)).take(self.dimensions).collect()
    }
}

#[cfg(test)]
#[cfg(feature = "contextual")]
mod tests;
