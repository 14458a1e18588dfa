//! Repair makes a mirror with damaged objects readable again. It restores the newest manifest from its copy in
//! `latest`; without a copy, it builds the manifest from the one before, or an empty one. Then it publishes the
//! unreadable files of the newest generation again, in a normal commit.
//!
//! A repair that loses files leaves a mark. Another host's folder may still have such a file, and must not take its
//! absence for a deletion: with the mark, that host's next sync publishes the file again.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use crate::change::{Attempt, ChangeSet, CommitInfo, Derived, DroppedSegment};
use crate::commit::Committed;
use crate::error::MirrorError;
use crate::failure::Failure;
use crate::head::Head;
use crate::id::{Hash, Id};
use crate::inspect::{Flaw, count, flaw_of};
use crate::known_vectors;
use crate::manifest::{Changes, Manifest, REPAIR, Totals};
use crate::merge::{Content, build};
use crate::mirror::Mirror;
use crate::rescue::held_with;
pub use crate::rescue::{ContentSource, Pieces, Recovered};
use crate::snapshot::{MAX_MANIFEST, Snapshot};

/// The marks of repairs, below `state/`.
const MARKS: &str = "repaired";
/// Copies of manifests that were replaced, below `state/`.
const REPLACED: &str = "damaged";
/// Most generations that are tried to find a readable one.
const MOST_BACK: usize = 1_000;

/// The newest generation that the caller of a repair knows of.
#[derive(Clone, Copy, Debug)]
pub struct KnownGeneration {
    /// The mirror's lineage.
    pub lineage: Id,
    /// Its number.
    pub generation: u64,
    /// SHA-256 of its manifest.
    pub manifest: Hash,
}

/// An empty generation that was begun because no manifest was readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EmptyStart {
    /// Its number, which is that of the newest damaged manifest.
    pub generation: u64,
    /// The newest generation that the caller knew, 0 for none. What later ones wrote is lost, except what folders still have.
    pub seen: u64,
}

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// The generation whose manifest was put back from its copy in `latest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub put_back: Option<u64>,
    /// Generations whose manifests are lost. They now equal the generation before them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rewound: Vec<u64>,
    /// The generation that was begun empty: folders publish into it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anew: Option<EmptyStart>,
    /// The flaws of the newest generation's objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
    /// Documents that were published again as they were.
    pub rescued: u64,
    /// Documents restored in an older version, since the newer one is lost. Some may have been deleted since.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recovered: Vec<Recovered>,
    /// Paths whose content neither the store nor the folder has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// Documents whose path is unknown too, except those that the folder publishes again.
    pub unnamed: u64,
}

/// Publishes the unreadable files of the newest generation again.
struct RepairChange<'a, S> {
    mirror: &'a Mirror,
    source: &'a S,
}

impl Mirror {
    /// Repairs the newest generation with the contents that `source` has. If no manifest is readable, the vault is empty afterwards.
    ///
    /// # Errors
    /// Those of [`inspect`](Self::inspect) and [`commit`](Self::commit).
    pub async fn repair(
        &self,
        info: &CommitInfo,
        known: Option<KnownGeneration>,
        source: &impl ContentSource,
    ) -> Result<Repaired, MirrorError> {
        let mut done = Repaired::default();
        self.repair_manifests(info, known, &mut done).await?;
        let seen = known.map_or(0, |known| known.generation);
        let head = match self.head().await {
            Ok(head) => head,
            Err(MirrorError::NotPublished { .. }) => return Ok(done),
            Err(error) => return Err(error),
        };
        if seen > head.generation() {
            self.mark(seen).await?;
        } else if !self.is_followed_to(&head, known).await? {
            self.mark(head.generation()).await?;
        }
        let repaired = match self.commit(info, &RepairChange { mirror: self, source }).await? {
            Committed::New(_, repaired) | Committed::Unchanged(_, repaired) => repaired,
            // Only a commit with a key is replayed.
            Committed::Replayed { .. } => Repaired::default(),
        };
        self.note_damage(None).await?;
        Ok(Repaired { put_back: done.put_back, rewound: done.rewound, anew: done.anew, ..repaired })
    }

