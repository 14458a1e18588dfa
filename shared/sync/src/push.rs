//! Commits the folder's changes to the mirror.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atlas_mirror::manifest::Changes;
use atlas_mirror::{CommitInfo, Committed, Mirror, Snapshot};
use atlas_segment::Kind;

use crate::attachments::{self, Parent, Reusable};
use crate::change::{Remove, SyncAttempt, SyncChange};
use crate::decide::Version;
use crate::error::SyncError;
use crate::head::{self, HeadDocument, HeadDocuments};
use crate::merged::Merge;
use crate::merging;
use crate::options::SyncOptions;
use crate::plan::{PathPlan, SyncPlan};
use crate::progress::{Phase, Progress};
use crate::pull::Pulled;
use crate::report::{Reason, Skipped};
use crate::session::{Session, newest};
use crate::uploads::Uploads;
use crate::write::{Fingerprint, Write};

/// The time limit of a commit once everything is prepared: for uploads and lost races.
const COMMIT_TIME: Duration = Duration::from_secs(15 * 60);

/// The result of a push; paths are given by their index in the plan.
#[derive(Debug, Default)]
pub(crate) struct Pushed {
    pub(crate) changes: Changes,
    /// The newest generation.
    pub(crate) after: Option<Arc<Snapshot>>,
    /// Whether it directly extends the generation that the plan was made for.
    pub(crate) alone: bool,
    /// The committed files of the folder, in order.
    pub(crate) written: Vec<(usize, Fingerprint)>,
    /// The removed paths.
    pub(crate) removed: BTreeSet<usize>,
    /// The committed conflict copies, by path.
    pub(crate) copies: BTreeMap<String, Fingerprint>,
    /// The merges whose folder's version is set aside.
    pub(crate) aside: BTreeSet<usize>,
    pub(crate) skipped: Vec<Skipped>,
}

/// The writes and removals of a commit, after the pull.
#[derive(Debug, Default)]
struct CommitInput {
    writes: Vec<Arc<Write>>,
    /// For each write, its place in the plan.
    written: Vec<Origin>,
    removes: Vec<Remove>,
    /// For each removal, the index of its path; [`None`] for what an earlier sync set aside.
    removed: Vec<Option<usize>>,
}

/// The source of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The folder's file at a path, by its index.
    Path(usize),
    /// A conflict copy of the folder.
    Copy,
    /// The folder's version of a file to merge, which is set aside; by the index of its path.
    Aside(usize),
}

impl CommitInput {
    fn of(plan: &SyncPlan, pulled: &Pulled) -> Self {
        let (writes, removes) = (plan.writes().count(), plan.removes().count());
        let mut wanted = Self {
            writes: Vec::with_capacity(writes),
            written: Vec::with_capacity(writes),
            removes: Vec::with_capacity(removes),
            removed: Vec::with_capacity(removes),
        };
        for (index, write) in plan.writes() {
            wanted.write(Origin::Path(index), write.clone());
        }
        for (index, path, ancestor) in plan.removes() {
            wanted.remove(index, path.path.to_string(), ancestor);
        }
        // The folder has both versions of a conflict now, and the mirror gets both.
        for (index, _, write) in plan.conflicts().filter(|(index, ..)| pulled.copies.contains_key(index)) {
            wanted.write(Origin::Path(index), write.clone());
        }
        for (index, _, merge) in plan.merges() {
            wanted.write(Origin::Aside(index), Arc::new(merge.aside.clone()));
        }
        // Versions that a killed sync set aside, of files that have changed since. They are in the history.
        let aside: BTreeSet<&str> = plan.merges().map(|(_, _, merge)| merge.aside.file.path.as_str()).collect();
        for (path, document) in merging::set_aside(&plan.heads).filter(|(path, _)| !aside.contains(path)) {
            wanted.removes.push(Remove { path: path.to_owned(), ancestor: Some(document.sha256), beside: None });
            wanted.removed.push(None);
        }
        for (index, path) in plan.displaced().filter(|(index, _)| pulled.copies.contains_key(index)) {
            wanted.remove(index, path.path.to_string(), path.head);
        }
        let mut copies = BTreeSet::new();
        for (file, known) in pulled.copies.values().flatten() {
            // A copy from an interrupted sync is an ordinary file of the folder.
            if !plan.has(file.path.as_str()) && copies.insert(file.path.as_str()) {
                wanted.write(Origin::Copy, Arc::new(Write::new(file.clone(), None).with(*known, None)));
            }
        }
        wanted
    }

    fn write(&mut self, origin: Origin, write: Arc<Write>) {
        self.writes.push(write);
        self.written.push(origin);
    }

    fn remove(&mut self, index: usize, path: String, ancestor: Version) {
        self.removes.push(Remove { path, ancestor, beside: None });
        self.removed.push(Some(index));
    }
}

