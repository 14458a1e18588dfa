//! Queries over notes in the languages of Dataview and Bases, answered from the index.

pub(crate) mod empty_columns;
pub mod eval_dataview_field;
pub mod in_note;
pub mod lines;
pub mod query_notes;
mod run;
pub mod search_dql;
mod table;
pub mod validate_dql;

use atlas_expressions::{Dialect, Evaluator, Limits, Setting, Value, show};
use atlas_ops::error::{Code, Error, Reason};
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

/// The value as JSON, which takes from the bytes that the answer has `room` for: at first [`answer_room`].
///
/// # Errors
/// `overflow` as soon as there is no more room.
pub(crate) fn json(context: &Context<'_>, value: &Value, room: &mut usize) -> Result<serde_json::Value, Error> {
    show::json(value, room).map_err(|_| {
        let max_bytes = answer_room(context);
        let message = format!(
            "the answer would have more than {max_bytes} bytes: ask for less of each row, as with file.lists.text for file.lists"
        );
        Error::new(Code::TooLarge, Reason::Overflow, message).with("overflow", true).with("max_bytes", max_bytes)
    })
}

/// The most bytes of an answer, however it is sent.
pub(crate) const fn answer_room(context: &Context<'_>) -> usize {
    context.atlas.limits.max_response_bytes
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
