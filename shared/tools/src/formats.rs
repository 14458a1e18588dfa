//! The common frame of operations on files with a format of their own: canvases, drawings, bases, and notes that are templates or prompts.

use atlas_ops::arguments::{self, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info};
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::read::view::View;
use atlas_ops::write::editing::{self, Edited};
use atlas_vault::VaultPath;

/// Most bytes of notes that are read at once.
const MAX_BYTES: u64 = 16 << 20;
/// Most things that one call adds, removes or changes.
const MAX_CHANGES: usize = 10_000;

/// The path of such a file from argument `field`: it ends in one of `ends`, whatever the case. `what` is the file's kind, as `canvas`.
pub(crate) fn path(field: &str, text: &str, what: &str, ends: &[&str]) -> Result<VaultPath, Error> {
    let path = arguments::path(field, text)?;
    let lower = path.as_str().to_ascii_lowercase();
    let problem = if !ends.iter().any(|end| lower.ends_with(end)) {
        let named = match ends {
            [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
            _ => ends.concat(),
        };
        format!("the path of a {what} ends in {named}")
    } else if path.as_str().split('/').any(|part| part.starts_with('.')) {
        format!("no {what} is where a name begins with a dot")
    } else {
        return Ok(path);
    };
    Err(Error::bad_request(Reason::PathInvalid, format!("{field}: {problem}")).with("field", field))
}

/// At most `most` notes in `folders`, which end in a slash, by path, as many as may be read at once.
pub(crate) fn notes_below(
    index: &Index,
    folders: &[&str],
    most: usize,
) -> Result<Vec<(DocumentRef, VaultPath)>, Error> {
    let mut found = Vec::new();
    for segment in index.segments() {
        for folder in folders {
            for document in index.paths(segment)?.with_prefix(folder) {
                let document = DocumentRef { segment, document };
                let path = VaultPath::parse(&index.path(document)?);
                if let Some(path) = path.ok().filter(|path| path.is_note() && index.shows(document)) {
                    found.push((document, path));
                }
            }
        }
    }
    found.sort_by(|(_, one), (_, other)| one.cmp(other));
    found.dedup_by(|(_, one), (_, other)| one == other);
    found.truncate(most);
    let mut bytes = 0;
    let mut count = 0;
    for (document, _) in &found {
        bytes += u64::from(index.span(*document)?.length);
        count += usize::from(bytes <= MAX_BYTES);
    }
    found.truncate(count);
    Ok(found)
}

/// The file at `path` with its text.
pub(crate) async fn find(view: &View, path: &VaultPath) -> Result<Found, Error> {
    let found = notes::find(view.snapshot(), path.as_str(), |record| record.blob.is_none()).await?;
    let found = found.ok_or_else(|| notes::missing(path.as_str()))?;
    if found.record.blob.is_some() {
        let message = format!("{path} is kept as an attachment, for its size as a rule: read it with get_attachment");
        return Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", path.as_str()));
    }
    Ok(found)
}

/// Makes a file whose text and report `make` gives for the text before. With `overwrite` it replaces one, once a person has confirmed that.
pub(crate) async fn create<T: Send + 'static>(
    context: &Context<'_>,
    operation: &Info,
    path: &VaultPath,
    overwrite: bool,
    change_with: &str,
    make: impl Fn(&str) -> Result<(String, T), Error> + Sync,
) -> Result<Answer<Edited<T>>, Error> {
    let make = |before: Option<&str>| {
        if before.is_some() && !overwrite {
            let message = format!(
                "there is a file at {path} already: change it with {change_with}, choose another path, or set overwrite"
            );
            return Err(Error::new(Code::Conflict, Reason::NoteExists, message).with("path", path.as_str()));
        }
        let (text, told) = make(before.unwrap_or_default())?;
        let is_replaced = before.is_some_and(|before| !before.trim().is_empty());
        Ok((text, (told, is_replaced)))
    };
    let made = editing::edit_if_confirmed(context, operation, path, make, |(_, is_replaced)| *is_replaced).await?;
    Ok(made.map(|edited| {
        let Edited { content_hash, updated_at, created, told: (told, _) } = edited;
        Edited { content_hash, updated_at, created, told }
    }))
}

/// Fails if an argument lists more than one call may.
pub(crate) fn check_count(field: &str, count: usize) -> Result<(), Error> {
    match count > MAX_CHANGES {
        true => Err(invalid_input(field, &format!("at most {MAX_CHANGES} in one call"))),
        false => Ok(()),
    }
}
