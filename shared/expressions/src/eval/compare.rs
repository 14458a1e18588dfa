//! Order, equality and truth, as each language has them.

use std::cmp::Ordering;

use crate::Dialect;
use crate::collate;
use crate::error::Result;
use crate::numbers;
use crate::time::read;
use crate::value::{Link, Object, Value};

use super::{BYTES_OF_STEP, Evaluator};

/// How deep lists and objects are compared; below, all are equal.
const MAX_COMPARED_DEPTH: usize = 40;

impl Evaluator<'_> {
    /// Whether the value counts as true. Nothing, zero, empty texts, lists and objects do not, in both languages; in Dataview
    /// neither do durations of nothing and the start of 1970.
    pub(crate) fn truth(&self, value: &Value) -> bool {
        match value {
            Value::Null => false,
            Value::Boolean(value) => *value,
            Value::Number(number) => *number != 0.0 && !(self.dialect() == Dialect::Bases && number.is_nan()),
            Value::Text(text) => !text.is_empty(),
            Value::Link(link) => !link.path.is_empty(),
            Value::Date(date) => self.dialect() == Dialect::Bases || date.millis() != 0.0,
            Value::Duration(duration) => duration.millis() != 0.0,
            Value::List(items) => !items.is_empty(),
            Value::Object(entries) => !entries.is_empty(),
            Value::Page(_)
            | Value::File(_)
            | Value::Regex(_)
            | Value::Image(_)
            | Value::Icon(_)
            | Value::Html(_)
            | Value::Widget(_)
            | Value::Function(_) => true,
        }
    }

    /// Dataview's order of all values: nothing first, then by the names of the types, then by value. Two values may each be after the
    /// other: durations of one length in other units, moments in other zones.
    pub(crate) fn compare(&self, left: &Value, right: &Value) -> Result<Ordering> {
        self.compare_in(left, right, 0)
    }

    fn compare_in(&self, left: &Value, right: &Value, depth: usize) -> Result<Ordering> {
        if depth > MAX_COMPARED_DEPTH {
            return Ok(Ordering::Equal);
        }
        // An entry that stands in a list several times is compared as often.
        self.spend(1)?;
        self.read([left, right])?;
        let ordered = |ordering: Ordering, same: bool| match ordering {
            Ordering::Less => Ordering::Less,
            _ if same => Ordering::Equal,
            _ => Ordering::Greater,
        };
        Ok(match (left, right) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Less,
            (_, Value::Null) => Ordering::Greater,
            (Value::Text(left), Value::Text(right)) => collate::compare(left, right),
            (Value::Number(left), Value::Number(right)) => {
                if left < right {
                    Ordering::Less
                } else if left == right {
                    Ordering::Equal
                } else {
                    Ordering::Greater
                }
            }
            (Value::Boolean(left), Value::Boolean(right)) => left.cmp(right),
            (Value::Date(left), Value::Date(right)) => ordered(left.order(right), left.same(right)),
            (Value::Duration(left), Value::Duration(right)) => {
                ordered(left.millis().total_cmp(&right.millis()), left.same(right))
            }
            (Value::Link(left), Value::Link(right)) => self.compare_links(left, right)?,
            (Value::List(left), Value::List(right)) => {
                for (left, right) in left.iter().zip(right.iter()) {
                    let order = self.compare_in(left, right, depth + 1)?;
                    if order.is_ne() {
                        return Ok(order);
                    }
                }
                left.len().cmp(&right.len())
            }
            (Value::Object(left), Value::Object(right)) => self.compare_objects(left, right, depth)?,
            (Value::Page(left), Value::Page(right)) => left.path.cmp(&right.path),
            (Value::File(left), Value::File(right)) => left.cmp(right),
            _ => left.type_name().cmp(right.type_name()),
        })
    }

    fn compare_links(&self, left: &Link, right: &Link) -> Result<Ordering> {
        self.spend((left.path.len() + right.path.len()) / BYTES_OF_STEP)?;
        let path = |link: &Link| self.resolved(&link.path).unwrap_or_else(|| link.path.clone());
        let order =
            collate::compare(&path(left), &path(right)).then_with(|| left.target.name().cmp(right.target.name()));
        let subpath = |link: &Link| link.subpath.clone().filter(|subpath| !subpath.is_empty());
        Ok(order.then_with(|| match (subpath(left), subpath(right)) {
            (Some(left), Some(right)) => collate::compare(&left, &right),
            (left, right) => left.is_some().cmp(&right.is_some()),
        }))
    }

    fn compare_objects(&self, left: &Object, right: &Object, depth: usize) -> Result<Ordering> {
        self.spend(left.len() + right.len())?;
        let keys = |object: &Object| {
            let mut keys: Vec<_> = object.keys().cloned().collect();
            keys.sort();
            keys
        };
        let (left_keys, right_keys) = (keys(left), keys(right));
        let by_key = left_keys.iter().zip(&right_keys).map(|(left, right)| collate::compare(left, right));
        let order =
            by_key.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| left_keys.len().cmp(&right_keys.len()));
        if order.is_ne() {
            return Ok(order);
        }
        for key in &left_keys {
            let value = |object: &Object| object.get(key).cloned().unwrap_or_default();
            let order = self.compare_in(&value(left), &value(right), depth + 1)?;
            if order.is_ne() {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }

    /// The whole path that a link leads to.
    pub(crate) fn resolved(&self, link: &str) -> Option<std::sync::Arc<str>> {
        self.pages().resolve(link, self.this().map_or("", |this| this))
    }

    /// Whether Bases calls them equal: links, files and notes if they are one file; dates and texts of dates if they are one moment.
    pub(crate) fn equal(&self, left: &Value, right: &Value) -> Result<bool> {
        self.equal_in(left, right, 0)
    }

    fn equal_in(&self, left: &Value, right: &Value, depth: usize) -> Result<bool> {
        self.spend(1)?;
        self.read([left, right])?;
        if depth > MAX_COMPARED_DEPTH {
            return Ok(true);
        }
        if let (Some(left), Some(right)) = (self.target(left), self.target(right)) {
            return Ok(left == right);
        }
        Ok(match (left, right) {
            (Value::Null, Value::Null) => true,
            (Value::Boolean(left), Value::Boolean(right)) => left == right,
            (Value::Number(left), Value::Number(right)) => left == right,
            (Value::Text(left), Value::Text(right))
            | (Value::Image(left), Value::Image(right))
            | (Value::Icon(left), Value::Icon(right))
            | (Value::Html(left), Value::Html(right)) => left == right,
            (Value::Date(_), _) | (_, Value::Date(_)) => self.order_of(left, right)?.is_some_and(Ordering::is_eq),
            (Value::Duration(_), _) | (_, Value::Duration(_)) => {
                left.as_amount().is_some_and(|left| right.as_amount() == Some(left))
            }
            (Value::List(left), Value::List(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                for (left, right) in left.iter().zip(right.iter()) {
                    if !self.equal_in(left, right, depth + 1)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Object(left), Value::Object(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                for (name, value) in left.iter() {
                    let Some(other) = right.get(name) else { return Ok(false) };
                    if !self.equal_in(value, other, depth + 1)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Regex(left), Value::Regex(right)) => left.source == right.source && left.flags == right.flags,
            _ => false,
        })
    }

    /// The path of the file that a value means; a link to nothing means its text.
    fn target(&self, value: &Value) -> Option<std::sync::Arc<str>> {
        match value {
            Value::File(path) => Some(path.clone()),
            Value::Page(page) => Some(page.path.clone()),
            Value::Link(link) => Some(self.resolved(&link.path).unwrap_or_else(|| link.path.clone())),
            _ => None,
        }
    }

    /// How Bases orders two values of one kind, and a number and the text of one; `None` if they cannot be compared.
    pub(crate) fn order_of(&self, left: &Value, right: &Value) -> Result<Option<Ordering>> {
        self.spend(1)?;
        self.read([left, right])?;
        Ok(self.order_in_kind(left, right))
    }

    fn order_in_kind(&self, left: &Value, right: &Value) -> Option<Ordering> {
        let date = |text: &str| {
            let (written, length) = read::date(text)?;
            if length < text.len() && !text.get(length..)?.starts_with(' ') {
                return None;
            }
            let at = crate::eval::methods::read_date(text, self.now().time_zone());
            at.or_else(|| written.date(self.now().time_zone()).ok())
        };
        match (left, right) {
            (Value::Number(left), Value::Text(right)) => left.partial_cmp(&numbers::read(right)?),
            (Value::Text(left), Value::Number(right)) => numbers::read(left)?.partial_cmp(right),
            (Value::Text(left), Value::Text(right)) => Some(collate::compare(left, right)),
            (Value::Boolean(left), Value::Boolean(right)) => Some(left.cmp(right)),
            (Value::Date(left), Value::Date(right)) => Some(left.order(right)),
            (Value::Date(left), Value::Text(right)) => Some(left.order(&date(right)?)),
            (Value::Text(left), Value::Date(right)) => Some(date(left)?.order(right)),
            _ => left.as_amount()?.partial_cmp(&right.as_amount()?),
        }
    }

    /// The order in which Bases sorts: what is empty comes last, then values by their kinds, then by value or by what is shown.
    pub(crate) fn sorted(&self, left: &Value, right: &Value) -> Result<Ordering> {
        self.read([left, right])?;
        let rank = |value: &Value| match value {
            Value::Date(_) => 1,
            Value::Boolean(_) => 2,
            Value::Null => 9,
            _ => match value.as_amount() {
                Some(amount) if amount.is_nan() => 9,
                Some(_) => 0,
                None => 3,
            },
        };
        let shown = |value: &Value| match value {
            Value::Link(link) => Ok(link.shown()),
            _ => self.shown(value),
        };
        let ranks = rank(left).cmp(&rank(right));
        if ranks.is_ne() {
            return Ok(ranks);
        }
        Ok(match (left, right) {
            (Value::Null, _) | (_, Value::Null) => Ordering::Equal,
            _ if rank(left) < 3 => self.order_of(left, right)?.unwrap_or(Ordering::Equal),
            _ if rank(left) == 3 => collate::compare(&shown(left)?, &shown(right)?),
            _ => Ordering::Equal,
        })
    }
}
