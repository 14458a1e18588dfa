//! The settings of a deployment. Binaries pass their environment in, once.

use std::collections::BTreeSet;
use std::str::FromStr;

use atlas_access::token::ALGORITHMS;
use atlas_access::{KeyError, Secret, ThrottleConfig, VisibilityConfig};
use atlas_mirror::location::Variables;
use atlas_mirror::{VaultId, log_filter};
use atlas_ops::Limits;
use atlas_ops::atlas::CurrentContext;
use atlas_ops::atlas::ScalePicture;
use atlas_ops::pipeline::audit::Audit;
use atlas_outbound::Key;
use atlas_tools::facade::Facade;

pub use auth::Auth;
pub use error::SettingsError;
pub use hidden::Hidden;
pub(crate) use names::KNOWN;
pub use tokens::Tokens;
pub use vaults::{FurtherVaults, VaultSettings};

use self::auth::is_address;
use self::names::is_unknown;
use crate::clients::Clients;
use crate::config::embeddings::{EmbeddingsKeys, TOKEN};
use crate::config::obsidian::ObsidianSettings;
use crate::config::services::ServiceSettings;
use crate::config::source::ConfigSource;
use crate::hosts::Hosts;
use crate::origins::Origins;
use crate::proxies::Proxies;

pub(crate) mod auth;
pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod hidden;
mod names;
mod tokens;
mod vaults;

