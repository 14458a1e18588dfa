//! Conflict copies: files that a sync put beside others, since both sides had changed the same lines.

mod common_base;
pub mod list_conflicts;
pub mod read_conflict;
pub mod resolve_conflict;

use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use atlas_vault::conflict::{Original, original_of};

/// The file that the copy at `copy` is of, as far as its name tells.
///
/// # Errors
/// If the path is not a conflict copy's.
fn of_name(copy: &VaultPath) -> Result<Original, Error> {
    let is_hidden = copy.as_str().split('/').any(|name| name.starts_with('.'));
    original_of(copy.as_str()).filter(|_| !is_hidden).ok_or_else(|| not_a_copy(copy.as_str()))
}

fn not_a_copy(copy: &str) -> Error {
    let message = format!("path: {copy} is not the name of a conflict copy: list_conflicts names them");
    Error::bad_request(Reason::InvalidInput, message).with("field", "path")
}

/// The path of the file that the copy at `copy` is of, if the copy's name tells. Else the operation looks for it, and checks the access to it.
fn certain(copy: &VaultPath) -> Result<Option<VaultPath>, Error> {
    match of_name(copy)? {
        Original::At(path) => VaultPath::parse(&path).map(Some).map_err(|_| not_a_copy(copy.as_str())),
        Original::Shortened(_) => Ok(None),
    }
}

/// The path of the file that the copy at `copy` is of.
///
/// # Errors
/// If the path is not a conflict copy's, or if the name of the file is shortened in it and it can be of no file or of several.
async fn original(context: &Context<'_>, copy: &VaultPath) -> Result<VaultPath, Error> {
    let original = &of_name(copy)?;
    let path = match original {
        Original::At(path) => Ok(path.clone()),
        Original::Shortened(_) => {
            let find = |view: View| async move { among(&Index::fetch(view, Want::default()).await?, original) };
            context.read(find).await?.value
        }
    };
    match path {
        Ok(path) => VaultPath::parse(&path).map_err(|_| not_a_copy(copy.as_str())),
        Err(candidates) => {
            let which = match candidates.len() {
                0 => "no file beside it fits".to_owned(),
                _ => format!("it may be one of {}", candidates.join(", ")),
            };
            let message = format!(
                "{copy} has its file's name shortened, and {which}: compare them yourself, then move or delete the copy"
            );
            Err(Error::bad_request(Reason::InvalidInput, message).with("field", "path").with("candidates", candidates))
        }
    }
}

/// The path of the original among the files of `index`, or those that it may be.
fn among(index: &Index, original: &Original) -> Result<Result<String, Vec<String>>, Error> {
    let Original::Shortened(shortened) = original else { return Ok(original.among([])) };
    let mut paths = Vec::new();
    for segment in index.segments() {
        for document in index.paths(segment)?.with_prefix(shortened.begin()) {
            let document = DocumentRef { segment, document };
            if index.shows(document) {
                paths.push(index.path(document)?);
            }
        }
    }
    Ok(original.among(paths.iter().map(String::as_str)))
}