    /// Whether a caller who saw the manifest `hash` of `generation` must expect that missing or older documents were lost, not deleted.
    ///
    /// # Errors
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn was_repaired_since(&self, generation: u64, hash: Hash) -> Result<bool, MirrorError> {
        let marks = self.list_state(MARKS, None).await?;
        let newest = marks.iter().filter_map(|mark| mark.name.parse::<u64>().ok()).max().unwrap_or(0);
        if newest == generation && newest > 0 {
            let key = self.keys().manifest(generation);
            return Ok(self.store.get(&key, MAX_MANIFEST).await?.is_none_or(|bytes| Hash::of(&bytes) != hash));
        }
        Ok(newest > generation)
    }

    /// Whether the manifests from `head` down to the one that is `known` are there and readable, and end with that one.
    async fn is_followed_to(&self, head: &Snapshot, known: Option<KnownGeneration>) -> Result<bool, MirrorError> {
        let oldest = known.map_or(1, |known| known.generation.max(1));
        let distance = head.generation().saturating_sub(oldest);
        let wanted = usize::try_from(distance).unwrap_or(MOST_BACK).min(MOST_BACK) + 1;
        let history = match self.history(head.generation(), wanted).await {
            Ok(history) => history,
            Err(error) => return flaw_of(error).map(|_| false),
        };
        let last = history.last().filter(|last| last.generation() == oldest);
        let is_it = last.zip(known).is_none_or(|(last, known)| last.hash() == known.manifest);
        Ok(history.len() == wanted && is_it)
    }

    /// Marks `generation` as a repair's, before it exists.
    async fn mark(&self, generation: u64) -> Result<(), MirrorError> {
        self.create_state_if_absent(&format!("{MARKS}/{generation:020}"), &serde_json::json!({})).await.map(drop)
    }

    async fn repair_manifests(
        &self,
        info: &CommitInfo,
        known: Option<KnownGeneration>,
        done: &mut Repaired,
    ) -> Result<(), MirrorError> {
        let keys = self.shared.keys.clone();
        let hinted = self.known_hint().await?;
        let newest = self.store.greatest_after(&keys.manifests(), None, |key| keys.generation(key)).await?;
        let last = newest.unwrap_or(0);
        let found = match self.head_at(last).await {
            Ok(found) => Ok(found),
            Err(error) => Err(flaw_of(error)?),
        };
        let hinted_at = hinted.as_ref().map_or(0, Head::generation);
        match found {
            Ok(Some(head)) if hinted.clone().and_then(|hinted| hinted.lost_after(&self.snapshot(&head))).is_none() => {
                // Independent of the current hint.
                if hinted_at != last {
                    self.rewrite_hint(last).await?;
                }
                return Ok(());
            }
            Ok(None) if hinted.is_none() => return Ok(()),
            Err(flaw) if hinted_at < last => {
                match self.readable_before(last, &flaw).await?.into_iter().chain(hinted).max_by_key(Head::generation) {
                    Some(base) => return self.rewind(info, last, base, done).await,
                    None => return self.begin_anew(info, last, known, done).await,
                }
            }
            Ok(_) => {}
            Err(_) if hinted_at > last => {}
            Err(_) => drop(self.set_aside(last).await?),
        }
        let Some(bytes) = self.store.get(&keys.latest(), MAX_MANIFEST).await? else { return Ok(()) };
        let state = self.decode(&keys.latest(), &bytes, Some(hinted_at))?;
        self.create(hinted_at, &bytes).await?;
        self.keep_head(Head::seen_now(state));
        done.put_back = Some(hinted_at);
        Ok(())
    }

    /// The newest readable generation before `last`, if there is one. `flaw` is that of the last manifest.
    async fn readable_before(&self, last: u64, flaw: &Flaw) -> Result<Option<Head>, MirrorError> {
        for (looked_at, generation) in self.generations_before(last).await?.into_iter().enumerate() {
            if looked_at >= MOST_BACK {
                let reason =
                    format!("and none of the {MOST_BACK} before it is readable: restore the store from a backup");
                return Err(MirrorError::damaged(&flaw.object, reason));
            }
            match self.head_at(generation).await {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(error) => drop(flaw_of(error)?),
            }
        }
        Ok(None)
    }

