//! The cost of one request: requests to the store, bytes, and waves.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts the requests of all handles that share it.
///
/// A *wave* is a round of requests that wait only for the rounds before it. A request's depth is one more than the
/// deepest request that had completed when it began. The number of waves is the deepest completed depth.
#[derive(Debug, Default)]
pub struct Counters {
    requests: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    depth: AtomicU64,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests to the store, repeated ones included.
    pub requests: u64,
    /// Bytes of bodies read.
    pub bytes_read: u64,
    /// Bytes of bodies sent.
    pub bytes_written: u64,
    /// Rounds of requests.
    pub waves: u64,
}

impl Counters {
    /// The counts now.
    pub fn counts(&self) -> Counts {
        Counts {
            requests: self.requests.load(Relaxed),
            bytes_read: self.bytes_read.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            waves: self.depth.load(Relaxed),
        }
    }

    /// Begins a request; returns its depth.
    pub(crate) fn begin(&self) -> u64 {
        self.requests.fetch_add(1, Relaxed);
        self.depth.load(Relaxed) + 1
    }

    /// Ends a request of depth `depth`.
    pub(crate) fn end(&self, depth: u64, bytes_read: u64, bytes_written: u64) {
        self.bytes_read.fetch_add(bytes_read, Relaxed);
        self.bytes_written.fetch_add(bytes_written, Relaxed);
        self.depth.fetch_max(depth, Relaxed);
    }
}
