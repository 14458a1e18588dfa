//! A clock for each test, which stands still when it is told to.

use std::cell::Cell;
use std::time::Duration;

use jiff::Timestamp;

thread_local! {
    static STOPPED: Cell<Option<Timestamp>> = const { Cell::new(None) };
}

/// What time it is: for tests that run on one thread, and the processes that they make.
pub fn now() -> Timestamp {
    STOPPED.get().unwrap_or_else(Timestamp::now)
}

/// The clock stands still from now on.
pub fn stop() {
    pass(Duration::ZERO);
}

/// The clock is set forward, and stands still there.
pub fn pass(time: Duration) {
    STOPPED.set(Some(now() + time));
}
