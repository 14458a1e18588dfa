//! Who may decide on a call: those who may read all that it reads and changes.

use atlas_access::acl::is_closed_path;
use atlas_access::{Access, Acl, Scopes};
use atlas_vault::VaultPath;
use serde::{Deserialize, Serialize};

use super::request::{PlannedFile, Request};
use crate::write::writable::TRASH;

/// What a caller may read, as stored with what they approve in advance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sight {
    scopes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folders: Option<Vec<String>>,
}

impl Sight {
    pub(crate) fn of(scopes: &Scopes) -> Self {
        Self { scopes: scopes.names(), folders: scopes.folders().map(<[String]>::to_vec) }
    }

    fn scopes(&self) -> Scopes {
        let scopes = Scopes::named(self.scopes.iter().map(String::as_str));
        match &self.folders {
            Some(folders) => scopes.within(folders),
            None => scopes,
        }
    }

    /// Whether it has all of these files, and of the other paths that a call reads.
    pub(crate) fn has(&self, acl: &Acl, files: &[PlannedFile], reads: &[String]) -> bool {
        may_read_all(acl, &self.scopes(), paths(files), reads)
    }
}

impl Request {
    /// Whether a caller with these scopes may decide on the call.
    #[must_use]
    pub fn is_seen_by(&self, acl: &Acl, scopes: &Scopes) -> bool {
        // Earlier versions stored no paths of more files.
        let are_named = self.more_files == 0 || !self.more_paths.is_empty();
        let changed = paths(&self.files).chain(self.more_paths.iter().map(String::as_str));
        are_named && may_read_all(acl, scopes, changed, &self.reads)
    }

    /// Whether it changes no file: it acts on the whole vault, by a command of the app.
    #[must_use]
    pub const fn acts_on_whole_vault(&self) -> bool {
        self.files.is_empty() && self.more_files == 0
    }
}

fn paths(files: &[PlannedFile]) -> impl Iterator<Item = &str> {
    files.iter().flat_map(PlannedFile::paths)
}

fn may_read_all<'a>(acl: &Acl, scopes: &Scopes, changed: impl Iterator<Item = &'a str>, reads: &'a [String]) -> bool {
    // Where `readPaths` hold back notes from everybody, somebody has to decide all the same.
    let sees_all = || acl.reads_most(scopes);
    let mut changed = changed.peekable();
    // A call that changes no file of the vault acts on all of it, by a command of the app.
    if changed.peek().is_none() && !sees_all() {
        return false;
    }
    changed.chain(reads.iter().map(String::as_str)).all(|path| {
        // What goes into the trash is named by its own path too, and settings are of the whole vault.
        path.starts_with(TRASH)
            || (is_closed_path(path) && sees_all())
            || VaultPath::parse(path).is_ok_and(|path| acl.check(Access::Read, path.as_str(), scopes).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(path: &str) -> PlannedFile {
        PlannedFile { path: path.to_owned(), before: None, after: None, from: None }
    }

    #[test]
    fn what_is_held_back_from_everybody_makes_nobody_partial() {
        let (whole, part) = (Scopes::named(["team:a"]), Scopes::named(["approve:vault"]));
        let within = whole.clone().within(&["open".to_owned()]);
        for read in [json!({ "readPaths": ["**"] }), json!({ "readPaths": ["open/**"], "strictReadDefault": true })] {
            let mut config = read.clone();
            config["rules"] = json!([{ "glob": "secret/**", "scopes": ["team:a"] }]);
            let acl = Acl::new(&serde_json::from_value(config).unwrap()).unwrap();
            for changed in [&[][..], &[".obsidian/workspaces.json"], &["open/a.md", ".obsidian/bookmarks.json"]] {
                let files: Vec<PlannedFile> = changed.iter().map(|path| file(path)).collect();
                let found = [&whole, &part, &within].map(|scopes| Sight::of(scopes).has(&acl, &files, &[]));
                assert_eq!(found, [true, false, false], "{read} {changed:?}");
            }
        }
        let acl = Acl::new(&serde_json::from_value(json!({ "readPaths": ["open/**"] })).unwrap()).unwrap();
        assert!(!Sight::of(&whole).has(&acl, &[file("secret/a.md")], &[]));
    }

    #[test]
    fn whoever_sees_a_part_decides_on_calls_within_it() {
        let config = json!({ "rules": [{ "glob": "secret/**", "scopes": ["team:a"] }] });
        let acl = Acl::new(&serde_json::from_value(config).unwrap()).unwrap();
        let whole = Scopes::named(["approve:vault", "team:a"]);
        let part = Scopes::named(["approve:vault"]);
        let within = whole.clone().within(&["open".to_owned()]);
        for (changed, reads, expected) in [
            (&["open/a.md"][..], &[][..], [true; 3]),
            (&["a.md"], &[], [true, true, false]),
            (&["open/a.md", "secret/a.md"], &[], [true, false, false]),
            (&["open/a.md"], &["secret/a.md"], [true, false, false]),
            (&["open/a.md", ".trash/open/a.md"], &["open/b.md"], [true; 3]),
            (&[".obsidian/workspaces.json"], &[], [true, false, false]),
            (&[], &[], [true, false, false]),
        ] {
            let files: Vec<PlannedFile> = changed.iter().map(|path| file(path)).collect();
            let reads: Vec<String> = reads.iter().map(|path| (*path).to_owned()).collect();
            let found = [&whole, &part, &within].map(|scopes| {
                let stored = serde_json::to_value(Sight::of(scopes)).unwrap();
                serde_json::from_value::<Sight>(stored).unwrap().has(&acl, &files, &reads)
            });
            assert_eq!(found, expected, "{changed:?} {reads:?}");
        }
    }
}
