//! One sync: what changed in the folder goes to the mirror, in one commit.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atlas_mirror::manifest::Changes;
use atlas_mirror::{ChangeSet as _, CommitInfo, Committed, Mirror, Snapshot};
use atlas_segment::Kind;
use jiff::Timestamp;

use crate::attachments::{self, Reusable};
use crate::change::Change;
use crate::error::SyncError;
use crate::folder::Folder;
use crate::guard::{Ancestry, Danger, Loss, Losses};
use crate::head::{self, HeadDocuments};
use crate::plan;
use crate::progress::{Phase, Progress};
use crate::report::{Reason, Skipped};
use crate::scan;
use crate::session::{Session, newest, seen};
use crate::sides::{Decided, Sides};
use crate::state::State;
use crate::summary::Summary;

/// How long a commit may take once everything is prepared: to upload segments, and to lose races.
const COMMIT_TIME: Duration = Duration::from_secs(15 * 60);
/// A file modified no longer than this before the sync began may be modified again without its time showing it.
const RACY: Duration = Duration::from_secs(2);

/// What to sync, and how.
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// The vault's folder.
    pub root: PathBuf,
    /// The folder for the sync state: one for each root, vault and store.
    pub state: PathBuf,
    /// Who commits.
    pub author: String,
    /// Why.
    pub message: Option<String>,
    /// When the sync begins.
    pub began: Timestamp,
    /// Read all files, also those whose size and time are as they were.
    pub checksum: bool,
    /// Change nothing.
    pub dry_run: bool,
    /// Go on when many notes vanished.
    pub allow_mass_delete: bool,
}

/// Brings to the mirror what changed in the folder since the last sync.
///
/// # Errors
/// [`SyncError`]. Nothing is committed then, unless it says that this is not known; the next sync completes either.
pub async fn push(mirror: &Mirror, options: &PushOptions, progress: Arc<dyn Progress>) -> Result<Summary, SyncError> {
    let mirror = mirror.metered();
    let session = Session::open(&options.root, &options.state, &mirror)?;
    progress.begin(Phase::Scan, None);
    let scanning = {
        let (folder, progress) = (session.folder.clone(), progress.clone());
        blocking(move || scan::scan(&folder, &*progress))
    };
    let (mut scan, head) = futures::future::try_join(scanning, newest(&mirror)).await?;
    let ancestry = session.check_ancestry(&mirror, head.as_deref()).await?;
    let mut summary = Summary {
        skipped: std::mem::take(&mut scan.skipped),
        bytes: scan.files.iter().map(|file| file.stamp.size).sum(),
        ..Summary::default()
    };
    let entries = session.before.as_ref().map_or_else(Vec::new, |before| before.entries.clone());
    if scan.files.is_empty() && summary.skipped.is_empty() && entries.len() > 1 && !options.allow_mass_delete {
        return Err(Danger::Emptied { root: session.folder.path().to_owned(), of: entries.len() as u64 }.into());
    }
    // What the mirror has is known without asking when it is what the last sync left.
    let settled = ancestry == Ancestry::Same && session.before.as_ref().is_some_and(|before| before.settled);
    let documents = match &head {
        Some(_) if settled => None,
        Some(head) => Some(head::all(head).await?),
        None => Some(HeadDocuments::new()),
    };
    let sides = Sides { items: plan::compare(scan, entries, options.checksum), documents };
    let decided = {
        let (folder, progress) = (session.folder.clone(), progress.clone());
        blocking(move || Ok(sides.decide(&folder, &*progress))).await?
    };
    let (mut decided, losses) = check_losses(&session, options, decided, &progress).await?;
    summary.unchanged = decided.unchanged;
    summary.waiting = decided.waiting;
    summary.conflicts = std::mem::take(&mut decided.conflicts);
    summary.skipped.append(&mut decided.skipped);

    let (changes, after, alone) = if options.dry_run {
        (decided.changes(), head, false)
    } else {
        commit(&mirror, &session.folder, options, &progress, &mut decided, head, &mut summary.skipped).await?
    };
    (summary.added, summary.changed, summary.removed) = (changes.added, changes.changed, changes.removed);
    if let Some(after) = &after {
        let totals = after.manifest().totals;
        (summary.generation, summary.notes, summary.attachments) =
            (after.generation(), totals.notes, totals.attachments);
        if !options.dry_run {
            remember(&session, &mirror, options, &decided, after, alone, losses)?;
        }
    }
    summary.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    summary.uploaded_bytes = mirror.counts().bytes_written;
    Ok(summary)
}

/// Stops when too many notes vanished. The answer has the losses that are to be remembered.
async fn check_losses(
    session: &Session,
    options: &PushOptions,
    mut decided: Decided,
    progress: &Arc<dyn Progress>,
) -> Result<(Decided, Vec<Loss>), SyncError> {
    if options.allow_mass_delete {
        return Ok((decided, Vec::new()));
    }
    let time_ms = options.began.as_millisecond();
    let before = session.before.as_ref().map_or(&[][..], |before| &before.losses);
    let root = session.folder.path();
    let mut losses = Losses { before, now: decided.loss(time_ms) };
    if losses.check(root).is_err() {
        // A note that has only moved is not lost, but to know that takes reading what is new.
        let (folder, progress) = (session.folder.clone(), progress.clone());
        decided = blocking(move || Ok(decided.read_new(&folder, &*progress))).await?;
        losses.now = decided.loss(time_ms);
        losses.check(root)?;
    }
    Ok((decided, losses.remembered()))
}

