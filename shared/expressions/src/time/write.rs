//! Dates and durations in a format that the expression gives: Luxon's for Dataview, Moment's for Bases. English alone.

use jiff::Zoned;

use super::{DAYS, Duration, MONTHS, Unit};
use crate::error::{Error, Result};

/// Longest format, in bytes.
pub(crate) const MAX_FORMAT_BYTES: usize = 500;

/// A piece of a format: text as it is, or a run of one letter.
enum Piece<'f> {
    Text(&'f str),
    Token(&'f str),
}

fn checked(format: &str) -> Result<&str> {
    if format.len() > MAX_FORMAT_BYTES {
        return Err(Error::limit(format!("a date format has at most {MAX_FORMAT_BYTES} bytes")));
    }
    Ok(format)
}

/// The pieces of a Luxon format: what is in single quotes is text.
fn pieces(format: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(first) = format.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = format.get(at..).unwrap_or_default();
        if first == '\'' {
            let inner = rest.get(1..).unwrap_or_default();
            let end = inner.find('\'').unwrap_or(inner.len());
            pieces.push(Piece::Text(inner.get(..end).unwrap_or_default()));
            at += (end + 2).min(rest.len());
        } else {
            let length = rest.len() - rest.trim_start_matches(first).len();
            let run = rest.get(..length).unwrap_or_default();
            pieces.push(if first.is_ascii_alphabetic() { Piece::Token(run) } else { Piece::Text(run) });
            at += length;
        }
    }
    pieces
}

/// The date in a Luxon format.
///
/// # Errors
/// If the format is too long.
pub(crate) fn luxon(at: &Zoned, format: &str) -> Result<String> {
    let mut written = String::new();
    for piece in pieces(checked(format)?) {
        match piece {
            Piece::Text(text) => written.push_str(text),
            Piece::Token(token) => written.push_str(&luxon_token(at, token).unwrap_or_else(|| token.to_owned())),
        }
    }
    Ok(written)
}

fn luxon_token(at: &Zoned, token: &str) -> Option<String> {
    let hour = hour12(at);
    let milli = at.millisecond();
    let two = |number: i8| format!("{number:02}");
    let year = at.year();
    let iso = at.date().iso_week_date();
    let date = at.date();
    let zone = || at.time_zone().iana_name().map_or_else(|| offset(at, "short"), str::to_owned);
    Some(match token {
        "S" => milli.to_string(),
        "u" | "SSS" => format!("{milli:03}"),
        "uu" => format!("{:02}", milli / 10),
        "uuu" => (milli / 100).to_string(),
        "s" => at.second().to_string(),
        "ss" => two(at.second()),
        "m" => at.minute().to_string(),
        "mm" => two(at.minute()),
        "h" => hour.to_string(),
        "hh" => two(hour),
        "H" => at.hour().to_string(),
        "HH" => two(at.hour()),
        "Z" => offset(at, "narrow"),
        "ZZ" => offset(at, "short"),
        "ZZZ" => offset(at, "techie"),
        "ZZZZ" | "ZZZZZ" => {
            if at.offset().is_zero() {
                "UTC".to_owned()
            } else {
                format!("GMT{}", offset(at, "narrow"))
            }
        }
        "z" => {
            if at.offset().is_zero() && at.time_zone().iana_name().is_none() {
                "UTC".to_owned()
            } else {
                zone()
            }
        }
        "a" => meridiem(at).to_owned(),
        "d" => at.day().to_string(),
        "dd" => two(at.day()),
        "c" | "E" => at.weekday().to_monday_one_offset().to_string(),
        "ccc" | "EEE" => weekday(at, 3),
        "cccc" | "EEEE" => weekday(at, 9),
        "ccccc" | "EEEEE" => weekday(at, 1),
        "L" | "M" => at.month().to_string(),
        "LL" | "MM" => two(at.month()),
        "LLL" | "MMM" => month(at, 3),
        "LLLL" | "MMMM" => month(at, 9),
        "LLLLL" | "MMMMM" => month(at, 1),
        "y" => year.to_string(),
        "yy" => format!("{:02}", year.rem_euclid(100)),
        "yyyy" => format!("{year:04}"),
        "yyyyyy" => format!("{year:06}"),
        "G" => if year > 0 { "AD" } else { "BC" }.to_owned(),
        "GG" => if year > 0 { "Anno Domini" } else { "Before Christ" }.to_owned(),
        "GGGGG" => if year > 0 { "A" } else { "B" }.to_owned(),
        "kk" => format!("{:02}", iso.year().rem_euclid(100)),
        "kkkk" => format!("{:04}", iso.year()),
        "W" => iso.week().to_string(),
        "WW" => two(iso.week()),
        "o" => date.day_of_year().to_string(),
        "ooo" => format!("{:03}", date.day_of_year()),
        "q" => quarter(at).to_string(),
        "qq" => two(quarter(at)),
        "X" => at.timestamp().as_second().to_string(),
        "x" => at.timestamp().as_millisecond().to_string(),
        "D" => format!("{}/{}/{year}", at.month(), at.day()),
        "DD" => format!("{} {}, {year}", month(at, 3), at.day()),
        "DDD" => format!("{} {}, {year}", month(at, 9), at.day()),
        "DDDD" => format!("{}, {} {}, {year}", weekday(at, 9), month(at, 9), at.day()),
        "t" => format!("{hour}:{:02}\u{202f}{}", at.minute(), meridiem(at)),
        "tt" => format!("{hour}:{:02}:{:02}\u{202f}{}", at.minute(), at.second(), meridiem(at)),
        "T" => format!("{:02}:{:02}", at.hour(), at.minute()),
        "TT" => format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second()),
        _ => return None,
    })
}

