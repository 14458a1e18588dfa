//! Writes dates.

use jiff::civil::DateTime;

use super::token::{Token, expanded, tokens};
use super::{Locale, quarter};

impl Locale {
    /// Formats `at`, a time in UTC.
    #[must_use]
    pub fn write(self, format: &str, at: DateTime) -> String {
        let format = expanded(format, self);
        let mut out = String::new();
        for token in tokens(&format) {
            match token {
                Token::Literal(text) => out.push_str(text),
                Token::Part(part) => self.push(part, at, &format, &mut out),
            }
        }
        let replaced = &self.table.replaced;
        if replaced.is_empty() {
            return out;
        }
        let one = |letter: char| replaced.iter().find(|(from, _)| *from == letter).map_or(letter, |(_, to)| *to);
        out.chars().map(one).collect()
    }

    /// Writes a part of a format.
    fn push(self, part: &str, at: DateTime, format: &str, out: &mut String) {
        let date = at.date();
        let half = i64::from(at.hour() + 11) % 12 + 1;
        let token = if part.len() > 1 { part.trim_end_matches('o') } else { part };
        let number = match token {
            "Y" | "YY" | "YYYY" | "YYYYY" | "YYYYYY" => i64::from(at.year()),
            "y" | "yy" | "yyy" | "yyyy" => self.era_year(at),
            "Q" => quarter(date).into(),
            "M" | "MM" => at.month().into(),
            "D" | "DD" => at.day().into(),
            "DDD" | "DDDD" => date.day_of_year().into(),
            "d" => date.weekday().to_sunday_zero_offset().into(),
            "e" => self.days_into_week(date),
            "E" => date.weekday().to_monday_one_offset().into(),
            "gg" | "gggg" | "ggggg" => self.week(date).0.into(),
            "GG" | "GGGG" | "GGGGG" => date.iso_week_date().year().into(),
            "w" | "ww" => self.week(date).1,
            "W" | "WW" => date.iso_week_date().week().into(),
            "H" | "HH" => at.hour().into(),
            "h" | "hh" => half,
            "k" | "kk" => i64::from(at.hour() + 23) % 24 + 1,
            "m" | "mm" => at.minute().into(),
            "s" | "ss" => at.second().into(),
            "X" => seconds(at),
            "x" => seconds(at) * 1000 + i64::from(at.subsec_nanosecond() / 1_000_000),
            _ => return self.push_words(part, at, format, out),
        };
        if part.len() > token.len() {
            return out.push_str(&self.ordinal(number, token));
        }
        let number = if matches!(part, "YY" | "gg" | "GG") { number.rem_euclid(100) } else { number };
        let width = match part {
            "YYYYY" | "ggggg" | "GGGGG" => 5,
            "YYYY" | "yyyy" | "gggg" | "GGGG" => 4,
            "DDDD" | "yyy" => 3,
            "YY" | "yy" | "gg" | "GG" | "MM" | "DD" | "ww" | "WW" | "HH" | "hh" | "kk" | "mm" | "ss" => 2,
            _ => 1,
        };
        out.push_str(&if part == "YYYYYY" { format!("{number:+07}") } else { format!("{number:0width$}") });
    }

    /// The year in its era.
    fn era_year(self, at: DateTime) -> i64 {
        let year = i64::from(at.year());
        self.era(at.date()).map_or(year, |era| year - i64::from(era.0.year()) + i64::from(era.1))
    }

    /// The parts that are not one number.
    fn push_words(self, part: &str, at: DateTime, format: &str, out: &mut String) {
        let table = self.table;
        let month = usize::try_from(at.month() - 1).unwrap_or_default();
        let day = usize::try_from(at.weekday().to_sunday_zero_offset()).unwrap_or_default();
        let minute = i64::from(at.hour()) * 60 + i64::from(at.minute());
        let meridiem = || table.meridiems.iter().rev().find(|(from, ..)| *from <= minute);
        let era = || self.era(at.date());
        let written = match part {
            "MMMM" => table.months.name(format, month),
            "MMM" => table.months_short.name(format, month),
            "dddd" => table.days.name(format, day),
            "ddd" => table.days_short.name(format, day),
            "dd" => table.days_min.name(format, day),
            "A" => meridiem().map_or("", |(_, upper, _)| upper),
            "a" => meridiem().map_or("", |(_, _, lower)| lower),
            "N" | "NN" | "NNN" => era().map_or("", |era| &era.2),
            "NNNN" => era().map_or("", |era| &era.3),
            "NNNNN" => era().map_or("", |era| &era.4),
            "Z" => "+00:00",
            "ZZ" => "+0000",
            // A local time has no name of its zone.
            "z" | "zz" => "",
            _ => return push_times(part, at, out),
        };
        out.push_str(written);
    }
}

/// Fractions of a second, and times without a colon.
fn push_times(part: &str, at: DateTime, out: &mut String) {
    let written = match part {
        "Hmm" => format!("{}{:02}", at.hour(), at.minute()),
        "Hmmss" => format!("{}{:02}{:02}", at.hour(), at.minute(), at.second()),
        "hmm" => format!("{}{:02}", (at.hour() + 11) % 12 + 1, at.minute()),
        "hmmss" => format!("{}{:02}{:02}", (at.hour() + 11) % 12 + 1, at.minute(), at.second()),
        // Times are exact to a millisecond.
        _ => {
            let digits = format!("{:03}000000", at.subsec_nanosecond() / 1_000_000);
            digits.get(..part.len()).unwrap_or_default().to_owned()
        }
    };
    out.push_str(&written);
}

fn seconds(at: DateTime) -> i64 {
    jiff::tz::TimeZone::UTC.to_timestamp(at).map_or(0, jiff::Timestamp::as_second)
}
