//! The trait of operations.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use atlas_access::Scope;
use atlas_access::acl::Denied;
use atlas_access::{Access, Caller};
use atlas_mirror::{CommitKey, Snapshot};
use atlas_vault::VaultPath;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::atlas::{Atlas, Limits, Vault};
use crate::error::{Code, Error, Reason};
use crate::pipeline::aliases::Alias;
use crate::pipeline::confirmation::Confirmation;
use crate::pipeline::work::Work;
use crate::read::view::View;

/// The static description of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name for doors and tokens.
    pub name: &'static str,
    /// A short title for people.
    pub title: &'static str,
    /// Its purpose and when to use it, for people and agents.
    pub description: &'static str,
    /// The scopes that a caller needs.
    pub scopes: &'static [Scope],
    /// Whether it can destroy a person's text.
    pub destructive: bool,
    /// Whether repeating a call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// Whether it changes something outside of the vault, such as a caller's permissions.
    pub acts: bool,
    /// Whether it asks a service that is not of this deployment.
    pub asks_outside: bool,
    /// Other names of its arguments.
    pub aliases: &'static [Alias],
    /// Its topics, by which a deployment's configuration can name groups of operations.
    pub tags: &'static [&'static str],
}

impl Info {
    /// The defaults for operations that destroy nothing.
    pub const HARMLESS: Self = Self {
        name: "",
        title: "",
        description: "",
        scopes: &[],
        destructive: false,
        idempotent: false,
        acts: false,
        asks_outside: false,
        aliases: &[],
        tags: &[],
    };

    /// Whether it can change the vault.
    pub fn writes(&self) -> bool {
        self.scopes.iter().any(|scope| matches!(scope, Scope::WriteVault | Scope::DeleteVault | Scope::BulkVault))
    }

    /// Whether it changes nothing at all.
    pub fn changes_nothing(&self) -> bool {
        !self.writes() && !self.acts
    }

    /// Whether it only reads the vault.
    pub fn only_reads(&self) -> bool {
        self.scopes.iter().all(|scope| *scope == Scope::ReadVault)
    }

    /// Whether a person must confirm every call, except those that the operation exempts.
    fn is_to_be_confirmed(&self) -> bool {
        self.destructive || self.scopes.contains(&Scope::BulkVault)
    }
}

/// One operation: its arguments, its result, and its code.
pub trait Operation {
    /// Its description.
    const INFO: Info;
    /// Its arguments. Unknown fields are errors.
    type Arguments: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// Its result.
    type Output: Serialize + JsonSchema + Send;

    /// The paths in its arguments, and how it accesses them. The access list is checked for them before the operation
    /// runs. For paths found later, the operation calls [`Context::check`], or reads through a [`View`].
    ///
    /// # Errors
    /// When a path is invalid.
    fn accesses(_: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(Vec::new())
    }

    /// Whether a person must confirm a call with these arguments. By default that is every call of an operation that
    /// can destroy a person's text. Where it depends on the content of the vault, the operation reads first, and then
    /// calls [`Batch::require_confirmation`](crate::write::batch::Batch::require_confirmation).
    fn needs_confirmation(_: &Self::Arguments) -> bool {
        Self::INFO.is_to_be_confirmed()
    }

    /// Whether a call with these arguments changes nothing and only reports: then it takes no key.
    fn is_dry_run(_: &Self::Arguments) -> bool {
        false
    }

    /// Runs it.
    fn run(
        context: &Context<'_>,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<Answer<Self::Output>, Error>> + Send;
}

/// A path, and how an operation accesses it.
pub type PathAccess = (Access, VaultPath);

/// A result, and the generation of the vault that it was read from or that it created.
#[derive(Clone, Debug)]
pub struct Answer<T> {
    /// The result.
    pub value: T,
    /// The generation; [`None`] if the vault was not read.
    pub generation: Option<u64>,
}

impl<T> Answer<T> {
    /// The same answer with another value.
    pub fn map<U>(self, value: impl FnOnce(T) -> U) -> Answer<U> {
        Answer { value: value(self.value), generation: self.generation }
    }
}

/// The environment of one call.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The deployment.
    pub atlas: &'a Atlas,
    /// The vault of the call.
    pub vault: &'a Vault,
    /// The limits of the call.
    pub limits: &'a Limits,
    /// The caller.
    pub caller: &'a Caller,
    /// The caller's name for the work that the call belongs to. Commits store it.
    pub session: Option<&'a str>,
    /// The key of its commit, if it can change the vault and has an idempotency key.
    pub key: Option<CommitKey>,
    /// The time of the call.
    pub now: Timestamp,
    /// The time of the first call with the same key, if this call repeats it.
    pub first_made: Timestamp,
    /// Returns the current time.
    pub clock: fn() -> Timestamp,
    /// The work that it has done.
    pub work: &'a Work,
    /// The call's confirmation; [`None`] if it never needs one.
    pub(crate) confirmation: Option<&'a Confirmation<'a>>,
}

/// The time by which a call must end.
#[derive(Clone, Copy)]
pub struct Deadline {
    clock: fn() -> Timestamp,
    at: Timestamp,
}

