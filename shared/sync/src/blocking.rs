//! Blocking work on threads of its own.

use crate::error::SyncError;

/// Runs blocking or long work on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SyncError> + Send + 'static,
) -> Result<T, SyncError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| SyncError::Broken(error.to_string()))?
}
