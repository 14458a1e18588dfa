use super::Call;
use crate::error::Result;
use crate::numbers;
use crate::value::Value;

pub(super) const NAMES: &[&str] = &["abs", "ceil", "floor", "round", "toFixed"];

pub(super) fn call(call: &Call<'_>, number: f64) -> Result<Option<Value>> {
    Ok(Some(match (call.name, call.arguments) {
        ("abs", []) => number.abs().into(),
        ("ceil", []) => number.ceil().into(),
        ("floor", []) => number.floor().into(),
        ("round", []) => numbers::round(number).into(),
        ("round", [Value::Number(digits)]) => {
            let digits = numbers::index(digits.max(0.0), 100);
            numbers::fixed(number, digits).parse::<f64>().unwrap_or(number).into()
        }
        ("toFixed", []) => numbers::fixed(number, 0).into(),
        ("toFixed", [Value::Number(digits)]) => numbers::fixed(number, numbers::index(digits.max(0.0), 100)).into(),
        (name, _) if NAMES.contains(&name) => return Err(call.unfit()),
        _ => return Ok(None),
    }))
}
