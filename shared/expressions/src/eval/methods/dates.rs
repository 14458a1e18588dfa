use jiff::tz::TimeZone;

use super::Call;
use crate::error::Result;
use crate::eval::Evaluator;
use crate::time::{Date, Duration, Unit, read, write};
use crate::value::Value;

pub(super) const NAMES: &[&str] = &["date", "format", "time", "relative"];

pub(super) fn call(evaluator: &Evaluator<'_>, call: &Call<'_>, date: &Date) -> Result<Option<Value>> {
    Ok(Some(match (call.name, call.arguments) {
        ("date", []) => Value::date(date.day()?),
        ("format", [Value::Text(format)]) => write::moment(date.zoned(), format)?.into(),
        ("time", []) => write::moment(date.zoned(), "HH:mm:ss")?.into(),
        ("relative", []) => relative(date.millis() - Date::new(evaluator.now().clone(), true).millis()).into(),
        (name, _) if NAMES.contains(&name) => return Err(call.unfit()),
        _ => return Ok(None),
    }))
}

/// A date and perhaps a time, with a space or a `T` between: `2025-01-01 12:00:00`.
pub(crate) fn read_date(text: &str, zone: &TimeZone) -> Option<Date> {
    let text = text.trim();
    let joined = match (text.get(..10), text.get(10..)) {
        (Some(day), Some(rest)) if rest.starts_with(' ') => format!("{day}T{}", rest.trim_start()),
        _ => text.to_owned(),
    };
    let (written, length) = read::date(&joined)?;
    if length == joined.len() { written.date(zone).ok() } else { None }
}

/// Numbers with units: `1M`, `2 weeks`, `1d 2h`. `M` is a month and `m` a minute.
pub(crate) fn read_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let mut total: Option<Duration> = None;
    let mut at = 0;
    while at < text.len() {
        let (count, end) = read::number(text, at)?;
        let start = read::spaces(text, end);
        let rest = text.get(start..)?;
        let length = rest.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match rest.get(..length)? {
            "y" | "year" | "years" => Unit::Year,
            "M" | "month" | "months" => Unit::Month,
            "w" | "week" | "weeks" => Unit::Week,
            "d" | "day" | "days" => Unit::Day,
            "h" | "hour" | "hours" => Unit::Hour,
            "m" | "minute" | "minutes" => Unit::Minute,
            "s" | "second" | "seconds" => Unit::Second,
            _ => return None,
        };
        let part = Duration::of(unit, count);
        total = Some(total.map_or(part.clone(), |total| total.plus(&part)));
        let after = read::spaces(text, start + length);
        at = if text.as_bytes().get(after) == Some(&b',') { read::spaces(text, after + 1) } else { after };
    }
    total
}

/// How long it is from now, for people: `3 days ago`, `in an hour`.
fn relative(millis: f64) -> String {
    let seconds = (millis.abs() / 1000.0).round();
    let minutes = (seconds / 60.0).round();
    let hours = (seconds / 3600.0).round();
    let days = (seconds / 86_400.0).round();
    let months = (seconds / 86_400.0 / 30.436_875).round();
    let years = (seconds / 86_400.0 / 365.2425).round();
    let many = |count: f64, unit: &str| format!("{count} {unit}");
    let length = match () {
        () if seconds < 45.0 => "a few seconds".to_owned(),
        () if minutes <= 1.0 => "a minute".to_owned(),
        () if minutes < 45.0 => many(minutes, "minutes"),
        () if hours <= 1.0 => "an hour".to_owned(),
        () if hours < 22.0 => many(hours, "hours"),
        () if days <= 1.0 => "a day".to_owned(),
        () if days < 26.0 => many(days, "days"),
        () if months <= 1.0 => "a month".to_owned(),
        () if months < 11.0 => many(months, "months"),
        () if years <= 1.0 => "a year".to_owned(),
        () => many(years, "years"),
    };
    if millis > 0.0 { format!("in {length}") } else { format!("{length} ago") }
}
