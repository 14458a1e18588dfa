//! One commit by an operation, and its result.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::{Attempt, ChangeSet, CommitInfo, Committed, NewSegment, Snapshot};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Code, Error, Reason};
use crate::operation::{Context, Info};
use crate::sorted;

/// How long a write competes with other writers.
const COMMIT_TIME: Duration = Duration::from_secs(20);
/// The same for a write by an operation that otherwise only reads.
const ASIDE_TIME: Duration = Duration::from_secs(2);

/// The outcome of an attempt: the part that a keyed commit stores for a repeated call, and the part that only the
/// committing call returns.
#[derive(Clone, Debug)]
pub struct Outcome<K, T = ()> {
    /// The stored part.
    pub kept: K,
    /// The other part.
    pub told: T,
}

impl<K> From<K> for Outcome<K> {
    fn from(kept: K) -> Self {
        Self { kept, told: () }
    }
}

/// The result of a commit.
pub enum CommitResult<K, T = ()> {
    /// It happened now: the outcome, and the new generation.
    Committed(Outcome<K, T>, u64),
    /// It happened for an earlier call with the same key: the stored outcome, and its generation.
    Replayed(K, u64),
    /// There was nothing to do on the newest generation, which is this.
    Unchanged(Outcome<K, T>, u64),
}

impl<K, T> CommitResult<K, T> {
    /// The stored part, and the new or existing generation.
    pub fn kept(self) -> (K, u64) {
        match self {
            Self::Committed(Outcome { kept, .. }, generation) | Self::Unchanged(Outcome { kept, .. }, generation) => {
                (kept, generation)
            }
            Self::Replayed(kept, generation) => (kept, generation),
        }
    }

    /// Like [`kept`](Self::kept), for a commit that always changes something.
    pub fn made(self) -> Option<(K, u64)> {
        match self {
            Self::Unchanged(..) => None,
            done => Some(done.kept()),
        }
    }
}

/// Commits `change`.
pub async fn commit<C, K, T>(
    context: &Context<'_>,
    operation: &Info,
    message: Option<&str>,
    change: &C,
) -> Result<CommitResult<K, T>, Error>
where
    C: ChangeSet<Error = Error, Outcome = Outcome<K, T>>,
    K: Serialize + DeserializeOwned + Send + 'static,
    T: Send + 'static,
{
    Ok(match commit_any(context, operation, message, AnyChange(change, context)).await? {
        Committed::New(after, outcome) => CommitResult::Committed(unerased(outcome)?, after.generation()),
        Committed::Unchanged(head, outcome) => {
            CommitResult::Unchanged(unerased(outcome)?, head.map_or(0, |head| head.generation()))
        }
        Committed::Replayed { generation, result } => {
            CommitResult::Replayed(serde_json::from_value(result).map_err(|error| unreadable(&error))?, generation)
        }
    })
}

async fn commit_any(
    context: &Context<'_>,
    operation: &Info,
    message: Option<&str>,
    change: AnyChange<'_>,
) -> Result<Committed<Erased>, Error> {
    let mirror = &context.vault.mirror;
    context.work.check()?;
    mirror.check_writes_once().await?;
    let info = CommitInfo {
        author: context.caller.name().to_owned(),
        // A sync and a trusted process have names that a token may have too.
        caller: Some(context.caller.pseudonym()).filter(|_| !context.caller.is_trusted()),
        operation: operation.name.to_owned(),
        message: message.map(str::to_owned),
        session: context.session.map(str::to_owned),
        key: context.key,
        time: context.now,
        deadline: if operation.writes() { COMMIT_TIME } else { ASIDE_TIME },
    };
    let committed = mirror.commit(&info, &change).await?;
    // A commit that happened is reported, however long that takes.
    context.work.has_changed_things();
    Ok(committed)
}

/// Erases the type of a change, so that programs contain the code of commits once.
struct AnyChange<'a>(&'a dyn Change, &'a Context<'a>);

/// A value with its type erased.
pub(super) type Erased = Box<dyn Any + Send>;

/// The value that was erased, of the type that the caller knows.
pub(super) fn unerased<T: 'static>(value: Erased) -> Result<T, Error> {
    value.downcast().map(|value| *value).map_err(|_| unreadable(&"another outcome"))
}

/// [`ChangeSet`] for [`AnyChange`].
trait Change: Sync {
    fn derive<'a>(&'a self, head: Option<&'a Arc<Snapshot>>) -> BoxFuture<'a, Result<Attempt<Erased>, Error>>;
    fn early(&self) -> &[NewSegment];
}

impl<C, K, T> Change for C
where
    C: ChangeSet<Error = Error, Outcome = Outcome<K, T>>,
    K: Serialize + Send + 'static,
    T: Send + 'static,
{
    fn derive<'a>(&'a self, head: Option<&'a Arc<Snapshot>>) -> BoxFuture<'a, Result<Attempt<Erased>, Error>> {
        let derive = async move {
            let Attempt { mut derived, outcome } = ChangeSet::derive(self, head).await?;
            if let Some(derived) = &mut derived {
                // Sorted, so that equal results give equal manifests.
                derived.result = Some(sorted(serde_json::to_value(&outcome.kept).map_err(|error| unreadable(&error))?));
            }
            Ok(Attempt { derived, outcome: Box::new(outcome) as Erased })
        };
        derive.boxed()
    }

    fn early(&self) -> &[NewSegment] {
        ChangeSet::early(self)
    }
}

impl ChangeSet for AnyChange<'_> {
    type Error = Error;
    type Outcome = Erased;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Erased>, Error> {
        // Before the upload, and before the commit's deadline, which would be blamed on the store.
        let Attempt { derived, outcome } = self.0.derive(head).await?;
        self.1.work.check()?;
        Ok(Attempt { derived, outcome })
    }

    fn early(&self) -> &[NewSegment] {
        self.0.early()
    }
}

/// The error for a stored outcome that cannot be written or read.
fn unreadable(error: &impl ToString) -> Error {
    let internal = Some(error.to_string());
    Error {
        internal,
        ..Error::new(Code::Internal, Reason::Internal, "the answer that was kept with the change is not readable")
    }
}
