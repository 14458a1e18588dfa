//! `read_kanban_board`: the columns and cards of a board.

use atlas_access::Access;
use atlas_ops::arguments::ReadPath;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes;
use atlas_ops::read::view::View;
use atlas_ops::write::writable::text_of;
use atlas_vault::VaultPath;
use atlas_vault::kanban::{Card, Lane};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board;

/// Reads a Kanban board.
pub struct ReadKanbanBoard;

/// The board.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of its note.
    path: ReadPath,
}

/// The board.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    path: String,
    /// SHA-256 of its note, in hex.
    content_hash: String,
    /// Its columns, from left to right; the archive is the last.
    columns: Vec<BoardColumn>,
}

/// A column.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BoardColumn {
    /// Its name.
    name: String,
    /// Most cards that it should have, if limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    /// Whether cards that enter it are checked.
    complete: bool,
    /// Whether it is the archive.
    archived: bool,
    /// Its cards, from top to bottom.
    cards: Vec<BoardCard>,
}

/// A card.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BoardCard {
    /// Its text; it may have several lines.
    text: String,
    /// Its block id, without `^`, for links to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    block_id: Option<String>,
    /// Whether it is checked.
    checked: bool,
}

impl Operation for ReadKanbanBoard {
    const INFO: Info = Info {
        name: "read_kanban_board",
        title: "Read a Kanban board",
        description: "Returns the columns and cards of a board of the plugin Kanban. Add cards with add_kanban_card, move them with move_kanban_card. Example: {\"path\": \"Projects/Board.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["tasks"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = VaultPath::from(arguments.path);
        let read = |view: View| {
            let path = &path;
            async move {
                let found = notes::find(view.snapshot(), path.as_str(), |_| true).await?;
                let found = found.ok_or_else(|| notes::missing(path.as_str()))?;
                let board = board(path, text_of(&found)?)?;
                let columns = board.lanes.into_iter().map(column).collect();
                Ok(Output { path: path.as_str().to_owned(), content_hash: found.sha256(), columns })
            }
        };
        context.read(read).await
    }
}

fn column(lane: Lane) -> BoardColumn {
    let card = |card: Card| BoardCard { text: card.text, block_id: card.block_id, checked: card.is_checked };
    let cards = lane.cards.into_iter().map(card).collect();
    BoardColumn { name: lane.name, limit: lane.limit, complete: lane.is_complete, archived: lane.is_archive, cards }
}
