//! Canvases: nodes on a plane, and edges between them, in the format JSON Canvas 1.0.

pub mod create_canvas;
pub mod query_canvas;
pub mod read_canvas;
pub mod update_canvas;

use atlas_mirror::Hash;
use atlas_ops::arguments::{self, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_vault::VaultPath;
use atlas_vault::canvas::CanvasError;

/// Most nodes, and most edges, that one call adds, removes or changes.
const MAX_CHANGES: usize = 10_000;
/// Removing more nodes than this has to be confirmed.
pub(crate) const MAX_REMOVED: usize = 10;

/// The path of a canvas from argument `field`.
fn path(field: &str, text: &str) -> Result<VaultPath, Error> {
    let path = arguments::path(field, text)?;
    let problem = if !is_canvas(path.as_str()) {
        "the path of a canvas ends in .canvas"
    } else if path.as_str().split('/').any(|part| part.starts_with('.')) {
        "no canvas is where a name begins with a dot"
    } else {
        return Ok(path);
    };
    Err(Error::bad_request(Reason::PathInvalid, format!("{field}: {problem}")).with("field", field))
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

/// The error for a canvas that is stored as an attachment because of its size.
fn too_large(path: &str) -> Error {
    let message = format!("{path} is too large to be read as a canvas: read it with get_attachment");
    Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", path)
}

/// Fails if an argument lists too many items.
fn check_count(field: &str, count: usize) -> Result<(), Error> {
    match count > MAX_CHANGES {
        true => Err(invalid_input(field, &format!("at most {MAX_CHANGES} in one call"))),
        false => Ok(()),
    }
}

/// The seed of new nodes' ids: a repeated call on the same canvas makes the same ids.
pub(crate) fn seed(path: &VaultPath, before: &str) -> u64 {
    let hash = Hash::of(format!("{path}\n{before}").as_bytes());
    hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
