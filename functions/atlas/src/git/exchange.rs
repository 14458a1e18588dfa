//! One exchange between a mirror and a branch.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas_mirror::{Exchanged, Hash, Mirror, MirrorError, Snapshot};
use atlas_sync::rules::{self, Tree};
use atlas_sync::{GitSummary, Only, Reason, Replayed, Skipped, Summary, SyncOptions, ancestors, replay, sync};
use atlas_vault::VaultPath;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::Due;
use super::program::GitError;
use super::record::{Place, Record, empty};
use super::repository::{GitFile, Ident, NewCommit, Repository, TreeChange};

/// How long a branch that was asked for is trusted in a watching sync.
const TRUSTED: SignedDuration = SignedDuration::from_secs(60);
/// How often an exchange is made again because somebody else pushed meanwhile.
const TRIES: usize = 4;
/// Most bytes of one file, and of all files.
const MAX_FILE: u64 = 64 << 20;
const MAX_TOTAL: u64 = 256 << 20;
/// Most commits of the branch that a message names.
const MAX_NAMED: usize = 20;
/// The folders of a sync for itself.
const OWN: [&str; 2] = [".trash", rules::STAGING];
/// The mode of a file that the branch does not have yet.
const PLAIN: &str = "100644";

/// The options of an exchange.
#[derive(Debug)]
pub(super) struct Options {
    /// The folder for clone, files and states.
    pub(super) folder: PathBuf,
    pub(super) url: String,
    pub(super) branch: String,
    pub(super) globs: Vec<String>,
    pub(super) only: Only,
    /// Whether commits are pushed, or kept in the clone.
    pub(super) pushes: bool,
    pub(super) committer: Ident,
    pub(super) may_lose_many: bool,
    pub(super) now: Timestamp,
}

impl Options {
    /// The identity of the other memory, the same on all hosts.
    fn identity(&self) -> Hash {
        Hash::of([self.url.as_str(), &self.branch, &self.globs.join("\n")].join("\0").as_bytes())
    }
}

/// An exchange that can be made.
#[derive(Debug)]
pub(super) struct Exchange {
    options: Options,
}

/// The last exchange of all hosts.
struct Last {
    commit: String,
    snapshot: Arc<Snapshot>,
}

/// The branch's files that take part, while they are in a folder.
struct Branch {
    /// The newest commit.
    tip: Option<String>,
    /// All files of it.
    files: BTreeMap<String, GitFile>,
    /// The paths that were written into the folder.
    written: BTreeSet<String>,
    /// The paths that changed since the last exchange.
    changed: BTreeSet<String>,
    skipped: Vec<Skipped>,
}

impl Exchange {
    pub(super) const fn new(options: Options) -> Self {
        Self { options }
    }

    /// Makes it if it is due; [`None`] if not, or if another process does it.
    pub(super) async fn run(&self, mirror: &Mirror, due: Due) -> Result<Option<GitSummary>, Box<dyn Error>> {
        let Some(place) = Place::open(self.options.folder.clone())? else { return Ok(None) };
        let Some(head) = newest(mirror).await? else { return Ok(None) };
        let mut record = place.last();
        let is_trusted = record.asked.is_some_and(|asked| {
            let age = self.options.now.duration_since(asked);
            !age.is_negative() && age < TRUSTED
        });
        let repository = Repository::open(place.repository(), &self.options.url, &self.options.branch)?;
        let mut asks = match due {
            Due::Branch => true,
            Due::BranchNowAndThen => !is_trusted,
            Due::Mirror => record.asked.is_none(),
        };
        for _ in 0..TRIES {
            let tip = self.tip(&repository, asks)?;
            if asks {
                record.asked = Some(self.options.now);
                place.keep(&record);
            }
            let is_same = tip == record.commit && (due != Due::Mirror || head.generation() == record.generation);
            if is_same && (record.generation > 0 || due != Due::Mirror) {
                return Ok(None);
            }
            if let Some(summary) = self.once(mirror, &place, &repository, tip, &mut record).await? {
                return Ok(Some(summary));
            }
            asks = true;
        }
        Err("others push to the branch all the time: the next sync tries again".into())
    }

