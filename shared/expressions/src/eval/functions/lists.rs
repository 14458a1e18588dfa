use std::cmp::Ordering;

use super::Function;
use super::shape::{each, unfit};
use crate::error::{Error, Result};
use crate::eval::Evaluator;
use crate::value::{Function as Written, MAX_VALUE_BYTES, Object, Value};

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("extract", extract),
    ("sort", sort),
    ("reverse", reverse),
    ("length", length),
    ("nonnull", non_null),
    ("firstvalue", first_value),
    ("all", |evaluator, arguments| quantified(evaluator, arguments, |values, count| count == values)),
    ("any", |evaluator, arguments| quantified(evaluator, arguments, |_, count| count > 0)),
    ("none", |evaluator, arguments| quantified(evaluator, arguments, |_, count| count == 0)),
    ("join", join),
    ("filter", filter),
    ("map", map),
    ("flat", flat),
    ("slice", slice),
    ("unique", unique),
];

/// Sorts so that equal values keep their order. `compare` need not be a total order; it only decides less then.
pub(crate) fn merge_sort<T>(values: Vec<T>, compare: &mut dyn FnMut(&T, &T) -> Result<Ordering>) -> Result<Vec<T>> {
    let mut sorted: Vec<(usize, &T)> = values.iter().enumerate().collect();
    let mut width = 1;
    while width < sorted.len() {
        let mut merged = Vec::with_capacity(sorted.len());
        for pair in sorted.chunks(width * 2) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let ([first, after @ ..], [second, behind @ ..]) = (left, right) {
                if compare(second.1, first.1)?.is_lt() {
                    merged.push(*second);
                    right = behind;
                } else {
                    merged.push(*first);
                    left = after;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        sorted = merged;
        width *= 2;
    }
    let order: Vec<usize> = sorted.into_iter().map(|(at, _)| at).collect();
    let mut values: Vec<Option<T>> = values.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| values.get_mut(at)?.take()).collect())
}

/// The values of which none is the same as the one kept before it.
pub(crate) fn without_repeats<T>(values: Vec<T>, same: &mut dyn FnMut(&T, &T) -> Result<bool>) -> Result<Vec<T>> {
    let mut kept: Vec<T> = Vec::with_capacity(values.len());
    for value in values {
        let repeats = kept.last().map(|last| same(&value, last)).transpose()?;
        if repeats != Some(true) {
            kept.push(value);
        }
    }
    Ok(kept)
}

fn extract(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0], &|arguments| {
        let Some((object, keys)) = arguments.split_first() else {
            return Err(Error::evaluation("extract takes an object and names"));
        };
        let mut extracted = Object::new();
        for key in keys {
            let Value::Text(name) = key else {
                return Err(Error::evaluation("the names that extract takes are texts"));
            };
            extracted.insert(name.clone(), evaluator.element(object, key)?);
        }
        Ok(Value::object(extracted))
    })
}

fn sort(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    match arguments {
        [Value::List(items)] => {
            let compare = &mut |left: &Value, right: &Value| {
                evaluator.spend(1)?;
                evaluator.compare(left, right)
            };
            Ok(Value::list(merge_sort((**items).clone(), compare)?))
        }
        [Value::List(items), Value::Function(key)] => {
            let keyed = items.iter().map(|item| Ok((evaluator.call(key, std::slice::from_ref(item))?, item.clone())));
            let keyed = keyed.collect::<Result<Vec<_>>>()?;
            let compare = &mut |left: &(Value, Value), right: &(Value, Value)| {
                evaluator.spend(1)?;
                evaluator.compare(&left.0, &right.0)
            };
            Ok(Value::list(merge_sort(keyed, compare)?.into_iter().map(|(_, item)| item).collect()))
        }
        [value] => Ok(value.clone()),
        _ => Err(unfit("sort", arguments)),
    }
}

fn reverse(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    match arguments {
        [Value::List(items)] => {
            evaluator.spend(items.len())?;
            Ok(Value::list(items.iter().rev().cloned().collect()))
        }
        [Value::Text(text)] => Ok(text.chars().rev().collect::<String>().into()),
        [value] => Ok(value.clone()),
        _ => Err(unfit("reverse", arguments)),
    }
}

fn length(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    match arguments {
        [Value::List(items)] => Ok(items.len().into()),
        [Value::Object(entries)] => Ok(entries.len().into()),
        [Value::Page(page)] => Ok((evaluator.pages().properties(&page.path).len() + page.over.len() + 1).into()),
        [Value::Text(text)] => Ok(text.encode_utf16().count().into()),
        [Value::Null] => Ok(Value::Number(0.0)),
        _ => Err(unfit("length", arguments)),
    }
}

/// The entries of the one list that is given, or else the arguments.
fn entries(arguments: &[Value]) -> &[Value] {
    if let [Value::List(items)] = arguments { items } else { arguments }
}

fn non_null(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let entries = entries(arguments);
    evaluator.spend(entries.len())?;
    Ok(Value::list(entries.iter().filter(|value| !value.is_null()).cloned().collect()))
}

fn first_value(_: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    match arguments {
        [Value::List(items)] => Ok(items.iter().find(|item| !item.is_null()).cloned().unwrap_or_default()),
        [Value::Null] => Ok(Value::Null),
        _ => Err(unfit("firstvalue", arguments)),
    }
}

