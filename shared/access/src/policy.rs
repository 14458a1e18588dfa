//! A deployment's rules for callers, as configured: JSON with obsidian-tc's names (its `ServerConfigSchema`).

use serde::{Deserialize, Serialize};

/// The paths of a vault that operations may access (`acl`, `vaults[].acl`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AclConfig {
    /// Whether nothing in the vault may be changed.
    pub read_only: bool,
    /// The scopes that a caller needs for a path that no rule matches, besides the operation's own.
    pub default_scopes: Vec<String>,
    /// The last rule that matches a path determines which scopes a caller needs for it, besides the operation's own.
    pub rules: Vec<AclRule>,
    /// Globs of readable paths; all if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_paths: Option<Vec<String>>,
    /// Globs of writable paths; all if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_paths: Option<Vec<String>>,
    /// Globs of deletable paths; all if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_paths: Option<Vec<String>>,
    /// Whether nothing may be read if `readPaths` is omitted.
    pub strict_read_default: bool,
}

/// The scopes that a caller needs for some paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AclRule {
    /// The paths.
    pub glob: String,
    /// The scopes, all of which are needed.
    #[serde(default)]
    pub scopes: Vec<String>,
}

/// The operations that a deployment offers (`toolVisibility`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct VisibilityConfig {
    /// Only these are listed; all if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    /// These are not listed, but can be called by name.
    pub hidden: Vec<String>,
    /// These do not exist for callers.
    pub disabled: Vec<String>,
    /// Like `hidden`, for the operations with one of these tags.
    pub hidden_tags: Vec<String>,
    /// Like `disabled`, for the operations with one of these tags.
    pub disabled_tags: Vec<String>,
    /// Whether operations that can change something are not listed.
    pub require_read_only: bool,
}

/// How often callers may call (`throttle`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ThrottleConfig {
    /// Whether calls are throttled.
    pub enabled: bool,
    /// The limits by class of operation.
    pub tiers: Tiers,
    /// The limits of all callers of a vault together.
    #[serde(skip_serializing_if = "VaultTiers::is_unlimited")]
    pub vault_tiers: VaultTiers,
    /// Most concurrent changes of one vault; unlimited if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent_writes_per_vault: Option<u32>,
}

impl Default for ThrottleConfig {
    fn default() -> Self {
        let (tiers, vault_tiers) = (Tiers::default(), VaultTiers::default());
        Self { enabled: true, tiers, vault_tiers, max_concurrent_writes_per_vault: None }
    }
}

/// The tiers of a throttle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[allow(missing_docs, reason = "each is the tier of the scope class of its name")]
pub struct Tiers<T = Tier> {
    pub read: T,
    pub write: T,
    pub delete: T,
    pub bulk: T,
    pub execute: T,
    pub admin: T,
}

impl Default for Tiers {
    /// The defaults of obsidian-tc.
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

/// The tiers of a vault; unlimited where omitted.
pub type VaultTiers = Tiers<Option<Tier>>;

impl Default for VaultTiers {
    fn default() -> Self {
        Self { read: None, write: None, delete: None, bulk: None, execute: None, admin: None }
    }
}

impl VaultTiers {
    fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tier {
    /// Calls per minute, on average; at least 1.
    pub per_minute: u32,
    /// Calls at once; at least 1.
    pub burst: u32,
}
