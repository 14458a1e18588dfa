//! How often callers may call. The tokens of a bucket have numbers, so that instances that share only create-if-absent can draw on one bucket.
//!
//! A token comes every *T* = 60 s / `perMinute`: token *k* at *k·T* after 1970. It expires at (*k* + `burst`)·*T*. A call takes any
//! token that exists and that nobody has taken. So at most `burst` are taken at once, and `perMinute` a minute in the long run. A caller who always takes
//! the oldest has exactly a bucket that gains one token every *T*; a caller who takes another may lose one that was about to expire, but never gains any.
//! A bucket that fills steadily from the first call on has up to one token more or less than this one, which fills at multiples of *T*.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::time::Duration;

use jiff::Timestamp;

use crate::policy::{Tier, Tiers};
use crate::scope::Scope;

const MINUTE_MS: u128 = 60_000;
/// A bucket holds at most the tokens of half a day, so that no taken token need be kept longer.
const LONGEST_MINUTES: u64 = 12 * 60;

/// The class of a call: each draws on a bucket of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is called what its tier is called")]
pub enum Class {
    Read,
    Write,
    Delete,
    Bulk,
    Execute,
    Admin,
}

impl Class {
    /// The class of an operation with these scopes.
    #[must_use]
    pub fn of(required: &[Scope]) -> Self {
        if required.iter().any(|scope| scope.is_execute()) {
            return Self::Execute;
        }
        let order = [
            (Scope::BulkVault, Self::Bulk),
            (Scope::DeleteVault, Self::Delete),
            (Scope::WriteVault, Self::Write),
            (Scope::ApproveVault, Self::Admin),
            (Scope::Admin, Self::Admin),
        ];
        order.into_iter().find(|(scope, _)| required.contains(scope)).map_or(Self::Read, |(_, class)| class)
    }

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Bulk => "bulk",
            Self::Execute => "execute",
            Self::Admin => "admin",
        }
    }

    /// Whether all instances of a deployment share one bucket.
    #[must_use]
    pub const fn is_shared(self) -> bool {
        matches!(self, Self::Write | Self::Delete | Self::Bulk | Self::Execute)
    }
}

impl<T: Copy> Tiers<T> {
    /// The tier of a class.
    #[must_use]
    pub const fn of(&self, class: Class) -> T {
        match class {
            Class::Read => self.read,
            Class::Write => self.write,
            Class::Delete => self.delete,
            Class::Bulk => self.bulk,
            Class::Execute => self.execute,
            Class::Admin => self.admin,
        }
    }
}

impl Tier {
    /// The numbers of the tokens that exist at `now`.
    #[must_use]
    pub fn window(self, now: Timestamp) -> RangeInclusive<u64> {
        let newest = self.newest(now);
        newest.saturating_sub(self.size() - 1)..=newest
    }