    /// The generations before `last` that have manifests, the newest first.
    async fn generations_before(&self, last: u64) -> Result<Vec<u64>, MirrorError> {
        let keys = self.keys();
        let listed = self.store.list(&keys.manifests(), None).await?;
        let numbers = listed.iter().filter_map(|listed| keys.generation(&listed.key));
        let mut before: Vec<u64> = numbers.filter(|generation| *generation < last).collect();
        before.sort_unstable_by(|one, other| other.cmp(one));
        Ok(before)
    }

    /// Replaces the newest manifest by an empty one, since none is readable.
    async fn begin_anew(
        &self,
        info: &CommitInfo,
        last: u64,
        known: Option<KnownGeneration>,
        done: &mut Repaired,
    ) -> Result<(), MirrorError> {
        self.mark(last).await?;
        // Those before are damaged as well; history begins with this one.
        for generation in self.generations_before(last).await? {
            self.set_aside(generation).await?;
        }
        let damaged = self.set_aside(last).await?.ok_or(MirrorError::Contended)?;
        let manifest = Manifest {
            format: 1,
            embeddings: None,
            clusters: None,
            vault: self.shared.vault.clone(),
            lineage: known.map_or_else(Id::random, |known| Ok(known.lineage))?,
            generation: last,
            parent: (last > 1).then_some(damaged),
            nonce: Id::random()?,
            time: info.time,
            waited_ms: 0,
            author: info.author.clone(),
            caller: info.caller.clone(),
            confirmed: false,
            origins: BTreeMap::new(),
            operation: REPAIR.to_owned(),
            message: Some("started again, since no manifest was readable".to_owned()),
            session: None,
            history_from: 0,
            idempotency: None,
            changes: Changes::default(),
            totals: Totals::default(),
            segments: Vec::new(),
        };
        let bytes = manifest.encode().map_err(|error| MirrorError::conflict(error.to_string()))?;
        self.create(last, &bytes).await?;
        done.anew = Some(EmptyStart { generation: last, seen: known.map_or(0, |known| known.generation) });
        self.rewrite_hint(last).await
    }

    /// Replaces the damaged manifests after `base`, the newest readable one, by copies of it.
    async fn rewind(&self, info: &CommitInfo, last: u64, base: Head, done: &mut Repaired) -> Result<(), MirrorError> {
        self.mark(last).await?;
        let (mut manifest, mut parent) = (base.state.manifest.clone(), base.state.hash);
        for generation in base.generation() + 1..=last {
            manifest = Manifest {
                generation,
                parent: Some(parent),
                nonce: Id::random()?,
                time: info.time,
                waited_ms: 0,
                author: info.author.clone(),
                caller: info.caller.clone(),
                confirmed: false,
                origins: BTreeMap::new(),
                operation: REPAIR.to_owned(),
                message: Some("rebuilt, since the manifest was damaged".to_owned()),
                idempotency: None,
                changes: Changes::default(),
                ..manifest
            };
            let bytes = manifest.encode().map_err(|error| MirrorError::conflict(error.to_string()))?;
            self.set_aside(generation).await?;
            self.create(generation, &bytes).await?;
            parent = Hash::of(&bytes);
            done.rewound.push(generation);
        }
        self.rewrite_hint(last).await
    }

    /// Moves a damaged manifest out of the way and keeps a copy. Returns its hash, if it exists.
    async fn set_aside(&self, generation: u64) -> Result<Option<Hash>, MirrorError> {
        let key = self.keys().manifest(generation);
        let name = format!("{REPLACED}/{generation:020}-{}", Id::random()?);
        let copy = self.keys().state(&name).map_err(|error| MirrorError::conflict(error.to_string()))?;
        let Some(bytes) = self.store.get(&key, 64 << 20).await? else { return Ok(None) };
        self.store.put(&copy, &bytes).await?;
        self.store.delete(&key).await?;
        Ok(Some(Hash::of(&bytes)))
    }

