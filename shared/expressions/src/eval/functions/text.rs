use super::Function;
use super::shape::{any_null, each, unfit};
use crate::error::Result;
use crate::eval::Evaluator;
use crate::numbers;
use crate::value::{MAX_VALUE_BYTES, Value};

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("lower", |evaluator, arguments| changed(evaluator, "lower", arguments, str::to_lowercase)),
    ("upper", |evaluator, arguments| changed(evaluator, "upper", arguments, str::to_uppercase)),
    ("replace", replace),
    ("startswith", |evaluator, arguments| {
        tested(evaluator, "startswith", arguments, |text, part| text.starts_with(part))
    }),
    ("endswith", |evaluator, arguments| tested(evaluator, "endswith", arguments, |text, part| text.ends_with(part))),
    ("padleft", |evaluator, arguments| padded(evaluator, "padleft", arguments, true)),
    ("padright", |evaluator, arguments| padded(evaluator, "padright", arguments, false)),
    ("substring", substring),
    ("truncate", truncate),
];

fn changed(evaluator: &Evaluator<'_>, name: &str, arguments: &[Value], change: fn(&str) -> String) -> Result<Value> {
    each(evaluator, arguments, &[0], &|arguments| match arguments {
        [Value::Text(text)] => Ok(change(text).into()),
        [Value::Null] => Ok(Value::Null),
        _ => Err(unfit(name, arguments)),
    })
}

fn tested(evaluator: &Evaluator<'_>, name: &str, arguments: &[Value], test: fn(&str, &str) -> bool) -> Result<Value> {
    each(evaluator, arguments, &[0, 1], &|arguments| match arguments {
        [Value::Text(text), Value::Text(part)] => Ok(Value::Boolean(test(text, part))),
        [_, _] if any_null(arguments) => Ok(Value::Null),
        _ => Err(unfit(name, arguments)),
    })
}

fn replace(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0, 1, 2], &|arguments| match arguments {
        [Value::Text(text), Value::Text(part), Value::Text(by)] => Ok(replaced(evaluator, text, part, by)?.into()),
        [_, _, _] if any_null(arguments) => Ok(Value::Null),
        _ => Err(unfit("replace", arguments)),
    })
}

/// Every `part` of the text replaced. An empty part is between all characters.
pub(crate) fn replaced(evaluator: &Evaluator<'_>, text: &str, part: &str, by: &str) -> Result<String> {
    let count = if part.is_empty() { text.chars().count().saturating_sub(1) } else { text.matches(part).count() };
    evaluator.make(text.len().saturating_add(count.saturating_mul(by.len())))?;
    if !part.is_empty() {
        return Ok(text.replace(part, by));
    }
    let mut written = String::new();
    for (at, char) in text.chars().enumerate() {
        if at > 0 {
            written.push_str(by);
        }
        written.push(char);
    }
    Ok(written)
}

/// Lengths and places in texts are JavaScript's: a character beyond U+FFFF counts as two, and half of one is `�`.
fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn padded(evaluator: &Evaluator<'_>, name: &str, arguments: &[Value], left: bool) -> Result<Value> {
    let positions: &[usize] = if arguments.len() == 2 { &[0, 1] } else { &[0, 1, 2] };
    each(evaluator, arguments, positions, &|arguments| {
        let (text, length, with) = match arguments {
            [Value::Text(text), Value::Number(length)] => (text, *length, " "),
            [Value::Text(text), Value::Number(length), Value::Text(with)] => (text, *length, &**with),
            [_, _] | [_, _, _] if any_null(arguments) => return Ok(Value::Null),
            _ => return Err(unfit(name, arguments)),
        };
        let missing = numbers::index(length.max(0.0), MAX_VALUE_BYTES).saturating_sub(text.encode_utf16().count());
        if missing == 0 || with.is_empty() {
            return Ok(Value::Text(text.clone()));
        }
        evaluator.make(text.len().saturating_add(missing))?;
        let padding: Vec<u16> = with.encode_utf16().collect::<Vec<_>>().into_iter().cycle().take(missing).collect();
        let padding = String::from_utf16_lossy(&padding);
        Ok(Value::text(if left { padding + text } else { text.to_string() + &padding }))
    })
}

fn substring(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let positions: &[usize] = if arguments.len() == 2 { &[0, 1] } else { &[0, 1, 2] };
    each(evaluator, arguments, positions, &|arguments| {
        let (text, start, end) = match arguments {
            [Value::Text(text), Value::Number(start)] => (text, *start, f64::INFINITY),
            [Value::Text(text), Value::Number(start), Value::Number(end)] => (text, *start, *end),
            [_, _] | [_, _, _] if any_null(arguments) => return Ok(Value::Null),
            _ => return Err(unfit("substring", arguments)),
        };
        let units = units(text);
        let at = |place: f64| numbers::index(place.max(0.0), units.len());
        let (start, end) = (at(start), at(end));
        Ok(String::from_utf16_lossy(units.get(start.min(end)..start.max(end)).unwrap_or_default()).into())
    })
}

fn truncate(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let positions: &[usize] = if arguments.len() == 2 { &[0, 1] } else { &[0, 1, 2] };
    each(evaluator, arguments, positions, &|arguments| {
        let (text, length, suffix) = match arguments {
            [Value::Text(text), Value::Number(length)] => (text, *length, "..."),
            [Value::Text(text), Value::Number(length), Value::Text(suffix)] => (text, *length, &**suffix),
            [_, _] | [_, _, _] if any_null(arguments) => return Ok(Value::Null),
            _ => return Err(unfit("truncate", arguments)),
        };
        let units = units(text);
        let room = length - Value::from(suffix.encode_utf16().count()).as_number().unwrap_or_default();
        if Value::from(units.len()).as_number().unwrap_or_default() <= room {
            return Ok(Value::Text(text.clone()));
        }
        let kept = units.get(..numbers::index(room.max(0.0), units.len())).unwrap_or_default();
        Ok((String::from_utf16_lossy(kept) + suffix).into())
    })
}
