//! The fields of a configuration document: JSON with the names of obsidian-tc's `ServerConfigSchema`, without those
//! that have no meaning here.

use std::collections::BTreeSet;

use atlas_access::policy::Tier;
use atlas_access::token::ALGORITHMS;
use atlas_access::{AclConfig, ThrottleConfig, VisibilityConfig};
use atlas_mirror::VaultId;
use atlas_ops::atlas::{CurrentContext, NowNote};
use atlas_ops::sorted;
use atlas_tools::bridge::context_current::check_spine;
use atlas_tools::facade::Facade;
use atlas_vault::VaultPath;
use atlas_vault::date_format::Locale;
use jiff::tz::TimeZoneDatabase;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::embeddings::EmbeddingsDocument;
use crate::config::error::{DocumentError, range};
use crate::config::error_messages::remedy;
use crate::config::services::{GatewayDocument, PlurDocument};
use crate::config::source::MAX_BYTES;
use crate::config::unsupported_keys;
use crate::config::upstream::UpstreamDocument;
use crate::config::vaults::{VaultDocument, check_acl, check_folder, check_vaults, folder_of};
use crate::hosts::Hosts;
use crate::origins::Origins;
use crate::settings::auth::{Auth, is_address};

/// The path of the first vault.
const FIRST: &str = "vaults[0]";
/// The value of `context.now` for today's note.
const DAILY: &str = "daily";
/// Most globs of the spine.
const MAX_SPINE: usize = 50;
const MAX_GLOB: usize = 500;
/// Most calls per minute or at once in a tier, and most concurrent changes.
const MAX_RATE: u32 = 1_000_000;

/// A document.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Document {
    /// The vaults, the default one first; if omitted, the one named by `ATLAS_VAULT`.
    pub vaults: Option<Vec<VaultDocument>>,
    /// The folder of the store that has a document for each further vault.
    pub vault_documents: Option<String>,
    /// The access list of vaults without their own.
    pub acl: AclConfig,
    /// How callers authenticate.
    pub auth: AuthDocument,
    /// The limits of a call.
    pub governor: GovernorDocument,
    /// Which operations are offered.
    pub tool_visibility: VisibilityConfig,
    /// How tools are listed over MCP.
    pub tool_facade: FacadeDocument,
    /// How often callers may call.
    pub throttle: Option<ThrottleConfig>,
    /// How long an idempotency key is remembered, in seconds.
    pub idempotency_ttl_seconds: Option<u64>,
    /// How long a confirmation is valid, in seconds.
    pub elicit_ttl_seconds: Option<u64>,
    /// Age from which the last sync of a vault counts as stale, in seconds.
    pub sync_stale_seconds: Option<u64>,
    /// The doors.
    pub transports: TransportsDocument,
    /// The door of the Bridge protocol.
    pub bridge: BridgeDocument,
    /// The notes of the current context.
    pub context: ContextDocument,
    /// What `query` answers.
    pub query: QueryDocument,
    /// plur, a memory of engrams.
    pub plur: Option<PlurDocument>,
    /// A language model.
    pub gateway: Option<GatewayDocument>,
    /// The model by which notes are found by meaning.
    pub embeddings: Option<EmbeddingsDocument>,
    /// Every field that is given, as a path.
    #[serde(skip)]
    said: BTreeSet<String>,
}

/// `auth`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[allow(missing_docs, reason = "each is the setting of the same meaning")]
pub struct AuthDocument {
    pub mode: Option<Auth>,
    pub jwks: Option<Map<String, Value>>,
    pub jwks_file: Option<String>,
    pub algorithms: Option<Vec<String>>,
    pub issuers: Option<Vec<String>>,
    pub audiences: Option<Vec<String>>,
    pub resource: Option<String>,
    pub authorization_servers: Option<Vec<String>>,
    pub check_revocation: Option<bool>,
    pub server: ServerDocument,
    pub upstream: Option<UpstreamDocument>,
}

/// `auth.server`: the deployment's own authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ServerDocument {
    /// Whether clients may register themselves (RFC 7591).
    pub dynamic_registration: bool,
    /// Whether a client may be named by the address of its metadata document, which is then fetched.
    pub client_metadata_documents: bool,
    /// Whether terminals may ask for a code to type in (RFC 8628).
    pub device_authorization: bool,
    /// Most days that a grant may last.
    pub max_grant_days: u32,
}

impl Default for ServerDocument {
    fn default() -> Self {
        Self {
            dynamic_registration: true,
            client_metadata_documents: false,
            device_authorization: true,
            max_grant_days: 90,
        }
    }
}

/// `governor`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GovernorDocument {
    /// Most bytes of note text in an answer.
    pub max_response_bytes: Option<usize>,
    /// Most time that one search reads text, in milliseconds.
    pub regex_timeout_ms: Option<u64>,
    /// Most processor time of one call, in milliseconds.
    pub cpu_time_ms: Option<u64>,
}

/// `toolFacade`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FacadeDocument {
    /// Which tools are listed.
    pub mode: Facade,
}

