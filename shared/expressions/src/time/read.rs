//! Dates and durations as they are written in expressions, in properties and in inline fields.

use jiff::civil::{Date as Day, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Zoned};

use super::{Date, Duration, Unit};
use crate::error::{Error, Result};

/// Names that Dataview has for days and moments, the longest first where one begins another.
pub(crate) const NAMED: [&str; 16] = [
    "start-of-month",
    "start-of-week",
    "start-of-year",
    "end-of-month",
    "end-of-week",
    "end-of-year",
    "yesterday",
    "tomorrow",
    "today",
    "now",
    "sow",
    "eow",
    "soy",
    "eoy",
    "som",
    "eom",
];

/// Units as Dataview writes them, the longest first where one begins another.
const UNITS: [(&str, Unit); 31] = [
    ("seconds", Unit::Second),
    ("minutes", Unit::Minute),
    ("months", Unit::Month),
    ("minute", Unit::Minute),
    ("second", Unit::Second),
    ("years", Unit::Year),
    ("month", Unit::Month),
    ("weeks", Unit::Week),
    ("hours", Unit::Hour),
    ("year", Unit::Year),
    ("week", Unit::Week),
    ("days", Unit::Day),
    ("hour", Unit::Hour),
    ("mins", Unit::Minute),
    ("secs", Unit::Second),
    ("yrs", Unit::Year),
    ("mos", Unit::Month),
    ("wks", Unit::Week),
    ("day", Unit::Day),
    ("hrs", Unit::Hour),
    ("min", Unit::Minute),
    ("sec", Unit::Second),
    ("yr", Unit::Year),
    ("mo", Unit::Month),
    ("wk", Unit::Week),
    ("hr", Unit::Hour),
    ("w", Unit::Week),
    ("d", Unit::Day),
    ("h", Unit::Hour),
    ("m", Unit::Minute),
    ("s", Unit::Second),
];

/// The unit that `text` begins with, and the length of its name.
pub(crate) fn unit(text: &str) -> Option<(Unit, usize)> {
    UNITS.iter().find(|(name, _)| text.starts_with(name)).map(|(name, unit)| (*unit, name.len()))
}

/// A date as it is written; each part may be missing after the month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Year, month and day; the day may be beyond its month, and leads to the next one then.
    pub day: (i16, i8, i8),
    /// Hour, minute, second and millisecond; they may be beyond their day.
    pub time: Option<[i16; 4]>,
    /// Minutes from UTC.
    pub offset: Option<i16>,
}

/// The date that `text` begins with: `2021-04`, `2021-04-18`, `2021-04-18T12:30:00.000+02:00`. The longest reading is taken; a
/// month that there is not makes it none. Also how many bytes were read.
pub(crate) fn date(text: &str) -> Option<(Written, usize)> {
    let bytes = text.as_bytes();
    let digits = |at: usize, count: usize| -> Option<i16> {
        let digits = text.get(at..at + count)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
    };
    let after =
        |at: usize, sign: u8, count: usize| (bytes.get(at) == Some(&sign)).then(|| digits(at + 1, count)).flatten();
    let year = digits(0, 4)?;
    let month = i8::try_from(after(4, b'-', 2)?).ok().filter(|month| (1..=12).contains(month))?;
    let mut written = Written { day: (year, month, 1), time: None, offset: None };
    let Some(day) = after(7, b'-', 2).and_then(|day| i8::try_from(day).ok()) else { return Some((written, 7)) };
    written.day.2 = day;
    let Some(hour) = after(10, b'T', 2) else { return Some((written, 10)) };
    let mut time = [hour, 0, 0, 0];
    let mut length = 13;
    let mut complete = false;
    if let Some(minute) = after(13, b':', 2) {
        time[1] = minute;
        length = 16;
        if let Some(second) = after(16, b':', 2) {
            time[2] = second;
            length = 19;
            complete = true;
            if let Some(milli) = after(19, b'.', 3) {
                time[3] = milli;
                length = 23;
            }
        }
    }
    written.time = Some(time);
    if complete && let Some((offset, more)) = text.get(length..).and_then(offset) {
        written.offset = Some(offset);
        length += more;
    }
    Some((written, length))
}

