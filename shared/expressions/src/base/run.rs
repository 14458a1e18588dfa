use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use super::document::{Base, Filter, Property, View};
use super::summary;
use crate::error::{Error, Result};
use crate::eval::functions::merge_sort;
use crate::eval::{Evaluator, FormulaRow as Formulas, Names};
use crate::value::Value;

/// The result of a view.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows in groups; one without a key, if the view does not group.
    pub groups: Vec<Group>,
    /// How many files pass the filters, whatever the limit.
    pub total: usize,
    /// The summaries below the columns.
    pub summaries: Vec<(Property, String, std::result::Result<Value, String>)>,
    /// Errors in filters, for the first few files, which are left out; before them what is empty in all rows.
    pub warnings: Vec<String>,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    /// The source.
    pub property: Property,
    /// The name.
    pub title: String,
}

/// Rows with one value of what the view groups by.
#[derive(Debug, Clone)]
pub struct Group {
    /// That value.
    pub key: Option<Value>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A file in a view.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its path.
    pub path: Arc<str>,
    /// A cell for each column: its value, or why it has none.
    pub cells: Vec<std::result::Result<Value, String>>,
}

/// Most warnings that are kept.
const MAX_WARNINGS: usize = 5;

/// A file that is being looked at, with the values of its formulas so far.
struct Candidate<'b> {
    path: Arc<str>,
    page: Value,
    formulas: Formulas<'b>,
}

/// Shows a view of the files that may be rows, in their order. `candidates` may be all paths, or those that an index found by
/// [`Base::plan`]: files that do not belong are left out here.
///
/// # Errors
/// If all of it takes too much, or the view needs what the pages do not know. What goes wrong for one file is a warning or is in its cell.
pub fn run(base: &Base, view: &View, evaluator: &Evaluator<'_>, candidates: &[Arc<str>]) -> Result<Ran> {
    let mut warnings: Vec<String> = crate::created::check_view(base, view, evaluator)?.into_iter().collect();
    let mut kept: Vec<Rc<Candidate<'_>>> = Vec::new();
    for path in candidates {
        evaluator.spend(1)?;
        let candidate =
            Candidate { path: path.clone(), page: Value::page(path.clone()), formulas: Formulas::new(&base.formulas) };
        match passes(base, view, evaluator, &candidate) {
            Ok(true) => kept.push(Rc::new(candidate)),
            Ok(false) => {}
            Err(error) if error.kind == crate::Kind::Limit => return Err(error),
            Err(error) if warnings.len() < MAX_WARNINGS => warnings.push(format!("a filter fails for {path}: {error}")),
            Err(_) => {}
        }
    }
    let total = kept.len();
    kept = sorted(kept, &view.sort, evaluator)?;
    kept.truncate(view.limit.unwrap_or(usize::MAX));
    let columns: Vec<_> = columns(view);
    let mut values: Vec<Vec<Value>> = vec![Vec::new(); view.summaries.len()];
    let mut rows = Vec::new();
    for candidate in &kept {
        let cell = |property: &Property| match value(property, evaluator, candidate) {
            Err(error) if error.kind == crate::Kind::Limit => Err(error),
            value => Ok(value.map_err(|error| error.message)),
        };
        let cells = columns.iter().map(cell).collect::<Result<Vec<_>>>()?;
        for ((property, _), values) in view.summaries.iter().zip(&mut values) {
            values.push(cell(property)?.unwrap_or_default());
        }
        let key = match &view.group_by {
            Some((property, _)) => Some(cell(property)?.unwrap_or_default()),
            None => None,
        };
        rows.push((key, Row { path: candidate.path.clone(), cells }));
    }
    let summaries = view.summaries.iter().zip(values).map(|((property, name), values)| {
        let value = match summary::of(base, name, &values, evaluator) {
            Err(error) if error.kind == crate::Kind::Limit => return Err(error),
            value => value.map_err(|error| error.message),
        };
        Ok((property.clone(), name.clone(), value))
    });
    let summaries = summaries.collect::<Result<_>>()?;
    let groups = groups(rows, view.group_by.as_ref().is_some_and(|(_, down)| *down), evaluator)?;
    let columns = columns.into_iter().map(|property| Column { title: base.title(&property), property }).collect();
    Ok(Ran { columns, groups, total, summaries, warnings })
}

