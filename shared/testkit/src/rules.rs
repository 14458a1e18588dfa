//! The rules of which requests fail, and how.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::request::Op;

/// Rules for faults; the first matching rule that is not used up decides.
#[derive(Debug)]
pub(crate) struct Rules<F>(Mutex<Vec<Rule<F>>>);

#[derive(Debug)]
struct Rule<F> {
    op: Op,
    key: String,
    script: VecDeque<Option<F>>,
    /// The fault after the script.
    after: Option<F>,
}

impl<F> Default for Rules<F> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<F: Copy> Rules<F> {
    /// All requests of kind `op` whose key contains `key` get `fault`.
    pub(crate) fn always(&self, op: Op, key: &str, fault: F) {
        self.add(op, key, VecDeque::new(), Some(fault));
    }

    /// The next requests of kind `op` whose key contains `key` follow `script`, one after the other.
    pub(crate) fn script(&self, op: Op, key: &str, script: impl IntoIterator<Item = Option<F>>) {
        self.add(op, key, script.into_iter().collect(), None);
    }

    /// Removes all rules.
    pub(crate) fn clear(&self) {
        self.rules().clear();
    }

    /// The fault of a request, if any.
    pub(crate) fn next(&self, op: Op, key: &str) -> Option<F> {
        let mut rules = self.rules();
        let applies = |rule: &&mut Rule<F>| rule.op == op && key.contains(&rule.key);
        let live = |rule: &&mut Rule<F>| !rule.script.is_empty() || rule.after.is_some();
        let rule = rules.iter_mut().filter(applies).find(live)?;
        rule.script.pop_front().unwrap_or(rule.after)
    }

    fn add(&self, op: Op, key: &str, script: VecDeque<Option<F>>, after: Option<F>) {
        self.rules().push(Rule { op, key: key.to_owned(), script, after });
    }

    fn rules(&self) -> MutexGuard<'_, Vec<Rule<F>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
