use std::cmp::Ordering;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Zoned};

use super::duration::{Duration, Unit};
use crate::error::{Error, Result};

/// A moment in its time zone.
#[derive(Debug, Clone)]
pub struct Date {
    at: Zoned,
    time: bool,
}

impl Date {
    /// A moment. `time` says whether its time of day matters: without it Bases shows the day alone.
    #[must_use]
    pub fn new(at: Zoned, time: bool) -> Self {
        Self { at, time }
    }

    /// That date and time in `zone`.
    ///
    /// # Errors
    /// If there is no such moment: the year is beyond 9999.
    pub fn civil(at: DateTime, time: bool, zone: &TimeZone) -> Result<Self> {
        let at = at.to_zoned(zone.clone()).map_err(|_| beyond())?;
        Ok(Self { at, time })
    }

    /// The moment with its zone.
    #[must_use]
    pub fn zoned(&self) -> &Zoned {
        &self.at
    }

    /// Whether the time of day matters.
    #[must_use]
    pub fn has_time(&self) -> bool {
        self.time
    }

    /// Milliseconds since 1970.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of all years are below 2^53")]
    pub fn millis(&self) -> f64 {
        self.at.timestamp().as_millisecond() as f64
    }

    /// The day alone, in the same zone.
    ///
    /// # Errors
    /// As [`civil`](Self::civil).
    pub fn day(&self) -> Result<Self> {
        Self::civil(self.at.date().to_datetime(jiff::civil::Time::midnight()), false, self.at.time_zone())
    }

    /// As [`day`](Self::day), with that zone: the day is kept, not the moment.
    pub(crate) fn day_in(&self, zone: &TimeZone) -> Result<Self> {
        Self::civil(self.at.date().to_datetime(jiff::civil::Time::midnight()), false, zone)
    }

    /// The same moment in that zone.
    pub(crate) fn within(&self, zone: &TimeZone) -> Self {
        Self { at: self.at.with_time_zone(zone.clone()), time: self.time }
    }

    /// Whether both are one moment in one zone, which is when Dataview calls them equal.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.at == other.at && self.at.offset() == other.at.offset()
    }

    pub(crate) fn order(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }

    /// Later by that duration (earlier, if `sign` is -1): years and months first, then days, then the rest. What is not a whole
    /// number of years, months or days counts as time.
    pub(crate) fn plus(&self, duration: &Duration, sign: f64) -> Result<Self> {
        let whole = |unit: Unit| (duration.get(unit) * sign).trunc();
        let months = whole(Unit::Year) * 12.0 + whole(Unit::Month);
        let days = whole(Unit::Week) * 7.0 + whole(Unit::Day);
        let rest: f64 = Unit::ALL
            .into_iter()
            .map(|unit| {
                let count = duration.get(unit) * sign;
                if unit >= Unit::Hour { count * unit.millis() } else { count.fract() * unit.millis() }
            })
            .sum();
        let span = Span::new().try_months(integer(months)?).map_err(|_| beyond())?;
        let span = span.try_days(integer(days)?).map_err(|_| beyond())?;
        let at = self.at.checked_add(span).map_err(|_| beyond())?;
        let at = at.checked_add(SignedDuration::from_millis(integer(rest)?)).map_err(|_| beyond())?;
        Ok(Self { at, time: self.time || rest != 0.0 })
    }

    /// How long it is from `other` to this: in years, months, days, and the rest.
    pub(crate) fn minus(&self, other: &Self) -> Result<Duration> {
        if other.millis() > self.millis() {
            return Ok(other.minus(self)?.map(|count| -count));
        }
        let difference = |from: &Self, unit: Unit| {
            let (from, to) = (from.at.date(), self.at.date());
            let years = f64::from(to.year()) - f64::from(from.year());
            match unit {
                Unit::Year => years,
                Unit::Month => years * 12.0 + f64::from(to.month()) - f64::from(from.month()),
                _ => f64::from(from.until((jiff::Unit::Day, to)).map_or(0, |span| span.get_days())),
            }
        };
        let mut counts = Duration::default();
        let mut cursor = other.clone();
        for unit in [Unit::Year, Unit::Month, Unit::Day] {
            let mut count = difference(&cursor, unit);
            loop {
                let mut next = counts.clone();
                next.set(unit, count);
                let moved = other.plus(&next, 1.0)?;
                if moved.millis() <= self.millis() || count <= 0.0 {
                    counts = next;
                    cursor = moved;
                    break;
                }
                count -= 1.0;
            }
        }
        let rest = Duration::of(Unit::Millisecond, self.millis() - cursor.millis());
        let rest = rest.shifted(&[Unit::Hour, Unit::Minute, Unit::Second, Unit::Millisecond]);
        Ok(rest.plus(&counts))
    }
}

pub(crate) fn beyond() -> Error {
    Error::evaluation("that date is out of range: years go from -9999 to 9999")
}

/// A whole number that dates can be moved by.
#[expect(clippy::cast_possible_truncation, reason = "compared before")]
fn integer(number: f64) -> Result<i64> {
    if number.is_finite() && number.abs() < 1e17 { Ok(number.round() as i64) } else { Err(beyond()) }
}