/// The date in a Moment format. What a format says of the zone is of UTC.
///
/// # Errors
/// If the format is too long.
pub(crate) fn moment(at: &Zoned, format: &str) -> Result<String> {
    Ok(atlas_vault::date_format::write(checked(format)?, at.datetime()))
}

fn quarter(at: &Zoned) -> i8 {
    (at.month() - 1) / 3 + 1
}

fn hour12(at: &Zoned) -> i8 {
    match at.hour() % 12 {
        0 => 12,
        hour => hour,
    }
}

fn meridiem(at: &Zoned) -> &'static str {
    if at.hour() < 12 { "AM" } else { "PM" }
}

fn month(at: &Zoned, letters: usize) -> String {
    let name = usize::try_from(at.month() - 1).ok().and_then(|at| MONTHS.get(at));
    name.map_or_else(String::new, |name| name.chars().take(letters).collect())
}

fn weekday(at: &Zoned, letters: usize) -> String {
    let name = usize::try_from(at.weekday().to_monday_zero_offset()).ok().and_then(|at| DAYS.get(at));
    name.map_or_else(String::new, |name| name.chars().take(letters).collect())
}

/// The offset from UTC: `+2` (narrow), `+02:00` (short), `+0200` (techie).
fn offset(at: &Zoned, style: &str) -> String {
    let minutes = at.offset().seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, minutes) = (minutes.abs() / 60, minutes.abs() % 60);
    match (style, minutes) {
        ("narrow", 0) => format!("{sign}{hours}"),
        ("narrow", _) => format!("{sign}{hours}:{minutes:02}"),
        ("short", _) => format!("{sign}{hours:02}:{minutes:02}"),
        _ => format!("{sign}{hours:02}{minutes:02}"),
    }
}

/// The duration in a format of Luxon: `hh:mm:ss`; it is counted in the units of the format.
///
/// # Errors
/// If the format is too long.
pub(crate) fn duration(duration: &Duration, format: &str) -> Result<String> {
    let of = |token: &str| {
        Some(match token.chars().next()? {
            'S' => Unit::Millisecond,
            's' => Unit::Second,
            'm' => Unit::Minute,
            'h' => Unit::Hour,
            'd' => Unit::Day,
            'w' => Unit::Week,
            'M' => Unit::Month,
            'y' => Unit::Year,
            _ => return None,
        })
    };
    let pieces = pieces(checked(format)?);
    let units: Vec<Unit> =
        pieces.iter().filter_map(|piece| if let Piece::Token(token) = piece { of(token) } else { None }).collect();
    let counted = duration.shifted(&units);
    let mut written = String::new();
    for piece in &pieces {
        match piece {
            Piece::Text(text) => written.push_str(text),
            Piece::Token(token) => match of(token) {
                Some(unit) => {
                    let count = counted.get(unit).floor();
                    let sign = if count < 0.0 { "-" } else { "" };
                    written.push_str(&format!("{sign}{:0>1$}", crate::numbers::text(count.abs()), token.len()));
                }
                None => written.push_str(token),
            },
        }
    }
    Ok(written)
}
