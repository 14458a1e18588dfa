//! The queue of writers of many processes. Nobody keeps it: each manifest says how long its writer had waited, and with that others judge when
//! it is their turn. So those who came first commit first, and the rest do not disturb them.

use std::time::Duration;

/// The wait of a writer whose turn has come, on average. As long as a commit takes, nearly.
const SHORT: Duration = Duration::from_millis(20);
/// The longest wait: a manifest may say anything.
const LONGEST: Duration = Duration::from_secs(2);
/// The part of the expected wait after which a writer tries again. The last part goes to chance, since waits differ.
const PART: f64 = 0.8;

/// How long to wait after a lost race: a writer that began so long ago, when the winner had waited for `winner`.
pub(crate) fn wait(began: Duration, winner: Duration) -> Duration {
    SHORT + winner.saturating_sub(began).mul_f64(PART).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_one_has_waited_the_sooner_one_tries_again() {
        let winner = Duration::from_millis(1000);
        let waits = [0, 500, 1000, 5000].map(|began| wait(Duration::from_millis(began), winner).as_millis());
        assert_eq!(waits, [820, 420, 20, 20]);
        assert_eq!(wait(Duration::ZERO, Duration::from_millis(u64::MAX)), SHORT + LONGEST);
    }
}
