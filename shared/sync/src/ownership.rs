//! Owners and permissions of what a sync makes, as far as this process may set them.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _, OpenOptions};

/// The permissions that a folder can have from another one: without the sticky bit.
const SHARED: u32 = 0o2777;
/// The permissions of a group.
const OF_GROUP: u32 = 0o2070;
/// The permissions of a folder for its owner only.
const PRIVATE: u32 = 0o700;

/// Gives the owner and group of the file that is replaced to the new one.
pub(crate) fn keep_owner(old: &File, new: &File) {
    let (Ok(old), Ok(found)) = (old.metadata(), new.metadata()) else { return };
    if !give(&old, new, &found) {
        tracing::debug!("a file has another owner or group than before");
    }
}

/// Makes the folder `name` in `dir`, unless it is there. Returns whether it did.
pub(crate) fn make(dir: &Dir, name: &str, builder: &DirBuilder) -> io::Result<bool> {
    match dir.create_dir_with(name, builder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        made => made.map(|()| true),
    }
}

/// Makes the folder `name` in `dir`, unless it is there, with the owner and group of `root`, and, unless it is to be
/// private, with its permissions: else a sync by root or in a container would lock the others out.
pub(crate) fn make_shared(root: &Dir, dir: &Dir, name: &str, is_private: bool) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(PRIVATE);
    if make(dir, name, &builder)?
        && let Err(error) = share(root, dir, name, is_private)
    {
        tracing::debug!(name, %error, "a folder is this user's only");
    }
    Ok(())
}

fn share(root: &Dir, dir: &Dir, name: &str, is_private: bool) -> io::Result<()> {
    let root = opened(root, ".")?.metadata()?;
    let folder = opened(dir, name)?;
    let found = folder.metadata()?;
    if !is_private {
        let mut mode = root.mode() & SHARED;
        if root.gid() != found.gid() && fchown(&folder, None, Some(root.gid())).is_err() {
            // They are not meant for this process's group.
            mode &= !OF_GROUP;
        }
        // A file's owner must do this before it gives the file away.
        folder.set_permissions(Permissions::from_mode(mode))?;
    }
    give(&root, &folder, &found);
    Ok(())
}

fn opened(dir: &Dir, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    Ok(dir.open_with(name, &options)?.into_std())
}

/// Gives the owner and group of `old` to the file `new`, `found` with its own. Returns whether it has at least the group.
fn give(old: &fs::Metadata, new: &File, found: &fs::Metadata) -> bool {
    let group = (old.gid() != found.gid()).then(|| old.gid());
    let owner = (old.uid() != found.uid()).then(|| old.uid());
    // Nearly always only the group may be given away.
    (owner.is_none() && group.is_none()) || fchown(new, owner, group).is_ok() || fchown(new, None, group).is_ok()
}