/// Commits what was decided. The answer has what that changed, the newest generation, and whether it extends `head`
/// and nothing else.
async fn commit(
    mirror: &Mirror,
    folder: &Arc<Folder>,
    options: &PushOptions,
    progress: &Arc<dyn Progress>,
    decided: &mut Decided,
    head: Option<Arc<Snapshot>>,
    skipped: &mut Vec<Skipped>,
) -> Result<(Changes, Option<Arc<Snapshot>>, bool), SyncError> {
    if decided.writes.is_empty() && decided.removes.is_empty() {
        return Ok((Changes::default(), head, true));
    }
    mirror.check_writes().await?;
    let reusable = reusable(decided, head.as_deref()).await?;
    let unread = attachments::upload(
        mirror,
        head.as_deref().map(Snapshot::hash),
        folder,
        &mut decided.writes,
        &reusable,
        progress,
    )
    .await?;
    let writes = Arc::new(std::mem::take(&mut decided.writes));
    let skip = |index: usize, reason| {
        let path = writes.get(index).map_or("", |write| write.file.disk_path()).to_owned();
        Skipped { path, reason }
    };
    skipped.extend(unread.into_iter().map(|(index, reason)| skip(index, reason)));
    let change = Change {
        folder: folder.clone(),
        writes: writes.clone(),
        removes: std::mem::take(&mut decided.removes),
        progress: progress.clone(),
        last: Mutex::default(),
    };
    // Reading and indexing takes as long as it takes; the commit's time begins after it.
    change.derive(head.as_ref()).await?;
    progress.begin(Phase::Commit, None);
    let info = CommitInfo {
        author: options.author.clone(),
        operation: "sync".to_owned(),
        message: options.message.clone(),
        key: None,
        time: options.began,
        deadline: COMMIT_TIME,
    };
    let committed = mirror.commit(&info, &change).await?;
    let attempt = change.last();
    for (index, written) in attempt.iter().flat_map(|attempt| attempt.written()) {
        match written {
            Ok(written) => {
                decided.written.insert(index, written.known);
            }
            Err(reason) => skipped.push(skip(index, reason.clone())),
        }
    }
    decided.removed = attempt.iter().flat_map(|attempt| &attempt.removed).copied().collect();
    let large = writes.iter().filter(|write| write.is_large_note());
    skipped.extend(large.map(|write| Skipped { path: write.file.disk_path().to_owned(), reason: Reason::LargeNote }));
    let extended = head.map_or(0, |head| head.generation());
    Ok(match committed {
        Committed::New(after) => {
            let alone = after.generation() == extended.saturating_add(1);
            (after.manifest().changes, Some(after), alone)
        }
        Committed::Unchanged(after) => {
            let alone = after.as_ref().map_or(0, |after| after.generation()) == extended;
            (Changes::default(), after, alone)
        }
        // Only a commit with a key is replayed.
        Committed::Replayed { .. } => (Changes::default(), newest(mirror).await?, false),
    })
}

/// The mirror's attachments that have the content of one that is to be written: it has moved, or is a copy.
async fn reusable(decided: &Decided, head: Option<&Snapshot>) -> Result<Reusable, SyncError> {
    let wanted: HashSet<[u8; 32]> = decided.writes.iter().filter_map(|write| write.attachment()).collect();
    let Some(head) = head.filter(|_| !wanted.is_empty()) else {
        return Ok(Reusable::new());
    };
    let fetched;
    let documents = match &decided.documents {
        Some(documents) => documents,
        None => {
            fetched = head::at(head, &decided.paths_of(&wanted)).await?;
            &fetched
        }
    };
    let attachments =
        documents.iter().flat_map(|(path, documents)| documents.iter().map(move |document| (path, document)));
    let same =
        attachments.filter(|(_, document)| document.kind == Kind::Attachment && wanted.contains(&document.sha256));
    Ok(same.filter_map(|(path, document)| Some((document.sha256, (path.clone(), document.blob.clone()?)))).collect())
}

/// Leaves to the next sync what this one came to.
fn remember(
    session: &Session,
    mirror: &Mirror,
    options: &PushOptions,
    decided: &Decided,
    after: &Snapshot,
    alone: bool,
    losses: Vec<Loss>,
) -> Result<(), SyncError> {
    let trusted = options.began.as_nanosecond().saturating_sub(RACY.as_nanos().cast_signed());
    let state = State {
        root: session.folder.path().to_string_lossy().into_owned(),
        vault: mirror.vault().to_string(),
        mount_point: session.mount_point.to_string_lossy().into_owned(),
        seen: seen(after),
        settled: alone && decided.is_settled(),
        losses,
        entries: decided.entries(i64::try_from(trusted).unwrap_or(i64::MAX)),
    };
    if session.before.as_ref() == Some(&state) { Ok(()) } else { session.states.save(&state) }
}

/// Runs what waits for files or computes for long on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SyncError> + Send + 'static,
) -> Result<T, SyncError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| SyncError::Broken(error.to_string()))?
}
