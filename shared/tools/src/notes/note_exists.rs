//! `note_exists`: whether a path exists, without reading it.

use atlas_ops::arguments;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::index::{Index, Want};
use atlas_ops::read::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::notes::list_notes::ItemType;

/// Returns whether there is a file or a folder at a path, without reading it.
pub struct NoteExists;

/// The path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of a file, with its extension, or of a folder.
    path: String,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Whether there is something that the caller may read.
    exists: bool,
    /// Its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<ItemType>,
}

impl Operation for NoteExists {
    const INFO: Info = Info {
        name: "note_exists",
        title: "Is there a note",
        description: "Returns whether there is a file or a folder at a path, without reading it. A folder exists if it contains a file. Example: {\"path\": \"Projects/Atlas.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(_: &Arguments) -> Result<Vec<PathAccess>, Error> {
        // An unreadable path counts as missing.
        Ok(Vec::new())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = arguments::path("path", arguments.path.trim_end_matches('/'))?;
        let path = path.as_str();
        let look = |view: View| async move {
            let index = Index::fetch(view, Want::default()).await?;
            let what = match index.find(path)? {
                Some(_) => Some(ItemType::File),
                None => index.has_prefix(&format!("{path}/"))?.then_some(ItemType::Folder),
            };
            Ok(Output { exists: what.is_some(), r#type: what })
        };
        context.read(look).await
    }
}
