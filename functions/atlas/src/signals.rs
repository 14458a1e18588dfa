//! Signals that ask the program to end.

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
    // Where signals cannot be heard, the process can only be killed.
    if interrupt.await.is_err() {
        std::future::pending::<()>().await;
    }
}
