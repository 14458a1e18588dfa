use std::cmp::Ordering;

use super::Function;
use super::shape::{each, unfit};
use crate::error::{Error, Result};
use crate::eval::Evaluator;
use crate::numbers;
use crate::syntax::Operator;
use crate::value::Value;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("round", round),
    ("trunc", |evaluator, arguments| single(evaluator, "trunc", arguments, f64::trunc)),
    ("floor", |evaluator, arguments| single(evaluator, "floor", arguments, f64::floor)),
    ("ceil", |evaluator, arguments| single(evaluator, "ceil", arguments, f64::ceil)),
    ("min", |evaluator, arguments| extreme(evaluator, arguments, Ordering::Less)),
    ("max", |evaluator, arguments| extreme(evaluator, arguments, Ordering::Greater)),
    ("minby", |evaluator, arguments| extreme_by(evaluator, "minby", arguments, Ordering::Less)),
    ("maxby", |evaluator, arguments| extreme_by(evaluator, "maxby", arguments, Ordering::Greater)),
    ("sum", |evaluator, arguments| total(evaluator, "sum", arguments, Operator::Plus)),
    ("product", |evaluator, arguments| total(evaluator, "product", arguments, Operator::Times)),
    ("average", average),
    ("reduce", reduce),
];

fn single(evaluator: &Evaluator<'_>, name: &str, arguments: &[Value], change: fn(f64) -> f64) -> Result<Value> {
    each(evaluator, arguments, &[0], &|arguments| match arguments {
        [Value::Number(number)] => Ok(Value::Number(change(*number))),
        [Value::Null] => Ok(Value::Null),
        _ => Err(unfit(name, arguments)),
    })
}

fn round(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0], &|arguments| match arguments {
        [Value::Null] | [Value::Null, _] => Ok(Value::Null),
        [Value::Number(number)] | [Value::Number(number), Value::Null] => Ok(Value::Number(numbers::round(*number))),
        [Value::Number(number), Value::Number(places)] if *places < 1.0 => {
            // Places between 0 and 1 are none; below, all digits after the point go.
            Ok(Value::Number(if *places <= 0.0 { numbers::round(*number) } else { fixed(*number, 0.0)? }))
        }
        [Value::Number(number), Value::Number(places)] => Ok(Value::Number(fixed(*number, *places)?)),
        _ => Err(unfit("round", arguments)),
    })
}

fn fixed(number: f64, places: f64) -> Result<f64> {
    if places > 100.0 || places.is_nan() {
        return Err(Error::evaluation("round takes at most 100 digits"));
    }
    Ok(numbers::fixed(number, numbers::index(places, 100)).parse().unwrap_or(number))
}

/// The least (or greatest) of the arguments, or of the one list that is given. Nothing counts only if there is nothing else.
fn extreme(evaluator: &Evaluator<'_>, arguments: &[Value], wanted: Ordering) -> Result<Value> {
    let values = match arguments {
        [Value::List(items)] => items.as_slice(),
        [Value::Null] => return Ok(Value::Null),
        _ => arguments,
    };
    evaluator.spend(values.len())?;
    let mut best = Value::Null;
    for value in values {
        let better = best.is_null()
            || !value.is_null()
                && match evaluator.compare(&best, value)? {
                    Ordering::Less => wanted == Ordering::Greater,
                    Ordering::Equal => wanted == Ordering::Greater,
                    Ordering::Greater => wanted == Ordering::Less,
                };
        if better {
            best = value.clone();
        }
    }
    // A list in the only entry of a list is looked into too.
    match (values, &best) {
        ([Value::List(_)], Value::List(items)) => extreme(evaluator, items, wanted),
        _ => Ok(best),
    }
}

fn extreme_by(evaluator: &Evaluator<'_>, name: &str, arguments: &[Value], wanted: Ordering) -> Result<Value> {
    let [Value::List(items), Value::Function(by)] = arguments else {
        return if matches!(arguments, [Value::Null, Value::Function(_)]) {
            Ok(Value::Null)
        } else {
            Err(unfit(name, arguments))
        };
    };
    let mut best: Option<(Value, Value)> = None;
    for item in items.iter() {
        let key = evaluator.call(by, std::slice::from_ref(item))?;
        if key.is_null() {
            continue;
        }
        let order = best.as_ref().map(|(_, least)| evaluator.compare(least, &key)).transpose()?;
        let better = order.is_none_or(|order| match (order, wanted) {
            (Ordering::Greater, Ordering::Less) => true,
            (order, Ordering::Greater) => order != Ordering::Greater,
            _ => false,
        });
        if better {
            best = Some((item.clone(), key));
        }
    }
    Ok(best.map_or_else(|| items.first().cloned().unwrap_or_default(), |(item, _)| item))
}

fn total(evaluator: &Evaluator<'_>, name: &str, arguments: &[Value], operator: Operator) -> Result<Value> {
    match arguments {
        [Value::List(items)] => folded(evaluator, items, operator),
        [value] => Ok(value.clone()),
        _ => Err(unfit(name, arguments)),
    }
}

fn folded(evaluator: &Evaluator<'_>, items: &[Value], operator: Operator) -> Result<Value> {
    evaluator.spend(items.len())?;
    let Some((first, rest)) = items.split_first() else { return Ok(Value::Null) };
    rest.iter().try_fold(first.clone(), |total, item| evaluator.operate(operator, &total, item))
}

fn average(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    match arguments {
        [Value::List(items)] => {
            let sum = folded(evaluator, items, Operator::Plus)?;
            if sum.is_null() { Ok(sum) } else { evaluator.operate(Operator::Over, &sum, &items.len().into()) }
        }
        [value] => Ok(value.clone()),
        _ => Err(unfit("average", arguments)),
    }
}

fn reduce(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    if arguments.len() != 2 {
        return Err(unfit("reduce", arguments));
    }
    each(evaluator, arguments, &[1], &|arguments| match arguments {
        [Value::List(items), Value::Text(sign)] => {
            let operator = match &**sign {
                "+" => Operator::Plus,
                "-" => Operator::Minus,
                "*" => Operator::Times,
                "/" => Operator::Over,
                "&" => Operator::And,
                "|" => Operator::Or,
                _ if items.is_empty() => return Ok(Value::Null),
                _ => {
                    return Err(Error::evaluation(
                        "reduce takes \"+\", \"-\", \"*\", \"/\", \"&\", \"|\" or a function",
                    ));
                }
            };
            folded(evaluator, items, operator)
        }
        [Value::List(items), Value::Function(by)] => {
            let Some((first, rest)) = items.split_first() else { return Ok(Value::Null) };
            let rest = rest.iter().filter(|item| !item.is_null());
            let mut total = first.clone();
            for item in rest {
                total = evaluator.call(by, &[total, item.clone()])?;
            }
            Ok(total)
        }
        [Value::Null, _] | [_, Value::Null] => Ok(Value::Null),
        _ => Err(unfit("reduce", arguments)),
    })
}
