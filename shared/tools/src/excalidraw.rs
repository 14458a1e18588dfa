//! Drawings of the plugin Excalidraw: notes that hold one, and `.excalidraw` files.

pub mod create_excalidraw;
pub mod read_excalidraw;
pub mod update_excalidraw;

use atlas_ops::arguments::{self, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_vault::VaultPath;
use atlas_vault::excalidraw::DrawingError;

/// Most elements that one call adds, removes or changes.
const MAX_CHANGES: usize = 10_000;

/// The path, which argument `field` spells, of a note or file that can hold a drawing.
fn path(field: &str, text: &str) -> Result<VaultPath, Error> {
    let path = arguments::path(field, text)?;
    let is_file = path.as_str().rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("excalidraw"));
    let problem = if !path.is_note() && !is_file {
        "the path of a drawing ends in .excalidraw.md, .md or .excalidraw"
    } else if path.as_str().split('/').any(|part| part.starts_with('.')) {
        "no drawing is where a name begins with a dot"
    } else {
        return Ok(path);
    };
    Err(Error::bad_request(Reason::PathInvalid, format!("{field}: {problem}")).with("field", field))
}

/// The error for a drawing that cannot be read, or for an argument that it cannot be changed by.
fn refused(path: &VaultPath, error: &DrawingError) -> Error {
    let message = match error {
        DrawingError::Change(_) => error.to_string(),
        DrawingError::TooLarge => {
            let message = format!("{path}: {error}, which is too large: a person can look at it in Obsidian");
            return Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", path.as_str());
        }
        DrawingError::NoDrawing => format!("{path}: {error}; read it with read_note"),
        _ => format!("{path}: {error}; a person can repair it in Obsidian"),
    };
    Error::bad_request(Reason::InvalidInput, message).with("path", path.as_str())
}

/// Fails if an argument lists more than one call may.
fn check_count(field: &str, count: usize) -> Result<(), Error> {
    match count > MAX_CHANGES {
        true => Err(invalid_input(field, &format!("at most {MAX_CHANGES} in one call"))),
        false => Ok(()),
    }
}
