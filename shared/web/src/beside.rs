//! Something that is read beside a call, and never waited for.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// The result of `call`, and that of `other` if it was there by then. A call that waits for nothing starts nothing else.
pub(crate) async fn beside<C, O>(call: impl Future<Output = C>, other: impl Future<Output = O>) -> (C, Option<O>) {
    let (mut call, mut other) = (pin!(call), pin!(other));
    let (mut told, mut has_begun) = (None, false);
    poll_fn(|context| {
        let called = call.as_mut().poll(context);
        if told.is_none()
            && (has_begun || called.is_pending())
            && let Poll::Ready(value) = other.as_mut().poll(context)
        {
            told = Some(value);
        }
        has_begun = true;
        called.map(|called| (called, told.take()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{pending, ready};
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;

    async fn after(seconds: u64) -> u64 {
        sleep(Duration::from_secs(seconds)).await;
        seconds
    }

    #[tokio::test(start_paused = true)]
    async fn the_other_is_had_if_it_is_there_in_time() {
        assert_eq!(beside(after(2), after(1)).await, (2, Some(1)));
        assert_eq!(beside(after(2), after(2)).await, (2, Some(2)));
        let begun = Instant::now();
        assert_eq!(beside(after(2), after(3)).await, (2, None));
        assert_eq!(beside(after(2), pending::<()>()).await, (2, None));
        assert_eq!(begun.elapsed(), Duration::from_secs(4), "nobody waited for it");
    }

    #[tokio::test]
    async fn a_call_that_waits_for_nothing_starts_nothing() {
        let started = Cell::new(false);
        let other = async { started.set(true) };
        assert_eq!(beside(ready(1), other).await, (1, None));
        assert!(!started.get());
    }
}
