//! The decision about a path: that of a sync, whose folder is the source, and which never writes to the source. Pure.

use atlas_mirror::Hash;
use atlas_sync::decide::{Action, decide};

use crate::records::Seen;

/// Decides by `ancestor`, the last version that was equal on both sides.
pub(crate) fn action(ancestor: Option<Hash>, source: Option<Hash>, head: Option<Seen>) -> Action {
    let bytes = |hash: Option<Hash>| hash.map(|hash| *hash.as_bytes());
    decide(bytes(ancestor), bytes(source), bytes(head.map(|head| head.sha256)))
}

/// Why a file is not published, if the mirror has another version.
pub(crate) const fn reason_to_keep(action: Action) -> Option<&'static str> {
    match action {
        Action::Keep | Action::Push => None,
        Action::Pull => Some("the mirror has changed it since it was published, and the source has not"),
        Action::Conflict => Some("the source and the mirror have changed it differently; the mirror's version stays"),
    }
}
