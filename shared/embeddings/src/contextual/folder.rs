//! Reads a folder of sentence-transformers: what its files say, and whether they fit together.

use half::f16;
use safetensors::tensor::SafeTensors;
use serde::Deserialize;

use super::{ContextualModel, frame};
use crate::ModelError;
use crate::architecture::{Activation, Architecture, LONGEST, Pooling, Tensor};
use crate::static_model::numbers;
use crate::tokenizer::Tokenizer;

const CONFIG: &str = "config.json";
const MODULES: &str = "modules.json";
const POOLING: &str = "1_Pooling/config.json";
const SENTENCES: &str = "sentence_bert_config.json";
const PROMPTS: &str = "config_sentence_transformers.json";
const TENSORS: &str = "model.safetensors";

/// The files of a model, as bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'f> {
    /// `config.json`.
    pub config: &'f [u8],
    /// `tokenizer.json`.
    pub tokenizer: &'f [u8],
    /// `model.safetensors`.
    pub tensors: &'f [u8],
    /// `modules.json`.
    pub modules: &'f [u8],
    /// `1_Pooling/config.json`.
    pub pooling: &'f [u8],
    /// `sentence_bert_config.json`, if there is one.
    pub sentences: Option<&'f [u8]>,
    /// `config_sentence_transformers.json`, if there is one.
    pub prompts: Option<&'f [u8]>,
    /// What questions begin with, if the folder does not say it.
    pub query_prefix: &'f str,
    /// What notes begin with, if the folder does not say it.
    pub passage_prefix: &'f str,
}

impl Files<'_> {
    /// Whether a `modules.json` is that of a model with a network, and not of a static one.
    #[must_use]
    pub fn are_contextual(modules: &[u8]) -> bool {
        module_names(modules).is_ok_and(|names| names.iter().any(|name| name == "Transformer"))
    }
}

#[derive(Deserialize)]
struct Config {
    model_type: String,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    hidden_act: String,
    #[serde(default = "epsilon")]
    layer_norm_eps: f32,
    #[serde(default)]
    pad_token_id: Option<usize>,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

fn epsilon() -> f32 {
    1e-12
}

#[derive(Deserialize)]
struct PoolingConfig {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default = "yes")]
    include_prompt: bool,
    #[serde(flatten)]
    others: serde_json::Map<String, serde_json::Value>,
}

fn yes() -> bool {
    true
}

