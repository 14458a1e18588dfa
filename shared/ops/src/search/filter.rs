//! Filters: which paths are looked at, as ripgrep's `--glob` says or in a folder.

use globset::{GlobBuilder, GlobMatcher};

use crate::arguments::Root;
use crate::error::Error;

/// Which paths are looked at.
pub(crate) enum Filter {
    /// Those that match, or those that do not.
    Glob { glob: GlobMatcher, is_negated: bool },
    /// Those in a folder.
    Root(Root),
}

impl Filter {
    /// What `text` says: a glob; without a slash at any depth; with `!` in front the paths that it does not match.
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        let (is_negated, glob) = text.strip_prefix('!').map_or((false, text), |glob| (true, glob));
        let glob = match glob.strip_prefix('/') {
            Some(from_root) => from_root.to_owned(),
            None if glob.contains('/') => glob.to_owned(),
            None => format!("**/{glob}"),
        };
        let built = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
        let invalid = |error: globset::Error| Error::bad_request("glob_invalid", format!("path_filter: {error}"));
        Ok(Self::Glob { glob: built.map_err(invalid)?.compile_matcher(), is_negated })
    }

    /// Whether `path` is looked at.
    pub(crate) fn takes(filter: Option<&Self>, path: &str) -> bool {
        match filter {
            None => true,
            Some(Self::Glob { glob, is_negated }) => glob.is_match(path) != *is_negated,
            Some(Self::Root(root)) => root.holds(path),
        }
    }
}
