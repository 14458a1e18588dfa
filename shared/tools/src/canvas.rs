//! Canvases: nodes on a plane, and edges between them, in the format JSON Canvas 1.0.

pub mod create_canvas;
pub mod query_canvas;
pub mod read_canvas;
pub mod update_canvas;

use atlas_mirror::Hash;
use atlas_ops::error::{Error, Reason};
use atlas_vault::VaultPath;
use atlas_vault::canvas::CanvasError;

use crate::formats;

/// Removing more nodes than this has to be confirmed.
pub(crate) const MAX_REMOVED: usize = 10;

/// The path of a canvas from argument `field`.
fn path(field: &str, text: &str) -> Result<VaultPath, Error> {
    formats::path(field, text, "canvas", &[".canvas"])
}

fn is_canvas(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("canvas"))
}

/// The error for an unreadable canvas, or an invalid change.
fn refused(path: &VaultPath, error: &CanvasError) -> Error {
    match error {
        CanvasError::File(_) => {
            Error::bad_request(Reason::InvalidInput, format!("{path}: {error}; a person can repair it in Obsidian"))
        }
        CanvasError::Change(_) => Error::bad_request(Reason::InvalidInput, error.to_string()),
    }
    .with("path", path.as_str())
}

/// The seed of new nodes' ids: a repeated call on the same canvas makes the same ids.
pub(crate) fn seed(path: &VaultPath, before: &str) -> u64 {
    let hash = Hash::of(format!("{path}\n{before}").as_bytes());
    hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
