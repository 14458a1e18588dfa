//! The time of the last sync, for readers who see only the mirror.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// The shortest time between two heartbeats, in seconds.
const STRETCH: i64 = 5 * 60;
/// How long a process keeps what it read.
const KEPT: Duration = Duration::from_secs(60);

/// A completed sync, as stored: JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// When it began, by its host's clock.
    pub time: Timestamp,
    /// The newest generation then; 0 if there was none.
    pub generation: u64,
}

impl Heartbeat {
    /// Whether to write it, after the one of the sync at `before`.
    #[must_use]
    pub fn is_due(&self, before: Option<Timestamp>) -> bool {
        let stretch = |time: Timestamp| time.as_second().div_euclid(STRETCH);
        before.is_none_or(|before| stretch(before) != stretch(self.time))
    }
}

/// The store's answer to a question for the last sync.
#[derive(Debug)]
pub(crate) struct Told {
    at: Instant,
    pub(crate) beat: Option<Heartbeat>,
}

impl Told {
    /// An answer of this moment.
    pub(crate) fn now(beat: Option<Heartbeat>) -> Self {
        Self { at: Instant::now(), beat }
    }

    /// Whether it need not be asked again.
    pub(crate) fn is_recent(&self) -> bool {
        self.at.elapsed() < KEPT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_once_in_five_minutes_however_often_the_vault_is_synced() {
        let mut before = None;
        let mut written = 0;
        for second in (0..3600).step_by(10) {
            let beat = Heartbeat { time: Timestamp::from_second(1_700_000_000 + second).unwrap(), generation: 1 };
            written += u32::from(beat.is_due(before));
            before = Some(beat.time);
        }
        assert!((12..=13).contains(&written), "{written}");
    }
}
