//! Which bookmarks a caller may change.

use atlas_access::Access;
use atlas_ops::arguments::Root;
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_vault::VaultPath;

use super::FILE;

/// Most files of a folder that are looked at for one that the caller may change.
const MAX_FILES: usize = 10_000;

/// The target of a bookmark that is to be changed.
pub(super) enum Target<'a> {
    /// A file.
    File(&'a VaultPath),
    /// A folder.
    Folder(&'a VaultPath),
    /// The whole vault, or what is no path.
    Other,
}

/// Fails if the caller may not change a bookmark of `target` in this way: of a file or a folder, if they may not change what is there; of anything
/// else, or with a token for some folders only, if they may not change the whole vault's settings.
pub(super) fn check_change(
    context: &Context<'_>,
    index: &Index,
    access: Access,
    target: &Target<'_>,
) -> Result<(), Error> {
    match target {
        _ if context.caller.scopes().folders().is_some() => context.check_settings(access, FILE),
        Target::File(path) => context.check(access, path),
        Target::Folder(folder) => check_folder(context, index, access, folder),
        Target::Other => context.check_settings(access, FILE),
    }
}

/// Fails if the caller may change no file of a folder. Lists such as `inbox/**` have what is in a folder, and not its own path.
fn check_folder(context: &Context<'_>, index: &Index, access: Access, folder: &VaultPath) -> Result<(), Error> {
    let (acl, scopes) = (context.vault.acl(), context.caller.scopes());
    let root = Root::of("target", folder.as_str())?;
    let mut looked_at = 0;
    for segment in index.segments() {
        for document in index.paths(segment)?.with_prefix(root.prefix()) {
            let document = DocumentRef { segment, document };
            if !index.shows(document) {
                continue;
            }
            context.work.check()?;
            if acl.check(access, &index.path(document)?, scopes).is_ok() {
                return Ok(());
            }
            looked_at += 1;
            if looked_at >= MAX_FILES {
                return Err(denied(access, folder));
            }
        }
    }
    // Of an empty folder nothing but its path is known.
    if looked_at == 0 { context.check(access, folder) } else { Err(denied(access, folder)) }
}

fn denied(access: Access, folder: &VaultPath) -> Error {
    let access = access.as_str();
    let message = format!("you may not {access} what is in {folder}");
    Error::new(Code::Forbidden, Reason::AclDenied, message).with("path", folder.as_str()).with("op", access)
}
