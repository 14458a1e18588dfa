use std::fmt::{self, Display, Formatter};

use super::source::Source;
use crate::Dialect;
use crate::syntax::{Expr, Node};

/// A query.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The output.
    pub header: Header,
    /// Which pages; all, if it is not said.
    pub source: Option<Source>,
    /// The steps over their rows, in order.
    pub steps: Vec<Step>,
}

/// The output of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Header {
    /// `LIST`: the rows, and a value of each.
    List {
        /// The value.
        value: Option<Expr>,
        /// Whether the row itself is shown.
        with_id: bool,
    },
    /// `TABLE`: values of each row.
    Table {
        /// The values.
        columns: Vec<Column>,
        /// Whether the row itself is the first column.
        with_id: bool,
    },
    /// `TASK`: the tasks of the pages.
    Task,
    /// `CALENDAR`: the pages by a date.
    Calendar(Column),
}

/// A value and its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name; without `AS` the text of the value.
    pub name: String,
    /// The value.
    pub value: Expr,
}

/// A step over rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Keeps those of which it is true.
    Where(Expr),
    /// Sorts by these values; `true` from large to small.
    Sort(Vec<(Expr, bool)>),
    /// Keeps so many.
    Limit(Expr),
    /// Makes a row of each entry of a list.
    Flatten(Column),
    /// Makes a row of all with one value.
    Group(Column),
}

impl Query {
    /// All expressions in it.
    pub fn expressions(&self) -> Vec<&Expr> {
        let mut all = Vec::new();
        match &self.header {
            Header::List { value, .. } => all.extend(value),
            Header::Table { columns, .. } => all.extend(columns.iter().map(|column| &column.value)),
            Header::Task => {}
            Header::Calendar(column) => all.push(&column.value),
        }
        for step in &self.steps {
            match step {
                Step::Where(expr) | Step::Limit(expr) => all.push(expr),
                Step::Sort(by) => all.extend(by.iter().map(|(expr, _)| expr)),
                Step::Flatten(column) | Step::Group(column) => all.push(&column.value),
            }
        }
        all
    }

    /// Names of functions that it calls and that there are not, each with its place in bytes.
    #[must_use]
    pub fn unknown_functions(&self) -> Vec<(String, usize)> {
        let mut unknown = Vec::new();
        for expr in self.expressions() {
            expr.walk(&mut |expr| {
                if let Node::Call(function, _) = &expr.node
                    && let Some(name) = function.as_name()
                    && crate::eval::functions::get(name).is_none()
                {
                    unknown.push((name.to_owned(), function.at as usize));
                }
            });
        }
        unknown
    }
}

fn print(expr: &Expr) -> String {
    Dialect::Dataview.print(expr)
}

impl Display for Column {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = self.name.replace('\\', "\\\\").replace('"', "\\\"");
        write!(f, "{} AS \"{name}\"", print(&self.value))
    }
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let without = |with_id: &bool| if *with_id { "" } else { " WITHOUT ID" };
        match &self.header {
            Header::List { value, with_id } => {
                write!(f, "LIST{}", without(with_id))?;
                if let Some(value) = value {
                    write!(f, " {}", print(value))?;
                }
            }
            Header::Table { columns, with_id } => {
                write!(f, "TABLE{}", without(with_id))?;
                for (at, column) in columns.iter().enumerate() {
                    write!(f, "{} {column}", if at == 0 { "" } else { "," })?;
                }
            }
            Header::Task => f.write_str("TASK")?,
            Header::Calendar(column) => write!(f, "CALENDAR {column}")?,
        }
        // After no more than a header something has to follow it.
        writeln!(f)?;
        if let Some(source) = &self.source {
            writeln!(f, "FROM {source}")?;
        }
        for step in &self.steps {
            match step {
                Step::Where(expr) => writeln!(f, "WHERE {}", print(expr))?,
                Step::Limit(expr) => writeln!(f, "LIMIT {}", print(expr))?,
                Step::Flatten(column) => writeln!(f, "FLATTEN {column}")?,
                Step::Group(column) => writeln!(f, "GROUP BY {column}")?,
                Step::Sort(by) => {
                    let by =
                        by.iter().map(|(expr, down)| format!("{} {}", print(expr), if *down { "DESC" } else { "ASC" }));
                    writeln!(f, "SORT {}", by.collect::<Vec<_>>().join(", "))?;
                }
            }
        }
        Ok(())
    }
}
