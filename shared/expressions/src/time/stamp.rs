//! Dates in a format that the expression gives, read (Dataview's `date(text, format)`).

use jiff::civil::{Date as Day, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::{DAYS, Date, MONTHS};
use crate::error::{Error, Result};

/// Reads `text` in a Luxon `format`; `x` and `X` are milliseconds and seconds since 1970. What the format does not name is of `now`
/// where it is larger than all that it names, and the least there is where it is smaller.
///
/// # Errors
/// If the text is not in the format, or there is no such date.
pub(crate) fn read(text: &str, format: &str, now: &Zoned) -> Result<Date> {
    if format == "x" || format == "X" {
        let start = text.find(|char: char| char.is_ascii_digit() || char == '-').unwrap_or(0);
        let number = super::read::number(text, start);
        let number = number.ok_or_else(|| {
            Error::evaluation(format!("\"{text}\" is not a number, as the format \"{format}\" wants"))
        })?;
        #[expect(clippy::cast_possible_truncation, reason = "what is beyond is refused by the next step")]
        let millis = (number.0.trunc() * if format == "X" { 1000.0 } else { 1.0 }) as i64;
        let at = Timestamp::from_millisecond(millis).map_err(|_| super::date::beyond())?;
        return Ok(Date::new(at.to_zoned(now.time_zone().clone()), true));
    }
    if format.len() > super::write::MAX_FORMAT_BYTES {
        return Err(Error::limit("a date format has at most 500 bytes"));
    }
    fields(text, format)
        .and_then(|fields| fields.date(now))
        .ok_or_else(|| Error::evaluation(format!("the text is not a date in the format \"{format}\"")))
}

#[derive(Default)]
struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    milli: Option<i64>,
    afternoon: Option<bool>,
}

fn fields(text: &str, format: &str) -> Option<Fields> {
    let mut fields = Fields::default();
    let mut rest = text;
    let mut format = format;
    while let Some(first) = format.chars().next() {
        if let Some(quoted) = format.strip_prefix('\'') {
            let end = quoted.find('\'').unwrap_or(quoted.len());
            rest = rest.strip_prefix(quoted.get(..end)?)?;
            format = quoted.get(end + 1..).unwrap_or_default();
            continue;
        }
        let length = format.len() - format.trim_start_matches(first).len();
        let run = format.get(..length)?;
        format = format.get(length..)?;
        if !first.is_ascii_alphabetic() {
            rest = rest.strip_prefix(run)?;
            continue;
        }
        // Two to four digits are as few as can be, if other digits follow.
        let tight = run == "yy" && format.starts_with(|next: char| next.is_ascii_alphabetic());
        rest = fields.take(if tight { "yy2" } else { run }, rest)?;
    }
    rest.is_empty().then_some(fields)
}

/// A number of `least` to `most` digits at the start of the text.
fn digits(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if count < least {
        return None;
    }
    Some((text.get(..count)?.parse().ok()?, text.get(count..)?))
}

/// The name at the start of the text, in any case: its number from 1.
fn name<'t>(text: &'t str, names: &[&str], letters: usize) -> Option<(i64, &'t str)> {
    for (at, name) in names.iter().enumerate() {
        let name = name.get(..letters.min(name.len()))?;
        let start = text.get(..name.len());
        if start.is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return Some((i64::try_from(at).ok()? + 1, text.get(name.len()..)?));
        }
    }
    None
}

impl Fields {
    fn take<'t>(&mut self, token: &str, text: &'t str) -> Option<&'t str> {
        let (slot, (number, rest)) = match token {
            "y" => (&mut self.year, digits(text, 1, 6)?),
            "yy" | "yy2" => {
                let (number, rest) = digits(text, 2, if token == "yy" { 4 } else { 2 })?;
                let full =
                    if rest.len() + 2 < text.len() { number } else { number + if number > 60 { 1900 } else { 2000 } };
                (&mut self.year, (full, rest))
            }
            "yyyy" => (&mut self.year, digits(text, 4, 4)?),
            "M" | "L" => (&mut self.month, digits(text, 1, 2)?),
            "MM" | "LL" => (&mut self.month, digits(text, 2, 2)?),
            "MMM" | "LLL" => (&mut self.month, name(text, &MONTHS, 3)?),
            "MMMM" | "LLLL" => (&mut self.month, name(text, &MONTHS, 9)?),
            "d" => (&mut self.day, digits(text, 1, 2)?),
            "dd" => (&mut self.day, digits(text, 2, 2)?),
            "H" | "h" => (&mut self.hour, digits(text, 1, 2)?),
            "HH" | "hh" => (&mut self.hour, digits(text, 2, 2)?),
            "m" => (&mut self.minute, digits(text, 1, 2)?),
            "mm" => (&mut self.minute, digits(text, 2, 2)?),
            "s" => (&mut self.second, digits(text, 1, 2)?),
            "ss" => (&mut self.second, digits(text, 2, 2)?),
            "S" => (&mut self.milli, digits(text, 1, 3)?),
            "SSS" => (&mut self.milli, digits(text, 3, 3)?),
            "EEE" | "ccc" => return name(text, &DAYS, 3).map(|(_, rest)| rest),
            "EEEE" | "cccc" => return name(text, &DAYS, 9).map(|(_, rest)| rest),
            "a" => {
                let (half, rest) = name(text, &["AM", "PM"], 2)?;
                self.afternoon = Some(half == 2);
                return Some(rest);
            }
            _ => return None,
        };
        *slot = Some(number);
        Some(rest)
    }

    fn date(&self, now: &Zoned) -> Option<Date> {
        let timed = self.hour.or(self.minute).or(self.second).or(self.milli).is_some();
        let whole_day = self.year.is_none() && self.month.is_none() && self.day.is_none();
        let year = self.year.unwrap_or_else(|| i64::from(now.year()));
        let unnamed = |named: bool, now: i8| if named { 1 } else { i64::from(now) };
        let month = self.month.unwrap_or_else(|| unnamed(self.year.is_some(), now.month()));
        let day = self.day.unwrap_or_else(|| unnamed(!whole_day, now.day()));
        let hour = match (self.hour.unwrap_or(0), self.afternoon) {
            (12, Some(false)) => 0,
            (hour, Some(true)) if hour < 12 => hour + 12,
            (hour, _) => hour,
        };
        let day = Day::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
        let nanos = i32::try_from(self.milli.unwrap_or(0)).ok()? * 1_000_000;
        let part = |part: Option<i64>| i8::try_from(part.unwrap_or(0)).ok();
        let time = Time::new(hour.try_into().ok()?, part(self.minute)?, part(self.second)?, nanos).ok()?;
        let zone: &TimeZone = now.time_zone();
        Date::civil(day.to_datetime(time), timed, zone).ok()
    }
}
