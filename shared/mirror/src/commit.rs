//! Committing: upload the new objects, then create the next manifest if it is absent.
//!
//! The manifest's nonce distinguishes a writer's own success from another's. When the store's answer is ambiguous (a
//! time-out, a server error, or "exists already", which may answer a repeated request), the existing manifest decides;
//! if there is none, the same bytes are sent again. So a commit that is reported as done happened, one that failed did
//! not, and an unknown outcome is reported as unknown.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{FutureExt as _, OptionFuture, TryFutureExt as _, join, try_join, try_join3};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::change::{
    Attempt, ChangeSet, CommitInfo, CommitKey, Derived, NewSegment, SegmentObject, UploadedObjects, check,
    next_manifest,
};
use crate::error::MirrorError;
use crate::failure::Failure;
use crate::head::Head;
use crate::history::if_readable;
use crate::id::{Id, SegmentId};
use crate::manifest::{KeyedResult, Manifest, ManifestError};
use crate::mirror::Mirror;
use crate::newest::Newest;
use crate::queue;
use crate::snapshot::{Snapshot, State};
use crate::store::jittered;
use crate::tombstones::{DocumentSet, MAX_INLINE, StoredTombstones, Tombstones};

/// Segments uploaded at once.
const PARALLEL_UPLOADS: usize = 4;
/// Manifests read at once in search of a key.
const PARALLEL_SCAN: usize = 16;
/// The wait after the first unclear answer. It doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The longest deadline: no generation is collected so soon after it was begun.
pub(crate) const LONGEST_DEADLINE: Duration = Duration::from_secs(3600);
/// The time limit for the hint: the commit is done without it.
const HINT_TIME: Duration = Duration::from_secs(2);

/// The result of a commit.
#[derive(Clone, Debug)]
pub enum Committed<T> {
    /// It happened: the new generation, and the change's own result.
    New(Arc<Snapshot>, T),
    /// There was nothing to do on this newest state.
    Unchanged(Option<Arc<Snapshot>>, T),
    /// An earlier commit with the same key happened.
    Replayed {
        /// The generation of that commit.
        generation: u64,
        /// The answer stored with it.
        result: serde_json::Value,
    },
}

/// The result of an attempt before its manifest is created.
enum Prepared<T> {
    Unchanged(Option<Arc<Snapshot>>, T),
    Replayed { generation: u64, result: serde_json::Value },
    Ready { manifest: Box<Manifest>, bytes: Bytes, outcome: T },
}

/// State shared by the attempts of one commit.
struct Attempts<'a, C> {
    info: &'a CommitInfo,
    change: &'a C,
    /// Objects that this commit uploaded. A later attempt with the same bytes reuses them.
    uploads: Mutex<Vec<(Bytes, Id)>>,
    /// The generation up to which the key has been searched.
    searched: Mutex<u64>,
}

impl Mirror {
    /// Commits what `change` derives from the newest state, as one new generation.
    ///
    /// # Errors The errors of `change`, and as its error type:
    /// - [`MirrorError::CommitUnknown`] when it is unknown at the deadline whether the commit happened;
    /// - [`MirrorError::Forgotten`] when this call did not commit, and an earlier one with its key may have;
    /// - [`MirrorError::Contended`], [`MirrorError::TooLate`], [`MirrorError::Conflict`], [`MirrorError::TooLarge`]
    ///   when it did not;
    /// - those of [`read`](Mirror::read) except [`MirrorError::NotPublished`]: it did not.
    pub async fn commit<C: ChangeSet>(&self, info: &CommitInfo, change: &C) -> Result<Committed<C::Outcome>, C::Error> {
        let begun = Instant::now();
        let deadline = begun + info.deadline.min(LONGEST_DEADLINE);
        let searched = Mutex::new(info.key.map_or(0, |key| key.since));
        let attempts = Attempts { info, change, uploads: Mutex::default(), searched };
        let mut late = MirrorError::TooLate;
        // What fails here is uploaded again.
        let turn = self.turn(deadline, self.upload_early(&attempts).map(drop)).await?;
        loop {
            let waited = matches!(late, MirrorError::Contended).then(|| begun.elapsed());
            let prepare = |head| self.prepare(&attempts, head, waited);
            let prepared = self.run_on_newest(Newest::Since(begun), prepare);
            let (manifest, bytes, outcome) = match timeout_at(deadline, prepared).await.map_err(|_| late)?? {
                Prepared::Ready { manifest, bytes, outcome } => (manifest, bytes, outcome),
                Prepared::Unchanged(head, outcome) => return Ok(Committed::Unchanged(head, outcome)),
                Prepared::Replayed { generation, result } => return Ok(Committed::Replayed { generation, result }),
            };
            match self.create_manifest(&manifest, &bytes, deadline).await? {
                None => {
                    let head = Head::seen_now(State::new(*manifest, &bytes)).newest_at(Instant::now());
                    self.keep_head(head.clone());
                    drop(turn);
                    self.write_hint(head.generation(), &bytes).await;
                    return Ok(Committed::New(self.snapshot(&head), outcome));
                }
                Some(winner) => {
                    late = MirrorError::Contended;
                    let wait = queue::wait(begun.elapsed(), Duration::from_millis(winner.state.manifest.waited_ms));
                    self.keep_head(winner);
                    // Early enough for another try.
                    sleep(jittered(wait).min(deadline.saturating_duration_since(Instant::now()) / 2)).await;
                }
            }
        }
    }

