//! The changes that an undo takes back, by path: the newest ones, up to the first change by anybody else.

use std::collections::BTreeMap;

use atlas_access::Access;
use atlas_mirror::set_aside::ASIDE;
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_vault::VaultPath;

use super::walk::History;
use crate::history::merged::SetAside;

/// Most generations that a reason names.
const MAX_NAMED: usize = 5;

/// The plans of paths.
pub(super) type Plans = BTreeMap<VaultPath, PathPlan>;

/// A change of a file.
#[derive(Clone, Copy)]
struct Change {
    /// The index of its commit in the history.
    place: usize,
    by: Whose,
}

/// By which commit a file was changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// One to undo.
    Selected,
    /// One to undo, perhaps: the generation before is lost.
    Lost,
    Other,
}

impl Change {
    fn is_selected(&self) -> bool {
        self.by == Whose::Selected
    }
}

/// The plan for a path.
#[derive(Clone)]
pub(super) struct PathPlan {
    /// The newest first.
    changes: Vec<Change>,
    /// How many of these are taken back.
    undone: usize,
    /// Why no more are, if not for a change by somebody else.
    why: Option<String>,
}

impl PathPlan {
    fn new(changes: Vec<Change>) -> Self {
        let undone = changes.iter().take_while(|change| change.is_selected()).count();
        Self { changes, undone, why: None }
    }

    /// The indices of the commits to undo that changed the file, the newest first.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.changes.iter().filter(|change| change.is_selected()).map(|change| change.place)
    }

    /// The indices of those whose change is taken back.
    pub(super) fn undone(&self) -> impl Iterator<Item = usize> {
        self.changes.iter().take(self.undone).map(|change| change.place)
    }

    /// The index of the generation whose version is restored.
    pub(super) fn version(&self) -> Option<usize> {
        self.undone().last().map(|oldest| oldest + 1)
    }

    /// Whether the commit at `place` changed the file and that change stays.
    pub(super) fn stays_at(&self, place: usize) -> bool {
        self.changes.iter().skip(self.undone).any(|change| change.place == place)
    }

    /// Takes back only what is newer than the commit at `place`.
    pub(super) fn stay_at(&mut self, place: usize, why: impl FnOnce() -> String) {
        let newer = self.undone().position(|undone| undone == place);
        if let Some(newer) = newer {
            (self.undone, self.why) = (newer, Some(why()));
        }
    }

    /// Takes nothing back.
    pub(super) fn stay(&mut self, why: String) {
        (self.undone, self.why) = (0, Some(why));
    }

    /// The reason, if a change by a commit to undo stays.
    pub(super) fn reason(&self, history: &History) -> Option<String> {
        let left = self.changes.get(self.undone..)?;
        let stays: Vec<u64> = left
            .iter()
            .filter(|change| change.by != Whose::Other)
            .map(|change| history.generation(change.place))
            .collect();
        let first = left.first().filter(|_| !stays.is_empty())?;
        let generation = history.generation(first.place);
        let why = match &self.why {
            Some(why) => why.clone(),
            None if first.by == Whose::Lost => {
                format!("generation {generation} may have changed it, and the one before is lost")
            }
            None => format!("generation {generation} changed it since"),
        };
        Some(if self.undone == 0 { why } else { format!("the changes of {} stay: {why}", named(&stays)) })
    }
}

/// Names some generations.
fn named(generations: &[u64]) -> String {
    let mut names: Vec<String> = generations.iter().take(MAX_NAMED).map(u64::to_string).collect();
    let more = generations.len() - names.len();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    match names.as_slice() {
        [only] => format!("generation {only}"),
        names => format!("generations {}", names.join(", ")),
    }
}

/// What the commits changed.
pub(super) struct Changes {
    /// Only readable paths.
    pub(super) plans: Plans,
    /// What their merges had set aside before.
    pub(super) set_aside: Vec<SetAside>,
}

impl Changes {
    pub(super) async fn of(context: &Context<'_>, history: &History) -> Result<Self, Error> {
        let mut changes: BTreeMap<String, Vec<Change>> = BTreeMap::new();
        let mut set_aside = Vec::new();
        for (place, pair) in history.snapshots.windows(2).enumerate() {
            let [after, before] = pair else { continue };
            context.work.check()?;
            let by = match after.generation() {
                generation if history.commits.contains(&generation) => Whose::Selected,
                generation if history.lost.contains(&generation) => Whose::Lost,
                _ => Whose::Other,
            };
            for path in context.vault.mirror.changed_between(Some(before), after).await? {
                if by == Whose::Selected && path.starts_with(ASIDE) {
                    let (before, merge) = (before.clone(), after.clone());
                    set_aside.push(SetAside { path: path.clone(), place, before, merge });
                }
                changes.entry(path).or_default().push(Change { place, by });
            }
        }
        changes.retain(|_, changes| changes.iter().any(|change| change.by != Whose::Other));
        Ok(Self { plans: allowed(context, changes), set_aside })
    }
}

/// The plans of readable paths; those that the caller may not write stay.
fn allowed(context: &Context<'_>, changes: BTreeMap<String, Vec<Change>>) -> Plans {
    let plan = |(path, changes): (String, Vec<Change>)| {
        // The trash and other hidden folders are not restored.
        let path =
            VaultPath::parse(&path).ok().filter(|path| !path.as_str().split('/').any(|name| name.starts_with('.')))?;
        context.check(Access::Read, &path).ok()?;
        let mut plan = PathPlan::new(changes);
        let denied = [Access::Write, Access::Delete].into_iter().find_map(|access| context.check(access, &path).err());
        if let Some(denied) = denied {
            plan.stay(denied.message);
        }
        Some((path, plan))
    };
    changes.into_iter().filter_map(plan).collect()
}
