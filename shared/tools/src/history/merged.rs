//! An undone merge brings back the folder's version that the sync had set aside for it, as a conflict copy beside its file. Without the copy that version
//! would be lost from the vault: the next sync writes the restored text over the merge.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::Snapshot;
use atlas_mirror::set_aside::path_aside;
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::notes::{self, Found};
use atlas_vault::VaultPath;
use atlas_vault::conflict::copy_path;
use jiff::tz::TimeZone;

/// Most names that are tried for a copy.
const MOST_NAMES: u32 = 100;

/// A version that a merge removed, after it had been set aside.
pub(super) struct SetAside {
    /// Its path below the trash.
    pub(super) path: String,
    /// The index of the merge in the history.
    pub(super) place: usize,
    /// The generation that has it, and the merge after it.
    pub(super) before: Arc<Snapshot>,
    pub(super) merge: Arc<Snapshot>,
}

/// A version to bring back.
pub(super) struct FolderVersion {
    /// The path of its file.
    pub(super) of: VaultPath,
    /// The path of its copy; or why there is none.
    pub(super) copy: Result<VaultPath, String>,
    pub(super) found: Found,
}

/// The version that `aside` is of one of `paths`; [`None`] if it is of another file, or the merge did not remove it.
pub(super) async fn version(
    context: &Context<'_>,
    head: &Snapshot,
    mut paths: impl Iterator<Item = &VaultPath>,
    aside: &SetAside,
) -> Result<Option<FolderVersion>, Error> {
    let SetAside { path, before, merge, .. } = aside;
    if notes::find(merge, path, |_| false).await?.is_some() {
        return Ok(None);
    }
    let Some(found) = notes::find(before, path, |record| record.blob.is_none()).await? else { return Ok(None) };
    let is_of = |of: &&VaultPath| path_aside(of.as_str(), &found.record.sha256).is_some_and(|own| own.as_str() == path);
    let Some(of) = paths.find(is_of).cloned() else { return Ok(None) };
    let manifest = merge.manifest();
    let time = manifest.time.to_zoned(TimeZone::UTC);
    let mut denied = None;
    for attempt in 1..=MOST_NAMES {
        let Ok(copy) = VaultPath::parse(&copy_path(of.as_str(), &manifest.author, &time, attempt)) else { break };
        // First: whether a path that the caller may not write is taken is not told.
        if let Err(error) = context.check(Access::Write, &copy) {
            denied.get_or_insert(error.message);
            continue;
        }
        match notes::find(head, copy.as_str(), |_| false).await? {
            // It was brought back before.
            Some(there) if there.record.sha256 == found.record.sha256 => return Ok(None),
            Some(_) => {}
            None => return Ok(Some(FolderVersion { of, copy: Ok(copy), found })),
        }
    }
    let taken =
        || format!("{MOST_NAMES} names beside it are taken: `atlas export --at {}` has it", before.generation());
    Ok(Some(FolderVersion { of, copy: Err(denied.unwrap_or_else(taken)), found }))
}
