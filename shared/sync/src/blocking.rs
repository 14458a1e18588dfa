//! Work that blocks, beside what waits for the network.

use crate::error::SyncError;

/// Runs what waits for files or computes for long on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SyncError> + Send + 'static,
) -> Result<T, SyncError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| SyncError::Broken(error.to_string()))?
}
