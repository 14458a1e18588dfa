//! The operators.

use std::cmp::Ordering;

use serde_json::Value;

use super::OutOfBudget;
use super::datum::{BYTES_OF_OPERATION, Datum, LENGTH};

/// All operators.
pub(super) const KNOWN: [&str; 35] = [
    "var",
    "missing",
    "missing_some",
    "if",
    "?:",
    "==",
    "===",
    "!=",
    "!==",
    "!",
    "!!",
    "or",
    "and",
    "<",
    "<=",
    ">",
    ">=",
    "max",
    "min",
    "+",
    "-",
    "*",
    "/",
    "%",
    "map",
    "reduce",
    "filter",
    "all",
    "none",
    "some",
    "merge",
    "in",
    "cat",
    "substr",
    "log",
];

/// Greatest nesting depth of computed lists.
const MAX_NESTING: u32 = 64;

pub(super) fn is_known(operator: &str) -> bool {
    KNOWN.contains(&operator)
}

/// A running evaluation.
pub(super) struct Run {
    /// The remaining operations.
    left: u32,
}

type Result<T> = std::result::Result<T, OutOfBudget>;

impl Run {
    pub(super) const fn new(budget: u32) -> Self {
        Self { left: budget }
    }

    /// Takes operations from the budget.
    fn charge(&mut self, operations: usize) -> Result<()> {
        let operations = u32::try_from(operations).map_err(|_| OutOfBudget)?;
        self.left = self.left.checked_sub(operations).ok_or(OutOfBudget)?;
        Ok(())
    }

    /// The result of `logic`, which was checked and so is not too deep.
    pub(super) fn apply<'a>(&mut self, logic: &'a Value, data: &Datum<'a>) -> Result<Datum<'a>> {
        self.charge(1)?;
        match logic {
            Value::Array(items) => {
                let items = items.iter().map(|item| self.apply(item, data)).collect::<Result<_>>()?;
                self.list(items)
            }
            Value::Object(object) if object.len() == 1 => match object.iter().next() {
                Some((operator, arguments)) => {
                    let arguments = arguments.as_array().map_or(std::slice::from_ref(arguments), Vec::as_slice);
                    self.operate(operator, arguments, data)
                }
                None => Ok(Datum::Undefined),
            },
            literal => Ok(Datum::of(literal)),
        }
    }

    fn operate<'a>(&mut self, operator: &str, arguments: &'a [Value], data: &Datum<'a>) -> Result<Datum<'a>> {
        match operator {
            "if" | "?:" => return self.branch(arguments, data),
            "and" | "or" => return self.first(operator == "or", arguments, data),
            "map" | "filter" | "all" | "none" | "some" | "reduce" => return self.each(operator, arguments, data),
            _ => {}
        }
        let values: Vec<Datum<'a>> = arguments.iter().map(|value| self.apply(value, data)).collect::<Result<_>>()?;
        self.charge(values.iter().map(Datum::size).sum())?;
        let value = |place: usize| values.get(place).unwrap_or(&Datum::Undefined);
        let (one, other) = (value(0), value(1));
        Ok(match operator {
            "var" => self.member(data, one)?.unwrap_or_else(|| match other {
                Datum::Undefined => Datum::Null,
                other => other.clone(),
            }),
            "missing" => {
                let keys = one.items().unwrap_or(values);
                self.missing(keys, data)?
            }
            "missing_some" => {
                let keys = other.items().unwrap_or_default();
                let count = keys.len();
                let missing = self.missing(keys, data)?;
                let found = count - missing.len().unwrap_or(0);
                if found as f64 >= one.number() { Datum::list(Vec::new()) } else { missing }
            }
            "==" => Datum::Bool(one.equals(other)),
            "!=" => Datum::Bool(!one.equals(other)),
            "===" => Datum::Bool(one.is(other)),
            "!==" => Datum::Bool(!one.is(other)),
            "!" => Datum::Bool(!one.is_truthy()),
            "!!" => Datum::Bool(one.is_truthy()),
            "<" => Datum::Bool(are_in_order(&values, &[Ordering::Less])),
            "<=" => Datum::Bool(are_in_order(&values, &[Ordering::Less, Ordering::Equal])),
            ">" => Datum::Bool(one.compare(other) == Some(Ordering::Greater)),
            ">=" => Datum::Bool(matches!(one.compare(other), Some(Ordering::Greater | Ordering::Equal))),
            "max" => Datum::Number(extreme(&values, f64::NEG_INFINITY, f64::max)),
            "min" => Datum::Number(extreme(&values, f64::INFINITY, f64::min)),
            "+" => Datum::Number(values.iter().fold(0.0, |sum, value| sum + value.parsed())),
            "*" => match values.as_slice() {
                // Unchanged: there is nothing to calculate.
                [] | [_] => one.clone(),
                values => Datum::Number(values.iter().map(Datum::parsed).product()),
            },
            "-" if matches!(other, Datum::Undefined) => Datum::Number(-one.number()),
            "-" => Datum::Number(one.number() - other.number()),
            "/" => Datum::Number(one.number() / other.number()),
            "%" => Datum::Number(one.number() % other.number()),
            "merge" => {
                let items = values.iter().flat_map(|value| value.items().unwrap_or_else(|| vec![value.clone()]));
                self.list(items.collect())?
            }
            "in" => Datum::Bool(is_in(one, other)),
            "cat" => {
                let mut text = String::new();
                values.iter().for_each(|value| value.write_item(&mut text));
                self.text(&text)?
            }
            "substr" => self.part(one, other, value(2))?,
            // `log` has no output here.
            _ => one.clone(),
        })
    }

