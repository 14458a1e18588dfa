//! What a deployment decides about its callers, as its configuration spells it: obsidian-tc's names (its `ServerConfigSchema`), in JSON.

use serde::{Deserialize, Serialize};

/// Which paths of a vault operations may touch (`acl`, `vaults[].acl`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AclConfig {
    /// Nothing of the vault may be changed.
    pub read_only: bool,
    /// The scopes that a caller needs for a path that no rule matches, besides the operation's own.
    pub default_scopes: Vec<String>,
    /// The last one that matches a path decides which scopes a caller needs for it, besides the operation's own.
    pub rules: Vec<AclRule>,
    /// Globs of what may be read; everything if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_paths: Option<Vec<String>>,
    /// Globs of what may be written; everything if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_paths: Option<Vec<String>>,
    /// Globs of what may be deleted; everything if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_paths: Option<Vec<String>>,
    /// Nothing may be read if `readPaths` is left out.
    pub strict_read_default: bool,
}

/// What a caller needs for some paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AclRule {
    /// The paths.
    pub glob: String,
    /// All of these.
    #[serde(default)]
    pub scopes: Vec<String>,
}

/// Which operations are offered (`toolVisibility`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VisibilityConfig {
    /// Only these are listed; all if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    /// These are not listed, and answer who knows their names.
    pub hidden: Vec<String>,
    /// These are not there.
    pub disabled: Vec<String>,
    /// As `hidden`, for the operations with one of these tags.
    pub hidden_tags: Vec<String>,
    /// As `disabled`, for the operations with one of these tags.
    pub disabled_tags: Vec<String>,
    /// Operations that can change something are not listed.
    pub require_read_only: bool,
}

/// How often callers may call (`throttle`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ThrottleConfig {
    /// Whether any of it holds.
    pub enabled: bool,
    /// Calls, by what they do.
    pub tiers: Tiers,
    /// How many changes of one vault may be under way; any number if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent_writes_per_vault: Option<u32>,
}

impl Default for ThrottleConfig {
    fn default() -> Self {
        Self { enabled: true, tiers: Tiers::default(), max_concurrent_writes_per_vault: None }
    }
}

/// The tiers of a throttle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[allow(missing_docs, reason = "each is the tier of the scope class of its name")]
pub struct Tiers {
    pub read: Tier,
    pub write: Tier,
    pub delete: Tier,
    pub bulk: Tier,
    pub execute: Tier,
    pub admin: Tier,
}

impl Default for Tiers {
    /// obsidian-tc's.
    fn default() -> Self {
        let tier = |per_minute, burst| Tier { per_minute, burst };
        Self {
            read: tier(600, 100),
            write: tier(60, 20),
            delete: tier(60, 20),
            bulk: tier(10, 3),
            execute: tier(5, 1),
            admin: tier(5, 1),
        }
    }
}

/// A token bucket for each caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tier {
    /// Calls a minute, in the long run; at least 1.
    pub per_minute: u32,
    /// Calls at once; at least 1.
    pub burst: u32,
}
