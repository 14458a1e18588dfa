use std::sync::Arc;

use crate::error::{Error, Result};
use crate::eval::{Evaluator, Names};
use crate::numbers;
use crate::syntax::Expr;
use crate::time::Date;
use crate::value::{Link, Value};

pub(super) const NAMES: &[&str] = &[
    "if",
    "escapeHTML",
    "date",
    "duration",
    "file",
    "html",
    "image",
    "icon",
    "link",
    "list",
    "max",
    "min",
    "now",
    "number",
    "today",
    "random",
];

/// `if(condition, then, else)`: only what is chosen is evaluated.
pub(super) fn choose(evaluator: &Evaluator<'_>, arguments: &[Expr], names: &Names<'_>) -> Result<Value> {
    let (condition, then, otherwise) = match arguments {
        [condition, then] => (condition, then, None),
        [condition, then, otherwise] => (condition, then, Some(otherwise)),
        _ => return Err(Error::evaluation("if takes a condition, a result, and a result for otherwise")),
    };
    let condition = evaluator.eval(condition, names)?;
    match if evaluator.truth(&condition) { Some(then) } else { otherwise } {
        Some(chosen) => evaluator.eval(chosen, names),
        None => Ok(Value::Null),
    }
}

pub(super) fn call(evaluator: &Evaluator<'_>, name: &str, arguments: &[Value]) -> Result<Value> {
    evaluator.read(arguments)?;
    let unfit = || {
        let types: Vec<_> = arguments.iter().map(super::type_name).collect();
        Error::evaluation(format!("{name}() takes no arguments of the types: {}", types.join(", ")))
    };
    let zone = evaluator.now().time_zone();
    Ok(match (name, arguments) {
        ("now", []) => Value::date(Date::new(evaluator.now().clone(), true)),
        ("today", []) => Value::date(Date::new(evaluator.now().clone(), true).day()?),
        ("random", []) => random(evaluator),
        ("date" | "duration" | "number" | "link" | "file" | "image", [Value::Null, ..]) => Value::Null,
        ("date", [Value::Date(date)]) => Value::Date(date.clone()),
        ("date", [Value::Text(text)]) => match super::read_date(text, zone) {
            Some(date) => Value::date(date),
            None => return Err(Error::evaluation(format!("\"{text}\" is not a date: write YYYY-MM-DD HH:mm:ss"))),
        },
        ("duration", [Value::Duration(duration)]) => Value::Duration(duration.clone()),
        ("duration", [Value::Text(text)]) => match super::read_duration(text) {
            Some(duration) => Value::duration(duration),
            None => {
                return Err(Error::evaluation(format!(
                    "\"{text}\" is not a duration: write a number and a unit, like 2h"
                )));
            }
        },
        ("number", [value]) => match value {
            Value::Number(_) => value.clone(),
            Value::Boolean(value) => Value::Number(if *value { 1.0 } else { 0.0 }),
            Value::Date(date) => Value::Number(date.millis()),
            Value::Duration(duration) => Value::Number(duration.millis()),
            Value::Text(text) => match numbers::read(text) {
                Some(number) => Value::Number(number),
                None => return Err(Error::evaluation(format!("\"{text}\" is not a number"))),
            },
            _ => return Err(unfit()),
        },
        ("list", [Value::List(items)]) => Value::List(items.clone()),
        ("list", [value]) => Value::list(vec![value.clone()]),
        ("max" | "min", [_, ..]) => {
            let given = arguments.iter().filter(|value| !value.is_null());
            let given: Option<Vec<f64>> = given.map(Value::as_amount).collect();
            let fold = if name == "max" { f64::max } else { f64::min };
            given.ok_or_else(unfit)?.into_iter().reduce(fold).into()
        }
        ("escapeHTML", [Value::Text(text)]) => {
            let escapes = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")];
            let escaped = escapes.iter().fold(text.to_string(), |text, (sign, escape)| text.replace(sign, escape));
            escaped.into()
        }
        ("html", [Value::Text(html)]) => Value::Html(html.clone()),
        ("icon", [Value::Text(name)]) => Value::Icon(name.clone()),
        ("image", [value]) => Value::Image(path(value).ok_or_else(unfit)?),
        ("file", [value]) => match value {
            Value::File(path) => Value::File(path.clone()),
            Value::Page(page) => Value::File(page.path.clone()),
            value => {
                let path = path(value).ok_or_else(unfit)?;
                evaluator.resolved(&path).map_or(Value::Null, Value::File)
            }
        },
        ("link", [target]) => Value::link(link(target).ok_or_else(unfit)?),
        ("link", [target, display]) => {
            let display = evaluator.shown(display)?;
            let display = (!display.is_empty()).then(|| display.into());
            Value::link(Link { display, ..link(target).ok_or_else(unfit)? })
        }
        _ if NAMES.contains(&name) => return Err(unfit()),
        _ => return Err(Error::evaluation(format!("there is no function \"{name}\""))),
    })
}

/// The path or address that a value means.
fn path(value: &Value) -> Option<Arc<str>> {
    match value {
        Value::Text(text) => Some(link_of(text).path),
        Value::Link(link) => Some(link.path.clone()),
        Value::File(path) => Some(path.clone()),
        Value::Page(page) => Some(page.path.clone()),
        _ => None,
    }
}

fn link(value: &Value) -> Option<Link> {
    match value {
        Value::Text(text) => Some(link_of(text)),
        Value::Link(link) => Some((**link).clone()),
        Value::File(path) => Some(Link::file(path.clone())),
        Value::Page(page) => Some(Link::file(page.path.clone())),
        _ => None,
    }
}

/// `[[path|display]]`, an address, or a path.
fn link_of(text: &str) -> Link {
    match text.trim().strip_prefix("[[").and_then(|inner| inner.strip_suffix("]]")) {
        Some(inner) => Link::inner(inner),
        None if text.contains("://") => Link::file(text),
        None => Link::at(text),
    }
}

/// A number that differs from call to call, and is the same again for the same query at the same time.
#[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
fn random(evaluator: &Evaluator<'_>) -> Value {
    let mut state = evaluator.steps().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state ^= evaluator.now().timestamp().as_millisecond().unsigned_abs();
    for shift in [30, 27, 31] {
        state = (state ^ (state >> shift)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    Value::Number((state >> 11) as f64 / (1_u64 << 53) as f64)
}
