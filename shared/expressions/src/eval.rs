//! The evaluator.
//!
//! # Layout
//! - here: what an evaluation is given, its limits, and the walk over the tree
//! - `access`: names, fields and indices; `files`: the fields of `file`; `operators`: what stands between two values; `compare`: order, equality and truth
//! - `functions`: Dataview's functions; `methods`: Bases' functions; `formulas`: the formulas of a document

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Zoned;

use crate::Dialect;
use crate::error::{Error, Result};
use crate::pages::Pages;
use crate::regexes::Pattern;
use crate::show;
use crate::syntax::{Expr, Node};
use crate::time::read;
use crate::value::{Function, MAX_VALUE_BYTES, Object, Value};

pub use formulas::Formulas;
pub(crate) use formulas::Row as FormulaRow;

mod access;
pub(crate) mod compare;
mod files;
mod formulas;
pub(crate) mod functions;
pub(crate) mod methods;
mod operators;

/// How much an evaluation may do, over all rows together.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most steps: nodes of the tree, and entries of lists that functions look at.
    pub steps: u64,
    /// Most bytes of all values made.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 20_000_000, bytes: 256 * 1024 * 1024 }
    }
}

/// How deep lists and objects may nest.
const MAX_VALUE_DEPTH: usize = 32;
/// How deep expressions, functions and formulas may be in one another while they are evaluated.
const MAX_CALL_DEPTH: u16 = 200;
/// Bytes of a text that are one step more to read.
const BYTES_OF_STEP: usize = 64;
/// Steps between two looks at the time.
const STEPS_OF_LOOK: u64 = 4096;
/// How many regular expressions are kept compiled.
const MAX_PATTERNS: usize = 64;

/// The state shared by all evaluations of a query.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Which language.
    pub dialect: Dialect,
    /// The time, and the zone in which dates without one are.
    pub now: Zoned,
    /// The note that `this` is, and from which links are resolved.
    pub this: Option<Arc<str>>,
    /// How much may be done.
    pub limits: Limits,
}

/// Evaluates expressions. It counts what it does, so use one for all of a query.
pub struct Evaluator<'p> {
    pages: &'p dyn Pages,
    setting: Setting,
    /// Whether the time for it has passed.
    is_late: Box<dyn Fn() -> bool + 'p>,
    steps: Cell<u64>,
    bytes: Cell<u64>,
    depth: Cell<u16>,
    patterns: RefCell<HashMap<(String, String), Arc<Pattern>>>,
}

/// Names that functions gave to values, innermost first.
#[derive(Debug)]
pub(crate) struct Scope {
    name: Arc<str>,
    value: Value,
    outer: Option<Arc<Scope>>,
}

/// A function that the expression wrote, with what its names mean where it stands.
#[derive(Debug)]
pub(crate) struct Closure {
    names: Arc<[Arc<str>]>,
    body: Arc<Expr>,
    row: Value,
    scope: Option<Arc<Scope>>,
}

/// The meaning of the names in an expression.
#[derive(Clone)]
pub(crate) struct Names<'e> {
    /// The row: a page or an object; null if there is none.
    pub(crate) row: Value,
    scope: Option<Arc<Scope>>,
    /// Formulas of the document (Bases).
    pub(crate) formulas: Option<&'e FormulaRow<'e>>,
}

impl Names<'_> {
    pub(crate) fn of(row: Value) -> Self {
        Self { row, scope: None, formulas: None }
    }

    /// With one more name.
    pub(crate) fn with(&self, name: &str, value: Value) -> Self {
        let scope = Scope { name: name.into(), value, outer: self.scope.clone() };
        Self { row: self.row.clone(), scope: Some(Arc::new(scope)), formulas: self.formulas }
    }

    fn local(&self, name: &str) -> Option<&Value> {
        let mut scope = self.scope.as_deref();
        while let Some(here) = scope {
            if &*here.name == name {
                return Some(&here.value);
            }
            scope = here.outer.as_deref();
        }
        None
    }
}

impl<'p> Evaluator<'p> {
    /// An evaluator that has done nothing yet.
    #[must_use]
    pub fn new(pages: &'p dyn Pages, setting: Setting) -> Self {
        Self {
            pages,
            setting,
            is_late: Box::new(|| false),
            steps: Cell::new(0),
            bytes: Cell::new(0),
            depth: Cell::new(0),
            patterns: RefCell::default(),
        }
    }

