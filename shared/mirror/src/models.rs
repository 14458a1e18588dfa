//! Embedding models in the store: objects named for their content, of which the head and single rows are read.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use atlas_embeddings::contextual::{self, Network};
use atlas_embeddings::storable::Storable;
use atlas_embeddings::stored::{self, Rows, Shape, StoredModel, Tokens};
use atlas_embeddings::{ModelError, Purpose, Vector};
use bytes::Bytes;
use futures::future::FutureExt as _;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::MirrorError;
use crate::id::Hash;
use crate::loaded_model::LoadedModel;
use crate::mirror::Mirror;
use crate::ranges::{self, Span};
use crate::vectors::{CONTEXTUAL, Embeddings, MAX_MODEL_NAME, STATIC};

/// Most bytes of a description.
const MAX_DESCRIPTION: u64 = 64 << 10;
/// Most bytes of a model's object.
pub const MAX_MODEL_BYTES: u64 = 2 << 30;
/// Most models of a vault.
const MAX_MODELS: usize = 100;
/// Numbers of rows that are kept between calls. One call may have more.
const KEPT_NUMBERS: usize = 16 << 20;
/// Requests at once.
const PARALLEL: usize = 16;

/// A model in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredModelInfo {
    /// Its name.
    pub name: String,
    /// The hash of its object.
    pub id: Hash,
    /// Where the parts of its object are.
    pub shape: Shape,
    /// Those of its tokens, if it has a network; else all rows are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_rows: Option<u32>,
    /// When it was added, by the clock of who did.
    pub added: Timestamp,
}

impl StoredModelInfo {
    /// The number of its tokens.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        self.token_rows.unwrap_or(self.shape.tokens)
    }

    /// The manifest's entry of vectors by this model.
    #[must_use]
    pub fn embeddings(&self) -> Embeddings {
        Embeddings {
            provider: if self.token_rows.is_some() { CONTEXTUAL } else { STATIC }.to_owned(),
            model: self.name.clone(),
            id: self.id,
            dimensions: self.shape.dimensions,
            stored: Some(self.shape),
        }
    }
}

