//! Publishes a run: one generation of all of its shards.
//!
//! A document is published only if the mirror still has the version that its shard saw there. What changed in the mirror since stays, and is
//! told; the next run decides again.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::manifest::{Changes, Totals};
use atlas_mirror::{
    Attempt, ChangeSet, CommitInfo, CommitKey, Committed, Derived, Hash, Mirror, MirrorError, NewSegment, SegmentId,
    SegmentObject, Snapshot, merge,
};
use atlas_sync::head::{self, HeadDocument, HeadDocuments};
use atlas_sync::newest;
use atlas_sync::report::Reason;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::BuildError;
use crate::records::{LastRun, Left, Published, Publishing, Push, Records, Remove, Shard, ShardResult};

/// The author and the operation of commits.
const AUTHOR: &str = "build";
/// The time limit of the commit.
const COMMIT_TIME: Duration = Duration::from_secs(10 * 60);
/// So many files may always vanish; and one in so many.
const FEW: u64 = 10;
const SHARE: u64 = 5;
/// Why a file is left that the mirror has changed meanwhile.
const OVERTAKEN: &str = "it was changed in the mirror since its shard was built; the next run decides again";
/// Why a file is left that the source does not have any more.
const KEPT: &str = "the source does not have it any more, but it was changed in the mirror since its shard was built";
/// Most files that may have changed in the mirror meanwhile, and most bytes of their paths: the commit carries their names.
const MAX_OVERTAKEN: usize = 1_000;
const MAX_OVERTAKEN_BYTES: usize = 128 << 10;
/// Most files that are named.
const MAX_NAMED: usize = 100;

/// A run to publish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The vault.
    pub vault: String,
    /// The run.
    pub run: String,
    /// Publish it even if many files vanished.
    #[serde(default)]
    pub allow_mass_delete: bool,
}

/// What a publication did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PublishedRun {
    /// The newest generation.
    pub generation: u64,
    /// How many documents changed.
    pub changes: Changes,
    /// The files of the source.
    pub files: u64,
    /// How many are left as they are in the mirror.
    pub left: u64,
    /// Some of them, and why.
    pub left_files: Vec<Left>,
}

/// The run that was published last, if the mirror is still one that it was published to.
///
/// # Errors Those of reading the store.
pub(crate) async fn last_run(mirror: &Mirror, now: Timestamp) -> Result<Option<LastRun>, BuildError> {
    let published = settled(mirror, Published::read(mirror).await?, now).await?;
    let Some(head) = newest(mirror).await? else { return Ok(None) };
    let is_of_head = |last: &LastRun| last.lineage == head.manifest().lineage && last.generation <= head.generation();
    Ok(published.last.filter(is_of_head))
}

/// The state after a publication that was interrupted: it happened, or not.
async fn settled(mirror: &Mirror, published: Published, now: Timestamp) -> Result<Published, BuildError> {
    let Some(publishing) = &published.publishing else { return Ok(published) };
    let (generation, result) = match mirror.committed(key(&publishing.run, publishing.since, true)).await {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(published),
        // It stays, so that its own run is not published twice.
        Err(MirrorError::Forgotten { .. }) if publishing.is_over(now) => return Ok(published),
        Err(error) => return Err(error.into()),
    };
    let head = newest(mirror).await?.ok_or_else(|| mirror.not_published())?;
    let last = LastRun {
        run: publishing.run.clone(),
        lineage: head.manifest().lineage,
        generation,
        files: publishing.files,
        changes: part_of(&result, "changes"),
        overtaken: part_of(&result, "overtaken"),
    };
    Ok(Published { last: Some(last), publishing: None })
}

fn key(run: &str, since: u64, is_executed: bool) -> CommitKey {
    CommitKey { hash: Hash::of(format!("build {run}").as_bytes()), since, is_executed }
}

/// A part of the result that a commit carries.
fn part_of<T: Default + DeserializeOwned>(result: &serde_json::Value, name: &str) -> T {
    serde_json::from_value(result[name].clone()).unwrap_or_default()
}

