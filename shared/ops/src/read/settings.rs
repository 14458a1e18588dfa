//! Obsidian's own files below `.obsidian`, which is closed to callers. Operations read those that configure the vault.

use serde_json::Value;

use crate::error::{Error, Reason};
use crate::read::notes;
use crate::read::view::View;

/// The JSON document at `path`; [`None`] if there is no such file.
///
/// # Errors [`Reason::SettingsInvalid`] when it is not JSON.
pub async fn document(view: &View, path: &str) -> Result<Option<Value>, Error> {
    documents(view, &[path]).await?.pop().unwrap_or(Ok(None))
}

/// The JSON documents at `paths`, in their order, in the wave of one; each may be unusable for itself.
pub async fn documents(view: &View, paths: &[&str]) -> Result<Vec<Result<Option<Value>, Error>>, Error> {
    let found = notes::find_all_at_once(view.snapshot(), paths).await?;
    let read = |path: &str, text: &[u8]| {
        let text = text.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(text);
        serde_json::from_slice(text).map(Some).map_err(|error| unusable(path, &error.to_string()))
    };
    let found = paths.iter().zip(found);
    Ok(found.map(|(path, found)| found.map_or(Ok(None), |found| read(path, &found.text))).collect())
}

/// The text of the document at `path`; [`None`] if there is no such file.
///
/// # Errors [`Reason::SettingsInvalid`] when it is not UTF-8.
pub async fn text(view: &View, path: &str) -> Result<Option<String>, Error> {
    let Some(found) = notes::find_at_once(view.snapshot(), path, |_| true).await? else { return Ok(None) };
    String::from_utf8(found.text.to_vec()).map(Some).map_err(|error| unusable(path, &error.to_string()))
}

/// The error for a file that Obsidian could not have written.
pub fn unusable(path: &str, problem: &str) -> Error {
    let message = format!("{path} cannot be used: {problem}; change it in Obsidian");
    Error::bad_request(Reason::SettingsInvalid, message)
}