    /// Derives the change from `head`, uploads what is new, and looks for the commit's key, all at once. A manifest says how long its
    /// writer has `waited` after losing races.
    async fn prepare<C: ChangeSet>(
        &self,
        attempts: &Attempts<'_, C>,
        head: Option<Arc<Snapshot>>,
        waited: Option<Duration>,
    ) -> Result<Prepared<C::Outcome>, C::Error> {
        if attempts.info.key.is_some_and(|key| key.is_executed)
            && let Some((generation, result)) = self.search(attempts, head.as_deref()).await?
        {
            return Ok(Prepared::Replayed { generation, result });
        }
        let early = self.upload_early(attempts).map_err(C::Error::from);
        let derive = async {
            let Attempt { derived, outcome } = try_join(attempts.change.derive(head.as_ref()), early).await?.0;
            match derived {
                Some(derived) => Ok((Some(self.upload(attempts, head.as_deref(), derived).await?), outcome)),
                None => Ok((None, outcome)),
            }
        };
        // An earlier answer to the key takes precedence over the change's result on the current state.
        let (derived, earlier) = join(derive, self.search(attempts, head.as_deref())).await;
        if let Some((generation, result)) = earlier? {
            return Ok(Prepared::Replayed { generation, result });
        }
        let derived: Result<_, C::Error> = derived;
        let (derived, outcome) = derived?;
        let Some((derived, uploaded)) = derived else { return Ok(Prepared::Unchanged(head, outcome)) };
        let state = head.as_deref().map(|head| &**head.state());
        let nonce = Id::random().map_err(MirrorError::from)?;
        let most = self.shared.options.max_directories;
        let mut manifest = next_manifest(self.vault(), state, attempts.info, &derived, uploaded, nonce, most)?;
        manifest.waited_ms = waited.map_or(0, |waited| u64::try_from(waited.as_millis()).unwrap_or(u64::MAX));
        let bytes = manifest.encode().map_err(refused)?;
        Ok(Prepared::Ready { manifest: Box::new(manifest), bytes, outcome })
    }