impl Mirror {
    /// Puts a model into the store. Its bytes decide its key, so that adding it twice changes nothing but its name.
    ///
    /// # Errors
    /// [`MirrorError::TooLarge`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn add_model(
        &self,
        name: &str,
        model: &dyn Storable,
        now: Timestamp,
    ) -> Result<StoredModelInfo, MirrorError> {
        let (object, shape) = stored::encode(model).map_err(|error| MirrorError::conflict(error.to_string()))?;
        let object = Bytes::from(object);
        if shape.bytes > MAX_MODEL_BYTES || name.len() > MAX_MODEL_NAME || name.is_empty() {
            return Err(MirrorError::TooLarge { what: "the model", limit: format!("{MAX_MODEL_BYTES} bytes") });
        }
        let id = Hash::of(&object);
        let key = self.keys().model(&id);
        if self.store.size(&key).await? != Some(shape.bytes) {
            self.store.put(&key, &object).await?;
        }
        let tokens = u32::try_from(model.tokenizer().vocabulary().len()).unwrap_or(u32::MAX);
        let token_rows = model.network().map(|_| tokens);
        let info = StoredModelInfo { name: name.to_owned(), id, shape, token_rows, added: now };
        let json = serde_json::to_vec(&info).map_err(|error| MirrorError::conflict(error.to_string()))?;
        self.store.put(&self.keys().model_description(&id), &json.into()).await?;
        Ok(info)
    }

    /// The models in the store, by name.
    ///
    /// # Errors
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn models(&self) -> Result<Vec<StoredModelInfo>, MirrorError> {
        let (listed, _) = self.store.list_up_to(&self.keys().models(), None, MAX_MODELS * 2 + 2).await?;
        let mut found = Vec::new();
        for object in listed.into_iter().filter(|object| object.key.as_ref().ends_with(".json")) {
            let Some(bytes) = self.store.get(&object.key, MAX_DESCRIPTION).await? else { continue };
            found.extend(serde_json::from_slice::<StoredModelInfo>(&bytes).ok());
        }
        found.sort_by(|one, other| one.name.cmp(&other.name).then_with(|| one.id.cmp(&other.id)));
        Ok(found)
    }

    /// Deletes a model. Notes are not found by its vectors any more, until a sync has embedded them with another one.
    ///
    /// # Errors
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn remove_model(&self, id: &Hash) -> Result<(), MirrorError> {
        self.store.delete(&self.keys().model_description(id)).await?;
        self.store.delete(&self.keys().model(id)).await
    }

    /// Whether this program runs a model, if that is in the store; the error says what to do.
    ///
    /// # Errors
    /// When it does not.
    pub fn runs(&self, embeddings: &Embeddings) -> Result<(), &'static str> {
        let has_network = embeddings.stored.is_some() && !embeddings.is_look_up();
        let runs_networks = contextual::RUNS && self.shared.options.runs_networks;
        if has_network && !runs_networks { Err(contextual::REMEDY) } else { Ok(()) }
    }

    /// The vectors of texts by a model in the store. The head of the model is read once a process, and its network if it has one; of its rows
    /// those of the texts' tokens.
    ///
    /// # Errors
    /// [`MirrorError::Damaged`] when the model is missing, or not what the manifest says; [`MirrorError::Unsupported`] when this program cannot
    /// run it; [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn embed(
        &self,
        embeddings: &Embeddings,
        texts: &[&str],
        purpose: Purpose,
    ) -> Result<Vec<Vector>, MirrorError> {
        let key = self.keys().model(&embeddings.id);
        let damaged = |error: ModelError| MirrorError::damaged(&key, error);
        self.runs(embeddings).map_err(MirrorError::Unsupported)?;
        let loaded = self.load_model(embeddings).await?;
        let tokens: Vec<Tokens> = texts.iter().map(|text| loaded.model.tokens(text, purpose)).collect();
        // Other calls may empty what is kept meanwhile, so this one has what it needs itself.
        let mut rows = loaded.rows().clone();
        let missing = loaded.model.missing(&tokens, &rows);
        let wants: Vec<Range<u64>> = missing.iter().map(|(_, range)| range.clone()).collect();
        for ((page, _), bytes) in missing.iter().zip(self.fetch_pages(embeddings, &wants).await?) {
            loaded.model.add(&mut rows, *page, &bytes).map_err(damaged)?;
        }
        let vectors = self.vectors_of_tokens(&loaded, tokens, &rows).await?.into_iter();
        let vectors = vectors.map(|vector| vector.map_err(damaged)).collect();
        if !missing.is_empty() {
            *loaded.rows() = if rows.numbers() > KEPT_NUMBERS { Rows::default() } else { rows };
        }
        vectors
    }

    /// A look-up is done at once; networks are computed off the threads that others wait for, on as many as there are processors.
    async fn vectors_of_tokens(
        &self,
        loaded: &Arc<LoadedModel>,
        tokens: Vec<Tokens>,
        rows: &Rows,
    ) -> Result<Vec<Result<Vector, ModelError>>, MirrorError> {
        if loaded.network.is_none() {
            return Ok(tokens.iter().map(|tokens| loaded.model.vector(tokens, rows, None)).collect());
        }
        let computed = tokens.into_iter().map(|tokens| {
            let (loaded, rows) = (loaded.clone(), rows.clone());
            let run = move || loaded.model.vector(&tokens, &rows, loaded.network.as_ref());
            async { tokio::task::spawn_blocking(run).await }
        });
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let computed = stream::iter(computed.collect::<Vec<_>>()).buffered(processors).try_collect().await;
        computed.map_err(|error| MirrorError::unavailable(error.to_string()))
    }

    async fn load_model(&self, embeddings: &Embeddings) -> Result<Arc<LoadedModel>, MirrorError> {
        let known = || self.shared.model.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = known().as_ref().filter(|loaded| loaded.id == embeddings.id) {
            return Ok(loaded.clone());
        }
        let key = self.keys().model(&embeddings.id);
        let damaged = |error: ModelError| MirrorError::damaged(&key, error);
        let shape = embeddings.stored.ok_or_else(|| MirrorError::damaged(&key, "it is not in the store"))?;
        let head = self.fetch_model(embeddings, &Span { object: 0, range: shape.head_range() }).await?;
        let model = StoredModel::open(&head, shape).map_err(damaged)?;
        let pages = self.fetch_pages(embeddings, &model.network_pages()).await?;
        let network: Option<Network> = model.network(&pages).map_err(damaged)?;
        let loaded = Arc::new(LoadedModel::new(embeddings.id, model, network));
        *known() = Some(loaded.clone());
        Ok(loaded)
    }

    /// The bytes of these ranges of a model.
    async fn fetch_pages(&self, embeddings: &Embeddings, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, MirrorError> {
        let wants: Vec<Span> = ranges.iter().map(|range| Span { object: 0, range: range.clone() }).collect();
        let requests = ranges::plan(&wants, self.shared.options.max_requests);
        let bodies = requests.iter().map(|request| self.fetch_model(embeddings, request).boxed());
        let bodies: Vec<_> = bodies.collect();
        let bodies: Vec<Bytes> = stream::iter(bodies).buffered(PARALLEL).try_collect().await?;
        let page = |want: &Span| {
            let bytes = ranges::cut(want, &requests, &bodies);
            bytes.ok_or_else(|| MirrorError::unavailable("the planned requests do not cover a page"))
        };
        wants.iter().map(page).collect()
    }

    async fn fetch_model(&self, embeddings: &Embeddings, span: &Span) -> Result<Bytes, MirrorError> {
        let key = self.keys().model(&embeddings.id);
        let size = embeddings.stored.map_or(0, |shape| shape.bytes);
        let bytes = self.store.get_range(&key, span.range.clone(), size).await?;
        bytes.ok_or_else(|| MirrorError::damaged(&key, "the model was removed: embed with another one"))
    }
}
