//! The reader of text in attachments, which the program provides.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Most bytes of text of one attachment; the rest is dropped.
pub const MAX_TEXT_BYTES: usize = 4 << 20;

/// Reads text in files of other formats. It limits its own time and memory.
pub trait TextReader: Debug + Send + Sync {
    /// Whether it can read files of this name.
    fn reads(&self, file_name: &str) -> bool;

    /// The text of a file with these bytes; empty if it finds none. May be slow.
    ///
    /// # Errors
    /// When it could not even begin, for instance because a program is missing.
    fn read(&self, bytes: &[u8]) -> io::Result<String>;
}

/// How to read attachments.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The reader.
    pub reader: Arc<dyn TextReader>,
    /// Most time that one sync spends on it.
    pub time: Duration,
}
