//! The part of a vault that a sync is limited to.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use unicode_normalization::UnicodeNormalization as _;

use crate::conflict;

/// Files of a vault, by their paths.
#[derive(Clone, Debug)]
pub struct Only(GlobSet);

impl Only {
    /// The files whose paths match one of `globs`, such as `**/adr/**`, in whatever Unicode form either is written. `*` and `?` match no `/`.
    ///
    /// # Errors The first glob that cannot be understood, and why.
    pub fn of<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            let parsed = GlobBuilder::new(&glob.nfc().collect::<String>()).literal_separator(true).build();
            set.add(parsed.map_err(|error| format!("{glob:?} is not a glob of paths: {}", error.kind()))?);
        }
        set.build().map(Self).map_err(|error| error.to_string())
    }

    /// Whether the file at `path` is one of them. A conflict copy is none: a person looks at it where it was made.
    pub fn has(&self, path: &str) -> bool {
        self.0.is_match(path.nfc().collect::<String>()) && !conflict::is_copy(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_chosen_by_globs_and_conflict_copies_are_none() {
        let only = Only::of(["**/adr/**", "docs/*.md"]).unwrap();
        for path in ["adr/1.md", "work/adr/deep/1.md", "docs/a.md"] {
            assert!(only.has(path), "{path}");
        }
        for path in ["docs/deep/a.md", "adr.md", "work/adr/1 (conflict 2026-11-21 14.03 ida).md"] {
            assert!(!only.has(path), "{path}");
        }
        for glob in ["Zo\u{eb}/*", "Zoe\u{308}/*"] {
            let only = Only::of([glob]).unwrap();
            assert!(only.has("Zo\u{eb}/a.md") && only.has("Zoe\u{308}/a.md"), "{glob:?}");
        }
        assert!(Only::of(["a["]).unwrap_err().contains("\"a[\""));
    }
}
