//! The progress of long work.

use atlas_mirror::repair::Repaired;

/// A phase of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The folder is listed; counted in files, whose number is unknown.
    Scan,
    /// Files that may have changed are read; counted in bytes.
    Read,
    /// Attachments are uploaded; counted in bytes.
    Upload,
    /// Text is indexed; counted in bytes.
    Index,
    /// The generation is committed; not counted.
    Commit,
    /// Files are written; counted in bytes.
    Write,
    /// Text in attachments is read; counted in attachments.
    Extract,
    /// Passages are embedded; counted in passages.
    Embed,
}

/// Receives the progress of long work. Called often, and from several threads.
pub trait Progress: Send + Sync {
    /// A phase of `total` units begins; [`None`] when the number is unknown.
    fn begin(&self, phase: Phase, total: Option<u64>);

    /// `units` more are done.
    fn advance(&self, units: u64);

    /// The store was repaired, whether or not the following sync completes.
    fn repaired(&self, _: &Repaired) {}
}

/// Ignores all progress.
impl Progress for () {
    fn begin(&self, _: Phase, _: Option<u64>) {}

    fn advance(&self, _: u64) {}
}
