//! The part of a filter that an index can decide: clauses that must all hold, each of tests of which one must hold, and the rest to be
//! evaluated. A row passes the filter just when it passes all clauses, and the rest is true of it.

mod test;

use std::sync::Arc;

use crate::Dialect;
use crate::dql::{Header, Query, Source, Step, file_named};
use crate::error::Result;
use crate::eval::Evaluator;
pub use crate::eval::methods::has_tag;
pub use crate::plan::test::{FileText, Test};
use crate::syntax::{Expr, Node, Operator};
use crate::value::{Link, Value};

/// Most tests of a clause; a filter with more is evaluated.
const MAX_TESTS: usize = 32;

/// Tests of which one must hold; each may be turned round.
pub type Clause = Vec<(bool, Test)>;

/// The clauses that an index decides, and the rest, which is evaluated for each row.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// All must hold. A test with `false` must not hold.
    pub clauses: Vec<Clause>,
    /// All must be true.
    pub rest: Vec<Expr>,
}

/// The part that an index can decide of `filter`, an expression of the evaluator's language.
#[must_use]
pub fn of(filter: &Expr, evaluator: &Evaluator<'_>) -> Plan {
    let mut plan = Plan::default();
    plan.add(filter, true, evaluator);
    plan
}

/// The part that an index can decide of a source: most sources whole.
#[must_use]
pub fn of_source(source: &Source, evaluator: &Evaluator<'_>) -> Plan {
    let mut plan = Plan::default();
    plan.add_source(source, evaluator);
    plan
}

/// The part that an index can decide of the pages of a query, so that no other row is needed: its source, and of its first conditions those that
/// cannot fail. The rest is left empty, since running the query looks at all of it again.
#[must_use]
pub fn of_query(query: &Query, evaluator: &Evaluator<'_>) -> Plan {
    let mut plan = query.source.as_ref().map(|source| of_source(source, evaluator)).unwrap_or_default();
    if query.header == Header::Task {
        // A row of a task has fields of its own, so that no condition is about the note alone.
        plan.clauses.push(vec![(true, Test::Tasks)]);
    } else {
        for step in &query.steps {
            let Step::Where(filter) = step else { break };
            let of_filter = of(filter, evaluator);
            // A row that fails is told, so it must be among the rows.
            if !of_filter.rest.iter().all(never_fails) {
                break;
            }
            plan.clauses.extend(of_filter.clauses);
        }
    }
    plan
}

/// Whether a query may ask for list items or tasks: a text or a name says so, or what it asks for is only known when it runs.
#[must_use]
pub fn reads_lists(query: &Query) -> bool {
    query.header == Header::Task || query.expressions().into_iter().any(expr_reads_lists)
}

/// Whether an expression may ask for list items or tasks.
#[must_use]
pub fn expr_reads_lists(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |expr| {
        found |= match &expr.node {
            Node::Text(text) | Node::Variable(text) => matches!(&**text, "lists" | "tasks"),
            Node::Index(_, key) => !matches!(key.node, Node::Text(_) | Node::Number(_) | Node::Variable(_)),
            Node::Call(function, arguments) => {
                function.as_name() == Some("extract") && arguments.iter().skip(1).any(|name| name.as_text().is_none())
            }
            _ => false,
        };
    });
    found
}

/// Whether an expression of Dataview has a value for every page.
pub(crate) fn never_fails(expr: &Expr) -> bool {
    match &expr.node {
        Node::Null | Node::Boolean(_) | Node::Number(_) | Node::Text(_) | Node::Variable(_) | Node::Link(_) => true,
        Node::Not(inner) => never_fails(inner),
        Node::Index(..) => file_member(expr).is_some(),
        Node::Call(..) => searched(expr).is_some(),
        Node::Binary(operator, left, right) => {
            let is_total = matches!(operator, Operator::And | Operator::Or) || turned(*operator).is_some();
            is_total && never_fails(left) && never_fails(right)
        }
        _ => false,
    }
}

