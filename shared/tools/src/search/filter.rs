//! Filters of paths: by ripgrep's `--glob` syntax or by folder; and excluded paths.

use atlas_ops::arguments::Root;
use atlas_ops::error::{Error, Reason};
use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};

/// Which paths are searched.
pub(crate) enum Filter {
    /// Those that match, or those that do not.
    Glob { glob: GlobMatcher, is_negated: bool },
    /// Those in a folder.
    Root(Root),
}

impl Filter {
    /// Parses a glob: without a slash it matches at any depth; with `!` in front it selects the paths that do not
    /// match.
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        Self::of("path_filter", text)
    }

    /// Like [`new`](Self::new), for argument or setting `field`.
    pub(crate) fn of(field: &str, text: &str) -> Result<Self, Error> {
        let (is_negated, glob) = text.strip_prefix('!').map_or((false, text), |glob| (true, glob));
        Ok(Self::Glob { glob: glob_of(field, glob)?.compile_matcher(), is_negated })
    }

    /// Whether `path` is searched.
    pub(crate) fn takes(filter: Option<&Self>, path: &str) -> bool {
        match filter {
            None => true,
            Some(Self::Glob { glob, is_negated }) => glob.is_match(path) != *is_negated,
            Some(Self::Root(root)) => root.holds(path),
        }
    }
}

/// The glob in argument `field`: without a slash at any depth.
fn glob_of(field: &str, text: &str) -> Result<Glob, Error> {
    let glob = match text.strip_prefix('/') {
        Some(from_root) => from_root.to_owned(),
        None if text.contains('/') => text.to_owned(),
        None => format!("**/{text}"),
    };
    let built = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
    built.map_err(|error| invalid(field, &error))
}

fn invalid(field: &str, error: &globset::Error) -> Error {
    Error::bad_request(Reason::GlobInvalid, format!("{field}: {error}")).with("field", field)
}

/// Excluded paths: files, folders with all their content, and matches of globs for either.
#[derive(Debug)]
pub(crate) struct Excluded {
    paths: Vec<Root>,
    globs: GlobSet,
}

impl Excluded {
    /// Parses the texts of argument `field`, each a path from the root of the vault or a glob.
    pub(crate) fn of(field: &str, texts: &[String]) -> Result<Self, Error> {
        let mut globs = GlobSetBuilder::new();
        let mut paths = Vec::new();
        for text in texts {
            let path = Root::of(field, text);
            if text.contains(['*', '?', '[', '{']) {
                match glob_of(field, text.trim_end_matches('/')) {
                    Ok(glob) => drop(globs.add(glob)),
                    // `[` and similar may occur in names too.
                    Err(_) if path.is_ok() => {}
                    Err(error) => return Err(error),
                }
                paths.extend(path);
            } else {
                paths.push(path?);
            }
        }
        Ok(Self { paths, globs: globs.build().map_err(|error| invalid(field, &error))? })
    }

    /// Whether `path` or one of its folders is excluded.
    pub(crate) fn has(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        self.paths.iter().any(|root| root.holds(path) || root.prefix().strip_suffix('/') == Some(path))
            || (!self.globs.is_empty() && ends.filter_map(|end| path.get(..end)).any(|part| self.globs.is_match(part)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_named_by_path_folder_or_glob() {
        for (text, path, is_out) in [
            ("log/a.md", "log/a.md", true),
            ("log", "log/a.md", true),
            ("log/", "log/deep/a.md", true),
            ("lo", "log/a.md", false),
            ("log/*", "log/a.md", true),
            ("log/*", "log/deep/a.md", true),
            ("log/*.md", "log/deep/a.md", false),
            ("**/deep/*.md", "log/deep/a.md", true),
            ("*.md", "log/deep/a.md", true),
            ("/*.md", "log/a.md", false),
            ("/*.md", "a.md", true),
            ("daily-*", "notes/daily-2026/a.md", true),
            ("{log,notes}/**", "notes/a.md", true),
            ("202?", "2026/a.md", true),
            ("a [old].md", "a [old].md", true),
            ("a [old", "a [old/b.md", true),
            ("[ab].md", "b.md", true),
            ("[ab].md", "c.md", false),
        ] {
            let excluded = Excluded::of("exclude_paths", &[text.to_owned()]).unwrap();
            assert_eq!(excluded.has(path), is_out, "{text} {path}");
        }
        let refused = |text: &str| Excluded::of("exclude_paths", &[text.to_owned()]).unwrap_err().reason().to_owned();
        assert_eq!((refused("../a").as_str(), refused("/a[").as_str()), ("path_invalid", "glob_invalid"));
    }
}