/// Counts the true ones of the arguments, or of a list's entries, or of what a function says of them; `holds` is given how many there
/// are, and how many are true.
fn quantified(evaluator: &Evaluator<'_>, arguments: &[Value], holds: fn(usize, usize) -> bool) -> Result<Value> {
    let (values, by) = match arguments {
        [Value::List(items), Value::Function(by)] => (items.as_slice(), Some(by)),
        _ => (entries(arguments), None),
    };
    evaluator.spend(values.len())?;
    let mut count = 0;
    for value in values {
        let truth = match by {
            Some(by) => evaluator.truth(&evaluator.call(by, std::slice::from_ref(value))?),
            None => evaluator.truth(value),
        };
        count += usize::from(truth);
    }
    Ok(Value::Boolean(holds(values.len(), count)))
}

/// Texts with something between them.
pub(crate) fn joined(evaluator: &Evaluator<'_>, items: &[Value], separator: &str) -> Result<Value> {
    let mut text = String::new();
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text.push_str(separator);
        }
        text.push_str(&evaluator.shown(item)?);
        evaluator.spend(1)?;
        if text.len() > MAX_VALUE_BYTES {
            evaluator.make(text.len())?;
        }
    }
    Ok(text.into())
}

fn join(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let positions: &[usize] = if arguments.len() == 2 { &[1] } else { &[] };
    each(evaluator, arguments, positions, &|arguments| match arguments {
        [Value::List(items), Value::Text(separator)] => joined(evaluator, items, separator),
        [Value::List(items)] | [Value::List(items), Value::Null] => joined(evaluator, items, ", "),
        [value] | [value, Value::Text(_)] => Ok(evaluator.shown(value)?.into()),
        _ => Err(unfit("join", arguments)),
    })
}

fn filter(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    match arguments {
        [Value::List(items), Value::Function(by)] => {
            let mut kept = Vec::new();
            for item in items.iter() {
                if evaluator.truth(&evaluator.call(by, std::slice::from_ref(item))?) {
                    kept.push(item.clone());
                }
            }
            Ok(Value::list(kept))
        }
        [Value::Null, _] => Ok(Value::Null),
        _ => Err(unfit("filter", arguments)),
    }
}

fn map(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let apply = |by: &Written, item: &Value| evaluator.call(by, std::slice::from_ref(item));
    match arguments {
        [Value::List(items), Value::Function(by)] => {
            Ok(Value::list(items.iter().map(|item| apply(by, item)).collect::<Result<_>>()?))
        }
        [Value::Null, _] => Ok(Value::Null),
        _ => Err(unfit("map", arguments)),
    }
}

/// The list with the entries of lists in it in their place, so many levels deep.
pub(crate) fn flattened(
    evaluator: &Evaluator<'_>,
    items: &[Value],
    levels: usize,
    into: &mut Vec<Value>,
) -> Result<()> {
    evaluator.spend(items.len())?;
    for item in items {
        match item {
            Value::List(inner) if levels > 0 => flattened(evaluator, inner, levels - 1, into)?,
            _ => into.push(item.clone()),
        }
    }
    let bytes = into.len().saturating_mul(size_of::<Value>());
    if bytes > MAX_VALUE_BYTES { evaluator.make(bytes) } else { Ok(()) }
}

fn flat(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let (items, levels) = match arguments {
        [Value::List(items)] => (items, 1),
        [Value::List(items), Value::Number(levels)] => (items, crate::numbers::index(levels.max(0.0), 40)),
        [Value::Null] => return Ok(Value::Null),
        _ => return Err(unfit("flat", arguments)),
    };
    let mut flat = Vec::new();
    flattened(evaluator, items, levels, &mut flat)?;
    Ok(Value::list(flat))
}

/// The entries from `start` up to `end`; below 0 counts from the end.
pub(crate) fn sliced<T: Clone>(items: &[T], start: f64, end: Option<f64>) -> Vec<T> {
    let start = crate::numbers::index(start, items.len());
    let end = end.map_or(items.len(), |end| crate::numbers::index(end, items.len()));
    items.get(start..end).unwrap_or_default().to_vec()
}

fn slice(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let (items, start, end) = match arguments {
        [Value::List(items)] => (items, 0.0, None),
        [Value::List(items), Value::Number(start)] => (items, *start, None),
        [Value::List(items), Value::Number(start), Value::Number(end)] => (items, *start, Some(*end)),
        [Value::Null] => return Ok(Value::Null),
        _ => return Err(unfit("slice", arguments)),
    };
    evaluator.spend(items.len())?;
    Ok(Value::list(sliced(items, start, end)))
}

fn unique(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    match arguments {
        [Value::List(items)] => {
            let numbered: Vec<_> = items.iter().cloned().enumerate().collect();
            let compare = &mut |left: &(usize, Value), right: &(usize, Value)| {
                evaluator.spend(1)?;
                evaluator.compare(&left.1, &right.1)
            };
            let same = &mut |later: &(usize, Value), earlier: &(usize, Value)| {
                Ok(evaluator.compare(&later.1, &earlier.1)?.is_eq())
            };
            let mut sorted = without_repeats(merge_sort(numbered, compare)?, same)?;
            sorted.sort_by_key(|(at, _)| *at);
            Ok(Value::list(sorted.into_iter().map(|(_, item)| item).collect()))
        }
        [Value::Null] => Ok(Value::Null),
        _ => Err(unfit("unique", arguments)),
    }
}
