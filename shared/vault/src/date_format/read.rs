//! Reads dates.

use std::borrow::Cow;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::{Span, ToSpan as _};

use super::locale::Names;
use super::token::{Token, expanded, tokens};
use super::{Locale, MAX_FORMAT_BYTES};

/// The parts of a date that a text states.
#[derive(Debug, Default)]
struct DateParts {
    year: Option<i16>,
    /// The first year of the era, less the number of that year.
    era: Option<i16>,
    era_year: Option<i16>,
    quarter: Option<i8>,
    month: Option<i8>,
    day: Option<i8>,
    day_of_year: Option<i16>,
    week_year: Option<i16>,
    week: Option<i8>,
    iso_year: Option<i16>,
    iso_week: Option<i8>,
}

/// Reads texts of one format in one language.
#[derive(Debug)]
pub struct Reader<'f> {
    locale: Locale,
    format: &'f str,
    tokens: Vec<ReadToken>,
}

/// A token, with the digits of English.
#[derive(Debug)]
enum ReadToken {
    Literal(String),
    Part(&'static str),
}

impl Locale {
    /// Reads texts in `format`. [`None`] if the format is too long.
    #[must_use]
    pub fn reader(self, format: &str) -> Option<Reader<'_>> {
        if format.len() > MAX_FORMAT_BYTES {
            return None;
        }
        let owned = |token: Token<'_>| match token {
            Token::Literal(literal) => ReadToken::Literal(literal.to_owned()),
            Token::Part(part) => ReadToken::Part(part),
        };
        let tokens = tokens(&self.plain(&expanded(format, self))).map(owned).collect();
        Some(Reader { locale: self, format, tokens })
    }

    /// The same as [`Reader::read`], for one text.
    #[must_use]
    pub fn read(self, format: &str, text: &str) -> Option<Date> {
        self.reader(format)?.read(text)
    }

    /// The text with this language's digits and commas as in English.
    fn plain<'a>(self, text: &'a str) -> Cow<'a, str> {
        let replaced = &self.table.replaced;
        if replaced.is_empty() {
            return Cow::Borrowed(text);
        }
        let one = |letter: char| replaced.iter().find(|(_, to)| *to == letter).map_or(letter, |(from, _)| *from);
        text.chars().map(one).collect()
    }
}

impl Reader<'_> {
    /// The first day of the period that `text` names: a day, week, month, quarter or year. `None` if `text` is not in
    /// the format, or the format does not determine a period.
    #[must_use]
    pub fn read(&self, text: &str) -> Option<Date> {
        let locale = self.locale;
        let plain = locale.plain(text);
        let mut said = DateParts::default();
        let mut rest = &*plain;
        for token in &self.tokens {
            rest = match token {
                ReadToken::Literal(literal) => rest.strip_prefix(literal.as_str())?,
                ReadToken::Part(part) => said.take(locale, part, rest)?,
            };
        }
        if !rest.is_empty() {
            return None;
        }
        let first = said.first(locale)?;
        // The days of one week can lie in two years, so each day of the week is tried.
        let days = if said.is_week() { 7 } else { 1 };
        let mut day = Some(first);
        for _ in 0..days {
            if locale.write(self.format, day?.at(0, 0, 0, 0)) == text {
                return Some(first);
            }
            day = day?.checked_add(1.day()).ok();
        }
        None
    }
}

