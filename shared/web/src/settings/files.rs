//! Small files that settings name.

use std::{fs, io};

/// Most bytes of a file of keys.
const MAX_KEYS_FILE: u64 = 256 << 10;

/// The text of the file at `path`.
pub(crate) fn read(path: &str) -> io::Result<String> {
    if fs::metadata(path)?.len() > MAX_KEYS_FILE {
        return Err(io::Error::other("the file is too large"));
    }
    fs::read_to_string(path)
}
