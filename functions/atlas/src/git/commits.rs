//! The commits that a branch gets.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use atlas_sync::rules;
use atlas_sync::{Only, Replayed, Skipped};
use jiff::Timestamp;

use super::record::{Place, empty};
use super::repository::{GitFile, Ident, NewCommit, Repository, TreeChange};

/// The folders of a sync for itself.
const OWN: [&str; 2] = [".trash", rules::STAGING];
/// The mode of a file that the branch does not have yet.
const PLAIN: &str = "100644";

/// The branch's files that take part, while they are in a folder.
pub(super) struct Branch {
    /// The newest commit.
    pub(super) tip: Option<String>,
    /// All files of it.
    pub(super) files: BTreeMap<String, GitFile>,
    /// The paths that were written into the folder.
    pub(super) written: BTreeSet<String>,
    /// The paths that changed since the last exchange.
    pub(super) changed: BTreeSet<String>,
    /// The files that do not take part, and why.
    pub(super) skipped: Vec<Skipped>,
}

/// Commits on a branch.
pub(super) struct Commits<'a> {
    /// The files that take part.
    pub(super) only: &'a Only,
    pub(super) committer: &'a Ident,
    pub(super) place: &'a Place,
    pub(super) repository: &'a Repository,
    /// The branch before them.
    pub(super) branch: &'a Branch,
    /// How many were made.
    pub(super) made: u64,
    /// The newest commit.
    pub(super) tip: Option<String>,
}

impl Commits<'_> {
    /// Makes the commit of one generation again. Paths that the branch has changed meanwhile are left to the rest, which
    /// has both sides' changes.
    pub(super) async fn replay(&mut self, commit: &Replayed) -> Result<(), Box<dyn Error>> {
        let texts = || commit.texts.iter().filter(|(path, _)| !self.branch.changed.contains(*path));
        let folder = self.place.texts();
        empty(&folder)?;
        let mut files = Vec::new();
        for (number, text) in texts().filter_map(|(_, text)| text.as_ref()).enumerate() {
            let file = folder.join(number.to_string());
            fs::write(&file, text)?;
            files.push(file);
        }
        let mut ids = self.repository.take(&files).await?.into_iter();
        let contents: Vec<(&str, Option<String>)> =
            texts().map(|(path, text)| (path.as_str(), text.as_ref().and_then(|_| ids.next()))).collect();
        let author = self.committer.named(&commit.author);
        let Replayed { generation, operation, message, time, .. } = commit;
        let subject = message.clone().unwrap_or_else(|| subject(operation, contents.iter().map(|(path, _)| *path)));
        let message = format!("{subject}\n\nAtlas-Operation: {operation}\nAtlas-Generation: {generation}\n");
        self.commit(&contents, &author, *time, &message).await
    }

    /// Commits what is left, so that the branch has what the folder has now.
    pub(super) async fn rest(&mut self, generation: u64, now: Timestamp) -> Result<(), Box<dyn Error>> {
        let folder = self.place.files();
        let present = chosen(&folder, self.only)?;
        let files: Vec<PathBuf> = present.iter().map(|path| folder.join(path)).collect();
        let ids = self.repository.take(&files).await?;
        let gone = self.branch.written.iter().filter(|path| present.binary_search(path).is_err());
        let contents: Vec<(&str, Option<String>)> = present
            .iter()
            .map(String::as_str)
            .zip(ids.into_iter().map(Some))
            .chain(gone.map(|path| (path.as_str(), None)))
            .collect();
        let message = format!("Sync the vault\n\nAtlas-Generation: {generation}\n");
        self.commit(&contents, self.committer, now, &message).await
    }

    /// Makes one commit, if it changes anything.
    async fn commit(
        &mut self,
        contents: &[(&str, Option<String>)],
        author: &Ident,
        time: Timestamp,
        message: &str,
    ) -> Result<(), Box<dyn Error>> {
        let mode = |path: &str| self.branch.files.get(path).map_or(PLAIN, |file| file.mode.as_str());
        let changes: Vec<TreeChange<'_>> =
            contents.iter().map(|(path, id)| (*path, id.as_deref().map(|id| (mode(path), id)))).collect();
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