/// Commits the plan's changes, and the copies that the pull made.
pub(crate) async fn push(
    mirror: &Mirror,
    session: &Session,
    options: &SyncOptions,
    progress: &Arc<dyn Progress>,
    plan: &SyncPlan,
    pulled: &Pulled,
    head: Option<Arc<Snapshot>>,
) -> Result<Pushed, SyncError> {
    let CommitInput { mut writes, written: paths_written, removes, removed: paths_removed } =
        CommitInput::of(plan, pulled);
    if writes.is_empty() && removes.is_empty() {
        return Ok(Pushed { after: head, alone: true, ..Pushed::default() });
    }
    mirror.check_writes().await?;
    let reusable = reusable(plan, &writes, head.as_deref()).await?;
    let folder = &session.folder;
    let parent = Parent {
        manifest: head.as_deref().map(Snapshot::hash),
        uploads: session.was_interrupted.then_some(options.began),
    };
    let unread = attachments::upload(mirror, parent, folder, &mut writes, &reusable, progress).await?;
    let writes = Arc::new(writes);
    let skip = |index: usize, reason| {
        let path = writes.get(index).map_or("", |write| write.file.disk_path()).to_owned();
        Skipped { path, reason }
    };
    let committing = Committing { mirror, session, options, parent, progress };
    let committed = committing.commit(writes.clone(), removes, options.message.clone(), head.as_ref()).await?;
    let attempt = attempt_of(&committed);
    let mut pushed = Pushed { written: Vec::with_capacity(writes.len()), ..Pushed::default() };
    let mut aside = 0;
    let mut done = vec![false; writes.len()];
    let mut is_done = |index: usize| done.get_mut(index).into_iter().for_each(|done| *done = true);
    for (index, reason) in unread {
        is_done(index);
        pushed.skipped.push(skip(index, reason));
    }
    for (index, result) in attempt.iter().flat_map(|attempt| attempt.written()) {
        is_done(index);
        match (result, paths_written.get(index), writes.get(index)) {
            (Ok(written), Some(Origin::Path(path)), _) => pushed.written.push((*path, written.known)),
            (Ok(written), Some(Origin::Copy), Some(copy)) => {
                pushed.copies.insert(copy.file.path.as_str().to_owned(), written.known);
            }
            (Ok(written), Some(Origin::Aside(path)), _) => {
                aside += u64::from(!written.equal);
                pushed.aside.insert(*path);
            }
            (Ok(_), ..) => {}
            (Err(reason), ..) => pushed.skipped.push(skip(index, reason.clone())),
        }
    }
    pushed.written.sort_unstable_by_key(|(path, _)| *path);
    let left = done.iter().enumerate().filter(|(_, done)| !**done).map(|(index, _)| index);
    pushed.skipped.extend(left.map(|index| match paths_written.get(index) {
        Some(Origin::Aside(path)) => overtaken(plan, *path),
        _ => skip(index, Reason::Overtaken),
    }));
    let removed = attempt.iter().flat_map(|attempt| &attempt.removed);
    pushed.removed = removed.filter_map(|index| paths_removed.get(*index).copied().flatten()).collect();
    let large = writes.iter().filter(|write| write.is_large_note());
    let large = large.map(|write| Skipped { path: write.file.disk_path().to_owned(), reason: Reason::LargeNote });
    pushed.skipped.extend(large);
    let extended = head.map_or(0, |head| head.generation());
    match committed {
        Committed::New(after, _) => {
            pushed.alone = after.generation() == extended.saturating_add(1);
            pushed.changes = after.manifest().changes;
            pushed.changes.added = pushed.changes.added.saturating_sub(aside);
            pushed.after = Some(after);
        }
        Committed::Unchanged(after, _) => {
            pushed.alone = after.as_ref().map_or(0, |after| after.generation()) == extended;
            pushed.after = after;
        }
        Committed::Replayed { .. } => pushed.after = newest(mirror).await?,
    }
    Ok(pushed)
}

/// A file that the mirror changed during the sync, by its index.
fn overtaken(plan: &SyncPlan, index: usize) -> Skipped {
    let path = plan.paths.get(index).map(|path| path.path.clone()).unwrap_or_default();
    Skipped { path: path.to_string(), reason: Reason::Overtaken }
}

