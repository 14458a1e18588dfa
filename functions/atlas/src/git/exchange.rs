//! One exchange between a mirror and a branch.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use atlas_mirror::{Exchanged, Hash, Mirror, Snapshot};
use atlas_sync::{GitSummary, Only, Reason, Summary, SyncOptions, ancestors, newest, replay, sync};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::Due;
use super::commits::{Branch, Commits};
use super::program::GitError;
use super::record::{Place, Record, empty};
use super::repository::{GitFile, Ident, Listing, Repository};
use super::spelling::{Sorted, vault_path};

/// How long a branch that was asked for is trusted in a watching sync.
const TRUSTED: SignedDuration = SignedDuration::from_secs(60);
/// How often an exchange is made again because somebody else pushed meanwhile.
const TRIES: usize = 4;
/// Most bytes of all files.
const MAX_TOTAL: u64 = 256 << 20;
/// Most commits of the branch that a message names, and its most characters.
const MAX_NAMED: usize = 20;
const MAX_MESSAGE: usize = 1000;

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
        let is_due = match due {
            Due::Branch => true,
            Due::BranchNowAndThen => !is_trusted,
            Due::Mirror => record.generation != head.generation(),
        };
        if !is_due {
            return Ok(None);
        }
        let repository = Repository::open(place.repository(), &self.options.url, &self.options.branch).await?;
        let mut asks = due != Due::Mirror || record.asked.is_none();
        for _ in 0..TRIES {
            let tip = self.tip(&repository, asks).await?;
            if asks {
                record.asked = Some(self.options.now);
                place.keep(&record);
            }
            if due != Due::Mirror && tip == record.commit {
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
    async fn tip(&self, repository: &Repository, asks: bool) -> Result<Option<String>, GitError> {
        let tip = if asks { repository.fetch().await? } else { repository.known().await? };
        let unpushed = if self.options.pushes { None } else { repository.unpushed().await? };
        let (tip, unpushed) = match (tip, unpushed) {
            (Some(tip), Some(unpushed)) => (tip, unpushed),
            (tip, unpushed) => return Ok(unpushed.or(tip)),
        };
        if repository.is_ancestor(&unpushed, &tip).await? {
            return Ok(Some(tip));
        }
        if repository.is_ancestor(&tip, &unpushed).await? {
            return Ok(Some(unpushed));
        }
        let folder = repository.folder().display();
        Err(GitError::new(format!(
            "the branch and the commits in {folder} have gone apart: rebase and push them there"
        )))
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
        let branch = self.checked_out(place, repository, tip, last.as_ref()).await?;
        empty(&place.state())?;
        if let Some(last) = &last {
            let files = self.hashes(repository, last, &branch).await?;
            ancestors::remember(mirror, &last.snapshot, &place.files(), &place.state(), &files).await?;
        }
        let summary = self.synced(mirror, place, repository, &branch, last.as_ref()).await?;
        let head = mirror.at(summary.generation).await?.ok_or("the generation of the sync is not there any more")?;
        let committer = &self.options.committer;
        let mut commits = Commits::new(only, committer, place, repository, &branch)?;
        // The first exchange would write all of a vault's history.
        if let Some(last) = &last {
            for commit in replay(mirror, last.snapshot.generation(), &head, only).await? {
                commits.replay(&commit).await?;
            }
        }
        commits.rest(summary.generation, self.options.now).await?;
        let Commits { made, tip, .. } = commits;
        if made > 0
            && let Some(commit) = &tip
        {
            if !pushes {
                repository.keep(commit).await?;
            } else if !repository.push(commit, branch.tip.as_deref()).await? {
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
            skipped: branch.sorted.skipped.into_iter().chain(summary.skipped).collect(),
            conflicts: summary.conflicts,
            error: None,
        }))
    }

    /// The last exchange; [`None`] if there was none, or if commit or generation are not there any more. Then files
    /// that differ are conflicts.
    async fn last(&self, mirror: &Mirror, repository: &Repository) -> Result<Option<Last>, Box<dyn Error>> {
        let Some(last) = mirror.exchanged(&self.options.identity()).await? else { return Ok(None) };
        if !repository.has(&last.version).await? {
            return Ok(None);
        }
        let snapshot =
            mirror.at_if_readable(last.generation).await?.filter(|snapshot| snapshot.hash() == last.manifest);
        Ok(snapshot.map(|snapshot| Last { commit: last.version, snapshot }))
    }

    /// The SHA-256 of the files of the last exchange that took part and still can, by the vault's paths.
    async fn hashes(
        &self,
        repository: &Repository,
        last: &Last,
        branch: &Branch,
    ) -> Result<BTreeMap<String, [u8; 32]>, Box<dyn Error>> {
        let listing = repository.files(&last.commit).await?;
        let before = Sorted::of(&listing, &self.options.only).wanted;
        // The absence of a file that is only not written says nothing: with no memory of it, the vault's stays.
        let open = before.iter().filter(|(path, _)| !branch.sorted.closes(path));
        let known: Vec<(&String, &GitFile)> =
            open.filter_map(|(path, spelt)| Some((path, listing.files.get(spelt)?))).collect();
        check_total(&known)?;
        let ids: Vec<&str> = known.iter().map(|(_, file)| file.id.as_str()).collect();
        let contents = repository.contents(&ids).await?.into_iter();
        Ok(known.iter().zip(contents).map(|((path, _), text)| ((*path).clone(), Sha256::digest(text).into())).collect())
    }

    /// Writes the branch's files into their folder.
    async fn checked_out(
        &self,
        place: &Place,
        repository: &Repository,
        tip: Option<String>,
        last: Option<&Last>,
    ) -> Result<Branch, Box<dyn Error>> {
        let listing = files_of(repository, tip.as_deref()).await?;
        let before = files_of(repository, last.map(|last| last.commit.as_str())).await?.files;
        let mut sorted = Sorted::of(&listing, &self.options.only);
        let files = listing.files;
        let is_chosen = |path: &&String| self.options.only.has(path);
        let paths = files.keys().chain(before.keys()).filter(is_chosen);
        let id = |files: &BTreeMap<String, GitFile>, path: &String| files.get(path).map(|file| file.id.clone());
        let changed = paths.filter(|path| id(&files, path) != id(&before, path)).map(|path| vault_path(path)).collect();
        let wanted: Vec<(&String, &GitFile)> =
            sorted.wanted.values().filter_map(|path| files.get_key_value(path)).collect();
        check_total(&wanted)?;
        let folder = place.files();
        empty(&folder)?;
        let ids: Vec<&str> = wanted.iter().map(|(_, file)| file.id.as_str()).collect();
        let contents = repository.contents(&ids).await?;
        let mut taken = Vec::new();
        for ((path, _), content) in wanted.iter().zip(contents) {
            let at = folder.join(path);
            at.parent().map_or(Ok(()), fs::create_dir_all)?;
            // A file system may have one name for two that differ on the branch, by case for instance.
            match File::create_new(at) {
                Ok(mut file) => file.write_all(&content)?,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => taken.push(((*path).clone(), error)),
                Err(error) => return Err(error.into()),
            }
        }
        for (path, error) in taken {
            sorted.close(&path, Reason::Unwritable(error.to_string()));
        }
        Ok(Branch { tip, sorted, changed, files })
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
        let (author, message) = self.said(repository, branch, last).await?;
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
    async fn said(
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
            Some(before) if !repository.is_ancestor(before, tip).await? => Vec::new(),
            before => repository.subjects(before, tip, MAX_NAMED).await?,
        };
        let authors: BTreeSet<&str> = commits.iter().map(|(author, _)| author.as_str()).collect();
        let author = match authors.first() {
            Some(author) if authors.len() == 1 => self.options.committer.named(author).name,
            _ => anybody(),
        };
        let subjects: Vec<&str> = commits.iter().map(|(_, subject)| subject.as_str()).collect();
        let short = tip.get(..12).unwrap_or(tip);
        let message = format!("Git {short}: {}", subjects.join("; "));
        let message: String = message.chars().filter(|letter| !letter.is_control()).take(MAX_MESSAGE).collect();
        Ok((author, Some(message)))
    }
}

/// What a commit has; nothing without one.
async fn files_of(repository: &Repository, commit: Option<&str>) -> Result<Listing, GitError> {
    match commit {
        Some(commit) => repository.files(commit).await,
        None => Ok(Listing::default()),
    }
}

/// Refuses files that are too many bytes together.
fn check_total(files: &[(&String, &GitFile)]) -> Result<(), GitError> {
    match files.iter().map(|(_, file)| file.bytes).sum::<u64>() {
        0..=MAX_TOTAL => Ok(()),
        _ => Err(GitError::new(format!("the files of --git-path have more than {MAX_TOTAL} bytes: choose fewer"))),
    }
}
