//! Writes dates.

use jiff::civil::DateTime;

use super::token::{Token, tokens};
use super::{DAYS, MONTHS, quarter, week};

/// Formats `at`, a time in UTC.
#[must_use]
pub fn write(format: &str, at: DateTime) -> String {
    let mut out = String::new();
    for token in tokens(format) {
        match token {
            Token::Literal(text) => out.push_str(text),
            Token::Part(part) => push(part, at, &mut out),
        }
    }
    out
}

fn push(part: &str, at: DateTime, out: &mut String) {
    let date = at.date();
    let iso = date.iso_week_date();
    let weekday = i64::from(date.weekday().to_sunday_zero_offset());
    let half = i64::from(at.hour() + 11) % 12 + 1;
    let number = match part.trim_end_matches('o') {
        "Y" | "YYYY" | "YY" => i64::from(at.year()),
        "Q" => quarter(date).into(),
        "M" | "MM" => at.month().into(),
        "D" | "DD" => at.day().into(),
        "DDD" | "DDDD" => date.day_of_year().into(),
        "d" | "e" => weekday,
        "E" => (weekday + 6) % 7 + 1,
        "gg" | "gggg" => week(date).0.into(),
        "GG" | "GGGG" => iso.year().into(),
        "w" | "ww" => week(date).1.into(),
        "W" | "WW" => iso.week().into(),
        "H" | "HH" => at.hour().into(),
        "h" | "hh" => half,
        "k" | "kk" => i64::from(at.hour() + 23) % 24 + 1,
        "m" | "mm" => at.minute().into(),
        "s" | "ss" => at.second().into(),
        "S" => (at.subsec_nanosecond() / 100_000_000).into(),
        "SS" => (at.subsec_nanosecond() / 10_000_000).into(),
        "SSS" => (at.subsec_nanosecond() / 1_000_000).into(),
        "X" => seconds(at),
        "x" => seconds(at) * 1000 + i64::from(at.subsec_nanosecond() / 1_000_000),
        _ => return out.push_str(&words(part, at)),
    };
    let number = if matches!(part, "YY" | "gg" | "GG") { number.rem_euclid(100) } else { number };
    let width = match part {
        "YYYY" | "gggg" | "GGGG" => 4,
        "DDDD" | "SSS" => 3,
        "YY" | "gg" | "GG" | "MM" | "DD" | "ww" | "WW" | "HH" | "hh" | "kk" | "mm" | "ss" | "SS" => 2,
        _ => 1,
    };
    out.push_str(&format!("{number:0width$}"));
    if part.ends_with('o') {
        out.push_str(ordinal(number));
    }
}

fn seconds(at: DateTime) -> i64 {
    jiff::tz::TimeZone::UTC.to_timestamp(at).map_or(0, jiff::Timestamp::as_second)
}

/// The parts that are not numbers.
fn words(part: &str, at: DateTime) -> String {
    let month = usize::try_from(at.month() - 1).ok().and_then(|month| MONTHS.get(month)).copied().unwrap_or_default();
    let day = usize::try_from(at.weekday().to_sunday_zero_offset()).ok().and_then(|day| DAYS.get(day));
    let day = day.copied().unwrap_or_default();
    let start = |text: &'static str, length| text.get(..length).unwrap_or(text).to_owned();
    match part {
        "MMMM" => month.to_owned(),
        "MMM" => start(month, 3),
        "dddd" => day.to_owned(),
        "ddd" => start(day, 3),
        "dd" => start(day, 2),
        "A" => if at.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        "a" => if at.hour() < 12 { "am" } else { "pm" }.to_owned(),
        "Z" => "+00:00".to_owned(),
        "ZZ" => "+0000".to_owned(),
        "L" => write("MM/DD/YYYY", at),
        "LL" => write("MMMM D, YYYY", at),
        "LLL" => write("MMMM D, YYYY h:mm A", at),
        "LLLL" => write("dddd, MMMM D, YYYY h:mm A", at),
        "LT" => write("h:mm A", at),
        "LTS" => write("h:mm:ss A", at),
        _ => part.to_owned(),
    }
}

/// The suffix of an ordinal number, such as `th`.
fn ordinal(number: i64) -> &'static str {
    match (number % 100 / 10, number % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}
