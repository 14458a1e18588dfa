//! `bulk_move_notes`: moves many notes, and updates the links to them.

use std::collections::HashSet;
use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::Snapshot;
use atlas_ops::arguments::{self, Given, Message};
use atlas_ops::error::{Error, Reason};
use atlas_ops::item_error::ItemError;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::write::batch::Batch;
use atlas_ops::write::relocate::{Ends, Moved, Moving};
use atlas_ops::write::writable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bulk, BulkOptions, Planned, Report, check_count, twice};

/// Moves up to 100 notes in one commit, and updates the links that the moves would break.
pub struct BulkMoveNotes;

/// The notes, and their new paths.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The notes; 100 at most.
    #[schemars(length(min = 1, max = 100))]
    moves: Vec<OneMove>,
    /// Update the links of all notes, so that they keep their meaning.
    #[serde(default = "arguments::yes")]
    update_backlinks: bool,
    /// Move nothing, and return what would be moved; true if not given.
    #[serde(default = "arguments::yes")]
    dry_run: bool,
    #[serde(default)]
    message: Given<Message>,
}

/// One move.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneMove {
    /// Its path from the root of the vault; it ends in `.md`.
    from: String,
    /// Its new path, which must be free or belong to a note that is moved too; it ends in `.md`.
    to: String,
}

/// The result of one item.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// The old path.
    from: String,
    /// The new path.
    to: String,
    /// Whether it was moved, or on a dry run could be.
    ok: bool,
    /// The number of updated links to it, in notes that are not moved; absent if a move fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    backlinks_updated: Option<usize>,
    /// Why it failed, or on a dry run would fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ItemError>,
}

/// The results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    #[serde(flatten)]
    report: Report<Item>,
    /// The number of updated links, in notes that are not moved.
    total_backlinks_updated: usize,
}

/// Most notes.
const MAX_MOVES: usize = 100;

impl Operation for BulkMoveNotes {
    const INFO: Info = Info {
        name: "bulk_move_notes",
        title: "Move many notes",
        description: "Moves up to 100 notes in one commit, and updates the links that the moves would break. Notes may swap their paths. If one cannot be moved none is, and the error lists each (bulk_partial). It is a dry run unless dry_run is false; then a person has to confirm it. For one note take move_note. Example: {\"moves\": [{\"from\": \"Inbox/a.md\", \"to\": \"Projects/a.md\"}], \"dry_run\": false}",
        // The result reveals the number of links to it.
        scopes: &[Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault, Scope::BulkVault],
        destructive: true,
        tags: &["notes", "links", "bulk"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        let mut touches = Vec::new();
        for (at, OneMove { from, to }) in arguments.moves.iter().enumerate() {
            touches.push((Access::Delete, writable::path(&format!("moves[{at}].from"), from)?));
            touches.push((Access::Write, writable::path(&format!("moves[{at}].to"), to)?));
        }
        Ok(touches)
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        !arguments.dry_run
    }

    fn is_dry_run(arguments: &Arguments) -> bool {
        arguments.dry_run
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        check_count("moves", arguments.moves.len(), MAX_MOVES)?;
        let mut ways = Vec::new();
        for (at, OneMove { from, to }) in arguments.moves.iter().enumerate() {
            let from = writable::path(&format!("moves[{at}].from"), from)?;
            ways.push((from, writable::path(&format!("moves[{at}].to"), to)?));
        }
        let message = arguments.message.as_ref().map(Message::as_str);
        let way = BulkOptions { context, operation: &Self::INFO, message, dry_run: arguments.dry_run };
        let moving = Moving { context, ways, update_links: arguments.update_backlinks, overwrite: false, made: None };
        let Answer { value: report, generation } = way.run(&MovingAll(moving)).await?;
        let total_backlinks_updated = report.results.iter().filter_map(|item| item.backlinks_updated).sum();
        Ok(Answer { value: Output { report, total_backlinks_updated }, generation })
    }
}

struct MovingAll<'a>(Moving<'a>);

impl MovingAll<'_> {
    /// For each move the reason why it is impossible whatever exists, if there is one.
    fn problems(&self) -> Vec<Option<Error>> {
        let (mut left, mut reached) = (HashSet::new(), HashSet::new());
        let mut problems = Vec::new();
        for (from, to) in &self.0.ways {
            problems.push(match (from == to, left.insert(from), reached.insert(to)) {
                (true, ..) => {
                    let message = format!("the note is at {to} already");
                    Some(Error::bad_request(Reason::InvalidInput, message).with("field", "to"))
                }
                (_, false, _) => Some(twice("from", from.as_str())),
                (.., false) => Some(twice("to", to.as_str())),
                _ => None,
            });
        }
        problems
    }
}

impl Bulk for MovingAll<'_> {
    /// [`None`] if another move fails.
    type Done = Option<Moved>;
    type Item = Item;

    const ALL_OR_NOTHING: bool = true;

    async fn plan<'h>(&'h self, head: &'h Arc<Snapshot>) -> Result<Planned<'h, Option<Moved>>, Error> {
        let moving = &self.0;
        let ends = self.problems().into_iter().zip(moving.ends(head).await?);
        let ends: Vec<Result<Ends, Error>> = ends.map(|(problem, ends)| problem.map_or(ends, Err)).collect();
        if ends.iter().any(Result::is_err) {
            let items = ends.into_iter().map(|ends| ends.map(|_| None)).collect();
            return Ok(Planned { items, batch: Batch::on(head, moving.context), needs_confirmation: false });
        }
        let mut plan = moving.plan(head, ends.into_iter().flatten().collect()).await?;
        let mut taken = plan.batch.taken().await?;
        let moved = moving.ways.iter().map(|(_, to)| to).zip(plan.moved);
        let items = moved.map(|(to, moved)| taken.remove(to).map_or(Ok(Some(moved)), Err)).collect();
        Ok(Planned { items, batch: plan.batch, needs_confirmation: false })
    }

    fn item(&self, at: usize, done: Result<Option<Moved>, ItemError>) -> Item {
        let (from, to) =
            self.0.ways.get(at).map_or_else(Default::default, |(from, to)| (from.to_string(), to.to_string()));
        match done {
            Ok(moved) => {
                let backlinks_updated = moved.map(|moved| moved.backlinks);
                Item { from, to, ok: true, backlinks_updated, error: None }
            }
            Err(error) => Item { from, to, ok: false, backlinks_updated: None, error: Some(error) },
        }
    }
}
