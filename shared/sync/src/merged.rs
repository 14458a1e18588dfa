//! A file that both sides changed, and whose changes were merged.

use bytes::Bytes;
use serde::Serialize;

use crate::scan::File;
use crate::write::{Fingerprint, Write};

/// A file whose changes on both sides were merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// Its path.
    pub path: String,
    /// SHA-256 of the folder's version, in hex.
    pub ours: String,
    /// SHA-256 of the mirror's version, in hex.
    pub theirs: String,
    /// The merge.
    #[serde(skip)]
    pub text: Bytes,
}

/// The merge of a file.
#[derive(Debug)]
pub(crate) struct Merge {
    /// Sets the folder's version aside.
    pub(crate) aside: Write,
    /// Commits the merge.
    pub(crate) merged: Write,
    /// SHA-256 of the mirror's version.
    pub(crate) theirs: [u8; 32],
    /// The folder's file.
    pub(crate) file: File,
    /// The folder's version.
    pub(crate) known: Fingerprint,
}

impl Merge {
    pub(crate) fn described(&self, path: &str) -> Merged {
        let hex = |sha256: &[u8; 32]| sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = self.merged.text().cloned().unwrap_or_default();
        Merged { path: path.to_owned(), ours: hex(&self.known.sha256), theirs: hex(&self.theirs), text }
    }
}
