//! `remove_bookmark`: removes a bookmark from Obsidian's.

use atlas_access::Access;
use atlas_ops::arguments::Text;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::index::{Index, Want};
use atlas_ops::read::settings::{text, unusable};
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changeable::{Target, check_change};
use super::{Bookmark, FILE, Kind, Sight, read};

/// Removes a bookmark.
pub struct RemoveBookmark;

/// The bookmark.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id, from list_bookmarks.
    id: Text<100>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The id.
    id: String,
    /// Whether a bookmark was removed; false if there is none with this id.
    removed: bool,
}

impl Operation for RemoveBookmark {
    const INFO: Info = Info {
        name: "remove_bookmark",
        title: "Remove a bookmark",
        description: "Removes a bookmark from the person's bookmarks in Obsidian; its target stays. Take the id from list_bookmarks. Example: {\"id\": \"0f3a5c7e9b1d2f40\"}",
        // The result reveals existing bookmarks.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["bookmarks"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn needs_confirmation(_: &Arguments) -> bool {
        // A bookmark is soon created again, and undo_changes restores it.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        context.check_writable()?;
        let id = arguments.id.as_str().to_owned();
        if context.caller.scopes().folders().is_some() {
            context.check_settings(Access::Write, FILE)?;
        }
        let look = |view: View| async move {
            let is_there = text(&view, FILE).await?.is_some();
            Ok(if is_there { Some(Index::fetch(view, Want::default()).await?) } else { None })
        };
        let Answer { value: index, generation } = context.read(look).await?;
        let Some(index) = index else { return Ok(Answer { value: Output { id, removed: false }, generation }) };
        let sight = Sight::of(context, Some(&index));
        let file = VaultPath::parse(FILE).map_err(|error| unusable(FILE, &error.to_string()))?;
        let remove = |before: Option<&str>| {
            let before = before.unwrap_or_default();
            if before.trim().is_empty() {
                return Ok((before.to_owned(), false));
            }
            let document = read(before)?;
            let named = document.found.iter().find(|(bookmark, _)| bookmark.id == id);
            let Some((bookmark, place)) = named else { return Ok((before.to_owned(), false)) };
            if !sight.shows(bookmark)? {
                return Ok((before.to_owned(), false));
            }
            check_removal(context, &index, bookmark)?;
            let place = *place;
            Ok((document.without(place), true))
        };
        let Answer { value: edited, generation } = editing::edit_or_create(context, &Self::INFO, &file, remove).await?;
        Ok(Answer { value: Output { id, removed: edited.told }, generation })
    }
}

/// Fails if the caller may not remove this bookmark, which takes the right to change and to delete.
fn check_removal(context: &Context<'_>, index: &Index, bookmark: &Bookmark) -> Result<(), Error> {
    let path = bookmark.path.as_deref().and_then(|path| VaultPath::parse(path).ok());
    let target = match &path {
        Some(path) if bookmark.kind == Kind::Folder => Target::Folder(path),
        Some(path) => Target::File(path),
        None => Target::Other,
    };
    check_change(context, index, Access::Write, &target)?;
    check_change(context, index, Access::Delete, &target)
}
