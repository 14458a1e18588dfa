//! One sync: the mirror's changes go to the folder, and the folder's changes go to the mirror.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::embedding::Embedded;
use atlas_mirror::{CLUSTERED_FROM, Mirror, MirrorError, Snapshot};

use crate::attachment_texts;
use crate::blocking::blocking;
use crate::compare;
use crate::conflict;
use crate::embedding::{self, Embedder};
use crate::error::SyncError;
use crate::guard::{Danger, FileKind, Loss, Side};
use crate::head::{self, Heads};
use crate::join;
use crate::make_room;
use crate::merged::Merge;
use crate::merging;
use crate::options::SyncOptions;
use crate::outcome::{self, Outcome};
use crate::past::{Past, Reach, Removals};
use crate::plan::{Lost, PathPlan, SyncPlan};
use crate::progress::{Phase, Progress};
use crate::pull::{self, Conflicted, Pulled, Puller};
use crate::push::{Pushed, push, push_merges};
use crate::reading;
use crate::recovery;
use crate::repair;
use crate::report::{Reason, Skipped};
use crate::rules::{STAGING, Tree};
use crate::scan;
use crate::session::{Session, newest, seen};
use crate::state::{Entry, State};
use crate::summary::Summary;
use crate::target::Target;
use crate::write::{Fingerprint, Write};

/// A file modified within this time before the sync may be modified again without a change of its time.
const RACY: Duration = Duration::from_secs(2);

/// Most rounds of one sync: after files were renamed, the files that take their place may clash with others.
const MAX_ROUNDS: usize = 4;

/// The losses of each side and kind.
type Vanished = Vec<(Side, Lost)>;

/// Makes folder and mirror equal: pulls, then pushes in one commit. Where both have changed a file, the folder's
/// version keeps its path and the mirror's becomes a copy beside it.
///
/// # Errors [`SyncError`]. The next sync completes a stopped one.
pub async fn sync(mirror: &Mirror, options: &SyncOptions, progress: Arc<dyn Progress>) -> Result<Summary, SyncError> {
    let mirror = mirror.metered();
    let session = Session::open(&options.root, &options.state, &mirror, options.push_only)?;
    let mut summary = Summary { skipped: recovered(&session, options).await?, ..Summary::default() };
    let repaired = match options.repair && !options.dry_run {
        true => Some(repair::repair(&mirror, &session, options, &progress).await?),
        false => None,
    };
    repaired.iter().for_each(|repaired| progress.repaired(repaired));
    let mut before = summary.skipped.clone();
    for rounds in (0..MAX_ROUNDS).rev() {
        summary.repaired.clone_from(&repaired);
        match round(&mirror, &session, options, &progress, summary, rounds > 0).await? {
            Round::Done(done) => {
                summary = *done;
                break;
            }
            Round::MadeRoom(moved, mut skipped) => {
                before.append(&mut skipped);
                summary = Summary { skipped: before.clone(), conflicts: moved, ..Summary::default() };
            }
        }
    }
    if let Some(retention) = options.collect.filter(|_| !options.dry_run && summary.generation > 0) {
        match mirror.collect(retention, options.began).await {
            Ok(collected) => summary.collected = Some(collected),
            Err(error @ MirrorError::Damaged { .. }) => return Err(error.into()),
            Err(error) => tracing::warn!(%error, "what is not needed any more was not deleted from the store"),
        }
    }
    repair::tell(&mirror, options, &summary).await?;
    summary.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    summary.uploaded_bytes = mirror.counts().bytes_written;
    Ok(summary)
}

/// The result of a round.
enum Round {
    Done(Box<Summary>),
    /// Files of the folder were renamed, so a new round is needed.
    MadeRoom(Vec<Conflicted>, Vec<Skipped>),
}

