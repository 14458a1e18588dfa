//! Fixed times, so that tests do not depend on the day.

use jiff::{SignedDuration, Timestamp};

/// Minute `minute` of the day of all tests: 2026-01-05 UTC.
pub fn minute(minute: i64) -> Timestamp {
    let midnight: Timestamp = "2026-01-05T00:00:00Z".parse().expect("a constant");
    midnight + SignedDuration::from_mins(minute)
}
