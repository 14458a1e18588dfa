//! Lists every setting with its value and its source.

use atlas_ops::atlas::{MEMORY, PROMPTS};
use atlas_ops::sorted;
use atlas_vault::VaultPath;
use serde::Serialize;
use serde_json::{Value, json};

use crate::config::merge::PAIRS;
use crate::config::source::OBJECT;
use crate::settings::{KNOWN, Settings};

/// A setting, its value and its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The variable or the path in the document, or both, separated by a space.
    pub setting: String,
    /// Its value; secrets are masked.
    pub value: Value,
    /// The source of the value.
    pub source: SettingSource,
}

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingSource {
    /// The default.
    Default,
    /// An argument of the command.
    Named,
    /// An earlier sync of the folder.
    Remembered,
    /// A variable.
    Environment,
    /// The document.
    Document,
}

impl SettingSource {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Named => "named",
            Self::Remembered => "remembered",
            Self::Environment => "environment",
            Self::Document => "document",
        }
    }
}

/// Replaces secrets.
const MASK: &str = "(set)";

/// All settings: the variables, then those that only a document has.
#[must_use]
pub fn list(settings: &Settings) -> Vec<Row> {
    let variables = KNOWN.iter().map(|variable| {
        let paths = PAIRS.iter().find(|(name, _)| name == variable).map(|(_, paths)| *paths).unwrap_or_default();
        let setting = [&[*variable], paths].concat().join(" ");
        let source = if settings.said.environment.contains(*variable) {
            SettingSource::Environment
        } else {
            of_document(settings, paths)
        };
        Row { setting, value: of_variable(settings, variable), source }
    });
    let ids: Vec<&str> = settings.vaults.iter().map(|vault| vault.id.as_str()).collect();
    let limits = &settings.limits;
    let rest = [
        ("vaults", json!(ids)),
        ("vaultDocuments", json!(settings.further.as_ref().map(|further| format!("{OBJECT}{}", further.folder)))),
        ("auth.server", json!(settings.tokens.server)),
        ("auth.upstream", json!(settings.tokens.upstream)),
        ("auth.checkRevocation", json!(settings.tokens.check_revocation)),
        ("governor.maxResponseBytes", json!(limits.max_response_bytes)),
        ("governor.regexTimeoutMs", json!(limits.max_scan_time.as_millis())),
        ("governor.cpuTimeMs", json!(limits.max_cpu_time.as_millis())),
        ("toolVisibility", json!(settings.visibility)),
        ("toolFacade.mode", json!(settings.facade)),
        ("bridge.anyOrigin", json!(settings.bridge_any_origin)),
        ("context.now", json!(settings.current.now.as_ref().map(ToString::to_string))),
        ("context.spine", json!(settings.current.spine)),
        ("context.timeZone", json!(settings.current.time_zone)),
        ("context.locale", json!(settings.current.locale)),
        ("query.passages", json!(settings.query_passages)),
        ("plur", json!(settings.services.plur)),
        ("gateway", json!(settings.services.gateway)),
        ("embeddings", json!(settings.services.embeddings)),
        ("throttle", json!(settings.throttle)),
        ("idempotencyTtlSeconds", json!(limits.key_time.as_secs())),
        ("elicitTtlSeconds", json!(limits.confirmation_time.as_secs())),
        ("syncStaleSeconds", json!(limits.max_sync_age.as_secs())),
    ];
    let rest =
        rest.map(|(path, value)| Row { setting: path.to_owned(), value, source: of_document(settings, &[path]) });
    let acls = settings.vaults.iter().map(|vault| Row {
        setting: format!("acl of {}", vault.id),
        value: json!(vault.acl),
        source: if vault.has_own_acl { SettingSource::Document } else { of_document(settings, &["acl"]) },
    });
    let folders = settings.vaults.iter().flat_map(|vault| {
        [("memory", &vault.memory, MEMORY), ("prompts", &vault.prompts, PROMPTS)].map(|(name, folder, usual)| Row {
            setting: format!("{name}.folder of {}", vault.id),
            value: json!(folder.as_ref().map_or(usual, VaultPath::as_str)),
            source: if folder.is_some() { SettingSource::Document } else { SettingSource::Default },
        })
    });
    let apps = settings.vaults.iter().filter_map(|vault| {
        let value = json!(vault.obsidian.as_ref()?);
        Some(Row { setting: format!("obsidian of {}", vault.id), value, source: SettingSource::Document })
    });
    variables
        .chain(rest)
        .chain(acls)
        .chain(folders)
        .chain(apps)
        .map(|row| Row { value: sorted(row.value), ..row })
        .collect()
}

