//! Who calls.

use sha2::{Digest as _, Sha256};

use crate::scope::{Scope, Scopes};

/// Who makes a call, and what they may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    name: String,
    scopes: Scopes,
    binding: Binding,
    authenticated: bool,
}

/// Which vaults a caller can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// All of the deployment: the process that calls is trusted.
    Every,
    /// The default one: a token that names none.
    Default,
    /// This one.
    One(String),
}

impl Caller {
    /// A process that is trusted: at the host, or where callers are not told apart.
    #[must_use]
    pub fn trusted(name: &str) -> Self {
        Self { name: name.to_owned(), scopes: Scopes::all(), binding: Binding::Every, authenticated: true }
    }

    /// Somebody who has shown no token.
    #[must_use]
    pub fn nobody() -> Self {
        let (scopes, binding) = (Scopes::default(), Binding::Default);
        Self { name: "nobody".to_owned(), scopes, binding, authenticated: false }
    }

    /// Somebody of this name with these scopes, for the default vault.
    #[must_use]
    pub fn of_scopes(name: &str, scopes: Scopes) -> Self {
        Self::subject(name.to_owned(), scopes, Binding::Default)
    }

    /// The subject of a token.
    pub(crate) fn subject(name: String, scopes: Scopes, binding: Binding) -> Self {
        Self { name, scopes, binding, authenticated: true }
    }

    /// Their name, as commits and logs keep it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Their scopes.
    #[must_use]
    pub const fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// Whether they have shown who they are.
    #[must_use]
    pub const fn is_authenticated(&self) -> bool {
        self.authenticated
    }

    /// Whether they are a process that is trusted, rather than whoever has a token.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.binding == Binding::Every
    }

    /// Those of `required` that they do not hold.
    #[must_use]
    pub fn missing(&self, required: &[Scope]) -> Vec<Scope> {
        self.scopes.missing(required)
    }

    /// Whether they may name the vault `id`; `default` is the deployment's default vault. The answer does not depend on whether
    /// there is such a vault.
    #[must_use]
    pub fn may_name(&self, id: &str, default: &str) -> bool {
        match &self.binding {
            Binding::Every => true,
            Binding::Default => id == default,
            Binding::One(vault) => id == vault,
        }
    }

    /// The vault that they mean when they name none; [`None`] for the default one.
    #[must_use]
    pub fn vault(&self) -> Option<&str> {
        match &self.binding {
            Binding::One(vault) => Some(vault),
            Binding::Every | Binding::Default => None,
        }
    }

    /// What stands for them where their name must not: 16 hexadecimal digits.
    #[must_use]
    pub fn pseudonym(&self) -> String {
        let hash = Sha256::digest(format!("atlas caller {}", self.name));
        hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}
