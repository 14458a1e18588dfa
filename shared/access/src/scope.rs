//! Rights that a token grants.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A right that a caller can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// See what is in a vault.
    ReadVault,
    /// Change what is in a vault.
    WriteVault,
    /// Take what is in a vault out of it.
    DeleteVault,
    /// Do either to many notes at once.
    BulkVault,
    /// See and decide how the deployment is used by others.
    Admin,
}

/// All of them, in their order.
pub const ALL: [Scope; 5] = [Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault, Scope::BulkVault, Scope::Admin];

impl Scope {
    /// The scope as tokens spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadVault => "read:vault",
            Self::WriteVault => "write:vault",
            Self::DeleteVault => "delete:vault",
            Self::BulkVault => "bulk:vault",
            Self::Admin => "admin",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::ReadVault => 1,
            Self::WriteVault => 1 << 1,
            Self::DeleteVault => 1 << 2,
            Self::BulkVault => 1 << 3,
            Self::Admin => 1 << 4,
        }
    }
}

/// Text that is no scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a scope is read:vault, write:vault, delete:vault, bulk:vault or admin")]
pub struct NoScope;

impl FromStr for Scope {
    type Err = NoScope;

    fn from_str(text: &str) -> Result<Self, NoScope> {
        ALL.into_iter().find(|scope| scope.as_str() == text).ok_or(NoScope)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Some scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// Every scope there is.
    #[must_use]
    pub fn all() -> Self {
        ALL.into_iter().collect()
    }

    /// Whether `scope` is among them.
    #[must_use]
    pub const fn holds(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Those of `required` that are not among them.
    #[must_use]
    pub fn missing(self, required: &[Scope]) -> Vec<Scope> {
        required.iter().copied().filter(|scope| !self.holds(*scope)).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<T: IntoIterator<Item = Scope>>(scopes: T) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}
