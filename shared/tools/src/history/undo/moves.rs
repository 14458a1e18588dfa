//! Files that a commit moved are taken back together, with the files whose links it rewrote, or not at all. One half
//! alone would leave the text only in the trash or twice in the vault, and links to a file that is not there.

use std::collections::{BTreeMap, BTreeSet};

use atlas_mirror::Snapshot;
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::batch::Batch;
use atlas_ops::write::batch::bookmarks::{UndoneMoves, Ways};
use atlas_vault::relink::names_meant;
use atlas_vault::{VaultPath, fold};

use super::changes::Plans;
use super::walk::History;
use super::{UndoKind, Undone};
use crate::history::renames;

/// The operations whose commits remove and add files only to move them. Other commits also do so for other reasons.
const MOVES: [&str; 3] = ["move_note", "bulk_move_notes", "move_attachment"];
/// Most bytes of the texts that are searched for links at once.
const AT_ONCE: u64 = 16 << 20;

/// The files of one commit that stay together.
pub(super) struct Unit {
    /// The index of the commit in the history.
    place: usize,
    generation: u64,
    /// By new path: the old path.
    from: BTreeMap<String, String>,
    paths: BTreeSet<VaultPath>,
}

/// The units of the commits to undo, the newest first. Only paths in `plans` are known to the caller.
pub(super) async fn units(context: &Context<'_>, history: &History, plans: &Plans) -> Result<Vec<Unit>, Error> {
    let mut changed: BTreeMap<usize, Vec<&VaultPath>> = BTreeMap::new();
    for (path, plan) in plans {
        plan.places().for_each(|place| changed.entry(place).or_default().push(path));
    }
    let mut units = Vec::new();
    for (place, paths) in changed {
        context.work.check()?;
        let (Some(after), Some(before)) = (history.snapshots.get(place), history.snapshots.get(place + 1)) else {
            continue;
        };
        units.extend(unit(context, (before, after), place, &paths).await?);
    }
    Ok(units)
}

