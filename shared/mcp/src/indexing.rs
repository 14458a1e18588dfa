//! An index that this process builds while it already answers callers. Calls wait for it and report its progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use atlas_ops::Error;
use atlas_ops::error::{Code, Reason};
use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

/// The operation that rebuilds the index before it answers.
const INDEX: &str = "atlas_index";
/// A call waits so long for what changed before it to be indexed.
const FRESH: Duration = Duration::from_secs(3);
/// The interval of progress reports to a waiting caller.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// A caller who waits for an up-to-date index.
pub type Asker = oneshot::Sender<Result<(), String>>;

/// The index, as waiting callers see it.
#[derive(Clone, Debug)]
pub struct Indexing {
    state: watch::Receiver<State>,
    asked: mpsc::Sender<Asker>,
    /// Whether something changed since the last run began.
    changed: Arc<AtomicBool>,
}

/// The progress of the index.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The current step and its progress, for people.
    pub step: String,
    /// The result of the last run; [`None`] before the first has ended.
    pub ended: Option<Result<(), String>>,
    /// Until then, calls do not wait for what seems to have changed: the last runs for such changes found none.
    pub calm_until: Option<Instant>,
}

impl State {
    fn is_calm(&self) -> bool {
        self.calm_until.is_some_and(|until| Instant::now() < until)
    }
}

impl Indexing {
    /// The index whose builder sends `state`, takes requests from `asked`, and makes `changed` false when it begins a run.
    #[must_use]
    pub const fn new(state: watch::Receiver<State>, asked: mpsc::Sender<Asker>, changed: Arc<AtomicBool>) -> Self {
        Self { state, asked, changed }
    }

    /// Waits until `operation` can answer.
    ///
    /// # Errors
    /// When the index could not be built.
    pub(crate) async fn prepared(&self, operation: &str, context: &RequestContext<RoleServer>) -> Result<(), Error> {
        let ready = async {
            if operation == INDEX {
                return self.renewed().await;
            }
            let mut state = self.state.clone();
            let (ended, is_calm) = {
                let state = state.wait_for(|state| state.ended.is_some()).await.map_err(|_| ended())?;
                (state.ended.clone(), state.is_calm())
            };
            // An agent that changed a file and asks at once gets an answer that knows it, unless that takes long.
            if self.changed.load(Ordering::Acquire) && !is_calm {
                let _ = timeout(FRESH, self.renewed()).await;
            }
            ended.unwrap_or(Ok(()))
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

    /// Has the index built anew.
    async fn renewed(&self) -> Result<(), String> {
        let (asker, answer) = oneshot::channel();
        self.asked.send(asker).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
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
