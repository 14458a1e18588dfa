//! Captures: texts that wait to become notes.

pub mod commit_capture;
pub mod enqueue_capture;
pub mod list_capture_queue;
mod queue;
