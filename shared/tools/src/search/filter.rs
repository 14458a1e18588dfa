//! Filters of paths: by ripgrep's `--glob` syntax or by folder; and excluded paths.

use atlas_ops::arguments::{Given, Root, Text};
use atlas_ops::error::{Error, Reason};
use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use serde::de::{Deserialize, Deserializer, Error as _};

/// Which paths are searched.
pub(crate) enum Filter {
    /// Those that match.
    Glob(GlobMatcher),
    /// Those that do not match, nor does one of their folders.
    Without { glob: GlobMatcher, only_folders: bool },
    /// Those in a folder.
    Root(Root),
}

impl Filter {
    /// Parses a glob: without a slash it matches at any depth, with one at its end all in that folder; with `!` in front
    /// it selects the paths that do not match, and are in no folder that does.
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        Self::of("path_filter", text)
    }

    /// Like [`new`](Self::new), for argument or setting `field`.
    pub(crate) fn of(field: &str, text: &str) -> Result<Self, Error> {
        let (is_without, glob) = text.strip_prefix('!').map_or((false, text), |glob| (true, glob));
        // `./` is where `/` is: the root of the vault.
        let glob = if glob.starts_with("./") { glob.get(1..).unwrap_or(glob) } else { glob };
        let (glob, only_folders) = glob.strip_suffix('/').map_or((glob, false), |folder| (folder, true));
        if is_without {
            return Ok(Self::Without { glob: glob_of(field, glob)?.compile_matcher(), only_folders });
        }
        let inside = match (only_folders, glob.contains('/')) {
            (false, _) => glob.to_owned(),
            (true, true) => format!("{glob}/**"),
            (true, false) => format!("**/{glob}/**"),
        };
        Ok(Self::Glob(glob_of(field, &inside)?.compile_matcher()))
    }

    /// Whether `path` is searched.
    pub(crate) fn takes(filter: Option<&Self>, path: &str) -> bool {
        match filter {
            None => true,
            Some(Self::Glob(glob)) => glob.is_match(path),
            Some(Self::Without { glob, only_folders }) => {
                !folders(path).any(|folder| glob.is_match(folder)) && (*only_folders || !glob.is_match(path))
            }
            Some(Self::Root(root)) => root.holds(path),
        }
    }
}

/// A glob without the `./` that it may begin with.
pub(crate) fn from_here(glob: &str) -> &str {
    glob.strip_prefix("./").unwrap_or(glob)
}

/// Reads the glob of an argument, which is left out where it is empty.
pub(crate) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Given<Text<500>>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() {
        return Ok(Given(None));
    }
    Text::new(&text).map(|glob| Given(Some(glob))).map_err(D::Error::custom)
}

/// The folders that a path is in.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(end, _)| path.get(..end))
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
        self.paths.iter().any(|root| root.holds(path) || root.prefix().strip_suffix('/') == Some(path))
            || (!self.globs.is_empty() && folders(path).chain([path]).any(|part| self.globs.is_match(part)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_takes_a_folder_with_all_that_is_in_it_or_leaves_it_out() {
        for (glob, path, is_taken) in [
            ("!log", "log/deep/a.md", false),
            ("!log", "old/log/a.md", false),
            ("!log", "log", false),
            ("!log/", "log/a.md", false),
            ("!log/", "old/log/a.md", false),
            ("!log/", "old/log", true),
            ("!/log/", "old/log/a.md", true),
            ("!./log/deep", "log/deep/a.md", false),
            ("!log/*", "log/deep/a.md", false),
            ("!log", "logs/a.md", true),
            ("log/", "log/deep/a.md", true),
            ("log/", "old/log/a.md", true),
            ("log/", "logs/a.md", false),
            ("/log/", "log/a.md", true),
            ("./log/*.md", "log/a.md", true),
            ("./a.md", "a.md", true),
            ("./*.md", "log/a.md", false),
            ("!./log", "old/log/a.md", true),
            ("log", "log/a.md", false),
        ] {
            let filter = Filter::new(glob).unwrap();
            assert_eq!(Filter::takes(Some(&filter), path), is_taken, "{glob} {path}");
        }
    }

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
