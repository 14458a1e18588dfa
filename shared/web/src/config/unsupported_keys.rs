//! Refuses fields that a JSON reader would silently accept or drop: names of obsidian-tc that have no meaning here,
//! null, and lists instead of objects. Each is refused with the reason, since its author expects an effect.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::config::error::DocumentError;

const NO_CACHE: &str = "nothing is kept outside of the store";
const NO_SERVICE: &str = "there is no such service";
const IN_OBSIDIAN: &str = "`vaults[].obsidian` says how the app is reached";
const ELSEWHERE: &str = "`atlas serve` and the functions' gateway decide it";

const NAMES: [(&str, &str); 28] = [
    ("cacheDir", NO_CACHE),
    ("maintenance", NO_CACHE),
    ("idempotencyReclaimSeconds", "a call that was cut short is finished by its repetition, whenever that comes"),
    ("retrieval", NO_SERVICE),
    ("experiential", NO_SERVICE),
    ("plur.command", "no program is run here; `plur.endpoint` names a service"),
    ("gateway.models", "one model answers all; `gateway.model` names it"),
    ("reranker", NO_SERVICE),
    ("plane", NO_SERVICE),
    ("roles", NO_SERVICE),
    ("bootstrap", NO_SERVICE),
    ("observability", "ATLAS_LOG and OTEL_EXPORTER_OTLP_ENDPOINT configure what is logged"),
    ("writes", "replacing a note always needs its version"),
    ("snapshots", "every version is kept for 30 days"),
    ("vaults[].path", "a vault is read from the store; `atlas sync --root` names its folder"),
    ("vaults[].restApiUrl", IN_OBSIDIAN),
    ("vaults[].mode", IN_OBSIDIAN),
    ("vaults[].bridges", IN_OBSIDIAN),
    ("vaults[].plugins", IN_OBSIDIAN),
    ("vaults[].commands", IN_OBSIDIAN),
    ("vaults[].workspace", NO_SERVICE),
    ("auth.tokenTtlSeconds", "`atlas token --ttl` says it of each token"),
    ("auth.resourceName", "the deployment has an address and no name"),
    ("auth.scopesSupported", "they are always the same"),
    ("transports.stdio", ELSEWHERE),
    ("transports.http.enabled", ELSEWHERE),
    ("transports.http.host", ELSEWHERE),
    ("transports.http.port", ELSEWHERE),
];
/// Secrets, and the variables that have them.
const SECRETS: [(&str, &str); 7] = [
    ("auth.jwtSecret", "ATLAS_JWT_SECRET"),
    ("auth.upstream.clientSecret", "ATLAS_UPSTREAM_SECRET"),
    ("vaults[].restApiKey", "ATLAS_OBSIDIAN_KEY"),
    ("vaults[].obsidian.restApiKey", "ATLAS_OBSIDIAN_KEY"),
    ("plur.apiKey", "ATLAS_PLUR_TOKEN"),
    ("gateway.token", "ATLAS_GATEWAY_TOKEN"),
    ("embeddings.apiKey", "ATLAS_EMBEDDINGS_TOKEN"),
];
const PROTECTION: &str = "transports.http.enableDnsRebindingProtection";

/// Names whose values are lists.
const LISTS: [&str; 23] = [
    "vaults",
    "rules",
    "scopes",
    "defaultScopes",
    "readPaths",
    "writePaths",
    "deletePaths",
    "algorithms",
    "issuers",
    "audiences",
    "authorizationServers",
    "subjects",
    "emails",
    "origins",
    "allowed",
    "hidden",
    "disabled",
    "hiddenTags",
    "disabledTags",
    "allowedHosts",
    "allowedOrigins",
    "spine",
    "safeCommands",
];

/// Refuses lists instead of objects: the reader would take a list for the values of an object in order.
pub(crate) fn check_lists(value: &Value, path: &str) -> Result<(), DocumentError> {
    match value {
        Value::Array(items) => {
            if !LISTS.contains(&path.rsplit('.').next().unwrap_or_default()) {
                return Err(DocumentError::new(path, "write an object instead of a list"));
            }
            items.iter().enumerate().try_for_each(|(index, item)| check_lists(item, &format!("{path}[{index}]")))
        }
        Value::Object(_) if path == "auth.jwks" => Ok(()),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            check_lists(value, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") })
        }),
        _ => Ok(()),
    }
}

/// Finds refused values at any depth, and collects all names.
pub(crate) fn look_through(document: &Value, said: &mut BTreeSet<String>) -> Result<(), DocumentError> {
    walk(document, "", "", said)
}

/// `pattern` is `path` with `[]` for every index.
fn walk(value: &Value, path: &str, pattern: &str, said: &mut BTreeSet<String>) -> Result<(), DocumentError> {
    refuse(path, pattern)?;
    match value {
        // Some readers treat null as omitted, which would remove a limit.
        Value::Null => Err(DocumentError::new(path, "write a value instead of null, or leave it out")),
        // Keys have names of their own.
        Value::Object(_) if pattern == "auth.jwks" => Ok(()),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            let within = |place: &str| if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            said.insert(within(path));
            walk(value, &within(path), &within(pattern), said)
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| walk(item, &format!("{path}[{index}]"), &format!("{pattern}[]"), said)),
        _ => Ok(()),
    }
}

fn refuse(path: &str, pattern: &str) -> Result<(), DocumentError> {
    if let Some((_, variable)) = SECRETS.iter().find(|(name, _)| *name == pattern) {
        return Err(DocumentError::new(path, format!("a secret must not be in a document: set {variable} instead")));
    }
    if pattern == PROTECTION {
        return Err(DocumentError::new(path, "the protection is always on: leave it out"));
    }
    match NAMES.iter().find(|(name, _)| *name == pattern) {
        Some((_, why)) => Err(DocumentError::new(path, format!("it has no meaning here, since {why}: leave it out"))),
        None => Ok(()),
    }
}
