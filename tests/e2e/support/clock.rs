//! A clock for each test, which can be stopped.

use std::cell::Cell;
use std::time::Duration;

use jiff::Timestamp;

thread_local! {
    static STOPPED: Cell<Option<Timestamp>> = const { Cell::new(None) };
}

/// The current time, for tests on one thread and their processes.
pub fn now() -> Timestamp {
    STOPPED.get().unwrap_or_else(Timestamp::now)
}

/// Stops the clock.
pub fn stop() {
    pass(Duration::ZERO);
}

/// Sets the clock forward, and stops it there.
pub fn pass(time: Duration) {
    STOPPED.set(Some(now() + time));
}
