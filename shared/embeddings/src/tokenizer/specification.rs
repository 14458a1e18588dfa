//! The content of a `tokenizer.json`.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ModelError;

const FILE: &str = "tokenizer.json";
/// Most tokens of a vocabulary, and bytes of one.
const MAX_TOKENS: usize = 2_000_000;
const MAX_TOKEN_BYTES: usize = 1_024;
/// Most tokens that are found as they are written.
const MAX_ADDED: usize = 4_096;
/// A merge of SentencePiece is of two tokens that are one together, whichever they are, and its rank is that of what it makes.
const OTHER_MERGES: &str = "merges that are not SentencePiece's";

/// The steps of a tokenizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Specification {
    /// The steps that change the text first.
    pub normalizer: Vec<Normal>,
    /// The steps that cut it into words.
    pub splitters: Vec<Split>,
    /// How words are cut into tokens.
    pub model: Model,
    /// The token for what is unknown.
    pub unknown: Option<u32>,
    /// Tokens that are found as they are written.
    pub added: Vec<Added>,
    /// The median of the tokens' lengths in characters.
    pub median_length: usize,
}

/// A token that is found as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// Its text.
    pub content: String,
    /// Its id.
    pub id: u32,
}

/// A change of the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Normal {
    /// BERT's: control characters out, spaces around Chinese characters, accents off, lower case.
    #[serde(rename = "BertNormalizer")]
    Bert {
        /// Whether control characters are removed.
        #[serde(default = "yes")]
        clean_text: bool,
        /// Whether Chinese characters stand alone.
        #[serde(default = "yes")]
        handle_chinese_chars: bool,
        /// Whether accents are removed; if not said, where letters become lower case.
        #[serde(default)]
        strip_accents: Option<bool>,
        /// Whether letters become lower case.
        #[serde(default = "yes")]
        lowercase: bool,
    },
    /// Lower case.
    Lowercase,
    /// Accents off.
    StripAccents,
    /// Unicode's normal form of that name.
    #[serde(rename = "NFC")]
    Nfc,
    /// See [`Nfc`](Self::Nfc).
    #[serde(rename = "NFD")]
    Nfd,
    /// See [`Nfc`](Self::Nfc).
    #[serde(rename = "NFKC")]
    Nfkc,
    /// See [`Nfc`](Self::Nfc).
    #[serde(rename = "NFKD")]
    Nfkd,
    /// White space at the ends off.
    Strip {
        /// At the beginning.
        #[serde(default = "yes")]
        strip_left: bool,
        /// At the end.
        #[serde(default = "yes")]
        strip_right: bool,
    },
    /// A text in front.
    Prepend {
        /// The text.
        prepend: String,
    },
    /// Another text for each match.
    Replace {
        /// The pattern.
        pattern: Pattern,
        /// The text instead.
        content: String,
    },
    /// SentencePiece's tables, in base64.
    Precompiled {
        /// The tables.
        precompiled_charsmap: String,
    },
}

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pattern {
    /// As it is written.
    String(String),
    /// A regular expression.
    Regex(String),
}

/// A way to cut text into words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Split {
    /// BERT's: at white space, and around each punctuation mark.
    #[serde(rename = "BertPreTokenizer")]
    Bert,
    /// Runs of letters, digits and `_`, and runs of other marks.
    Whitespace,
    /// At white space.
    WhitespaceSplit,
    /// Around each punctuation mark.
    Punctuation,
    /// Around digits, or runs of them.
    Digits {
        /// Whether each stands alone.
        #[serde(default)]
        individual_digits: bool,
    },
    /// Before each space, which becomes a mark.
    Metaspace {
        /// The mark.
        replacement: char,
        /// When one is put in front: `always`, `first` (at the beginning of the text), `never`.
        #[serde(default = "always")]
        prepend_scheme: String,
        /// Whether it is cut at all.
        #[serde(default = "yes")]
        split: bool,
    },
}

/// A way to cut words into tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Model {
    /// The longest token first, then the longest that continues it.
    WordPiece {
        /// The beginning of tokens that continue others.
        prefix: String,
        /// Longer words, in characters, are unknown.
        longest: usize,
    },
    /// The most probable tokens.
    Unigram {
        /// Whether unknown characters become tokens of their bytes.
        byte_fallback: bool,
    },
    /// Neighbours are joined, those of the best token first: the byte pair encoding of SentencePiece.
    BytePairs {
        /// Whether unknown characters become tokens of their bytes.
        byte_fallback: bool,
    },
}

fn yes() -> bool {
    true
}

fn always() -> String {
    "always".to_owned()
}