    /// The evaluator, which fails soon after `is_late`. It asks every few thousand steps.
    #[must_use]
    pub fn until(self, is_late: impl Fn() -> bool + 'p) -> Self {
        Self { is_late: Box::new(is_late), ..self }
    }

    /// The value of `expr` for `row`: a page, an object, or null if there is no row.
    ///
    /// # Errors
    /// [`Kind::Evaluation`](crate::Kind) if it has no value, [`Kind::Limit`](crate::Kind) if it would take too much. The place is that
    /// of the smallest part that is to blame.
    pub fn evaluate(&self, expr: &Expr, row: &Value) -> Result<Value> {
        self.eval(expr, &Names::of(row.clone()))
    }

    /// Steps done so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Bytes made so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    pub(crate) fn pages(&self) -> &'p dyn Pages {
        self.pages
    }

    /// The language.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.setting.dialect
    }

    pub(crate) fn now(&self) -> &Zoned {
        &self.setting.now
    }

    pub(crate) fn this(&self) -> Option<&Arc<str>> {
        self.setting.this.as_ref()
    }

    /// Counts steps.
    pub(crate) fn spend(&self, steps: usize) -> Result<()> {
        let before = self.steps.get();
        let spent = before.saturating_add(steps as u64);
        self.steps.set(spent);
        if spent > self.setting.limits.steps {
            return Err(Error::limit("the query takes too many steps: narrow it by a tag, a folder or a limit"));
        }
        if spent / STEPS_OF_LOOK > before / STEPS_OF_LOOK && (self.is_late)() {
            return Err(Error::limit("the query takes too much time: narrow it by a tag, a folder or a limit"));
        }
        Ok(())
    }

    /// Counts the steps of reading the texts among `values`, which are not short.
    pub(crate) fn read<'v>(&self, values: impl IntoIterator<Item = &'v Value>) -> Result<()> {
        let texts = values.into_iter().filter_map(Value::as_text);
        self.spend(texts.map(|text| text.len() / BYTES_OF_STEP).sum())
    }

    /// The value as text, as the language shows it; its length is counted as steps.
    pub(crate) fn shown(&self, value: &Value) -> Result<String> {
        let text = show::text(value, self.dialect())?;
        self.spend(text.len() / BYTES_OF_STEP)?;
        Ok(text)
    }

    /// Counts bytes before they are made.
    pub(crate) fn make(&self, bytes: usize) -> Result<()> {
        if bytes > MAX_VALUE_BYTES {
            return Err(Error::limit(format!("a value may have {MAX_VALUE_BYTES} bytes")));
        }
        let made = self.bytes.get().saturating_add(bytes as u64);
        self.bytes.set(made);
        if made > self.setting.limits.bytes {
            return Err(Error::limit("the query makes too many bytes: narrow it by a tag, a folder or a limit"));
        }
        Ok(())
    }

    /// The value itself, if it is not too large: texts are counted, and lists and objects may not nest too deep.
    fn made(&self, value: Value) -> Result<Value> {
        match &value {
            Value::Text(text) => self.make(text.len())?,
            Value::List(items) => {
                self.make(items.len().saturating_mul(size_of::<Value>()))?;
                self.check_depth(&value, 0)?;
            }
            Value::Object(entries) => {
                self.make(entries.len().saturating_mul(2 * size_of::<Value>()))?;
                self.check_depth(&value, 0)?;
            }
            _ => {}
        }
        Ok(value)
    }

    fn check_depth(&self, value: &Value, depth: usize) -> Result<()> {
        if depth > MAX_VALUE_DEPTH {
            return Err(Error::limit(format!("lists and objects may nest {MAX_VALUE_DEPTH} deep")));
        }
        let mut check = |inner: &Value| {
            if matches!(inner, Value::List(_) | Value::Object(_)) { self.check_depth(inner, depth + 1) } else { Ok(()) }
        };
        match value {
            Value::List(items) => {
                self.spend(items.len())?;
                items.iter().try_for_each(&mut check)
            }
            Value::Object(entries) => {
                self.spend(entries.len())?;
                entries.values().try_for_each(&mut check)
            }
            _ => Ok(()),
        }
    }

    /// A compiled regular expression.
    pub(crate) fn pattern(&self, source: &str, flags: &str) -> Result<Arc<Pattern>> {
        let key = (source.to_owned(), flags.to_owned());
        if let Some(pattern) = self.patterns.borrow().get(&key) {
            return Ok(pattern.clone());
        }
        let pattern = Arc::new(Pattern::new(source, flags)?);
        let mut patterns = self.patterns.borrow_mut();
        if patterns.len() >= MAX_PATTERNS {
            patterns.clear();
        }
        patterns.insert(key, pattern.clone());
        Ok(pattern)
    }

    /// Calls a function that the expression wrote. Names without an argument mean what they mean around it.
    pub(crate) fn call(&self, function: &Function, arguments: &[Value]) -> Result<Value> {
        let Some(closure) = function.0.downcast_ref::<Closure>() else { return Ok(Value::Null) };
        let mut names = Names { row: closure.row.clone(), scope: closure.scope.clone(), formulas: None };
        for (name, value) in closure.names.iter().zip(arguments) {
            names = names.with(name, value.clone());
        }
        self.eval(&closure.body, &names)
    }

    pub(crate) fn eval(&self, expr: &Expr, names: &Names<'_>) -> Result<Value> {
        self.spend(1)?;
        let depth = self.depth.get();
        if depth >= MAX_CALL_DEPTH {
            return Err(Error::limit("functions and formulas are too deep in one another").at(expr.at));
        }
        self.depth.set(depth + 1);
        let value = self.node(expr, names).map_err(|error| error.at(expr.at));
        self.depth.set(depth);
        value
    }

    fn node(&self, expr: &Expr, names: &Names<'_>) -> Result<Value> {
        Ok(match &expr.node {
            Node::Null => Value::Null,
            Node::Boolean(value) => Value::Boolean(*value),
            Node::Number(number) => Value::Number(*number),
            Node::Text(text) => Value::Text(text.clone()),
            Node::Date(date) => Value::date(date.date(self.now().time_zone())?),
            Node::NamedDate(name) => Value::date(read::named(name, self.now())?),
            Node::Duration(duration) => Value::duration(duration.clone()),
            Node::Link(link) => Value::link(link.clone()),
            Node::Regex(source, flags) => Value::Regex(self.pattern(source, flags)?),
            Node::Variable(name) => self.variable(name, names)?,
            Node::List(items) => {
                let items = items.iter().map(|item| self.eval(item, names)).collect::<Result<_>>()?;
                self.made(Value::list(items))?
            }
            Node::Object(entries) => {
                let entries = entries.iter().map(|(name, value)| Ok((name.clone(), self.eval(value, names)?)));
                self.made(Value::object(entries.collect::<Result<Object>>()?))?
            }
            Node::Not(inner) => Value::Boolean(!self.truth(&self.eval(inner, names)?)),
            Node::Negative(inner) => self.negative(&self.eval(inner, names)?)?,
            Node::Binary(operator, left, right) => {
                let left = self.eval(left, names)?;
                if let Some(decided) = self.decided(*operator, &left) {
                    return Ok(decided);
                }
                let right = self.eval(right, names)?;
                self.made(self.operate(*operator, &left, &right)?)?
            }
            Node::Index(object, index) => self.index(object, index, names)?,
            Node::Call(function, arguments) => self.made(self.invoke(function, arguments, names)?)?,
            Node::Lambda(parameters, body) => Value::Function(Function(Arc::new(Closure {
                names: parameters.clone(),
                body: body.clone(),
                row: names.row.clone(),
                scope: names.scope.clone(),
            }))),
        })
    }

    fn invoke(&self, function: &Expr, arguments: &[Expr], names: &Names<'_>) -> Result<Value> {
        if self.dialect() == Dialect::Bases {
            return methods::invoke(self, function, arguments, names);
        }
        let name = match &function.node {
            Node::Variable(name) => Value::Text(name.clone()),
            _ => self.eval(function, names)?,
        };
        let arguments = arguments.iter().map(|argument| self.eval(argument, names)).collect::<Result<Vec<_>>>()?;
        match &name {
            Value::Function(closure) => self.call(closure, &arguments),
            Value::Text(name) => match functions::get(name) {
                Some(function) => {
                    self.read(&arguments)?;
                    function(self, &arguments)
                }
                None => Err(Error::evaluation(format!("there is no function \"{name}\""))),
            },
            other => Err(Error::evaluation(format!("a value of type {} is not a function", other.type_name()))),
        }
    }
}
