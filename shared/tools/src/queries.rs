//! Queries over notes in the languages of Dataview and Bases, answered from the index.

pub mod in_note;

use atlas_expressions::{Dialect, Evaluator, Limits, Setting};
use atlas_ops::operation::Context;
use atlas_ops::read::pages::IndexPages;

/// How much one query may do.
const LIMITS: Limits = Limits { steps: 10_000_000, bytes: 128 << 20 };

/// An evaluator over `pages` at the time of the call; `this` is the note that queries mean by it.
pub(crate) fn evaluator<'p>(
    context: &Context<'_>,
    pages: &'p IndexPages,
    dialect: Dialect,
    this: Option<&str>,
) -> Evaluator<'p> {
    evaluator_within(context, pages, dialect, this, LIMITS)
}

/// Like [`evaluator`], within limits of one's own.
pub(crate) fn evaluator_within<'p>(
    context: &Context<'_>,
    pages: &'p IndexPages,
    dialect: Dialect,
    this: Option<&str>,
    limits: Limits,
) -> Evaluator<'p> {
    let now = context.now.to_zoned(pages.zone().clone());
    Evaluator::new(pages, Setting { dialect, now, this: this.map(Into::into), limits })
}
