//! One commit by an operation, and what it came to.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atlas_mirror::{ChangeSet, CommitInfo, Committed, Derived, NewSegment, Snapshot};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Code, Error, Reason};
use crate::operation::{Context, Info};

/// How long a write tries to win against others.
const COMMIT_TIME: Duration = Duration::from_secs(20);
/// The same for what an operation that only reads leaves behind.
const ASIDE_TIME: Duration = Duration::from_secs(2);

/// What the newest attempt of a commit comes to: what a keyed commit keeps to answer with.
pub struct Last<T>(Mutex<Option<T>>);

impl<T> Default for Last<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Serialize + Clone> Last<T> {
    /// The attempt comes to `derived`, and to this answer.
    pub fn changes(&self, written: T, mut derived: Derived) -> Result<Option<Derived>, Error> {
        derived.result = Some(serde_json::to_value(&written).map_err(|error| unreadable(&error))?);
        self.keep(written);
        Ok(Some(derived))
    }

    /// The attempt comes to nothing, since what was asked for is `written` already.
    pub fn unchanged(&self, written: T) -> Result<Option<Derived>, Error> {
        self.keep(written);
        Ok(None)
    }

    fn keep(&self, written: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
    }

    fn get(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What became of a commit.
pub enum Done<T> {
    /// It happened, now or when the call was made first.
    Committed {
        /// What it came to.
        value: T,
        /// The generation that it made.
        generation: u64,
        /// Whether an earlier call with the same key made it.
        is_replayed: bool,
    },
    /// There was nothing to do on the newest generation.
    Unchanged {
        /// What is there.
        value: T,
        /// The newest generation.
        newest: u64,
    },
}

/// Commits `change`, of which `last` says what it came to.
pub async fn commit<T: Serialize + DeserializeOwned + Clone>(
    context: &Context<'_>,
    operation: &Info,
    message: Option<&str>,
    change: &impl ChangeSet<Error = Error>,
    last: &Last<T>,
) -> Result<Done<T>, Error> {
    let value = || last.get().ok_or_else(|| Error::new(Code::Internal, Reason::Internal, "nothing was written"));
    Ok(match commit_any(context, operation, message, AnyChange(change, context)).await? {
        Committed::New(after) => {
            Done::Committed { value: value()?, generation: after.generation(), is_replayed: false }
        }
        Committed::Unchanged(head) => {
            Done::Unchanged { value: value()?, newest: head.map_or(0, |head| head.generation()) }
        }
        Committed::Replayed { generation, result } => {
            let value = serde_json::from_value(result).map_err(|error| unreadable(&error))?;
            Done::Committed { value, generation, is_replayed: true }
        }
    })
}

async fn commit_any(
    context: &Context<'_>,
    operation: &Info,
    message: Option<&str>,
    change: AnyChange<'_>,
) -> Result<Committed, Error> {
    let mirror = &context.vault.mirror;
    context.work.check()?;
    mirror.check_writes_once().await?;
    let info = CommitInfo {
        author: context.caller.name().to_owned(),
        // A sync and a trusted process have names that a token may have too.
        caller: Some(context.caller.pseudonym()).filter(|_| !context.caller.is_trusted()),
        operation: operation.name.to_owned(),
        message: message.map(str::to_owned),
        key: context.key,
        time: context.now,
        deadline: if operation.writes() { COMMIT_TIME } else { ASIDE_TIME },
    };
    let committed = mirror.commit(&info, &change).await?;
    // What happened is told, however long that takes.
    context.work.has_changed_things();
    Ok(committed)
}

/// A change of whatever type, so that programs hold the code of commits once.
struct AnyChange<'a>(&'a dyn Change, &'a Context<'a>);

/// [`ChangeSet`], for [`AnyChange`].
trait Change: Sync {
    fn derive<'a>(&'a self, head: Option<&'a Arc<Snapshot>>) -> BoxFuture<'a, Result<Option<Derived>, Error>>;
    fn early(&self) -> &[NewSegment];
}

impl<C: ChangeSet<Error = Error>> Change for C {
    fn derive<'a>(&'a self, head: Option<&'a Arc<Snapshot>>) -> BoxFuture<'a, Result<Option<Derived>, Error>> {
        ChangeSet::derive(self, head).boxed()
    }

    fn early(&self) -> &[NewSegment] {
        ChangeSet::early(self)
    }
}

impl ChangeSet for AnyChange<'_> {
    type Error = Error;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Option<Derived>, Error> {
        // Before anything is uploaded, and before the commit's time is over, of which the store would be thought guilty.
        let derived = self.0.derive(head).await?;
        self.1.work.check()?;
        Ok(derived.map(|derived| Derived { confirmed: self.1.is_confirmed(), ..derived }))
    }

    fn early(&self) -> &[NewSegment] {
        self.0.early()
    }
}

/// What a keyed commit kept cannot be written or read.
fn unreadable(error: &serde_json::Error) -> Error {
    let internal = Some(error.to_string());
    Error {
        internal,
        ..Error::new(Code::Internal, Reason::Internal, "the answer that was kept with the change is not readable")
    }
}
