use std::sync::Arc;

use super::Call;
use crate::error::Result;
use crate::eval::Evaluator;
use crate::eval::functions::{replaced, sliced};
use crate::value::Value;

pub(super) const NAMES: &[&str] = &[
    "contains",
    "containsAll",
    "containsAny",
    "endsWith",
    "lower",
    "upper",
    "replace",
    "repeat",
    "reverse",
    "slice",
    "split",
    "startsWith",
    "title",
    "trim",
];

pub(super) fn call(evaluator: &Evaluator<'_>, call: &Call<'_>, text: &Arc<str>) -> Result<Option<Value>> {
    let texts =
        || call.arguments.iter().map(|value| value.as_text().ok_or_else(|| call.unfit())).collect::<Result<Vec<_>>>();
    Ok(Some(match (call.name, call.arguments) {
        ("contains", _) => text.contains(&**call.text()?).into(),
        ("containsAll", _) => texts()?.into_iter().all(|part| text.contains(part)).into(),
        ("containsAny", _) => texts()?.into_iter().any(|part| text.contains(part)).into(),
        ("startsWith", _) => text.starts_with(&**call.text()?).into(),
        ("endsWith", _) => text.ends_with(&**call.text()?).into(),
        ("lower", []) => text.to_lowercase().into(),
        ("upper", []) => text.to_uppercase().into(),
        ("reverse", []) => text.chars().rev().collect::<String>().into(),
        ("trim", []) => text.trim_matches(crate::emoji::is_space).into(),
        ("title", []) => title(text).into(),
        ("repeat", [Value::Number(count)]) => evaluator.repeated(text, *count)?,
        ("replace", [Value::Text(part), Value::Text(by)]) => replaced(evaluator, text, part, by)?.into(),
        ("replace", [Value::Regex(pattern), Value::Text(by)]) => {
            let most = pattern.regex().find_iter(text).count().saturating_mul(by.len() + 1);
            evaluator.make(text.len().saturating_add(most))?;
            pattern.replace(text, by, pattern.global()).into()
        }
        ("slice", [Value::Number(start)]) => cut(text, *start, None),
        ("slice", [Value::Number(start), Value::Number(end)]) => cut(text, *start, Some(*end)),
        ("split", [separator, rest @ ..]) => {
            let limit = match rest {
                [] => usize::MAX,
                [Value::Number(limit)] => crate::numbers::index(limit.max(0.0), 1 << 20),
                _ => return Err(call.unfit()),
            };
            let parts: Vec<Value> = match separator {
                Value::Text(part) if part.is_empty() => {
                    text.chars().take(limit).map(|char| char.to_string().into()).collect()
                }
                Value::Text(part) => text.split(&**part).take(limit).map(Value::from).collect(),
                Value::Regex(pattern) => pattern.split(text, limit).into_iter().map(Value::from).collect(),
                _ => return Err(call.unfit()),
            };
            evaluator.spend(parts.len())?;
            Value::list(parts)
        }
        (name, _) if NAMES.contains(&name) => return Err(call.unfit()),
        _ => return Ok(None),
    }))
}

fn cut(text: &str, start: f64, end: Option<f64>) -> Value {
    let chars: Vec<char> = text.chars().collect();
    sliced(&chars, start, end).into_iter().collect::<String>().into()
}

/// The first letter of each word large.
fn title(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut inside = false;
    for char in text.chars() {
        if inside {
            written.push(char);
        } else {
            written.extend(char.to_uppercase());
        }
        inside = char.is_alphanumeric() || char == '\'' || char == '’';
    }
    written
}
