//! The caller of an operation.

use sha2::{Digest as _, Sha256};

use crate::scope::{Scope, Scopes};

/// A caller and their rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    name: String,
    identity: String,
    client: Option<String>,
    grant: Option<String>,
    scopes: Scopes,
    binding: Binding,
    authenticated: bool,
}

/// The vaults that a caller can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// All vaults of the deployment: the calling process is trusted.
    Every,
    /// The default vault: the token names none.
    Default,
    /// This one.
    One(String),
}

impl Caller {
    /// A trusted process: on the host, or where callers are not told apart.
    #[must_use]
    pub fn trusted(name: &str) -> Self {
        Self::subject(name.to_owned(), None, Scopes::all(), Binding::Every)
    }

    /// A caller without a token.
    #[must_use]
    pub fn nobody() -> Self {
        let nobody = Self::subject("nobody".to_owned(), None, Scopes::default(), Binding::Default);
        Self { authenticated: false, ..nobody }
    }

    /// A caller without a token, where reading needs none.
    #[must_use]
    pub fn reader() -> Self {
        Self { scopes: [Scope::ReadVault].into_iter().collect(), ..Self::nobody() }
    }

    /// A caller with this name and these scopes, for the default vault.
    #[must_use]
    pub fn of_scopes(name: &str, scopes: Scopes) -> Self {
        Self::subject(name.to_owned(), None, scopes, Binding::Default)
    }

    /// The subject of a token. Subjects are unique only per issuer (RFC 7519, section 4.1.2). Names have no line feed, so two pairs of issuer and
    /// name never make one identity.
    pub(crate) fn subject(name: String, issuer: Option<&str>, scopes: Scopes, binding: Binding) -> Self {
        let identity = issuer.map_or_else(|| name.clone(), |issuer| format!("{issuer}\n{name}"));
        Self { name, identity, client: None, grant: None, scopes, binding, authenticated: true }
    }

    /// The same caller, through this client.
    #[must_use]
    pub(crate) fn through(self, client: Option<String>) -> Self {
        Self { client, ..self }
    }

    /// The same caller, by this grant of the deployment's own authorization server.
    #[must_use]
    pub(crate) fn by_grant(self, grant: Option<String>) -> Self {
        Self { grant, ..self }
    }

    /// Their name, as stored in commits and logs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Their identity, which no other caller has.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The client that calls for them, if the token names it.
    #[must_use]
    pub fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// The grant that their token is of, if the deployment's own authorization server gave it.
    #[must_use]
    pub fn grant(&self) -> Option<&str> {
        self.grant.as_deref()
    }

    /// Their scopes.
    #[must_use]
    pub const fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// Whether they have authenticated.
    #[must_use]
    pub const fn is_authenticated(&self) -> bool {
        self.authenticated
    }

    /// Whether they are a trusted process rather than the bearer of a token.
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

    /// A pseudonym for places where their name must not appear: 16 hexadecimal digits.
    #[must_use]
    pub fn pseudonym(&self) -> String {
        let hash = Sha256::digest(format!("atlas caller {}", self.identity));
        hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}
