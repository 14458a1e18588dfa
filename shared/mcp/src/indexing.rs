//! An index that this process builds while it already answers callers. Calls wait for it and report its progress.

use std::time::Duration;

use atlas_ops::Error;
use atlas_ops::error::{Code, Reason};
use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

/// The operation that rebuilds the index before it answers.
const INDEX: &str = "atlas_index";
/// The interval of progress reports to a waiting caller.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// A caller who waits for an up-to-date index.
pub type Asker = oneshot::Sender<Result<(), String>>;

/// The index, as waiting callers see it.
#[derive(Clone, Debug)]
pub struct Indexing {
    state: watch::Receiver<State>,
    asked: mpsc::Sender<Asker>,
}

/// The progress of the index.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The current step and its progress, for people.
    pub step: String,
    /// The result of the last run; [`None`] before the first has ended.
    pub ended: Option<Result<(), String>>,
}

impl Indexing {
    /// The index whose builder sends `state` and takes requests from `asked`.
    #[must_use]
    pub const fn new(state: watch::Receiver<State>, asked: mpsc::Sender<Asker>) -> Self {
        Self { state, asked }
    }

    /// Waits until `operation` can answer.
    ///
    /// # Errors
    /// When the index could not be built.
    pub(crate) async fn prepared(&self, operation: &str, context: &RequestContext<RoleServer>) -> Result<(), Error> {
        let ready = async {
            if operation == INDEX {
                let (asker, answer) = oneshot::channel();
                self.asked.send(asker).await.map_err(|_| ended())?;
                return answer.await.map_err(|_| ended())?;
            }
            let mut state = self.state.clone();
            let known = state.wait_for(|state| state.ended.is_some()).await.map_err(|_| ended())?;
            known.ended.clone().unwrap_or(Ok(()))
        };
        let failed = |reason: String| {
            let message = format!("the folder could not be indexed: {reason}; fix that, then call {INDEX}");
            Error::new(Code::Unavailable, Reason::IndexFailed, message)
        };
        tokio::select! {
            result = ready => result.map_err(failed),
            () = self.tell(context) => Ok(()),
        }
    }

    /// Sends the progress to a caller who requested it. Never completes.
    async fn tell(&self, context: &RequestContext<RoleServer>) {
        let Some(token) = context.meta.get_progress_token() else { return std::future::pending().await };
        let mut ticks = interval(TOLD_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = 0.0;
        loop {
            ticks.tick().await;
            told += 1.0;
            let step = self.state.borrow().step.clone();
            let progress = ProgressNotificationParam::new(token.clone(), told).with_message(step);
            // A client that ignores progress still waits.
            let _ = context.peer.notify_progress(progress).await;
        }
    }
}

fn ended() -> String {
    "the program is ending".to_owned()
}
