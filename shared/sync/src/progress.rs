//! How far long work has come.

use atlas_mirror::repair::Repaired;

/// A stretch of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The folder is listed; counted in files, whose number is not known before.
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
}

/// Is told how far long work has come. Called often, and from several threads.
pub trait Progress: Send + Sync {
    /// A phase begins, of `total` units; [`None`] when that is not known.
    fn begin(&self, phase: Phase, total: Option<u64>);

    /// So many more units are done.
    fn advance(&self, units: u64);

    /// The store was repaired, whether or not the sync that follows comes to its end.
    fn repaired(&self, _: &Repaired) {}
}

/// Nobody looks.
impl Progress for () {
    fn begin(&self, _: Phase, _: Option<u64>) {}

    fn advance(&self, _: u64) {}
}
