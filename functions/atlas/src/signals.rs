//! Signals that stop the program.

use tokio::sync::watch;

use std::pin::pin;

use crate::bar::Phases;
use crate::commands::Outcome;
use crate::output;

/// Does `work`, which ends soon after `stop` is set. The first signal sets it; the second ends the work at once.
pub(crate) async fn until_told_to_stop(
    work: impl Future<Output = Outcome>,
    stop: &watch::Sender<bool>,
    phases: &Phases,
) -> Outcome {
    let mut work = pin!(work);
    // Signals are heard before the work begins: one that comes at its first step must not kill it.
    tokio::select! {
        biased;
        () = told_to_stop() => {}
        outcome = &mut work => return outcome,
    }
    stop.send_replace(true);
    output::note("stopping after the sync in hand; Ctrl-C again ends it at once");
    tokio::select! {
        outcome = &mut work => outcome,
        () = told_to_stop() => Err(phases.interrupted().into()),
    }
}

/// Done when it is time to stop.
pub(crate) async fn until(mut stopped: watch::Receiver<bool>) {
    // The sender lives as long as the program.
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// Done when the process gets an interrupt or is asked to end.
pub(crate) async fn told_to_stop() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = interrupt => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    // Without signals, the process can only be killed.
    if interrupt.await.is_err() {
        std::future::pending::<()>().await;
    }
}
