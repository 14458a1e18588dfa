//! `embeddings`: the model by which notes are found by meaning.

use std::collections::BTreeMap;
use std::time::Duration;

use atlas_outbound::{Key, Service, Trust};
use atlas_provider::for_sync::LEAST_TOKENS;
use atlas_provider::{Protocol, QueryModel, Remote, Shape, Spending};
use serde::{Deserialize, Serialize};

use crate::config::error::{DocumentError, range};

/// The variable of the key, where the document names none, and how a named one ends.
pub(crate) const TOKEN: &str = "ATLAS_EMBEDDINGS_TOKEN";
const API_KEY: &str = "_API_KEY";
/// Longest name of a model, in bytes.
const MAX_MODEL: usize = 200;
/// Values where the document says nothing.
const OLLAMA: (&str, &str, u32) = ("http://127.0.0.1:11434", "nomic-embed-text", 768);
const OPENAI: &str = "https://api.openai.com/v1";
const BATCH: usize = 32;
const INPUT_TOKENS: usize = 2_048;
const SYNC_TOKENS: u64 = 10_000_000;
const SYNC_TIME: u64 = 60_000;
const QUERY_TIME: u64 = 2_000;
/// Longest time of a request.
const MAX_TIME: u64 = 600_000;

/// Where the model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Nowhere: it is a look-up in the store.
    Static,
    /// In this program: its network is in the store.
    Contextual,
    /// In an Ollama.
    Ollama,
    /// In a service with OpenAI's interface.
    OpenAi,
}

/// `embeddings`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbeddingsDocument {
    /// Where the model runs.
    #[serde(default = "ollama")]
    pub provider: Provider,
    /// Its name.
    #[serde(default)]
    pub model: Option<String>,
    /// Dimensions of its vectors.
    #[serde(default)]
    pub dimensions: Option<u32>,
    /// The address of its service: what `/api/embed` or `/embeddings` is below.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The variable that has the key.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// Whether the service is asked for that many dimensions.
    #[serde(default)]
    pub request_dimensions: Option<bool>,
    /// Most tokens of a text.
    #[serde(default)]
    pub max_input_tokens: Option<usize>,
    /// Most texts of a request.
    #[serde(default)]
    pub batch_size: Option<usize>,
    /// Most tokens of a sync.
    #[serde(default)]
    pub max_tokens_per_sync: Option<u64>,
    /// How long a request of a sync may take, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// How long the vector of a query may take, in milliseconds.
    #[serde(default)]
    pub query_timeout_ms: Option<u64>,
}

const fn ollama() -> Provider {
    Provider::Ollama
}

/// The keys of the environment.
#[derive(Clone, Debug, Default)]
pub struct EmbeddingsKeys {
    /// `ATLAS_EMBEDDINGS_TOKEN`.
    pub token: Option<Key>,
    /// Variables that end in `_API_KEY`.
    pub(crate) others: BTreeMap<String, Key>,
}

/// The model that a configuration names.
#[derive(Clone, Debug)]
pub enum ChosenModel {
    /// The one in the store with this name.
    Stored(String),
    /// One of a service, and how much it may be asked for at a sync.
    Service(Remote, Spending),
}

impl EmbeddingsKeys {
    /// Whether a variable may be named by a document. Others hold what a service must not get.
    pub(crate) fn is_named(variable: &str) -> bool {
        variable.ends_with(API_KEY) && variable.len() > API_KEY.len() && !variable.starts_with("AWS_")
    }

    pub(crate) fn add(&mut self, variable: &str, text: &str) {
        // A value that cannot be a key is refused where the document names its variable.
        if let Some(key) = Key::new(text).filter(|_| Self::is_named(variable)) {
            self.others.insert(variable.to_owned(), key);
        }
    }
}

