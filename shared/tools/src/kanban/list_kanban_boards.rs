//! `list_kanban_boards`: the Kanban boards of the vault.

use atlas_ops::arguments::Root;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::facts::Facts;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use atlas_segment::text::decoded;
use atlas_vault::kanban::{Board, PROPERTY};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists the Kanban boards of the vault.
pub struct ListKanbanBoards;

/// Which boards to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only boards in this folder; all if not given.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    folder: String,
}

/// Boards.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The number of boards.
    total: usize,
    /// The first 500, by path.
    boards: Vec<ListedBoard>,
}

/// A board.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedBoard {
    /// Its path.
    path: String,
    /// The number of its columns, including its archive.
    columns: usize,
    /// The number of its cards.
    cards: usize,
}

const MAX_BOARDS: usize = 500;
/// Most bytes of boards that are read.
const MAX_BYTES: u64 = 32 << 20;

impl Operation for ListKanbanBoards {
    const INFO: Info = Info {
        name: "list_kanban_boards",
        title: "List Kanban boards",
        description: "Lists the boards of the plugin Kanban, with how many columns and cards each has. Read one with read_kanban_board. Example: {\"folder\": \"Projects\"}",
        scopes: &[Scope::ReadVault],
        tags: &["tasks"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let root = Root::of("folder", &arguments.folder)?;
        let list = |view: View| {
            let root = &root;
            async move {
                let facts = Facts::fetch(context, view, &[SectionName::Properties]).await?;
                let mut found = found(&facts, root)?;
                let total = found.len();
                found.truncate(MAX_BOARDS);
                let mut bytes = 0;
                let mut count = 0;
                for document in &found {
                    bytes += u64::from(facts.index().span(*document)?.length);
                    count += usize::from(bytes <= MAX_BYTES);
                }
                found.truncate(count);
                let mut boards = Vec::new();
                for (document, text) in found.iter().zip(facts.index().texts(&found).await?) {
                    let lanes = Board::read(&decoded(&text)).map(|board| board.lanes).unwrap_or_default();
                    let cards = lanes.iter().map(|lane| lane.cards.len()).sum();
                    boards.push(ListedBoard { path: facts.index().path(*document)?, columns: lanes.len(), cards });
                }
                Ok(Output { total, boards })
            }
        };
        context.read(list).await
    }
}

/// The notes below `root` with the boards' property, by path.
fn found(facts: &Facts, root: &Root) -> Result<Vec<DocumentRef>, Error> {
    let mut found = Vec::new();
    for segment in facts.index().segments() {
        let below = facts.below(segment, root)?;
        let boards = facts.properties(segment)?.get(PROPERTY).into_iter().flat_map(|column| column.iter());
        let documents = boards.map(|(document, _)| document).filter(|document| below.contains(document));
        found.extend(
            documents
                .filter(|document| facts.shows(segment, *document))
                .map(|document| DocumentRef { segment, document }),
        );
    }
    facts.index().sort_by_path(&mut found, |document| *document);
    Ok(found)
}
