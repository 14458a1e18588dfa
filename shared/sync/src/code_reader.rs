//! Finds symbols in source code: the program's part of that work.

use std::fmt::Debug;

use atlas_segment::code::Code;

/// Finds what source code defines, uses and imports. It bounds its own time and memory, and several threads ask it at once.
pub trait CodeReader: Debug + Send + Sync {
    /// Whether it knows the language of files of this name.
    fn reads(&self, file_name: &str) -> bool;

    /// The symbols of `text`, the content of a file of this name; [`None`] if it cannot be parsed.
    fn read(&self, file_name: &str, text: &str) -> Option<Code>;
}
