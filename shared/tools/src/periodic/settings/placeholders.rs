//! The placeholders of templates: `{{date}}`, `{{time}}`, `{{title}}`, `{{yesterday}}`, `{{tomorrow}}`; the first two also
//! moved and with a format, such as `{{date+7d:YYYY-MM-DD}}`; and in weekly notes the days of the week, such as
//! `{{monday:YYYY-MM-DD}}`.

use atlas_vault::VaultPath;
use atlas_vault::date_format::MAX_FORMAT_BYTES;
use jiff::civil::DateTime;
use jiff::{Span, ToSpan as _};

use super::{Period, Settings};
use crate::plugins::weekday;

impl Settings {
    /// The value of `{{name}}` or `{{name:format}}`.
    pub(super) fn value(&self, name: &str, format: Option<&str>, path: &VaultPath, at: DateTime) -> Option<String> {
        if format.is_some_and(|format| format.len() > MAX_FORMAT_BYTES) {
            return None;
        }
        let write = |format: &str, at| self.locale.write(format, at);
        let beside = |days: Span| at.checked_add(days).map_or_else(|_| String::new(), |at| write(&self.format, at));
        Some(match (name.to_ascii_lowercase().as_str(), format) {
            ("date" | "time", Some(format)) => write(format, at),
            ("date", None) => match self.date_format {
                Some(format) => write(format, at),
                None => path.stem().to_owned(),
            },
            ("time", None) => write("HH:mm", at),
            ("title", None) => path.stem().to_owned(),
            ("yesterday", None) => beside(-1.day()),
            ("tomorrow", None) => beside(1.day()),
            (day, Some(format)) if self.period == Period::Weekly && weekday(day).is_some() => {
                write(format, self.day_of_week(day, at)?)
            }
            _ => write(format.unwrap_or(&self.format), moved(name, at)?),
        })
    }

    /// The day of this name in the week of `at`.
    fn day_of_week(&self, name: &str, at: DateTime) -> Option<DateTime> {
        let from = self.locale.days_into_week(at.date());
        let back = at.checked_sub(Span::new().try_days(from).ok()?).ok()?;
        let ahead = back.date().weekday().until(weekday(name)?);
        back.checked_add(Span::new().days(ahead)).ok()
    }
}

/// The time that a name such as `date+7d` or `time -1h` means.
fn moved(name: &str, at: DateTime) -> Option<DateTime> {
    let start =
        name.get(..4).filter(|start| start.eq_ignore_ascii_case("date") || start.eq_ignore_ascii_case("time"))?;
    let shift = name.get(start.len()..)?.trim_start();
    if !shift.starts_with(['+', '-']) {
        return None;
    }
    let unit = shift.chars().next_back()?;
    let number: i64 = shift.get(..shift.len() - unit.len_utf8())?.parse().ok()?;
    let span = Span::new();
    let span = match unit {
        // Only these two units are told apart by their case.
        'M' => span.try_months(number),
        'm' => span.try_minutes(number),
        'y' | 'Y' => span.try_years(number),
        'q' | 'Q' => span.try_months(number.checked_mul(3)?),
        'w' | 'W' => span.try_weeks(number),
        'd' | 'D' => span.try_days(number),
        'h' | 'H' => span.try_hours(number),
        's' | 'S' => span.try_seconds(number),
        _ => return None,
    };
    at.checked_add(span.ok()?).ok()
}
