use crate::numbers;

/// The units of durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "they say it themselves")]
pub enum Unit {
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
}

impl Unit {
    /// All units, the largest first.
    pub const ALL: [Self; 8] =
        [Self::Year, Self::Month, Self::Week, Self::Day, Self::Hour, Self::Minute, Self::Second, Self::Millisecond];

    /// Its length in milliseconds: a month has 30 days here, and a year 365.
    #[must_use]
    pub fn millis(self) -> f64 {
        let day = 86_400_000.0;
        match self {
            Self::Year => 365.0 * day,
            Self::Month => 30.0 * day,
            Self::Week => 7.0 * day,
            Self::Day => day,
            Self::Hour => 3_600_000.0,
            Self::Minute => 60_000.0,
            Self::Second => 1000.0,
            Self::Millisecond => 1.0,
        }
    }

    /// How many of `smaller` it has, as Dataview counts: a year has 12 months and 52 weeks, a month 4 weeks.
    fn holds(self, smaller: Self) -> f64 {
        match (self, smaller) {
            (Self::Year, Self::Month) => 12.0,
            (Self::Year, Self::Week) => 52.0,
            (Self::Month, Self::Week) => 4.0,
            _ => self.millis() / smaller.millis(),
        }
    }

    /// Its English name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Week => "week",
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Minute => "minute",
            Self::Second => "second",
            Self::Millisecond => "millisecond",
        }
    }
}

/// A length of time: a count of each unit that it was written with. A day is not 24 hours, but is compared as if it were.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Duration {
    counts: [Option<f64>; 8],
}

impl Duration {
    /// So many of one unit.
    #[must_use]
    pub fn of(unit: Unit, count: f64) -> Self {
        let mut duration = Self::default();
        duration.set(unit, count);
        duration
    }

    /// How many of `unit` it was written with.
    #[must_use]
    pub fn get(&self, unit: Unit) -> f64 {
        self.count(unit).unwrap_or(0.0)
    }

    /// Its length in milliseconds.
    #[must_use]
    pub fn millis(&self) -> f64 {
        Unit::ALL.into_iter().rev().map(|unit| self.get(unit) * unit.millis()).sum()
    }

    /// Its milliseconds, if it was counted in no other unit, as the time between two dates is.
    pub(crate) fn bare_millis(&self) -> Option<f64> {
        let (millis, larger) = self.counts.split_last()?;
        if larger.iter().all(Option::is_none) { *millis } else { None }
    }

    pub(crate) fn count(&self, unit: Unit) -> Option<f64> {
        self.counts.get(unit as usize).copied().flatten()
    }

    pub(crate) fn set(&mut self, unit: Unit, count: f64) {
        if let Some(slot) = self.counts.get_mut(unit as usize) {
            *slot = Some(count);
        }
    }

    /// Whether both count the same, which is when Dataview calls them equal: a day and 24 hours are not.
    pub(crate) fn same(&self, other: &Self) -> bool {
        Unit::ALL.into_iter().all(|unit| self.get(unit) == other.get(unit))
    }

    #[must_use]
    pub(crate) fn map(&self, change: impl Fn(f64) -> f64) -> Self {
        Self { counts: self.counts.map(|count| count.map(&change)) }
    }

    #[must_use]
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for unit in Unit::ALL {
            if let Some(count) = other.count(unit) {
                sum.set(unit, self.get(unit) + count);
            }
        }
        sum
    }

    /// In those units alone, in the order of [`Unit::ALL`].
    #[must_use]
    pub(crate) fn shifted(&self, units: &[Unit]) -> Self {
        let mut built = Self::default();
        let mut left = [0.0_f64; 8];
        let mut last = None;
        for unit in Unit::ALL {
            if units.contains(&unit) {
                last = Some(unit);
                let mut own = 0.0;
                for larger in Unit::ALL {
                    if let Some(count) = left.get_mut(larger as usize)
                        && larger < unit
                        && *count != 0.0
                    {
                        own += larger.holds(unit) * *count;
                        *count = 0.0;
                    }
                }
                own += self.get(unit);
                built.set(unit, own.trunc());
                if let Some(count) = left.get_mut(unit as usize) {
                    *count = (own * 1000.0 - own.trunc() * 1000.0) / 1000.0;
                }
            } else if let Some(count) = left.get_mut(unit as usize) {
                *count = self.get(unit);
            }
        }
        if let Some(last) = last {
            for unit in Unit::ALL {
                let count = left.get(unit as usize).copied().unwrap_or_default();
                if count != 0.0 {
                    let share = if unit == last { count } else { count / last.holds(unit) };
                    built.set(last, built.get(last) + share);
                }
            }
        }
        built.carried()
    }

    /// In all units, each below what the next larger one has.
    #[must_use]
    pub(crate) fn normal(&self) -> Self {
        self.shifted(&Unit::ALL).carried()
    }

    /// Whole units are carried to larger ones that it has, and fractions to smaller ones.
    fn carried(mut self) -> Self {
        let factor = if self.millis() < 0.0 { -1.0 } else { 1.0 };
        let mut previous: Option<Unit> = None;
        for unit in Unit::ALL.into_iter().rev() {
            let Some(count) = self.count(unit) else { continue };
            if let Some(smaller) = previous {
                let whole = unit.holds(smaller);
                let up = (self.get(smaller) * factor / whole).floor();
                self.set(unit, count + up * factor);
                self.set(smaller, self.get(smaller) - up * whole * factor);
            }
            previous = Some(unit);
        }
        previous = None;
        for unit in Unit::ALL {
            let Some(count) = self.count(unit) else { continue };
            if let Some(larger) = previous {
                let fraction = self.get(larger).fract();
                self.set(larger, self.get(larger) - fraction);
                self.set(unit, count + fraction * larger.holds(unit));
            }
            previous = Some(unit);
        }
        self
    }

    /// For people: `1 year, 2 days`. Empty if it is no time at all.
    #[must_use]
    pub fn human(&self) -> String {
        let normal = self.normal();
        let parts = Unit::ALL.into_iter().filter_map(|unit| {
            let count = normal.get(unit);
            (count != 0.0).then(|| {
                let digits = numbers::fixed(count.abs(), 3);
                let digits = digits.trim_end_matches('0').trim_end_matches('.');
                let digits = if digits.is_empty() { "0" } else { digits };
                let sign = if count < 0.0 { "-" } else { "" };
                let plural = if digits == "1" { "" } else { "s" };
                format!("{sign}{digits} {}{plural}", unit.name())
            })
        });
        parts.collect::<Vec<_>>().join(", ")
    }
}
