//! Bulk operations, in obsidian-tc's form: many notes in one commit, with a report on each. Failed items are reported
//! and the others executed, unless the operation is all or nothing.

pub mod bulk_create_notes;
pub mod bulk_move_notes;
pub mod bulk_set_property;

use std::sync::Arc;

use atlas_mirror::{Attempt, ChangeSet, Snapshot};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::item_error::ItemError;
use atlas_ops::operation::{Answer, Context, Info};
use atlas_ops::pipeline::response_limit::cut;
use atlas_ops::read::view::View;
use atlas_ops::write::batch::Batch;
use atlas_ops::write::commit;
use atlas_ops::write::writable;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// More items than these require a person's confirmation.
const UNCONFIRMED: usize = 50;

/// A bulk operation.
trait Bulk: Sync {
    /// The result of one item. A keyed commit stores it.
    type Done: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;
    /// The reported result of an item.
    type Item: Serialize + JsonSchema + Send;

    /// Whether one failure prevents all.
    const ALL_OR_NOTHING: bool = false;

    /// Plans the items on `head`.
    fn plan<'h>(
        &'h self,
        head: &'h Arc<Snapshot>,
    ) -> impl Future<Output = Result<Planned<'h, Self::Done>, Error>> + Send;

    /// The report on the item with this index.
    fn item(&self, at: usize, done: Result<Self::Done, ItemError>) -> Self::Item;
}

/// The plan of the items on one state.
struct Planned<'h, D> {
    /// The results in order, up to the item at which the call stops.
    items: Vec<Result<D, Error>>,
    /// The changes of the successful items; unused if one failure prevents all.
    batch: Batch<'h>,
    /// Whether a person must confirm them because of existing files.
    needs_confirmation: bool,
}

/// The options of a bulk call.
#[derive(Clone, Copy)]
struct BulkOptions<'a> {
    context: &'a Context<'a>,
    operation: &'static Info,
    message: Option<&'a str>,
    /// Only plan the items.
    dry_run: bool,
}

/// The result of a bulk call.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report<I> {
    /// How many items were processed.
    processed: usize,
    /// How many items succeeded, or on a dry run would succeed.
    succeeded: usize,
    /// How many items failed, or on a dry run would fail.
    failed: usize,
    /// The result of each item, in order; only the first ones if not all fit into the answer.
    results: Vec<I>,
    /// Whether there are more results.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Whether this was a dry run, so that nothing was changed.
    dry_run: bool,
    /// The new generation; on a dry run, the one that was read.
    generation: u64,
    /// The duration.
    duration_ms: u64,
}

/// The outcome of one item. A keyed commit stores it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Outcome<D> {
    Failed(ItemError),
    Done(D),
}

impl<D> Outcome<D> {
    fn of(done: Result<D, Error>, way: BulkOptions<'_>) -> Self {
        match done {
            Ok(done) => Self::Done(done),
            Err(error) => Self::Failed(ItemError::of(error, way.context.caller)),
        }
    }

    const fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    fn into_result(self) -> Result<D, ItemError> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Failed(error) => Err(error),
        }
    }
}

impl BulkOptions<'_> {
    async fn run<B: Bulk>(self, bulk: &B) -> Result<Answer<Report<B::Item>>, Error> {
        let (outcomes, generation) = if self.dry_run {
            let look = |view: View| async move {
                let items = bulk.plan(view.snapshot()).await?.items;
                Ok((items.into_iter().map(|item| Outcome::of(item, self)).collect(), view.generation()))
            };
            self.context.read(look).await?.value
        } else {
            let change = Commit { bulk, way: self };
            commit::commit(self.context, self.operation, self.message, &change).await?.kept()
        };
        let (processed, succeeded) = count(&outcomes);
        let mut results = report(bulk, outcomes);
        // Executed items are reported even if the report must be cut.
        let truncated = cut(&mut results, self.context);
        let took = (self.context.clock)().duration_since(self.context.now);
        let report = Report {
            processed,
            succeeded,
            failed: processed - succeeded,
            results,
            truncated,
            dry_run: self.dry_run,
            generation,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or_default(),
        };
        Ok(Answer { value: report, generation: Some(generation) })
    }
}

/// The number of items, and of successful ones.
fn count<D>(outcomes: &[Outcome<D>]) -> (usize, usize) {
    (outcomes.len(), outcomes.iter().filter(|outcome| outcome.is_done()).count())
}

fn report<B: Bulk>(bulk: &B, outcomes: Vec<Outcome<B::Done>>) -> Vec<B::Item> {
    outcomes.into_iter().enumerate().map(|(at, outcome)| bulk.item(at, outcome.into_result())).collect()
}

/// The commit of a bulk call.
struct Commit<'a, B: Bulk> {
    bulk: &'a B,
    way: BulkOptions<'a>,
}

impl<B: Bulk> Commit<'_, B> {
    /// The error that nothing was done, with the reason for each item.
    fn nothing(&self, outcomes: Vec<Outcome<B::Done>>) -> Error {
        let (processed, succeeded) = count(&outcomes);
        let rolled_back = || {
            let message = "this was skipped, since other items of the call failed: leave them out, or correct them";
            Outcome::of(Err(Error::new(Code::Conflict, Reason::NotDone, message)), self.way)
        };
        let outcomes = outcomes.into_iter().map(|outcome| if outcome.is_done() { rolled_back() } else { outcome });
        let results = report(self.bulk, outcomes.collect());
        let results: Vec<Value> = results.iter().map(|item| serde_json::to_value(item).unwrap_or_default()).collect();
        let failed = processed - succeeded;
        let message = format!("nothing was done: {failed} of {processed} failed, and details.results has the reasons");
        Error::new(Code::Conflict, Reason::BulkPartial, message).with("results", results)
    }
}

impl<B: Bulk> ChangeSet for Commit<'_, B> {
    type Error = Error;
    type Outcome = commit::Outcome<Vec<Outcome<B::Done>>>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let head = writable::published(head)?;
        let Planned { items, mut batch, needs_confirmation } = self.bulk.plan(head).await?;
        let outcomes: Vec<_> = items.into_iter().map(|item| Outcome::of(item, self.way)).collect();
        let (processed, succeeded) = count(&outcomes);
        if succeeded == 0 || (B::ALL_OR_NOTHING && succeeded < processed) {
            return Err(self.nothing(outcomes));
        }
        if needs_confirmation {
            batch.require_confirmation();
        }
        if batch.is_empty() {
            return Ok(Attempt::nothing(outcomes.into()));
        }
        Ok(Attempt::changes(batch.derived().await?, outcomes.into()))
    }
}

/// Fails unless there are 1 to `most` items.
fn check_count(field: &str, count: usize, most: usize) -> Result<(), Error> {
    if (1..=most).contains(&count) {
        return Ok(());
    }
    Err(Error::bad_request(Reason::InvalidInput, format!("{field}: name 1 to {most}")).with("field", field))
}

/// The error for a path that another item has too.
fn twice(field: &str, path: &str) -> Error {
    Error::bad_request(Reason::InvalidInput, format!("{path} is named twice: name it once"))
        .with("field", field)
        .with("path", path)
}