    /// The commit to continue.
    fn tip(&self, repository: &Repository, asks: bool) -> Result<Option<String>, GitError> {
        let tip = if asks { repository.fetch()? } else { repository.known()? };
        let unpushed = if self.options.pushes { None } else { repository.unpushed()? };
        match (tip, unpushed) {
            (Some(tip), Some(unpushed)) if repository.is_ancestor(&unpushed, &tip)? => Ok(Some(tip)),
            (Some(tip), Some(unpushed)) if !repository.is_ancestor(&tip, &unpushed)? => {
                let folder = repository.folder().display();
                Err(GitError::new(format!(
                    "the branch and the commits in {folder} have gone apart: rebase and push them there"
                )))
            }
            (tip, unpushed) => Ok(unpushed.or(tip)),
        }
    }

    /// One try; [`None`] if somebody else pushed meanwhile.
    async fn once(
        &self,
        mirror: &Mirror,
        place: &Place,
        repository: &Repository,
        tip: Option<String>,
        record: &mut Record,
    ) -> Result<Option<GitSummary>, Box<dyn Error>> {
        let Options { only, pushes, .. } = &self.options;
        let last = self.last(mirror, repository).await?;
        let branch = self.checked_out(place, repository, tip, last.as_ref())?;
        empty(&place.state())?;
        if let Some(last) = &last {
            let files = self.hashes(repository, last)?;
            ancestors::remember(mirror, &last.snapshot, &place.files(), &place.state(), &files).await?;
        }
        let summary = self.synced(mirror, place, repository, &branch, last.as_ref()).await?;
        let head = mirror.at(summary.generation).await?.ok_or("the generation of the sync is not there any more")?;
        let mut commits =
            Commits { exchange: self, place, repository, branch: &branch, made: 0, tip: branch.tip.clone() };
        // The first exchange would write all of a vault's history.
        if let Some(last) = &last {
            for commit in replay(mirror, last.snapshot.generation(), &head, only).await? {
                commits.replay(&commit)?;
            }
        }
        commits.rest(&summary)?;
        let Commits { made, tip, .. } = commits;
        if made > 0
            && let Some(commit) = &tip
        {
            if !pushes {
                repository.keep(commit)?;
            } else if !repository.push(commit, branch.tip.as_deref())? {
                return Ok(None);
            }
        }
        if let Some(commit) = &tip {
            let (version, generation) = (commit.clone(), head.generation());
            let exchanged = Exchanged { version, generation, manifest: head.hash() };
            mirror.record_exchange(&self.options.identity(), &exchanged).await?;
        }
        // A file that could not be brought over waits for the next exchange, even if nothing changes until then.
        let is_whole = summary.waiting == 0;
        let generation = if is_whole { summary.generation } else { record.generation };
        *record = Record { commit: tip.clone(), generation, asked: record.asked };
        place.keep(record);
        // They are made anew each time; what stays would only take room.
        for folder in [place.files(), place.texts(), place.state()] {
            empty(&folder)?;
        }
        Ok(Some(GitSummary {
            taken: summary.pushed.sum(),
            commits: made,
            head: tip,
            skipped: branch.skipped.into_iter().chain(summary.skipped).collect(),
            conflicts: summary.conflicts,
            error: None,
        }))
    }

    /// The last exchange; [`None`] if there was none, or if commit or generation are not there any more. Then files
    /// that differ are conflicts.
    async fn last(&self, mirror: &Mirror, repository: &Repository) -> Result<Option<Last>, Box<dyn Error>> {
        let Some(last) = mirror.exchanged(&self.options.identity()).await? else { return Ok(None) };
        if !repository.has(&last.version)? {
            return Ok(None);
        }
        let snapshot = mirror.at(last.generation).await?.filter(|snapshot| snapshot.hash() == last.manifest);
        Ok(snapshot.map(|snapshot| Last { commit: last.version, snapshot }))
    }