/// `context`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ContextDocument {
    /// The path of the note that the current context starts from, or `daily` for today's.
    pub now: Option<String>,
    /// Globs of the notes that always belong to it.
    pub spine: Option<Vec<String>>,
    /// The time zone of today, by its IANA name.
    pub time_zone: Option<String>,
    /// The language of dates, as Obsidian's is.
    pub locale: Option<String>,
}

/// `query`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueryDocument {
    /// Whether it answers other questions than the specification's, with passages.
    pub passages: bool,
}

/// `bridge`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BridgeDocument {
    /// Whether pages of any origin may call tools that only read, if callers are not authenticated.
    pub any_origin: bool,
}

/// `transports`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TransportsDocument {
    /// HTTP.
    pub http: HttpDocument,
}

/// `transports.http`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HttpDocument {
    /// Host names that a server answers to.
    pub allowed_hosts: Option<Vec<String>>,
    /// Origins whose pages may call.
    pub allowed_origins: Option<Vec<String>>,
}

impl Document {
    /// Parses the document in `bytes`.
    ///
    /// # Errors
    /// When it is too large, is not JSON, or has an unknown field or an invalid value.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        if bytes.len() > MAX_BYTES {
            return Err(DocumentError::new("", format!("write at most {MAX_BYTES} bytes")));
        }
        // Sorted, so that of several faults the same one is always reported.
        let value: Value = sorted(serde_json::from_slice(bytes).map_err(|error| remedy("", &error))?);
        let mut said = BTreeSet::new();
        unsupported_keys::look_through(&value, &mut said)?;
        // Read again from the text, to detect duplicate names.
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let document: Self = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| remedy(&error.path().to_string(), error.inner()))?;
        unsupported_keys::check_lists(&value, "")?;
        let document = Self { said, ..document };
        document.check()?;
        Ok(document)
    }

    /// Parses the document that the vault `id` has of its own: the fields of one of `vaults[]`.
    ///
    /// # Errors
    /// When it is too large, is not JSON, is of another vault, or has an unknown field or an invalid value.
    pub(crate) fn parse_vault(bytes: &[u8], id: &VaultId) -> Result<VaultDocument, DocumentError> {
        serde_json::from_slice::<IgnoredAny>(bytes).map_err(|error| remedy("", &error))?;
        // As a list of one vault, it is held to the same rules.
        let whole = [br#"{"vaults":["#, bytes, b"]}"].concat();
        let within = |path: &str| path.trim_start_matches(FIRST).trim_start_matches('.').to_owned();
        let document = Self::parse(&whole).map_err(|error| DocumentError { path: within(&error.path), ..error })?;
        match document.vaults.unwrap_or_default().pop() {
            Some(vault) if vault.id == id.as_str() => Ok(vault),
            _ => Err(DocumentError::new("id", format!("write {:?}, as the document is called", id.as_str()))),
        }
    }

    /// The key of the folder with the documents of further vaults, if one is named that can be.
    pub(crate) fn further_folder(&self) -> Option<String> {
        folder_of(self.vault_documents.as_deref()?)
    }

    /// Whether the document gives the field at `path`.
    #[must_use]
    pub fn says(&self, path: &str) -> bool {
        self.said.contains(path)
    }

    /// The paths of all given fields.
    pub(crate) const fn said(&self) -> &BTreeSet<String> {
        &self.said
    }

    fn check(&self) -> Result<(), DocumentError> {
        check_acl("acl", &self.acl)?;
        if let Some(vaults) = &self.vaults {
            check_vaults(vaults)?;
        }
        if let Some(folder) = &self.vault_documents {
            check_folder(folder)?;
        }
        self.auth.check()?;
        let GovernorDocument { max_response_bytes, regex_timeout_ms, cpu_time_ms } = self.governor;
        range("governor.maxResponseBytes", max_response_bytes.map(|bytes| bytes as u64), 1_000, 5_000_000)?;
        range("governor.regexTimeoutMs", regex_timeout_ms, 10, 20_000)?;
        range("governor.cpuTimeMs", cpu_time_ms, 100, 60_000)?;
        range("idempotencyTtlSeconds", self.idempotency_ttl_seconds, 60, 7 * 24 * 3600)?;
        range("syncStaleSeconds", self.sync_stale_seconds, 60, 30 * 24 * 3600)?;
        range("elicitTtlSeconds", self.elicit_ttl_seconds, 10, 24 * 3600)?;
        if let Some(throttle) = &self.throttle {
            check_throttle(throttle)?;
        }
        self.context.check()?;
        self.plur.as_ref().map_or(Ok(()), PlurDocument::check)?;
        self.gateway.as_ref().map_or(Ok(()), GatewayDocument::check)?;
        self.embeddings.as_ref().map_or(Ok(()), EmbeddingsDocument::check)?;
        let HttpDocument { allowed_hosts, allowed_origins } = &self.transports.http;
        if let Some(hosts) = allowed_hosts
            && Hosts::parse(&hosts.join(",")).is_none()
        {
            return Err(DocumentError::new("transports.http.allowedHosts", "write host names without ports"));
        }
        if let Some(origins) = allowed_origins {
            let wrong = |remedy| DocumentError::new("transports.http.allowedOrigins", remedy);
            Origins::new(origins).map_err(wrong)?;
        }
        Ok(())
    }
}