/// Publishes `run`, whose shards are all built, as one generation.
///
/// # Errors [`BuildError`]; repeating it is harmless.
pub async fn publish(mirror: &Mirror, run: &Run, now: Timestamp) -> Result<PublishedRun, BuildError> {
    mirror.check_writes_once().await?;
    let records = Records::of(mirror, &run.run)?;
    let published = settled(mirror, Published::read(mirror).await?, now).await?;
    let plan = records.plan().await?.ok_or_else(|| BuildError::Unbuilt { run: run.run.clone(), shard: 0 })?;
    let totals = shard_totals(&records, &plan, run).await?;
    let told = |generation, changes, overtaken: &[Left]| {
        let left = overtaken.iter().chain(&totals.named).take(MAX_NAMED).cloned().collect();
        PublishedRun {
            generation,
            changes,
            files: totals.files,
            left: totals.left.saturating_add(overtaken.len() as u64),
            left_files: left,
        }
    };
    let last = last_run(mirror, now).await?;
    if let Some(last) = last.as_ref().filter(|last| last.run == run.run) {
        published.write(mirror).await?;
        return Ok(told(last.generation, last.changes, &last.overtaken));
    }
    let base = last.map(|last| last.run);
    if plan.iter().any(|shard| shard.base != base) {
        return Err(BuildError::Overtaken);
    }
    let is_emptied = totals.files == 0 && totals.files_before > 0 && !run.allow_mass_delete;
    if is_emptied {
        return Err(BuildError::MassDeletion { lost: totals.files_before, of: totals.files_before });
    }
    if totals.lost > FEW && totals.lost.saturating_mul(SHARE) > totals.files_before && !run.allow_mass_delete {
        return Err(BuildError::MassDeletion { lost: totals.lost, of: totals.files_before });
    }
    // Of two runs that began from the same state, only one is published: the other has not seen what it changes.
    let done = published.last.as_ref().map(|last| last.run.as_str());
    let claim = records.claim(base.as_deref(), done, now).await?;
    let since = newest(mirror).await?.map_or(0, |head| head.generation());
    // A publication that was begun before may end at any generation since then.
    let begun = published.publishing.as_ref().filter(|begun| begun.run == run.run);
    let since = begun.map_or(since, |begun| begun.since);
    let publishing = Publishing { run: run.run.clone(), since, files: totals.files, time: now };
    Published { publishing: Some(publishing), ..published }.write(mirror).await?;
    let info = CommitInfo {
        author: AUTHOR.to_owned(),
        caller: None,
        operation: AUTHOR.to_owned(),
        message: None,
        session: None,
        key: Some(key(&run.run, since, begun.is_some())),
        time: now,
        deadline: COMMIT_TIME,
    };
    let change = RunChange { mirror, records: &records, plan: &plan, spelled: &totals.spelled, now };
    let committed = match mirror.commit(&info, &change).await {
        Err(error @ (BuildError::Expired { .. } | BuildError::Purged | BuildError::Changed { .. })) => {
            // Before the claim ends, since another run may be published then. Another worker of this run may have published it.
            let current = Published::read(mirror).await?;
            let is_begun = current.publishing.as_ref().is_some_and(|begun| begun.run == run.run);
            if is_begun && matches!(mirror.committed(key(&run.run, since, true)).await, Ok(None)) {
                Published { publishing: None, ..current }.write(mirror).await?;
            }
            records.end_claim(&claim).await?;
            return Err(error);
        }
        committed => committed?,
    };
    let (head, changes, overtaken) = match committed {
        Committed::New(head, overtaken) => {
            let changes = head.manifest().changes;
            (Some(head), changes, overtaken)
        }
        Committed::Unchanged(head, overtaken) => (head, Changes::default(), overtaken),
        Committed::Replayed { result, .. } => {
            (newest(mirror).await?, part_of(&result, "changes"), part_of(&result, "overtaken"))
        }
    };
    let generation = head.as_ref().map_or(0, |head| head.generation());
    let last = head.map(|head| LastRun {
        run: run.run.clone(),
        lineage: head.manifest().lineage,
        generation,
        files: totals.files,
        changes,
        overtaken: overtaken.clone(),
    });
    if last.is_none() {
        records.end_claim(&claim).await?;
    }
    Published { last, publishing: None }.write(mirror).await?;
    Ok(told(generation, changes, &overtaken))
}

