use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use crate::error::{Error, Result};
use crate::syntax::{Expr, Node};
use crate::value::Value;

use super::{Evaluator, Names};

/// The formulas of a document, by name. None needs itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Formulas {
    formulas: IndexMap<Arc<str>, Expr>,
}

/// The formulas' values for one row, each found when it is asked for first.
pub(crate) struct Row<'f> {
    formulas: &'f Formulas,
    values: RefCell<HashMap<Arc<str>, Result<Value>>>,
}

impl Formulas {
    /// Those formulas.
    ///
    /// # Errors
    /// If one needs itself, straight away or through others. The message names the way.
    pub fn new(formulas: IndexMap<Arc<str>, Expr>) -> Result<Self> {
        let formulas = Self { formulas };
        let mut done = HashSet::new();
        for name in formulas.formulas.keys() {
            formulas.check(name, &mut Vec::new(), &mut done)?;
        }
        Ok(formulas)
    }

    /// The formula of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Expr> {
        self.formulas.get(name)
    }

    /// All names and formulas, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Expr)> {
        self.formulas.iter().map(|(name, formula)| (&**name, formula))
    }

    fn check<'f>(&'f self, name: &'f str, way: &mut Vec<&'f str>, done: &mut HashSet<&'f str>) -> Result<()> {
        if done.contains(name) {
            return Ok(());
        }
        if let Some(start) = way.iter().position(|step| *step == name) {
            let steps = way.get(start..).unwrap_or_default().join(" → ");
            return Err(Error::evaluation(format!("the formulas need one another in a circle: {steps} → {name}")));
        }
        if way.len() >= 100 {
            return Err(Error::limit("formulas may need one another in 100 steps"));
        }
        let Some((_, formula)) = self.formulas.get_key_value(name) else { return Ok(()) };
        way.push(name);
        let mut needs = Vec::new();
        formula.walk(&mut |expr| {
            if let Node::Index(object, index) = &expr.node
                && object.as_name() == Some("formula")
                && let Some(needed) = index.as_text()
            {
                needs.push(needed);
            }
        });
        for needed in needs {
            self.check(needed, way, done)?;
        }
        way.pop();
        done.insert(name);
        Ok(())
    }
}

impl<'f> Row<'f> {
    pub(crate) fn new(formulas: &'f Formulas) -> Self {
        Self { formulas, values: RefCell::default() }
    }

    /// Whether there is a formula of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.formulas.get(name).is_some()
    }

    /// The value of a formula; null if there is none of that name.
    pub(crate) fn value(&self, evaluator: &Evaluator<'_>, name: &str, names: &Names<'_>) -> Result<Value> {
        if let Some(value) = self.values.borrow().get(name) {
            return value.clone();
        }
        let Some((name, formula)) = self.formulas.formulas.get_key_value(name) else { return Ok(Value::Null) };
        // A name that is computed may lead here again.
        let circle = Error::evaluation(format!("the formula \"{name}\" needs itself"));
        self.values.borrow_mut().insert(name.clone(), Err(circle));
        let own = Names { row: names.row.clone(), scope: None, formulas: names.formulas };
        let value = evaluator.eval(formula, &own);
        self.values.borrow_mut().insert(name.clone(), value.clone());
        value
    }
}
