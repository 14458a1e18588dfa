use std::sync::Arc;

use super::Function;
use super::shape::{each, unfit};
use crate::error::{Error, Result};
use crate::eval::Evaluator;
use crate::time::{read, stamp};
use crate::value::{Link, Object, Value, Widget};

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("object", object),
    ("list", list),
    ("array", list),
    ("date", date),
    ("dur", dur),
    ("number", number),
    ("string", string),
    ("link", link),
    ("embed", embed),
    ("elink", elink),
    ("typeof", type_of),
];

fn object(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    evaluator.spend(arguments.len())?;
    let (pairs, rest) = arguments.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Error::evaluation("object takes pairs: a name and its value"));
    }
    let mut object = Object::new();
    for [name, value] in pairs {
        let Value::Text(name) = name else { return Err(Error::evaluation("the names that object takes are texts")) };
        object.insert(name.clone(), value.clone());
    }
    Ok(Value::object(object))
}

fn list(_: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    Ok(Value::list(arguments.to_vec()))
}

fn date(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, if arguments.len() == 1 { &[0] } else { &[] }, &|arguments| {
        let zone = evaluator.now().time_zone();
        let whole = |text: &str| {
            let (written, length) = read::date(text)?;
            (length == text.len()).then(|| written.date(zone).ok()).flatten()
        };
        match arguments {
            [Value::Text(text)] => {
                let named = read::NAMED.iter().find(|name| **name == &**text);
                Ok(match named {
                    Some(name) => Value::date(read::named(name, evaluator.now())?),
                    None => whole(text).map_or(Value::Null, Value::date),
                })
            }
            [Value::Date(_) | Value::Null] => Ok(arguments.first().cloned().unwrap_or_default()),
            [Value::Link(link)] => {
                let shown = link.display.as_deref().and_then(whole);
                if let Some(date) = shown.or_else(|| whole(&link.path)) {
                    return Ok(Value::date(date));
                }
                let file = evaluator.member(&Value::Link(link.clone()), "file")?;
                evaluator.member(&file, "day")
            }
            [Value::Text(text), Value::Text(format)] => Ok(Value::date(stamp::read(text, format, evaluator.now())?)),
            [Value::Null, Value::Text(_)] => Ok(Value::Null),
            _ => Err(unfit("date", arguments)),
        }
    })
}

fn dur(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0], &|arguments| match arguments {
        [Value::Text(text)] => {
            let text = text.trim_matches(crate::emoji::is_space);
            let duration = read::duration(text).filter(|(_, length)| *length == text.len());
            Ok(duration.map_or(Value::Null, |(duration, _)| Value::duration(duration)))
        }
        [Value::Duration(_) | Value::Null] => Ok(arguments.first().cloned().unwrap_or_default()),
        _ => Err(unfit("dur", arguments)),
    })
}

fn number(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0], &|arguments| match arguments {
        [Value::Number(_) | Value::Null] => Ok(arguments.first().cloned().unwrap_or_default()),
        [Value::Text(text)] => Ok(first_number(text).into()),
        _ => Err(unfit("number", arguments)),
    })
}

/// The first number in the text.
fn first_number(text: &str) -> Option<f64> {
    let digit = text.find(|char: char| char.is_ascii_digit())?;
    let start = if text.get(..digit).is_some_and(|before| before.ends_with('-')) { digit - 1 } else { digit };
    read::number(text, start).map(|(number, _)| number)
}

fn string(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    match arguments {
        [value] => Ok(evaluator.shown(value)?.into()),
        _ => Err(unfit("string", arguments)),
    }
}

fn link(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let positions: &[usize] = match arguments.len() {
        1 => &[0],
        2 => &[0, 1],
        _ => &[],
    };
    each(evaluator, arguments, positions, &|arguments| {
        let to = |path: &Arc<str>| Link::file(evaluator.resolved(path).unwrap_or_else(|| path.clone()));
        Ok(match arguments {
            [Value::Null] | [Value::Null, _] => Value::Null,
            [Value::Text(path)] | [Value::Text(path), Value::Null] => Value::link(to(path)),
            [Value::Link(link)] | [Value::Link(link), Value::Null] => Value::Link(link.clone()),
            [Value::Text(path), Value::Text(display)] => {
                Value::link(Link { display: Some(display.clone()), ..to(path) })
            }
            [Value::Text(path), Value::Text(display), Value::Boolean(embed)] => {
                Value::link(Link { display: Some(display.clone()), embed: *embed, ..to(path) })
            }
            [Value::Link(link), Value::Text(display)] => {
                Value::link(Link { display: Some(display.clone()), ..(**link).clone() })
            }
            _ => return Err(unfit("link", arguments)),
        })
    })
}

fn embed(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let positions: &[usize] = if arguments.len() == 2 { &[0, 1] } else { &[0] };
    each(evaluator, arguments, positions, &|arguments| match arguments {
        [Value::Null] | [Value::Null, _] | [_, Value::Null] => Ok(Value::Null),
        [Value::Link(link)] => Ok(Value::link(Link { embed: true, ..(**link).clone() })),
        [Value::Link(link), Value::Boolean(embed)] => Ok(Value::link(Link { embed: *embed, ..(**link).clone() })),
        _ => Err(unfit("embed", arguments)),
    })
}

fn elink(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0], &|arguments| {
        let widget = |url: &Arc<str>, shown: &Arc<str>| {
            Value::Widget(Arc::new(Widget::ExternalLink(url.clone(), shown.clone())))
        };
        match arguments {
            [Value::Null] | [Value::Null, _] => Ok(Value::Null),
            [Value::Text(url)] | [Value::Text(url), Value::Null] => Ok(widget(url, url)),
            [Value::Text(url), Value::Text(shown)] => Ok(widget(url, shown)),
            _ => Err(unfit("elink", arguments)),
        }
    })
}

fn type_of(_: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    match arguments {
        [value] => Ok(value.type_name().into()),
        _ => Err(unfit("typeof", arguments)),
    }
}
