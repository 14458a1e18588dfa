//! Tests of a store by writing to it: its conditional writes, and its clock.
//!
//! Commits rely on this: of all who create one object, exactly one succeeds. Some stores accept a conditional write and
//! ignore its condition. There, two writers that race would both be told that they made the next generation, and one
//! commit would be lost silently. So the store is tested before writing.

use bytes::Bytes;
use futures::future::join_all;
use jiff::Timestamp;
use object_store::path::Path;

use crate::error::MirrorError;
use crate::failure::Failure;
use crate::id::Id;
use crate::keys::path_of;
use crate::store::Store;

/// Parallel creators of one object.
const CREATORS: usize = 8;
/// Most attempts to get clear answers.
const TRIES: usize = 3;
/// Longest object that is read back.
const MAX_BYTES: u64 = 100;

/// Creates objects below `probes/` of `store`, in sequence and in parallel, and removes them again.
///
/// To be called once before a process begins to write.
///
/// # Errors [`MirrorError::UnsafeStore`] when two creators of one object succeed: the store may be read, and must not
/// be written to. [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`] when the test fails.
pub async fn probe_conditional_writes(store: &Store) -> Result<(), MirrorError> {
    let mut tries = 0;
    loop {
        let result = match probe(store, twice).await {
            Ok(()) => probe(store, at_once).await,
            refused => refused,
        };
        tries += 1;
        if !matches!(result, Err(MirrorError::Unavailable { .. })) || tries == TRIES {
            return result;
        }
    }
}

/// The time by the store's clock, to the second: the time of an object that is written now.
///
/// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
pub async fn clock(store: &Store) -> Result<Timestamp, MirrorError> {
    let written = async |store: &Store, key: &Path| {
        store.put(key, &Bytes::from("now")).await?;
        let gone = || MirrorError::unavailable(format!("{key} is missing just after it was written"));
        store.modified(key).await?.ok_or_else(gone)
    };
    probe(store, written).await
}

/// Runs `check` on a fresh key, then tries to delete its object.
async fn probe<T>(
    store: &Store,
    check: impl AsyncFn(&Store, &Path) -> Result<T, MirrorError>,
) -> Result<T, MirrorError> {
    let separator = if store.prefix().is_empty() { "" } else { "/" };
    let key = format!("{}{separator}probes/{}", store.prefix(), Id::random()?);
    let key =
        path_of(&key).map_err(|error| MirrorError::StoreRefused { action: "write", reason: error.to_string() })?;
    let result = check(store, &key).await;
    if let Err(error) = store.delete(&key).await
        && !matches!(result, Err(MirrorError::StoreRefused { .. }))
    {
        tracing::warn!(%key, %error, "an object of the probe could not be deleted");
    }
    result
}

async fn twice(store: &Store, key: &Path) -> Result<(), MirrorError> {
    let (first, second) = (Bytes::from("first"), Bytes::from("second"));
    if let Err(failure) = store.create(key, &first).await {
        return Err(unexpected(failure, key));
    }
    match store.create(key, &second).await {
        Err(Failure::Exists) => {}
        Ok(()) => return Err(unsafe_store(store, "an existing object can be created again")),
        Err(failure) => return Err(failure.into_error("write", key)),
    }
    match store.get(key, MAX_BYTES).await? {
        Some(found) if found == first => Ok(()),
        _ => Err(unsafe_store(store, "a create that it refused changed the object")),
    }
}

async fn at_once(store: &Store, key: &Path) -> Result<(), MirrorError> {
    let bodies: Vec<Bytes> = (0..CREATORS).map(|creator| format!("creator {creator}").into()).collect();
    let creates: Vec<_> = bodies.iter().map(|body| store.create(key, body)).collect();
    let answers = join_all(creates).await;
    let mut winners = bodies.iter().zip(&answers).filter_map(|(body, answer)| answer.as_ref().ok().and(Some(body)));
    let (winner, more) = (winners.next(), winners.count());
    if more > 0 {
        let reason = format!("of {CREATORS} that created one object at once, {} succeeded", more + 1);
        return Err(unsafe_store(store, &reason));
    }
    match (store.get(key, MAX_BYTES).await?, winner) {
        (Some(found), Some(winner)) if found == *winner => Ok(()),
        (_, Some(_)) => Err(unsafe_store(store, "the object differs from the one that it reported as created")),
        // One of them may have succeeded without an answer.
        (Some(_), None) => Ok(()),
        (None, None) => {
            let failure = answers.into_iter().find_map(|answer| answer.err().filter(|failure| !failure.is_exists()));
            Err(unexpected(failure.unwrap_or(Failure::Exists), key))
        }
    }
}

/// The error for a failure to create an object that did not exist.
fn unexpected(failure: Failure, key: &Path) -> MirrorError {
    match failure {
        Failure::Exists => MirrorError::unavailable(format!("the store says that {key} exists, but nobody created it")),
        failure => failure.into_error("write", key),
    }
}

fn unsafe_store(store: &Store, reason: &str) -> MirrorError {
    MirrorError::UnsafeStore { store: store.name().to_owned(), reason: reason.to_owned() }
}
