use std::cmp::Ordering;
use std::sync::Arc;

use super::query::{Column, Header, Query, Step};
use super::source::is_page;
use crate::error::{Error, Result};
use crate::eval::Evaluator;
use crate::eval::functions::merge_sort;
use crate::plan::never_fails;
use crate::syntax::{Expr, Node};
use crate::value::{Link, Object, Page, Value, Widget};

/// The result of a query.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The rows.
    pub output: Output,
    /// For each row the file that it is of; nothing for groups.
    pub files: Vec<Option<Arc<str>>>,
    /// Errors in some rows, which are left out: their step, and the first few of them; before them what is empty in all rows.
    pub warnings: Vec<String>,
}

/// The rows of a query.
#[derive(Debug, Clone)]
pub enum Output {
    /// Of `LIST`: each an entry.
    List(Vec<Value>),
    /// Of `TABLE`.
    Table {
        /// Names of the columns.
        columns: Vec<String>,
        /// The cells, as many in each row as there are columns.
        rows: Vec<Vec<Value>>,
    },
    /// Of `TASK`: tasks, or groups of tasks: objects with `key` and `rows`.
    Tasks(Vec<Value>),
    /// Of `CALENDAR`: dates and the notes that have them.
    Calendar(Vec<(Value, Value)>),
}

/// A row and what names it.
#[derive(Clone)]
struct Row {
    id: Value,
    data: Value,
}

/// How rows have been grouped: the name of each grouping, the latest last.
type Groups = Vec<String>;

/// Most warnings that are kept.
const MAX_WARNINGS: usize = 5;

/// Runs a query over the pages that may be rows, in their order. `candidates` may be all paths, or those that an index found by
/// [`plan::of_source`](crate::plan::of_source) and [`plan::of`](crate::plan::of): rows that do not belong are left out here.
///
/// # Errors
/// As [`Evaluator::evaluate`], if a step fails for every row or needs what the pages do not know, or if all of it takes too much.
pub fn run(query: &Query, evaluator: &Evaluator<'_>, candidates: &[Arc<str>]) -> Result<Ran> {
    let warning = crate::created::check_query(query, evaluator)?;
    let all: Vec<Arc<str>>;
    let paths = match &query.source {
        None => candidates,
        Some(source) => {
            let found = source.find(evaluator)?;
            let mut kept = Vec::new();
            for path in candidates {
                if found.holds(evaluator, path)? {
                    kept.push(path.clone());
                }
            }
            all = kept;
            &all
        }
    };
    let pages = paths.iter().filter(|path| is_page(path));
    let (filters, most) = beginning(query);
    let mut rows = Vec::new();
    for path in pages {
        if rows.len() >= most {
            break;
        }
        evaluator.spend(1)?;
        let before = rows.len();
        if query.header == Header::Task {
            tasks_of(evaluator, path, &mut rows)?;
        } else {
            rows.push(Row { id: Value::link(Link::file(path.clone())), data: Value::page(path.clone()) });
        }
        if !filters.is_empty() {
            let mut kept = Vec::new();
            for row in rows.drain(before..) {
                if passes(evaluator, &filters, &row)? {
                    kept.push(row);
                }
            }
            rows.extend(kept);
        }
    }
    let mut run = Run { evaluator, rows, groups: Groups::new(), warnings: warning.into_iter().collect() };
    for step in &query.steps {
        run.step(step)?;
    }
    run.output(&query.header)
}

/// The conditions that a query begins with, and the most rows that are needed then; no conditions where no limit follows them, or where one
/// may fail: a row that fails is told, so all rows must be looked at.
fn beginning(query: &Query) -> (Vec<&Expr>, usize) {
    let is_where = |step: &&Step| matches!(step, Step::Where(_));
    let filters: Vec<&Expr> = query
        .steps
        .iter()
        .take_while(is_where)
        .filter_map(|step| if let Step::Where(filter) = step { Some(filter) } else { None })
        .collect();
    match query.steps.get(filters.len()) {
        Some(Step::Limit(Expr { node: Node::Number(most), .. }))
            if *most >= 0.0 && filters.iter().all(|filter| never_fails(filter)) =>
        {
            (filters, crate::numbers::index(*most, usize::MAX))
        }
        _ => (Vec::new(), usize::MAX),
    }
}

