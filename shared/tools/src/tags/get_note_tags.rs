//! `get_note_tags`: the tags of one note, and their positions.

use atlas_access::Access;
use atlas_ops::arguments::ReadPath;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use atlas_vault::{fold, parse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::notes::read_note::has_text;

use super::TagPlace;

/// Returns the tags of one note, each once for the frontmatter and once for the text, there with its positions.
pub struct GetNoteTags;

/// The note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault.
    path: ReadPath,
}

/// Its tags.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// The tags of the frontmatter, then those of the text, each once.
    tags: Vec<NoteTag>,
}

/// A tag of a note.
#[derive(Debug, Serialize, JsonSchema)]
struct NoteTag {
    /// Its name as first written, without `#`.
    tag: String,
    /// Its place.
    source: TagPlace,
    /// The positions of each `#` of it in the text, in bytes from the beginning of the note; absent for the frontmatter's.
    #[serde(skip_serializing_if = "Option::is_none")]
    positions: Option<Vec<usize>>,
}

impl Operation for GetNoteTags {
    const INFO: Info = Info {
        name: "get_note_tags",
        title: "Tags of a note",
        description: "Returns the tags of one note, each once for the frontmatter and once for the text, there with its positions. For the tags of all notes take list_tags. Example: {\"path\": \"Projects/Atlas.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["tags", "notes"],
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
        let find = |view: View| async move {
            let found = notes::find(view.snapshot(), path, has_text).await?;
            found.filter(|found| has_text(&found.record)).ok_or_else(|| notes::missing(path))
        };
        let Answer { value: found, generation } = context.read(find).await?;
        let tags = tags(&String::from_utf8_lossy(&found.text));
        Ok(Answer { value: Output { path: found.record.path, tags }, generation })
    }
}

fn tags(text: &str) -> Vec<NoteTag> {
    let mut tags: Vec<(String, NoteTag)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for tag in parse(text).tags {
        let source = if tag.range.is_some() { TagPlace::Inline } else { TagPlace::Frontmatter };
        let folded = fold(&tag.name).to_string();
        let index = *known.entry((folded.clone(), source == TagPlace::Inline)).or_insert_with(|| {
            tags.push((folded, NoteTag { tag: tag.name, source, positions: tag.range.as_ref().map(|_| Vec::new()) }));
            tags.len() - 1
        });
        if let Some((_, NoteTag { positions: Some(positions), .. })) = tags.get_mut(index) {
            positions.extend(tag.range.map(|range| range.start));
        }
    }
    tags.into_iter().map(|(_, tag)| tag).collect()
}
