//! Queries of tasks in the language of the Tasks plugin: filters, boolean combinations, sorting, groups and a limit. This module parses
//! and evaluates queries itself, without the plugin.
//!
//! Instructions that need scripts, and presets, placeholders and urgency, are refused. Layout instructions are accepted and ignored.
//!
//! # Layout
//! - `lines`: the instructions of a query; `boolean`: combinations of filters; `filter`: single ones; `text`, `dates`: what they compare with
//! - `order`: how tasks are sorted and grouped

mod boolean;
mod dates;
mod filter;
mod lines;
mod order;
#[cfg(test)]
mod tests;
mod text;

use std::cmp::Ordering;

use jiff::civil::Date;

use super::fields::TaskFields;
use super::settings::{NamedStatus, StatusType};
use boolean::Expression;
pub use filter::Folded;
use lines::Instruction;
use order::{Group, Sort};

/// Most instructions of a query, and most that sort or group.
const MAX_INSTRUCTIONS: usize = 100;
const MAX_ORDERS: usize = 8;

/// A task as queries see it.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The path of its note.
    pub path: &'a str,
    /// The heading nearest above it.
    pub heading: Option<&'a str>,
    /// The width of the white space before it.
    pub indent: u16,
    /// Its status.
    pub status: NamedStatus<'a>,
    /// The fields of its text.
    pub fields: &'a TaskFields<'a>,
    /// A cache of its folded texts.
    pub folded: &'a Folded,
}

/// A parsed query. Relative dates were resolved when it was parsed.
#[derive(Debug, Default)]
pub struct Query {
    filters: Vec<Expression>,
    sorts: Vec<Sort>,
    groups: Vec<Group>,
    limit: Option<usize>,
}

/// Why a query is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct QueryError {
    /// The line that the instruction begins on, counted from 1.
    pub line: usize,
    /// The problem, and the remedy.
    pub message: String,
}

/// A group that a task is in. The order of these keys is the order of the groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKey {
    rank: u8,
    /// Its name.
    pub name: String,
}

impl Query {
    /// Parses the query `text`, with `today` as the current day.
    ///
    /// # Errors
    /// When an instruction is not understood or not supported.
    pub fn parse(text: &str, today: Date) -> Result<Self, QueryError> {
        let mut query = Self::default();
        for (count, (line, instruction)) in lines::instructions(text).enumerate() {
            let wrong = |message| QueryError { line, message };
            if count >= MAX_INSTRUCTIONS {
                return Err(wrong(format!("a query has at most {MAX_INSTRUCTIONS} instructions")));
            }
            match lines::read(&instruction).map_err(wrong)? {
                Instruction::Layout => {}
                Instruction::Limit(most) => query.limit = Some(most),
                Instruction::Sort(words) => query.sorts.push(Sort::parse(words).map_err(wrong)?),
                Instruction::Group(words) => query.groups.push(Group::parse(words).map_err(wrong)?),
                Instruction::Filter(text) => query.filters.push(Expression::parse(text, today).map_err(wrong)?),
            }
            if query.sorts.len() > MAX_ORDERS || query.groups.len() > MAX_ORDERS {
                return Err(wrong(format!("a query sorts and groups by at most {MAX_ORDERS} things")));
            }
        }
        Ok(query)
    }

    /// Sorts by `words`, such as `due reverse`, before the query's own sorting.
    ///
    /// # Errors
    /// When `words` is not a sort key. The text says what is wrong.
    pub fn sort_by(&mut self, words: &str) -> Result<(), String> {
        self.sorts.insert(0, Sort::parse(words)?);
        Ok(())
    }

    /// Groups by `words`, in the same way as [`sort_by`](Self::sort_by).
    ///
    /// # Errors
    /// When `words` is not a group key. The text says what is wrong.
    pub fn group_by(&mut self, words: &str) -> Result<(), String> {
        self.groups.insert(0, Group::parse(words)?);
        Ok(())
    }

    /// Whether the query uses the headings of items.
    #[must_use]
    pub fn needs_headings(&self) -> bool {
        self.filters.iter().any(Expression::needs_headings)
            || self.sorts.iter().any(Sort::needs_headings)
            || self.groups.iter().any(Group::needs_headings)
    }

    /// Whether the query selects this task.
    #[must_use]
    pub fn matches(&self, item: &Item<'_>) -> bool {
        self.filters.iter().all(|filter| filter.matches(item))
    }

    /// The order of two tasks; equal where the query does not define one.
    #[must_use]
    pub fn compare(&self, one: &Item<'_>, other: &Item<'_>) -> Ordering {
        self.sorts.iter().map(|sort| sort.compare(one, other)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// The limit on the number of tasks. The first ones are kept.
    #[must_use]
    pub const fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Whether the query groups tasks.
    #[must_use]
    pub const fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// The groups that a task is in: a list with one group per level. There are several lists if the task is in several groups of a
    /// level.
    #[must_use]
    pub fn groups(&self, item: &Item<'_>) -> Vec<Vec<GroupKey>> {
        let mut all = vec![Vec::new()];
        for group in &self.groups {
            let keys = group.keys(item);
            all = all
                .into_iter()
                .flat_map(|outer: Vec<GroupKey>| {
                    keys.iter().map(move |key| outer.iter().cloned().chain([key.clone()]).collect())
                })
                .collect();
            all.truncate(order::MAX_GROUPS_OF_ONE);
        }
        all
    }

    /// The order of two groups.
    #[must_use]
    pub fn compare_groups(&self, one: &[GroupKey], other: &[GroupKey]) -> Ordering {
        let levels = self.groups.iter().zip(one.iter().zip(other));
        let mut orders = levels.map(|(group, (one, other))| group.directed(one.cmp(other)));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl<'a> Item<'a> {
    /// The folder of its note with a slash at the end; `/` for a note in no folder.
    fn folder(&self) -> &'a str {
        self.path.rfind('/').and_then(|at| self.path.get(..=at)).unwrap_or("/")
    }

    /// The first folder of the path.
    fn root(&self) -> &'a str {
        self.path.find('/').and_then(|at| self.path.get(..=at)).unwrap_or("/")
    }

    fn file_name(&self) -> &'a str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    fn status_type(&self) -> StatusType {
        self.status.kind
    }
}