    /// A computed list. Endless nesting is stopped before it exhausts the stack.
    fn list<'a>(&mut self, items: Vec<Datum<'a>>) -> Result<Datum<'a>> {
        let list = Datum::list(items);
        // Its items were scanned for its size.
        self.charge(list.size() - list.len().unwrap_or(0))?;
        if list.depth() > MAX_NESTING { Err(OutOfBudget) } else { Ok(list) }
    }

    /// A computed text, which costs as much as scanning it.
    fn text<'a>(&mut self, text: &str) -> Result<Datum<'a>> {
        self.charge(text.len() / BYTES_OF_OPERATION)?;
        Ok(Datum::made(text))
    }

    /// `if`: pairs of a condition and a result, and the result otherwise.
    fn branch<'a>(&mut self, arguments: &'a [Value], data: &Datum<'a>) -> Result<Datum<'a>> {
        for pair in arguments.chunks(2) {
            match pair {
                [condition, then] if self.apply(condition, data)?.is_truthy() => return self.apply(then, data),
                [otherwise] => return self.apply(otherwise, data),
                _ => {}
            }
        }
        Ok(Datum::Null)
    }

    /// The first that is truthy like `wanted`, or the last.
    fn first<'a>(&mut self, wanted: bool, arguments: &'a [Value], data: &Datum<'a>) -> Result<Datum<'a>> {
        let mut last = Datum::Undefined;
        for argument in arguments {
            last = self.apply(argument, data)?;
            if last.is_truthy() == wanted {
                break;
            }
        }
        Ok(last)
    }

    /// Iterates over a list.
    fn each<'a>(&mut self, operator: &str, arguments: &'a [Value], data: &Datum<'a>) -> Result<Datum<'a>> {
        let mut argument = |place: usize| arguments.get(place).map(|value| self.apply(value, data)).transpose();
        let list = argument(0)?.and_then(|list| list.items());
        let reduced = if operator == "reduce" { argument(2)?.unwrap_or(Datum::Null) } else { Datum::Null };
        self.charge(list.as_ref().map_or(0, Vec::len))?;
        if operator == "reduce" {
            let mut accumulator = reduced;
            let Some(logic) = arguments.get(1) else { return Ok(accumulator) };
            for current in list.unwrap_or_default() {
                let step = Datum::step(current, accumulator);
                if step.depth() > MAX_NESTING {
                    return Err(OutOfBudget);
                }
                accumulator = self.apply(logic, &step)?;
            }
            return Ok(accumulator);
        }
        let logic = arguments.get(1).unwrap_or(&Value::Null);
        let is_list = list.as_ref().is_some_and(|list| !list.is_empty());
        let mut kept = Vec::new();
        for item in list.unwrap_or_default() {
            let made = self.apply(logic, &item)?;
            match operator {
                "map" => kept.push(made),
                "all" if !made.is_truthy() => return Ok(Datum::Bool(false)),
                "filter" | "none" | "some" if made.is_truthy() => kept.push(item),
                _ => {}
            }
        }
        Ok(match operator {
            // `all` of no items is false.
            "all" => Datum::Bool(is_list),
            "none" => Datum::Bool(kept.is_empty()),
            "some" => Datum::Bool(!kept.is_empty()),
            _ => self.list(kept)?,
        })
    }

    /// Those of `keys` that are missing in the data.
    fn missing<'a>(&mut self, keys: Vec<Datum<'a>>, data: &Datum<'a>) -> Result<Datum<'a>> {
        self.charge(keys.len())?;
        let mut missing = Vec::new();
        for key in keys {
            let is_missing = match self.member(data, &key)? {
                None | Some(Datum::Null) => true,
                Some(value) => value.text() == Some(""),
            };
            if is_missing {
                missing.push(key);
            }
        }
        self.list(missing)
    }

    /// The member of `data` at a path such as `a.0.b`; all of it if there is no path.
    fn member<'a>(&mut self, data: &Datum<'a>, path: &Datum<'a>) -> Result<Option<Datum<'a>>> {
        let path = match path {
            Datum::Undefined | Datum::Null => return Ok(Some(data.clone())),
            path => path.string(),
        };
        let mut found = data.clone();
        for name in path.split('.').filter(|_| !path.is_empty()) {
            if name == LENGTH {
                self.charge(found.text().map_or(0, str::len) / BYTES_OF_OPERATION)?;
            }
            let Some(member) = found.member(name) else { return Ok(None) };
            found = member;
        }
        Ok(Some(found))
    }

    /// `substr`: from a position, counted from the end if it is negative; a number of characters, or if negative up to
    /// that many before the end.
    fn part<'a>(&mut self, text: &Datum<'a>, start: &Datum<'a>, length: &Datum<'a>) -> Result<Datum<'a>> {
        let units: Vec<u16> = text.string().encode_utf16().collect();
        let whole = |number: f64| if number.is_nan() { 0.0 } else { number.trunc() };
        let count = units.len() as f64;
        let start = whole(start.number());
        let start = if start < 0.0 { (count + start).max(0.0) } else { start.min(count) };
        let rest = count - start;
        let length = match length {
            Datum::Undefined => rest,
            given if given.number() < 0.0 => (rest + whole(given.number())).max(0.0),
            given => whole(given.number()).min(rest),
        };
        let part = units.get(start as usize..(start + length) as usize).unwrap_or_default();
        self.text(&String::from_utf16_lossy(part))
    }
}

fn is_in(one: &Datum<'_>, other: &Datum<'_>) -> bool {
    match other.text() {
        Some(text) => text.contains(&*one.string()),
        None => other.items().is_some_and(|items| items.iter().any(|item| item.is(one))),
    }
}

/// Whether two or three values are in this order.
fn are_in_order(values: &[Datum<'_>], orders: &[Ordering]) -> bool {
    let follow = |one: &Datum<'_>, other: &Datum<'_>| one.compare(other).is_some_and(|order| orders.contains(&order));
    match values {
        [one, other] => follow(one, other),
        [one, other, third, ..] => follow(one, other) && follow(other, third),
        [one] => follow(one, &Datum::Undefined),
        [] => false,
    }
}

fn extreme(values: &[Datum<'_>], none: f64, of: fn(f64, f64) -> f64) -> f64 {
    let numbers = values.iter().map(Datum::number);
    numbers.fold(none, |one, other| if one.is_nan() || other.is_nan() { f64::NAN } else { of(one, other) })
}