/// One round; `summary` has the results so far. Files are renamed only if there `is_another`.
async fn round(
    mirror: &Mirror,
    session: &Session,
    options: &SyncOptions,
    progress: &Arc<dyn Progress>,
    mut summary: Summary,
    is_another: bool,
) -> Result<Round, SyncError> {
    progress.begin(Phase::Scan, None);
    let scanning = {
        let (folder, progress, tree) = (session.folder.clone(), progress.clone(), options.tree);
        blocking(move || scan::scan(&folder, tree, &*progress))
    };
    let (mut scan, head) = futures::future::try_join(scanning, newest(mirror)).await?;
    let is_later = repair::is_later(mirror, session, head.as_deref()).await? || (options.repair && head.is_none());
    let last = match session.check_ancestry(mirror, head.as_ref()).await {
        _ if is_later => None,
        // A lost mirror is created again.
        Err(SyncError::Danger(_)) if options.push_only => None,
        last => last?,
    };
    summary.skipped.append(&mut scan.skipped);
    summary.excluded = std::mem::take(&mut scan.excluded);
    summary.bytes = scan.files.iter().map(|file| file.stamp.size).sum();
    let paths = scan.files.iter().map(|file| file.path.as_str());
    summary.copies = paths.filter(|path| conflict::is_copy(path)).map(str::to_owned).collect();
    let entries = session.before.as_ref().map_or_else(Vec::new, |before| before.entries.clone());
    let is_empty = scan.files.is_empty() && summary.skipped.is_empty() && scan.unknown.is_empty();
    if is_empty && entries.len() > 1 && !options.allow_mass_delete {
        let (root, state) = (session.folder.path().to_owned(), session.states.path().to_owned());
        return Err(Danger::Emptied { root, state, of: entries.len() as u64 }.into());
    }
    let folders = Arc::new(std::mem::take(&mut scan.folders));
    let heads = heads(session, last.as_deref(), head.as_deref()).await?;
    let entries = match is_later {
        true => {
            let common = repair::last_common(mirror, session, head.as_deref()).await?;
            repair::ancestors(entries, &heads, common)
        }
        false => entries,
    };
    // With a settled state, all versions that the mirror had then were seen, unless a sync was killed since, which may
    // have brought later ones.
    let is_settled = session.before.as_ref().is_some_and(|before| before.settled);
    let reach = match session.before.as_ref().filter(|_| is_settled && !is_later && !session.was_interrupted) {
        Some(before) => Reach::After(before.seen.generation),
        None if is_later && !session.was_interrupted => Reach::New,
        None => Reach::SinceAncestor,
    };
    let past = head.as_deref().filter(|_| !options.push_only).map(|head| Past { mirror, head, reach });
    let plan = planned(past, session, scan, entries, heads, options, progress).await?;
    let (mut plan, vanished) = check_losses(session, options, plan, progress).await?;
    if session.before.is_none()
        && !options.join
        && !options.push_only
        && join::check(&plan, session.folder.path()).is_err()
    {
        // A moved file is recognised by reading the new files.
        plan = read_new(session, plan, progress).await?;
        join::check(&plan, session.folder.path())?;
    }
    if let Some(head) = head.as_ref().filter(|_| options.merge && !options.push_only) {
        let (folder, last) = (&session.folder, last.as_deref());
        merging::plan_merges(&mut plan, &merging::Sources { mirror, folder, last, head }).await?;
    }
    summary.unchanged = plan.unchanged;
    summary.skipped.extend_from_slice(&plan.skipped);
    if options.tree == Tree::Code {
        let unread = plan.writes().filter(|(_, write)| write.attachment().is_some() && !write.is_large_note());
        let path = |write: &Write| write.file.disk_path().to_owned();
        let skipped = unread.map(|(_, write)| Skipped { path: path(write), reason: Reason::NotText });
        summary.skipped.extend(skipped);
    }
    if options.dry_run {
        (summary.pulled, summary.conflicts) = pull::planned(&plan);
        summary.pushed = plan.pushes();
        summary.waiting = plan.waiting;
        summary.changed = outcome::planned(&plan);
        summary.merged = plan.merges().map(|(_, path, merge)| merge.described(&path.path)).collect();
        summary.describe(head.as_deref());
        return Ok(Round::Done(Box::new(summary)));
    }
    if plan.changes_anything() {
        session.states.rehearse(session.before.as_ref())?;
    }
    let mut pulled = Pulled::default();
    if let Some(snapshot) = &head {
        // A folder that cannot be listed now might later seem to be deleted.
        let is_half = summary.skipped.iter().any(|skipped| matches!(skipped.reason, Reason::Unlistable(_)));
        if is_another && !is_half {
            let (made, skipped) = make_room::make_room(mirror, snapshot, &session.folder, options, &plan).await?;
            if !made.is_empty() {
                summary.conflicts.extend(made);
                return Ok(Round::MadeRoom(summary.conflicts, skipped));
            }
            summary.skipped.extend(skipped);
        }
        let (folder, began, time_zone) = (&session.folder, options.began, options.time_zone.clone());
        let puller = Puller { mirror, snapshot, folder, folders: &folders, began, time_zone, progress };
        pulled = puller.run(&plan).await?;
    }
    let mut pushed = push(mirror, session, options, progress, &plan, &pulled, head).await?;
    let committed = push_merges(mirror, session, options, progress, &plan, &mut pushed).await?;
    let merged = match &pushed.after {
        Some(snapshot) => {
            let (folder, began, time_zone) = (&session.folder, options.began, options.time_zone.clone());
            let puller = Puller { mirror, snapshot, folder, folders: &folders, began, time_zone, progress };
            pull_merges(&puller, &plan, committed, &mut pulled).await?
        }
        None => BTreeMap::new(),
    };
    let is_merged = |(index, _, _): &(usize, &PathPlan, &Merge)| merged.contains_key(index);
    let described = plan.merges().filter(is_merged).map(|(_, path, merge)| merge.described(&path.path));
    summary.merged = described.collect();
    let Pushed { changes, after, alone, written, removed, copies, skipped, aside: _ } = pushed;
    let outcome = Outcome { plan, pulled: pulled.done, written, removed, copies, merged, alone };
    (summary.pulled, summary.pushed) = (pulled.changes, changes);
    summary.conflicts.append(&mut pulled.conflicts);
    summary.skipped.extend(pulled.skipped.into_iter().chain(skipped));
    summary.waiting = outcome.plan.waiting + pulled.waiting;
    summary.changed = outcome.named();
    summary.describe(after.as_deref());
    if let Some(after) = &after {
        let entries = remember(session, mirror, options, outcome, after, vanished)?;
        let (folder, state) = (&session.folder, session.states.path());
        match attachment_texts::add(mirror, folder, state, options, &entries, &**progress).await {
            Ok(added) => {
                (summary.texts, summary.texts_waiting) = (added.added, added.waiting);
                summary.generation = added.generation.unwrap_or(summary.generation);
            }
            // The files are in sync nevertheless.
            Err(error) => tracing::warn!(%error, "the text of attachments could not be added"),
        }
        match embed(mirror, options, after, &**progress).await {
            Ok((embedded, failure)) => {
                summary.embedding_failure = failure;
                (summary.embedded, summary.embedding_waiting) = (embedded.notes, embedded.waiting);
                // A run that an earlier sync began may have ended before this one.
                summary.generation = embedded.generation.unwrap_or_default().max(summary.generation);
            }
            // The files are in sync nevertheless.
            Err(error) => tracing::warn!(%error, "notes could not be embedded"),
        }
    }
    Ok(Round::Done(Box::new(summary)))
}

