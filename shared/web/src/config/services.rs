//! Services outside that operations may ask.

use std::time::Duration;

use atlas_ops::services::{Gateway, Services};
use atlas_outbound::{AddressError, Key, Service, Trust};
use serde::{Deserialize, Serialize};

use crate::config::embeddings::{ChosenModel, EmbeddingsDocument, EmbeddingsKeys};
use crate::config::error::{DocumentError, range};

/// Most bytes that are read of an answer of plur, and of a language model.
const MAX_PLUR: usize = 4 << 20;
const MAX_GATEWAY: usize = 1 << 20;
/// Milliseconds that an answer may take, where the document does not say it.
const PLUR_TIME: u64 = 5_000;
const GATEWAY_TIME: u64 = 20_000;
/// The model that is asked, where the document names none.
const MODEL: &str = "judge";
/// Longest name of a model, in bytes.
const MAX_MODEL: usize = 200;
/// Longest prefix of paths, in bytes.
const MAX_PREFIX: usize = 200;

/// `plur`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlurDocument {
    /// Its address.
    pub endpoint: String,
    /// The prefix of its routes.
    #[serde(default)]
    pub api_prefix: String,
    /// How long an answer may take, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

/// `gateway`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayDocument {
    /// Its address: what `/chat/completions` is below.
    pub base_url: String,
    /// The model that is asked.
    #[serde(default)]
    pub model: Option<String>,
    /// How long an answer may take, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

/// The services that a configuration names, and the keys that the environment has for them.
#[derive(Clone, Debug, Default)]
pub struct ServiceSettings {
    /// plur.
    pub plur: Option<PlurDocument>,
    /// `ATLAS_PLUR_TOKEN`: what plur knows the deployment by.
    pub plur_token: Option<Key>,
    /// A language model.
    pub gateway: Option<GatewayDocument>,
    /// `ATLAS_GATEWAY_TOKEN`: what the language model knows the deployment by.
    pub gateway_token: Option<Key>,
    /// The model by which notes are found by meaning.
    pub embeddings: Option<EmbeddingsDocument>,
    /// The keys for it.
    pub embeddings_keys: EmbeddingsKeys,
}

impl PlurDocument {
    pub(crate) fn check(&self) -> Result<(), DocumentError> {
        range("plur.timeoutMs", self.timeout_ms, 100, 60_000)?;
        let prefix = &self.api_prefix;
        if !prefix.is_empty() && !prefix.starts_with('/') || prefix.len() > MAX_PREFIX || prefix.contains(['?', '#']) {
            let remedy = format!("write a path that begins with /, of at most {MAX_PREFIX} bytes, or leave it out");
            return Err(DocumentError::new("plur.apiPrefix", remedy));
        }
        self.open(None).map(drop)
    }

    fn open(&self, key: Option<Key>) -> Result<Service, DocumentError> {
        let address = format!("{}{}", self.endpoint.trim_end_matches('/'), self.api_prefix);
        let time = Duration::from_millis(self.timeout_ms.unwrap_or(PLUR_TIME));
        Service::new(&address, key, Trust::Machine, time, MAX_PLUR).map_err(|error| wrong("plur.endpoint", error))
    }
}

impl GatewayDocument {
    pub(crate) fn check(&self) -> Result<(), DocumentError> {
        range("gateway.timeoutMs", self.timeout_ms, 100, 120_000)?;
        if self.model.as_ref().is_some_and(|model| model.is_empty() || model.len() > MAX_MODEL) {
            let remedy = format!("write 1 to {MAX_MODEL} bytes, or leave it out");
            return Err(DocumentError::new("gateway.model", remedy));
        }
        self.open(None).map(drop)
    }

    fn open(&self, key: Option<Key>) -> Result<Gateway, DocumentError> {
        let time = Duration::from_millis(self.timeout_ms.unwrap_or(GATEWAY_TIME));
        let service = Service::new(&self.base_url, key, Trust::Machine, time, MAX_GATEWAY);
        let service = service.map_err(|error| wrong("gateway.baseUrl", error))?;
        Ok(Gateway { service, model: self.model.clone().unwrap_or_else(|| MODEL.to_owned()) })
    }
}

fn wrong(path: &str, error: AddressError) -> DocumentError {
    DocumentError::new(path, error.to_string())
}

impl ServiceSettings {
    /// The services themselves. Nothing is asked of them yet.
    ///
    /// # Errors
    /// When a key would be sent where others can read it.
    pub fn open(&self) -> Result<Services, DocumentError> {
        let embeddings = match (self.chosen_model()?, &self.embeddings) {
            (Some(ChosenModel::Service(remote, _)), Some(document)) => Some(document.queries(remote)),
            _ => None,
        };
        Ok(Services {
            embeddings,
            plur: self.plur.as_ref().map(|plur| plur.open(self.plur_token.clone())).transpose()?,
            gateway: self.gateway.as_ref().map(|gateway| gateway.open(self.gateway_token.clone())).transpose()?,
        })
    }

    /// The model by which notes are to be found, if the document names one.
    ///
    /// # Errors
    /// When its key is missing, or would be sent where others can read it.
    pub fn chosen_model(&self) -> Result<Option<ChosenModel>, DocumentError> {
        self.embeddings.as_ref().map(|embeddings| embeddings.open(&self.embeddings_keys)).transpose()
    }
}
