//! Committing: upload what is new, then create the next manifest if it is absent.
//!
//! The manifest's nonce tells a writer's own success from another's. When the store's answer leaves open what happened
//! (a time-out, a server error, or "exists already", which may be the answer to a repeated request that had
//! succeeded), the manifest that is there decides; if none is, the same bytes are sent again. So a commit that
//! is reported happened, one that failed did not, and what is not known is said not to be.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{join, try_join};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::change::{Attempt, ChangeSet, CommitInfo, CommitKey, Derived, NewSegment, Uploaded, check, next_manifest};
use crate::error::MirrorError;
use crate::failure::Failure;
use crate::head::Head;
use crate::id::{Id, SegmentId};
use crate::manifest::{KeyedResult, Manifest, ManifestError};
use crate::mirror::Mirror;
use crate::newest::Presence;
use crate::snapshot::{Snapshot, State};
use crate::store::jittered;
use crate::tombstones::{DocumentSet, MAX_INLINE, StoredTombstones, Tombstones};

/// Segments under way at once.
const PARALLEL_UPLOADS: usize = 4;
/// Manifests read at once in search of a key.
const PARALLEL_SCAN: usize = 16;
/// The wait after the first lost race or unclear answer; it doubles up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The longest after a lost race: whoever waits long while others commit meets one of them again.
const LONGEST_RACE_WAIT: Duration = Duration::from_millis(100);
/// Longest deadline: no generation is collected so soon after it was begun.
pub(crate) const LONGEST_DEADLINE: Duration = Duration::from_secs(3600);
/// How long the hint may take: the commit is done without it.
const HINT_TIME: Duration = Duration::from_secs(2);

/// What became of a commit.
#[derive(Clone, Debug)]
pub enum Committed<T> {
    /// It happened: the generation that it made, and what the attempt tells of itself.
    New(Arc<Snapshot>, T),
    /// There was nothing to do on the newest state, which is this.
    Unchanged(Option<Arc<Snapshot>>, T),
    /// It had happened before, by the same key.
    Replayed {
        /// The generation that it made.
        generation: u64,
        /// The answer that was kept with it.
        result: serde_json::Value,
    },
}

/// What an attempt came to before its manifest is created.
enum Prepared<T> {
    Unchanged(Option<Arc<Snapshot>>, T),
    Replayed { generation: u64, result: serde_json::Value },
    Ready { manifest: Box<Manifest>, bytes: Bytes, outcome: T },
}

/// What the attempts of one commit share.
struct Attempts<'a, C> {
    info: &'a CommitInfo,
    change: &'a C,
    /// Objects uploaded by this commit, to be used again when an attempt needs the same bytes.
    uploads: Mutex<Vec<(Bytes, Id)>>,
    /// The generation up to which the key has been looked for.
    searched: Mutex<u64>,
}

impl Mirror {
    /// Commits what `change` derives from the newest state, as one new generation.
    ///
    /// # Errors
    /// What `change` returns, and as its error:
    /// - [`MirrorError::CommitUnknown`] when it is not known at the deadline whether the commit happened;
    /// - [`MirrorError::Contended`], [`MirrorError::TooLate`], [`MirrorError::Conflict`], [`MirrorError::TooLarge`] when it did not;
    /// - as [`read`](Mirror::read), but for [`MirrorError::NotPublished`]: it did not.
    pub async fn commit<C: ChangeSet>(&self, info: &CommitInfo, change: &C) -> Result<Committed<C::Outcome>, C::Error> {
        let deadline = Instant::now() + info.deadline.min(LONGEST_DEADLINE);
        let searched = Mutex::new(info.key.map_or(0, |key| key.since));
        let attempts = Attempts { info, change, uploads: Mutex::default(), searched };
        let mut wait = FIRST_WAIT;
        let mut late = MirrorError::TooLate;
        loop {
            let prepare = |head| self.prepare(&attempts, head);
            let prepared = self.run_on_newest(Duration::ZERO, Presence::Certain, prepare);
            let (manifest, bytes, outcome) = match timeout_at(deadline, prepared).await.map_err(|_| late)?? {
                Prepared::Ready { manifest, bytes, outcome } => (manifest, bytes, outcome),
                Prepared::Unchanged(head, outcome) => return Ok(Committed::Unchanged(head, outcome)),
                Prepared::Replayed { generation, result } => return Ok(Committed::Replayed { generation, result }),
            };
            match self.create_manifest(&manifest, &bytes, deadline).await? {
                None => {
                    let head = Head::seen_now(State::new(*manifest, &bytes)).newest_at(Instant::now());
                    self.keep_head(head.clone());
                    self.write_hint(head.generation(), &bytes).await;
                    return Ok(Committed::New(self.snapshot(&head), outcome));
                }
                Some(winner) => self.keep_head(winner),
            }
            late = MirrorError::Contended;
            sleep(jittered(wait)).await;
            wait = (wait * 2).min(LONGEST_RACE_WAIT);
        }
    }

