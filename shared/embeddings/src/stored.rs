//! A model as one object, of which a reader fetches the head, and then only the rows of the tokens that it has.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use half::f16;
use serde::{Deserialize, Serialize};

use crate::ModelError;
use crate::architecture::Architecture;
use crate::contextual::Network;
use crate::model::Purpose;
use crate::storable::{Limits, Storable};
use crate::tokenizer::Tokenizer;
use crate::tokenizer::specification::Specification;
use crate::tokenizer::vocabulary::Vocabulary;
use crate::vector::{MAX_DIMENSIONS, Vector};

const MAGIC: &[u8; 8] = b"ATLASMDL";
const VERSION: u32 = 1;
const FRAME: u64 = 12;
/// Rows of a page.
const PAGE: u32 = 16;
/// Most bytes of a head before compression.
const MAX_HEAD: usize = 256 << 20;
const LEVEL: i32 = 9;
const HEAD: &str = "the head of the model";
const ROWS: &str = "the rows of the model";

/// Where the parts of a model's object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Bytes of the object.
    pub bytes: u64,
    /// Bytes of its head.
    pub head: u32,
    /// Dimensions of its vectors.
    pub dimensions: u32,
    /// Its rows: one for each token, and behind them those of its network.
    pub tokens: u32,
}

impl Shape {
    /// The range of the head.
    #[must_use]
    pub fn head_range(&self) -> Range<u64> {
        FRAME..FRAME + u64::from(self.head)
    }

    /// Whether the numbers fit together.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        (1..=MAX_DIMENSIONS as u32).contains(&self.dimensions)
            && self.bytes == FRAME + u64::from(self.head) + self.rows_bytes()
    }

    fn row_bytes(&self) -> u64 {
        u64::from(self.dimensions) * 2
    }

    fn rows_bytes(&self) -> u64 {
        u64::from(self.tokens) * self.row_bytes() + u64::from(self.tokens.div_ceil(PAGE)) * 4
    }

    /// The range of a page of rows.
    fn page_range(&self, page: u32) -> Range<u64> {
        let rows = FRAME + u64::from(self.head);
        let at = |page: u32| {
            let before = page.saturating_mul(PAGE).min(self.tokens);
            rows + u64::from(before) * self.row_bytes() + u64::from(page.min(self.tokens.div_ceil(PAGE))) * 4
        };
        at(page)..at(page + 1)
    }
}

#[derive(Serialize, Deserialize)]
struct Description {
    tokenizer: Specification,
    max_tokens: usize,
    max_characters: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<Architecture>,
}

/// The object of a model, and where its parts are.
///
/// # Errors
/// When it is too large.
pub fn encode(model: &dyn Storable) -> Result<(Vec<u8>, Shape), ModelError> {
    let too_large = |what: &str| ModelError::damaged(HEAD, format!("{what} is too large"));
    let limits = model.limits();
    let vocabulary = model.tokenizer().vocabulary();
    let description = Description {
        tokenizer: model.tokenizer().specification().clone(),
        max_tokens: limits.tokens,
        max_characters: limits.characters,
        network: model.network().cloned(),
    };
    let json = serde_json::to_vec(&description).map_err(|error| ModelError::damaged(HEAD, error))?;
    let mut head = Vec::new();
    for part in [json.as_slice(), vocabulary.fst()] {
        head.extend_from_slice(&u32::try_from(part.len()).map_err(|_| too_large("a part"))?.to_le_bytes());
        head.extend_from_slice(part);
    }
    head.extend(vocabulary.scores().iter().flat_map(|score| score.to_le_bytes()));
    let size = u32::try_from(head.len()).ok().filter(|size| *size as usize <= MAX_HEAD);
    let mut packed = size.ok_or_else(|| too_large("it"))?.to_le_bytes().to_vec();
    let compressed = zstd::bulk::compress(&head, LEVEL);
    packed.append(&mut compressed.map_err(|error| ModelError::damaged(HEAD, error))?);
    let packed = sealed(packed);
    let tokens = u32::try_from(model.rows()).map_err(|_| too_large("it"))?;
    let mut object = MAGIC.to_vec();
    object.extend_from_slice(&VERSION.to_le_bytes());
    object.extend_from_slice(&packed);
    for first in (0..tokens).step_by(PAGE as usize) {
        let ids = first..tokens.min(first + PAGE);
        let rows = ids.flat_map(|id| model.row(id as usize)).flat_map(f16::to_le_bytes);
        object.append(&mut sealed(rows.collect()));
    }
    let shape = Shape {
        bytes: object.len() as u64,
        head: u32::try_from(packed.len()).map_err(|_| too_large("it"))?,
        dimensions: model.dimensions() as u32,
        tokens,
    };
    if shape.is_sound() { Ok((object, shape)) } else { Err(too_large("it")) }
}

