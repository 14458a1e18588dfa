//! Date formats as in Moment.js, in English: writing and reading. Weeks (`w`, `gggg`) begin on Sunday, and the first
//! week of a year is the one with January 1st. ISO weeks (`W`, `GGGG`) begin on Monday, and the first is the one with
//! January 4th.
//!
//!
//! # Layout
//! - `token`: the parts of a format; [`write`](mod@write); [`read`]

use jiff::civil::Date;

pub use read::read;
pub use write::write;

mod read;
mod token;
mod write;

/// Longest format, in bytes.
pub const MAX_FORMAT_BYTES: usize = 500;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The week that contains `date`, counted from Sundays: its year, and its number in that year.
#[must_use]
pub(crate) fn week(date: Date) -> (i16, i16) {
    // A week belongs to the year of its last day, since the first week of a year has January 1st.
    let left = 6 - i64::from(date.weekday().to_sunday_zero_offset());
    let last = date.checked_add(jiff::Span::new().days(left)).unwrap_or(date);
    (last.year(), (last.day_of_year() - 1) / 7 + 1)
}

/// The quarter of `date`, from 1.
#[must_use]
pub(crate) fn quarter(date: Date) -> i8 {
    (date.month() - 1) / 3 + 1
}

#[cfg(test)]
mod tests;
