//! `note_read` of obsidian-vault-mcp: a note's text, and whether it exists.

use atlas_access::Access;
use atlas_ops::arguments::ReadPath;
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use atlas_segment::Record;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::notes::read_note::has_text;

/// Returns the whole text of the note at a path.
pub struct NoteRead;

/// The note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: ReadPath,
}

/// The note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its text; empty if it does not exist.
    content: String,
    /// Whether it exists.
    exists: bool,
}

impl Operation for NoteRead {
    const INFO: Info = Info {
        name: "note_read",
        title: "Read a note whole",
        description: "Returns the whole text of the note at a path; exists is false, and the text empty, if there is none. Example: {\"path\": \"Projects/Atlas.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let path = path.as_str();
        let most = context.limits.max_bytes;
        let find = |view: View| async move {
            let is_wanted = |bytes: u64| usize::try_from(bytes).is_ok_and(|bytes| bytes <= most);
            let wanted = |record: &Record| has_text(record) && is_wanted(record.bytes);
            let found = notes::find(view.snapshot(), path, wanted).await?.filter(|found| has_text(&found.record));
            match found {
                None => Ok(Output { content: String::new(), exists: false }),
                Some(found) if is_wanted(found.record.bytes) => {
                    Ok(Output { content: String::from_utf8_lossy(&found.text).into_owned(), exists: true })
                }
                Some(_) => {
                    let message = format!(
                        "{path} has more than {most} bytes: find its lines with vault_search, with the path as path_filter"
                    );
                    Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", path))
                }
            }
        };
        context.read(find).await
    }
}
