//! Reads the words for days in a query.

use std::ops::RangeInclusive;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::{Span, ToSpan as _};

use crate::task::symbols::is_date;

/// Consecutive days; often one.
pub(super) type Days = RangeInclusive<Date>;

/// The days of `text` on the day `today`.
pub(super) fn read(text: &str, today: Date) -> Option<Days> {
    let text = text.to_ascii_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    if let [one, other] = words.as_slice()
        && is_date(one)
        && is_date(other)
    {
        return match (day(one), day(other)) {
            (Some(one), Some(other)) => Some(one.min(other)..=one.max(other)),
            // As in the plugin, a date that does not exist is ignored.
            (one, other) => one.or(other).map(|day| day..=day),
        };
    }
    match words.as_slice() {
        ["last", unit] => period(unit, today, -1),
        ["this", unit] => period(unit, today, 0),
        ["next", unit] => period(unit, today, 1),
        [numbered] => self::numbered(numbered),
        _ => None,
    }
    .or_else(|| one_day(&words, today).map(|day| day..=day))
}

/// A date `YYYY-MM-DD`; `None` if it does not exist.
pub(super) fn day(text: &str) -> Option<Date> {
    text.parse().ok().filter(|_| is_date(text))
}

/// The period that is `shift` periods after the one that contains `at`.
fn period(unit: &str, at: Date, shift: i64) -> Option<Days> {
    let (start, length) = match unit {
        "week" => (at.checked_sub(at.weekday().to_monday_zero_offset().days()).ok()?, 1.week()),
        "month" => (at.first_of_month(), 1.month()),
        "quarter" => (Date::new(at.year(), (at.month() - 1) / 3 * 3 + 1, 1).ok()?, 3.months()),
        "year" => (at.first_of_year(), 1.year()),
        _ => return None,
    };
    let start = start.checked_add(length.checked_mul(shift).ok()?).ok()?;
    Some(start..=start.checked_add(length).ok()?.yesterday().ok()?)
}

/// `2026`, `2026-03`, `2026-q1`, `2026-w07`.
fn numbered(text: &str) -> Option<Days> {
    let (year, part) = text.split_once('-').map_or((text, None), |(year, part)| (year, Some(part)));
    let is_number = |text: &str, digits| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str, digits| text.parse::<i8>().ok().filter(|_| is_number(text, digits));
    let year: i16 = year.parse().ok().filter(|_| is_number(year, 4))?;
    let first = |month| Date::new(year, month, 1).ok();
    match part {
        None => period("year", first(1)?, 0),
        Some(part) => match (part.strip_prefix('q'), part.strip_prefix('w')) {
            (Some(quarter), _) => {
                let quarter = number(quarter, 1).filter(|quarter| (1..=4).contains(quarter))?;
                period("quarter", first(quarter * 3 - 2)?, 0)
            }
            (_, Some(week)) => {
                period("week", ISOWeekDate::new(year, number(week, 2)?, Weekday::Monday).ok()?.date(), 0)
            }
            _ => period("month", first(number(part, 2)?)?, 0),
        },
    }
}

/// One day, in numbers or words.
fn one_day(words: &[&str], today: Date) -> Option<Date> {
    match words {
        ["today" | "now"] => Some(today),
        ["tomorrow"] => today.tomorrow().ok(),
        ["yesterday"] => today.yesterday().ok(),
        ["in", count, unit] | [count, unit, "from", "now"] => today.checked_add(span(count, unit)?).ok(),
        [count, unit, "ago"] => today.checked_sub(span(count, unit)?).ok(),
        [direction @ ("last" | "this" | "next"), name] => {
            let weekday = weekday(name)?;
            let days = match *direction {
                "last" => forward(today, weekday) - 7,
                "next" => to_next(today, weekday),
                _ => forward(today, weekday),
            };
            today.checked_add(days.days()).ok()
        }
        [name] => match weekday(name) {
            Some(weekday) => {
                let days = forward(today, weekday);
                today.checked_add((if days > 3 { days - 7 } else { days }).days()).ok()
            }
            None => day(name).or_else(|| in_words(words, today)),
        },
        _ => in_words(words, today),
    }
}

/// `25th May 2026`, `May 25, 2026`, or either without the day or the year.
fn in_words(words: &[&str], today: Date) -> Option<Date> {
    let (mut of_month, mut month, mut year) = (None, None, None);
    for word in words.iter().filter(|word| **word != "of") {
        let number = word.trim_end_matches(',');
        let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let is_ordinal = |end: &str| matches!(end, "" | "st" | "nd" | "rd" | "th");
        let place = match self::month(number) {
            Some(named) => month.replace(i16::from(named)),
            None if digits.len() == 4 && digits == number => year.replace(digits.parse().ok()?),
            None if digits.len() <= 2 && number.get(digits.len()..).is_some_and(is_ordinal) => {
                of_month.replace(digits.parse().ok()?)
            }
            None => return None,
        };
        if place.is_some() {
            return None;
        }
    }
    let of_month = i8::try_from(of_month.unwrap_or(1)).ok()?;
    Date::new(year.unwrap_or_else(|| today.year()), i8::try_from(month?).ok()?, of_month).ok()
}

fn month(name: &str) -> Option<i8> {
    let names = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let is_it = |full: &&str| **full == *name || name.len() == 3 && full.starts_with(name);
    (1..).zip(&names).find(|(_, full)| is_it(full)).map(|(number, _)| number)
}

fn weekday(name: &str) -> Option<Weekday> {
    let names = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    let is_it = |full: &&str| **full == *name || name.len() == 3 && full.starts_with(name);
    let at = names.iter().position(is_it)?;
    Weekday::from_sunday_zero_offset(i8::try_from(at).ok()?).ok()
}

/// Days to the next `weekday`; 0 if it is today.
fn forward(today: Date, weekday: Weekday) -> i8 {
    (weekday.to_sunday_zero_offset() - today.weekday().to_sunday_zero_offset()).rem_euclid(7)
}

/// Days to the `next` weekday as the plugin's date parser counts: within this week, it is the one of the following week.
fn to_next(today: Date, weekday: Weekday) -> i8 {
    let (of_today, wanted) = (today.weekday().to_sunday_zero_offset(), weekday.to_sunday_zero_offset());
    match (of_today, wanted) {
        (0 | 6, _) if of_today == wanted => 7,
        (0, wanted) => wanted,
        (6, 0) => 8,
        (6, wanted) => 1 + wanted,
        (of_today, wanted) if wanted != 0 && wanted < of_today => forward(today, weekday),
        _ => forward(today, weekday) + 7,
    }
}

/// `3 days`, `a week`.
fn span(count: &str, unit: &str) -> Option<Span> {
    let words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let count: i64 = match count {
        "a" | "an" => 1,
        count => match (1..).zip(words).find(|(_, word)| *word == count) {
            Some((number, _)) => number,
            None => i64::from(count.parse::<u16>().ok()?),
        },
    };
    match unit.strip_suffix('s').unwrap_or(unit) {
        "day" => Span::new().try_days(count).ok(),
        "week" => Span::new().try_weeks(count).ok(),
        "month" => Span::new().try_months(count).ok(),
        "quarter" => Span::new().try_months(count.checked_mul(3)?).ok(),
        "year" => Span::new().try_years(count).ok(),
        _ => None,
    }
}
