//! Whether a folder without sync state belongs to the mirror that it meets. Pure.

use std::path::Path;

use crate::decided::Decided;
use crate::guard::Danger;
use crate::head;
use crate::rules::Class;
use crate::target::Instead;

/// Stops unless the folder is empty, or the mirror has or had half of its files at least. What is to be written was read before
/// ([`Decided::read_new`]).
///
/// # Errors
/// [`Danger::Unrelated`].
pub(crate) fn check(decided: &Decided, root: &Path) -> Result<(), Danger> {
    let contents = head::contents(&decided.heads.documents);
    if contents.is_empty() {
        return Ok(());
    }
    // Obsidian makes its configuration in every folder.
    let is_file = |class: Class| class != Class::Config;
    let writes = || decided.writes.iter().filter(|write| is_file(write.file.class));
    let moved = writes().filter_map(|write| write.known).filter(|known| known.stamp.size > 0);
    let moved = moved.filter(|known| contents.contains(&known.sha256)).count() as u64;
    let older = decided.pulls.iter().filter(|pull| matches!(pull.instead, Instead::Version(_))).count() as u64;
    let conflicts = decided.conflicts.iter().filter(|conflict| is_file(conflict.file.class)).count() as u64;
    let to_mirror = writes().count() as u64;
    let shared = decided.unchanged + older + moved;
    let files = decided.unchanged + older + to_mirror + conflicts;
    if to_mirror + conflicts == 0 || shared.saturating_mul(2) >= files {
        return Ok(());
    }
    let to_folder = decided.pulls.len() as u64;
    Err(Danger::Unrelated { root: root.to_owned(), files, shared, to_mirror, to_folder, conflicts })
}
