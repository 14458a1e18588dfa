use super::Function;
use super::shape::{each, unfit};
use crate::error::Result;
use crate::eval::Evaluator;
use crate::time::write;
use crate::value::Value;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("striptime", strip_time),
    ("dateformat", date_format),
    ("durationformat", duration_format),
    ("localtime", local_time),
];

fn strip_time(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0], &|arguments| match arguments {
        [Value::Date(date)] => Ok(Value::date(date.day_in(evaluator.now().time_zone())?)),
        [Value::Null] => Ok(Value::Null),
        _ => Err(unfit("striptime", arguments)),
    })
}

fn date_format(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0], &|arguments| match arguments {
        [Value::Date(date), Value::Text(format)] => Ok(write::luxon(date.zoned(), format)?.into()),
        [Value::Null, Value::Text(_)] => Ok(Value::Null),
        _ => Err(unfit("dateformat", arguments)),
    })
}

fn duration_format(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0], &|arguments| match arguments {
        [Value::Duration(duration), Value::Text(format)] => Ok(write::duration(duration, format)?.into()),
        [Value::Null, Value::Text(_)] => Ok(Value::Null),
        _ => Err(unfit("durationformat", arguments)),
    })
}

fn local_time(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, &[0], &|arguments| match arguments {
        [Value::Date(date)] => Ok(Value::date(date.within(evaluator.now().time_zone()))),
        [Value::Null] => Ok(Value::Null),
        _ => Err(unfit("localtime", arguments)),
    })
}