/// Sums over the shards of a run.
#[derive(Default)]
struct ShardTotals {
    files: u64,
    files_before: u64,
    /// Files that vanished or became empty.
    lost: u64,
    left: u64,
    named: Vec<Left>,
    /// The paths of files whose key is spelled otherwise.
    spelled: HashSet<String>,
}

async fn shard_totals(records: &Records<'_>, plan: &[Shard], run: &Run) -> Result<ShardTotals, BuildError> {
    let mut totals = ShardTotals::default();
    for shard in plan {
        let result = result_of(records, run, shard.shard).await?;
        totals.files += result.files;
        totals.files_before += result.files_before;
        let emptied = result.pushes.iter().filter(|push| push.bytes == 0 && push.replaces.is_some()).count();
        totals.lost += (result.removes.len() + emptied) as u64;
        totals.left += result.left.len() as u64;
        let room = MAX_NAMED.saturating_sub(totals.named.len());
        totals.named.extend(result.left.into_iter().take(room));
        totals.spelled.extend(result.spelled);
    }
    Ok(totals)
}

async fn result_of(records: &Records<'_>, run: &Run, shard: u32) -> Result<ShardResult, BuildError> {
    records.result(shard).await?.ok_or_else(|| BuildError::Unbuilt { run: run.run.clone(), shard })
}

/// Files that changed in the mirror since their shard was built, or are in the source twice.
type Overtaken = Vec<Left>;

/// The commit of a run. The shards' results are read again for each attempt, one after the other, so that few are in memory.
struct RunChange<'a> {
    mirror: &'a Mirror,
    records: &'a Records<'a>,
    plan: &'a [Shard],
    /// The paths of files whose key is spelled otherwise, in any shard.
    spelled: &'a HashSet<String>,
    now: Timestamp,
}

impl ChangeSet for RunChange<'_> {
    type Error = BuildError;
    type Outcome = Overtaken;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Overtaken>, BuildError> {
        let mut deriving = Deriving {
            totals: head.map_or_else(Totals::default, |head| head.manifest().totals),
            changes: Changes::default(),
            deleted: BTreeMap::new(),
            segments: Vec::new(),
            overtaken: Overtaken::new(),
            spelled: self.spelled,
            taken: HashSet::new(),
        };
        let history_from = head.map_or(0, |head| head.manifest().history_from);
        for shard in self.plan {
            let gone = || BuildError::Unbuilt { run: shard.run.clone(), shard: shard.shard };
            let result = self.records.result(shard.shard).await?.ok_or_else(gone)?;
            if result.history_from != history_from {
                return Err(BuildError::Purged);
            }
            let documents = match head {
                Some(head) => head::at(head, &paths(&result)).await?,
                None => HeadDocuments::new(),
            };
            let dead = deriving.add(&result, &documents);
            for (part, dead) in result.segments.iter().zip(dead) {
                if dead.len() < part.layout.documents as usize {
                    let uploaded = self.mirror.uploaded_segment(part.id, part.bytes, self.now).await?;
                    let uploaded = uploaded.ok_or_else(|| BuildError::Expired { run: shard.run.clone() })?;
                    let segment = NewSegment::new(SegmentObject::Uploaded(uploaded), part.layout.clone());
                    deriving.segments.push(NewSegment { deleted: dead, ..segment });
                }
            }
        }
        // Removals come last, when all spellings are known.
        for shard in self.plan {
            let gone = || BuildError::Unbuilt { run: shard.run.clone(), shard: shard.shard };
            let result = self.records.result(shard.shard).await?.ok_or_else(gone)?;
            if let Some(head) = head.filter(|_| !result.removes.is_empty()) {
                let paths: Vec<&str> = result.removes.iter().map(|remove| remove.path.as_str()).collect();
                let documents = head::at(head, &paths).await?;
                result.removes.iter().for_each(|remove| deriving.remove(remove, &documents));
            }
        }
        let Deriving { totals, changes, deleted, segments, overtaken, .. } = deriving;
        let bytes: usize = overtaken.iter().map(|left| left.path.len()).sum();
        if overtaken.len() > MAX_OVERTAKEN || bytes > MAX_OVERTAKEN_BYTES {
            return Err(BuildError::Changed { files: MAX_OVERTAKEN });
        }
        if changes == Changes::default() {
            return Ok(Attempt::nothing(overtaken));
        }
        let deleted = deleted.into_iter().collect();
        let result = Some(json!({ "changes": changes, "overtaken": overtaken }));
        let mut derived = Derived { segments, deleted, changes, totals, result, ..Derived::default() };
        if let Some(head) = head {
            merge::compact(head, merge::MEDIUM, &mut derived).await?;
        }
        Ok(Attempt::changes(derived, overtaken))
    }
}

