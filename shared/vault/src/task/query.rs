//! Queries of tasks in the language of the Tasks plugin: filters, their combinations, the order, groups and a limit. It is read and answered
//! here; the plugin takes no part.
//!
//! What would run a script or needs the plugin's settings is refused: `filter by function` and the like, presets, placeholders, urgency.
//! Instructions for the layout are taken and have no meaning.
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
use super::symbols::Status;
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
    /// What stands between the brackets.
    pub mark: char,
    /// What its text says.
    pub fields: &'a TaskFields<'a>,
    /// What was folded of it.
    pub folded: &'a Folded,
}

/// A query. What it says of today was settled when it was read.
#[derive(Debug, Default)]
pub struct Query {
    filters: Vec<Expression>,
    sorts: Vec<Sort>,
    groups: Vec<Group>,
    limit: Option<usize>,
}

/// What is wrong with a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct QueryError {
    /// The line that the instruction begins on, counted from 1.
    pub line: usize,
    /// What is wrong, and what to do.
    pub message: String,
}

/// A group that a task is in. Groups are in the order of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKey {
    rank: u8,
    /// Its name.
    pub name: String,
}

impl Query {
    /// What `text` says, on the day `today`.
    ///
    /// # Errors
    /// When an instruction is not understood, or cannot be followed here.
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

    /// Sorts by this, `due reverse`, before what the query itself sorts by.
    ///
    /// # Errors
    /// When nothing is sorted by that; says what is wrong.
    pub fn sort_by(&mut self, words: &str) -> Result<(), String> {
        self.sorts.insert(0, Sort::parse(words)?);
        Ok(())
    }

    /// Groups by this, as [`sort_by`](Self::sort_by) sorts.
    ///
    /// # Errors
    /// When nothing is grouped by that; says what is wrong.
    pub fn group_by(&mut self, words: &str) -> Result<(), String> {
        self.groups.insert(0, Group::parse(words)?);
        Ok(())
    }

    /// Whether the headings of items count.
    #[must_use]
    pub fn needs_headings(&self) -> bool {
        self.filters.iter().any(Expression::needs_headings)
            || self.sorts.iter().any(Sort::needs_headings)
            || self.groups.iter().any(Group::needs_headings)
    }

    /// Whether it asks for this one.
    #[must_use]
    pub fn matches(&self, item: &Item<'_>) -> bool {
        self.filters.iter().all(|filter| filter.matches(item))
    }

    /// Which comes first; equal where it does not say.
    #[must_use]
    pub fn compare(&self, one: &Item<'_>, other: &Item<'_>) -> Ordering {
        self.sorts.iter().map(|sort| sort.compare(one, other)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// How many are wanted at most, the first ones.
    #[must_use]
    pub const fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Whether it groups.
    #[must_use]
    pub const fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }

    /// The groups that a task is in, one for each level; several lists where it is in several groups of a level.
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

/// What the plugin knows of a mark that it was told nothing of: a type and a name.
const fn status_of(mark: char) -> (StatusType, &'static str) {
    match Status::of(mark) {
        Status::Done => (StatusType::Done, "Done"),
        Status::Cancelled => (StatusType::Cancelled, "Cancelled"),
        Status::InProgress => (StatusType::InProgress, "In Progress"),
        Status::Scheduled => (StatusType::Todo, "Scheduled"),
        Status::Todo if mark == ' ' => (StatusType::Todo, "Todo"),
        Status::Todo => (StatusType::Todo, "Unknown"),
    }
}

/// A type of status, in the order in which they are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum StatusType {
    InProgress,
    Todo,
    Done,
    Cancelled,
    NonTask,
}

impl StatusType {
    const ALL: [Self; 5] = [Self::InProgress, Self::Todo, Self::Done, Self::Cancelled, Self::NonTask];

    const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "IN_PROGRESS",
            Self::Todo => "TODO",
            Self::Done => "DONE",
            Self::Cancelled => "CANCELLED",
            Self::NonTask => "NON_TASK",
        }
    }

    const fn is_done(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled | Self::NonTask)
    }
}

impl<'a> Item<'a> {
    /// The folder of its note with a slash at its end; of one outside all folders `/`.
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
        status_of(self.mark).0
    }
}
