//! Publishes a run: one generation of all of its shards.
//!
//! A document is published only if the mirror still has the version that its shard saw there. What changed in the mirror since stays, and is
//! told; the next run decides again.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::manifest::{Changes, Totals};
use atlas_mirror::{
    Attempt, ChangeSet, CommitInfo, CommitKey, Committed, Derived, Hash, Mirror, NewSegment, SegmentId, SegmentObject,
    Snapshot, merge,
};
use atlas_sync::head::{self, HeadDocument, HeadDocuments};
use atlas_sync::newest;
use atlas_sync::report::Reason;
use jiff::Timestamp;
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
pub(crate) async fn last_run(mirror: &Mirror) -> Result<Option<LastRun>, BuildError> {
    let published = settled(mirror, Published::read(mirror).await?).await?;
    let Some(head) = newest(mirror).await? else { return Ok(None) };
    let is_of_head = |last: &LastRun| last.lineage == head.manifest().lineage && last.generation <= head.generation();
    Ok(published.last.filter(is_of_head))
}

/// The state after a publication that was interrupted: it happened, or not.
async fn settled(mirror: &Mirror, published: Published) -> Result<Published, BuildError> {
    let Some(publishing) = &published.publishing else { return Ok(published) };
    let Some((generation, result)) = mirror.committed(key(&publishing.run, publishing.since, true)).await? else {
        return Ok(published);
    };
    let head = newest(mirror).await?.ok_or_else(|| mirror.not_published())?;
    let last = LastRun {
        run: publishing.run.clone(),
        lineage: head.manifest().lineage,
        generation,
        files: publishing.files,
        changes: changes_of(&result),
    };
    Ok(Published { last: Some(last), publishing: None })
}

fn key(run: &str, since: u64, is_executed: bool) -> CommitKey {
    CommitKey { hash: Hash::of(format!("build {run}").as_bytes()), since, is_executed }
}

fn changes_of(result: &serde_json::Value) -> Changes {
    serde_json::from_value(result["changes"].clone()).unwrap_or_default()
}

/// Publishes `run`, whose shards are all built, as one generation.
///
/// # Errors [`BuildError`]; repeating it is harmless.
pub async fn publish(mirror: &Mirror, run: &Run, now: Timestamp) -> Result<PublishedRun, BuildError> {
    mirror.check_writes_once().await?;
    let records = Records::of(mirror, &run.run)?;
    let published = settled(mirror, Published::read(mirror).await?).await?;
    let plan = records.plan().await?.ok_or_else(|| BuildError::Unbuilt { run: run.run.clone(), shard: 0 })?;
    let totals = shard_totals(&records, &plan, run).await?;
    let told = |generation, changes, overtaken: &Overtaken| {
        let left = overtaken.named.iter().chain(&totals.named).take(MAX_NAMED).cloned().collect();
        PublishedRun {
            generation,
            changes,
            files: totals.files,
            left: totals.left.saturating_add(overtaken.files),
            left_files: left,
        }
    };
    if let Some(last) = published.last.as_ref().filter(|last| last.run == run.run) {
        published.write(mirror).await?;
        return Ok(told(last.generation, last.changes, &Overtaken::default()));
    }
    let base = last_run(mirror).await?.map(|last| last.run);
    if plan.iter().any(|shard| shard.base != base) {
        return Err(BuildError::Overtaken);
    }
    if totals.lost > FEW && totals.lost.saturating_mul(SHARE) > totals.files_before && !run.allow_mass_delete {
        return Err(BuildError::MassDeletion { lost: totals.lost, of: totals.files_before });
    }
    let since = newest(mirror).await?.map_or(0, |head| head.generation());
    // A publication that was begun before may end at any generation since then.
    let begun = published.publishing.as_ref().filter(|begun| begun.run == run.run);
    let since = begun.map_or(since, |begun| begun.since);
    let publishing = Publishing { run: run.run.clone(), since, files: totals.files };
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
    let change = RunChange { mirror, records: &records, plan: &plan, now };
    let (head, changes, overtaken) = match mirror.commit(&info, &change).await? {
        Committed::New(head, overtaken) => {
            let changes = head.manifest().changes;
            (Some(head), changes, overtaken)
        }
        Committed::Unchanged(head, overtaken) => (head, Changes::default(), overtaken),
        Committed::Replayed { result, .. } => (newest(mirror).await?, changes_of(&result), Overtaken::default()),
    };
    let generation = head.as_ref().map_or(0, |head| head.generation());
    let last = head.map(|head| LastRun {
        run: run.run.clone(),
        lineage: head.manifest().lineage,
        generation,
        files: totals.files,
        changes,
    });
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
    }
    Ok(totals)
}

async fn result_of(records: &Records<'_>, run: &Run, shard: u32) -> Result<ShardResult, BuildError> {
    records.result(shard).await?.ok_or_else(|| BuildError::Unbuilt { run: run.run.clone(), shard })
}

/// Files that changed in the mirror since their shard was built, or are in the source twice.
#[derive(Default)]
struct Overtaken {
    files: u64,
    named: Vec<Left>,
}

/// The commit of a run. The shards' results are read again for each attempt, one after the other, so that few are in memory.
struct RunChange<'a> {
    mirror: &'a Mirror,
    records: &'a Records<'a>,
    plan: &'a [Shard],
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
            overtaken: Overtaken::default(),
            spelled: HashSet::new(),
        };
        for shard in self.plan {
            let gone = || BuildError::Unbuilt { run: shard.run.clone(), shard: shard.shard };
            let result = self.records.result(shard.shard).await?.ok_or_else(gone)?;
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
        if changes == Changes::default() {
            return Ok(Attempt::nothing(overtaken));
        }
        let deleted = deleted.into_iter().collect();
        let result = Some(json!({ "changes": changes }));
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
struct Deriving {
    totals: Totals,
    changes: Changes,
    deleted: BTreeMap<SegmentId, Vec<u32>>,
    segments: Vec<NewSegment>,
    overtaken: Overtaken,
    /// The paths of files whose key is spelled otherwise.
    spelled: HashSet<String>,
}

impl Deriving {
    /// Adds a shard's documents. Returns for each of its segments those that are dead from the start.
    fn add(&mut self, result: &ShardResult, documents: &HeadDocuments) -> Vec<Vec<u32>> {
        let mut dead = vec![Vec::new(); result.segments.len()];
        let twins: HashSet<&String> = result.spelled.iter().filter(|path| self.spelled.contains(*path)).collect();
        for push in &result.pushes {
            let is_twin = twins.contains(&push.path);
            if (is_twin || !self.push(push, documents))
                && let Some(dead) = usize::try_from(push.segment).ok().and_then(|segment| dead.get_mut(segment))
            {
                dead.push(push.document);
            }
            if is_twin {
                self.leave(&push.path, Reason::SameName);
            }
        }
        self.spelled.extend(result.spelled.iter().cloned());
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
            self.leave(&remove.path, OVERTAKEN);
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
        self.overtaken.files += 1;
        if self.overtaken.named.len() < MAX_NAMED {
            self.overtaken.named.push(Left { path: path.to_owned(), reason: reason.to_string() });
        }
    }
}

const fn version(document: &HeadDocument) -> ([u8; 32], u64) {
    (document.sha256, document.generation)
}
