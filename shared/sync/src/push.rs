//! Commits the folder's changes to the mirror.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atlas_mirror::manifest::Changes;
use atlas_mirror::{CommitInfo, Committed, Mirror, Snapshot};
use atlas_segment::Kind;

use crate::attachments::{self, Parent, Reusable};
use crate::change::{Fingerprint, Remove, SyncChange, Write};
use crate::decide::Version;
use crate::error::SyncError;
use crate::head::{self, HeadDocument, HeadDocuments};
use crate::options::SyncOptions;
use crate::plan::SyncPlan;
use crate::progress::{Phase, Progress};
use crate::pull::Pulled;
use crate::report::{Reason, Skipped};
use crate::session::{Session, newest};

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
    /// The committed files of the folder.
    pub(crate) written: BTreeMap<usize, Fingerprint>,
    /// The removed paths.
    pub(crate) removed: BTreeSet<usize>,
    /// The committed conflict copies, by path.
    pub(crate) copies: BTreeMap<String, Fingerprint>,
    pub(crate) skipped: Vec<Skipped>,
}

/// The writes and removals of a commit, after the pull.
#[derive(Debug, Default)]
struct CommitInput {
    writes: Vec<Write>,
    /// For each write, the index of its path in the plan; [`None`] for a copy.
    written: Vec<Option<usize>>,
    removes: Vec<Remove>,
    /// For each removal, the index of its path.
    removed: Vec<usize>,
}

impl CommitInput {
    fn of(plan: &SyncPlan, pulled: &Pulled) -> Self {
        let mut wanted = Self::default();
        for (index, write) in plan.writes() {
            wanted.write(Some(index), write.clone());
        }
        for (index, path, ancestor) in plan.removes() {
            wanted.remove(index, path.path.clone(), ancestor);
        }
        // The folder has both versions of a conflict now, and the mirror gets both.
        for (index, _, write) in plan.conflicts().filter(|(index, ..)| pulled.copies.contains_key(index)) {
            wanted.write(Some(index), write.clone());
        }
        for (index, path) in plan.displaced().filter(|(index, _)| pulled.copies.contains_key(index)) {
            wanted.remove(index, path.path.clone(), path.head);
        }
        let mut copies = BTreeSet::new();
        for (file, known) in pulled.copies.values().flatten() {
            // A copy from an interrupted sync is an ordinary file of the folder.
            if !plan.has(file.path.as_str()) && copies.insert(file.path.as_str()) {
                wanted.write(None, Write { known: Some(*known), ..Write::new(file.clone(), None) });
            }
        }
        wanted
    }

    fn write(&mut self, path: Option<usize>, write: Write) {
        self.writes.push(write);
        self.written.push(path);
    }

    fn remove(&mut self, index: usize, path: String, ancestor: Version) {
        self.removes.push(Remove { path, ancestor });
        self.removed.push(index);
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
    let change = SyncChange {
        folder: folder.clone(),
        writes: writes.clone(),
        removes,
        progress: progress.clone(),
        code: options.code.clone(),
        last: Mutex::default(),
        planned: head.as_deref().map(|head| (head.manifest().lineage, head.generation())),
        state: session.states.path().to_owned(),
    };
    change.prepare(head.as_ref()).await?;
    progress.begin(Phase::Commit, None);
    let info = CommitInfo {
        author: options.author.clone(),
        caller: None,
        operation: "sync".to_owned(),
        message: options.message.clone(),
        session: None,
        key: None,
        time: options.began,
        deadline: COMMIT_TIME,
    };
    let committed = mirror.commit(&info, &change).await?;
    let attempt = match &committed {
        Committed::New(_, attempt) | Committed::Unchanged(_, attempt) => Some(attempt),
        // Only a commit with a key is replayed.
        Committed::Replayed { .. } => None,
    };
    let mut pushed = Pushed::default();
    let mut done: HashSet<usize> = HashSet::new();
    for (index, reason) in unread {
        done.insert(index);
        pushed.skipped.push(skip(index, reason));
    }
    for (index, result) in attempt.iter().flat_map(|attempt| attempt.written()) {
        done.insert(index);
        match (result, paths_written.get(index), writes.get(index)) {
            (Ok(written), Some(Some(path)), _) => drop(pushed.written.insert(*path, written.known)),
            (Ok(written), _, Some(copy)) => {
                pushed.copies.insert(copy.file.path.as_str().to_owned(), written.known);
            }
            (Ok(_), _, None) => {}
            (Err(reason), ..) => pushed.skipped.push(skip(index, reason.clone())),
        }
    }
    let left = (0..writes.len()).filter(|index| !done.contains(index));
    pushed.skipped.extend(left.map(|index| skip(index, Reason::Overtaken)));
    let removed = attempt.iter().flat_map(|attempt| &attempt.removed);
    pushed.removed = removed.filter_map(|index| paths_removed.get(*index).copied()).collect();
    let large = writes.iter().filter(|write| write.is_large_note());
    let large = large.map(|write| Skipped { path: write.file.disk_path().to_owned(), reason: Reason::LargeNote });
    pushed.skipped.extend(large);
    let extended = head.map_or(0, |head| head.generation());
    match committed {
        Committed::New(after, _) => {
            pushed.alone = after.generation() == extended.saturating_add(1);
            pushed.changes = after.manifest().changes;
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

/// The mirror's attachments that have the content of one to write, which was moved or copied.
async fn reusable(plan: &SyncPlan, writes: &[Write], head: Option<&Snapshot>) -> Result<Reusable, SyncError> {
    let wanted: HashSet<[u8; 32]> = writes.iter().filter_map(Write::attachment).collect();
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