    /// The result of an earlier commit with `key`, if any: its generation, and the answer stored with it.
    ///
    /// # Errors As [`read`](Self::read), except [`MirrorError::NotPublished`]; [`MirrorError::Forgotten`] when generations
    /// that may have it have been collected.
    pub async fn committed(&self, key: CommitKey) -> Result<Option<(u64, serde_json::Value)>, MirrorError> {
        match self.head().await {
            Ok(head) => self.find_answer(key, key.since, &head).await,
            Err(MirrorError::NotPublished { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The answer for the key in a generation since its claim, if any.
    async fn search<C>(
        &self,
        attempts: &Attempts<'_, C>,
        head: Option<&Snapshot>,
    ) -> Result<Option<(u64, serde_json::Value)>, MirrorError> {
        let (Some(key), Some(head)) = (attempts.info.key, head) else { return Ok(None) };
        let searched = *attempts.searched.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.find_answer(key, searched, head).await?;
        // If there is a newer generation, all of this runs again on it and finds the answer again.
        if found.is_none() {
            *attempts.searched.lock().unwrap_or_else(PoisonError::into_inner) = head.generation().max(searched);
        }
        Ok(found)
    }

    /// The answer for the key in a generation after `searched` up to `head`.
    async fn find_answer(
        &self,
        key: CommitKey,
        searched: u64,
        head: &Snapshot,
    ) -> Result<Option<(u64, serde_json::Value)>, MirrorError> {
        // The answer to an earlier claim of the same key is no answer to this one.
        let answer = |manifest: &Manifest| match &manifest.idempotency {
            Some(KeyedResult { key_hash, result }) if *key_hash == key.hash && manifest.generation > key.since => {
                Some((manifest.generation, result.clone()))
            }
            _ => None,
        };
        if let Some(found) = answer(head.manifest()) {
            return Ok(Some(found));
        }
        let generations = searched.saturating_add(1)..head.generation();
        let find = async |generations: &mut (dyn Iterator<Item = u64> + Send)| {
            let mut manifests =
                stream::iter(generations).map(|generation| self.manifest_at(generation)).buffered(PARALLEL_SCAN);
            let mut last = head.generation();
            while let Some(found) = manifests.next().await {
                let snapshot = if_readable(found)?.ok_or(MirrorError::Forgotten { before: last })?;
                if let Some(found) = answer(snapshot.manifest()) {
                    return Ok(Some(found));
                }
                last = snapshot.generation();
            }
            Ok(None)
        };
        // A commit is soon after its claim. Collection deletes the oldest first, so that none is left before one that is missing.
        match find(&mut generations.clone()).await {
            Err(MirrorError::Forgotten { .. }) => find(&mut generations.rev()).await,
            found => found,
        }
    }

    /// Uploads what the change will probably contain.
    async fn upload_early<C: ChangeSet>(&self, attempts: &Attempts<'_, C>) -> Result<(), MirrorError> {
        let early: Vec<_> = attempts.change.early().iter().map(|new| self.object_of(attempts, &new.object)).collect();
        stream::iter(early).buffered(PARALLEL_UPLOADS).try_for_each(|_| std::future::ready(Ok(()))).await
    }

    /// Uploads the segments of `derived`, and the tombstones that are too large for the manifest.
    async fn upload<C>(
        &self,
        attempts: &Attempts<'_, C>,
        head: Option<&Snapshot>,
        derived: Derived,
    ) -> Result<(Derived, UploadedObjects), MirrorError> {
        let more = check(head.map(Snapshot::manifest), &derived)?;
        // The futures are made before they run, so that the compiler can prove that they are `Send`.
        let segments: Vec<_> = derived.segments.iter().map(|segment| self.upload_segment(attempts, segment)).collect();
        let deleted: Vec<_> =
            more.into_iter().map(|(at, more)| self.add_tombstones(attempts, head, at, more)).collect();
        let segments = stream::iter(segments).buffered(PARALLEL_UPLOADS).try_collect();
        let deleted = stream::iter(deleted).buffered(PARALLEL_UPLOADS).try_collect();
        let vectors: Vec<_> = derived.vectors.iter().map(|(_, new)| self.upload_object(attempts, &new.bytes)).collect();
        let vectors = stream::iter(vectors).buffered(PARALLEL_UPLOADS).try_collect();
        let (segments, deleted, vectors) = try_join3(segments, deleted, vectors).await?;
        let clusters = match derived.clusters.as_ref().and_then(Option::as_ref) {
            Some(new) => Some(self.upload_object(attempts, &new.bytes).await?),
            None => None,
        };
        Ok((derived, UploadedObjects { segments, deleted, vectors, clusters }))
    }

    async fn upload_segment<C>(
        &self,
        attempts: &Attempts<'_, C>,
        segment: &NewSegment,
    ) -> Result<(SegmentId, Tombstones, Option<SegmentId>), MirrorError> {
        let deleted = segment.deleted.iter().copied().collect();
        let vectors = segment.vectors.as_ref().map(|new| self.upload_object(attempts, &new.bytes));
        let vectors = async { OptionFuture::from(vectors).await.transpose() };
        try_join3(self.object_of(attempts, &segment.object), self.upload_tombstones(attempts, deleted), vectors).await
    }

    async fn object_of<C>(&self, attempts: &Attempts<'_, C>, object: &SegmentObject) -> Result<SegmentId, MirrorError> {
        match object {
            SegmentObject::Bytes(bytes) => self.upload_object(attempts, bytes).await,
            SegmentObject::Uploaded(uploaded) => uploaded.id(),
        }
    }

    /// The tombstones of segment `index` of `head` together with `more`.
    async fn add_tombstones<C>(
        &self,
        attempts: &Attempts<'_, C>,
        head: Option<&Snapshot>,
        index: usize,
        more: DocumentSet,
    ) -> Result<(usize, Tombstones), MirrorError> {
        let all = match head {
            Some(head) => head.deleted(index).await?.with(more.iter()),
            None => more,
        };
        Ok((index, self.upload_tombstones(attempts, all).await?))
    }

    async fn upload_tombstones<C>(
        &self,
        attempts: &Attempts<'_, C>,
        set: DocumentSet,
    ) -> Result<Tombstones, MirrorError> {
        let bytes: Bytes = set.encode().into();
        if bytes.len() <= MAX_INLINE {
            return Ok(Tombstones::Inline(set));
        }
        let too_large = |_| MirrorError::TooLarge { what: "a set of tombstones", limit: "4 GiB".to_owned() };
        let count = u32::try_from(set.len()).map_err(too_large)?;
        let size = u32::try_from(bytes.len()).map_err(too_large)?;
        let id = self.upload_object(attempts, &bytes).await?;
        Ok(Tombstones::Stored(StoredTombstones { id, count, bytes: size, crc32: crc32fast::hash(&bytes) }))
    }

    /// Uploads `bytes` under a fresh key, unless this commit has uploaded the same before.
    async fn upload_object<C>(&self, attempts: &Attempts<'_, C>, bytes: &Bytes) -> Result<SegmentId, MirrorError> {
        let uploads = || attempts.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        let known = uploads().iter().find(|(known, _)| known == bytes).map(|(_, id)| *id);
        if let Some(id) = known {
            return Ok(id);
        }
        let id = Id::random()?;
        self.store.put_new(&self.shared.keys.segment(id), bytes).await?;
        uploads().push((bytes.clone(), id));
        Ok(id)
    }

    /// Creates the object of `manifest`. Returns [`None`] when it exists; else the manifest that exists instead.
    async fn create_manifest(
        &self,
        manifest: &Manifest,
        bytes: &Bytes,
        deadline: Instant,
    ) -> Result<Option<Head>, MirrorError> {
        let key = self.shared.keys.manifest(manifest.generation);
        let unknown = || MirrorError::CommitUnknown { generation: manifest.generation, nonce: manifest.nonce };
        let mut may_be_there = false;
        let mut wait = FIRST_WAIT;
        loop {
            let failure = match timeout_at(deadline, self.store.create(&key, bytes)).await {
                Ok(Ok(())) => return Ok(None),
                Ok(Err(failure)) => failure,
                Err(_) => return Err(unknown()),
            };
            may_be_there |= !matches!(failure, Failure::Refused(_) | Failure::NotFound(_));
            match timeout_at(deadline, self.head_at(manifest.generation)).await {
                Ok(Ok(Some(head))) if head.state.manifest.nonce == manifest.nonce => return Ok(None),
                Ok(Ok(Some(winner))) => return Ok(Some(winner)),
                _ if !may_be_there => return Err(failure.into_error("write", &key)),
                Ok(Ok(None) | Err(_)) => {}
                Err(_) => return Err(unknown()),
            }
            if Instant::now() + wait >= deadline {
                return Err(unknown());
            }
            sleep(jittered(wait)).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Points the hint to the committed generation. Failure is ignored: readers find the generation without it.
    async fn write_hint(&self, generation: u64, bytes: &Bytes) {
        if self.known_head().is_some_and(|head| head.generation() > generation) {
            return;
        }
        let error = match timeout(HINT_TIME, self.store.put_copy(&self.shared.keys.latest(), bytes)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::warn!(generation, error, "the hint was not written");
    }
}

/// The error for a manifest that this commit would write and no reader would accept.
fn refused(error: ManifestError) -> MirrorError {
    match error {
        ManifestError::TooLarge { what, limit } => MirrorError::TooLarge { what, limit },
        error => MirrorError::conflict(error.to_string()),
    }
}