impl EmbeddingsDocument {
    pub(crate) fn check(&self) -> Result<(), DocumentError> {
        let wrong = |name: &str, remedy: String| Err(DocumentError::new(format!("embeddings.{name}"), remedy));
        if self.model.as_ref().is_some_and(|model| model.is_empty() || model.len() > MAX_MODEL) {
            return wrong("model", format!("write 1 to {MAX_MODEL} bytes"));
        }
        if self.provider != Provider::Ollama && self.model.is_none() {
            return wrong("model", "it is missing: write the model's name".to_owned());
        }
        if matches!(self.provider, Provider::Static | Provider::Contextual) {
            let said = [
                ("dimensions", self.dimensions.is_some()),
                ("baseUrl", self.base_url.is_some()),
                ("apiKeyEnv", self.api_key_env.is_some()),
                ("requestDimensions", self.request_dimensions.is_some()),
                ("maxInputTokens", self.max_input_tokens.is_some()),
                ("batchSize", self.batch_size.is_some()),
                ("maxTokensPerSync", self.max_tokens_per_sync.is_some()),
                ("timeoutMs", self.timeout_ms.is_some()),
                ("queryTimeoutMs", self.query_timeout_ms.is_some()),
            ];
            return match said.iter().find(|(_, is_said)| *is_said) {
                Some((name, _)) => wrong(name, "a model in the store needs no service: leave it out".to_owned()),
                None => Ok(()),
            };
        }
        if self.dimensions.is_none() && (self.provider == Provider::OpenAi || self.model.is_some()) {
            return wrong("dimensions", "it is missing: write how many numbers the model's vectors have".to_owned());
        }
        if self.api_key_env.as_ref().is_some_and(|name| name != TOKEN && !EmbeddingsKeys::is_named(name)) {
            let remedy = format!("write the name of a variable that ends in {API_KEY}, such as OPENAI_API_KEY");
            return wrong("apiKeyEnv", remedy);
        }
        let of = |number: Option<usize>| number.map(|number| number as u64);
        range("embeddings.dimensions", self.dimensions.map(u64::from), 1, 4_096)?;
        range("embeddings.maxInputTokens", of(self.max_input_tokens), 64, 1_000_000)?;
        range("embeddings.batchSize", of(self.batch_size), 1, 256)?;
        range("embeddings.timeoutMs", self.timeout_ms, 100, MAX_TIME)?;
        range("embeddings.queryTimeoutMs", self.query_timeout_ms, 50, 20_000)?;
        if self.max_tokens_per_sync.is_some_and(|tokens| tokens < LEAST_TOKENS) {
            let remedy = format!("write at least {LEAST_TOKENS}, which one text may take, so that each sync gets on");
            return wrong("maxTokensPerSync", remedy);
        }
        self.service(None).map(drop)
    }

    fn shape(&self) -> Shape {
        Shape {
            model: self.model.clone().unwrap_or_else(|| OLLAMA.1.to_owned()),
            dimensions: self.dimensions.unwrap_or(OLLAMA.2),
            asks_dimensions: self.request_dimensions.unwrap_or(false),
            max_input_tokens: self.max_input_tokens.unwrap_or(INPUT_TOKENS),
            batch: self.batch_size.unwrap_or(BATCH),
        }
    }

    fn service(&self, key: Option<Key>) -> Result<Service, DocumentError> {
        let address = self.base_url.as_deref().unwrap_or(match self.provider {
            Provider::OpenAi => OPENAI,
            Provider::Ollama | Provider::Static | Provider::Contextual => OLLAMA.0,
        });
        let longest = Duration::from_millis(MAX_TIME);
        Service::new(address, key, Trust::Machine, longest, self.shape().answer_bytes())
            .map_err(|error| DocumentError::new("embeddings.baseUrl", error.to_string()))
    }

    /// The model that it names. Nothing is asked of it yet.
    ///
    /// # Errors
    /// When its key is missing, or would be sent where others can read it.
    pub(crate) fn open(&self, keys: &EmbeddingsKeys) -> Result<ChosenModel, DocumentError> {
        let protocol = match self.provider {
            Provider::Static | Provider::Contextual => {
                return Ok(ChosenModel::Stored(self.model.clone().unwrap_or_default()));
            }
            Provider::Ollama => Protocol::Ollama,
            Provider::OpenAi => Protocol::OpenAi,
        };
        let key = match self.api_key_env.as_deref() {
            None | Some(TOKEN) => keys.token.clone(),
            Some(name) => Some(keys.others.get(name).cloned().ok_or_else(|| {
                let remedy = format!("{name} is not set, or is no key: set it where this program runs");
                DocumentError::new("embeddings.apiKeyEnv", remedy)
            })?),
        };
        let remote = Remote::new(self.service(key)?, protocol, self.shape());
        let max_time = Duration::from_millis(self.timeout_ms.unwrap_or(SYNC_TIME));
        let max_tokens = self.max_tokens_per_sync.unwrap_or(SYNC_TOKENS);
        Ok(ChosenModel::Service(remote, Spending { max_tokens, max_time }))
    }

    /// The vectors of queries by `remote`.
    pub(crate) fn queries(&self, remote: Remote) -> QueryModel {
        QueryModel::new(remote, Duration::from_millis(self.query_timeout_ms.unwrap_or(QUERY_TIME)))
    }
}