impl ContextDocument {
    /// The configuration of the current context; `time_zone` is that of today if the document names none.
    pub(crate) fn current(&self, time_zone: Option<String>) -> CurrentContext {
        let now = self.now.as_deref().and_then(|now| match now {
            DAILY => Some(NowNote::Daily),
            path => VaultPath::parse(path).ok().map(NowNote::At),
        });
        let time_zone = self.time_zone.clone().or(time_zone);
        CurrentContext { now, spine: self.spine.clone(), time_zone, locale: self.locale.clone() }
    }

    fn check(&self) -> Result<(), DocumentError> {
        if let Some(now) = &self.now
            && now != DAILY
            && VaultPath::parse(now).is_err()
        {
            return Err(DocumentError::new("context.now", "write the path of a note, or daily"));
        }
        if self.locale.as_ref().is_some_and(|name| Locale::named(name).is_none()) {
            return Err(DocumentError::new("context.locale", "write the name of a language, such as de or pt-br"));
        }
        if self.time_zone.as_ref().is_some_and(|name| TimeZoneDatabase::bundled().get(name).is_err()) {
            return Err(DocumentError::new("context.timeZone", "write the name of a time zone, such as Europe/Berlin"));
        }
        let is_glob = |glob: &String| !glob.is_empty() && glob.len() <= MAX_GLOB;
        match &self.spine {
            Some(globs) if globs.len() > MAX_SPINE || !globs.iter().all(is_glob) => {
                let remedy =
                    format!("write at most {MAX_SPINE} globs of 1 to {MAX_GLOB} bytes, such as architecture/**");
                Err(DocumentError::new("context.spine", remedy))
            }
            Some(globs) => {
                let wrong =
                    |error: &str| DocumentError::new("context.spine", error.trim_start_matches("context.spine: "));
                check_spine(globs).map_err(|error| wrong(&error.message))
            }
            None => Ok(()),
        }
    }
}

impl AuthDocument {
    fn check(&self) -> Result<(), DocumentError> {
        if self.jwks.is_some() && self.jwks_file.is_some() {
            return Err(DocumentError::new("auth.jwksFile", "there is auth.jwks as well: write one of them"));
        }
        let known = |algorithm: &String| ALGORITHMS.contains(&algorithm.as_str());
        if self.algorithms.as_ref().is_some_and(|list| list.is_empty() || !list.iter().all(known)) {
            return Err(DocumentError::new("auth.algorithms", format!("write some of {}", ALGORITHMS.join(", "))));
        }
        for (path, list) in [("auth.issuers", &self.issuers), ("auth.audiences", &self.audiences)] {
            if list.as_ref().is_some_and(|list| list.is_empty() || list.iter().any(String::is_empty)) {
                return Err(DocumentError::new(path, "write one name at least, or leave it out to take any"));
            }
        }
        range("auth.server.maxGrantDays", Some(self.server.max_grant_days.into()), 1, 366)?;
        self.upstream.as_ref().map_or(Ok(()), UpstreamDocument::check)?;
        let servers = self.authorization_servers.iter().flatten().map(|server| ("auth.authorizationServers", server));
        let mut addresses = self.resource.iter().map(|resource| ("auth.resource", resource)).chain(servers);
        match addresses.find(|(_, address)| !is_address(address)) {
            Some((path, _)) => Err(DocumentError::new(path, "write an address that begins with https://")),
            None => Ok(()),
        }
    }
}

fn check_throttle(throttle: &ThrottleConfig) -> Result<(), DocumentError> {
    let (own, vault) = (&throttle.tiers, &throttle.vault_tiers);
    for (name, tier, of_vault) in [
        ("read", own.read, vault.read),
        ("write", own.write, vault.write),
        ("delete", own.delete, vault.delete),
        ("bulk", own.bulk, vault.bulk),
        ("execute", own.execute, vault.execute),
        ("admin", own.admin, vault.admin),
    ] {
        for (field, tier) in [("tiers", Some(tier)), ("vaultTiers", of_vault)] {
            let path = format!("throttle.{field}.{name}");
            let number = |number: fn(Tier) -> u32| tier.map(|tier| number(tier).into());
            range(&format!("{path}.perMinute"), number(|tier| tier.per_minute), 1, MAX_RATE.into())?;
            range(&format!("{path}.burst"), number(|tier| tier.burst), 1, MAX_RATE.into())?;
        }
    }
    let concurrent = throttle.max_concurrent_writes_per_vault.map(Into::into);
    range("throttle.maxConcurrentWritesPerVault", concurrent, 1, MAX_RATE.into())
}
