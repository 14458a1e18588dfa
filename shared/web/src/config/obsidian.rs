//! How the Obsidian app of a vault is reached.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use atlas_access::Secret;
use atlas_ops::app::Reach;
use atlas_ops::app::client::{Client, Times};
use atlas_outbound::{Fingerprint, Key, Service, Trust};
use serde::{Deserialize, Serialize};

use crate::config::error::{DocumentError, range};

/// The variable with the plugin's key, and the one that seals what goes through the bucket.
pub(crate) const KEY: &str = "ATLAS_OBSIDIAN_KEY";
pub(crate) const SECRET: &str = "ATLAS_OBSIDIAN_SECRET";
/// Most bytes that are read of an answer of the app.
const MAX_ANSWER: usize = 4 << 20;
/// Most commands that run without a confirmation, and the longest id, in bytes.
const MAX_SAFE: usize = 200;
const MAX_ID: usize = 256;

/// `vaults[].obsidian`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ObsidianDocument {
    /// The address of the plugin *Local REST API*, for programs on the app's machine.
    pub rest_api_url: Option<String>,
    /// SHA-256 of the certificate that it shows, in hexadecimal digits.
    pub certificate_sha256: Option<String>,
    /// Whether the app is also reached by requests in the bucket.
    pub through_bucket: bool,
    /// The ids of commands that run without a person's confirmation.
    pub safe_commands: Vec<String>,
    /// How long a probe may take, in milliseconds.
    pub probe_timeout_ms: Option<u64>,
    /// A call.
    pub timeout_ms: Option<u64>,
    /// The recognition of text.
    pub ocr_timeout_ms: Option<u64>,
}

/// The environment's settings of apps.
#[derive(Clone, Default)]
pub struct ObsidianSettings {
    /// `ATLAS_OBSIDIAN_KEY`: the plugin's key, by vault; that of no name for all others.
    pub keys: BTreeMap<String, Key>,
    /// `ATLAS_OBSIDIAN_SECRET`: seals requests and answers in the bucket.
    pub secret: Option<Secret>,
    /// Whether the process can reach an app, as one on the app's machine can.
    pub is_near: bool,
}

impl fmt::Debug for ObsidianSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObsidianSettings").field("is_near", &self.is_near).finish_non_exhaustive()
    }
}

impl ObsidianSettings {
    /// The keys that a text names: one for all vaults, or `VAULT=KEY` for each, comma-separated; none if one is none.
    pub(crate) fn keys_of(text: &str) -> Option<BTreeMap<String, Key>> {
        let pair = |part: &str| match part.split_once('=') {
            Some((vault, key)) => Some((vault.trim().to_owned(), Key::new(key.trim())?)),
            None => Some((String::new(), Key::new(part.trim())?)),
        };
        text.split(',').map(pair).collect()
    }

    fn key(&self, vault: &str) -> Option<Key> {
        self.keys.get(vault).or_else(|| self.keys.get("")).cloned()
    }
}

impl ObsidianDocument {
    pub(crate) fn check(&self, path: &str) -> Result<(), DocumentError> {
        for (name, milliseconds) in [
            ("probeTimeoutMs", self.probe_timeout_ms),
            ("timeoutMs", self.timeout_ms),
            ("ocrTimeoutMs", self.ocr_timeout_ms),
        ] {
            range(&format!("{path}.{name}"), milliseconds, 50, 120_000)?;
        }
        let is_id = |id: &String| !id.is_empty() && id.len() <= MAX_ID;
        if self.safe_commands.len() > MAX_SAFE || !self.safe_commands.iter().all(is_id) {
            let remedy = format!("write at most {MAX_SAFE} ids of commands, such as editor:save-file");
            return Err(DocumentError::new(format!("{path}.safeCommands"), remedy));
        }
        if self.rest_api_url.is_none() && self.certificate_sha256.is_some() {
            return Err(DocumentError::new(format!("{path}.certificateSha256"), "write restApiUrl as well"));
        }
        // With a key, since it is sent with one.
        self.client(path, Key::new("key")).map(drop)
    }

    /// How it is reached by a process that has `settings`.
    ///
    /// # Errors
    /// When a key or the secret is missing, or would be sent where others can read it.
    pub(crate) fn open(&self, path: &str, vault: &str, settings: &ObsidianSettings) -> Result<Reach, DocumentError> {
        let app = match &self.rest_api_url {
            Some(_) if settings.is_near => {
                let missing =
                    || DocumentError::new(format!("{path}.restApiUrl"), format!("set {KEY} to the plugin's API key"));
                self.client(path, Some(settings.key(vault).ok_or_else(missing)?))?
            }
            _ => None,
        };
        let secret = match (self.through_bucket, &settings.secret) {
            (false, _) => None,
            (true, Some(secret)) => Some(secret.clone()),
            (true, None) => {
                let remedy =
                    format!("set {SECRET}, which the functions and the host share: `openssl rand -hex 32` makes one");
                return Err(DocumentError::new(format!("{path}.throughBucket"), remedy));
            }
        };
        Ok(Reach { app, secret, safe_commands: self.safe_commands.clone().into() })
    }

    fn client(&self, path: &str, key: Option<Key>) -> Result<Option<Arc<Client>>, DocumentError> {
        let Some(url) = &self.rest_api_url else { return Ok(None) };
        let trust = match &self.certificate_sha256 {
            None => Trust::Machine,
            Some(text) => Trust::Pinned(
                text.parse::<Fingerprint>()
                    .map_err(|error| DocumentError::new(format!("{path}.certificateSha256"), error.to_string()))?,
            ),
        };
        let times = self.times();
        let longest = times.probe.max(times.call).max(times.ocr);
        let service = Service::new(url, key, trust, longest, MAX_ANSWER)
            .map_err(|error| DocumentError::new(format!("{path}.restApiUrl"), error.to_string()))?;
        Ok(Some(Arc::new(Client::new(service, times))))
    }

    fn times(&self) -> Times {
        let or = |said: Option<u64>, default| said.map_or(default, Duration::from_millis);
        let Times { probe, call, ocr } = Times::default();
        Times {
            probe: or(self.probe_timeout_ms, probe),
            call: or(self.timeout_ms, call),
            ocr: or(self.ocr_timeout_ms, ocr),
        }
    }
}