/// Commits the merges whose versions are both in the mirror now, and adds the new generation to `pushed`. Returns the merged paths by their
/// index in the plan, in order.
pub(crate) async fn push_merges(
    mirror: &Mirror,
    session: &Session,
    options: &SyncOptions,
    progress: &Arc<dyn Progress>,
    plan: &SyncPlan,
    pushed: &mut Pushed,
) -> Result<Vec<usize>, SyncError> {
    let ready: Vec<(usize, &PathPlan, &Merge)> =
        plan.merges().filter(|(index, ..)| pushed.aside.contains(index)).collect();
    let Some(head) = pushed.after.clone().filter(|_| !ready.is_empty()) else { return Ok(Vec::new()) };
    let writes = ready.iter().map(|(_, _, merge)| Arc::new(merge.merged.clone())).collect();
    let remove = |merge: &Merge| Remove {
        path: merge.aside.file.path.as_str().to_owned(),
        ancestor: Some(merge.known.sha256),
        beside: Some(merge.file.path.clone()),
    };
    let removes: Vec<Remove> = ready.iter().map(|(_, _, merge)| remove(merge)).collect();
    let message = merging::message(ready.iter().map(|(_, path, merge)| (&*path.path, *merge)));
    let parent = Parent { manifest: Some(head.hash()), uploads: None };
    let committing = Committing { mirror, session, options, parent, progress };
    let committed = committing.commit(Arc::new(writes), removes, Some(message), Some(&head)).await?;
    let written = attempt_of(&committed).into_iter().flat_map(|attempt| attempt.written());
    let written = written.filter(|(_, result)| result.is_ok()).filter_map(|(write, _)| Some(ready.get(write)?.0));
    let mut merged: Vec<usize> = written.collect();
    merged.sort_unstable();
    pushed.changes.changed += merged.len() as u64;
    let left = ready.iter().filter(|(index, ..)| merged.binary_search(index).is_err());
    pushed.skipped.extend(left.map(|(index, ..)| overtaken(plan, *index)));
    if let Committed::New(after, _) | Committed::Unchanged(Some(after), _) = committed {
        pushed.alone &= after.generation() <= head.generation().saturating_add(1);
        pushed.after = Some(after);
    }
    Ok(merged)
}

/// The environment of a sync's commits.
struct Committing<'a> {
    mirror: &'a Mirror,
    session: &'a Session,
    options: &'a SyncOptions,
    parent: Parent,
    progress: &'a Arc<dyn Progress>,
}

impl Committing<'_> {
    /// Makes one commit on `head`, or on what has become of it.
    async fn commit(
        &self,
        writes: Arc<Vec<Arc<Write>>>,
        removes: Vec<Remove>,
        message: Option<String>,
        head: Option<&Arc<Snapshot>>,
    ) -> Result<Committed<Arc<SyncAttempt>>, SyncError> {
        let Self { mirror, session, options, parent, progress } = self;
        let change = SyncChange {
            folder: session.folder.clone(),
            writes,
            removes,
            progress: (*progress).clone(),
            code: options.code.clone(),
            full_bytes: options.full_bytes,
            uploads: Arc::new(Uploads::new((*mirror).clone(), *parent)),
            last: Mutex::default(),
            planned: head.map(|head| (head.manifest().lineage, head.generation())),
            state: session.states.path().to_owned(),
        };
        change.prepare(head).await?;
        progress.begin(Phase::Commit, None);
        let info = CommitInfo {
            author: options.author.clone(),
            caller: None,
            operation: "sync".to_owned(),
            message,
            session: None,
            key: None,
            time: options.began,
            deadline: COMMIT_TIME,
        };
        mirror.commit(&info, &change).await
    }
}

/// The attempt that was committed. Only a commit with a key is replayed.
const fn attempt_of(committed: &Committed<Arc<SyncAttempt>>) -> Option<&Arc<SyncAttempt>> {
    match committed {
        Committed::New(_, attempt) | Committed::Unchanged(_, attempt) => Some(attempt),
        Committed::Replayed { .. } => None,
    }
}

/// The mirror's attachments that have the content of one to write, which was moved or copied.
async fn reusable(plan: &SyncPlan, writes: &[Arc<Write>], head: Option<&Snapshot>) -> Result<Reusable, SyncError> {
    let wanted: HashSet<[u8; 32]> = writes.iter().filter_map(|write| write.attachment()).collect();
    let Some(head) = head.filter(|_| !wanted.is_empty()) else {
        return Ok(Reusable::new());
    };
    let fetched;
    let known = &plan.heads.documents;
    let attachments = if plan.heads.is_complete {
        documents_of(known)
    } else {
        fetched = head::at(head, &plan.paths_of(&wanted)).await?;
        documents_of(&fetched)
    };
    let same = attachments
        .into_iter()
        .filter(|(_, document)| document.kind == Kind::Attachment && wanted.contains(&document.sha256));
    Ok(same.filter_map(|(path, document)| Some((document.sha256, (path.clone(), document.blob.clone()?)))).collect())
}

fn documents_of(documents: &HeadDocuments) -> Vec<(&String, &HeadDocument)> {
    documents.iter().flat_map(|(path, documents)| documents.iter().map(move |document| (path, document))).collect()
}
