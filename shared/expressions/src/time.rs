//! Dates and lengths of time.
//!
//! # Layout
//! - `date`, `duration`: the two values, and how they are added and subtracted
//! - `read`: dates and durations as both languages write them; `stamp`: dates in a format that the expression gives
//! - `write`: dates and durations in such a format

pub use date::Date;
pub use duration::{Duration, Unit};

mod date;
mod duration;
pub(crate) mod read;
pub(crate) mod stamp;
pub(crate) mod write;

/// English names of the months.
pub(crate) const MONTHS: [&str; 12] = [
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
/// English names of the days, from Monday.
pub(crate) const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
