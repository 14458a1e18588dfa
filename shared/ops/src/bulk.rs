//! Bulk operations, as obsidian-tc has them: many notes in one commit. All of it is done or nothing, with a report of each.

pub mod bulk_create_notes;
pub mod bulk_move_notes;
pub mod bulk_set_property;

use std::sync::Arc;

use atlas_mirror::{ChangeSet, Derived, Snapshot};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::batch::Batch;
use crate::error::{Code, Error};
use crate::governor::cut;
use crate::operation::{Answer, Context, Info};
use crate::view::View;
use crate::writing::{self, Done, Last};

/// More items than these are confirmed by a person.
const UNCONFIRMED: usize = 50;

/// Things to do.
trait Bulk: Sync {
    /// What became of one. A keyed commit keeps it.
    type Done: Serialize + DeserializeOwned + Clone + Send + Sync;
    /// The same as it is reported.
    type Item: Serialize + JsonSchema + Send;

    /// What they come to on `head`.
    fn plan<'h>(&self, head: &'h Arc<Snapshot>) -> impl Future<Output = Result<Planned<'h, Self::Done>, Error>> + Send;

    /// The report of the thing at this place.
    fn item(&self, at: usize, done: Result<Self::Done, Error>) -> Self::Item;
}

/// What they come to on one state.
struct Planned<'h, D> {
    /// Each, in order. Unless all can be done, `batch` is of no use.
    items: Vec<Result<D, Error>>,
    batch: Batch<'h>,
    /// Whether a person has to confirm them for what is there.
    needs_confirmation: bool,
}

/// How they are done.
#[derive(Clone, Copy)]
struct Way<'a> {
    context: &'a Context<'a>,
    operation: &'static Info,
    message: Option<&'a str>,
    /// Only look what they would come to.
    dry_run: bool,
    /// Report none after the first that cannot be done.
    stop_on_first_error: bool,
}

/// What became of things that were to be done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report<I> {
    /// How many there are in the report.
    processed: usize,
    /// How many of them were done; on a dry run, could be.
    succeeded: usize,
    /// How many cannot be: none, except on a dry run.
    failed: usize,
    /// Each, in order; the first of them if an answer has no room for all.
    results: Vec<I>,
    /// Whether there are more than these.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Whether nothing was done, and this is what would be.
    dry_run: bool,
    /// The generation that has them; on a dry run, the one that was looked at.
    generation: u64,
    /// How long it took.
    duration_ms: u64,
}

impl Way<'_> {
    async fn run<B: Bulk>(self, bulk: &B) -> Result<Answer<Report<B::Item>>, Error> {
        let (items, generation) = if self.dry_run {
            let look = |view: View| async move {
                let items = bulk.plan(view.snapshot()).await?.items;
                Ok((items, view.generation()))
            };
            self.context.read(look).await?.value
        } else {
            let change = Commit { bulk, way: self, last: Last::default() };
            match writing::commit(self.context, self.operation, self.message, &change, &change.last).await? {
                Done::Committed { value, generation, .. } | Done::Unchanged { value, newest: generation } => {
                    (value.into_iter().map(Ok).collect(), generation)
                }
            }
        };
        let Results { succeeded, failed, mut results } = self.results(bulk, items);
        // What was done is told, however much it was.
        let truncated = cut(&mut results, self.context);
        let took = (self.context.clock)().duration_since(self.context.now);
        let report = Report {
            processed: succeeded + failed,
            succeeded,
            failed,
            results,
            truncated,
            dry_run: self.dry_run,
            generation,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or_default(),
        };
        Ok(Answer { value: report, generation: Some(generation) })
    }

    fn results<B: Bulk>(self, bulk: &B, items: Vec<Result<B::Done, Error>>) -> Results<B::Item> {
        let (mut succeeded, mut failed, mut results) = (0, 0, Vec::new());
        for (at, item) in items.into_iter().enumerate() {
            let is_done = item.is_ok();
            succeeded += usize::from(is_done);
            failed += usize::from(!is_done);
            results.push(bulk.item(at, item));
            if !is_done && self.stop_on_first_error {
                break;
            }
        }
        Results { succeeded, failed, results }
    }
}

struct Results<I> {
    succeeded: usize,
    failed: usize,
    results: Vec<I>,
}

/// The commit of things to do.
struct Commit<'a, B: Bulk> {
    bulk: &'a B,
    way: Way<'a>,
    last: Last<Vec<B::Done>>,
}

impl<B: Bulk> ChangeSet for Commit<'_, B> {
    type Error = Error;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Option<Derived>, Error> {
        let head = writing::published(head)?;
        let Planned { items, batch, needs_confirmation } = self.bulk.plan(head).await?;
        if items.iter().any(Result::is_err) {
            let count = items.len();
            let Results { failed, results, .. } = self.way.results(self.bulk, items);
            let at_least = if self.way.stop_on_first_error { "at least " } else { "" };
            let message =
                format!("{at_least}{failed} of {count} cannot be done, so none was: details.results says why not");
            let results: Vec<Value> =
                results.iter().map(|item| serde_json::to_value(item).unwrap_or_default()).collect();
            return Err(Error::new(Code::Conflict, "bulk_partial", message).with("results", results));
        }
        if needs_confirmation {
            self.way.context.confirm().await?;
        }
        let done = items.into_iter().flatten().collect();
        if batch.is_empty() {
            return self.last.unchanged(done);
        }
        self.last.changes(done, batch.derived().await?)
    }
}

/// Fails unless there are 1 to `most` things.
fn check_count(field: &str, count: usize, most: usize) -> Result<(), Error> {
    if (1..=most).contains(&count) {
        return Ok(());
    }
    Err(Error::bad_request("invalid_input", format!("{field}: name 1 to {most}")).with("field", field))
}

/// The error for a path that another thing has already.
fn twice(field: &str, path: &str) -> Error {
    Error::bad_request("invalid_input", format!("{path} is named twice: name it once"))
        .with("field", field)
        .with("path", path)
}