/// The tokens of a vocabulary with their ids, and by id, for Unigram, the logarithms of their probabilities, for byte pairs, how many others
/// are made before them, below 0.
#[derive(Debug, Default)]
pub struct Tokens {
    /// Tokens and ids.
    pub ids: Vec<(String, u32)>,
    /// By id; empty if there are none.
    pub scores: Vec<f32>,
}

/// Reads a `tokenizer.json`.
pub(super) fn read(json: &[u8]) -> Result<(Specification, Tokens), ModelError> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        added_tokens: Vec<AddedToken>,
        #[serde(default)]
        normalizer: Value,
        #[serde(default)]
        pre_tokenizer: Value,
        model: Value,
    }
    #[derive(Deserialize)]
    struct AddedToken {
        id: u32,
        content: String,
    }

    let damaged = |reason: String| ModelError::damaged(FILE, reason);
    let file: File = serde_json::from_slice(json).map_err(|error| damaged(error.to_string()))?;
    let normalizer = steps::<Normal>(file.normalizer, "normalizers", "the normalizer")?;
    let splitters = steps::<Split>(file.pre_tokenizer, "pretokenizers", "the pre-tokenizer")?;
    let kind = file.model.get("type").and_then(Value::as_str).map(str::to_owned);
    // Older files do not say it: a list is of Unigram.
    let is_list = file.model.get("vocab").is_some_and(Value::is_array);
    let kind = kind.unwrap_or_else(|| if is_list { "Unigram" } else { "WordPiece" }.to_owned());
    let (model, mut tokens, unknown) = match kind.as_str() {
        "WordPiece" => word_piece(file.model)?,
        "Unigram" => unigram(file.model)?,
        "BPE" => byte_pairs(file.model)?,
        other => return Err(ModelError::Unsupported { what: format!("the tokenizer {other}") }),
    };
    if file.added_tokens.len() > MAX_ADDED {
        return Err(damaged(format!("it has over {MAX_ADDED} added tokens")));
    }
    let added = file.added_tokens.into_iter().filter(|token| !token.content.is_empty());
    let added: Vec<Added> = added.map(|token| Added { content: token.content, id: token.id }).collect();
    let known: HashSet<&str> = tokens.ids.iter().map(|(token, _)| token.as_str()).collect();
    let missing: Vec<_> = added.iter().filter(|added| !known.contains(added.content.as_str())).collect();
    let missing: Vec<_> = missing.into_iter().map(|added| (added.content.clone(), added.id)).collect();
    tokens.ids.extend(missing);
    let mut ids: Vec<u32> = tokens.ids.iter().map(|(_, id)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    if tokens.ids.is_empty() || tokens.ids.len() > MAX_TOKENS {
        return Err(damaged(format!("it has no token, or over {MAX_TOKENS}")));
    }
    if ids.len() != tokens.ids.len() || ids.last().is_some_and(|last| *last as usize >= ids.len()) {
        return Err(damaged("the ids of its tokens are not 0, 1, …".to_owned()));
    }
    if tokens.ids.iter().any(|(token, _)| token.len() > MAX_TOKEN_BYTES) {
        return Err(damaged(format!("a token has over {MAX_TOKEN_BYTES} bytes")));
    }
    let mut lengths: Vec<usize> = tokens.ids.iter().map(|(token, _)| token.chars().count()).collect();
    lengths.sort_unstable();
    let middle = |at: usize| lengths.get(at).copied().unwrap_or_default();
    let median_length = (middle((lengths.len() - 1) / 2) + middle(lengths.len() / 2)) / 2;
    Ok((Specification { normalizer, splitters, model, unknown, added, median_length }, tokens))
}

fn word_piece(model: Value) -> Result<(Model, Tokens, Option<u32>), ModelError> {
    #[derive(Deserialize)]
    struct File {
        vocab: serde_json::Map<String, Value>,
        #[serde(default = "unk")]
        unk_token: String,
        #[serde(default = "continuing")]
        continuing_subword_prefix: String,
        #[serde(default = "longest")]
        max_input_chars_per_word: usize,
    }
    fn unk() -> String {
        "[UNK]".to_owned()
    }
    fn continuing() -> String {
        "##".to_owned()
    }
    fn longest() -> usize {
        100
    }

    let file: File = serde_json::from_value(model).map_err(|error| ModelError::damaged(FILE, error))?;
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    let unknown = file.vocab.get(&file.unk_token).and_then(id);
    let ids = file.vocab.iter().map(|(token, value)| Some((token.clone(), id(value)?)));
    let ids = ids.collect::<Option<Vec<_>>>().ok_or_else(|| ModelError::damaged(FILE, "an id is not a number"))?;
    let model = Model::WordPiece { prefix: file.continuing_subword_prefix, longest: file.max_input_chars_per_word };
    Ok((model, Tokens { ids, scores: Vec::new() }, unknown))
}

