//! Runs a query over the rows of the index.

use atlas_expressions::base::{self, Base};
use atlas_expressions::{Dialect, Evaluator, dql, plan};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::pages::{IndexPages, refused};
use atlas_ops::read::view::View;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Table, check_no_program, empty_columns, evaluator};

/// A language of queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Language {
    /// The Dataview query language.
    #[default]
    Dql,
    /// Documents of Bases.
    Base,
}

/// A query in one of the languages.
pub(super) enum Query<'q> {
    /// Of Dataview.
    Dql(&'q str, Box<dql::Query>),
    /// A view of a document of Bases.
    Base(&'q str, Box<(Base, base::View)>),
}

impl<'q> Query<'q> {
    /// The query that `text` is; `view` is the name of a base's view.
    pub(super) fn of(language: Language, text: &'q str, view: Option<&str>) -> Result<Self, Error> {
        match language {
            Language::Dql => Ok(Self::Dql(text, Box::new(parsed(text)?))),
            Language::Base => {
                let base = crate::bases::parsed("the base", text)?;
                let chosen = crate::bases::view("the base", &base, view)?;
                Ok(Self::Base(text, Box::new((base, chosen))))
            }
        }
    }

    /// Its result; `this` is the note that it stands in.
    pub(super) async fn run(&self, context: &Context<'_>, view: View, this: Option<&str>) -> Result<Table, Error> {
        match self {
            Self::Dql(text, query) => dataview(context, view, text, query, this).await,
            Self::Base(text, document) => bases(context, view, text, &document.0, &document.1, this).await,
        }
    }
}

/// The query that `text` is.
pub(crate) fn parsed(text: &str) -> Result<dql::Query, Error> {
    check_no_program(text)?;
    let query = dql::parse(text).map_err(|error| refused(&error, Dialect::Dataview, text))?;
    match query.unknown_functions().first() {
        None => Ok(query),
        Some((name, offset)) => {
            let (line, column) = place(text, *offset);
            let message = format!("line {line}, column {column}: there is no function \"{name}\"");
            Err(Error::bad_request(Reason::DqlError, message).with("line", line).with("column", column))
        }
    }
}

/// The line and the column of a byte, both counted from 1, columns in characters.
pub(super) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..text.floor_char_boundary(offset)).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before.get(line_start..).unwrap_or_default().chars().count() + 1)
}

/// The result of a Dataview query; `this` is the note that it stands in.
pub(super) async fn dataview(
    context: &Context<'_>,
    view: View,
    text: &str,
    query: &dql::Query,
    this: Option<&str>,
) -> Result<Table, Error> {
    let pages = IndexPages::fetch_for(context, view.clone(), Dialect::Dataview, plan::reads_lists(query)).await?;
    let ran = ran_dql(context, &pages, &evaluator(context, &pages, Dialect::Dataview, this), text, query)?;
    let mut table = Table::of_dql(query, ran);
    let empty = empty_columns::of_dql(query, &table);
    table.warnings.extend(empty_columns::warnings(context, view, &empty).await?);
    Ok(table)
}

/// The result of a Dataview query over `pages`; `evaluator` is over them too.
pub(crate) fn ran_dql(
    context: &Context<'_>,
    pages: &IndexPages,
    evaluator: &Evaluator<'_>,
    text: &str,
    query: &dql::Query,
) -> Result<dql::Ran, Error> {
    let candidates = pages.candidates(context, &plan::of_query(query, evaluator), evaluator)?;
    let ran = dql::run(query, evaluator, &candidates).map_err(|error| refused(&error, Dialect::Dataview, text));
    context.work.check()?;
    pages.check()?;
    ran
}

/// The result of a view of a base; `this` is the file that the base stands in.
pub(super) async fn bases(
    context: &Context<'_>,
    view: View,
    text: &str,
    base: &Base,
    of_base: &base::View,
    this: Option<&str>,
) -> Result<Table, Error> {
    let pages = IndexPages::fetch(context, view.clone(), Dialect::Bases).await?;
    let mut ran = ran_base(context, &pages, &evaluator(context, &pages, Dialect::Bases, this), text, base, of_base)?;
    ran.warnings.extend(empty_columns::warnings(context, view, &empty_columns::of_base(&ran)).await?);
    Ok(Table::of_base(of_base, ran))
}

/// The result of a view of a base over `pages`; `evaluator` is over them too.
pub(crate) fn ran_base(
    context: &Context<'_>,
    pages: &IndexPages,
    evaluator: &Evaluator<'_>,
    text: &str,
    base: &Base,
    of_base: &base::View,
) -> Result<base::Ran, Error> {
    let candidates = pages.candidates(context, &base.plan(of_base, evaluator), evaluator)?;
    let ran = base::run(base, of_base, evaluator, &candidates).map_err(|error| refused(&error, Dialect::Bases, text));
    context.work.check()?;
    pages.check()?;
    ran
}
