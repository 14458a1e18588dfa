//! Compares two texts for a person.

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

/// The differences between `old` and `new` as a unified diff without a header; empty if there are none.
#[must_use]
pub fn unified(old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_lines_that_go_and_come() {
        let diff = unified("one\ntwo\nthree\n", "one\n2\nthree\n");
        assert_eq!(diff, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
        assert_eq!(unified("same\n", "same\n"), "");
        assert!(unified("gone\n", "").ends_with("-gone\n"));
    }
}