fn unigram(model: Value) -> Result<(Model, Tokens, Option<u32>), ModelError> {
    #[derive(Deserialize)]
    struct File {
        vocab: Vec<(String, f64)>,
        #[serde(default)]
        unk_id: Option<u32>,
        #[serde(default)]
        byte_fallback: bool,
    }

    let file: File = serde_json::from_value(model).map_err(|error| ModelError::damaged(FILE, error))?;
    let scores = file.vocab.iter().map(|(_, score)| *score as f32).collect();
    let ids = (0..).zip(file.vocab).map(|(id, (token, _))| (token, id)).collect();
    Ok((Model::Unigram { byte_fallback: file.byte_fallback }, Tokens { ids, scores }, file.unk_id))
}

fn byte_pairs(model: Value) -> Result<(Model, Tokens, Option<u32>), ModelError> {
    #[derive(Deserialize)]
    struct File {
        vocab: HashMap<String, u32>,
        merges: Vec<Merge>,
        #[serde(default)]
        unk_token: Option<String>,
        #[serde(default)]
        byte_fallback: bool,
        #[serde(default)]
        dropout: Option<f64>,
        #[serde(default)]
        continuing_subword_prefix: Option<String>,
        #[serde(default)]
        end_of_word_suffix: Option<String>,
        #[serde(default)]
        ignore_merges: bool,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Merge {
        Pair(String, String),
        Words(String),
    }

    let file: File = serde_json::from_value(model).map_err(|error| ModelError::damaged(FILE, error))?;
    let unsupported = |what: &str| ModelError::Unsupported { what: format!("the tokenizer BPE with {what}") };
    let marks = [&file.continuing_subword_prefix, &file.end_of_word_suffix];
    if marks.into_iter().flatten().any(|mark| !mark.is_empty()) || file.dropout.is_some() || file.ignore_merges {
        return Err(unsupported("marks, dropout or `ignore_merges`"));
    }
    let mut scores = vec![0.0; file.vocab.len()];
    let mut pairs = HashSet::new();
    let mut last = None;
    let mut rank = 0.0;
    for merge in &file.merges {
        let (one, other) = match merge {
            Merge::Pair(one, other) => (one.as_str(), other.as_str()),
            Merge::Words(words) => words.split_once(' ').unwrap_or_default(),
        };
        let joined = format!("{one}{other}");
        let id = file.vocab.get(&joined).copied();
        let id = id.ok_or_else(|| ModelError::damaged(FILE, "a merge makes what is no token"))?;
        if last.as_ref() != Some(&joined) {
            rank -= 1.0;
            match scores.get_mut(id as usize) {
                Some(score) if *score == 0.0 => *score = rank,
                _ => return Err(unsupported(OTHER_MERGES)),
            }
        }
        pairs.insert((one, other));
        last = Some(joined);
    }
    let is_missing = |token: &String| {
        let mut ends = token.char_indices().skip(1).map(|(at, _)| token.split_at(at));
        ends.any(|(one, other)| {
            file.vocab.contains_key(one) && file.vocab.contains_key(other) && !pairs.contains(&(one, other))
        })
    };
    if file.vocab.keys().any(is_missing) {
        return Err(unsupported(OTHER_MERGES));
    }
    let unknown = file.unk_token.and_then(|token| file.vocab.get(&token).copied());
    let model = Model::BytePairs { byte_fallback: file.byte_fallback };
    Ok((model, Tokens { ids: file.vocab.into_iter().collect(), scores }, unknown))
}

/// The steps of a sequence, or the only one.
fn steps<T: for<'de> Deserialize<'de>>(value: Value, list: &str, what: &str) -> Result<Vec<T>, ModelError> {
    const DEEPEST: usize = 8;
    fn flat(value: Value, list: &str, depth: usize, found: &mut Vec<Value>) {
        match value {
            Value::Null => {}
            Value::Object(mut fields) if fields.get("type").is_some_and(|kind| kind == "Sequence") && depth > 0 => {
                if let Some(Value::Array(steps)) = fields.remove(list) {
                    steps.into_iter().for_each(|step| flat(step, list, depth - 1, found));
                }
            }
            step => found.push(step),
        }
    }

    let mut found = Vec::new();
    flat(value, list, DEEPEST, &mut found);
    let step = |value: Value| {
        let name = value.get("type").and_then(Value::as_str).unwrap_or("without a name").to_owned();
        serde_json::from_value(value).map_err(|_| ModelError::Unsupported { what: format!("{what} {name}") })
    };
    found.into_iter().map(step).collect()
}
