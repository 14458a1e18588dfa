//! When files were made, where nobody knows it: a query that chooses, sorts or groups by it is refused, and one that only shows it
//! is told so.

use std::collections::HashSet;

use crate::base::{Base, Filter, Property, View};
use crate::dql::{Header, Query, Step};
use crate::error::{Error, Result};
use crate::eval::Evaluator;
use crate::eval::methods::is_file;
use crate::syntax::{Expr, Node};

const REFUSED: &str = "nothing can be chosen, sorted or grouped by `file.ctime` or `file.cday`, since times of creation are not kept: use `file.mtime`, or a property such as `created`";
const EMPTY: &str = "`file.ctime` and `file.cday` are empty, since times of creation are not kept: use `file.mtime`, or a property such as `created`";

/// Names that stand for a time of creation: of formulas, or of `FLATTEN`.
type Names<'n> = HashSet<&'n str>;

/// Checks a query; the warning, if it only shows a time of creation.
///
/// # Errors
/// If it needs one.
pub(crate) fn check_query(query: &Query, evaluator: &Evaluator<'_>) -> Result<Option<String>> {
    if evaluator.pages().knows_created() {
        return Ok(None);
    }
    let mut names = Names::new();
    let found = |expr: &Expr, names: &Names<'_>| found(expr, &|node| is_flattened(node, names));
    for step in &query.steps {
        let needed: Vec<&Expr> = match step {
            Step::Where(expr) | Step::Limit(expr) => vec![expr],
            Step::Sort(by) => by.iter().map(|(expr, _)| expr).collect(),
            Step::Group(column) => vec![&column.value],
            Step::Flatten(column) => {
                if found(&column.value, &names).is_some() {
                    names.insert(&column.name);
                }
                Vec::new()
            }
        };
        if let Some(at) = needed.into_iter().find_map(|expr| found(expr, &names)) {
            return Err(Error::unsupported(REFUSED).at(at));
        }
    }
    let shown: Vec<&Expr> = match &query.header {
        Header::List { value, .. } => value.iter().collect(),
        Header::Table { columns, .. } => columns.iter().map(|column| &column.value).collect(),
        Header::Task => Vec::new(),
        Header::Calendar(column) => vec![&column.value],
    };
    let is_shown = !names.is_empty() || shown.into_iter().any(|expr| found(expr, &names).is_some());
    Ok(is_shown.then(|| EMPTY.to_owned()))
}

/// Checks a view of a base; the warning, if it only shows a time of creation.
///
/// # Errors
/// If it needs one.
pub(crate) fn check_view(base: &Base, view: &View, evaluator: &Evaluator<'_>) -> Result<Option<String>> {
    if evaluator.pages().knows_created() {
        return Ok(None);
    }
    let mut names = Names::new();
    let found = |expr: &Expr, names: &Names<'_>| found(expr, &|node| is_formula(node, names)).is_some();
    // One that needs another may stand before it.
    loop {
        let before = names.len();
        let more: Vec<&str> =
            base.formulas.iter().filter(|(_, formula)| found(formula, &names)).map(|(name, _)| name).collect();
        names.extend(more);
        if names.len() == before {
            break;
        }
    }
    let is = |property: &Property| match property {
        Property::File(name) => is_field(name),
        Property::Formula(name) => names.contains(name.as_str()),
        Property::Note(_) => false,
    };
    let mut filters = base.filters.iter().chain(&view.filters).map(Filter::expr);
    let mut directed = view.sort.iter().chain(&view.group_by);
    if filters.any(|filter| found(&filter, &names)) || directed.any(|(property, _)| is(property)) {
        return Err(Error::unsupported(REFUSED));
    }
    let is_shown = view.order.iter().chain(view.summaries.iter().map(|(property, _)| property)).any(is);
    Ok(is_shown.then(|| EMPTY.to_owned()))
}

fn is_field(name: &str) -> bool {
    matches!(name, "ctime" | "cday")
}

/// Where the first part of `expr` begins that is a time of creation, or that `stands_for` one.
fn found(expr: &Expr, stands_for: &dyn Fn(&Node) -> bool) -> Option<u32> {
    let mut at = None;
    expr.walk(&mut |part| {
        if at.is_none() && (is_created(&part.node) || stands_for(&part.node)) {
            at = Some(part.at);
        }
    });
    at
}

/// Whether it is `file.ctime`, or that of another file.
fn is_created(node: &Node) -> bool {
    let Node::Index(object, name) = node else { return false };
    name.as_text().is_some_and(is_field) && is_file(object)
}

/// Whether it is one of the names of `FLATTEN`.
fn is_flattened(node: &Node, names: &Names<'_>) -> bool {
    matches!(node, Node::Variable(name) if names.contains(&**name))
}

/// Whether it is one of the formulas.
fn is_formula(node: &Node, names: &Names<'_>) -> bool {
    let Node::Index(object, name) = node else { return false };
    object.as_name() == Some("formula") && name.as_text().is_some_and(|name| names.contains(name))
}
