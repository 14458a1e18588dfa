//! The project's own folder, and what tests say past their capture.

use std::io::Write as _;
use std::path::Path;

/// The folder of the project.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Says what was not tested, past the capture of tests' output: it is to be seen.
pub fn skip(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}
