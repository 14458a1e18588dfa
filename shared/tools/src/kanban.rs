//! Boards of the plugin Kanban, which are notes.

pub mod add_kanban_card;
pub mod list_kanban_boards;
pub mod move_kanban_card;
pub mod read_kanban_board;

use atlas_ops::arguments::invalid_input;
use atlas_ops::error::{Error, Reason};
use atlas_vault::VaultPath;
use atlas_vault::kanban::{self, Board, KanbanError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The position of a card in a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// Above the other cards.
    Top,
    /// Below the other cards.
    #[default]
    Bottom,
}

impl From<Position> for kanban::Position {
    fn from(position: Position) -> Self {
        match position {
            Position::Top => Self::Top,
            Position::Bottom => Self::Bottom,
        }
    }
}

/// The board of the note at `path`.
fn board(path: &VaultPath, text: &str) -> Result<Board, Error> {
    Board::read(text).ok_or_else(|| {
        let message = format!(
            "{path} is not a Kanban board: its frontmatter has no kanban-plugin. Find boards with list_kanban_boards"
        );
        Error::bad_request(Reason::InvalidInput, message).with("path", path.as_str())
    })
}

/// The error for a column or card in argument `field` that the board does not have.
fn refused(field: &str, error: &KanbanError) -> Error {
    invalid_input(field, &error.to_string())
}
