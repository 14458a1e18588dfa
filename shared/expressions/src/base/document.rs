use std::fmt::{self, Display, Formatter};

use indexmap::IndexMap;

use crate::eval::{Evaluator, Formulas};
use crate::plan::{self, Plan};
use crate::syntax::{Expr, Node, Operator};

/// A document.
#[derive(Debug, Clone, Default)]
pub struct Base {
    /// The filter of all views; all files, if absent.
    pub filters: Option<Filter>,
    /// Formulas by their names.
    pub formulas: Formulas,
    /// The names that columns show, by the property's name as it is written.
    pub display_names: IndexMap<String, String>,
    /// Summaries of its own: expressions over `values`.
    pub summaries: IndexMap<String, Expr>,
    /// The views, the first of which is shown if none is named.
    pub views: Vec<View>,
    /// Keys that no part of Bases reads, each with where it is. Plugins may.
    pub unknown: Vec<String>,
}

/// A view.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// `table`, `cards`, `list`, `map`, or what a plugin shows.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its filter, beside the document's.
    pub filters: Option<Filter>,
    /// Its columns.
    pub order: Vec<Property>,
    /// By what it sorts; `true` from large to small.
    pub sort: Vec<(Property, bool)>,
    /// By what it groups; `true` from large to small.
    pub group_by: Option<(Property, bool)>,
    /// Most rows.
    pub limit: Option<usize>,
    /// The name of a summary for some columns.
    pub summaries: Vec<(Property, String)>,
}

/// Which files are shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Those of which it is true.
    Is(Expr),
    /// Those for which all hold.
    And(Vec<Filter>),
    /// Those for which one holds.
    Or(Vec<Filter>),
    /// Those for which none holds.
    Not(Vec<Filter>),
}

/// The source of a column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Property {
    /// A property of the note.
    Note(String),
    /// A field of the file.
    File(String),
    /// A formula of the document.
    Formula(String),
}

impl Property {
    /// From its name: `note.x` or `x`, `file.x`, `formula.x`.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name.split_once('.') {
            Some(("note", rest)) => Self::Note(rest.to_owned()),
            Some(("file", rest)) => Self::File(rest.to_owned()),
            Some(("formula", rest)) => Self::Formula(rest.to_owned()),
            _ => Self::Note(name.to_owned()),
        }
    }
}

impl Display for Property {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Note(name) => f.write_str(name),
            Self::File(name) => write!(f, "file.{name}"),
            Self::Formula(name) => write!(f, "formula.{name}"),
        }
    }
}

impl Filter {
    /// The filter as one expression.
    #[must_use]
    pub fn expr(&self) -> Expr {
        let all = |filters: &[Filter], operator| {
            let exprs: Vec<_> = filters.iter().map(Filter::expr).collect();
            joined(&exprs, operator)
        };
        match self {
            Self::Is(expr) => expr.clone(),
            Self::And(filters) => all(filters, Operator::And),
            Self::Or(filters) => all(filters, Operator::Or),
            Self::Not(filters) => Expr::new(Node::Not(Box::new(all(filters, Operator::Or))), 0),
        }
    }
}

/// The expressions with an operator between them, nested as little as can be.
fn joined(exprs: &[Expr], operator: Operator) -> Expr {
    match exprs {
        // None of nothing holds, and all of nothing do.
        [] => Expr::new(Node::Boolean(operator == Operator::And), 0),
        [one] => one.clone(),
        _ => {
            let (left, right) = exprs.split_at(exprs.len() / 2);
            Expr::new(Node::Binary(operator, Box::new(joined(left, operator)), Box::new(joined(right, operator))), 0)
        }
    }
}

impl Base {
    /// The view of that name; the first if it has none.
    #[must_use]
    pub fn view(&self, name: Option<&str>) -> Option<&View> {
        match name {
            Some(name) => self.views.iter().find(|view| view.name == name),
            None => self.views.first(),
        }
    }

    /// The part that an index can decide of the filters of a view.
    #[must_use]
    pub fn plan(&self, view: &View, evaluator: &Evaluator<'_>) -> Plan {
        let filters: Vec<_> = self.filters.iter().chain(&view.filters).map(Filter::expr).collect();
        plan::of(&joined(&filters, Operator::And), evaluator)
    }

    /// The name of a column.
    #[must_use]
    pub fn title(&self, property: &Property) -> String {
        let written = property.to_string();
        let note = if let Property::Note(name) = property { Some(format!("note.{name}")) } else { None };
        let named = self.display_names.get(&written).or_else(|| self.display_names.get(&note?));
        named.cloned().unwrap_or_else(|| match property {
            Property::Note(name) | Property::Formula(name) => name.clone(),
            Property::File(name) => format!("file {name}"),
        })
    }
}
