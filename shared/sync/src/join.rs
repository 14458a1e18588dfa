//! Checks whether a folder without sync state belongs to this mirror. Pure.

use std::path::Path;

use crate::guard::Danger;
use crate::head;
use crate::plan::SyncPlan;
use crate::rules::Class;
use crate::target::ExpectedTarget;

/// Fails unless the folder is empty, or the mirror has or had at least half of its files. Call [`SyncPlan::read_new`]
/// before.
///
/// # Errors [`Danger::Unrelated`].
pub(crate) fn check(plan: &SyncPlan, root: &Path) -> Result<(), Danger> {
    let contents = head::contents(&plan.heads.documents);
    if contents.is_empty() {
        return Ok(());
    }
    // Obsidian creates its configuration in every folder.
    let is_file = |class: Class| class != Class::Config;
    let writes = || plan.writes().map(|(_, write)| write).filter(|write| is_file(write.file.class));
    let moved = writes().filter_map(|write| write.known()).filter(|known| known.stamp.size > 0);
    let moved = moved.filter(|known| contents.contains(&known.sha256)).count() as u64;
    let pulls = || plan.pulls().map(|(_, _, pull)| pull);
    let older = pulls().filter(|pull| matches!(pull.expected, ExpectedTarget::Version(_))).count() as u64;
    let conflicts = plan.conflicts().filter(|(_, _, write)| is_file(write.file.class)).count() as u64;
    let to_mirror = writes().count() as u64;
    let shared = plan.unchanged + older + moved;
    let files = plan.unchanged + older + to_mirror + conflicts;
    if to_mirror + conflicts == 0 || shared.saturating_mul(2) >= files {
        return Ok(());
    }
    let to_folder = pulls().count() as u64;
    Err(Danger::Unrelated { root: root.to_owned(), files, shared, to_mirror, to_folder, conflicts })
}