fn sealed(mut payload: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&payload);
    payload.extend_from_slice(&checksum.to_le_bytes());
    payload
}

fn open<'b>(part: &'b [u8], name: &'static str) -> Result<&'b [u8], ModelError> {
    match part.split_last_chunk::<4>() {
        Some((payload, checksum)) if crc32fast::hash(payload) == u32::from_le_bytes(*checksum) => Ok(payload),
        _ => Err(ModelError::damaged(name, "its checksum does not match")),
    }
}

/// The head of a model: its tokenizer.
#[derive(Debug)]
pub struct StoredModel {
    shape: Shape,
    tokenizer: Tokenizer,
    limits: Limits,
    network: Option<Architecture>,
}

/// The tokens of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens(Vec<u32>);

/// Rows of a model, by page.
#[derive(Clone, Debug, Default)]
pub struct Rows(HashMap<u32, Arc<[f32]>>);

impl Rows {
    /// The numbers in them.
    #[must_use]
    pub fn numbers(&self) -> usize {
        self.0.values().map(|page| page.len()).sum()
    }
}

impl StoredModel {
    /// Reads the head of a model's object.
    ///
    /// # Errors
    /// When it is damaged, or of a newer version.
    pub fn open(head: &[u8], shape: Shape) -> Result<Self, ModelError> {
        let damaged = |reason: &str| ModelError::damaged(HEAD, reason);
        let payload = open(head, HEAD)?;
        let (size, packed) = payload.split_first_chunk::<4>().ok_or_else(|| damaged("it is cut short"))?;
        let size = u32::from_le_bytes(*size) as usize;
        if size > MAX_HEAD || !shape.is_sound() {
            return Err(damaged("it is larger than the format allows"));
        }
        let content = zstd::bulk::decompress(packed, size).map_err(|_| damaged("it does not decompress"))?;
        let content = Bytes::from(content);
        let mut at = 0;
        let mut part = || {
            let size = content.get(at..at + 4)?.first_chunk::<4>().map(|size| u32::from_le_bytes(*size) as usize)?;
            let range = at + 4..(at + 4).checked_add(size).filter(|end| *end <= content.len())?;
            at = range.end;
            Some(content.slice(range))
        };
        let (json, fst) = part().zip(part()).ok_or_else(|| damaged("it is cut short"))?;
        let scores = content.get(at..).unwrap_or_default().as_chunks::<4>().0;
        let scores = scores.iter().map(|score| f32::from_le_bytes(*score)).collect();
        let description: Description =
            serde_json::from_slice(&json).map_err(|error| ModelError::damaged(HEAD, error))?;
        let vocabulary = Vocabulary::of_parts(fst, scores).map_err(|reason| ModelError::damaged(HEAD, reason))?;
        let (dimensions, network) = (shape.dimensions as usize, description.network);
        if let Some(network) = &network {
            let checked = network.check(dimensions, vocabulary.len());
            checked.map_err(|reason| ModelError::damaged(HEAD, reason))?;
        }
        let rows = network.as_ref().map_or(0, |network| network.rows(dimensions));
        if vocabulary.len() as u64 + rows != u64::from(shape.tokens) {
            return Err(damaged("it has not as many tokens as rows"));
        }
        let limits = Limits { tokens: description.max_tokens, characters: description.max_characters };
        Ok(Self { shape, tokenizer: Tokenizer::new(description.tokenizer, vocabulary)?, limits, network })
    }

    /// Where its parts are.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The tokens of a text.
    #[must_use]
    pub fn tokens(&self, text: &str, purpose: Purpose) -> Tokens {
        let tokens = self.tokenizer.vocabulary().len();
        let Some(network) = &self.network else {
            let mut ids = self.tokenizer.ids(self.limits.cut(text), self.limits.tokens);
            ids.retain(|id| (*id as usize) < tokens);
            return Tokens(ids);
        };
        let mut ids = network.begin.clone();
        ids.extend(self.tokenizer.all_ids(&network.text(text, purpose), network.tokens()));
        ids.extend(&network.end);
        ids.retain(|id| (*id as usize) < tokens);
        Tokens(ids)
    }

