//! Warnings about columns that are empty in all rows: most often a mistyped property.

use atlas_expressions::Value;
use atlas_expressions::base::{Property, Ran};
use atlas_expressions::dql::{Header, Query, Step};
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::nearest;
use atlas_ops::read::view::View;

use super::Table;

/// Most columns that are warned about.
const MAX_COLUMNS: usize = 5;

/// Columns that are empty in all rows.
#[derive(Debug, Default)]
pub(crate) struct EmptyColumns {
    /// The properties that they show.
    properties: Vec<String>,
    /// The properties that they show of a group, which has none.
    of_group: Vec<String>,
}

/// The columns of a Dataview query that show a property, which no row of `table` has.
pub(super) fn of_dql(query: &Query, table: &Table) -> EmptyColumns {
    let mut empty = EmptyColumns::default();
    let (columns, with_id) = match &query.header {
        Header::Table { columns, with_id } => (columns.iter().map(|column| &column.value).collect(), *with_id),
        Header::List { value, with_id } => (Vec::from_iter(value), *with_id),
        Header::Task | Header::Calendar(_) => return empty,
    };
    if table.rows.is_empty() {
        return empty;
    }
    let names = columns.into_iter().enumerate().filter_map(|(column, value)| {
        let cell = column + usize::from(with_id);
        let is_empty = table.rows.iter().all(|row| row.cells.get(cell).is_some_and(Value::is_null));
        value.as_name().filter(|name| is_empty && !RESERVED.contains(name))
    });
    for name in names.take(MAX_COLUMNS) {
        match meaning(query, name) {
            Meaning::Property => empty.properties.push(name.to_owned()),
            Meaning::PropertyOfGroup => empty.of_group.push(name.to_owned()),
            Meaning::Bound => {}
        }
    }
    empty
}

/// Names that are no properties.
const RESERVED: [&str; 3] = ["file", "this", "row"];

/// The meaning of a name after all steps of a query.
enum Meaning {
    Property,
    /// A property, but rows are groups.
    PropertyOfGroup,
    /// A name that the query gives to a value.
    Bound,
}

fn meaning(query: &Query, name: &str) -> Meaning {
    for step in query.steps.iter().rev() {
        let (Step::Flatten(column) | Step::Group(column)) = step else { continue };
        if column.name == name {
            // Without `AS` the name is that of the property.
            return if column.value.as_name() == Some(name) { Meaning::Property } else { Meaning::Bound };
        }
        if matches!(step, Step::Group(_)) {
            return if matches!(name, "key" | "rows") { Meaning::Bound } else { Meaning::PropertyOfGroup };
        }
    }
    Meaning::Property
}

/// The properties that columns of a base show, and no row has.
pub(crate) fn of_base(ran: &Ran) -> EmptyColumns {
    let mut rows = ran.groups.iter().flat_map(|group| &group.rows).peekable();
    if rows.peek().is_none() {
        return EmptyColumns::default();
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
    let properties = empty.into_iter().map(|(_, name)| name.clone()).take(MAX_COLUMNS).collect();
    EmptyColumns { properties, of_group: Vec::new() }
}

/// A warning for each of the columns that are empty though their property may be meant otherwise. One that other notes have is no mistake.
pub(crate) async fn warnings(context: &Context<'_>, view: View, empty: &EmptyColumns) -> Result<Vec<String>, Error> {
    let of_group = |name: &String| format!("{name} is empty in all rows: after GROUP BY write rows.{name}");
    let mut warnings: Vec<String> = empty.of_group.iter().map(of_group).collect();
    if !empty.properties.is_empty() {
        let unknown = nearest::unknown_properties(context, view, &empty.properties).await?;
        warnings.extend(unknown.into_iter().map(|(name, similar)| match similar {
            Some(similar) => format!("{name} is empty in all rows: there is a property {similar}"),
            None => format!("{name} is empty in all rows"),
        }));
    }
    Ok(warnings)
}
