//! The commits of an undo, and the generations since.

use std::collections::BTreeSet;
use std::sync::Arc;

use atlas_mirror::{Manifest, Snapshot};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::Context;
use jiff::Timestamp;

use crate::history;
use crate::history::commit::uncompared;

/// Most generations that are searched, from the newest on.
pub(super) const MAX_GENERATIONS: usize = 500;
/// Most generations before these that are looked at to know whether commits are left there.
const MAX_BEYOND: usize = 2_000;
/// The number of generations that are fetched at once.
const PAGE: usize = 50;

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
    pub(super) fn takes(&self, manifest: &Manifest) -> bool {
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

/// The newest generations, the newest first, back to the one before the oldest commit to undo.
pub(super) struct History {
    pub(super) snapshots: Vec<Arc<Snapshot>>,
    pub(super) commits: BTreeSet<u64>,
    /// Commits to undo of which nobody knows what they changed, since the generation before is lost.
    pub(super) lost: BTreeSet<u64>,
    /// The oldest generation that was looked at, if commits before it may be selected too.
    pub(super) looked_from: Option<u64>,
}

/// The error is the same whether there is no such commit, or all of them only changed hidden files.
pub(super) fn none_such() -> Error {
    let message = format!(
        "no commit among the newest {MAX_GENERATIONS} generations matches: note_history and `atlas log` list commits"
    );
    Error::not_found(Reason::GenerationNotFound, message)
}

/// Whether a commit from generation `next` down is selected too, or one before those that are looked at may be.
async fn takes_one_from(context: &Context<'_>, which: &Selection, mut next: u64) -> Result<bool, Error> {
    let mut looked_at = 0;
    while next > 1 {
        if looked_at >= MAX_BEYOND {
            return Ok(true);
        }
        context.work.check()?;
        let page = context.vault.mirror.history_over_gaps(next, PAGE).await?;
        if page.iter().any(|snapshot| which.takes(snapshot.manifest())) {
            return Ok(true);
        }
        if page.len() < PAGE || !which.looks_before(&page) {
            return Ok(false);
        }
        looked_at += page.len();
        next = page.last().map_or(0, |oldest| oldest.generation().saturating_sub(1));
    }
    Ok(false)
}

impl History {
    /// The generations that an undo of `which` on `head` has to look at.
    pub(super) async fn of(context: &Context<'_>, which: &Selection, head: &Arc<Snapshot>) -> Result<Self, Error> {
        let mirror = &context.vault.mirror;
        let mut snapshots: Vec<Arc<Snapshot>> = Vec::new();
        let mut next = head.generation();
        let mut is_complete = false;
        while next > 0 && !is_complete && snapshots.len() < MAX_GENERATIONS {
            let page = mirror.history_over_gaps(next, PAGE).await?;
            is_complete = page.len() < PAGE || !which.looks_before(&page);
            next = page.last().map_or(0, |oldest| oldest.generation().saturating_sub(1));
            snapshots.extend(page);
        }
        // The first generation is the vault itself.
        let beyond = (!is_complete && next > 1).then_some(next);
        let is_taken_back = |snapshot: &&Arc<Snapshot>| which.takes(snapshot.manifest());
        let commits: BTreeSet<u64> =
            snapshots.iter().filter(is_taken_back).map(|snapshot| snapshot.generation()).collect();
        // Back to the one before the oldest of them.
        let places = snapshots
            .iter()
            .rposition(|snapshot| commits.contains(&snapshot.generation()))
            .map_or(0, |oldest| oldest + 2);
        if places == snapshots.len() + 1
            && let Some(before) = mirror.at_if_readable(next).await?
        {
            snapshots.push(before);
        }
        let is_after_gap = |pair: &[Arc<Snapshot>]| match pair {
            [after, before] if before.generation() + 1 < after.generation() => Some(after.generation()),
            _ => None,
        };
        let after_gaps: BTreeSet<u64> = snapshots.windows(2).filter_map(is_after_gap).collect();
        let (lost, commits): (BTreeSet<u64>, BTreeSet<u64>) =
            commits.into_iter().partition(|generation| after_gaps.contains(generation));
        // Whoever sees a part is not told whether a commit is there that may have changed hidden files only.
        let sees_all = context.view(head.clone()).is_whole();
        if let Some(newest) = lost.last().filter(|_| commits.is_empty() && sees_all) {
            return Err(uncompared(*newest));
        }
        if commits.is_empty() {
            return Err(none_such());
        }
        if places > snapshots.len() {
            let message = "the generation before is no longer kept, so its texts cannot be restored: name later ones";
            return Err(Error::not_found(Reason::GenerationNotFound, message));
        }
        snapshots.truncate(places);
        let looked_from = match beyond {
            Some(next) if takes_one_from(context, which, next).await? => Some(next + 1),
            _ => None,
        };
        Ok(Self { snapshots, commits, lost, looked_from })
    }

    /// The generation at this index; 0 if there is none.
    pub(super) fn generation(&self, place: usize) -> u64 {
        self.snapshots.get(place).map_or(0, |snapshot| snapshot.generation())
    }
}
