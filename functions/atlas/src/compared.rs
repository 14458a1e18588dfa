//! Compares two texts for a person.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use atlas_vault::diff::unified;

use crate::color::Color;
use crate::output::{self, plain};

/// Larger files are only reported as different.
pub(crate) const MAX_BYTES: u64 = 4 << 20;

/// The text of a file; empty if it does not exist, [`None`] if it is not text or too large.
pub(crate) fn text_of(path: &Path) -> io::Result<Option<String>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(String::new())),
        Err(error) => return Err(error),
        Ok(found) if !found.is_file() || found.len() > MAX_BYTES => return Ok(None),
        Ok(_) => {}
    }
    Ok(String::from_utf8(fs::read(path)?).ok())
}

/// Prints the differences between `old` and `new` as a unified diff below a `title`.
pub(crate) fn print(color: Color, title: &str, old: &str, new: &str) {
    output::painted(&color.path(title));
    print_diff(color, &unified(old, new));
}

/// Prints a unified diff.
pub(crate) fn print_diff(color: Color, diff: &str) {
    for line in diff.lines() {
        output::painted(&match line.chars().next() {
            Some('+') => color.added(line),
            Some('-') => color.removed(line),
            _ => plain(line),
        });
    }
}
