//! A second memory: some of the vault's files on a branch of a Git repository, both ways.
//!
//! The branch takes part as one more folder would. Its files are written into a folder of their own, which is then
//! synced with the mirror, and the result is committed and pushed. The mirror knows the commit and the generation that were
//! equal last, for all hosts; what a failed or killed exchange leaves is not used. Nothing is forced. If somebody pushes at the same
//! time, the exchange is made again on top of that.
//!
//! # Layout
//! - [`GitRules`]: the options. `exchange`: one exchange; `commits`: the commits that the branch gets. `record`: its folders, and whether one is due.
//! - `repository`: a branch, by a clone without files. `spelling`: which of its files take part, and how it spells them. `program`: runs `git`.

mod commits;
mod exchange;
mod program;
mod record;
mod repository;
mod spelling;

use std::error::Error;
use std::path::{Path, PathBuf};

use atlas_mirror::Mirror;
use atlas_sync::{GitSummary, Only};
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::git::exchange::Exchange;
use crate::git::record::Place;
use crate::git::repository::Ident;

/// The folder for it, beside the sync state.
const FOLDER: &str = "git";

/// Which files a Git repository gets, and how.
#[derive(Debug, Args)]
pub(crate) struct GitRules {
    /// Commit the files of --git-path to a Git repository too, and take what changes there: its URL, or the folder of a bare repository
    #[arg(long = "git", value_name = "REPOSITORY", env = "ATLAS_GIT", hide_env_values = true, requires = "paths")]
    repository: Option<String>,
    /// The files that the repository gets, such as '**/adr/**'; can be given several times
    #[arg(
        long = "git-path",
        id = "paths",
        value_name = "GLOB",
        env = "ATLAS_GIT_PATHS",
        value_delimiter = ',',
        requires = "repository"
    )]
    paths: Vec<String>,
    /// The branch
    #[arg(long = "git-branch", value_name = "NAME", env = "ATLAS_GIT_BRANCH", default_value = "main")]
    branch: String,
    /// Push the commits, or keep them in a clone beside the sync state for you to push
    #[arg(long = "git-push", value_name = "WHEN", env = "ATLAS_GIT_PUSH", value_enum, default_value_t = PushRule::Always)]
    push: PushRule,
    /// The committer, and the address of all authors
    #[arg(
        long = "git-author",
        value_name = "NAME <ADDRESS>",
        env = "ATLAS_GIT_AUTHOR",
        default_value = "Atlas Mirror <atlas-mirror@localhost>"
    )]
    author: String,
}

/// Whether commits are pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PushRule {
    /// After each sync
    Always,
    /// By you
    Never,
}

/// When an exchange is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// If the branch has changed, which is asked for now.
    Branch,
    /// If the branch has changed, which is asked for at most once a minute.
    BranchNowAndThen,
    /// If the mirror has changed.
    Mirror,
}

impl GitRules {
    /// Exchanges what has changed between `mirror` and the repository, if there is one and it is due. `state` is the
    /// folder of the sync state.
    pub(crate) async fn exchange(
        &self,
        mirror: &Mirror,
        state: &Path,
        due: Due,
        may_lose_many: bool,
        now: Timestamp,
    ) -> Option<GitSummary> {
        let repository = self.repository.as_deref()?;
        let exchanged = match self.prepared(repository, state, may_lose_many, now) {
            Ok(exchange) => exchange.run(mirror, due).await,
            Err(error) => Err(error),
        };
        exchanged.unwrap_or_else(|error| Some(GitSummary { error: Some(error.to_string()), ..GitSummary::default() }))
    }

    fn prepared(
        &self,
        repository: &str,
        state: &Path,
        may_lose_many: bool,
        now: Timestamp,
    ) -> Result<Exchange, Box<dyn Error>> {
        let committer = Ident::parse(&self.author).ok_or("write --git-author as: Name <address>")?;
        let only = Only::of(self.paths.iter().map(String::as_str))?;
        Ok(Exchange::new(exchange::Options {
            folder: state.join(FOLDER),
            url: repository.to_owned(),
            branch: self.branch.clone(),
            globs: self.paths.clone(),
            only,
            pushes: self.push == PushRule::Always,
            committer,
            may_lose_many,
            now,
        }))
    }
}

/// The clone of the folder of the sync state `state`, if there is one: it has all that went to the repository. What interrupted exchanges have left beside
/// it is erased.
///
/// # Errors
/// When that cannot be erased, or an exchange is under way.
pub(crate) fn erase_texts(state: &Path) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let folder = state.join(FOLDER);
    if !folder.try_exists()? {
        return Ok(None);
    }
    let place = Place::open(folder)?.ok_or("an exchange with Git is under way: run the purge again after it")?;
    place.erase_texts()?;
    Ok(Some(place.repository()).filter(|clone| clone.exists()))
}