/// Whether all filters are true of the row.
fn passes(evaluator: &Evaluator<'_>, filters: &[&Expr], row: &Row) -> Result<bool> {
    for filter in filters {
        if !evaluator.truth(&evaluator.evaluate(filter, &row.data)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tasks of a note as rows: a task's own fields hide the note's.
fn tasks_of(evaluator: &Evaluator<'_>, path: &Arc<str>, rows: &mut Vec<Row>) -> Result<()> {
    let tasks = evaluator.member(&Value::File(path.clone()), "tasks")?;
    let tasks = tasks.as_list().unwrap_or_default();
    evaluator.spend(tasks.len())?;
    for task in tasks {
        let Value::Object(task) = task else { continue };
        evaluator.make(row_bytes(task.len()))?;
        let line = task.get("line").and_then(Value::as_number).unwrap_or_default();
        let id = format!("{path}#{line}").into();
        rows.push(Row { id, data: Value::Page(Arc::new(Page { path: path.clone(), over: (**task).clone() })) });
    }
    Ok(())
}

/// Bytes of a row with so many fields of its own.
const fn row_bytes(fields: usize) -> usize {
    fields.saturating_add(2).saturating_mul(2 * size_of::<Value>())
}

struct Run<'r, 'p> {
    evaluator: &'r Evaluator<'p>,
    rows: Vec<Row>,
    groups: Groups,
    warnings: Vec<String>,
}

impl Run<'_, '_> {
    /// Rows with the values of `exprs`. A row for which one fails is left out.
    ///
    /// # Errors
    /// If it fails for all.
    fn values(&mut self, step: &str, exprs: &[&Expr]) -> Result<Vec<(Row, Vec<Value>)>> {
        let mut with = Vec::new();
        let mut failed = Vec::new();
        let mut failures = 0;
        let rows = std::mem::take(&mut self.rows);
        let count = rows.len();
        for row in rows {
            let values: Result<Vec<_>> = exprs.iter().map(|expr| self.evaluator.evaluate(expr, &row.data)).collect();
            match values {
                Ok(values) => with.push((row, values)),
                Err(error) if error.kind == crate::Kind::Limit => return Err(error),
                Err(error) => {
                    failures += 1;
                    if failed.len() < 3 {
                        failed.push(error);
                    }
                }
            }
        }
        if count > 0 && failures == count {
            let mut first = failed.into_iter().next().unwrap_or_else(|| Error::evaluation("it fails"));
            first.message = format!("every row failed at {step}: {}", first.message);
            return Err(first);
        }
        if failures > 0 && self.warnings.len() < MAX_WARNINGS {
            let example = failed.first().map_or_else(String::new, |error| error.message.clone());
            self.warnings.push(format!("{failures} rows are left out, since {step} failed for them: {example}"));
        }
        Ok(with)
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        let evaluator = self.evaluator;
        match step {
            Step::Where(expr) => {
                let with = self.values("WHERE", &[expr])?;
                let kept = with.into_iter().filter(|(_, values)| values.iter().all(|value| evaluator.truth(value)));
                self.rows = kept.map(|(row, _)| row).collect();
            }
            Step::Sort(by) => {
                let exprs: Vec<_> = by.iter().map(|(expr, _)| expr).collect();
                let with = self.values("SORT", &exprs)?;
                let compare = &mut |left: &(Row, Vec<Value>), right: &(Row, Vec<Value>)| {
                    evaluator.spend(1)?;
                    for ((_, down), (left, right)) in by.iter().zip(left.1.iter().zip(&right.1)) {
                        let order = evaluator.compare(left, right)?;
                        if order.is_ne() {
                            return Ok(if *down { order.reverse() } else { order });
                        }
                    }
                    Ok(Ordering::Equal)
                };
                self.rows = merge_sort(with, compare)?.into_iter().map(|(row, _)| row).collect();
            }
            Step::Limit(amount) => {
                let amount = evaluator.evaluate(amount, &Value::Null)?;
                let Value::Number(amount) = amount else {
                    return Err(Error::evaluation(format!(
                        "LIMIT takes a number, not a value of type {}",
                        amount.type_name()
                    )));
                };
                self.rows.truncate(crate::numbers::index(amount, self.rows.len()));
            }
            Step::Flatten(column) => self.flatten(column)?,
            Step::Group(column) => self.group(column)?,
        }
        Ok(())
    }

    fn flatten(&mut self, column: &Column) -> Result<()> {
        let evaluator = self.evaluator;
        let mut rows = Vec::new();
        for (row, values) in self.values("FLATTEN", &[&column.value])? {
            let value = values.into_iter().next().unwrap_or_default();
            let entries = if let Value::List(items) = &value { items.as_slice() } else { std::slice::from_ref(&value) };
            evaluator.spend(entries.len())?;
            for entry in entries {
                let name = column.name.as_str().into();
                let data = match &row.data {
                    Value::Page(page) => {
                        evaluator.spend(page.over.len())?;
                        evaluator.make(row_bytes(page.over.len()))?;
                        let mut page = (**page).clone();
                        page.over.insert(name, entry.clone());
                        Value::Page(Arc::new(page))
                    }
                    Value::Object(object) => {
                        evaluator.spend(object.len())?;
                        evaluator.make(row_bytes(object.len()))?;
                        let mut object = (**object).clone();
                        object.insert(name, entry.clone());
                        Value::object(object)
                    }
                    other => other.clone(),
                };
                rows.push(Row { id: row.id.clone(), data });
            }
        }
        self.rows = rows;
        if self.groups.last() == Some(&column.name) {
            self.groups.pop();
        }
        Ok(())
    }

    fn group(&mut self, column: &Column) -> Result<()> {
        let evaluator = self.evaluator;
        let keyed = self.values("GROUP BY", &[&column.value])?;
        let keyed =
            keyed.into_iter().map(|(row, values)| (values.into_iter().next().unwrap_or_default(), row)).collect();
        let compare = &mut |left: &(Value, Row), right: &(Value, Row)| {
            evaluator.spend(1)?;
            evaluator.compare(&left.0, &right.0)
        };
        let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
        let mut previous: Option<Value> = None;
        for (key, row) in merge_sort(keyed, compare)? {
            let order = previous.as_ref().map(|previous| evaluator.compare(&key, previous)).transpose()?;
            let same = order.is_some_and(Ordering::is_eq);
            previous = Some(key.clone());
            match groups.last_mut() {
                Some((_, rows)) if same => rows.push(row.data),
                _ => groups.push((key, vec![row.data])),
            }
        }
        let name: Arc<str> = column.name.as_str().into();
        self.rows = groups
            .into_iter()
            .map(|(key, rows)| {
                let mut data = Object::new();
                data.insert("key".into(), key.clone());
                data.insert("rows".into(), Value::list(rows));
                data.insert(name.clone(), key.clone());
                Row { id: key, data: Value::object(data) }
            })
            .collect();
        self.groups.push(column.name.clone());
        Ok(())
    }

    fn output(mut self, header: &Header) -> Result<Ran> {
        let mut files = Vec::new();
        let output = match header {
            Header::List { value, with_id } => {
                let exprs: Vec<_> = value.iter().collect();
                let rows = self.values("LIST", &exprs)?.into_iter().map(|(row, mut values)| {
                    files.push(file_of(&row.data));
                    match values.pop() {
                        None => row.id,
                        Some(value) if !*with_id => value,
                        Some(value) => Value::Widget(Arc::new(Widget::Pair(row.id, value))),
                    }
                });
                Output::List(rows.collect())
            }
            Header::Table { columns, with_id } => {
                let exprs: Vec<_> = columns.iter().map(|column| &column.value).collect();
                let id = with_id.then(|| self.groups.last().cloned().unwrap_or_else(|| "File".to_owned()));
                let rows = self.values("TABLE", &exprs)?.into_iter().map(|(row, values)| {
                    files.push(file_of(&row.data));
                    with_id.then_some(row.id).into_iter().chain(values).collect()
                });
                let rows = rows.collect();
                Output::Table {
                    columns: id.into_iter().chain(columns.iter().map(|column| column.name.clone())).collect(),
                    rows,
                }
            }
            Header::Task => {
                let groups = self.groups.len();
                files.extend(self.rows.iter().map(|row| file_of(&row.data)));
                Output::Tasks(self.rows.into_iter().map(|row| task(row.data, groups)).collect())
            }
            Header::Calendar(column) => {
                let evaluator = self.evaluator;
                let mut dates = Vec::new();
                for (row, values) in self.values("CALENDAR", &[&column.value])? {
                    files.push(file_of(&row.data));
                    let file = evaluator.member(&row.data, "file")?;
                    let link = evaluator.member(&file, "link")?;
                    dates.push((values.into_iter().next().unwrap_or_default(), link));
                }
                Output::Calendar(dates)
            }
        };
        Ok(Ran { output, files, warnings: self.warnings })
    }
}

fn file_of(data: &Value) -> Option<Arc<str>> {
    if let Value::Page(page) = data { Some(page.path.clone()) } else { None }
}

/// A task as an object of its own fields; a group of tasks as its key and its rows.
fn task(data: Value, groups: usize) -> Value {
    match data {
        Value::Object(group) if groups > 0 => {
            let rows = group.get("rows").and_then(Value::as_list).unwrap_or_default();
            let rows = rows.iter().map(|row| task(row.clone(), groups - 1)).collect();
            let mut own = Object::new();
            own.insert("key".into(), group.get("key").cloned().unwrap_or_default());
            own.insert("rows".into(), Value::list(rows));
            Value::object(own)
        }
        Value::Page(page) => Value::object(Arc::unwrap_or_clone(page).over),
        other => other,
    }
}