#[derive(Default, Deserialize)]
struct Sentences {
    #[serde(default)]
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

#[derive(Default, Deserialize)]
struct Prompts {
    #[serde(default)]
    prompts: std::collections::BTreeMap<String, String>,
}

fn parsed<'f, T: Deserialize<'f>>(file: &'static str, bytes: &'f [u8]) -> Result<T, ModelError> {
    serde_json::from_slice(bytes).map_err(|error| ModelError::damaged(file, error))
}

fn unsupported(what: impl Into<String>) -> ModelError {
    ModelError::Unsupported { what: what.into() }
}

/// The last parts of the modules' types.
fn module_names(modules: &[u8]) -> Result<Vec<String>, ModelError> {
    #[derive(Deserialize)]
    struct Module {
        r#type: String,
    }

    let modules: Vec<Module> = parsed(MODULES, modules)?;
    let last = |module: Module| module.r#type.rsplit('.').next().unwrap_or_default().to_owned();
    Ok(modules.into_iter().map(last).collect())
}

pub(super) fn read(files: &Files<'_>) -> Result<ContextualModel, ModelError> {
    let names = module_names(files.modules)?;
    // All vectors here have length 1, whether the model wants that or not.
    let steps: Vec<&str> = names.iter().map(String::as_str).filter(|name| *name != "Normalize").collect();
    if steps != ["Transformer", "Pooling"] {
        return Err(unsupported(format!("a model of the modules {}", names.join(", "))));
    }
    let config: Config = parsed(CONFIG, files.config)?;
    let tokenizer = Tokenizer::from_json(files.tokenizer)?;
    let (architecture, first) = architecture(files, &config)?;
    let tokens = tokenizer.vocabulary().len();
    let dimensions = config.hidden_size;
    architecture.check(dimensions, tokens).map_err(|reason| ModelError::damaged(CONFIG, reason))?;
    let tensors = SafeTensors::deserialize(files.tensors).map_err(|error| ModelError::damaged(TENSORS, error))?;
    let source = Source::new(&tensors);
    let words = source.rows("embeddings.word_embeddings.weight", 0, tokens, dimensions)?;
    // The kind of text is the same for all tokens, so it is added to each position.
    let kind = source.rows("embeddings.token_type_embeddings.weight", 0, 1, dimensions)?;
    let mut positions =
        source.rows("embeddings.position_embeddings.weight", first, architecture.positions, dimensions)?;
    positions.iter_mut().zip(kind.iter().cycle()).for_each(|(number, kind)| *number += kind);
    let mut numbers = Vec::new();
    halved("embeddings", &mut numbers, words)?;
    halved("embeddings", &mut numbers, positions)?;
    for tensor in architecture.tensors(dimensions) {
        halved(&tensor.name, &mut numbers, source.tensor(&tensor)?)?;
    }
    Ok(ContextualModel { tokenizer, architecture, dimensions, numbers })
}

/// The architecture, and the position of a text's first token.
fn architecture(files: &Files<'_>, config: &Config) -> Result<(Architecture, usize), ModelError> {
    let first = match config.model_type.as_str() {
        "bert" => 0,
        "xlm-roberta" => config.pad_token_id.unwrap_or(1).saturating_add(1),
        other => return Err(unsupported(format!("a network of the kind {other}"))),
    };
    if let Some(kind) = config.position_embedding_type.as_deref().filter(|kind| *kind != "absolute") {
        return Err(unsupported(format!("a network with positions that are {kind}")));
    }
    let activation: Activation = serde_json::from_value(config.hidden_act.as_str().into())
        .map_err(|_| unsupported(format!("a network with the activation {}", config.hidden_act)))?;
    let sentences: Sentences = files.sentences.map(|bytes| parsed(SENTENCES, bytes)).transpose()?.unwrap_or_default();
    let prompts: Prompts = files.prompts.map(|bytes| parsed(PROMPTS, bytes)).transpose()?.unwrap_or_default();
    let prompt = |names: &[&str], else_: &str| {
        let found = names.iter().find_map(|name| prompts.prompts.get(*name).filter(|prompt| !prompt.is_empty()));
        found.map_or_else(|| else_.to_owned(), Clone::clone)
    };
    let positions = config.max_position_embeddings.saturating_sub(first);
    let wanted = sentences.max_seq_length.unwrap_or(positions);
    if wanted > positions {
        let reason = format!("its texts have up to {wanted} tokens, and the network has {positions} positions");
        return Err(ModelError::damaged(SENTENCES, reason));
    }
    let (begin, end) = frame::read(files.tokenizer)?;
    let architecture = Architecture {
        layers: config.num_hidden_layers,
        heads: config.num_attention_heads,
        intermediate: config.intermediate_size,
        positions: wanted.min(LONGEST),
        epsilon: config.layer_norm_eps,
        activation,
        pooling: pooling(files.pooling)?,
        lowercase: sentences.do_lower_case,
        begin,
        end,
        query_prefix: prompt(&["query", "search_query"], files.query_prefix),
        passage_prefix: prompt(&["passage", "document", "search_document"], files.passage_prefix),
    };
    Ok((architecture, first))
}

fn pooling(bytes: &[u8]) -> Result<Pooling, ModelError> {
    let config: PoolingConfig = parsed(POOLING, bytes)?;
    let is_other = config.others.iter().any(|(name, value)| name.starts_with("pooling_mode_") && *value == true);
    if !config.include_prompt {
        return Err(unsupported("a model whose pooling leaves the prompt out"));
    }
    match (config.pooling_mode_cls_token, config.pooling_mode_mean_tokens, is_other) {
        (true, false, false) => Ok(Pooling::Cls),
        (false, true, false) => Ok(Pooling::Mean),
        _ => Err(unsupported("pooling by anything but the mean, or the first token, alone")),
    }
}

/// Tensors by their names.
struct Source<'t, 'f> {
    tensors: &'t SafeTensors<'f>,
    prefix: &'static str,
}

impl<'t, 'f> Source<'t, 'f> {
    fn new(tensors: &'t SafeTensors<'f>) -> Self {
        let is_below = |prefix: &&str| tensors.tensor(&format!("{prefix}embeddings.word_embeddings.weight")).is_ok();
        Self { tensors, prefix: ["", "bert.", "roberta."].into_iter().find(is_below).unwrap_or_default() }
    }

    fn tensor(&self, tensor: &Tensor) -> Result<Vec<f32>, ModelError> {
        let Tensor { name, rows, columns } = tensor;
        let find = |name: &str| self.tensors.tensor(&format!("{}{name}", self.prefix));
        // Older files call the two parts of a LayerNorm otherwise.
        let old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
        let found = find(name).or_else(|_| find(&old)).map_err(|_| missing(name))?;
        let is_right = match found.shape() {
            [size] => *rows == 1 && size == columns,
            [height, width] => height == rows && width == columns,
            _ => false,
        };
        if !is_right {
            let reason = format!("`{name}` has the shape {:?} instead of {rows} × {columns}", found.shape());
            return Err(ModelError::damaged(TENSORS, reason));
        }
        numbers(&found)
    }

    /// Some rows of a table, which may have more.
    fn rows(&self, name: &str, first: usize, count: usize, columns: usize) -> Result<Vec<f32>, ModelError> {
        let table = self.tensors.tensor(&format!("{}{name}", self.prefix)).map_err(|_| missing(name))?;
        let end = first.saturating_add(count);
        match table.shape() {
            [rows, width] if *rows >= end && *width == columns => {
                let mut found = numbers(&table)?;
                found.truncate(end * columns);
                found.drain(..first * columns);
                Ok(found)
            }
            shape => {
                let reason = format!(
                    "`{name}` has the shape {shape:?}, and config.json and the tokenizer need at least {end} × {columns}"
                );
                Err(ModelError::damaged(TENSORS, reason))
            }
        }
    }
}

fn missing(name: &str) -> ModelError {
    ModelError::damaged(TENSORS, format!("it has no tensor `{name}`: take a folder of the BERT family"))
}

/// Appends numbers in two bytes each.
fn halved(name: &str, numbers: &mut Vec<f16>, more: Vec<f32>) -> Result<(), ModelError> {
    for number in more {
        let half = f16::from_f32(number);
        if !half.is_finite() {
            let reason = format!("a number of `{name}` is infinite, none, or too large for two bytes");
            return Err(ModelError::damaged(TENSORS, reason));
        }
        numbers.push(half);
    }
    Ok(())
}
