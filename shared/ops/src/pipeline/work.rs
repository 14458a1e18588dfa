//! Limits the processor time of a call. Long loops check it from time to time.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{Code, Error, Reason};

/// Returns the processor time of the current thread so far.
pub type CpuClock = fn() -> Duration;

/// The processor time of one call.
#[derive(Debug)]
pub struct Work {
    clock: CpuClock,
    limit: Duration,
    /// Nanoseconds of the finished polls.
    spent: AtomicU64,
    /// The thread's processor time at the last check.
    since: AtomicU64,
    /// Whether it has changed something.
    changed: AtomicBool,
}

impl Work {
    pub(crate) const fn within(limit: Duration, clock: CpuClock) -> Self {
        Self { clock, limit, spent: AtomicU64::new(0), since: AtomicU64::new(0), changed: AtomicBool::new(false) }
    }

    /// Fails once the call has used too much time, unless it has changed something.
    pub fn check(&self) -> Result<(), Error> {
        let running = self.now().saturating_sub(self.since.load(Ordering::Relaxed));
        let spent = Duration::from_nanos(self.spent.load(Ordering::Relaxed).saturating_add(running));
        if spent <= self.limit || self.changed.load(Ordering::Relaxed) { Ok(()) } else { Err(self.too_much()) }
    }

    /// Records that the call has changed something, so that it must not fail any more.
    pub(crate) fn has_changed_things(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Runs `call` and counts its time. Several threads may poll it in turn.
    pub(crate) async fn count<T>(&self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        poll_fn(|context| {
            let since = self.now();
            self.since.store(since, Ordering::Relaxed);
            let polled = call.as_mut().poll(context);
            let now = self.now();
            self.spent.fetch_add(now.saturating_sub(since), Ordering::Relaxed);
            self.since.store(now, Ordering::Relaxed);
            polled
        })
        .await
    }

    fn now(&self) -> u64 {
        u64::try_from((self.clock)().as_nanos()).unwrap_or(u64::MAX)
    }

    fn too_much(&self) -> Error {
        let message = format!(
            "this takes more than {} s of work: ask for less at once, or make the note smaller",
            self.limit.as_secs_f64()
        );
        Error::new(Code::TooLarge, Reason::TooMuchWork, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    static TAKEN: AtomicU64 = AtomicU64::new(0);

    fn clock() -> Duration {
        Duration::from_millis(TAKEN.load(Ordering::Relaxed))
    }

    fn take(milliseconds: u64) {
        TAKEN.fetch_add(milliseconds, Ordering::Relaxed);
    }

    #[test]
    fn a_call_is_charged_for_its_own_work_and_ends_when_it_is_too_much() {
        let work = Work::within(Duration::from_millis(100), clock);
        let mut call = Box::pin(work.count(async {
            take(60);
            let first = work.check();
            tokio::task::yield_now().await;
            take(40);
            let second = work.check();
            take(1);
            (first, second, work.check())
        }));
        assert!(call.as_mut().now_or_never().is_none());
        // By other calls.
        take(1000);
        let (first, second, third) = call.now_or_never().unwrap();
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(third.unwrap_err().reason(), "too_much_work");
    }
}