fn of_document(settings: &Settings, paths: &[&str]) -> SettingSource {
    if paths.iter().any(|path| settings.said.document.contains(*path)) {
        SettingSource::Document
    } else {
        SettingSource::Default
    }
}

fn of_variable(settings: &Settings, variable: &str) -> Value {
    let (tokens, limits) = (&settings.tokens, &settings.limits);
    match variable {
        "ATLAS_STORE" => json!(settings.store),
        "ATLAS_CONFIG" => json!(settings.config.as_ref().map(ToString::to_string)),
        "ATLAS_VAULT" => json!(settings.vault.as_str()),
        "ATLAS_AUTH" => json!(settings.auth),
        "ATLAS_JWT_SECRET" => json!(tokens.secret.as_ref().map(|_| MASK)),
        "ATLAS_JWT_SECRET_FILE" => json!(tokens.secret_file),
        // Inline keys may have private parts by mistake.
        "ATLAS_JWKS" => json!(tokens.jwks.as_ref().map(|jwks| if jwks.contains('{') { MASK } else { jwks })),
        "ATLAS_JWT_ISSUER" => json!(tokens.issuers),
        "ATLAS_JWT_AUDIENCE" => json!(tokens.audiences),
        "ATLAS_JWT_ALGORITHMS" => json!(tokens.algorithms),
        "ATLAS_RESOURCE" => json!(tokens.resource),
        "ATLAS_AUTHORIZATION_SERVERS" => json!(tokens.authorization_servers),
        "ATLAS_OAUTH_KEYS" => json!(tokens.authority.as_ref().map(|_| MASK)),
        "ATLAS_OAUTH_KEYS_FILE" => json!(tokens.authority_file),
        "ATLAS_UPSTREAM_SECRET" => json!(tokens.upstream_secret.as_ref().map(|_| MASK)),
        "ATLAS_PLUR_TOKEN" => json!(settings.services.plur_token.as_ref().map(|_| MASK)),
        "ATLAS_GATEWAY_TOKEN" => json!(settings.services.gateway_token.as_ref().map(|_| MASK)),
        "ATLAS_EMBEDDINGS_TOKEN" => json!(settings.services.embeddings_keys.token.as_ref().map(|_| MASK)),
        "ATLAS_MAX_BYTES" => json!(limits.max_bytes),
        "ATLAS_MAX_RESULTS" => json!(limits.max_results),
        "ATLAS_SEARCH_NOTES" => json!(limits.search_notes),
        "ATLAS_CACHE_BYTES" => json!(settings.cache_bytes),
        "ATLAS_PORT" => json!(settings.port),
        "ATLAS_HOSTS" => json!(settings.hosts.names()),
        "ATLAS_PROXIES" => json!(settings.proxies.addresses()),
        "ATLAS_ALLOWED_ORIGINS" => json!(settings.origins.iter().collect::<Vec<_>>()),
        "ATLAS_OBSIDIAN_KEY" => json!((!settings.obsidian.keys.is_empty()).then_some(MASK)),
        "ATLAS_OBSIDIAN_SECRET" => json!(settings.obsidian.secret.as_ref().map(|_| MASK)),
        "ATLAS_LOG" => json!(settings.log),
        _ => Value::Null,
    }
}