    /// The SHA-256 of the chosen files of the last exchange.
    fn hashes(&self, repository: &Repository, last: &Last) -> Result<BTreeMap<String, [u8; 32]>, Box<dyn Error>> {
        let files = repository.files(&last.commit)?;
        let chosen: Vec<(&String, &GitFile)> =
            files.iter().filter(|(path, file)| self.options.only.has(path) && file.bytes <= MAX_FILE).collect();
        check_total(&chosen)?;
        let ids: Vec<&str> = chosen.iter().map(|(_, file)| file.id.as_str()).collect();
        let contents = repository.contents(&ids)?.into_iter();
        Ok(chosen
            .iter()
            .zip(contents)
            .map(|((path, _), text)| ((*path).clone(), Sha256::digest(text).into()))
            .collect())
    }

    /// Writes the branch's files into their folder.
    fn checked_out(
        &self,
        place: &Place,
        repository: &Repository,
        tip: Option<String>,
        last: Option<&Last>,
    ) -> Result<Branch, Box<dyn Error>> {
        let files = tip.as_deref().map_or_else(|| Ok(BTreeMap::new()), |tip| repository.files(tip))?;
        let before = last.map_or_else(|| Ok(BTreeMap::new()), |last| repository.files(&last.commit))?;
        let is_chosen = |path: &&String| self.options.only.has(path);
        let paths = files.keys().chain(before.keys()).filter(is_chosen);
        let id = |files: &BTreeMap<String, GitFile>, path: &String| files.get(path).map(|file| file.id.clone());
        let changed = paths.filter(|path| id(&files, path) != id(&before, path)).cloned().collect();
        let mut skipped = Vec::new();
        let mut wanted: Vec<(&String, &GitFile)> = Vec::new();
        for (path, file) in files.iter().filter(|(path, _)| is_chosen(path)) {
            let skip = |reason| Skipped { path: path.clone(), reason };
            match VaultPath::parse(path) {
                Err(error) => skipped.push(skip(Reason::Path(error))),
                Ok(_) if file.bytes > MAX_FILE => {
                    skipped.push(skip(Reason::Unreadable(format!("it has more than {MAX_FILE} bytes"))));
                }
                Ok(_) if Tree::Vault.class_of(path).is_some() => wanted.push((path, file)),
                // A hidden file belongs to no vault.
                Ok(_) => {}
            }
        }
        check_total(&wanted)?;
        let folder = place.files();
        empty(&folder)?;
        let ids: Vec<&str> = wanted.iter().map(|(_, file)| file.id.as_str()).collect();
        let contents = repository.contents(&ids)?;
        for ((path, _), content) in wanted.iter().zip(contents) {
            let at = folder.join(path);
            at.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(at, content)?;
        }
        let written = wanted.iter().map(|(path, _)| (*path).clone()).collect();
        Ok(Branch { tip, written, changed, skipped, files })
    }

    /// Syncs the folder with the mirror.
    async fn synced(
        &self,
        mirror: &Mirror,
        place: &Place,
        repository: &Repository,
        branch: &Branch,
        last: Option<&Last>,
    ) -> Result<Summary, Box<dyn Error>> {
        let Options { only, may_lose_many, now, .. } = &self.options;
        let (author, message) = self.said(repository, branch, last)?;
        let options = SyncOptions {
            message,
            only: Some(only.clone()),
            // The files are new each time.
            checksum: true,
            join: true,
            allow_mass_delete: *may_lose_many,
            ..SyncOptions::new(place.files(), place.state(), author, *now)
        };
        Ok(sync(mirror, &options, Arc::new(())).await?)
    }

    /// The author and the message of the branch's changes in the mirror.
    fn said(
        &self,
        repository: &Repository,
        branch: &Branch,
        last: Option<&Last>,
    ) -> Result<(String, Option<String>), GitError> {
        let anybody = || "git".to_owned();
        let Some(tip) = branch.tip.as_deref().filter(|_| !branch.changed.is_empty()) else {
            return Ok((anybody(), None));
        };
        let commits = match last.map(|last| last.commit.as_str()) {
            Some(before) if !repository.is_ancestor(before, tip)? => Vec::new(),
            before => repository.subjects(before, tip, MAX_NAMED)?,
        };
        let authors: BTreeSet<&str> = commits.iter().map(|(author, _)| author.as_str()).collect();
        let author = match authors.first() {
            Some(author) if authors.len() == 1 => self.options.committer.named(author).name,
            _ => anybody(),
        };
        let subjects: Vec<&str> = commits.iter().map(|(_, subject)| subject.as_str()).collect();
        let short = tip.get(..12).unwrap_or(tip);
        let message: String = format!("Git {short}: {}", subjects.join("; ")).chars().take(1000).collect();
        Ok((author, Some(message)))
    }
}

