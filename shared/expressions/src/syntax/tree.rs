use std::sync::Arc;

use crate::time::{Duration, read::Written};
use crate::value::Link;

/// An expression, and where it begins in its text. Two are equal if they say the same, wherever they stand.
#[derive(Debug, Clone)]
pub struct Expr {
    /// The node.
    pub node: Node,
    /// Where it begins, in bytes.
    pub at: u32,
    /// How deep it nests.
    pub(crate) depth: u16,
}

/// A node of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// `null`
    Null,
    /// `true`
    Boolean(bool),
    /// `1.5`; never below zero in Bases, where `-1` is a [`Negative`](Self::Negative).
    Number(f64),
    /// `"text"`
    Text(Arc<str>),
    /// `date(2021-04-18)` (Dataview)
    Date(Written),
    /// `date(today)` (Dataview)
    NamedDate(&'static str),
    /// `dur(1 day)` (Dataview)
    Duration(Duration),
    /// `[[link]]` (Dataview)
    Link(Link),
    /// `/pattern/flags` (Bases)
    Regex(Arc<str>, Arc<str>),
    /// A name.
    Variable(Arc<str>),
    /// `[1, 2]`
    List(Vec<Expr>),
    /// `{ a: 1 }`
    Object(Vec<(Arc<str>, Expr)>),
    /// `!a`
    Not(Box<Expr>),
    /// `-a` (Bases)
    Negative(Box<Expr>),
    /// `a + b`
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `a.b`, `a["b"]`, `a[0]`
    Index(Box<Expr>, Box<Expr>),
    /// `f(a, b)`; the function of a method is an [`Index`](Self::Index).
    Call(Box<Expr>, Vec<Expr>),
    /// `(a, b) => a + b` (Dataview)
    Lambda(Arc<[Arc<str>]>, Arc<Expr>),
}

/// An operator between two expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they say it themselves")]
pub enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
}

impl Operator {
    /// How it is written in Dataview.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Or => "|",
            Self::And => "&",
            Self::Equal => "=",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
            Self::Modulo => "%",
        }
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl Expr {
    /// An expression at that place.
    #[must_use]
    pub fn new(node: Node, at: u32) -> Self {
        let below = |expr: &Expr| expr.depth;
        let depth = match &node {
            Node::List(items) => items.iter().map(below).max().unwrap_or(0),
            Node::Object(entries) => entries.iter().map(|(_, value)| value.depth).max().unwrap_or(0),
            Node::Not(inner) | Node::Negative(inner) => inner.depth,
            Node::Binary(_, left, right) => left.depth.max(right.depth),
            Node::Index(object, index) => object.depth.max(index.depth),
            Node::Call(function, arguments) => arguments.iter().map(below).fold(function.depth, u16::max),
            Node::Lambda(_, body) => body.depth,
            _ => 0,
        };
        Self { node, at, depth: depth.saturating_add(1) }
    }

    /// The name, if the expression is no more than a name.
    #[must_use]
    pub fn as_name(&self) -> Option<&str> {
        if let Node::Variable(name) = &self.node { Some(name) } else { None }
    }

    /// The text, if the expression is a text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Node::Text(text) = &self.node { Some(text) } else { None }
    }

    /// Calls `visit` with this expression and all in it.
    pub fn walk<'e>(&'e self, visit: &mut impl FnMut(&'e Expr)) {
        visit(self);
        match &self.node {
            Node::List(items) => items.iter().for_each(|item| item.walk(visit)),
            Node::Object(entries) => entries.iter().for_each(|(_, value)| value.walk(visit)),
            Node::Not(inner) | Node::Negative(inner) => inner.walk(visit),
            Node::Binary(_, left, right) => {
                left.walk(visit);
                right.walk(visit);
            }
            Node::Index(object, index) => {
                object.walk(visit);
                index.walk(visit);
            }
            Node::Call(function, arguments) => {
                function.walk(visit);
                arguments.iter().for_each(|argument| argument.walk(visit));
            }
            Node::Lambda(_, body) => body.walk(visit),
            _ => {}
        }
    }
}
