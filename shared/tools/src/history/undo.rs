//! The plan of an undo: the earlier version of each file that some commits changed, except files that others changed
//! since, and those that moved together with such a file.

mod changes;
mod moves;
mod versions;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use atlas_mirror::{Attempt, ChangeSet, Snapshot};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::pipeline::response_limit::fitting;
use atlas_ops::write::batch::Batch;
use atlas_ops::write::commit;
use atlas_ops::write::writable;
use atlas_vault::VaultPath;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::merged;
use changes::{Changes, Plans};
use versions::Versions;
pub(crate) use walk::Selection;
use walk::{History, MAX_GENERATIONS};

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

/// A file that is not restored, or not as far as it should be.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Left {
    /// Its path.
    path: String,
    /// The reason.
    reason: String,
}

/// How often the plan is made anew without the files that it could not restore.
const MAX_PLANS: usize = 10;
/// How many generations are fetched at once.
const AT_ONCE: usize = 16;

/// Most bytes of the restored files that a report names, and of the others: the manifest of a commit has to hold it.
const MAX_NAMED: usize = 128 << 10;

/// The result of an undo. A keyed commit stores it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct UndoReport {
    /// The generations of the commits that are undone, at least in part.
    pub(crate) commits: Vec<u64>,
    /// The first restored files, by path.
    pub(crate) undone: Vec<Undone>,
    /// How many these are in all; 0 in reports of older versions, which name all.
    #[serde(default)]
    pub(crate) undone_count: usize,
    /// The first files that are not restored, by path.
    pub(crate) left: Vec<Left>,
    /// How many these are in all, likewise.
    #[serde(default)]
    pub(crate) left_count: usize,
    /// The oldest generation that was looked at, if commits before it may be meant too.
    #[serde(default)]
    pub(crate) looked_from: Option<u64>,
}

/// An undo.
pub(crate) struct Undo<'a> {
    /// The call.
    pub(crate) context: &'a Context<'a>,
    /// The commits.
    pub(crate) which: Selection,
}

/// The reasons why files stay, by path.
type Reasons = BTreeMap<VaultPath, String>;

