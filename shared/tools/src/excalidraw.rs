//! Drawings of the plugin Excalidraw: notes that hold one, and `.excalidraw` files.

pub mod create_excalidraw;
pub mod read_excalidraw;
pub mod update_excalidraw;

use atlas_ops::error::{Code, Error, Reason};
use atlas_vault::VaultPath;
use atlas_vault::excalidraw::DrawingError;

use crate::formats;

/// The path, which argument `field` spells, of a note or file that can hold a drawing.
fn path(field: &str, text: &str) -> Result<VaultPath, Error> {
    formats::path(field, text, "drawing", &[".excalidraw.md", ".md", ".excalidraw"])
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
