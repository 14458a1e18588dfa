use super::Function;
use super::shape::{each, unfit};
use crate::error::{Error, Result};
use crate::eval::Evaluator;
use crate::pages::file_fields;
use crate::value::Value;
use crate::{Dialect, regexes};

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("contains", |evaluator, arguments| contains(evaluator, "contains", arguments, Mode::Deep)),
    ("icontains", |evaluator, arguments| contains(evaluator, "icontains", arguments, Mode::AnyCase)),
    ("econtains", |evaluator, arguments| contains(evaluator, "econtains", arguments, Mode::Exact)),
    ("containsword", contains_word),
];

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// Entries of lists are looked into.
    Deep,
    /// So are they, and texts match in any case.
    AnyCase,
    /// Entries of lists are compared whole.
    Exact,
}

fn contains(evaluator: &Evaluator<'_>, name: &str, arguments: &[Value], mode: Mode) -> Result<Value> {
    each(evaluator, arguments, &[1], &|arguments| match arguments {
        [hay, needle] => Ok(Value::Boolean(found(evaluator, hay, needle, mode, 0)?)),
        _ => Err(unfit(name, arguments)),
    })
}

fn found(evaluator: &Evaluator<'_>, hay: &Value, needle: &Value, mode: Mode, depth: usize) -> Result<bool> {
    evaluator.spend(1)?;
    evaluator.read([hay, needle])?;
    if depth > 40 {
        return Err(Error::limit("lists may nest 40 deep"));
    }
    Ok(match (hay, needle) {
        (Value::List(items), _) => {
            for item in items.iter() {
                let own = match mode {
                    Mode::Exact => {
                        evaluator.spend(1)?;
                        evaluator.compare(needle, item)?.is_eq()
                    }
                    // An entry against a list: as if it were asked for each of its entries, which is a list, and is not true.
                    _ => found(evaluator, item, needle, mode, depth + 1)?,
                };
                if own {
                    return Ok(true);
                }
            }
            false
        }
        (Value::Text(hay), Value::Text(needle)) if mode == Mode::AnyCase => {
            hay.to_lowercase().contains(&needle.to_lowercase())
        }
        (Value::Text(hay), Value::Text(needle)) => hay.contains(&**needle),
        (Value::Object(object), Value::Text(key)) => object.contains_key(key),
        (Value::Page(page), Value::Text(key)) => {
            &**key == "file" || page.over.contains_key(key) || evaluator.pages().property(&page.path, key).is_some()
        }
        (Value::File(_), Value::Text(key)) => file_fields(Dialect::Dataview).contains(&&**key),
        _ => evaluator.compare(hay, needle)?.is_eq(),
    })
}

fn contains_word(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0, 1], &|arguments| match arguments {
        [Value::Text(hay), Value::Text(needle)] => {
            let pattern = format!(r"\b{}\b", regexes::escape(needle));
            Ok(Value::Boolean(evaluator.pattern(&pattern, "i")?.regex().is_match(hay)))
        }
        [Value::Null, _] | [_, Value::Null] => Ok(Value::Null),
        _ => Err(unfit("containsword", arguments)),
    })
}