impl Deadline {
    /// Whether it has passed.
    pub fn has_passed(self) -> bool {
        (self.clock)() >= self.at
    }
}

impl<'a> Context<'a> {
    /// The same call with other limits.
    pub const fn with_limits<'b>(&self, limits: &'b Limits) -> Context<'b>
    where
        'a: 'b,
    {
        Context { limits, ..*self }
    }

    /// The same call, whose commit is found by `key` when something of the kind is done again.
    pub const fn with_key<'b>(&self, key: CommitKey) -> Context<'b>
    where
        'a: 'b,
    {
        Context { key: Some(key), ..*self }
    }

    /// `snapshot` as the caller sees it.
    pub fn view(&self, snapshot: Arc<Snapshot>) -> View {
        self.vault.view(snapshot, self.caller.scopes())
    }

    /// Fails if the caller may not access `path` in this way. The answer does not depend on what exists there.
    pub fn check(&self, access: Access, path: &VaultPath) -> Result<(), Error> {
        let denied = match self.vault.acl().check(access, path.as_str(), self.caller.scopes()) {
            Ok(()) => return Ok(()),
            Err(Denied::ReadOnly) => return Err(read_only()),
            Err(denied) => denied,
        };
        let access = access.as_str();
        tracing::debug!(%denied, access, "denied");
        let message = format!("you may not {access} {path}");
        Err(Error::new(Code::Forbidden, Reason::AclDenied, message).with("path", path.as_str()).with("op", access))
    }

    /// Fails if the caller does not hold the scope `name`, which no operation asks for by itself.
    pub fn check_scope(&self, name: &str) -> Result<(), Error> {
        if self.caller.scopes().holds_named(name) {
            return Ok(());
        }
        let message = format!("the token does not grant {name}");
        Err(Error::new(Code::Forbidden, Reason::ScopeMissing, message).with("required", vec![name]))
    }

    /// Fails if nothing of the vault may be changed: for what is not at a path that the caller named.
    pub fn check_writable(&self) -> Result<(), Error> {
        if self.vault.acl().is_read_only() { Err(read_only()) } else { Ok(()) }
    }

    /// Fails if the caller may not access Obsidian's settings at `file` in this way. They are of the whole vault and may tell of any note, so they are
    /// for callers who may read all of it, and the list for this access has to have the file or be left out.
    pub fn check_settings(&self, access: Access, file: &str) -> Result<(), Error> {
        let acl = self.vault.acl();
        if acl.is_read_only() && access != Access::Read {
            return Err(read_only());
        }
        if acl.reader(self.caller.scopes()).is_none() && acl.lists(access, file) {
            return Ok(());
        }
        let access = access.as_str();
        let message = format!(
            "you may not {access} {file}, which is of the whole vault: it takes the right to read all of that, and to {access} this file"
        );
        Err(Error::new(Code::Forbidden, Reason::AclDenied, message).with("path", file).with("op", access))
    }

    /// Tells that the call reads `path`, which its arguments do not name: a person who decides on the call has to be allowed to read it.
    pub fn reads(&self, path: &VaultPath) {
        if let Some(confirmation) = self.confirmation {
            confirmation.reads(path);
        }
    }

    /// Whether the need for a confirmation depends on what the call destroys.
    pub fn is_to_be_judged(&self) -> bool {
        self.confirmation.is_some_and(|confirmation| !confirmation.is_required)
    }

    /// The deadline `limit` from now.
    pub fn deadline(&self, limit: Duration) -> Deadline {
        let now = (self.clock)();
        Deadline { clock: self.clock, at: now.checked_add(limit).unwrap_or(Timestamp::MAX) }
    }

    /// Runs a query on the newest generation. The query may run several times: it starts on the known generation while
    /// the store is asked for a newer one.
    pub async fn read<T, Q, F>(&self, query: Q) -> Result<Answer<T>, Error>
    where
        Q: Fn(View) -> F + Send + Sync,
        F: Future<Output = Result<T, Error>> + Send,
        T: Send,
    {
        let held = Mutex::new(None);
        let run = |snapshot| {
            let (query, held, work) = (query(self.view(snapshot)), &held, self.work);
            let kept = async move {
                let value = query.await?;
                work.check()?;
                *held.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                Ok(())
            };
            kept.boxed()
        };
        let snapshot = self.run(&run).await?;
        let value = held.into_inner().unwrap_or_else(PoisonError::into_inner);
        let unread = || Error::new(Code::Internal, Reason::Internal, "nothing was read");
        Ok(Answer { value: value.ok_or_else(unread)?, generation: Some(snapshot.generation()) })
    }

    /// Runs a query on the newest generation, and returns that. Not generic, so that its code exists once.
    async fn run<'q>(&self, query: &Query<'q>) -> Result<Arc<Snapshot>, Error> {
        Ok(self.vault.mirror.read(query).await?.1)
    }
}

type Query<'q> = dyn Fn(Arc<Snapshot>) -> BoxFuture<'q, Result<(), Error>> + Send + Sync + 'q;

/// The error for a change of a read-only vault.
pub(crate) fn read_only() -> Error {
    Error::new(Code::Forbidden, Reason::ReadOnlyMode, "the vault is read-only here")
}
