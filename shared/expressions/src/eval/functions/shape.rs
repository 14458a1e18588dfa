use crate::error::{Error, Result};
use crate::eval::Evaluator;
use crate::value::Value;

/// That no form of the function takes such arguments.
pub(super) fn unfit(name: &str, arguments: &[Value]) -> Error {
    let types: Vec<_> = arguments.iter().map(Value::type_name).collect();
    Error::evaluation(format!("{name} takes no arguments of the types: {}", types.join(", ")))
}

/// Calls `function` once for each entry, if one of the arguments at `positions` is a list: as often as the shortest of these lists
/// has entries. The result is a list then.
pub(super) fn each(
    evaluator: &Evaluator<'_>,
    arguments: &[Value],
    positions: &[usize],
    function: &dyn Fn(&[Value]) -> Result<Value>,
) -> Result<Value> {
    each_in(evaluator, arguments, positions, function, 0)
}

fn each_in(
    evaluator: &Evaluator<'_>,
    arguments: &[Value],
    positions: &[usize],
    function: &dyn Fn(&[Value]) -> Result<Value>,
    depth: usize,
) -> Result<Value> {
    let lists = || positions.iter().filter_map(|at| arguments.get(*at).and_then(Value::as_list));
    let Some(count) = lists().map(<[Value]>::len).min() else { return function(arguments) };
    if depth > 40 {
        return Err(Error::limit("lists may nest 40 deep"));
    }
    evaluator.spend(count)?;
    let mut results = Vec::new();
    for entry in 0..count {
        let own = arguments.iter().enumerate().map(|(at, argument)| match argument.as_list() {
            Some(list) if positions.contains(&at) => list.get(entry).cloned().unwrap_or_default(),
            _ => argument.clone(),
        });
        let own: Vec<_> = own.collect();
        evaluator.read(&own)?;
        results.push(each_in(evaluator, &own, positions, function, depth + 1)?);
    }
    Ok(Value::list(results))
}

/// Whether an argument is nothing.
pub(super) fn any_null(arguments: &[Value]) -> bool {
    arguments.iter().any(Value::is_null)
}
