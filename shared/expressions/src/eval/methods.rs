//! Bases' functions: some stand alone, most belong to a value.
//!
//! # Layout
//! - here: which function is called; `global`: those that stand alone
//! - `text`, `numbers`, `dates`, `lists`, `files`: those of values

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::eval::{Evaluator, Names};
use crate::syntax::{Expr, Node};
use crate::value::Value;

pub(crate) use dates::{read_date, read_duration};
pub use files::has_tag;

mod dates;
mod files;
mod global;
mod lists;
mod numbers;
mod text;

/// A call: what it is called on, and with what.
struct Call<'c> {
    name: &'c str,
    on: &'c Value,
    arguments: &'c [Value],
}

impl Call<'_> {
    fn unfit(&self) -> Error {
        let types: Vec<_> = self.arguments.iter().map(type_name).collect();
        Error::evaluation(format!(
            "{}.{}() takes no arguments of the types: {}",
            type_name(self.on),
            self.name,
            types.join(", ")
        ))
    }

    /// The one argument, as text.
    fn text(&self) -> Result<&Arc<str>> {
        if let [Value::Text(text)] = self.arguments { Ok(text) } else { Err(self.unfit()) }
    }
}

/// Bases' name of a value's type.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::List(_) => "list",
        Value::Page(_) | Value::File(_) => "file",
        other => other.type_name(),
    }
}

/// Calls a function. What it is given is evaluated here, since some functions do so more than once, or not at all.
pub(crate) fn invoke(
    evaluator: &Evaluator<'_>,
    function: &Expr,
    arguments: &[Expr],
    names: &Names<'_>,
) -> Result<Value> {
    let evaluated = || arguments.iter().map(|argument| evaluator.eval(argument, names)).collect::<Result<Vec<_>>>();
    match &function.node {
        Node::Variable(name) if &**name == "if" => global::choose(evaluator, arguments, names),
        Node::Variable(name) => global::call(evaluator, name, &evaluated()?),
        Node::Index(on, name) => {
            let is_tags = is_tags_of_file(on);
            let on = evaluator.eval(on, names)?;
            let Some(name) = name.as_text() else {
                return Err(Error::evaluation("write the function's name after a point"));
            };
            if let (Value::List(items), "filter" | "map" | "reduce") = (&on, name) {
                return lists::each(evaluator, name, items, arguments, names);
            }
            let mut arguments = evaluated()?;
            let on = match &on {
                // Tags are asked for with `#` or without.
                Value::List(tags) if is_tags && name.starts_with("contains") => {
                    arguments.iter_mut().for_each(|argument| *argument = without_sign(argument));
                    Value::list(tags.iter().map(without_sign).collect())
                }
                _ => on,
            };
            method(evaluator, &Call { name, on: &on, arguments: &arguments })
        }
        _ => Err(Error::evaluation("only a name can be called")),
    }
}

/// Whether it is `file.tags`, or those of another file.
fn is_tags_of_file(expr: &Expr) -> bool {
    let Node::Index(object, name) = &expr.node else { return false };
    name.as_text() == Some("tags") && is_file(object)
}

/// Whether an expression gives a file, by how it is written: `file`, `this.file`, and in Bases `file("path")` and `link.asFile()`.
pub(crate) fn is_file(expr: &Expr) -> bool {
    match &expr.node {
        Node::Variable(name) => &**name == "file",
        Node::Index(_, name) => name.as_text() == Some("file"),
        Node::Call(function, _) => match &function.node {
            Node::Index(_, name) => name.as_text() == Some("asFile"),
            _ => function.as_name() == Some("file"),
        },
        _ => false,
    }
}

/// A tag without its `#`.
fn without_sign(tag: &Value) -> Value {
    tag.as_text().and_then(|text| text.strip_prefix('#')).map_or_else(|| tag.clone(), Value::from)
}

fn method(evaluator: &Evaluator<'_>, call: &Call<'_>) -> Result<Value> {
    evaluator.read(call.arguments.iter().chain([call.on]))?;
    match (call.name, call.arguments) {
        ("isTruthy", []) => return Ok(Value::Boolean(evaluator.truth(call.on))),
        ("isType", [Value::Text(name)]) => return Ok(Value::Boolean(is_type(call.on, name))),
        ("toString", []) => return Ok(evaluator.shown(call.on)?.into()),
        ("isEmpty", []) => return Ok(Value::Boolean(is_empty(call.on))),
        _ => {}
    }
    let own = match call.on {
        Value::Text(text) => text::call(evaluator, call, text)?,
        Value::Number(number) => numbers::call(call, *number)?,
        Value::Duration(duration) => numbers::call(call, duration.millis())?,
        Value::Date(date) => dates::call(evaluator, call, date)?,
        Value::List(items) => lists::call(evaluator, call, items)?,
        Value::Link(link) => files::link(evaluator, call, link)?,
        Value::File(path) => files::call(evaluator, call, path)?,
        Value::Page(page) => files::call(evaluator, call, &page.path)?,
        Value::Object(object) => match (call.name, call.arguments) {
            ("keys", []) => Some(Value::list(object.keys().cloned().map(Value::Text).collect())),
            ("values", []) => Some(Value::list(object.values().cloned().collect())),
            _ => None,
        },
        Value::Regex(pattern) => match call.name {
            "matches" => Some(Value::Boolean(pattern.regex().is_match(call.text()?))),
            _ => None,
        },
        // A property that a note has not: asking whether it has something is no error, and the rest is nothing.
        Value::Null if call.name.starts_with("contains") || matches!(call.name, "startsWith" | "endsWith") => {
            Some(false.into())
        }
        Value::Null if is_method(call.name) => Some(Value::Null),
        _ => None,
    };
    own.ok_or_else(|| Error::evaluation(format!("there is no function \"{}\" of {}", call.name, type_name(call.on))))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

fn is_type(value: &Value, name: &str) -> bool {
    match (value, name) {
        (Value::List(_), "array") | (Value::File(_) | Value::Page(_), "object") => true,
        _ => type_name(value) == name,
    }
}

/// Whether any kind of value has a function of that name.
fn is_method(name: &str) -> bool {
    [text::NAMES, numbers::NAMES, dates::NAMES, lists::NAMES, files::NAMES, &["keys", "values", "matches"]]
        .iter()
        .any(|names| names.contains(&name))
}

/// Names of all functions: those that stand alone, then those of values.
pub(crate) fn names() -> (Vec<&'static str>, Vec<&'static str>) {
    let any: &[&'static str] = &["isTruthy", "isType", "toString", "isEmpty", "keys", "values", "matches"];
    let of_values = [any, text::NAMES, numbers::NAMES, dates::NAMES, lists::NAMES, files::NAMES].concat();
    (global::NAMES.to_vec(), of_values)
}
