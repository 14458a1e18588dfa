//! The rules of `.gitignore` files.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read as _};

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

const NAME: &str = ".gitignore";
/// Most bytes of one such file.
const MAX_BYTES: u64 = 256 << 10;

/// The rules of the folders entered so far, by the folder's path; the root's is empty.
#[derive(Debug, Default)]
pub(crate) struct Gitignores(BTreeMap<String, Gitignore>);

impl Gitignores {
    /// Reads the rules of `folder` within `root`, if it has any. An unreadable file is an error, since its rules may
    /// protect a secret.
    pub(crate) fn enter(&mut self, root: &Dir, folder: &str) -> io::Result<()> {
        let path = if folder.is_empty() { NAME.to_owned() } else { format!("{folder}/{NAME}") };
        match root.symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {}
            // As in Git.
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut bytes = Vec::new();
        root.open(&path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!("its {NAME} has more than {MAX_BYTES} bytes")));
        }
        self.add(folder, &String::from_utf8_lossy(&bytes));
        Ok(())
    }

    fn add(&mut self, folder: &str, text: &str) {
        let mut rules = GitignoreBuilder::new("");
        for line in text.trim_start_matches('\u{feff}').lines() {
            // As in Git, an invalid line excludes nothing.
            let _ = rules.add_line(None, line);
        }
        if let Ok(rules) = rules.build() {
            self.0.insert(folder.to_owned(), rules);
        }
    }

    /// Whether the rules exclude `path`, which is in a folder that was entered. The nearest folder's rules have
    /// precedence.
    pub(crate) fn leave_out(&self, path: &str, is_folder: bool) -> bool {
        let mut folder = Some(parent(path));
        while let Some(at) = folder {
            let below = path.strip_prefix(at).unwrap_or(path).trim_start_matches('/');
            match self.0.get(at).map_or(Match::None, |rules| rules.matched(below, is_folder)) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => folder = (!at.is_empty()).then(|| parent(at)),
            }
        }
        false
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rules_have_the_last_word() {
        let mut rules = Gitignores::default();
        rules.add("", "\u{feff}# built\n*.log\r\n/target/\nsecret\n!keep.log\n[\n");
        rules.add("a/b", "!x.log\n/only-here.md\n");
        for (path, is_folder, left_out) in [
            ("x.log", false, true),
            ("keep.log", false, false),
            ("a/x.log", false, true),
            ("a/b/x.log", false, false),
            ("a/b/c/x.log", false, false),
            ("a/b/y.log", false, true),
            ("target", true, true),
            ("target", false, false),
            ("a/target", true, false),
            ("a/secret", true, true),
            ("a/b/only-here.md", false, true),
            ("a/b/c/only-here.md", false, false),
            ("only-here.md", false, false),
        ] {
            assert_eq!(rules.leave_out(path, is_folder), left_out, "{path}");
        }
    }
}
