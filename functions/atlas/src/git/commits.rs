//! The commits that a branch gets.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use atlas_sync::rules;
use atlas_sync::{Only, Replayed};
use jiff::Timestamp;

use super::record::{Place, empty};
use super::repository::{GitFile, Ident, NewCommit, Repository, TreeChange};
use super::spelling::{Sorted, vault_path};

/// The folders of a sync for itself.
const OWN: [&str; 2] = [".trash", rules::STAGING];
/// The mode of a file that the branch does not have yet.
const PLAIN: &str = "100644";

/// The branch's files that take part, while they are in a folder.
pub(super) struct Branch {
    /// The newest commit.
    pub(super) tip: Option<String>,
    /// All files of it, in its spelling.
    pub(super) files: BTreeMap<String, GitFile>,
    /// Which of them were written into the folder, and which do not take part.
    pub(super) sorted: Sorted,
    /// The vault's paths of the files that changed since the last exchange.
    pub(super) changed: BTreeSet<String>,
}

/// Commits on a branch.
pub(super) struct Commits<'a> {
    committer: &'a Ident,
    place: &'a Place,
    repository: &'a Repository,
    /// The branch before them.
    branch: &'a Branch,
    /// The files that the folder has now, in its spelling, by the vault's path.
    present: BTreeMap<String, String>,
    /// How many were made.
    pub(super) made: u64,
    /// The newest commit.
    pub(super) tip: Option<String>,
}

impl<'a> Commits<'a> {
    /// None yet, on top of `branch`, whose folder has the files of `only` after the sync.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub(super) fn new(
        only: &Only,
        committer: &'a Ident,
        place: &'a Place,
        repository: &'a Repository,
        branch: &'a Branch,
    ) -> io::Result<Self> {
        let present = chosen(&place.files(), only)?.into_iter().map(|path| (vault_path(&path), path)).collect();
        Ok(Self { committer, place, repository, branch, present, made: 0, tip: branch.tip.clone() })
    }

    /// The branch's spelling of the vault's `path`; for a new one the folder's, which is the one of the folders that the branch has.
    fn spelt<'b>(&'b self, path: &'b str) -> &'b str {
        self.branch.sorted.wanted.get(path).or_else(|| self.present.get(path)).map_or(path, String::as_str)
    }

    /// Makes the commit of one generation again. Paths that the branch has changed meanwhile are left to the rest, which
    /// has both sides' changes.
    pub(super) async fn replay(&mut self, commit: &Replayed) -> Result<(), Box<dyn Error>> {
        let Branch { changed, sorted, .. } = self.branch;
        let texts = || commit.texts.iter().filter(|(path, _)| !changed.contains(*path) && !sorted.closes(path));
        let folder = self.place.texts();
        empty(&folder)?;
        let mut files = Vec::new();
        for (number, text) in texts().filter_map(|(_, text)| text.as_ref()).enumerate() {
            let file = folder.join(number.to_string());
            fs::write(&file, text)?;
            files.push(file);
        }
        let mut ids = self.repository.take(&files).await?.into_iter();
        let contents: Vec<(String, Option<String>)> =
            texts().map(|(path, text)| (self.spelt(path).to_owned(), text.as_ref().and_then(|_| ids.next()))).collect();
        let author = self.committer.named(&commit.author);
        let Replayed { generation, operation, message, time, .. } = commit;
        let subject =
            message.clone().unwrap_or_else(|| subject(operation, contents.iter().map(|(path, _)| path.as_str())));
        let message = format!("{subject}\n\nAtlas-Operation: {operation}\nAtlas-Generation: {generation}\n");
        self.commit(&contents, &author, *time, &message).await
    }

    /// Commits what is left, so that the branch has what the folder has now.
    pub(super) async fn rest(&mut self, generation: u64, now: Timestamp) -> Result<(), Box<dyn Error>> {
        let folder = self.place.files();
        let open = || self.present.iter().filter(|(path, _)| !self.branch.sorted.closes(path));
        let files: Vec<PathBuf> = open().map(|(_, on_disk)| folder.join(on_disk)).collect();
        let ids = self.repository.take(&files).await?;
        let Sorted { wanted, twins, .. } = &self.branch.sorted;
        let gone = wanted.iter().filter(|(path, _)| !self.present.contains_key(*path)).map(|(_, spelt)| spelt);
        let contents: Vec<(String, Option<String>)> = open()
            .map(|(path, _)| self.spelt(path).to_owned())
            .zip(ids.into_iter().map(Some))
            .chain(gone.chain(twins).map(|path| (path.clone(), None)))
            .collect();
        let message = format!("Sync the vault\n\nAtlas-Generation: {generation}\n");
        self.commit(&contents, self.committer, now, &message).await
    }

    /// Makes one commit, if it changes anything.
    async fn commit(
        &mut self,
        contents: &[(String, Option<String>)],
        author: &Ident,
        time: Timestamp,
        message: &str,
    ) -> Result<(), Box<dyn Error>> {
        let mode = |path: &str| self.branch.files.get(path).map_or(PLAIN, |file| file.mode.as_str());
        let changes: Vec<TreeChange<'_>> =
            contents.iter().map(|(path, id)| (path.as_str(), id.as_deref().map(|id| (mode(path), id)))).collect();
        let parent = self.tip.as_deref();
        let tree = self.repository.tree(parent, &changes).await?;
        let before = match parent {
            Some(parent) => Some(self.repository.tree_of(parent).await?),
            None => None,
        };
        let is_empty = changes.iter().all(|(_, content)| content.is_none());
        if before.as_deref() == Some(&tree) || before.is_none() && is_empty {
            return Ok(());
        }
        let new = NewCommit { tree: &tree, parent, author, committer: self.committer, time, message };
        self.tip = Some(self.repository.commit(&new).await?);
        self.made += 1;
        Ok(())
    }
}

/// The subject of a commit that nobody gave a reason for.
fn subject<'a>(operation: &str, paths: impl ExactSizeIterator<Item = &'a str>) -> String {
    let mut paths = paths;
    match (paths.len(), paths.next()) {
        (1, Some(path)) => format!("{operation} {path}"),
        (count, _) => format!("{operation}: {count} files"),
    }
}

/// The paths of the chosen files below `folder`, in order.
fn chosen(folder: &Path, only: &Only) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_dir() && !OWN.contains(&path.as_str()) {
                folders.push(path);
            } else if kind.is_file() && only.has(&path) {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
