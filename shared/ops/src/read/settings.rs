//! Obsidian's own files below `.obsidian`, which is closed to callers: operations read those that tell how the vault is used.

use serde_json::Value;

use crate::error::{Error, Reason};
use crate::read::notes;
use crate::read::view::View;

/// The JSON document at `path`; none if there is no such file.
///
/// # Errors
/// [`Reason::SettingsInvalid`] when it is not JSON.
pub async fn document(view: &View, path: &str) -> Result<Option<Value>, Error> {
    let Some(found) = notes::find_at_once(view.snapshot(), path).await? else { return Ok(None) };
    let text = found.text.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(&found.text);
    serde_json::from_slice(text).map(Some).map_err(|error| unusable(path, &error.to_string()))
}

/// The error for a document that Obsidian could not have written.
pub fn unusable(path: &str, problem: &str) -> Error {
    let message = format!("{path} cannot be used: {problem}; change it in Obsidian");
    Error::bad_request(Reason::SettingsInvalid, message)
}
