//! What of an error a caller may see.

use atlas_access::{Caller, Scope};

use crate::error::Error;

/// `error` as `caller` may see it: callers who may not read learn no version of a note, which they could compare with a guess.
pub(crate) fn redact_for(mut error: Error, caller: &Caller) -> Error {
    if !caller.scopes().holds(Scope::ReadVault) {
        error.details.shift_remove("sha256");
    }
    error
}