/// The columns; a view that names none shows the file.
fn columns(view: &View) -> Vec<Property> {
    if view.order.is_empty() { vec![Property::File("name".to_owned())] } else { view.order.clone() }
}

fn names<'c>(candidate: &'c Candidate<'_>) -> Names<'c> {
    let mut names = Names::of(candidate.page.clone());
    names.formulas = Some(&candidate.formulas);
    names
}

fn passes(base: &Base, view: &View, evaluator: &Evaluator<'_>, candidate: &Candidate<'_>) -> Result<bool> {
    for filter in base.filters.iter().chain(&view.filters) {
        if !holds(filter, evaluator, candidate)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn holds(filter: &Filter, evaluator: &Evaluator<'_>, candidate: &Candidate<'_>) -> Result<bool> {
    let (filters, wanted) = match filter {
        Filter::Is(expr) => return Ok(evaluator.truth(&evaluator.eval(expr, &names(candidate))?)),
        Filter::And(filters) => (filters, false),
        Filter::Or(filters) | Filter::Not(filters) => (filters, true),
    };
    let mut found = false;
    for filter in filters {
        if holds(filter, evaluator, candidate)? == wanted {
            found = true;
            break;
        }
    }
    Ok(match filter {
        Filter::Or(_) => found,
        _ => !found,
    })
}

fn value(property: &Property, evaluator: &Evaluator<'_>, candidate: &Candidate<'_>) -> Result<Value> {
    match property {
        Property::Note(name) => evaluator.member(&candidate.page, name),
        Property::File(name) => evaluator.member(&Value::File(candidate.path.clone()), name),
        Property::Formula(name) if candidate.formulas.has(name) => {
            candidate.formulas.value(evaluator, name, &names(candidate))
        }
        Property::Formula(name) => Err(Error::evaluation(format!("there is no formula \"{name}\""))),
    }
}

/// The order in one direction or the other; what is empty comes last in both.
fn directed(evaluator: &Evaluator<'_>, left: &Value, right: &Value, down: bool) -> Result<Ordering> {
    let order = evaluator.sorted(left, right)?;
    Ok(if down && !left.is_null() && !right.is_null() { order.reverse() } else { order })
}

fn sorted<'b>(
    candidates: Vec<Rc<Candidate<'b>>>,
    by: &[(Property, bool)],
    evaluator: &Evaluator<'_>,
) -> Result<Vec<Rc<Candidate<'b>>>> {
    let mut keyed = Vec::new();
    for candidate in candidates {
        let keys = by.iter().map(|(property, _)| match value(property, evaluator, &candidate) {
            Err(error) if error.kind == crate::Kind::Limit => Err(error),
            value => Ok(value.unwrap_or_default()),
        });
        keyed.push((keys.collect::<Result<Vec<_>>>()?, candidate));
    }
    let compare = &mut |left: &(Vec<Value>, Rc<Candidate<'b>>), right: &(Vec<Value>, Rc<Candidate<'b>>)| {
        evaluator.spend(1)?;
        for ((_, down), (left, right)) in by.iter().zip(left.0.iter().zip(&right.0)) {
            let order = directed(evaluator, left, right, *down)?;
            if order.is_ne() {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    };
    Ok(merge_sort(keyed, compare)?.into_iter().map(|(_, candidate)| candidate).collect())
}

fn groups(rows: Vec<(Option<Value>, Row)>, down: bool, evaluator: &Evaluator<'_>) -> Result<Vec<Group>> {
    let compare = &mut |left: &(Option<Value>, Row), right: &(Option<Value>, Row)| {
        evaluator.spend(1)?;
        match (&left.0, &right.0) {
            (Some(left), Some(right)) => directed(evaluator, left, right, down),
            _ => Ok(Ordering::Equal),
        }
    };
    let mut groups: Vec<Group> = Vec::new();
    for (key, row) in merge_sort(rows, compare)? {
        match groups.last_mut() {
            Some(group) if same(evaluator, group.key.as_ref(), key.as_ref())? => group.rows.push(row),
            _ => groups.push(Group { key, rows: vec![row] }),
        }
    }
    Ok(groups)
}

fn same(evaluator: &Evaluator<'_>, left: Option<&Value>, right: Option<&Value>) -> Result<bool> {
    match (left, right) {
        (Some(left), Some(right)) => evaluator.equal(left, right),
        (left, right) => Ok(left.is_none() && right.is_none()),
    }
}
