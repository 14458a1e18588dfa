//! `add_kanban_card`: adds a card to a board.

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

/// Adds a card to a Kanban board.
pub struct AddKanbanCard;

/// The card, and its position.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the board's note.
    path: WritePath,
    /// The name of the column.
    column: Text<500>,
    /// The card's text, in markdown; it may have several lines.
    text: Text<10_000>,
    /// Whether it is checked. In a column of done cards it always is.
    #[serde(default)]
    checked: bool,
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
    /// The column, as the board spells it.
    column: String,
    /// The card's text.
    added: String,
    /// SHA-256 of the note, in hex.
    content_hash: String,
}

impl Operation for AddKanbanCard {
    const INFO: Info = Info {
        name: "add_kanban_card",
        title: "Add a card to a Kanban board",
        description: "Adds a card to a column of a board of the plugin Kanban, as the plugin writes it, and keeps the rest. Read the columns with read_kanban_board. Example: {\"path\": \"Projects/Board.md\", \"column\": \"Todo\", \"text\": \"Call Ada\"}",
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
        let Arguments { path, column, text: card, checked, position, if_match } = arguments;
        let path = VaultPath::from(path);
        let condition = Condition::of_existing(if_match.as_ref())?;
        let edit = |text: &str| {
            let board = board(&path, text)?;
            let lane = board.lane(column.as_str()).map_err(|error| refused("column", &error))?;
            let after = board.with_card(text, column.as_str(), card.as_str(), checked, position.into());
            Ok((after.map_err(|error| refused("column", &error))?, lane.name.clone()))
        };
        let Answer { value: edited, generation } = editing::edit(context, &Self::INFO, &path, &condition, edit).await?;
        let value = Output {
            path: path.as_str().to_owned(),
            column: edited.told,
            added: card.as_str().to_owned(),
            content_hash: edited.content_hash.to_string(),
        };
        Ok(Answer { value, generation })
    }
}
