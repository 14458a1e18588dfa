//! A network of the BERT family, as the head of a stored model describes it.

use serde::{Deserialize, Serialize};

use crate::model::Purpose;
use crate::vector::MAX_DIMENSIONS;

/// Most layers, numbers of a layer's middle, and numbers in all.
const MAX_LAYERS: usize = 64;
const MAX_INTERMEDIATE: usize = 32_768;
const MAX_NUMBERS: u64 = 600_000_000;
/// Most tokens of a text, whatever the model says, with those around it.
pub(crate) const LONGEST: usize = 2_048;
/// Longest beginning of a text, in bytes.
const MAX_PREFIX: usize = 1_024;

/// A function between two matrices of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activation {
    /// GELU by the error function.
    #[serde(rename = "gelu")]
    Gelu,
    /// GELU by the hyperbolic tangent.
    #[serde(rename = "gelu_new", alias = "gelu_pytorch_tanh")]
    GeluTanh,
    /// The positive part.
    #[serde(rename = "relu")]
    Relu,
}

/// A way from the vectors of tokens to that of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// That of the first.
    Cls,
}

/// A network of the BERT family, and what it wants around a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Architecture {
    /// Its layers.
    pub layers: usize,
    /// Heads of attention of a layer.
    pub heads: usize,
    /// Numbers in the middle of a layer.
    pub intermediate: usize,
    /// Most tokens of a text, with those around it.
    pub positions: usize,
    /// What is added to a variance.
    pub epsilon: f32,
    /// The function in the middle of a layer.
    pub activation: Activation,
    /// How tokens become a text.
    pub pooling: Pooling,
    /// Whether text becomes lower case first.
    pub lowercase: bool,
    /// The tokens before each text.
    pub begin: Vec<u32>,
    /// The tokens after it.
    pub end: Vec<u32>,
    /// What questions begin with.
    pub query_prefix: String,
    /// What notes begin with.
    pub passage_prefix: String,
}

/// A tensor of a network, by what it is called, with its rows and columns. A vector is one row.
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl Architecture {
    /// Whether its numbers are possible, for vectors of so many dimensions and so many tokens.
    pub(crate) fn check(&self, dimensions: usize, tokens: usize) -> Result<(), String> {
        let within = |what: &str, number: usize, most: usize| {
            if (1..=most).contains(&number) {
                Ok(())
            } else {
                Err(format!("{what} is {number}: 1 to {most} is possible"))
            }
        };
        within("the number of dimensions", dimensions, MAX_DIMENSIONS)?;
        within("the number of layers", self.layers, MAX_LAYERS)?;
        within("the size of a layer's middle", self.intermediate, MAX_INTERMEDIATE)?;
        within("the number of heads", self.heads, dimensions)?;
        within("the longest text", self.positions, LONGEST)?;
        if !dimensions.is_multiple_of(self.heads) {
            return Err(format!("{} heads do not share {dimensions} dimensions evenly", self.heads));
        }
        if self.numbers(dimensions) > MAX_NUMBERS {
            return Err(format!("the network has over {MAX_NUMBERS} numbers"));
        }
        if !(self.epsilon.is_finite() && self.epsilon > 0.0) {
            return Err("what is added to a variance is not above 0".to_owned());
        }
        if self.begin.len() + self.end.len() >= self.positions {
            return Err("its longest text has no room for a token".to_owned());
        }
        if self.begin.iter().chain(&self.end).any(|id| *id as usize >= tokens) {
            return Err("a token around the text is not in the vocabulary".to_owned());
        }
        if self.query_prefix.len().max(self.passage_prefix.len()) > MAX_PREFIX {
            return Err(format!("the beginning of a text has over {MAX_PREFIX} bytes"));
        }
        Ok(())
    }

    /// Most tokens of a text itself.
    pub(crate) fn tokens(&self) -> usize {
        self.positions.saturating_sub(self.begin.len() + self.end.len())
    }

    /// The text that the network gets.
    pub(crate) fn text(&self, text: &str, purpose: Purpose) -> String {
        let prefix = if purpose == Purpose::Query { &self.query_prefix } else { &self.passage_prefix };
        let text = format!("{prefix}{text}");
        let text = text.trim();
        if self.lowercase { text.to_lowercase() } else { text.to_owned() }
    }

    /// The tensors behind the positions, in the order in which they are stored.
    pub(crate) fn tensors(&self, dimensions: usize) -> Vec<Tensor> {
        let mut found = Vec::new();
        let norm = |found: &mut Vec<Tensor>, name: &str| {
            for part in ["weight", "bias"] {
                found.push(Tensor { name: format!("{name}.{part}"), rows: 1, columns: dimensions });
            }
        };
        let linear = |found: &mut Vec<Tensor>, name: &str, rows: usize, columns: usize| {
            found.push(Tensor { name: format!("{name}.weight"), rows, columns });
            found.push(Tensor { name: format!("{name}.bias"), rows: 1, columns: rows });
        };
        norm(&mut found, "embeddings.LayerNorm");
        for layer in 0..self.layers {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            for part in ["self.query", "self.key", "self.value", "output.dense"] {
                linear(&mut found, &name(&format!("attention.{part}")), dimensions, dimensions);
            }
            norm(&mut found, &name("attention.output.LayerNorm"));
            linear(&mut found, &name("intermediate.dense"), self.intermediate, dimensions);
            linear(&mut found, &name("output.dense"), dimensions, self.intermediate);
            norm(&mut found, &name("output.LayerNorm"));
        }
        found
    }

    /// The numbers of the network.
    pub(crate) fn numbers(&self, dimensions: usize) -> u64 {
        let of = |rows: usize, columns: usize| rows as u64 * columns as u64;
        let tensors = self.tensors(dimensions).iter().map(|tensor| of(tensor.rows, tensor.columns)).sum::<u64>();
        of(self.positions, dimensions) + tensors
    }

    /// The rows that the network takes behind those of the tokens.
    pub(crate) fn rows(&self, dimensions: usize) -> u64 {
        self.numbers(dimensions).div_ceil(dimensions.max(1) as u64)
    }
}
