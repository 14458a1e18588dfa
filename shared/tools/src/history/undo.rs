//! The plan of an undo: the earlier version of each file that some commits changed, except files that others changed
//! since.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::set_aside::ASIDE;
use atlas_mirror::{Attempt, ChangeSet, Hash, Manifest, Snapshot};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::batch::{Batch, Content, NewDocument};
use atlas_ops::write::commit;
use atlas_ops::write::writable;
use atlas_segment::Kind;
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history;
use crate::history::merged::{self, SetAside};

/// A file with its earlier version restored.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Undone {
    /// Its path.
    path: String,
    /// The kind of restoration.
    how: UndoKind,
    /// The generation of its restored text; absent where it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_generation: Option<u64>,
}

/// The kind of restoration of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UndoKind {
    /// It has its earlier text again.
    Restored,
    /// It was new: it is in the trash.
    Removed,
    /// It is a conflict copy with the text of the folder that an undone merge had taken.
    Copied,
}

/// A file that is not restored.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Left {
    /// Its path.
    path: String,
    /// The reason.
    reason: String,
}

/// Most generations that are searched, from the newest on.
const MAX_GENERATIONS: usize = 500;
/// The number of generations that are fetched at once.
const PAGE: usize = 50;
/// Most files of one undo.
const MAX_FILES: usize = 500;

/// The commits to undo.
pub(crate) enum Selection {
    /// The commit of this generation.
    Generation(u64),
    /// All commits of a caller, of a session, or of a caller's session.
    All {
        /// The caller's name.
        by: Option<String>,
        /// The session's name.
        session: Option<String>,
        /// Only since this time.
        since: Option<Timestamp>,
        /// Only up to this generation.
        upto: u64,
    },
}

impl Selection {
    fn takes(&self, manifest: &Manifest) -> bool {
        match self {
            Self::Generation(generation) => manifest.generation == *generation,
            Self::All { by, session, since, upto } => {
                (2..=*upto).contains(&manifest.generation)
                    && by.as_ref().is_none_or(|by| manifest.author == *by)
                    && session.as_ref().is_none_or(|session| manifest.session.as_ref() == Some(session))
                    && since.is_none_or(|since| manifest.time >= since)
            }
        }
    }

    /// Whether commits before this page of history may be included.
    fn looks_before(&self, page: &[Arc<Snapshot>]) -> bool {
        match self {
            Self::Generation(generation) => page.last().is_some_and(|oldest| oldest.generation() > *generation),
            Self::All { since, .. } => since.is_none_or(|since| !history::is_before(page, since)),
        }
    }
}

/// The result of an undo. A keyed commit stores it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct UndoReport {
    /// The generations of the commits.
    pub(crate) commits: Vec<u64>,
    /// The restored files, by path.
    pub(crate) undone: Vec<Undone>,
    /// The files that are not restored, by path.
    pub(crate) left: Vec<Left>,
}

/// An undo.
pub(crate) struct Undo<'a> {
    /// The call.
    pub(crate) context: &'a Context<'a>,
    /// The commits.
    pub(crate) which: Selection,
}

/// The newest generations, the newest first, back to the one before the oldest commit to undo.
struct History {
    snapshots: Vec<Arc<Snapshot>>,
    commits: BTreeSet<u64>,
}

/// What the commits changed.
struct Changes {
    /// The plan for each path.
    aims: BTreeMap<String, PathPlan>,
    /// What their merges had set aside before.
    set_aside: Vec<SetAside>,
}

/// The plan for a path.
struct PathPlan {
    /// The index in the history of the generation whose version is restored; or why it is not.
    version: Result<usize, String>,
    /// The commits to undo that changed it.
    commits: Vec<u64>,
}

/// The error is the same whether there is no such commit, or all of them only changed hidden files.
fn none_such() -> Error {
    let message = format!(
        "no commit among the newest {MAX_GENERATIONS} generations matches: note_history and `atlas log` list commits"
    );
    Error::not_found(Reason::GenerationNotFound, message)
}

