//! The values of properties in each language, and the days in names.

use jiff::civil::{Date as Day, Time};
use jiff::tz::TimeZone;

use crate::Dialect;
use crate::eval::methods::read_date;
use crate::syntax::cursor::Cursor;
use crate::syntax::dataview::link;
use crate::time::{Date, read};
use crate::value::{Link, Value};

/// The value of a property. Texts of dates are dates, and texts of links are links; for Dataview texts of durations are durations. Dates
/// without a zone are in `zone`.
#[must_use]
pub fn value(json: &serde_json::Value, dialect: Dialect, zone: &TimeZone) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Boolean(*value),
        serde_json::Value::Number(number) => number.as_f64().into(),
        serde_json::Value::String(text) => {
            let read = match dialect {
                Dialect::Dataview => of_dataview(text, zone),
                Dialect::Bases => of_bases(text, zone),
            };
            read.unwrap_or_else(|| text.as_str().into())
        }
        serde_json::Value::Array(items) => Value::list(items.iter().map(|item| value(item, dialect, zone)).collect()),
        serde_json::Value::Object(object) => {
            let entries = object.iter().map(|(name, inner)| (name.as_str().into(), value(inner, dialect, zone)));
            Value::object(entries.collect())
        }
    }
}

fn of_dataview(text: &str, zone: &TimeZone) -> Option<Value> {
    match text.bytes().next()? {
        b'[' | b'!' => {
            let mut cursor = Cursor::new(text).ok()?;
            let embed = cursor.sign("!", "\"!\"").is_some();
            let found = cursor.attempt(link)?;
            (cursor.at == text.len()).then(|| Value::link(Link { embed, ..found }))
        }
        _ => {
            if let Some((written, length)) = read::date(text)
                && length == text.len()
                && let Ok(date) = written.date(zone)
            {
                return Some(Value::date(date));
            }
            let (duration, length) = read::duration(text)?;
            (length == text.len()).then(|| Value::duration(duration.normal()))
        }
    }
}

fn of_bases(text: &str, zone: &TimeZone) -> Option<Value> {
    if let Some(inner) = text.strip_prefix("[[").and_then(|text| text.strip_suffix("]]")) {
        return (!inner.contains("]]")).then(|| Value::link(Link::inner(inner)));
    }
    text.starts_with(|first: char| first.is_ascii_digit()).then(|| read_date(text, zone).map(Value::date))?
}

/// The day that a name says: the first `2024-05-31` in it, else the first `20240531`.
#[must_use]
pub fn day_in(name: &str, zone: &TimeZone) -> Option<Date> {
    let digits = |at: usize, count: usize| -> Option<i16> {
        let digits = name.get(at..at + count)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
    };
    let dash = |at: usize| name.as_bytes().get(at) == Some(&b'-');
    let with_dashes = |at: usize| {
        let parts = (digits(at, 4)?, digits(at + 5, 2)?, digits(at + 8, 2)?);
        (dash(at + 4) && dash(at + 7)).then_some(parts)
    };
    let without = |at: usize| Some((digits(at, 4)?, digits(at + 4, 2)?, digits(at + 6, 2)?));
    let (year, month, day) = (0..name.len()).find_map(with_dashes).or_else(|| (0..name.len()).find_map(without))?;
    let day = Day::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    Date::civil(day.to_datetime(Time::midnight()), false, zone).ok()
}
