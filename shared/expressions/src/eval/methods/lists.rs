use std::sync::Arc;

use super::Call;
use crate::error::{Error, Result};
use crate::eval::functions::{flattened, joined, merge_sort, sliced};
use crate::eval::{Evaluator, Names};
use crate::syntax::Expr;
use crate::value::Value;

pub(super) const NAMES: &[&str] = &[
    "contains",
    "containsAll",
    "containsAny",
    "filter",
    "flat",
    "join",
    "map",
    "reduce",
    "reverse",
    "slice",
    "sort",
    "unique",
    "mean",
    "sum",
];

/// `filter`, `map` and `reduce`: their expression is evaluated for each entry, as `value`, with its `index`, and `acc` so far.
pub(super) fn each(
    evaluator: &Evaluator<'_>,
    name: &str,
    items: &Arc<Vec<Value>>,
    arguments: &[Expr],
    names: &Names<'_>,
) -> Result<Value> {
    let of = |index: usize, value: &Value| names.with("value", value.clone()).with("index", index.into());
    match (name, arguments) {
        ("filter", [by]) => {
            let mut kept = Vec::new();
            for (index, item) in items.iter().enumerate() {
                if evaluator.truth(&evaluator.eval(by, &of(index, item))?) {
                    kept.push(item.clone());
                }
            }
            Ok(Value::list(kept))
        }
        ("map", [by]) => {
            let mapped = items.iter().enumerate().map(|(index, item)| evaluator.eval(by, &of(index, item)));
            Ok(Value::list(mapped.collect::<Result<_>>()?))
        }
        ("reduce", [by, first]) => {
            let first = evaluator.eval(first, names)?;
            items
                .iter()
                .enumerate()
                .try_fold(first, |acc, (index, item)| evaluator.eval(by, &of(index, item).with("acc", acc)))
        }
        ("reduce", _) => Err(Error::evaluation("reduce takes an expression and the value to begin with")),
        _ => Err(Error::evaluation(format!("{name} takes one expression"))),
    }
}

pub(super) fn call(evaluator: &Evaluator<'_>, call: &Call<'_>, items: &[Value]) -> Result<Option<Value>> {
    evaluator.spend(items.len())?;
    let has = |wanted: &Value| any_equal(evaluator, items, wanted);
    let numbers = || items.iter().filter_map(Value::as_amount);
    Ok(Some(match (call.name, call.arguments) {
        ("contains", [wanted]) => has(wanted)?.into(),
        ("containsAll", wanted) => {
            wanted.iter().map(has).collect::<Result<Vec<_>>>()?.into_iter().all(|has| has).into()
        }
        ("containsAny", wanted) => wanted.iter().map(has).collect::<Result<Vec<_>>>()?.contains(&true).into(),
        ("flat", []) => {
            let mut flat = Vec::new();
            flattened(evaluator, items, 40, &mut flat)?;
            Value::list(flat)
        }
        ("join", [Value::Text(separator)]) => joined(evaluator, items, separator)?,
        ("join", []) => joined(evaluator, items, ",")?,
        ("reverse", []) => Value::list(items.iter().rev().cloned().collect()),
        ("slice", [Value::Number(start)]) => Value::list(sliced(items, *start, None)),
        ("slice", [Value::Number(start), Value::Number(end)]) => Value::list(sliced(items, *start, Some(*end))),
        ("sort", []) => sort(evaluator, items)?,
        ("unique", []) => {
            let mut kept: Vec<Value> = Vec::new();
            for item in items {
                evaluator.spend(kept.len())?;
                if !any_equal(evaluator, &kept, item)? {
                    kept.push(item.clone());
                }
            }
            Value::list(kept)
        }
        ("sum", []) => numbers().sum::<f64>().into(),
        ("mean", []) => match numbers().count() {
            0 => Value::Null,
            count => (numbers().sum::<f64>() / Value::from(count).as_number().unwrap_or(1.0)).into(),
        },
        (name, _) if NAMES.contains(&name) => return Err(call.unfit()),
        _ => return Ok(None),
    }))
}

/// Whether one of the entries is equal to the value.
fn any_equal(evaluator: &Evaluator<'_>, items: &[Value], wanted: &Value) -> Result<bool> {
    for item in items {
        if evaluator.equal(item, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn sort(evaluator: &Evaluator<'_>, items: &[Value]) -> Result<Value> {
    let compare = &mut |left: &Value, right: &Value| {
        evaluator.spend(1)?;
        evaluator.sorted(left, right)
    };
    Ok(Value::list(merge_sort(items.to_vec(), compare)?))
}