/// Refuses files that are too many bytes together.
fn check_total(files: &[(&String, &GitFile)]) -> Result<(), GitError> {
    match files.iter().map(|(_, file)| file.bytes).sum::<u64>() {
        0..=MAX_TOTAL => Ok(()),
        _ => Err(GitError::new(format!("the files of --git-path have more than {MAX_TOTAL} bytes: choose fewer"))),
    }
}

/// Commits on a branch.
struct Commits<'a> {
    exchange: &'a Exchange,
    place: &'a Place,
    repository: &'a Repository,
    branch: &'a Branch,
    made: u64,
    tip: Option<String>,
}

impl Commits<'_> {
    /// Makes the commit of one generation again. Paths that the branch has changed meanwhile are left to the rest, which
    /// has both sides' changes.
    fn replay(&mut self, commit: &Replayed) -> Result<(), Box<dyn Error>> {
        let texts = || commit.texts.iter().filter(|(path, _)| !self.branch.changed.contains(*path));
        let folder = self.place.texts();
        empty(&folder)?;
        let mut files = Vec::new();
        for (number, text) in texts().filter_map(|(_, text)| text.as_ref()).enumerate() {
            let file = folder.join(number.to_string());
            fs::write(&file, text)?;
            files.push(file);
        }
        let mut ids = self.repository.take(&files)?.into_iter();
        let contents: Vec<(&str, Option<String>)> =
            texts().map(|(path, text)| (path.as_str(), text.as_ref().and_then(|_| ids.next()))).collect();
        let author = self.exchange.options.committer.named(&commit.author);
        let Replayed { generation, operation, message, time, .. } = commit;
        let subject = message.clone().unwrap_or_else(|| subject(operation, contents.iter().map(|(path, _)| *path)));
        let message = format!("{subject}\n\nAtlas-Operation: {operation}\nAtlas-Generation: {generation}\n");
        self.commit(&contents, &author, *time, &message)
    }

    /// Commits what is left, so that the branch has what the folder has now.
    fn rest(&mut self, summary: &Summary) -> Result<(), Box<dyn Error>> {
        let folder = self.place.files();
        let mut present = Vec::new();
        list(&folder, "", &self.exchange.options.only, &mut present)?;
        let files: Vec<PathBuf> = present.iter().map(|path| folder.join(path)).collect();
        let ids = self.repository.take(&files)?;
        let gone = self.branch.written.iter().filter(|path| present.binary_search(path).is_err());
        let contents: Vec<(&str, Option<String>)> = present
            .iter()
            .map(String::as_str)
            .zip(ids.into_iter().map(Some))
            .chain(gone.map(|path| (path.as_str(), None)))
            .collect();
        let Options { committer, now, .. } = &self.exchange.options;
        let message = format!("Sync the vault\n\nAtlas-Generation: {}\n", summary.generation);
        self.commit(&contents, committer, *now, &message)
    }

    /// Makes one commit, if it changes anything.
    fn commit(
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
        let tree = self.repository.tree(parent, &changes)?;
        let before = parent.map(|parent| self.repository.tree_of(parent)).transpose()?;
        let is_empty = changes.iter().all(|(_, content)| content.is_none());
        if before.as_deref() == Some(&tree) || before.is_none() && is_empty {
            return Ok(());
        }
        let committer = &self.exchange.options.committer;
        let new = NewCommit { tree: &tree, parent, author, committer, time, message };
        self.tip = Some(self.repository.commit(&new)?);
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

/// Adds the paths of the chosen files below `folder`, in order, to `found`.
fn list(folder: &Path, below: &str, only: &Only, found: &mut Vec<String>) -> io::Result<()> {
    let mut folders = vec![below.to_owned()];
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
    Ok(())
}

/// The newest generation, if there is one.
async fn newest(mirror: &Mirror) -> Result<Option<Arc<Snapshot>>, MirrorError> {
    match mirror.head().await {
        Ok(head) => Ok(Some(head)),
        Err(MirrorError::NotPublished { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