async fn unit(
    context: &Context<'_>,
    (before, after): (&Snapshot, &Snapshot),
    place: usize,
    paths: &[&VaultPath],
) -> Result<Option<Unit>, Error> {
    let names: Vec<&str> = paths.iter().map(|path| path.as_str()).collect();
    let was = notes::find_all(before, &names, |_| false).await?;
    let now = notes::find_all(after, &names, |_| false).await?;
    let (mut gone, mut come, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for ((path, was), now) in paths.iter().copied().zip(&was).zip(&now) {
        match (was, now) {
            (Some(_), None) => gone.push(path),
            (None, Some(_)) => come.push(path),
            (Some(was), Some(_)) => kept.push((path, was)),
            (None, None) => {}
        }
    }
    if gone.is_empty() || come.is_empty() {
        return Ok(None);
    }
    let moved = renames::moved(before, after, &names).await?;
    let mut members: BTreeSet<VaultPath> = BTreeSet::new();
    for path in moved.from.iter().flat_map(|(to, from)| [*to, *from]) {
        members.extend(VaultPath::parse(path).ok());
    }
    gone.retain(|path| !members.contains(*path));
    come.retain(|path| !members.contains(*path));
    let is_whole = MOVES.contains(&after.manifest().operation.as_str());
    if !gone.is_empty() && !come.is_empty() {
        // A small text of which a line changed on the way resembles nothing; of many files, only equal ones are paired.
        let others: [BTreeSet<String>; 2] =
            [&gone, &come].map(|paths| paths.iter().map(|path| fold(path.file_name())).collect());
        let is_both = |path: &VaultPath| others.iter().all(|names| names.contains(&fold(path.file_name())));
        members.extend(gone.into_iter().chain(come).filter(|path| is_whole || is_both(path)).cloned());
    }
    if members.is_empty() {
        return Ok(None);
    }
    let meant: BTreeSet<String> = members.iter().map(|path| fold(path.file_name())).collect();
    members.extend(linking(context, before, &kept, &meant).await?);
    let from = moved.from.iter().map(|(to, from)| ((*to).to_owned(), (*from).to_owned())).collect();
    Ok(Some(Unit { place, generation: after.generation(), from, paths: members }))
}

/// Those of the files that changed in place whose links named one of `meant` before.
async fn linking(
    context: &Context<'_>,
    before: &Snapshot,
    kept: &[(&VaultPath, &Found)],
    meant: &BTreeSet<String>,
) -> Result<Vec<VaultPath>, Error> {
    let mut linking = Vec::new();
    let mut rest = kept;
    while !rest.is_empty() {
        context.work.check()?;
        let mut room = AT_ONCE;
        let fits = |(_, found): &&(&VaultPath, &Found)| {
            let left = room.checked_sub(u64::from(found.record.text.length));
            room = left.unwrap_or_default();
            left.is_some()
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (some, others) = rest.split_at(count);
        let names: Vec<&str> = some.iter().map(|(path, _)| path.as_str()).collect();
        let texts = notes::find_all(before, &names, |record| record.blob.is_none()).await?;
        for ((path, _), found) in some.iter().zip(texts) {
            let text = found.as_ref().and_then(|found| std::str::from_utf8(&found.text).ok()).unwrap_or_default();
            if names_meant(path, text).any(|name| meant.contains(&name)) {
                linking.push((*path).clone());
            }
        }
        rest = others;
    }
    Ok(linking)
}

/// Lets the bookmarks of what moved follow it back. `plans` are settled.
pub(super) async fn follow_back(
    batch: &mut Batch<'_>,
    history: &History,
    units: &[Unit],
    (plans, undone): (&Plans, &[Undone]),
) -> Result<(), Error> {
    let paths = |kind| undone.iter().filter(move |undone| undone.how == kind).map(|undone| undone.path.as_str());
    let restored: BTreeSet<&str> = paths(UndoKind::Restored).collect();
    let mut files = Ways::new();
    for path in paths(UndoKind::Removed) {
        // The newest first: it may have moved several times.
        let back = units.iter().fold(path, |at, unit| unit.from.get(at).map_or(at, String::as_str));
        if restored.contains(back) {
            files.insert(path.to_owned(), back.to_owned());
        }
    }
    let commits = units.iter().filter(|unit| unit.is_undone(plans)).filter_map(|unit| {
        let ways = unit.from.iter().map(|(to, from)| (from.clone(), to.clone())).collect();
        let (after, before) = (history.snapshots.get(unit.place)?, history.snapshots.get(unit.place + 1)?);
        Some(UndoneMoves { before, after, ways })
    });
    batch.follow_back(files, &commits.collect::<Vec<_>>()).await
}

/// Lets each unit stay of which a file stays.
pub(super) fn settle(plans: &mut Plans, units: &[Unit]) {
    // What stays in a commit stays in those before, never in those after.
    for unit in units {
        let stays = |path: &&VaultPath| plans.get(*path).is_some_and(|plan| plan.stays_at(unit.place));
        let Some(stays) = unit.paths.iter().find(stays).cloned() else { continue };
        for path in &unit.paths {
            if let Some(plan) = plans.get_mut(path) {
                plan.stay_at(unit.place, || unit.why(path, &stays));
            }
        }
    }
}

impl Unit {
    fn is_undone(&self, plans: &Plans) -> bool {
        let is_undone = |path| plans.get(path).is_some_and(|plan| plan.undone().any(|place| place == self.place));
        self.paths.iter().all(is_undone)
    }

    fn why(&self, path: &VaultPath, stays: &VaultPath) -> String {
        let Self { generation, from, .. } = self;
        let is_of = |(to, from): &(&String, &String)| {
            [path, stays].iter().any(|path| [to, from].iter().any(|end| **end == path.as_str()))
        };
        match from.iter().find(is_of).or_else(|| from.first_key_value()) {
            Some((to, from)) => {
                format!("generation {generation} moved {from} to {to}, and {stays} stays: move it back with move_note")
            }
            None => format!("generation {generation} changed it together with {stays}, which stays"),
        }
    }
}