/// Embeds what lacks vectors, if there is a model.
async fn embed(
    mirror: &Mirror,
    options: &SyncOptions,
    after: &Arc<Snapshot>,
    progress: &dyn Progress,
) -> Result<(Embedded, Option<String>), SyncError> {
    let embedder = Embedder {
        author: options.author.clone(),
        time: options.began,
        state: Some(options.state.clone()),
        clustered_from: CLUSTERED_FROM,
    };
    match &options.background {
        Some(background) => background.embed(mirror, after, embedder, options.embeddings.clone()).await,
        None => embedding::embed_waiting(mirror, after, &embedder, options.embeddings.as_ref(), progress).await,
    }
}

/// Brings the `committed` merges, by their index, into the folder; adds the changes to `pulled`. Returns all of them, with the folder's new files
/// where they were written.
async fn pull_merges(
    puller: &Puller<'_>,
    plan: &SyncPlan,
    committed: Vec<usize>,
    pulled: &mut Pulled,
) -> Result<BTreeMap<usize, Option<Fingerprint>>, SyncError> {
    if committed.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut brought = puller.run(&plan.pulls_of_merges(&committed)).await?;
    pulled.changes.changed += brought.changes.changed;
    pulled.waiting += brought.waiting;
    pulled.skipped.append(&mut brought.skipped);
    Ok(committed.into_iter().enumerate().map(|(at, index)| (index, brought.done.remove(&at).flatten())).collect())
}

/// Restores the files of a killed sync.
async fn recovered(session: &Session, options: &SyncOptions) -> Result<Vec<Skipped>, SyncError> {
    // Nearly always there is no such folder.
    if options.dry_run || options.push_only || session.folder.dir.symlink_metadata(STAGING).is_err() {
        return Ok(Vec::new());
    }
    let Ok(target) = Target::of(&session.folder, options.began) else { return Ok(Vec::new()) };
    let entries = session.before.as_ref().map_or_else(Vec::new, |before| before.entries.clone());
    let (began, time_zone) = (options.began, options.time_zone.clone());
    blocking(move || {
        let ancestor = |path: &str| {
            let at = entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok();
            at.and_then(|at| entries.get(at)).map(|entry| entry.sha256)
        };
        Ok(recovery::recover(&target, ancestor, began, &time_zone))
    })
    .await
}

