//! Queries over notes in the languages of Dataview and Bases, answered from the index.

pub mod eval_dataview_field;
pub mod in_note;
pub mod lines;
pub mod query_notes;
mod run;
pub mod search_dql;
mod table;
pub mod validate_dql;

use atlas_expressions::{Dialect, Evaluator, Limits, Setting};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::pages::IndexPages;

pub(crate) use run::{parsed, ran_base, ran_dql};
pub(crate) use table::Table;

/// How much one query may do.
const LIMITS: Limits = Limits { steps: 10_000_000, bytes: 128 << 20 };

/// An evaluator over `pages` at the time of the call; `this` is the note that queries mean by it.
pub(crate) fn evaluator<'p>(
    context: &Context<'p>,
    pages: &'p IndexPages,
    dialect: Dialect,
    this: Option<&str>,
) -> Evaluator<'p> {
    evaluator_within(context, pages, dialect, this, LIMITS)
}

/// Like [`evaluator`], within limits of one's own.
pub(crate) fn evaluator_within<'p>(
    context: &Context<'p>,
    pages: &'p IndexPages,
    dialect: Dialect,
    this: Option<&str>,
    limits: Limits,
) -> Evaluator<'p> {
    let work = context.work;
    let now = context.now.to_zoned(pages.zone().clone());
    Evaluator::new(pages, Setting { dialect, now, this: this.map(Into::into), limits }).until(|| work.check().is_err())
}

/// Fails for text that is a program of DataviewJS, which nothing here runs.
pub(crate) fn check_no_program(text: &str) -> Result<(), Error> {
    let text = text.trim_start().trim_start_matches('`').trim_start();
    let is_program = text.starts_with("$=") || text.starts_with("dataviewjs") || text.starts_with("dv.");
    if is_program {
        let message = "`$= …` and DataviewJS are programs, and are not run here: write a DQL query or an expression";
        return Err(Error::bad_request(Reason::DqlError, message));
    }
    Ok(())
}