impl Undo<'_> {
    /// The changes on `head`.
    pub(crate) async fn plan<'h>(&'h self, head: &'h Arc<Snapshot>) -> Result<(Batch<'h>, UndoReport), Error> {
        let history = History::of(self.context, &self.which, head).await?;
        let changes = Changes::of(self.context, &history).await?;
        if changes.plans.is_empty() {
            return Err(walk::none_such());
        }
        versions::check_count(&history, &changes.plans)?;
        let units = moves::units(self.context, &history, &changes.plans).await?;
        let mut stays = Reasons::new();
        for _ in 0..MAX_PLANS {
            let mut plans = changes.plans.clone();
            for (path, reason) in &stays {
                if let Some(plan) = plans.get_mut(path) {
                    plan.stay(reason.clone());
                }
            }
            moves::settle(&mut plans, &units);
            let versions = Versions::of(self.context, &history, head, &plans).await?;
            let (mut batch, undone, refused) = self.attempt(head, &changes, &plans, &versions).await?;
            if refused.is_empty() {
                moves::follow_back(&mut batch, &history, &units, (&plans, &undone)).await?;
                return Ok((batch, self.report(&history, &plans, &versions, undone).await?));
            }
            stays.extend(refused);
        }
        let message = "too many of the files stand in each other's way: undo the commits one by one";
        Err(Error::new(Code::Conflict, Reason::TooMuchWork, message))
    }

    /// The changes that `plans` mean, and the restored files; or why some files have to stay.
    async fn attempt<'h>(
        &'h self,
        head: &'h Arc<Snapshot>,
        changes: &Changes,
        plans: &Plans,
        versions: &Versions,
    ) -> Result<(Batch<'h>, Vec<Undone>, Reasons), Error> {
        let context = self.context;
        let mut batch = Batch::on(head, context);
        let (mut undone, mut refused) = (Vec::new(), Reasons::new());
        let mut copies: BTreeMap<VaultPath, VaultPath> = BTreeMap::new();
        for aside in &changes.set_aside {
            context.work.check()?;
            let is_undone =
                |(_, plan): &(&VaultPath, &changes::PathPlan)| plan.undone().any(|place| place == aside.place);
            let restored = plans.iter().filter(is_undone).map(|(path, _)| path);
            let Some(version) = merged::version(context, head, restored, aside).await? else { continue };
            let new = match version.copy {
                Ok(copy) => versions::own(versions::version(context, copy.clone(), &version.found, None))?
                    .map(|new| (copy, new)),
                Err(reason) => Err(reason),
            };
            match new {
                Ok((copy, new)) => {
                    let (path, from) = (copy.as_str().to_owned(), aside.before.generation());
                    batch.put(new, None);
                    undone.push(Undone { path, how: UndoKind::Copied, from_generation: Some(from) });
                    copies.insert(copy, version.of);
                }
                // Without the copy the folder's version would be lost from the vault.
                Err(reason) => drop(refused.insert(version.of, reason)),
            }
        }
        let (attachments, mut taken) = (versions.attachments(), BTreeSet::new());
        for path in versions.differences.keys() {
            context.work.check()?;
            match versions.take_back(context, &mut batch, path, &attachments, &mut taken).await? {
                Ok((how, from_generation)) => {
                    undone.push(Undone { path: path.as_str().to_owned(), how, from_generation });
                }
                Err(reason) => drop(refused.insert(path.clone(), reason)),
            }
        }
        if refused.is_empty() {
            for (path, error) in batch.taken().await? {
                refused.insert(copies.get(&path).cloned().unwrap_or(path), error.message);
            }
        }
        undone.sort_by(|one, other| one.path.cmp(&other.path));
        Ok((batch, undone, refused))
    }

    async fn report(
        &self,
        history: &History,
        plans: &Plans,
        versions: &Versions,
        mut undone: Vec<Undone>,
    ) -> Result<UndoReport, Error> {
        let commits: BTreeSet<u64> =
            plans.values().flat_map(|plan| plan.undone().map(|place| history.generation(place))).collect();
        let older = self.older(history, versions).await?;
        let reason = |(path, plan): (&VaultPath, &changes::PathPlan)| {
            let reason = plan.reason(history).or_else(|| {
                let writer = versions.writers.get(path).filter(|writer| older.contains(*writer))?;
                Some(format!(
                    "the changes of generation {writer} and before stay: only the newest {MAX_GENERATIONS} generations are looked at"
                ))
            })?;
            Some(Left { path: path.as_str().to_owned(), reason })
        };
        let mut left: Vec<Left> = plans.iter().filter_map(reason).collect();
        let (undone_count, left_count) = (undone.len(), left.len());
        undone.truncate(fitting(&undone, MAX_NAMED));
        left.truncate(fitting(&left, MAX_NAMED));
        let (commits, looked_from) = (commits.into_iter().collect(), history.looked_from);
        Ok(UndoReport { commits, undone, undone_count, left, left_count, looked_from })
    }

    /// The generations before those that were looked at which are selected too, and wrote versions that are restored.
    async fn older(&self, history: &History, versions: &Versions) -> Result<BTreeSet<u64>, Error> {
        let Some(from) = history.looked_from else { return Ok(BTreeSet::new()) };
        let writers: BTreeSet<u64> = versions.writers.values().copied().filter(|writer| *writer < from).collect();
        let look = |generation: u64| self.context.vault.mirror.at_if_readable(generation);
        let older: Vec<Option<Arc<Snapshot>>> = stream::iter(writers).map(look).buffered(AT_ONCE).try_collect().await?;
        let selected = older.into_iter().flatten().filter(|older| self.which.takes(older.manifest()));
        Ok(selected.map(|older| older.generation()).collect())
    }
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