    /// Derives the change from `head`, uploads what is new, and looks for the commit's key, all at once.
    async fn prepare<C: ChangeSet>(
        &self,
        attempts: &Attempts<'_, C>,
        head: Option<Arc<Snapshot>>,
    ) -> Result<Prepared<C::Outcome>, C::Error> {
        if attempts.info.key.is_some_and(|key| key.is_executed)
            && let Some((generation, result)) = self.search(attempts, head.as_deref()).await?
        {
            return Ok(Prepared::Replayed { generation, result });
        }
        let early: Vec<_> =
            attempts.change.early().iter().map(|new| self.upload_object(attempts, &new.bytes)).collect();
        let early = stream::iter(early).buffered(PARALLEL_UPLOADS).map_err(C::Error::from).try_collect::<Vec<_>>();
        let derive = async {
            let Attempt { derived, outcome } = try_join(attempts.change.derive(head.as_ref()), early).await?.0;
            match derived {
                Some(derived) => Ok((Some(self.upload(attempts, head.as_deref(), derived).await?), outcome)),
                None => Ok((None, outcome)),
            }
        };
        // What the key answered before decides before anything that the change finds on the state of today.
        let (derived, earlier) = join(derive, self.search(attempts, head.as_deref())).await;
        if let Some((generation, result)) = earlier? {
            return Ok(Prepared::Replayed { generation, result });
        }
        let derived: Result<_, C::Error> = derived;
        let (derived, outcome) = derived?;
        let Some((derived, uploaded)) = derived else { return Ok(Prepared::Unchanged(head, outcome)) };
        let state = head.as_deref().map(|head| &**head.state());
        let nonce = Id::random().map_err(MirrorError::from)?;
        let manifest = next_manifest(self.vault(), state, attempts.info, &derived, uploaded, nonce)?;
        let bytes = manifest.encode().map_err(refused)?;
        Ok(Prepared::Ready { manifest: Box::new(manifest), bytes, outcome })
    }

    /// What a commit with `key` has come to, if there was one: the generation that it made, and the answer that was kept with it.
    ///
    /// # Errors
    /// As [`read`](Self::read), but for [`MirrorError::NotPublished`].
    pub async fn committed(&self, key: CommitKey) -> Result<Option<(u64, serde_json::Value)>, MirrorError> {
        match self.head().await {
            Ok(head) => self.find_answer(key, key.since, &head).await,
            Err(MirrorError::NotPublished { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The answer that a generation since the key's claim has kept for it.
    async fn search<C>(
        &self,
        attempts: &Attempts<'_, C>,
        head: Option<&Snapshot>,
    ) -> Result<Option<(u64, serde_json::Value)>, MirrorError> {
        let (Some(key), Some(head)) = (attempts.info.key, head) else { return Ok(None) };
        let searched = *attempts.searched.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.find_answer(key, searched, head).await?;
        // What was found has to be found again if there is a newer generation, on which all of this is then run again.
        if found.is_none() {
            *attempts.searched.lock().unwrap_or_else(PoisonError::into_inner) = head.generation().max(searched);
        }
        Ok(found)
    }

    /// The same of the generations after `searched` up to `head`.
    async fn find_answer(
        &self,
        key: CommitKey,
        searched: u64,
        head: &Snapshot,
    ) -> Result<Option<(u64, serde_json::Value)>, MirrorError> {
        // What an earlier claim of the same key came to is no answer to this one.
        let answer = |manifest: &Manifest| match &manifest.idempotency {
            Some(KeyedResult { key_hash, result }) if *key_hash == key.hash && manifest.generation > key.since => {
                Some((manifest.generation, result.clone()))
            }
            _ => None,
        };
        if let Some(found) = answer(head.manifest()) {
            return Ok(Some(found));
        }
        let read = |generation| async move {
            let gone = || MirrorError::Gone { object: self.shared.keys.manifest(generation).to_string() };
            self.at(generation).await?.ok_or_else(gone)
        };
        let mut manifests =
            stream::iter(searched.saturating_add(1)..head.generation()).map(read).buffered(PARALLEL_SCAN);
        while let Some(snapshot) = manifests.try_next().await? {
            if let Some(found) = answer(snapshot.manifest()) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Uploads the segments of `derived`, and the tombstones that are too large for the manifest.
    async fn upload<C>(
        &self,
        attempts: &Attempts<'_, C>,
        head: Option<&Snapshot>,
        derived: Derived,
    ) -> Result<(Derived, Uploaded), MirrorError> {
        let more = check(head.map(Snapshot::manifest), &derived)?;
        // Futures are made before they are run, so that the compiler can tell that all of it may change threads.
        let segments: Vec<_> = derived.segments.iter().map(|segment| self.upload_segment(attempts, segment)).collect();
        let deleted: Vec<_> =
            more.into_iter().map(|(at, more)| self.add_tombstones(attempts, head, at, more)).collect();
        let segments = stream::iter(segments).buffered(PARALLEL_UPLOADS).try_collect();
        let deleted = stream::iter(deleted).buffered(PARALLEL_UPLOADS).try_collect();
        let (segments, deleted) = try_join(segments, deleted).await?;
        Ok((derived, Uploaded { segments, deleted }))
    }

    async fn upload_segment<C>(
        &self,
        attempts: &Attempts<'_, C>,
        segment: &NewSegment,
    ) -> Result<(SegmentId, Tombstones), MirrorError> {
        let deleted = segment.deleted.iter().copied().collect();
        try_join(self.upload_object(attempts, &segment.bytes), self.upload_tombstones(attempts, deleted)).await
    }

    /// The tombstones of segment `index` of `head`, and `more`.
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

    /// Creates the object of `manifest`. [`None`] when it is there; else the manifest that is there instead.
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

    /// Points the hint to the generation that was committed, as well as may be: readers find it without.
    async fn write_hint(&self, generation: u64, bytes: &Bytes) {
        if self.known_head().is_some_and(|head| head.generation() > generation) {
            return;
        }
        let error = match timeout(HINT_TIME, self.store.put(&self.shared.keys.latest(), bytes)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::warn!(generation, error, "the hint was not written");
    }
}

/// A manifest that this commit would write and no reader would take.
fn refused(error: ManifestError) -> MirrorError {
    match error {
        ManifestError::TooLarge { what, limit } => MirrorError::TooLarge { what, limit },
        error => MirrorError::conflict(error.to_string()),
    }
}
