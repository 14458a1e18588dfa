//! The project's folder, and messages past the tests' capture.

use std::io::Write as _;
use std::path::Path;

/// The folder of the project.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Prints a skipped test past the capture of tests' output, so that it is seen.
pub fn skip(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}
