//! JavaScript's values, and its coercions.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::Value;

/// A value: of the logic, of the data, or computed.
#[derive(Clone)]
pub(crate) enum Datum<'a> {
    /// A missing argument.
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(&'a str),
    /// A computed text.
    Made(Rc<str>),
    /// A list or object of the logic or data.
    Json(&'a Value),
    /// A computed list.
    List(Rc<List<'a>>),
    /// The data of each step of `reduce`.
    Step(Rc<Step<'a>>),
    /// Data whose members are computed on request.
    Record(&'a dyn Record),
}

/// A list, with measures that are computed once. Shared items are stored once.
pub(crate) struct List<'a> {
    items: Vec<Datum<'a>>,
    size: usize,
    depth: u32,
}

/// The data of a step of `reduce`.
pub(crate) struct Step<'a> {
    current: Datum<'a>,
    accumulator: Datum<'a>,
    depth: u32,
}

/// Data with members.
pub(crate) trait Record {
    /// The member with this name.
    fn get<'r>(&'r self, name: &str) -> Option<Datum<'r>>;
}

impl<'a> Datum<'a> {
    /// A JSON value, unchanged.
    pub(crate) fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => Self::Text(text),
            Value::Array(_) | Value::Object(_) => Self::Json(value),
        }
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        let size = items.iter().fold(0_usize, |size, item| size.saturating_add(1 + item.size()));
        let depth = 1 + items.iter().map(Self::depth).max().unwrap_or(0);
        Self::List(Rc::new(List { items, size, depth }))
    }

    pub(super) fn step(current: Self, accumulator: Self) -> Self {
        let depth = 1 + current.depth().max(accumulator.depth());
        Self::Step(Rc::new(Step { current, accumulator, depth }))
    }

    /// The nesting depth of computed lists and steps.
    pub(super) fn depth(&self) -> u32 {
        match self {
            Self::List(list) => list.depth,
            Self::Step(step) => step.depth,
            _ => 0,
        }
    }

    pub(super) fn made(text: &str) -> Self {
        Self::Made(text.into())
    }

    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Made(text) => Some(text),
            _ => None,
        }
    }

    /// The number of items, if it is a list.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::List(list) => Some(list.items.len()),
            Self::Json(Value::Array(items)) => Some(items.len()),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        match self {
            Self::List(list) => Some(list.items.clone()),
            Self::Json(Value::Array(items)) => Some(items.iter().map(Datum::of).collect()),
            _ => None,
        }
    }

    /// The member with this name.
    pub(super) fn member(&self, name: &str) -> Option<Self> {
        let place = || name.parse::<usize>().ok().filter(|place| place.to_string() == name);
        match self {
            Self::Json(Value::Object(object)) => object.get(name).map(Datum::of),
            Self::Record(record) => record.get(name),
            Self::Step(step) => match name {
                "current" => Some(step.current.clone()),
                "accumulator" => Some(step.accumulator.clone()),
                _ => None,
            },
            Self::List(list) if name != LENGTH => list.items.get(place()?).cloned(),
            Self::Json(Value::Array(items)) if name != LENGTH => items.get(place()?).map(Datum::of),
            _ if name == LENGTH => match self.text() {
                Some(text) => Some(Self::Number(text.encode_utf16().count() as f64)),
                None => self.len().map(|len| Self::Number(len as f64)),
            },
            _ => None,
        }
    }

    /// Whether it is truthy in JSONLogic, where the empty list is not.
    pub(crate) fn is_truthy(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            other => match (other.text(), other.len()) {
                (Some(text), _) => !text.is_empty(),
                (_, Some(len)) => len > 0,
                _ => true,
            },
        }
    }

    /// `Number(…)`.
    pub(super) fn number(&self) -> f64 {
        match self {
            Self::Undefined => f64::NAN,
            Self::Null => 0.0,
            Self::Bool(value) => f64::from(u8::from(*value)),
            Self::Number(number) => *number,
            other => match other.text() {
                Some(text) => number_of(text),
                None => number_of(&other.string()),
            },
        }
    }

    /// `parseFloat(…)`.
    pub(super) fn parsed(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            other => match other.text() {
                Some(text) => number_at(text),
                None => number_at(&other.string()),
            },
        }
    }

    /// `String(…)`.
    pub(super) fn string(&self) -> String {
        let mut string = String::new();
        self.write(&mut string);
        string
    }

    /// Appends its text as an item of a list, which is empty for missing values.
    pub(super) fn write_item(&self, to: &mut String) {
        if !matches!(self, Self::Undefined | Self::Null) {
            self.write(to);
        }
    }

    fn write(&self, to: &mut String) {
        match self {
            Self::Undefined => to.push_str("undefined"),
            Self::Null => to.push_str("null"),
            Self::Bool(value) => to.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => write_number(*number, to),
            Self::Text(text) => to.push_str(text),
            Self::Made(text) => to.push_str(text),
            Self::Step(_) | Self::Record(_) | Self::Json(Value::Object(_)) => to.push_str("[object Object]"),
            Self::List(_) | Self::Json(_) => {
                for (place, item) in self.items().into_iter().flatten().enumerate() {
                    if place > 0 {
                        to.push(',');
                    }
                    item.write_item(to);
                }
            }
        }
    }

    /// The approximate number of items and bytes of its text or of a scan of it.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(_) | Self::Made(_) => self.text().map_or(0, str::len) / BYTES_OF_OPERATION,
            Self::List(list) => list.size,
            Self::Json(value) => size_of(value),
            _ => 0,
        }
    }

    const fn is_object(&self) -> bool {
        matches!(self, Self::List(_) | Self::Json(_) | Self::Step(_) | Self::Record(_))
    }

    /// `===`: lists and objects are equal only to themselves.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Undefined, Self::Undefined) | (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Number(one), Self::Number(other)) => one == other,
            (Self::Json(one), Self::Json(other)) => std::ptr::eq(*one, *other),
            (Self::List(one), Self::List(other)) => Rc::ptr_eq(one, other),
            (Self::Step(one), Self::Step(other)) => Rc::ptr_eq(one, other),
            (Self::Record(one), Self::Record(other)) => std::ptr::addr_eq(*one, *other),
            _ => self.text().is_some_and(|one| other.text() == Some(one)),
        }
    }

    /// `==`.
    pub(super) fn equals(&self, other: &Self) -> bool {
        let is_none = |datum: &Self| matches!(datum, Self::Undefined | Self::Null);
        if is_none(self) || is_none(other) {
            return is_none(self) && is_none(other);
        }
        match (self.is_object(), other.is_object()) {
            (true, true) => self.is(other),
            (true, false) => Self::made(&self.string()).equals(other),
            (false, true) => self.equals(&Self::made(&other.string())),
            (false, false) => match (self.text(), other.text()) {
                (Some(one), Some(other)) => one == other,
                _ => self.number() == other.number(),
            },
        }
    }

    /// The order for `<` and similar operators; [`None`] if there is none.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        let primitive = |datum: &Self| if datum.is_object() { Self::made(&datum.string()) } else { datum.clone() };
        let (one, other) = (primitive(self), primitive(other));
        match (one.text(), other.text()) {
            (Some(one), Some(other)) => Some(one.encode_utf16().cmp(other.encode_utf16())),
            _ => one.number().partial_cmp(&other.number()),
        }
    }
}