/// The settings of a function or server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `ATLAS_STORE`: URL of the store.
    pub store: String,
    /// `AWS_…`: the connection to a store that is a bucket.
    pub variables: Variables,
    /// `ATLAS_CONFIG`: the location of the configuration document, if there is one.
    pub config: Option<ConfigSource>,
    /// `ATLAS_VAULT`: id of the vault, or of the default one of several.
    pub vault: VaultId,
    /// The vaults, the default one first.
    pub vaults: Vec<VaultSettings>,
    /// The vaults that have documents of their own, if there may be some.
    pub further: Option<FurtherVaults>,
    /// `ATLAS_AUTH`: how callers authenticate.
    pub auth: Auth,
    /// `ATLAS_JWT_…`, `ATLAS_JWKS`, `ATLAS_RESOURCE`, `ATLAS_AUTHORIZATION_SERVERS`, `ATLAS_OAUTH_KEYS`: how tokens are checked.
    pub tokens: Tokens,
    /// The clients known to a host by tokens of their own, if `auth` is none.
    pub clients: Option<Clients>,
    /// `ATLAS_MAX_BYTES`, `ATLAS_MAX_RESULTS`, `ATLAS_SEARCH_NOTES`.
    pub limits: Limits,
    /// `ATLAS_CACHE_BYTES`: the size of the cache.
    pub cache_bytes: usize,
    /// `ATLAS_PORT`: the port of `atlas serve`.
    pub port: u16,
    /// `ATLAS_HOSTS`: host names that `atlas serve` answers to, besides localhost.
    pub hosts: Hosts,
    /// `ATLAS_PROXIES`: the proxies in front of `atlas serve`.
    pub proxies: Proxies,
    /// `ATLAS_ALLOWED_ORIGINS`: origins whose pages may call.
    pub origins: Origins,
    /// Whether pages of any origin may call tools of the Bridge that only read, if callers are not authenticated.
    pub bridge_any_origin: bool,
    /// Which operations are offered.
    pub visibility: VisibilityConfig,
    /// How tools are listed over MCP.
    pub facade: Facade,
    /// The notes of the current context, if configured, and the time zone of today, which a program may set before.
    pub current: CurrentContext,
    /// Whether `query` answers other questions than the specification's, with passages.
    pub query_passages: bool,
    /// How often callers may call, if configured.
    pub throttle: Option<ThrottleConfig>,
    /// `ATLAS_LOG`: the log filter, in the syntax of `tracing`.
    pub log: String,
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`: the collector of spans, in a build that exports them.
    pub otlp_endpoint: Option<String>,
    /// The audit log, if callers are authenticated; none, unless a program sets it.
    pub audit: Audit,
    /// Scales pictures down, if the program can.
    pub scale_picture: Option<ScalePicture>,
    /// How apps are reached: `ATLAS_OBSIDIAN_KEY`, `ATLAS_OBSIDIAN_SECRET`.
    pub obsidian: ObsidianSettings,
    /// The services outside that operations may call: `ATLAS_PLUR_TOKEN`, `ATLAS_GATEWAY_TOKEN`, `ATLAS_EMBEDDINGS_TOKEN`.
    pub services: ServiceSettings,
    /// The settings that were given.
    pub said: GivenSettings,
}

/// The names of the settings that were set, by source; all others have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenSettings {
    /// The variables.
    pub environment: BTreeSet<String>,
    /// The paths in the document, such as `auth.mode`.
    pub document: BTreeSet<String>,
    /// The variables that have no effect here, each with the setting that it was perhaps meant for, which is not set.
    pub mistaken: BTreeSet<(&'static str, &'static str)>,
}

/// The default store: a folder beside the process, so that no account is needed.
pub const DEFAULT_STORE: &str = "file://.atlas-store";
/// The default vault.
pub const DEFAULT_VAULT: &str = "main";
/// The default port of `atlas serve`.
pub const DEFAULT_PORT: u16 = 3737;
const DEFAULT_CACHE_BYTES: usize = 256 << 20;
const DEFAULT_LOG: &str = "info";
const NO_VAULT: &str = "write letters, digits, `.`, `_`, `-`, at most 64";

fn unknown(name: &str) -> SettingsError {
    SettingsError::Unknown { name: name.to_owned(), known: KNOWN.join(", ") }
}

impl Settings {
    /// Refuses an unknown variable with the prefix of settings.
    ///
    /// # Errors [`SettingsError::Unknown`].
    pub fn check_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), SettingsError> {
        names.into_iter().find(|name| is_unknown(name)).map_or(Ok(()), |name| Err(unknown(name)))
    }

    /// Reads the settings among `variables`.
    ///
    /// # Errors
    /// When one is unknown or invalid.
    pub fn read(variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, SettingsError> {
        let vault = value("ATLAS_VAULT", DEFAULT_VAULT, NO_VAULT)?;
        let mut settings = Self::of(vault);
        for (name, text) in variables {
            if KNOWN.contains(&name.as_str()) {
                settings.said.environment.insert(name.clone());
            }
            settings.said.mistaken.extend(names::mistaken(&name).filter(|_| !text.is_empty()));
            match name.as_str() {
                "ATLAS_STORE" => settings.store = text,
                "ATLAS_VAULT" => settings.vault = value("ATLAS_VAULT", &text, NO_VAULT)?,
                "ATLAS_AUTH" => settings.auth = auth(&text)?,
                "ATLAS_JWT_SECRET" => settings.tokens.secret = Some(secret("ATLAS_JWT_SECRET", text)?),
                "ATLAS_JWT_SECRET_FILE" => settings.tokens.secret_file = Some(text),
                "ATLAS_JWKS" => settings.tokens.jwks = Some(text),
                "ATLAS_JWT_ISSUER" => settings.tokens.issuers = list("ATLAS_JWT_ISSUER", &text)?,
                "ATLAS_JWT_AUDIENCE" => settings.tokens.audiences = list("ATLAS_JWT_AUDIENCE", &text)?,
                "ATLAS_JWT_ALGORITHMS" => settings.tokens.algorithms = algorithms(&text)?,
                "ATLAS_RESOURCE" => settings.tokens.resource = Some(url("ATLAS_RESOURCE", &text)?),
                "ATLAS_AUTHORIZATION_SERVERS" => {
                    let name = "ATLAS_AUTHORIZATION_SERVERS";
                    let servers = list(name, &text)?;
                    settings.tokens.authorization_servers =
                        servers.iter().map(|server| url(name, server)).collect::<Result<_, _>>()?;
                }
                "ATLAS_OAUTH_KEYS" => settings.tokens.authority = Some(Hidden(text)),
                "ATLAS_OAUTH_KEYS_FILE" => settings.tokens.authority_file = Some(text),
                "ATLAS_UPSTREAM_SECRET" => {
                    settings.tokens.upstream_secret = Some(Hidden(text)).filter(|Hidden(text)| !text.is_empty())
                }
                "ATLAS_MAX_BYTES" => settings.limits.max_bytes = number("ATLAS_MAX_BYTES", &text, 1_000, 5_000_000)?,
                "ATLAS_MAX_RESULTS" => settings.limits.max_results = number("ATLAS_MAX_RESULTS", &text, 1, 50)?,
                "ATLAS_SEARCH_NOTES" => {
                    settings.limits.search_notes = value("ATLAS_SEARCH_NOTES", &text, "write true or false")?;
                }
                "ATLAS_CACHE_BYTES" => settings.cache_bytes = number("ATLAS_CACHE_BYTES", &text, 0, 1 << 40)?,
                "ATLAS_PORT" => settings.port = value("ATLAS_PORT", &text, "write a port from 0 to 65535")?,
                "ATLAS_HOSTS" => {
                    settings.hosts = Hosts::parse(&text).ok_or_else(|| SettingsError::Value {
                        name: "ATLAS_HOSTS",
                        value: text,
                        remedy: "write host names without ports, comma-separated".to_owned(),
                    })?;
                }
                "ATLAS_PROXIES" => {
                    let remedy = "write at most 16 addresses such as 127.0.0.1, comma-separated";
                    settings.proxies = value("ATLAS_PROXIES", &text, remedy)?;
                }
                "ATLAS_ALLOWED_ORIGINS" => {
                    let origins = list("ATLAS_ALLOWED_ORIGINS", &text)?;
                    settings.origins = Origins::new(&origins).map_err(|remedy| SettingsError::Value {
                        name: "ATLAS_ALLOWED_ORIGINS",
                        value: text,
                        remedy,
                    })?;
                }
                "ATLAS_OBSIDIAN_SECRET" => settings.obsidian.secret = Some(secret("ATLAS_OBSIDIAN_SECRET", text)?),
                "ATLAS_OBSIDIAN_KEY" => {
                    settings.obsidian.keys = ObsidianSettings::keys_of(&text).ok_or_else(|| SettingsError::Value {
                        name: "ATLAS_OBSIDIAN_KEY",
                        value: "…".to_owned(),
                        remedy: "write the plugin's API key, or VAULT=KEY for each vault, comma-separated".to_owned(),
                    })?;
                }
                "ATLAS_PLUR_TOKEN" => settings.services.plur_token = key("ATLAS_PLUR_TOKEN", &text)?,
                "ATLAS_GATEWAY_TOKEN" => settings.services.gateway_token = key("ATLAS_GATEWAY_TOKEN", &text)?,
                TOKEN => settings.services.embeddings_keys.token = key(TOKEN, &text)?,
                "ATLAS_CONFIG" => {
                    settings.config = Some(ConfigSource::parse(&text).map_err(|remedy| SettingsError::Value {
                        name: "ATLAS_CONFIG",
                        value: text.chars().take(200).collect(),
                        remedy,
                    })?);
                }
                "ATLAS_LOG" => {
                    let Some(filter) = log_filter::parse(&text) else {
                        let remedy = log_filter::FORM.to_owned();
                        return Err(SettingsError::Value { name: "ATLAS_LOG", value: text, remedy });
                    };
                    match filter.as_str() {
                        // As if it were not set.
                        "" => drop(settings.said.environment.remove("ATLAS_LOG")),
                        _ => settings.log = filter,
                    }
                }
                "OTEL_EXPORTER_OTLP_ENDPOINT" => settings.otlp_endpoint = Some(text).filter(|text| !text.is_empty()),
                name if is_unknown(name) => return Err(unknown(name)),
                name if EmbeddingsKeys::is_named(name) => settings.services.embeddings_keys.add(name, &text),
                _ => settings.variables.extend([(name, text)]),
            }
        }
        let GivenSettings { environment, mistaken, .. } = &mut settings.said;
        mistaken.retain(|(_, meant)| !environment.contains(*meant));
        settings.vaults = vec![VaultSettings::plain(settings.vault.clone())];
        Ok(settings)
    }

    /// The same of a process that runs where the Obsidian app may run, and so can reach it.
    #[must_use]
    pub fn near_apps(mut self) -> Self {
        self.obsidian.is_near = true;
        self
    }

    /// The settings of a deployment of one vault, with all defaults.
    pub(crate) fn of(vault: VaultId) -> Self {
        Self {
            store: DEFAULT_STORE.to_owned(),
            variables: Variables::default(),
            config: None,
            vaults: vec![VaultSettings::plain(vault.clone())],
            further: None,
            vault,
            auth: Auth::None,
            tokens: Tokens::default(),
            clients: None,
            limits: Limits::default(),
            cache_bytes: DEFAULT_CACHE_BYTES,
            port: DEFAULT_PORT,
            hosts: Hosts::default(),
            proxies: Proxies::default(),
            origins: Origins::default(),
            bridge_any_origin: false,
            visibility: VisibilityConfig::default(),
            facade: Facade::default(),
            current: CurrentContext::default(),
            query_passages: false,
            throttle: None,
            log: DEFAULT_LOG.to_owned(),
            otlp_endpoint: None,
            audit: Audit::default(),
            scale_picture: None,
            obsidian: ObsidianSettings::default(),
            services: ServiceSettings::default(),
            said: GivenSettings::default(),
        }
    }
}

fn value<T: FromStr>(name: &'static str, text: &str, remedy: &str) -> Result<T, SettingsError> {
    text.parse().map_err(|_| SettingsError::Value { name, value: text.to_owned(), remedy: remedy.to_owned() })
}

fn number(name: &'static str, text: &str, min: usize, max: usize) -> Result<usize, SettingsError> {
    let remedy = format!("write a number from {min} to {max}");
    let number = value(name, text, &remedy)?;
    if (min..=max).contains(&number) {
        Ok(number)
    } else {
        Err(SettingsError::Value { name, value: text.to_owned(), remedy })
    }
}

/// A secret is never shown, not even when it is invalid.
fn secret(name: &'static str, text: String) -> Result<Secret, SettingsError> {
    let unusable = |error: KeyError| SettingsError::Value { name, value: "…".to_owned(), remedy: error.to_string() };
    Secret::new(text).map_err(unusable)
}

/// The key of a service; none if the text is empty. It is not shown again either.
fn key(name: &'static str, text: &str) -> Result<Option<Key>, SettingsError> {
    if text.is_empty() {
        return Ok(None);
    }
    let remedy = "write the key as the service gave it: 1 to 4096 characters, none of them a space".to_owned();
    Key::new(text).map(Some).ok_or_else(|| SettingsError::Value { name, value: "…".to_owned(), remedy })
}

/// Comma-separated words; at least one.
fn list(name: &'static str, text: &str) -> Result<Vec<String>, SettingsError> {
    let words: Vec<String> = text.split(',').map(|word| word.trim().to_owned()).collect();
    if words.iter().all(|word| !word.is_empty()) {
        return Ok(words);
    }
    let remedy = "write one, or several, comma-separated".to_owned();
    Err(SettingsError::Value { name, value: text.to_owned(), remedy })
}

fn algorithms(text: &str) -> Result<Vec<String>, SettingsError> {
    let name = "ATLAS_JWT_ALGORITHMS";
    let words = list(name, text)?;
    if words.iter().all(|word| ALGORITHMS.contains(&word.as_str())) {
        return Ok(words);
    }
    Err(SettingsError::Value {
        name,
        value: text.to_owned(),
        remedy: format!("write some of {}", ALGORITHMS.join(", ")),
    })
}

fn url(name: &'static str, text: &str) -> Result<String, SettingsError> {
    if is_address(text) {
        return Ok(text.to_owned());
    }
    Err(SettingsError::Value {
        name,
        value: text.to_owned(),
        remedy: "write an address that begins with https://".to_owned(),
    })
}

fn auth(text: &str) -> Result<Auth, SettingsError> {
    match text {
        "none" => Ok(Auth::None),
        "jwt" => Ok(Auth::Jwt),
        _ => Err(SettingsError::Value {
            name: "ATLAS_AUTH",
            value: text.to_owned(),
            remedy: "write none or jwt".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
