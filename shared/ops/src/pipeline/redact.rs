//! Removes from an error what a caller may not see.

use atlas_access::{Caller, Scope};

use crate::error::Error;

/// `error` as `caller` may see it. Callers who may not read see no hash of a note, which they could compare with a
/// guess.
pub(crate) fn redact_for(mut error: Error, caller: &Caller) -> Error {
    if !caller.scopes().holds(Scope::ReadVault) {
        error.details.shift_remove("sha256");
    }
    error
}
