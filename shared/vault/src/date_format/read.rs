//! Reads dates.

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::{Span, ToSpan as _};

use super::token::{Token, tokens};
use super::write::write;
use super::{DAYS, MAX_FORMAT_BYTES, MONTHS};

/// The parts of a date that a text states.
#[derive(Debug, Default)]
struct DateParts {
    year: Option<i16>,
    quarter: Option<i8>,
    month: Option<i8>,
    day: Option<i8>,
    day_of_year: Option<i16>,
    week_year: Option<i16>,
    week: Option<i8>,
    iso_year: Option<i16>,
    iso_week: Option<i8>,
}

/// The first day of the period that `text` names: a day, week, month, quarter or year. `None` if `text` is not in
/// `format`, or the format does not determine a period.
#[must_use]
pub fn read(format: &str, text: &str) -> Option<Date> {
    if format.len() > MAX_FORMAT_BYTES {
        return None;
    }
    let mut said = DateParts::default();
    let mut rest = text;
    for token in tokens(format) {
        rest = match token {
            Token::Literal(literal) => rest.strip_prefix(literal)?,
            Token::Part(part) => said.take(part, rest)?,
        };
    }
    let first = said.first()?;
    // The days of one week can lie in two years, so each day of the week is tried.
    let days = if said.is_week() { 7 } else { 1 };
    let mut day = Some(first);
    for _ in 0..days {
        if rest.is_empty() && write(format, day?.at(0, 0, 0, 0)) == text {
            return Some(first);
        }
        day = day?.checked_add(1.day()).ok();
    }
    None
}

impl DateParts {
    /// Reads the value of the format token `part` from the start of `text`. Returns the rest of the text.
    fn take<'a>(&mut self, part: &str, text: &'a str) -> Option<&'a str> {
        let digits = |most: usize| {
            let length = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
            let (number, rest) = text.split_at_checked(length)?;
            Some((number.parse::<i16>().ok()?, rest))
        };
        let small = |most: usize| digits(most).and_then(|(number, rest)| Some((i8::try_from(number).ok()?, rest)));
        let century = |(year, rest): (i16, &'a str)| (if year > 68 { 1900 + year } else { 2000 + year }, rest);
        let named = |names: &'static [&'static str], length: usize| {
            let named = |name: &&str| text.get(..length.min(name.len())) == name.get(..length.min(name.len()));
            let index = names.iter().position(named)?;
            let name = names.get(index)?;
            Some((i8::try_from(index).ok()?, text.get(length.min(name.len())..)?))
        };
        let ordinal = |(number, rest): (i16, &'a str)| Some((number, rest.get(2..)?));
        let small_ordinal = |(number, rest): (i8, &'a str)| Some((number, rest.get(2..)?));
        Some(match part {
            "YYYY" => keep(&mut self.year, digits(4)?),
            "Y" => keep(&mut self.year, digits(4)?),
            "YY" => keep(&mut self.year, century(digits(2)?)),
            "Q" => keep(&mut self.quarter, small(1)?),
            "Qo" => keep(&mut self.quarter, small_ordinal(small(1)?)?),
            "M" | "MM" => keep(&mut self.month, small(2)?),
            "Mo" => keep(&mut self.month, small_ordinal(small(2)?)?),
            "MMM" | "MMMM" => {
                let (index, rest) = named(&MONTHS, if part == "MMM" { 3 } else { usize::MAX })?;
                keep(&mut self.month, (index + 1, rest))
            }
            "D" | "DD" => keep(&mut self.day, small(2)?),
            "Do" => keep(&mut self.day, small_ordinal(small(2)?)?),
            "DDD" | "DDDD" => keep(&mut self.day_of_year, digits(3)?),
            "DDDo" => keep(&mut self.day_of_year, ordinal(digits(3)?)?),
            "gggg" => keep(&mut self.week_year, digits(4)?),
            "gg" => keep(&mut self.week_year, century(digits(2)?)),
            "GGGG" => keep(&mut self.iso_year, digits(4)?),
            "GG" => keep(&mut self.iso_year, century(digits(2)?)),
            "w" | "ww" => keep(&mut self.week, small(2)?),
            "wo" => keep(&mut self.week, small_ordinal(small(2)?)?),
            "W" | "WW" => keep(&mut self.iso_week, small(2)?),
            "Wo" => keep(&mut self.iso_week, small_ordinal(small(2)?)?),
            // A repeated part is checked when the date is written again.
            "dddd" => named(&DAYS, usize::MAX)?.1,
            "ddd" => named(&DAYS, 3)?.1,
            "dd" => named(&DAYS, 2)?.1,
            "do" => small_ordinal(small(1)?)?.1,
            "d" | "e" | "E" => small(1)?.1,
            // Times of day do not determine a date.
            _ => return None,
        })
    }

    /// Whether the text names a week and no day.
    fn is_week(&self) -> bool {
        self.day.is_none() && self.day_of_year.is_none() && (self.week.is_some() || self.iso_week.is_some())
    }

    /// The first day of the stated period.
    fn first(&self) -> Option<Date> {
        let year = self.year.or(self.iso_year).or(self.week_year)?;
        if self.is_week() {
            return match (self.iso_week, self.week) {
                (Some(week), _) => {
                    let year = self.iso_year.unwrap_or(year);
                    ISOWeekDate::new(year, week, Weekday::Monday).ok().map(Date::from)
                }
                (None, Some(week)) => first_of_week(self.week_year.unwrap_or(year), week),
                (None, None) => None,
            };
        }
        if let Some(day) = self.day_of_year {
            return Date::new(year, 1, 1).ok()?.checked_add(Span::new().days(day.checked_sub(1)?)).ok();
        }
        let of_quarter = |quarter: i8| quarter.checked_sub(1)?.checked_mul(3)?.checked_add(1);
        let month = match (self.month, self.quarter) {
            (Some(month), _) => month,
            (None, Some(quarter)) => of_quarter(quarter)?,
            // A day without a month does not determine a date.
            (None, None) if self.day.is_some() => return None,
            (None, None) => 1,
        };
        Date::new(year, month, self.day.unwrap_or(1)).ok()
    }
}

fn keep<'a, T>(place: &mut Option<T>, (value, rest): (T, &'a str)) -> &'a str {
    *place = Some(value);
    rest
}

/// The Sunday that the week begins on.
fn first_of_week(year: i16, week: i8) -> Option<Date> {
    let january = Date::new(year, 1, 1).ok()?;
    let back = i64::from(january.weekday().to_sunday_zero_offset());
    let days = (i64::from(week) - 1) * 7 - back;
    january.checked_add(Span::new().days(days)).ok()
}
