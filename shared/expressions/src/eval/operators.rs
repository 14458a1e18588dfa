use std::cmp::Ordering;

use crate::Dialect;
use crate::error::{Error, Result};
use crate::syntax::Operator;
use crate::time::{Date, Duration, Unit};
use crate::value::{MAX_VALUE_BYTES, Value};

use super::Evaluator;

impl Evaluator<'_> {
    /// The value of `left operator …`, if the right side does not matter. Dataview always looks at both.
    pub(super) fn decided(&self, operator: Operator, left: &Value) -> Option<Value> {
        if self.dialect() == Dialect::Dataview {
            return None;
        }
        match operator {
            Operator::And if !self.truth(left) => Some(Value::Boolean(false)),
            Operator::Or if self.truth(left) => Some(Value::Boolean(true)),
            _ => None,
        }
    }

    /// The value of `left operator right`.
    pub(crate) fn operate(&self, operator: Operator, left: &Value, right: &Value) -> Result<Value> {
        match operator {
            Operator::And => return Ok(Value::Boolean(self.truth(left) && self.truth(right))),
            Operator::Or => return Ok(Value::Boolean(self.truth(left) || self.truth(right))),
            _ => {}
        }
        if let Some(compared) = self.compared(operator, left, right)? {
            return Ok(Value::Boolean(compared));
        }
        let value = match self.dialect() {
            Dialect::Dataview => self.dataview(operator, left, right)?,
            Dialect::Bases => self.bases(operator, left, right)?,
        };
        value.ok_or_else(|| {
            Error::evaluation(format!(
                "there is no \"{}\" of {} and {}",
                operator.sign(),
                left.type_name(),
                right.type_name()
            ))
        })
    }

    fn compared(&self, operator: Operator, left: &Value, right: &Value) -> Result<Option<bool>> {
        let holds = |order: Ordering| match operator {
            Operator::Equal => Some(order.is_eq()),
            Operator::Unequal => Some(order.is_ne()),
            Operator::Less => Some(order.is_lt()),
            Operator::AtMost => Some(order.is_le()),
            Operator::Greater => Some(order.is_gt()),
            Operator::AtLeast => Some(order.is_ge()),
            _ => None,
        };
        if holds(Ordering::Equal).is_none() {
            return Ok(None);
        }
        Ok(match (self.dialect(), operator) {
            (Dialect::Dataview, _) => holds(self.compare(left, right)?),
            (Dialect::Bases, Operator::Equal) => Some(self.equal(left, right)?),
            (Dialect::Bases, Operator::Unequal) => Some(!self.equal(left, right)?),
            (Dialect::Bases, _) => self.order_of(left, right)?.map_or(Some(false), holds),
        })
    }

    fn numbers(operator: Operator, left: f64, right: f64) -> Option<Value> {
        let number = match operator {
            Operator::Plus => left + right,
            Operator::Minus => left - right,
            Operator::Times => left * right,
            Operator::Over => left / right,
            Operator::Modulo => left % right,
            _ => return None,
        };
        Some(Value::Number(number))
    }

    fn dataview(&self, operator: Operator, left: &Value, right: &Value) -> Result<Option<Value>> {
        use Operator::{Minus, Over, Plus, Times};
        Ok(Some(match (left, operator, right) {
            (Value::Number(left), _, Value::Number(right)) => return Ok(Self::numbers(operator, *left, *right)),
            (Value::Text(left), Plus, _) => self.joined(left, &self.shown(right)?)?,
            (_, Plus, Value::Text(right)) => self.joined(&self.shown(left)?, right)?,
            (Value::Text(text), Times, Value::Number(count)) | (Value::Number(count), Times, Value::Text(text)) => {
                self.repeated(text, *count)?
            }
            (Value::Date(left), Minus, Value::Date(right)) => Value::duration(left.minus(right)?.normal()),
            (Value::Date(date), Minus, Value::Duration(duration)) => Value::date(date.plus(duration, -1.0)?),
            (Value::Date(date), Plus, Value::Duration(duration))
            | (Value::Duration(duration), Plus, Value::Date(date)) => Value::date(date.plus(duration, 1.0)?),
            (Value::Duration(left), Plus, Value::Duration(right)) => Value::duration(left.plus(right).normal()),
            (Value::Duration(left), Minus, Value::Duration(right)) => {
                Value::duration(left.plus(&right.map(|count| -count)).normal())
            }
            (Value::Duration(duration), Over, Value::Number(by)) => {
                Value::duration(duration.map(|count| count / by).normal())
            }
            (Value::Duration(duration), Times, Value::Number(by))
            | (Value::Number(by), Times, Value::Duration(duration)) => {
                Value::duration(duration.map(|count| count * by).normal())
            }
            (Value::List(left), Plus, Value::List(right)) => {
                self.spend(left.len() + right.len())?;
                Value::list(left.iter().chain(right.iter()).cloned().collect())
            }
            (Value::Object(left), Plus, Value::Object(right)) => {
                self.spend(left.len() + right.len())?;
                let mut both = (**left).clone();
                both.extend(right.iter().map(|(name, value)| (name.clone(), value.clone())));
                Value::object(both)
            }
            (Value::Null, _, Value::Null)
            | (Value::Date(_), Plus | Minus, Value::Null)
            | (Value::Null, Plus | Minus, Value::Date(_)) => Value::Null,
            _ => return Ok(None),
        }))
    }

    fn bases(&self, operator: Operator, left: &Value, right: &Value) -> Result<Option<Value>> {
        use Operator::{Minus, Over, Plus, Times};
        let moved = |date: &Date, duration: &Duration| {
            Ok(Some(Value::date(date.plus(duration, if operator == Minus { -1.0 } else { 1.0 })?)))
        };
        // The time between two dates is its milliseconds beside a number.
        let amount = |value: &Value| match value {
            Value::Duration(duration) => duration.bare_millis(),
            _ => value.as_number(),
        };
        let are_added = matches!((left, operator, right), (Value::Duration(_), Plus | Minus, Value::Duration(_)));
        if let (Some(left), Some(right), false) = (amount(left), amount(right), are_added) {
            return Ok(Self::numbers(operator, left, right));
        }
        Ok(Some(match (left, operator, right) {
            (Value::Date(left), Minus, Value::Date(right)) => {
                Value::duration(Duration::of(Unit::Millisecond, left.millis() - right.millis()))
            }
            (Value::Date(date), Plus | Minus, Value::Duration(duration)) => return moved(date, duration),
            (Value::Duration(duration), Plus, Value::Date(date)) => return moved(date, duration),
            (Value::Date(date), Plus | Minus, Value::Text(text)) => match crate::eval::methods::read_duration(text) {
                Some(duration) => return moved(date, &duration),
                None if operator == Plus => self.joined(&self.shown(left)?, text)?,
                None => {
                    return Err(Error::evaluation(format!("\"{text}\" is not a duration like \"2h\" or \"1 day\"")));
                }
            },
            (Value::Duration(left), Plus, Value::Duration(right)) => Value::duration(left.plus(right)),
            (Value::Duration(left), Minus, Value::Duration(right)) => {
                Value::duration(left.plus(&right.map(|count| -count)))
            }
            (Value::Duration(duration), Times, Value::Number(by)) => Value::duration(duration.map(|count| count * by)),
            (Value::Duration(duration), Over, Value::Number(by)) => Value::duration(duration.map(|count| count / by)),
            // A date that a note has not, moved.
            (Value::Null, Plus, Value::Text(text)) if crate::eval::methods::read_duration(text).is_some() => {
                Value::Null
            }
            (Value::Text(_), Plus, _) | (_, Plus, Value::Text(_)) => {
                self.joined(&self.shown(left)?, &self.shown(right)?)?
            }
            (Value::List(left), Plus, Value::List(right)) => {
                self.spend(left.len() + right.len())?;
                Value::list(left.iter().chain(right.iter()).cloned().collect())
            }
            (Value::Null, _, _) | (_, _, Value::Null) => Value::Null,
            _ => return Ok(None),
        }))
    }

    pub(super) fn negative(&self, value: &Value) -> Result<Value> {
        match value {
            Value::Number(number) => Ok(Value::Number(-number)),
            Value::Duration(duration) => Ok(Value::duration(duration.map(|count| -count))),
            Value::Null => Ok(Value::Null),
            _ => Err(Error::evaluation(format!("there is no \"-\" of {}", value.type_name()))),
        }
    }

    fn joined(&self, left: &str, right: &str) -> Result<Value> {
        self.make(left.len() + right.len())?;
        Ok(Value::text([left, right].concat()))
    }

    /// The text so many times; none if it is less than once.
    pub(crate) fn repeated(&self, text: &str, count: f64) -> Result<Value> {
        let count = crate::numbers::index(count.max(0.0), MAX_VALUE_BYTES);
        self.make(text.len().saturating_mul(count))?;
        Ok(Value::text(text.repeat(count)))
    }
}
