//! The result of any query as a table.

use std::collections::HashSet;

use atlas_expressions::Dialect;
use atlas_expressions::base;
use atlas_expressions::dql::{Header, Output, Query, Ran, Step};
use atlas_expressions::value::{Object, Value, Widget};
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::paging::Paging;
use serde_json::Value as Json;

use super::{answer_room, json};

/// The fields that every task has; what else it has, it says in its text.
const OF_EVERY_TASK: [&str; 25] = [
    "symbol",
    "link",
    "section",
    "text",
    "tags",
    "line",
    "lineCount",
    "list",
    "outlinks",
    "path",
    "children",
    "task",
    "annotated",
    "position",
    "subtasks",
    "real",
    "header",
    "parent",
    "blockId",
    "status",
    "checked",
    "completed",
    "fullyCompleted",
    "key",
    "rows",
];

/// Names of the columns of tasks.
const TASK_COLUMNS: [&str; 5] = ["task", "status", "path", "line", "fields"];

/// A table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The names of its columns, no two of which are equal.
    pub(crate) columns: Vec<String>,
    /// Its rows.
    pub(crate) rows: Vec<Row>,
    /// Errors in some rows, which are left out; and columns that are always empty.
    pub(crate) warnings: Vec<String>,
}

/// A row of a table.
#[derive(Debug)]
pub(crate) struct Row {
    /// As many as there are columns.
    pub(crate) cells: Vec<Value>,
    /// The file that it is of, if it is of one.
    pub(crate) path: Option<String>,
}

/// A page of a table.
pub(super) struct TablePage {
    pub(super) rows: Vec<Vec<Json>>,
    /// For each row the path of its file; [`None`] for groups.
    pub(super) paths: Vec<Option<String>>,
    pub(super) cursor: Option<String>,
    pub(super) overflow: bool,
}

impl Table {
    /// The page that `paging` asks for, as far as an answer has room.
    pub(super) fn page(&self, context: &Context<'_>, paging: &Paging, generation: u64) -> Result<TablePage, Error> {
        let mut room = answer_room(context);
        let mut items = Vec::new();
        for row in paging.of(&self.rows) {
            context.work.check()?;
            let cells = row.cells.iter().map(|cell| json(context, cell, &mut room)).collect::<Result<Vec<Json>, _>>();
            match cells {
                Ok(cells) => items.push((cells, row.path.clone())),
                // The page ends before the row.
                Err(_) if !items.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        let page = paging.page(context, generation, self.rows.len(), items)?;
        let (rows, paths) = page.items.into_iter().unzip();
        Ok(TablePage { rows, paths, cursor: page.cursor, overflow: page.overflow })
    }

    /// A table of these columns, whose names are made distinct.
    pub(crate) fn new(columns: Vec<String>, rows: Vec<Row>, warnings: Vec<String>) -> Self {
        Self { columns: distinct(columns), rows, warnings }
    }

    /// The result of a Dataview query.
    pub(crate) fn of_dql(query: &Query, ran: Ran) -> Self {
        let groups: Vec<&str> = query.steps.iter().filter_map(group).collect();
        let id = groups.last().copied().unwrap_or("File").to_owned();
        let files = ran.files.into_iter().map(|file| file.map(|path| path.to_string()));
        let row = |cells: &[Value], path| Row { cells: cells.to_vec(), path };
        let (columns, rows): (Vec<String>, Vec<Row>) = match ran.output {
            Output::Table { columns, rows } => {
                (columns, rows.iter().zip(files).map(|(cells, path)| row(cells, path)).collect())
            }
            Output::List(items) => {
                let columns = match &query.header {
                    Header::List { value: Some(value), with_id } => {
                        let name = Dialect::Dataview.print(value);
                        if *with_id { vec![id, name] } else { vec![name] }
                    }
                    _ => vec![id],
                };
                let cells = |item: Value| match &item {
                    Value::Widget(widget) => match &**widget {
                        Widget::Pair(key, value) if columns.len() == 2 => vec![key.clone(), value.clone()],
                        Widget::Pair(..) | Widget::ExternalLink(..) => vec![item],
                    },
                    _ => vec![item],
                };
                let rows = items.into_iter().zip(files).map(|(item, path)| row(&cells(item), path)).collect();
                (columns, rows)
            }
            Output::Calendar(days) => {
                let rows = days.into_iter().zip(files).map(|((date, link), path)| row(&[date, link], path));
                (vec!["date".to_owned(), "File".to_owned()], rows.collect())
            }
            Output::Tasks(tasks) => {
                let mut rows = Vec::new();
                add_tasks(&tasks, &mut Vec::new(), &mut rows);
                let depth = rows.first().map_or(0, |row| row.cells.len().saturating_sub(TASK_COLUMNS.len()));
                // The last grouping is the outermost.
                let outer = groups.iter().rev().take(depth).map(|name| (*name).to_owned());
                (outer.chain(TASK_COLUMNS.map(str::to_owned)).collect(), rows)
            }
        };
        Self::new(columns, rows, ran.warnings)
    }

    /// The result of a view of a base. Where it groups, the first column has the groups.
    pub(crate) fn of_base(view: &base::View, ran: base::Ran) -> Self {
        let key = view.group_by.as_ref().map(|(property, _)| property.to_string());
        let columns = key.into_iter().chain(ran.columns.into_iter().map(|column| column.title)).collect();
        let mut rows = Vec::new();
        for group in ran.groups {
            for row in group.rows {
                let cells = row.cells.into_iter().map(|cell| match cell {
                    Ok(value) => value,
                    Err(message) => Value::object(Object::from_iter([("error".into(), message.into())])),
                });
                rows.push(Row {
                    cells: group.key.iter().cloned().chain(cells).collect(),
                    path: Some(row.path.to_string()),
                });
            }
        }
        Self::new(columns, rows, ran.warnings)
    }
}

fn group(step: &Step) -> Option<&str> {
    if let Step::Group(column) = step { Some(&column.name) } else { None }
}

/// Adds tasks, or groups of them, as rows that begin with the keys of their groups.
fn add_tasks(tasks: &[Value], keys: &mut Vec<Value>, rows: &mut Vec<Row>) {
    for task in tasks {
        let Value::Object(task) = task else { continue };
        if let (Some(key), Some(Value::List(inner)), None) = (task.get("key"), task.get("rows"), task.get("symbol")) {
            keys.push(key.clone());
            add_tasks(inner, keys, rows);
            keys.pop();
            continue;
        }
        let line = task.get("line").and_then(Value::as_number).unwrap_or_default() + 1.0;
        let own = |name: &str| task.get(name).cloned().unwrap_or_default();
        let fields = task.iter().filter(|(name, _)| !OF_EVERY_TASK.contains(&&***name));
        let fields: Object = fields.map(|(name, value)| (name.clone(), value.clone())).collect();
        let cells = [own("text"), own("status"), own("path"), line.into(), Value::object(fields)];
        let path = task.get("path").and_then(Value::as_text).map(str::to_owned);
        rows.push(Row { cells: keys.iter().cloned().chain(cells).collect(), path });
    }
}

/// The names, with a number behind those that stand there already.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut known: HashSet<String> = HashSet::new();
    let mut all = Vec::with_capacity(names.len());
    for name in names {
        let mut own = name.clone();
        let mut number = 2;
        while !known.insert(own.clone()) {
            own = format!("{name} {number}");
            number += 1;
        }
        all.push(own);
    }
    all
}
