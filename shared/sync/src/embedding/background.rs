//! Embeds while files are synced, so that a slow or missing service holds up no sync.

use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::embedding::Embedded;
use atlas_mirror::{Mirror, Snapshot};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::{Chosen, Embedder, embed_waiting, waiting};
use crate::error::SyncError;

/// How long a sync waits for it: most changes are embedded by then.
const PATIENCE: Duration = Duration::from_secs(1);
/// The pause after a failure, which doubles while nothing is embedded.
const PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

type Result = std::result::Result<(Embedded, Option<String>), SyncError>;

/// The embedding of a folder that is synced again and again. What one sync begins, a later one reports. It ends with this value; what was
/// embedded by then is kept in the state of the sync.
#[derive(Debug, Default)]
pub struct Background {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// At most one.
    running: JoinSet<Result>,
    /// The time before which the model is left alone, and how long that is.
    paused: Option<(Instant, Duration)>,
    /// Why notes waited when it last ended.
    failure: Option<String>,
}

impl Background {
    /// Begins to embed what lacks vectors, unless that is under way or the model just failed, and waits a moment. The result is of what ended
    /// by now; until then, it is what waits, and why it did before.
    pub(crate) async fn embed(
        &self,
        mirror: &Mirror,
        newest: &Arc<Snapshot>,
        embedder: Embedder,
        chosen: Option<Chosen>,
    ) -> Result {
        let mut state = self.state.lock().await;
        let is_paused = state.paused.is_some_and(|(until, _)| Instant::now() < until);
        if state.running.is_empty() {
            if is_paused {
                return Ok(state.waiting(newest, chosen.as_ref()));
            }
            let (mirror, newest, chosen) = (mirror.clone(), newest.clone(), chosen.clone());
            let work = async move { embed_waiting(&mirror, &newest, &embedder, chosen.as_ref(), &()).await };
            state.running.spawn(work);
        }
        let Ok(Some(ended)) = timeout(PATIENCE, state.running.join_next()).await else {
            return Ok(state.waiting(newest, chosen.as_ref()));
        };
        let ended = ended.unwrap_or_else(|error| Ok((Embedded::default(), Some(error.to_string()))));
        state.paused = match &ended {
            // Also where a passage is refused each time.
            Ok((embedded, None)) if embedded.passages > 0 || embedded.waiting == 0 => None,
            Ok((embedded, Some(_))) if embedded.passages > 0 => Some(PAUSE),
            _ => Some(state.paused.map_or(PAUSE, |(_, pause)| (pause * 2).min(LONGEST_PAUSE))),
        }
        .map(|pause| (Instant::now() + pause, pause));
        state.failure = match &ended {
            Ok((_, failure)) => failure.clone(),
            Err(error) => Some(error.to_string()),
        };
        ended
    }
}

impl State {
    /// The report while a run is under way or paused.
    fn waiting(&self, newest: &Snapshot, chosen: Option<&Chosen>) -> (Embedded, Option<String>) {
        (Embedded { waiting: waiting(newest, chosen), ..Embedded::default() }, self.failure.clone())
    }
}
