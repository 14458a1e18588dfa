//! `move_kanban_card`: moves a card to another column of its board.

use atlas_access::Access;
use atlas_ops::arguments::{Given, Text, Versions, WritePath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::write::editing;
use atlas_ops::write::precondition::Condition;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Position, board, refused};

/// Moves a card of a Kanban board.
pub struct MoveKanbanCard;

/// The card, and its new position.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the board's note.
    path: WritePath,
    /// The name of its current column.
    from_column: Text<500>,
    /// The name of its new column.
    to_column: Text<500>,
    /// The card's text, or its first line, in any case.
    card_text: Text<10_000>,
    /// Its position in the column: `top` or `bottom`; below the others if not given.
    #[serde(default)]
    position: Position,
    #[serde(default)]
    if_match: Given<Versions>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The board.
    path: String,
    /// The card, as named in the call.
    moved: String,
    /// Its old column, as the board spells it.
    from: String,
    /// Its new column.
    to: String,
    /// SHA-256 of the note, in hex.
    content_hash: String,
}

impl Operation for MoveKanbanCard {
    const INFO: Info = Info {
        name: "move_kanban_card",
        title: "Move a card of a Kanban board",
        description: "Moves a card with all its lines to another column of a board of the plugin Kanban. It is checked when it enters a column of done cards, and unchecked when it leaves one. Example: {\"path\": \"Projects/Board.md\", \"from_column\": \"Todo\", \"to_column\": \"Done\", \"card_text\": \"Call Ada\"}",
        // The result reveals the board's columns.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["tasks"],
        aliases: &[Alias::Name("prev_hash", "if_match")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { path, from_column, to_column, card_text, position, if_match } = arguments;
        let path = VaultPath::from(path);
        let condition = Condition::of_existing(if_match.as_ref())?;
        let edit = |text: &str| {
            let board = board(&path, text)?;
            let from = board.lane(from_column.as_str()).map_err(|error| refused("from_column", &error))?;
            let to = board.lane(to_column.as_str()).map_err(|error| refused("to_column", &error))?;
            let after =
                board.with_moved(text, from_column.as_str(), to_column.as_str(), card_text.as_str(), position.into());
            let after = after.map_err(|error| refused("card_text", &error))?;
            Ok((after, (from.name.clone(), to.name.clone())))
        };
        let Answer { value: edited, generation } = editing::edit(context, &Self::INFO, &path, &condition, edit).await?;
        let (from, to) = edited.told;
        let (path, moved) = (path.as_str().to_owned(), card_text.as_str().to_owned());
        Ok(Answer {
            value: Output { path, moved, from, to, content_hash: edited.content_hash.to_string() },
            generation,
        })
    }
}
