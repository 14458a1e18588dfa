//! What reads text in files that are no text: the program's part of that work.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Most bytes of text of one attachment; what is more is left out.
pub const MAX_TEXT_BYTES: usize = 4 << 20;

/// Reads text in files that are no text. It bounds its own time and memory.
pub trait TextReader: Debug + Send + Sync {
    /// Whether it can read files of this name.
    fn reads(&self, file_name: &str) -> bool;

    /// The text in a file with these bytes; empty if there is none that it can read. Takes its time.
    ///
    /// # Errors
    /// When it could not even begin, as where a program is missing.
    fn read(&self, bytes: &[u8]) -> io::Result<String>;
}

/// How attachments are read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Reads them.
    pub reader: Arc<dyn TextReader>,
    /// How long one sync goes on with that.
    pub time: Duration,
}