    /// The time from `now` until the next token comes; never zero.
    #[must_use]
    pub fn wait(self, now: Timestamp) -> Duration {
        let at = (u128::from(self.newest(now)) + 1) * MINUTE_MS;
        let per_minute = u128::from(self.rate());
        let wait = at.div_ceil(per_minute).saturating_sub(milliseconds(now));
        Duration::from_millis(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    fn newest(self, now: Timestamp) -> u64 {
        u64::try_from(milliseconds(now) * u128::from(self.rate()) / MINUTE_MS).unwrap_or(u64::MAX)
    }

    fn rate(self) -> u64 {
        u64::from(self.per_minute.max(1))
    }

    fn size(self) -> u64 {
        u64::from(self.burst).clamp(1, self.rate() * LONGEST_MINUTES)
    }
}

fn milliseconds(now: Timestamp) -> u128 {
    u128::try_from(now.as_millisecond()).unwrap_or(0)
}

/// Tokens of one bucket that are known to be taken.
#[derive(Clone, Debug, Default)]
pub struct Taken(BTreeSet<u64>);

impl Taken {
    /// Takes a token of `window` that is not known to be taken: the oldest, or one of the older half that `random` chooses, so that instances seldom
    /// choose the same.
    pub fn take(&mut self, window: &RangeInclusive<u64>, random: Option<u64>) -> Option<u64> {
        self.0 = self.0.split_off(window.start());
        let free = (window.end() - window.start() + 1).saturating_sub(self.0.range(window.clone()).count() as u64);
        if free == 0 {
            return None;
        }
        let nth = random.map_or(0, |random| random % free.div_ceil(2));
        let mut free = window.clone().filter(|token| !self.0.contains(token));
        let token = free.nth(usize::try_from(nth).ok()?)?;
        self.0.insert(token);
        Some(token)
    }

    /// Marks these as taken.
    pub fn extend(&mut self, tokens: impl IntoIterator<Item = u64>) {
        self.0.extend(tokens);
    }
}

/// The buckets in an instance's memory.
#[derive(Debug)]
pub struct Buckets<K> {
    buckets: HashMap<K, (Taken, Timestamp)>,
    most: usize,
}

impl<K: Clone + Eq + Hash> Buckets<K> {
    /// No buckets yet, and at most `most`: the least recently used one is forgotten first.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { buckets: HashMap::new(), most: most.max(1) }
    }

    /// The bucket called `key`, used `now`.
    pub fn bucket(&mut self, key: &K, now: Timestamp) -> &mut Taken {
        if self.buckets.len() >= self.most && !self.buckets.contains_key(key) {
            let stalest = self.buckets.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            stalest.map(|stalest| self.buckets.remove(&stalest));
        }
        let (taken, used) = self.buckets.entry(key.clone()).or_default();
        *used = now;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millisecond(1_700_000_000_000 + i64::try_from(ms).unwrap()).unwrap()
    }

    /// A bucket that is filled up by one token every *T*, or by as much as time has passed.
    struct Model {
        tier: Tier,
        steadily: bool,
        level: f64,
        then: f64,
    }

    impl Model {
        fn full(tier: Tier, now: Timestamp, steadily: bool) -> Self {
            let mut model = Self { tier, steadily, level: f64::from(tier.burst), then: 0.0 };
            model.then = model.ticks(now);
            model
        }

        fn ticks(&self, now: Timestamp) -> f64 {
            let ticks = now.as_millisecond() as f64 * f64::from(self.tier.per_minute) / 60_000.0;
            if self.steadily { ticks } else { self.tier.newest(now) as f64 }
        }

        fn take(&mut self, now: Timestamp) -> bool {
            let ticks = self.ticks(now);
            self.level = (self.level + ticks - self.then).min(f64::from(self.tier.burst));
            self.then = ticks;
            let is_enough = self.level >= 1.0;
            self.level -= f64::from(u8::from(is_enough));
            is_enough
        }
    }

    fn tier() -> impl Strategy<Value = Tier> {
        (1..700_u32, 1..40_u32).prop_map(|(per_minute, burst)| Tier { per_minute, burst })
    }

    /// Moments of calls: some at once, some far apart.
    fn calls() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(prop_oneof![Just(0), 0..200_u64, 0..90_000_u64], 1..200).prop_map(|waits| {
            waits
                .into_iter()
                .scan(0, |now, wait| {
                    *now += wait;
                    Some(*now)
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn who_takes_the_oldest_has_a_bucket_that_is_filled_every_t(tier in tier(), calls in calls()) {
            let (mut taken, mut model) = (Taken::default(), Model::full(tier, at(0), false));
            for now in calls.into_iter().map(at) {
                prop_assert_eq!(taken.take(&tier.window(now), None).is_some(), model.take(now), "{}", now);
            }
        }

        /// The extra token is one that had partly accumulated at the first call.
        #[test]
        fn nobody_gets_more_than_a_bucket_that_fills_steadily_has_and_one(tier in tier(), calls in calls(), random: u64) {
            let mut taken = Taken::default();
            let roomier = Tier { burst: tier.burst + 1, ..tier };
            let mut model = Model::full(roomier, at(0), true);
            for (call, now) in calls.into_iter().map(at).enumerate() {
                let random = random.rotate_left(u32::try_from(call % 64).unwrap());
                if taken.take(&tier.window(now), Some(random)).is_some() {
                    prop_assert!(model.take(now), "{now}");
                }
            }
        }

        #[test]
        fn after_the_wait_there_is_a_token_and_not_before(tier in tier(), now in 0..100_000_000_u64) {
            let mut taken = Taken::default();
            while taken.take(&tier.window(at(now)), Some(now)).is_some() {}
            let wait = u64::try_from(tier.wait(at(now)).as_millis()).unwrap();
            prop_assert!(wait > 0);
            prop_assert_eq!(taken.take(&tier.window(at(now + wait - 1)), None), None);
            prop_assert!(taken.take(&tier.window(at(now + wait)), None).is_some());
        }
    }

    #[test]
    fn two_that_know_nothing_of_each_other_take_any_of_the_older_half() {
        let window = Tier { per_minute: 60, burst: 20 }.window(at(0));
        let taken = |random| Taken::default().take(&window, Some(random)).unwrap() - window.start();
        assert_eq!((0..20).map(taken).collect::<BTreeSet<_>>(), (0..10).collect());
        let mut known = Taken::default();
        known.extend(window.clone().take(19));
        assert_eq!([known.take(&window, Some(7)), known.take(&window, Some(7))], [Some(*window.end()), None]);
    }

    #[test]
    fn an_operation_draws_on_what_weighs_most_of_what_it_needs() {
        for (scopes, class) in [
            (&[][..], Class::Read),
            (&[Scope::ReadVault], Class::Read),
            (&[Scope::ReadVault, Scope::WriteVault], Class::Write),
            (&[Scope::WriteVault, Scope::DeleteVault], Class::Delete),
            (&[Scope::DeleteVault, Scope::BulkVault], Class::Bulk),
            (&[Scope::Admin], Class::Admin),
            (&[Scope::ReadVault, Scope::ExecuteDataview], Class::Execute),
            (&[Scope::WriteVault, Scope::ExecuteWorkspace], Class::Execute),
        ] {
            assert_eq!(Class::of(scopes), class);
        }
    }

    #[test]
    fn the_bucket_that_was_used_longest_ago_is_forgotten_first() {
        let tier = Tier { per_minute: 1, burst: 1 };
        let mut buckets = Buckets::new(2);
        let mut take =
            |key: &str, ms| buckets.bucket(&key.to_owned(), at(ms)).take(&tier.window(at(0)), None).is_some();
        assert_eq!(
            [take("a", 0), take("b", 1), take("a", 2), take("b", 3), take("a", 4)],
            [true, true, false, false, false]
        );
        assert_eq!([take("c", 5), take("a", 6), take("b", 7)], [true, false, true], "b was forgotten for c");
    }

    #[test]
    fn a_tier_of_nothing_is_one_of_one_and_no_bucket_is_endless() {
        let window = |per_minute, burst| {
            let window = Tier { per_minute, burst }.window(at(0));
            window.end() - window.start() + 1
        };
        assert_eq!((window(0, 0), window(1, u32::MAX), window(600, 100)), (1, 720, 100));
    }
}
