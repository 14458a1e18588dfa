//! Rights that a token grants.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A right that a caller can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Read a vault.
    ReadVault,
    /// Change a vault.
    WriteVault,
    /// Delete from a vault.
    DeleteVault,
    /// Change or delete many notes at once.
    BulkVault,
    /// Decide on others' calls that wait for a person.
    ApproveVault,
    /// Administer the deployment; includes deciding on calls.
    Admin,
    /// Run commands of the Obsidian app.
    ExecuteCommand,
    /// Ask the app's Dataview.
    ExecuteDataview,
    /// Have the app read the text of pictures.
    ExecuteOcr,
    /// Ask the app's make.md.
    ExecuteMakemd,
    /// Open and save workspaces of the app.
    ExecuteWorkspace,
}

/// Those of the vault's files and of administration, in their order.
pub const ALL: [Scope; 6] =
    [Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault, Scope::BulkVault, Scope::ApproveVault, Scope::Admin];

/// Those that a person can grant a client. Deciding on calls and administering is for people.
pub const GRANTABLE: [Scope; 4] = [Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault, Scope::BulkVault];

/// Those of the Obsidian app, in their order; a token that grants `execute:*` grants them all.
pub const EXECUTE: [Scope; 5] =
    [Scope::ExecuteCommand, Scope::ExecuteDataview, Scope::ExecuteOcr, Scope::ExecuteMakemd, Scope::ExecuteWorkspace];

/// Stands for every name that begins with `execute:`.
const EVERY_EXECUTE: &str = "execute:*";

impl Scope {
    /// The scope as tokens spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadVault => "read:vault",
            Self::WriteVault => "write:vault",
            Self::DeleteVault => "delete:vault",
            Self::BulkVault => "bulk:vault",
            Self::ApproveVault => "approve:vault",
            Self::Admin => "admin",
            Self::ExecuteCommand => "execute:command",
            Self::ExecuteDataview => "execute:dataview",
            Self::ExecuteOcr => "execute:ocr",
            Self::ExecuteMakemd => "execute:makemd",
            Self::ExecuteWorkspace => "execute:workspace",
        }
    }

    /// Whether it is of the Obsidian app.
    #[must_use]
    pub const fn is_execute(self) -> bool {
        matches!(
            self,
            Self::ExecuteCommand
                | Self::ExecuteDataview
                | Self::ExecuteOcr
                | Self::ExecuteMakemd
                | Self::ExecuteWorkspace
        )
    }

    const fn bit(self) -> u16 {
        match self {
            Self::ReadVault => 1,
            Self::WriteVault => 1 << 1,
            Self::DeleteVault => 1 << 2,
            Self::BulkVault => 1 << 3,
            Self::Admin => 1 << 4,
            Self::ExecuteCommand => 1 << 5,
            Self::ExecuteDataview => 1 << 6,
            Self::ExecuteOcr => 1 << 7,
            Self::ExecuteMakemd => 1 << 8,
            Self::ExecuteWorkspace => 1 << 9,
            Self::ApproveVault => 1 << 10,
        }
    }
}

/// A text that is not a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a scope is read:vault, write:vault, delete:vault, bulk:vault, approve:vault, admin, or execute: with command, dataview, ocr, makemd or workspace"
)]
pub struct NoScope;

impl FromStr for Scope {
    type Err = NoScope;

    fn from_str(text: &str) -> Result<Self, NoScope> {
        ALL.into_iter().chain(EXECUTE).find(|scope| scope.as_str() == text).ok_or(NoScope)
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

/// Most scopes of one caller besides those that operations require, and the longest of them in bytes.
const MAX_NAMED: usize = 64;
const MAX_NAME: usize = 100;

/// A set of scopes: those that operations require, and others by name, which access rules may require. They may hold for some folders of a
/// vault only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    known: u16,
    named: Vec<String>,
    every: bool,
    folders: Option<Arc<[String]>>,
}

impl Scopes {
    /// All scopes.
    #[must_use]
    pub fn all() -> Self {
        Self { every: true, ..ALL.into_iter().chain(EXECUTE).collect() }
    }

    /// The scopes with these names; at most 64 unknown ones.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut scopes = Self::default();
        for name in names {
            if name == EVERY_EXECUTE {
                scopes.known |= EXECUTE.into_iter().fold(0, |bits, scope| bits | scope.bit());
            }
            match name.parse::<Scope>() {
                Ok(scope) => scopes.known |= scope.bit(),
                Err(NoScope) if name.is_empty() || name.len() > MAX_NAME || scopes.named.len() >= MAX_NAMED => {}
                Err(NoScope) => scopes.named.push(name.to_owned()),
            }
        }
        scopes
    }

    /// Whether `scope` is among them.
    #[must_use]
    pub const fn holds(&self, scope: Scope) -> bool {
        self.known & scope.bit() != 0
    }

    /// Whether the scope with this name is among them; `execute:*` stands for all names that begin with `execute:`.
    #[must_use]
    pub fn holds_named(&self, name: &str) -> bool {
        let is_wild = |held: &str| held == EVERY_EXECUTE && name.starts_with(EVERY_EXECUTE.trim_end_matches('*'));
        match name.parse() {
            Ok(scope) => self.holds(scope),
            Err(NoScope) => self.every || self.named.iter().any(|held| held == name || is_wild(held)),
        }
    }

    /// Their names, of which [`named`](Self::named) makes the same scopes, for the whole vault. Those of a trusted process stand for others too.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let known = ALL.into_iter().chain(EXECUTE).filter(|scope| self.holds(*scope));
        known.map(|scope| scope.as_str().to_owned()).chain(self.named.iter().cloned()).collect()
    }

    /// The same scopes, for what is in these folders only: paths relative to the vault's root, in NFC, without a slash at the end.
    #[must_use]
    pub fn within(self, folders: &[String]) -> Self {
        Self { folders: Some(folders.into()), ..self }
    }

    /// The same scopes, for the folders that `other` holds for.
    #[must_use]
    pub fn within_those_of(self, other: &Self) -> Self {
        Self { folders: other.folders.clone(), ..self }
    }

    /// The folders that they hold for; [`None`] for the whole vault.
    #[must_use]
    pub fn folders(&self) -> Option<&[String]> {
        self.folders.as_deref()
    }

    /// Whether they hold for `path`, which is relative to the vault's root and in NFC.
    #[must_use]
    pub fn hold_at(&self, path: &str) -> bool {
        let is_in = |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.folders.as_ref().is_none_or(|folders| folders.iter().any(is_in))
    }

    /// Those of `required` that are not among them. Who administers may decide on calls too.
    #[must_use]
    pub fn missing(&self, required: &[Scope]) -> Vec<Scope> {
        let is_held = |scope: Scope| self.holds(scope) || (scope == Scope::ApproveVault && self.holds(Scope::Admin));
        required.iter().copied().filter(|scope| !is_held(*scope)).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<T: IntoIterator<Item = Scope>>(scopes: T) -> Self {
        Self { known: scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()), ..Self::default() }
    }
}
