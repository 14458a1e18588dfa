//! Conflict copies: files that a sync put beside others, since both sides had changed the same lines.

mod common_base;
pub mod list_conflicts;
pub mod read_conflict;
pub mod resolve_conflict;

use atlas_ops::error::{Error, Reason};
use atlas_vault::VaultPath;
use atlas_vault::conflict::original_of;

/// The path of the file that the copy at `copy` is of.
///
/// # Errors
/// If the path is not a conflict copy's.
fn original(copy: &VaultPath) -> Result<VaultPath, Error> {
    let is_hidden = copy.as_str().split('/').any(|name| name.starts_with('.'));
    let original = original_of(copy.as_str()).filter(|_| !is_hidden);
    let original = original.and_then(|original| VaultPath::parse(&original).ok());
    original.ok_or_else(|| {
        let message = format!("path: {copy} is not the name of a conflict copy: list_conflicts names them");
        Error::bad_request(Reason::InvalidInput, message).with("field", "path")
    })
}