/// The pushed paths of a shard, in order.
fn paths(result: &ShardResult) -> Vec<&str> {
    let paths: BTreeSet<&str> = result.pushes.iter().map(|push| push.path.as_str()).collect();
    paths.into_iter().collect()
}

/// The change so far.
struct Deriving<'a> {
    totals: Totals,
    changes: Changes,
    deleted: BTreeMap<SegmentId, Vec<u32>>,
    segments: Vec<NewSegment>,
    overtaken: Overtaken,
    spelled: &'a HashSet<String>,
    /// Those of these paths that a shard has published.
    taken: HashSet<String>,
}

impl Deriving<'_> {
    /// Adds a shard's documents. Returns for each of its segments those that are dead from the start.
    fn add(&mut self, result: &ShardResult, documents: &HeadDocuments) -> Vec<Vec<u32>> {
        let mut dead = vec![Vec::new(); result.segments.len()];
        for push in &result.pushes {
            let is_twin = self.spelled.contains(&push.path) && !self.taken.insert(push.path.clone());
            if (is_twin || !self.push(push, documents))
                && let Some(dead) = usize::try_from(push.segment).ok().and_then(|segment| dead.get_mut(segment))
            {
                dead.push(push.document);
            }
            if is_twin {
                self.leave(&push.path, Reason::SameName);
            }
        }
        dead
    }

    /// Adds a document; returns whether the mirror takes it.
    fn push(&mut self, push: &Push, documents: &HeadDocuments) -> bool {
        let found = documents.get(&push.path).and_then(|documents| documents.first());
        if found.map(version) != push.replaces.map(|seen| (*seen.sha256.as_bytes(), seen.generation)) {
            if found.is_none_or(|found| found.sha256 != *push.sha256.as_bytes()) {
                self.leave(&push.path, OVERTAKEN);
            }
            return false;
        }
        match self.take_out(&push.path, documents) {
            true => self.changes.changed += 1,
            false => self.changes.added += 1,
        }
        self.totals.add(push.kind, push.bytes);
        true
    }

    fn remove(&mut self, remove: &Remove, documents: &HeadDocuments) {
        let found = documents.get(&remove.path).and_then(|documents| documents.first());
        if self.spelled.contains(&remove.path) || found.is_none() {
            return;
        }
        if found.map(version) == Some((*remove.seen.sha256.as_bytes(), remove.seen.generation)) {
            self.take_out(&remove.path, documents);
            self.changes.removed += 1;
        } else {
            self.leave(&remove.path, KEPT);
        }
    }

    fn take_out(&mut self, path: &str, documents: &HeadDocuments) -> bool {
        let old = documents.get(path).map_or(&[][..], Vec::as_slice);
        for document in old {
            self.deleted.entry(document.segment).or_default().push(document.document);
        }
        if let Some(document) = old.first() {
            self.totals.remove(document.kind, document.bytes);
        }
        !old.is_empty()
    }

    fn leave(&mut self, path: &str, reason: impl ToString) {
        self.overtaken.push(Left { path: path.to_owned(), reason: reason.to_string() });
    }
}

const fn version(document: &HeadDocument) -> ([u8; 32], u64) {
    (document.sha256, document.generation)
}
