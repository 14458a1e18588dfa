//! The names of variables.

/// The variables that there are.
pub(crate) const KNOWN: [&str; 29] = [
    "ATLAS_STORE",
    "ATLAS_CONFIG",
    "ATLAS_VAULT",
    "ATLAS_AUTH",
    "ATLAS_JWT_SECRET",
    "ATLAS_JWT_SECRET_FILE",
    "ATLAS_JWKS",
    "ATLAS_JWT_ISSUER",
    "ATLAS_JWT_AUDIENCE",
    "ATLAS_JWT_ALGORITHMS",
    "ATLAS_RESOURCE",
    "ATLAS_AUTHORIZATION_SERVERS",
    "ATLAS_OAUTH_KEYS",
    "ATLAS_OAUTH_KEYS_FILE",
    "ATLAS_UPSTREAM_SECRET",
    "ATLAS_MAX_BYTES",
    "ATLAS_MAX_RESULTS",
    "ATLAS_SEARCH_NOTES",
    "ATLAS_CACHE_BYTES",
    "ATLAS_PORT",
    "ATLAS_HOSTS",
    "ATLAS_PROXIES",
    "ATLAS_ALLOWED_ORIGINS",
    "ATLAS_OBSIDIAN_KEY",
    "ATLAS_OBSIDIAN_SECRET",
    "ATLAS_PLUR_TOKEN",
    "ATLAS_GATEWAY_TOKEN",
    "ATLAS_EMBEDDINGS_TOKEN",
    "ATLAS_LOG",
];
/// Names with the prefix that belong to tests, units, builds, the host of a vault or a program that it tells, not to a service.
const IGNORED: [&str; 23] = [
    "ATLAS_ALERT",
    "ATLAS_ALERT_EVENT",
    "ATLAS_ALERT_MESSAGE",
    "ATLAS_BIG",
    "ATLAS_CORPORA",
    "ATLAS_EXPECTED",
    "ATLAS_GIT",
    "ATLAS_GIT_AUTHOR",
    "ATLAS_GIT_BRANCH",
    "ATLAS_GIT_PATHS",
    "ATLAS_GIT_PUSH",
    "ATLAS_HISTORIES",
    "ATLAS_HOST",
    "ATLAS_MERGE",
    "ATLAS_MODEL",
    "ATLAS_RCLONE_RC",
    "ATLAS_RELINK",
    "ATLAS_ROOT",
    "ATLAS_SHARD_BYTES",
    "ATLAS_SOURCE",
    "ATLAS_URL",
    "ATLAS_VAULT_ROOT",
    "ATLAS_WRITE_PICTURES",
];

/// Those of them that are easily written for a setting, and the setting.
const MISTAKEN: [(&str, &str); 2] = [("ATLAS_HOST", "ATLAS_HOSTS"), ("ATLAS_URL", "ATLAS_RESOURCE")];

/// The variable of this name, which has no effect, and the setting that it was perhaps meant for.
pub(super) fn mistaken(name: &str) -> Option<(&'static str, &'static str)> {
    MISTAKEN.into_iter().find(|(mistaken, _)| *mistaken == name)
}

/// Whether no variable of this name is known, though its prefix says that it is one.
pub(super) fn is_unknown(name: &str) -> bool {
    name.starts_with("ATLAS_") && !KNOWN.contains(&name) && !IGNORED.contains(&name)
}