/// `Z`, `+2`, `+02:00`, `[UTC]`: minutes from UTC, and the bytes read.
fn offset(text: &str) -> Option<(i16, usize)> {
    if text.starts_with('Z') {
        return Some((0, 1));
    }
    for name in ["[UTC]", "[utc]", "[Etc/UTC]", "[GMT]"] {
        if text.starts_with(name) {
            return Some((0, name.len()));
        }
    }
    let sign = match text.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let count = text.bytes().skip(1).take(2).take_while(u8::is_ascii_digit).count();
    let hours: i16 = text.get(1..=count)?.parse().ok()?;
    let minutes = text.get(count + 1..count + 4).and_then(|rest| rest.strip_prefix(':')?.parse::<i16>().ok());
    let length = count + 1 + if minutes.is_some() { 3 } else { 0 };
    Some((sign * (hours * 60 + minutes.unwrap_or(0)), length))
}

impl Written {
    /// The date in its own zone, or in `zone` if it has none.
    ///
    /// # Errors
    /// If it is out of range.
    pub fn date(&self, zone: &TimeZone) -> Result<Date> {
        let (year, month, day) = self.day;
        let first = Day::new(year, month, 1).map_err(|_| super::date::beyond())?;
        let [hour, minute, second, milli] = self.time.unwrap_or_default().map(i64::from);
        let days = i64::from(day) - 1;
        let millis = ((hour * 60 + minute) * 60 + second) * 1000 + milli;
        let at = DateTime::from(first)
            .checked_add(SignedDuration::from_millis(days * 86_400_000 + millis))
            .map_err(|_| super::date::beyond())?;
        let own = self.offset.map(|minutes| {
            let offset = Offset::from_seconds(i32::from(minutes) * 60).map_err(|_| super::date::beyond())?;
            Ok::<_, Error>(TimeZone::fixed(offset))
        });
        Date::civil(at, self.time.is_some(), &own.transpose()?.unwrap_or_else(|| zone.clone()))
    }
}

/// The date of Dataview's name of a day or moment at `now`.
///
/// # Errors
/// If it is out of range.
pub(crate) fn named(name: &str, now: &Zoned) -> Result<Date> {
    let today = Date::new(now.clone(), true).day()?;
    let start = |at: Day| Date::civil(at.into(), false, now.time_zone());
    let end = |at: Day| Date::civil(at.at(23, 59, 59, 999_000_000), true, now.time_zone());
    let day = now.date();
    let to_monday = i64::from(day.weekday().to_monday_zero_offset());
    let moved = |days: i64| day.checked_add(jiff::Span::new().days(days)).map_err(|_| super::date::beyond());
    match name {
        "now" => Ok(Date::new(now.clone(), true)),
        "yesterday" => start(moved(-1)?),
        "tomorrow" => start(moved(1)?),
        "sow" | "start-of-week" => start(moved(-to_monday)?),
        "eow" | "end-of-week" => end(moved(6 - to_monday)?),
        "som" | "start-of-month" => start(day.first_of_month()),
        "eom" | "end-of-month" => end(day.last_of_month()),
        "soy" | "start-of-year" => start(day.first_of_year()),
        "eoy" | "end-of-year" => end(day.last_of_year()),
        _ => Ok(today),
    }
}

/// The duration that `text` begins with, as Dataview writes it (`4hr 15 min`, `1d, 2h`), and its bytes.
pub(crate) fn duration(text: &str) -> Option<(Duration, usize)> {
    let mut total: Option<(Duration, usize)> = None;
    let mut at = 0;
    while let Some((count, number_end)) = number(text, at) {
        let unit_start = spaces(text, number_end);
        let Some((unit, length)) = text.get(unit_start..).and_then(unit) else { break };
        let end = unit_start + length;
        let part = Duration::of(unit, count);
        total = Some((total.map_or(part.clone(), |(total, _)| total.plus(&part)), end));
        let after = spaces(text, end);
        at = if text.as_bytes().get(after) == Some(&b',') { spaces(text, after + 1) } else { after };
    }
    total
}

/// `-?[0-9]+(\.[0-9]+)?` at `at`, and where it ends.
pub(crate) fn number(text: &str, at: usize) -> Option<(f64, usize)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let start = if bytes.get(at) == Some(&b'-') { at + 1 } else { at };
    let whole = digits(start);
    if whole == 0 {
        return None;
    }
    let mut end = start + whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if fraction > 0 {
            end += 1 + fraction;
        }
    }
    Some((text.get(at..end)?.parse().ok()?, end))
}

/// Where white space that begins at `at` ends.
pub(crate) fn spaces(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + (rest.len() - rest.trim_start_matches(crate::emoji::is_space).len())
}