impl Undo<'_> {
    async fn history(&self, head: &Arc<Snapshot>) -> Result<History, Error> {
        let mut snapshots: Vec<Arc<Snapshot>> = Vec::new();
        let mut next = head.generation();
        while next > 0 && snapshots.len() <= MAX_GENERATIONS {
            let page = self.context.vault.mirror.history_over_gaps(next, PAGE).await?;
            let is_last = page.len() < PAGE || !self.which.looks_before(&page);
            next = page.last().map_or(0, |oldest| oldest.generation().saturating_sub(1));
            snapshots.extend(page);
            if is_last {
                break;
            }
        }
        let is_taken_back = |snapshot: &&Arc<Snapshot>| self.which.takes(snapshot.manifest());
        let commits: BTreeSet<u64> =
            snapshots.iter().filter(is_taken_back).map(|snapshot| snapshot.generation()).collect();
        // Back to the one before the oldest of them.
        let places = snapshots
            .iter()
            .rposition(|snapshot| commits.contains(&snapshot.generation()))
            .map_or(0, |oldest| oldest + 2);
        if places == snapshots.len() + 1
            && let Some(before) = self.context.vault.mirror.at(next).await?
        {
            snapshots.push(before);
        }
        // Where the manifest before is lost, nobody knows what the commit itself changed.
        let is_after_gap = |pair: &[Arc<Snapshot>]| match pair {
            [after, before] if before.generation() + 1 < after.generation() => Some(after.generation()),
            _ => None,
        };
        let after_gaps: BTreeSet<u64> = snapshots.windows(2).filter_map(is_after_gap).collect();
        let commits: BTreeSet<u64> = commits.difference(&after_gaps).copied().collect();
        if commits.is_empty() {
            return Err(none_such());
        }
        if places > snapshots.len() {
            let message = "the generation before is no longer kept, so its texts cannot be restored: name later ones";
            return Err(Error::not_found(Reason::GenerationNotFound, message));
        }
        snapshots.truncate(places);
        Ok(History { snapshots, commits })
    }

    /// What the commits changed.
    async fn changes(&self, history: &History) -> Result<Changes, Error> {
        let mirror = &self.context.vault.mirror;
        // By path: the commits that changed it, the newest first, by index, and whether each is undone.
        let mut changes: BTreeMap<String, Vec<(usize, bool)>> = BTreeMap::new();
        let mut set_aside = Vec::new();
        for (place, pair) in history.snapshots.windows(2).enumerate() {
            let [after, before] = pair else { continue };
            self.context.work.check()?;
            let is_taken_back = history.commits.contains(&after.generation());
            for path in mirror.changed_between(Some(before), after).await? {
                if is_taken_back && path.starts_with(ASIDE) {
                    let (before, merge) = (before.clone(), after.clone());
                    set_aside.push(SetAside { path: path.clone(), before, merge });
                }
                changes.entry(path).or_default().push((place, is_taken_back));
            }
        }
        let generation = |place: usize| history.snapshots.get(place).map_or(0, |snapshot| snapshot.generation());
        let aim = |changes: &[(usize, bool)]| {
            let commits: Vec<u64> =
                changes.iter().filter(|change| change.1).map(|change| generation(change.0)).collect();
            let version = match changes.iter().take_while(|change| change.1).last() {
                Some((oldest, _)) => Ok(oldest + 1),
                None => Err(format!("generation {} changed it since", generation(changes.first()?.0))),
            };
            (!commits.is_empty()).then_some(PathPlan { version, commits })
        };
        let aims = changes.into_iter().filter_map(|(path, changes)| Some((path, aim(&changes)?))).collect();
        Ok(Changes { aims, set_aside })
    }

    /// The plans of readable paths; for those that the caller may not write, with the reason.
    fn allowed(&self, aims: BTreeMap<String, PathPlan>) -> Result<BTreeMap<VaultPath, PathPlan>, Error> {
        let mut allowed = BTreeMap::new();
        for (path, aim) in aims {
            // The trash and other hidden folders are not restored.
            if path.split('/').any(|name| name.starts_with('.')) {
                continue;
            }
            let Ok(path) = VaultPath::parse(&path) else { continue };
            if self.context.check(Access::Read, &path).is_err() {
                continue;
            }
            let denied =
                [Access::Write, Access::Delete].into_iter().find_map(|access| self.context.check(access, &path).err());
            let version = denied.map_or(aim.version, |denied| Err(denied.message));
            allowed.insert(path, PathPlan { version, commits: aim.commits });
        }
        if allowed.len() > MAX_FILES {
            let message = format!(
                "the commits changed {} files; one call undoes at most {MAX_FILES}: name a later time, or single generations",
                allowed.len()
            );
            return Err(Error::new(Code::TooLarge, Reason::TooMuchWork, message));
        }
        Ok(allowed)
    }

    /// The changes on `head`.
    pub(crate) async fn plan<'h>(&'h self, head: &'h Arc<Snapshot>) -> Result<(Batch<'h>, UndoReport), Error> {
        let history = self.history(head).await?;
        let Changes { aims, set_aside } = self.changes(&history).await?;
        let aims = self.allowed(aims)?;
        let mut batch = Batch::on(head, self.context);
        let commits: BTreeSet<u64> = aims.values().flat_map(|aim| aim.commits.iter().copied()).collect();
        if commits.is_empty() {
            return Err(none_such());
        }
        let mut kept = UndoReport { commits: commits.into_iter().collect(), ..UndoReport::default() };
        for aside in &set_aside {
            self.context.work.check()?;
            let restored = aims.iter().filter(|(_, aim)| aim.version.is_ok()).map(|(path, _)| path);
            let Some(version) = merged::version(self.context, head, restored, aside).await? else { continue };
            match version.copy {
                Ok(copy) => {
                    let (path, from) = (copy.as_str().to_owned(), aside.before.generation());
                    batch.put(self.version(copy, &version.found, None)?, None);
                    kept.undone.push(Undone { path, how: UndoKind::Copied, from_generation: Some(from) });
                }
                Err(reason) => kept.left.push(Left { path: version.of.to_string(), reason }),
            }
        }
        let attachments = attachments(head, aims.keys()).await?;
        for (path, aim) in aims {
            self.context.work.check()?;
            let name = path.as_str().to_owned();
            let done = match aim.version {
                Ok(place) => match history.snapshots.get(place) {
                    Some(before) => self.take_back(&mut batch, (before, head), path, &attachments).await?,
                    None => Ok(None),
                },
                Err(reason) => Err(reason),
            };
            match done {
                Ok(Some((how, from_generation))) => kept.undone.push(Undone { path: name, how, from_generation }),
                Ok(None) => {}
                Err(reason) => kept.left.push(Left { path: name, reason }),
            }
        }
        Ok((batch, kept))
    }

    /// Restores the file at `path` to its version `before`. Returns the kind of restoration, if it is not that already;
    /// or why it is impossible.
    async fn take_back(
        &self,
        batch: &mut Batch<'_>,
        (before, head): (&Snapshot, &Snapshot),
        path: VaultPath,
        attachments: &Attachments,
    ) -> Result<Result<Option<(UndoKind, Option<u64>)>, String>, Error> {
        let now = notes::find(head, path.as_str(), |_| true).await?;
        let was = notes::find(before, path.as_str(), |record| record.blob.is_none()).await?;
        let is_same = |one: &Found, other: &Found| one.record.sha256 == other.record.sha256;
        Ok(Ok(match (now, was) {
            (None, None) => None,
            (Some(now), None) => {
                batch.trash(&path, &now).await?;
                Some((UndoKind::Removed, None))
            }
            (Some(now), Some(was)) if is_same(&now, &was) => None,
            (now, Some(was)) => {
                let from = was.generation;
                let trash = writable::trash(&path)?;
                let thrown = match now {
                    None => notes::find(head, trash.as_str(), |_| true).await?.filter(|thrown| is_same(thrown, &was)),
                    Some(_) => None,
                };
                if let Some(thrown) = thrown {
                    batch.take_from_trash(path, &thrown, None);
                } else if was.record.blob.is_some() {
                    let there = attachments.get(&was.record.sha256);
                    let Some(new) = self.attachment(head, path.clone(), there, now.as_ref()).await? else {
                        return Ok(Err(format!("it is not text: `atlas export --at {}` has it", before.generation())));
                    };
                    self.replace(batch, &path, new, now.as_ref()).await?;
                } else {
                    let new = self.version(path.clone(), &was, now.as_ref())?;
                    self.replace(batch, &path, new, now.as_ref()).await?;
                }
                Some((UndoKind::Restored, Some(from)))
            }
        }))
    }

    /// Puts `new` in the place of `now`. An attachment goes to the trash, since no undo finds its bytes elsewhere.
    async fn replace(
        &self,
        batch: &mut Batch<'_>,
        path: &VaultPath,
        new: NewDocument,
        now: Option<&Found>,
    ) -> Result<(), Error> {
        if let Some(now) = now.filter(|now| now.record.blob.is_some()) {
            batch.keep_in_trash(path, now).await?;
        }
        batch.put(new, now);
        Ok(())
    }

    /// The attachment at `there`, for `path`. An earlier generation's bytes may go with it, so those of `head` are taken.
    async fn attachment(
        &self,
        head: &Snapshot,
        path: VaultPath,
        there: Option<&String>,
        now: Option<&Found>,
    ) -> Result<Option<NewDocument>, Error> {
        let Some(there) = there else { return Ok(None) };
        let Some(Found { record, text, .. }) = notes::find(head, there, |_| true).await? else { return Ok(None) };
        let sha256 = Hash::from_bytes(record.sha256);
        let content = record.blob.map(|name| Content::Blob(name, record.bytes, text));
        Ok(content.map(|content| NewDocument::written(path, content, sha256, now, self.context.now)))
    }

    fn version(&self, path: VaultPath, was: &Found, now: Option<&Found>) -> Result<NewDocument, Error> {
        // A note in the trash is of another kind.
        if was.record.kind == Kind::Note || was.record.blob.is_none() && path.is_note() {
            return NewDocument::text(path, was.text.clone(), now, self.context.now);
        }
        let sha256 = Hash::from_bytes(was.record.sha256);
        Ok(NewDocument::written(path, Content::Text(was.text.clone()), sha256, now, self.context.now))
    }
}

/// The paths of attachments that the vault has, by the hashes of their bytes.
type Attachments = HashMap<[u8; 32], String>;

/// The attachments at `paths`, and in the trash of these.
async fn attachments(head: &Snapshot, paths: impl Iterator<Item = &VaultPath>) -> Result<Attachments, Error> {
    let mut places: Vec<String> = Vec::new();
    for path in paths.filter(|path| !path.is_note()) {
        places.push(path.as_str().to_owned());
        places.extend(writable::trash(path).map(|trash| trash.as_str().to_owned()));
    }
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    let found = notes::find_all(head, &places, |_| false).await?.into_iter().flatten();
    let found = found.filter(|found| found.record.blob.is_some());
    Ok(found.map(|Found { record, .. }| (record.sha256, record.path)).collect())
}

impl ChangeSet for Undo<'_> {
    type Error = Error;
    type Outcome = commit::Outcome<UndoReport>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let head = writable::published(head)?;
        let (batch, kept) = self.plan(head).await?;
        if batch.is_empty() {
            return Ok(Attempt::nothing(kept.into()));
        }
        Ok(Attempt::changes(batch.derived().await?, kept.into()))
    }
}
