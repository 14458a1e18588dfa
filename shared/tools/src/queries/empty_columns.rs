//! Warnings about columns that are empty in all rows: most often a mistyped property.

use atlas_expressions::base::{Property, Ran};
use atlas_expressions::dql::{Header, Query};
use atlas_expressions::{Dialect, Value};
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::nearest;
use atlas_ops::read::view::View;

use super::Table;

/// Most columns that are warned about.
const MAX_COLUMNS: usize = 5;

/// The properties that columns of a Dataview query show, and no row of `table` has.
pub(super) fn of_dql(query: &Query, table: &Table) -> Vec<String> {
    let (columns, with_id) = match &query.header {
        Header::Table { columns, with_id } => (columns.iter().map(|column| &column.value).collect(), *with_id),
        Header::List { value, with_id } => (Vec::from_iter(value), *with_id),
        Header::Task | Header::Calendar(_) => return Vec::new(),
    };
    let names = columns.into_iter().map(|value| Dialect::Dataview.print(value)).enumerate();
    let is_empty = |column: usize| {
        let column = column + usize::from(with_id);
        table.rows.iter().all(|row| row.cells.get(column).is_some_and(Value::is_null))
    };
    if table.rows.is_empty() {
        return Vec::new();
    }
    names.filter(|(column, name)| is_name(name) && is_empty(*column)).map(|(_, name)| name).take(MAX_COLUMNS).collect()
}

/// The properties that columns of a base show, and no row has.
pub(crate) fn of_base(ran: &Ran) -> Vec<String> {
    let mut rows = ran.groups.iter().flat_map(|group| &group.rows).peekable();
    if rows.peek().is_none() {
        return Vec::new();
    }
    let mut empty: Vec<(usize, &String)> = Vec::new();
    for (index, column) in ran.columns.iter().enumerate() {
        if let Property::Note(name) = &column.property {
            empty.push((index, name));
        }
    }
    for row in rows {
        empty.retain(|(index, _)| row.cells.get(*index).is_some_and(|cell| cell.as_ref().is_ok_and(Value::is_null)));
        if empty.is_empty() {
            break;
        }
    }
    empty.into_iter().map(|(_, name)| name.clone()).take(MAX_COLUMNS).collect()
}

/// A warning for each of the columns that are empty, with the property that may have been meant.
pub(crate) async fn warnings(context: &Context<'_>, view: View, columns: &[String]) -> Result<Vec<String>, Error> {
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    let similar = nearest::similar_properties(context, view, columns).await?;
    let warning = |(column, similar): (&String, Option<String>)| match similar {
        Some(similar) => format!("{column} is empty in all rows: there is a property {similar}"),
        None => format!("{column} is empty in all rows"),
    };
    Ok(columns.iter().zip(similar).map(warning).collect())
}

/// Whether an expression is only a name.
fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        && text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !matches!(text, "null" | "true" | "false")
}
