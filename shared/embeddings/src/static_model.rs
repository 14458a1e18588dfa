//! Models in the format of [Model2Vec](https://github.com/MinishLab/model2vec): a row of numbers for each token. The vector of a text is
//! the mean of its tokens' rows.

use half::{bf16, f16};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::Deserialize;

use crate::ModelError;
use crate::architecture::Architecture;
use crate::storable::{Limits, Storable};
use crate::tokenizer::Tokenizer;
use crate::vector::MAX_DIMENSIONS;

const FILE: &str = "model.safetensors";
/// Most tokens of a text, where the model says nothing.
const MAX_LENGTH: usize = 512;
/// Most tokens of a text, whatever the model says.
const LONGEST: usize = 65_536;

/// A model of Model2Vec.
#[derive(Debug)]
pub struct StaticModel {
    tokenizer: Tokenizer,
    dimensions: usize,
    rows: Vec<f32>,
    /// By token: its row; empty if they have the same numbers.
    mapping: Vec<usize>,
    /// By token; empty if all weigh 1.
    weights: Vec<f32>,
    limits: Limits,
}

impl StaticModel {
    /// The model of the files `tokenizer.json`, `model.safetensors` and `config.json`. Whether the configuration wants vectors of length 1
    /// does not matter: all vectors here have.
    ///
    /// # Errors
    /// When a file is damaged, they do not fit together, or the tokenizer needs what is not supported.
    pub fn from_files(tokenizer: &[u8], tensors: &[u8], config: &[u8]) -> Result<Self, ModelError> {
        #[derive(Deserialize)]
        struct Config {
            #[serde(default = "some")]
            max_length: Option<usize>,
        }
        fn some() -> Option<usize> {
            Some(MAX_LENGTH)
        }

        let damaged = |reason: &str| ModelError::damaged(FILE, reason);
        let config: Config =
            serde_json::from_slice(config).map_err(|error| ModelError::damaged("config.json", error))?;
        let tokenizer = Tokenizer::from_json(tokenizer)?;
        let tensors = SafeTensors::deserialize(tensors).map_err(|error| ModelError::damaged(FILE, error))?;
        let table = tensors.tensor("embeddings").or_else(|_| tensors.tensor("embedding.weight"));
        let table = table.map_err(|_| damaged("it has no tensor `embeddings`"))?;
        let &[count, dimensions] = table.shape() else { return Err(damaged("`embeddings` is not a matrix")) };
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) || count == 0 {
            return Err(damaged("`embeddings` has no rows, or too many dimensions"));
        }
        let rows = numbers(&table)?;
        let optional = |name: &str| tensors.tensor(name).ok().map(|tensor| numbers(&tensor)).transpose();
        let weights = optional("weights")?.unwrap_or_default();
        let mapping = optional("mapping")?.unwrap_or_default();
        let mapping: Vec<usize> = mapping.into_iter().map(|row| row as usize).collect();
        let tokens = tokenizer.vocabulary().len();
        if (mapping.is_empty() && count != tokens)
            || (!mapping.is_empty() && (mapping.len() != tokens || mapping.iter().any(|row| *row >= count)))
            || (!weights.is_empty() && weights.len() != tokens)
        {
            return Err(damaged("it does not have a row for each token of tokenizer.json"));
        }
        if !rows.iter().chain(&weights).all(|number| number.is_finite()) {
            return Err(damaged("a number in it is infinite or none"));
        }
        let most = config.max_length.map_or(LONGEST, |most| most.min(LONGEST));
        let characters = most.saturating_mul(tokenizer.specification().median_length.max(1));
        let limits = Limits { tokens: most, characters };
        Ok(Self { tokenizer, dimensions, rows, mapping, weights, limits })
    }

    /// The row of a token, with its weight.
    fn weighted(&self, token: usize) -> impl Iterator<Item = f32> + '_ {
        let row = if self.mapping.is_empty() { Some(token) } else { self.mapping.get(token).copied() };
        let at = row.map(|row| row * self.dimensions);
        let row = at.and_then(|at| self.rows.get(at..at + self.dimensions)).unwrap_or_default();
        let weight = if self.weights.is_empty() { 1.0 } else { self.weights.get(token).copied().unwrap_or(0.0) };
        row.iter().map(move |number| number * weight)
    }

    /// The mean of the rows of the text's tokens, which is not scaled to length 1; zeros for a text without tokens.
    #[must_use]
    pub fn mean(&self, text: &str) -> Vec<f32> {
        let ids = self.tokenizer.ids(self.limits.cut(text), self.limits.tokens);
        let mut sum = vec![0.0f64; self.dimensions];
        for id in &ids {
            for (sum, number) in sum.iter_mut().zip(self.weighted(*id as usize)) {
                *sum += f64::from(number);
            }
        }
        sum.into_iter().map(|sum| (sum / ids.len().max(1) as f64) as f32).collect()
    }
}

impl Storable for StaticModel {
    fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn network(&self) -> Option<&Architecture> {
        None
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn rows(&self) -> usize {
        self.tokenizer.vocabulary().len()
    }

    fn row(&self, row: usize) -> Vec<f16> {
        self.weighted(row).map(f16::from_f32).collect()
    }
}

/// The numbers of a tensor.
pub(crate) fn numbers(tensor: &TensorView<'_>) -> Result<Vec<f32>, ModelError> {
    let bytes = tensor.data();
    let (two, four, eight) = (bytes.as_chunks::<2>().0, bytes.as_chunks::<4>().0, bytes.as_chunks::<8>().0);
    Ok(match tensor.dtype() {
        Dtype::F64 => eight.iter().map(|bytes| f64::from_le_bytes(*bytes) as f32).collect(),
        Dtype::F32 => four.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        Dtype::F16 => two.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect(),
        Dtype::BF16 => two.iter().map(|bytes| bf16::from_le_bytes(*bytes).to_f32()).collect(),
        Dtype::I8 => bytes.iter().map(|byte| f32::from(byte.cast_signed())).collect(),
        Dtype::I32 => four.iter().map(|bytes| i32::from_le_bytes(*bytes) as f32).collect(),
        Dtype::I64 => eight.iter().map(|bytes| i64::from_le_bytes(*bytes) as f32).collect(),
        other => return Err(ModelError::Unsupported { what: format!("a tensor of {other:?}") }),
    })
}
