use crate::error::{Error, Result};
use crate::eval::functions::{merge_sort, without_repeats};
use crate::eval::{Evaluator, Names};
use crate::time::Date;
use crate::value::Value;

use super::document::Base;

/// A summary of the values of a column; one of the document goes before one of Bases of the same name.
pub(super) fn of(base: &Base, name: &str, values: &[Value], evaluator: &Evaluator<'_>) -> Result<Value> {
    if let Some(expr) = base.summaries.get(name) {
        let names = Names::of(Value::Null).with("values", Value::list(values.to_vec()));
        return evaluator.eval(expr, &names);
    }
    evaluator.spend(values.len())?;
    let numbers: Vec<f64> = values.iter().filter_map(Value::as_amount).collect();
    let dates = || values.iter().filter_map(|value| if let Value::Date(date) = value { Some(date) } else { None });
    let date = |date: Option<&std::sync::Arc<Date>>| date.map_or(Value::Null, |date| Value::Date(date.clone()));
    let count = |is: &dyn Fn(&Value) -> bool| Value::from(values.iter().filter(|value| is(value)).count());
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        _ => false,
    };
    let least = numbers.iter().copied().reduce(f64::min);
    let most = numbers.iter().copied().reduce(f64::max);
    let mean = || numbers.iter().sum::<f64>() / length(&numbers);
    Ok(match name {
        "Average" if numbers.is_empty() => Value::Null,
        "Average" => mean().into(),
        "Min" => least.into(),
        "Max" => most.into(),
        "Sum" => numbers.iter().sum::<f64>().into(),
        "Range" if numbers.is_empty() => {
            let (first, last) = (dates().min_by(|a, b| a.order(b)), dates().max_by(|a, b| a.order(b)));
            match (first, last) {
                (Some(first), Some(last)) => Value::duration(last.minus(first)?.normal()),
                _ => Value::Null,
            }
        }
        "Range" => most.zip(least).map(|(most, least)| most - least).into(),
        "Median" => median(&numbers)?.into(),
        "Stddev" if numbers.is_empty() => Value::Null,
        "Stddev" => {
            let mean = mean();
            (numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / length(&numbers)).sqrt().into()
        }
        "Earliest" => date(dates().min_by(|a, b| a.order(b))),
        "Latest" => date(dates().max_by(|a, b| a.order(b))),
        "Checked" => count(&|value| matches!(value, Value::Boolean(true))),
        "Unchecked" => count(&|value| matches!(value, Value::Boolean(false))),
        "Empty" => count(&empty),
        "Filled" => count(&|value| !empty(value)),
        "Unique" => {
            let compare = &mut |left: &Value, right: &Value| {
                evaluator.spend(1)?;
                evaluator.sorted(left, right)
            };
            let sorted = merge_sort(values.iter().filter(|value| !empty(value)).cloned().collect(), compare)?;
            without_repeats(sorted, &mut |later, earlier| evaluator.equal(later, earlier))?.len().into()
        }
        _ => return Err(Error::evaluation(format!("there is no summary \"{name}\": define it under \"summaries\""))),
    })
}

fn length(numbers: &[f64]) -> f64 {
    Value::from(numbers.len()).as_number().unwrap_or(1.0)
}

fn median(numbers: &[f64]) -> Result<Option<f64>> {
    let sorted = merge_sort(numbers.to_vec(), &mut |left, right| Ok(left.total_cmp(right)))?;
    let middle = sorted.len() / 2;
    let high = sorted.get(middle).copied();
    if sorted.len() % 2 == 1 {
        return Ok(high);
    }
    let low = middle.checked_sub(1).and_then(|at| sorted.get(at).copied());
    Ok(low.zip(high).map(|(low, high)| f64::midpoint(low, high)))
}
