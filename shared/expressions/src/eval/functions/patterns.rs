use super::Function;
use super::shape::{any_null, each, unfit};
use crate::error::Result;
use crate::eval::Evaluator;
use crate::value::Value;

pub(super) const FUNCTIONS: &[(&str, Function)] =
    &[("regextest", test), ("regexmatch", matches), ("regexreplace", replace), ("split", split)];

fn test(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0, 1], &|arguments| match arguments {
        [Value::Text(pattern), Value::Text(text)] => {
            Ok(Value::Boolean(evaluator.pattern(pattern, "")?.regex().is_match(text)))
        }
        [_, _] if any_null(arguments) => Ok(Value::Boolean(false)),
        _ => Err(unfit("regextest", arguments)),
    })
}

fn matches(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0, 1], &|arguments| match arguments {
        [Value::Text(pattern), Value::Text(text)] => {
            let anchored = pattern.starts_with('^') || pattern.ends_with('$');
            let pattern = if anchored { pattern.to_string() } else { format!("^{pattern}$") };
            Ok(Value::Boolean(evaluator.pattern(&pattern, "")?.regex().is_match(text)))
        }
        [_, _] if any_null(arguments) => Ok(Value::Boolean(false)),
        _ => Err(unfit("regexmatch", arguments)),
    })
}

fn replace(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0, 1, 2], &|arguments| match arguments {
        [Value::Text(text), Value::Text(pattern), Value::Text(by)] => {
            let pattern = evaluator.pattern(pattern, "g")?;
            // Each replacement may repeat what it matched.
            let most = pattern.regex().find_iter(text).count().saturating_mul(by.len() + 1);
            evaluator.make(text.len().saturating_add(most))?;
            Ok(pattern.replace(text, by, true).into())
        }
        [_, _, _] if any_null(arguments) => Ok(Value::Null),
        _ => Err(unfit("regexreplace", arguments)),
    })
}

fn split(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let (text, pattern, limit) = match arguments {
        [Value::Text(text), Value::Text(pattern)] => (text, pattern, usize::MAX),
        [Value::Text(text), Value::Text(pattern), Value::Number(limit)] => {
            // Below zero is no limit.
            let limit = if *limit < 0.0 { usize::MAX } else { crate::numbers::index(*limit, 1 << 20) };
            (text, pattern, limit)
        }
        [_, _] | [_, _, _] if any_null(arguments) => return Ok(Value::Null),
        _ => return Err(unfit("split", arguments)),
    };
    let parts = evaluator.pattern(pattern, "")?.split(text, limit);
    evaluator.spend(parts.len())?;
    Ok(Value::list(parts.into_iter().map(Value::from).collect()))
}