impl DateParts {
    /// Reads the value of the format token `part` from the start of `text`. Returns the rest of the text.
    fn take<'a>(&mut self, locale: Locale, part: &str, text: &'a str) -> Option<&'a str> {
        let table = locale.table;
        let small = |most: usize| narrow(digits(text, most)?);
        let century = |(year, rest): (i16, &'a str)| (if year > 68 { 1900 + year } else { 2000 + year }, rest);
        let named = |names: &Names| names.strip(text);
        let ordinal = |token: &str| {
            locale.affixes(token).into_iter().find_map(|(before, behind)| {
                let (number, rest) = digits(text.strip_prefix(before)?, 4)?;
                Some((number, rest.strip_prefix(behind)?))
            })
        };
        let era_named = |name: fn(&super::locale::Era) -> &str| {
            table.eras.iter().find_map(|era| Some((era.0.year() - era.1, text.strip_prefix(name(era))?)))
        };
        Some(match part {
            "YYYY" | "Y" => keep(&mut self.year, digits(text, 4)?),
            "YYYYY" => keep(&mut self.year, digits(text, 5)?),
            "YYYYYY" => keep(&mut self.year, digits(text.strip_prefix('+')?, 6)?),
            "YY" => keep(&mut self.year, century(digits(text, 2)?)),
            "y" | "yy" | "yyy" | "yyyy" => keep(&mut self.era_year, digits(text, 4)?),
            "yo" => keep(&mut self.era_year, ordinal("y")?),
            "N" | "NN" | "NNN" => keep(&mut self.era, era_named(|era| &era.2)?),
            "NNNN" => keep(&mut self.era, era_named(|era| &era.3)?),
            "NNNNN" => keep(&mut self.era, era_named(|era| &era.4)?),
            "Q" => keep(&mut self.quarter, small(1)?),
            "Qo" => keep(&mut self.quarter, narrow(ordinal("Q")?)?),
            "M" | "MM" => keep(&mut self.month, small(2)?),
            "Mo" => keep(&mut self.month, narrow(ordinal("M")?)?),
            "MMM" | "MMMM" => {
                let (index, rest) = named(if part == "MMM" { &table.months_short } else { &table.months })?;
                keep(&mut self.month, (i8::try_from(index + 1).ok()?, rest))
            }
            "D" | "DD" => keep(&mut self.day, small(2)?),
            "Do" => keep(&mut self.day, narrow(ordinal("D")?)?),
            "DDD" | "DDDD" => keep(&mut self.day_of_year, digits(text, 3)?),
            "DDDo" => keep(&mut self.day_of_year, ordinal("DDD")?),
            "gggg" => keep(&mut self.week_year, digits(text, 4)?),
            "ggggg" => keep(&mut self.week_year, digits(text, 5)?),
            "gg" => keep(&mut self.week_year, century(digits(text, 2)?)),
            "GGGG" => keep(&mut self.iso_year, digits(text, 4)?),
            "GGGGG" => keep(&mut self.iso_year, digits(text, 5)?),
            "GG" => keep(&mut self.iso_year, century(digits(text, 2)?)),
            "w" | "ww" => keep(&mut self.week, small(2)?),
            "wo" => keep(&mut self.week, narrow(ordinal("w")?)?),
            "W" | "WW" => keep(&mut self.iso_week, small(2)?),
            "Wo" => keep(&mut self.iso_week, narrow(ordinal("W")?)?),
            // A repeated part is checked when the date is written again.
            "dddd" => named(&table.days)?.1,
            "ddd" => named(&table.days_short)?.1,
            "dd" => named(&table.days_min)?.1,
            "do" => ordinal("d")?.1,
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
    fn first(&self, locale: Locale) -> Option<Date> {
        // Where no era is named, it is the newest.
        let newest = || locale.table.eras.first().map_or(0, |era| era.0.year() - era.1);
        let of_era = || self.era_year?.checked_add(self.era.unwrap_or_else(newest));
        let year = self.year.or_else(of_era).or(self.iso_year).or(self.week_year)?;
        if self.is_week() {
            return match (self.iso_week, self.week) {
                (Some(week), _) => {
                    let year = self.iso_year.unwrap_or(year);
                    ISOWeekDate::new(year, week, Weekday::Monday).ok().map(Date::from)
                }
                (None, Some(week)) => locale.first_of_week(self.week_year.unwrap_or(year), week.into()),
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

/// The number of at most so many digits that `text` begins with, and the rest.
fn digits(text: &str, most: usize) -> Option<(i16, &str)> {
    let length = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(length)?;
    Some((number.parse().ok()?, rest))
}

fn narrow((number, rest): (i16, &str)) -> Option<(i8, &str)> {
    Some((i8::try_from(number).ok()?, rest))
}

fn keep<'a, T>(place: &mut Option<T>, (value, rest): (T, &'a str)) -> &'a str {
    *place = Some(value);
    rest
}