    /// Whether it has a network.
    #[must_use]
    pub const fn is_contextual(&self) -> bool {
        self.network.is_some()
    }

    /// The pages with its network, each with its range in the object; none if it has none.
    #[must_use]
    pub fn network_pages(&self) -> Vec<Range<u64>> {
        let first = self.tokenizer.vocabulary().len() as u32 / PAGE;
        let pages = if self.network.is_some() { first..self.shape.tokens.div_ceil(PAGE) } else { 0..0 };
        pages.map(|page| self.shape.page_range(page)).collect()
    }

    /// The network of its pages; [`None`] if it has none.
    ///
    /// # Errors
    /// When they are damaged, or this program cannot run it.
    pub fn network(&self, pages: &[Bytes]) -> Result<Option<Network>, ModelError> {
        let Some(architecture) = &self.network else { return Ok(None) };
        let (dimensions, tokens) = (self.shape.dimensions as usize, self.tokenizer.vocabulary().len());
        let payloads: Vec<&[u8]> = pages.iter().map(|page| open(page, ROWS)).collect::<Result<_, _>>()?;
        let numbers = payloads.into_iter().flat_map(|payload| payload.as_chunks::<2>().0);
        let numbers = numbers.skip(tokens % PAGE as usize * dimensions);
        let numbers = numbers.map(|bytes| f16::from_le_bytes(*bytes).to_f32());
        Network::new(architecture, dimensions, numbers).map(Some)
    }

    /// The pages with the rows of these texts that `rows` does not have, ascending, each with its range in the object.
    #[must_use]
    pub fn missing<'t>(&self, texts: impl IntoIterator<Item = &'t Tokens>, rows: &Rows) -> Vec<(u32, Range<u64>)> {
        let pages = texts.into_iter().flat_map(|tokens| tokens.0.iter().map(|id| id / PAGE));
        let pages: BTreeSet<u32> = pages.filter(|page| !rows.0.contains_key(page)).collect();
        pages.into_iter().map(|page| (page, self.shape.page_range(page))).collect()
    }

    /// Adds a page, of which these are the bytes.
    ///
    /// # Errors
    /// When they are damaged.
    pub fn add(&self, rows: &mut Rows, page: u32, bytes: &[u8]) -> Result<(), ModelError> {
        let range = self.shape.page_range(page);
        let payload = open(bytes, ROWS)?;
        if bytes.len() as u64 != range.end - range.start {
            return Err(ModelError::damaged(ROWS, "a page has another size than it says"));
        }
        let numbers = payload.as_chunks::<2>().0.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32());
        rows.0.insert(page, numbers.collect());
        Ok(())
    }

    /// The vector of a text whose rows are all there, by the model's network if it has one; of length 0 if it has no known token.
    ///
    /// # Errors
    /// When a row is missing, or has what is no number, or the network is missing.
    pub fn vector(&self, tokens: &Tokens, rows: &Rows, network: Option<&Network>) -> Result<Vector, ModelError> {
        let dimensions = self.shape.dimensions as usize;
        let row = |id: &u32| {
            let at = (id % PAGE) as usize * dimensions;
            let row = rows.0.get(&(id / PAGE)).and_then(|page| page.get(at..at + dimensions));
            row.ok_or_else(|| ModelError::damaged(ROWS, "a row was not fetched"))
        };
        let mean = if self.network.is_some() {
            let mut numbers = Vec::with_capacity(tokens.0.len() * dimensions);
            for id in &tokens.0 {
                numbers.extend_from_slice(row(id)?);
            }
            let pooled = network.and_then(|network| network.pooled(&numbers));
            pooled.ok_or_else(|| ModelError::damaged(ROWS, "its network takes no such text"))?
        } else {
            let mut sum = vec![0.0f64; dimensions];
            for id in &tokens.0 {
                sum.iter_mut().zip(row(id)?).for_each(|(sum, number)| *sum += f64::from(*number));
            }
            sum.into_iter().map(|sum| (sum / tokens.0.len().max(1) as f64) as f32).collect()
        };
        Vector::normalised(mean).ok_or_else(|| ModelError::damaged(ROWS, "a number in them is infinite or none"))
    }
}

#[cfg(test)]
mod tests;