    async fn create(&self, generation: u64, bytes: &Bytes) -> Result<(), MirrorError> {
        let key = self.keys().manifest(generation);
        match self.store.retry(|| self.store.create(&key, bytes)).await {
            Ok(()) => Ok(()),
            Err(Failure::Exists) if self.store.get(&key, MAX_MANIFEST).await?.as_ref() == Some(bytes) => Ok(()),
            Err(Failure::Exists) => Err(MirrorError::Contended),
            Err(failure) => Err(failure.into_error("write", &key)),
        }
    }

    async fn rewrite_hint(&self, generation: u64) -> Result<(), MirrorError> {
        match self.store.get(&self.keys().manifest(generation), MAX_MANIFEST).await? {
            Some(bytes) => self.store.put(&self.keys().latest(), &bytes).await,
            None => Ok(()),
        }
    }
}

impl<S: ContentSource> ChangeSet for RepairChange<'_, S> {
    type Error = MirrorError;
    type Outcome = Repaired;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Repaired>, MirrorError> {
        let Some(head) = head else { return Ok(Attempt::nothing(Repaired::default())) };
        let found = self.mirror.inspect(head, true).await?;
        let mut done = Repaired { flaws: found.flaws.clone(), ..Repaired::default() };
        if found.flaws.is_empty() {
            return Ok(Attempt::nothing(done));
        }
        let rescued = self.mirror.rescue(head, &found, self.source).await?;
        (done.recovered, done.lost, done.unnamed) = (rescued.recovered, rescued.lost, rescued.unnamed);
        let mut held = rescued.held;
        let mut derived = Derived { totals: found.totals, ..Derived::default() };
        for bare in &found.bare {
            count(&mut derived.totals, &bare.record);
            // If nobody has the content, the document stays as it is, so that a host that has it can publish it again.
            let again = self.mirror.upload_again(head, &found, &bare.record, self.source).await?;
            let (Some(key), Some(entry)) = (again, head.segments().get(bare.segment)) else {
                done.lost.push(bare.record.path.clone());
                continue;
            };
            let content = Content::Blob { name: key.to_string(), bytes: bare.record.bytes, text: Bytes::new() };
            held.insert(
                bare.record.path.clone(),
                held_with(&bare.record, [entry.written_at(&bare.record), entry.replaced_by(&bare.record)], content)?,
            );
            derived.deleted.push((entry.id, vec![bare.document]));
        }
        let bare: Vec<&str> = found.bare.iter().map(|bare| bare.record.path.as_str()).collect();
        for one in held.values_mut() {
            let record = one.record();
            if bare.contains(&record.path.as_str()) {
                continue;
            }
            count(&mut derived.totals, &record);
            if let Content::Blob { name, bytes, .. } = &mut one.content
                && found.blobs.get(name) != Some(bytes)
            {
                match self.mirror.upload_again(head, &found, &record, self.source).await? {
                    Some(key) => *name = key.to_string(),
                    None => done.lost.push(record.path),
                }
            }
        }
        known_vectors::give(head, &mut held).await?;
        for segment in found.unusable.keys() {
            if let Some(entry) = head.segments().get(*segment) {
                derived.dropped.push(DroppedSegment { segment: entry.id, deleted: entry.deleted.count() });
            }
        }
        let without_vectors = found.without_vectors.iter().filter_map(|segment| head.segments().get(*segment));
        derived.without_vectors = without_vectors.map(|entry| entry.id).collect();
        derived.clusters = found.without_clusters.then_some(None);
        done.lost.sort();
        done.rescued = (held.len() - done.recovered.len().min(held.len())) as u64;
        derived.segments = build(&held.into_values().collect::<Vec<_>>(), head.manifest().embeddings.as_ref())?;
        let is_nothing = derived.dropped.is_empty()
            && derived.deleted.is_empty()
            && derived.without_vectors.is_empty()
            && derived.clusters.is_none();
        let is_all = done.recovered.is_empty() && done.lost.is_empty() && done.unnamed == 0;
        derived.changes = Changes { changed: done.rescued, ..Changes::default() };
        if is_nothing {
            return Ok(Attempt::nothing(done));
        }
        if !is_all {
            self.mirror.mark(head.generation().saturating_add(1)).await?;
        }
        Ok(Attempt::changes(derived, done))
    }
}