impl Plan {
    /// Whether all clauses hold for the file.
    ///
    /// # Errors
    /// As [`Test::holds`].
    pub fn holds(&self, evaluator: &Evaluator<'_>, path: &Arc<str>) -> Result<bool> {
        for clause in &self.clauses {
            let mut any = false;
            for (wanted, test) in clause {
                any = any || test.holds(evaluator, path)? == *wanted;
            }
            if !any {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds an expression, or (`wanted` is false) that it is not true.
    fn add(&mut self, filter: &Expr, wanted: bool, evaluator: &Evaluator<'_>) {
        match (&filter.node, wanted) {
            (Node::Binary(Operator::And, left, right), true) | (Node::Binary(Operator::Or, left, right), false) => {
                self.add(left, wanted, evaluator);
                self.add(right, wanted, evaluator);
            }
            (Node::Not(inner), _) => self.add(inner, !wanted, evaluator),
            _ => {
                let mut clause = Clause::new();
                if literals(filter, wanted, evaluator, &mut clause) {
                    self.clauses.push(clause);
                } else if wanted {
                    self.clauses.extend(needed(filter, evaluator).map(|name| vec![(true, Test::Has(name))]));
                    self.rest.push(filter.clone());
                } else {
                    self.rest.push(Expr::new(Node::Not(Box::new(filter.clone())), filter.at));
                }
            }
        }
    }

    fn add_source(&mut self, source: &Source, evaluator: &Evaluator<'_>) {
        match source {
            Source::And(left, right) => {
                self.add_source(left, evaluator);
                self.add_source(right, evaluator);
            }
            _ => {
                let mut clause = Clause::new();
                if source_literals(source, true, evaluator, &mut clause) {
                    self.clauses.push(clause);
                }
            }
        }
    }
}

fn source_literals(source: &Source, wanted: bool, evaluator: &Evaluator<'_>, clause: &mut Clause) -> bool {
    match source {
        Source::Or(left, right) if wanted => {
            source_literals(left, wanted, evaluator, clause) && source_literals(right, wanted, evaluator, clause)
        }
        Source::And(left, right) if !wanted => {
            source_literals(left, wanted, evaluator, clause) && source_literals(right, wanted, evaluator, clause)
        }
        Source::Not(inner) => source_literals(inner, !wanted, evaluator, clause),
        _ => match source_test(source, evaluator) {
            Some(test) if clause.len() < MAX_TESTS => {
                clause.push((wanted, test));
                true
            }
            _ => false,
        },
    }
}

/// The test that a source is, if it is only one.
fn source_test(source: &Source, evaluator: &Evaluator<'_>) -> Option<Test> {
    Some(match source {
        Source::Tag(tag) => Test::Tag(tag.clone()),
        Source::Incoming(link) if link.is_empty() => Test::LinksTo(evaluator.this()?.clone()),
        Source::Incoming(link) => Test::LinksTo(evaluator.resolved(link).unwrap_or_else(|| link.as_str().into())),
        Source::Folder(folder) => match file_named(folder, evaluator) {
            Some(file) => Test::Path(file),
            None => Test::Folder(folder.clone()),
        },
        _ => return None,
    })
}

/// Adds the tests of which one must hold; `false` if there is anything in the expression that is no test.
fn literals(expr: &Expr, wanted: bool, evaluator: &Evaluator<'_>, clause: &mut Clause) -> bool {
    if clause.len() >= MAX_TESTS {
        return false;
    }
    match (&expr.node, wanted) {
        (Node::Binary(Operator::Or, left, right), true) | (Node::Binary(Operator::And, left, right), false) => {
            literals(left, wanted, evaluator, clause) && literals(right, wanted, evaluator, clause)
        }
        (Node::Not(inner), _) => literals(inner, !wanted, evaluator, clause),
        (Node::Call(function, arguments), true) if tag_names(function, arguments, evaluator).is_some() => {
            let names = tag_names(function, arguments, evaluator).unwrap_or_default();
            clause.extend(names.into_iter().map(|name| (true, Test::Tag(name))));
            true
        }
        _ => match test(expr, evaluator) {
            Some(test) => {
                clause.push((wanted, test));
                true
            }
            None => false,
        },
    }
}

/// The tags of `file.hasTag("a", "b")`.
fn tag_names(function: &Expr, arguments: &[Expr], evaluator: &Evaluator<'_>) -> Option<Vec<String>> {
    if evaluator.dialect() != Dialect::Bases || file_member(function)? != "hasTag" || arguments.is_empty() {
        return None;
    }
    arguments.iter().map(|argument| argument.as_text().map(str::to_owned)).collect()
}

/// `x` of `file.x`
fn file_member(expr: &Expr) -> Option<&str> {
    let Node::Index(object, name) = &expr.node else { return None };
    if object.as_name()? == "file" { name.as_text() } else { None }
}

fn test(expr: &Expr, evaluator: &Evaluator<'_>) -> Option<Test> {
    match &expr.node {
        Node::Binary(operator, left, right) => {
            compared(*operator, left, right, evaluator).or_else(|| compared(turned(*operator)?, right, left, evaluator))
        }
        Node::Call(function, arguments) if evaluator.dialect() == Dialect::Bases => {
            let [argument] = arguments.as_slice() else { return None };
            match (file_member(function)?, argument.as_text()) {
                ("hasTag", Some(name)) => Some(Test::Tag(name.to_owned())),
                ("inFolder", Some(folder)) => Some(Test::Folder(folder.to_owned())),
                ("hasProperty", Some(name)) => Some(Test::Has(name.into())),
                ("hasLink", Some(path)) => {
                    let path = path
                        .strip_prefix("[[")
                        .and_then(|path| path.strip_suffix("]]"))
                        .map_or_else(|| path.into(), |inner| Link::inner(inner).path);
                    Some(Test::LinksTo(evaluator.resolved(&path).unwrap_or(path)))
                }
                ("hasLink", None) if file_member_of_this(argument) => Some(Test::LinksTo(evaluator.this()?.clone())),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A property without which the expression is not true.
fn needed(expr: &Expr, evaluator: &Evaluator<'_>) -> Option<Arc<str>> {
    let name = match &expr.node {
        Node::Variable(_) => expr,
        Node::Call(..) if evaluator.dialect() == Dialect::Dataview => searched(expr)?,
        _ => return None,
    };
    property(name, evaluator)
}

/// `x` of Dataview's `contains(x, "text")`, which fails for no value, and is false for nothing.
fn searched(call: &Expr) -> Option<&Expr> {
    let Node::Call(function, arguments) = &call.node else { return None };
    let [name, sought] = arguments.as_slice() else { return None };
    let is_known = matches!(function.as_name()?, "contains" | "icontains" | "econtains");
    let are_plain = matches!(name.node, Node::Variable(_)) && matches!(sought.node, Node::Text(_) | Node::Number(_));
    (is_known && are_plain).then_some(name)
}

/// Whether it is `this` or `this.file`.
fn file_member_of_this(expr: &Expr) -> bool {
    match &expr.node {
        Node::Variable(name) => &**name == "this",
        Node::Index(object, name) => object.as_name() == Some("this") && name.as_text() == Some("file"),
        _ => false,
    }
}

/// The operator with its sides changed.
fn turned(operator: Operator) -> Option<Operator> {
    Some(match operator {
        Operator::Equal | Operator::Unequal => operator,
        Operator::Less => Operator::Greater,
        Operator::Greater => Operator::Less,
        Operator::AtMost => Operator::AtLeast,
        Operator::AtLeast => Operator::AtMost,
        _ => return None,
    })
}

fn compared(operator: Operator, name: &Expr, value: &Expr, evaluator: &Evaluator<'_>) -> Option<Test> {
    turned(operator)?;
    let value = match &value.node {
        Node::Text(text) => Value::Text(text.clone()),
        Node::Number(number) => Value::Number(*number),
        Node::Boolean(value) => Value::Boolean(*value),
        Node::Negative(inner) => match inner.node {
            Node::Number(number) => Value::Number(-number),
            _ => return None,
        },
        _ => return None,
    };
    if let Some(field) = file_member(name) {
        return match (operator, FileText::of(field)?, value) {
            (Operator::Equal, field, Value::Text(text)) => Some(Test::File(field, text)),
            _ => None,
        };
    }
    Some(Test::Property(property(name, evaluator)?, operator, value))
}

/// The property that an expression is.
fn property(name: &Expr, evaluator: &Evaluator<'_>) -> Option<Arc<str>> {
    let reserved = |name: &str| match evaluator.dialect() {
        Dialect::Dataview => matches!(name, "file" | "this" | "row"),
        Dialect::Bases => matches!(name, "file" | "this" | "note" | "formula"),
    };
    Some(match &name.node {
        Node::Variable(name) if !reserved(name) => name.clone(),
        Node::Index(object, name) if evaluator.dialect() == Dialect::Bases && object.as_name() == Some("note") => {
            let name = name.as_text()?;
            if matches!(name, "file" | "note") {
                return None;
            }
            name.into()
        }
        _ => return None,
    })
}