/// The mirror's documents: none when it is unchanged since the last sync, the changed ones where that sync's generation
/// is known, else all.
async fn heads(session: &Session, last: Option<&Snapshot>, head: Option<&Snapshot>) -> Result<Heads, SyncError> {
    let Some(head) = head else { return Ok(Heads { is_complete: true, ..Heads::default() }) };
    let is_settled = session.before.as_ref().is_some_and(|before| before.settled);
    if let Some(last) = last.filter(|_| is_settled) {
        if last.hash() == head.hash() {
            return Ok(Heads::default());
        }
        match head::changed(last, head).await {
            Ok(documents) => return Ok(Heads { is_complete: false, documents }),
            Err(error) if head::is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Heads { is_complete: true, documents: head::all(head).await? })
}

/// Plans every path; where both sides changed, with the history of the mirror `past`, if given.
async fn planned(
    past: Option<Past<'_>>,
    session: &Session,
    scan: scan::Scan,
    entries: Vec<Arc<Entry>>,
    heads: Heads,
    options: &SyncOptions,
    progress: &Arc<dyn Progress>,
) -> Result<SyncPlan, SyncError> {
    let (tree, checksum, push_only) = (options.tree, options.checksum, options.push_only);
    let only = options.only.clone();
    let (items, heads) = blocking(move || {
        let mut items = compare::compare(scan, entries, &heads, tree, checksum);
        if let Some(only) = only {
            items.retain(|item| only.has(&item.path));
        }
        if push_only {
            compare::prefer_folder(&mut items);
        }
        Ok((items, heads))
    })
    .await?;
    let before_removals = match &past {
        Some(past) => past.before_removals(&items).await?,
        None => Removals::new(),
    };
    let (folder, progress) = (session.folder.clone(), progress.clone());
    let with_new = !before_removals.is_empty();
    let (mut items, contents) = blocking(move || {
        let contents = reading::touched(&folder, &items, with_new, &*progress);
        Ok((items, contents))
    })
    .await?;
    if let Some(past) = past {
        past.recall(&session.folder, &heads, &mut items, &contents, before_removals).await?;
    }
    let folder = session.folder.clone();
    blocking(move || Ok(SyncPlan::of(items, contents, heads, &folder))).await
}

async fn read_new(session: &Session, plan: SyncPlan, progress: &Arc<dyn Progress>) -> Result<SyncPlan, SyncError> {
    let (from, progress) = (session.folder.clone(), progress.clone());
    blocking(move || Ok(plan.read_new(&from, &*progress))).await
}

/// Stops when too many files vanished on one side. Returns the losses that the next sync may have to count.
async fn check_losses(
    session: &Session,
    options: &SyncOptions,
    mut plan: SyncPlan,
    progress: &Arc<dyn Progress>,
) -> Result<(SyncPlan, Vanished), SyncError> {
    if options.allow_mass_delete {
        return Ok((plan, Vanished::new()));
    }
    let (time_ms, root, state) = (options.began.as_millisecond(), session.folder.path(), session.states.path());
    let check = |side, lost: &Lost| lost.at(time_ms).check(side, root, state);
    let mut vanished = Vanished::new();
    for (side, what) in [Side::Mirror, Side::Folder].into_iter().flat_map(|side| FileKind::ALL.map(|what| (side, what)))
    {
        let mut lost = plan.lost(side, what, session.losses(side));
        if side == Side::Folder && check(side, &lost).is_err() {
            // A moved file is not lost; it is recognised by reading the new files.
            plan = read_new(session, plan, progress).await?;
            lost = plan.lost(side, what, session.losses(side));
        }
        check(side, &lost)?;
        vanished.push((side, lost));
    }
    Ok((plan, vanished))
}

/// Saves the state for the next sync, and returns the paths that are equal on both sides.
fn remember(
    session: &Session,
    mirror: &Mirror,
    options: &SyncOptions,
    outcome: Outcome,
    after: &Snapshot,
    vanished: Vanished,
) -> Result<Vec<Arc<Entry>>, SyncError> {
    let time_ms = options.began.as_millisecond();
    let losses = |wanted: Side| -> Vec<Loss> {
        let lost = vanished.iter().filter(|(side, _)| *side == wanted).map(|(_, lost)| outcome.carried_over(lost));
        lost.flat_map(|lost| lost.at(time_ms).remembered()).collect()
    };
    let trusted = options.began.as_nanosecond().saturating_sub(RACY.as_nanos().cast_signed());
    let seen = seen(after);
    let earlier = session.before.as_ref().map_or_else(Vec::new, |before| before.earlier_than(&seen));
    let state = State {
        root: session.folder.path().to_string_lossy().into_owned(),
        vault: mirror.vault().to_string(),
        mount_point: session.mount_point.to_string_lossy().into_owned(),
        seen,
        settled: outcome.is_settled(),
        losses: losses(Side::Folder),
        head_losses: losses(Side::Mirror),
        entries: outcome.entries(i64::try_from(trusted).unwrap_or(i64::MAX)),
        earlier,
    };
    if session.before.as_ref() != Some(&state) {
        session.states.save(&state)?;
    }
    Ok(state.entries)
}
