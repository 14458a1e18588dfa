//! Turns: commits of one process take turns, in the order in which they came, so that they do not lose races to each other.
//!
//! Who waits uploads meanwhile what the change will probably contain. Then the commit before has just made the newest generation, so that
//! nothing needs to be asked of the store: a turn is little more than the creation of a manifest. A turn only saves time, and proves
//! nothing; so who waits for one that makes no progress goes on without.

use std::time::Duration;

use futures::future::join;
use tokio::sync::MutexGuard;
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::MirrorError;
use crate::mirror::Mirror;

/// The longest wait while no other commit succeeds.
const STUCK: Duration = Duration::from_millis(250);

/// A turn; [`None`] for who goes without.
pub(crate) type Turn<'a> = Option<MutexGuard<'a, ()>>;

impl Mirror {
    /// Waits for a turn, and runs `meanwhile` if it has to wait.
    pub(crate) async fn turn(
        &self,
        deadline: Instant,
        meanwhile: impl Future<Output = ()>,
    ) -> Result<Turn<'_>, MirrorError> {
        if let Ok(turn) = self.shared.turn.try_lock() {
            return Ok(Some(turn));
        }
        let wait = timeout_at(deadline, join(self.wait(), meanwhile)).await;
        wait.map(|(turn, ())| turn).map_err(|_| MirrorError::Contended)
    }

    async fn wait(&self) -> Turn<'_> {
        let mut turn = std::pin::pin!(self.shared.turn.lock());
        loop {
            let before = self.known_generation();
            match timeout(STUCK, turn.as_mut()).await {
                Ok(turn) => return Some(turn),
                Err(_) if self.known_generation() == before => return None,
                Err(_) => {}
            }
        }
    }
}