/// The member for the length of texts and lists. A text is scanned for it.
pub(super) const LENGTH: &str = "length";

/// Bytes of text per operation.
pub(super) const BYTES_OF_OPERATION: usize = 1024;

fn size_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() / BYTES_OF_OPERATION,
        Value::Array(items) => items.iter().map(|item| 1 + size_of(item)).sum(),
        // Its text is short.
        _ => 0,
    }
}

fn number_of(text: &str) -> f64 {
    let text = text.trim();
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).map_or(f64::NAN, |number| number as f64);
    match text.get(..2) {
        Some("0x" | "0X") => radix(text.get(2..).unwrap_or_default(), 16),
        Some("0o" | "0O") => radix(text.get(2..).unwrap_or_default(), 8),
        Some("0b" | "0B") => radix(text.get(2..).unwrap_or_default(), 2),
        _ if text.is_empty() => 0.0,
        _ if number_length(text) == text.len() => decimal(text),
        _ => f64::NAN,
    }
}

/// The number at the beginning of `text`.
fn number_at(text: &str) -> f64 {
    let text = text.trim_start();
    text.get(..number_length(text)).filter(|number| !number.is_empty()).map_or(f64::NAN, decimal)
}

fn decimal(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// Bytes of the decimal number at the beginning of `text`.
fn number_length(text: &str) -> usize {
    let signed = text.strip_prefix(['+', '-']).unwrap_or(text);
    if signed.starts_with("Infinity") {
        return text.len() - signed.len() + "Infinity".len();
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let tail = |count: usize| signed.get(count..).unwrap_or_default();
    let whole = digits(signed);
    let fraction = tail(whole).strip_prefix('.').map_or(0, |rest| digits(rest) + 1);
    // A point alone is not a number.
    if whole == 0 && fraction < 2 {
        return 0;
    }
    let mut count = whole + fraction;
    if let Some(exponent) = tail(count).strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits(unsigned) > 0 {
            count += 1 + exponent.len() - unsigned.len() + digits(unsigned);
        }
    }
    text.len() - signed.len() + count
}

/// Writes a number like JavaScript.
fn write_number(number: f64, to: &mut String) {
    let size = number.abs();
    // Writing to a text does not fail.
    let _ = if number.is_nan() {
        to.write_str("NaN")
    } else if number.is_infinite() {
        to.write_str(if number > 0.0 { "Infinity" } else { "-Infinity" })
    } else if size >= 1e21 {
        to.write_str(&format!("{number:e}").replace('e', "e+"))
    } else if size > 0.0 && size < 1e-6 {
        write!(to, "{number:e}")
    } else {
        // Without the sign of a zero.
        write!(to, "{}", if number == 0.0 { 0.0 } else { number })
    };
}
