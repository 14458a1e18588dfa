//! `list_commits`: the commits of the vault, newest first: who changed what, when, by which operation, and why.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Manifest, Snapshot};
use atlas_ops::arguments::{Bounded, Given, ReadPath, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::response_limit::cut;
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history;
use crate::history::commit::{self, Changed, Commit};

/// Lists the commits of the vault, newest first.
pub struct ListCommits;

/// Most generations that one call looks at.
const MAX_SEARCHED: u64 = 500;
/// Most files of a commit that are looked up for a list.
const MAX_LOOKED_UP: u64 = 300;
/// The number of generations that are fetched at once.
const PAGE: usize = 50;

/// Which commits, and the page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only commits of this caller, by their name; of all if not given.
    #[serde(default)]
    by: Given<Text<200>>,
    /// Only commits of this session; of all if not given.
    #[serde(default)]
    of_session: Given<Text<200>>,
    /// Only commits that changed the file at this path; any if not given.
    #[serde(default)]
    path: Given<ReadPath>,
    /// Only commits at this time or later; of any time if not given.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    since: Given<Text<40>>,
    /// Most commits to return; 20 if not given.
    #[serde(default)]
    limit: Bounded<1, 100, 20>,
    /// Only commits older than this generation: the `before` of the previous page.
    #[serde(default)]
    before: Given<u64>,
}

/// The commits.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The commits, newest first.
    commits: Vec<Commit>,
    /// The argument for the next page, which may be empty; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
}

impl Operation for ListCommits {
    const INFO: Info = Info {
        name: "list_commits",
        title: "List commits",
        description: "Lists the commits of the vault, newest first: generation, time, author, operation, reason, session, and the changed files. Filters by author, session, file and time. For the lines that a commit changed take read_commit; to take changes back, undo_changes; for the versions of one note, note_history. Example: {\"by\": \"claude\", \"limit\": 10}",
        scopes: &[Scope::ReadVault],
        tags: &["history"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(arguments.path.iter().map(|path| (Access::Read, path.clone().into())).collect())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let wanted = Wanted::of(&arguments)?;
        let newest = context.read(|view| async move { Ok(view) }).await?;
        let sees_all = newest.value.is_whole();
        let head = newest.value.generation();
        let from = arguments.before.map_or(head, |before| before.saturating_sub(1)).min(head);
        let oldest = from.saturating_sub(MAX_SEARCHED);
        let limit = arguments.limit.get();
        let mut commits = Vec::new();
        let mut next = from;
        while next > oldest && commits.len() < limit {
            // One more, since what a commit changed shows beside the generation before it.
            let page = context.vault.mirror.history_over_gaps(next, PAGE + 1).await?;
            let is_last = page.len() <= PAGE;
            for (place, after) in page.iter().take(PAGE).enumerate() {
                next = after.generation().saturating_sub(1);
                // Where the one before is lost, nobody knows which files the commit changed.
                let before = page.get(place + 1).filter(|before| before.generation() == next);
                if wanted.takes(after.manifest())
                    && let Some(commit) = wanted.seen(context, before, after, sees_all).await?
                {
                    commits.push(commit);
                }
                if commits.len() == limit {
                    break;
                }
            }
            let is_over = is_last || wanted.since.is_some_and(|since| history::is_before(&page, since));
            if page.is_empty() || (is_over && commits.len() < limit) {
                next = 0;
            }
        }
        if cut(&mut commits, context) {
            next = commits.last().map_or(0, |last: &Commit| last.generation.saturating_sub(1));
        }
        let before = (next > 0).then(|| next.saturating_add(1));
        Ok(Answer { value: Output { commits, before }, generation: newest.generation })
    }
}

/// The filters of a call.
struct Wanted<'a> {
    by: Option<&'a str>,
    session: Option<&'a str>,
    path: Option<VaultPath>,
    since: Option<Timestamp>,
}

impl<'a> Wanted<'a> {
    fn of(arguments: &'a Arguments) -> Result<Self, Error> {
        let since = arguments.since.as_ref().map(|since| {
            since.as_str().parse().map_err(|_| invalid_input("since", "write a time as 2026-01-31T12:00:00Z"))
        });
        Ok(Self {
            by: arguments.by.as_ref().map(Text::as_str),
            session: arguments.of_session.as_ref().map(Text::as_str),
            path: arguments.path.clone().0.map(VaultPath::from),
            since: since.transpose()?,
        })
    }

    fn takes(&self, manifest: &Manifest) -> bool {
        self.by.is_none_or(|by| manifest.author == by)
            && self.session.is_none_or(|session| manifest.session.as_deref() == Some(session))
            && self.since.is_none_or(|since| manifest.time >= since)
    }

    async fn seen(
        &self,
        context: &Context<'_>,
        before: Option<&Arc<Snapshot>>,
        after: &Snapshot,
        sees_all: bool,
    ) -> Result<Option<Commit>, Error> {
        // Where the generation before is not kept or lost, only the counts are known. Whoever sees a part may not learn them.
        if before.is_none() && after.generation() > 1 {
            let is_shown = sees_all && self.path.is_none();
            return Ok(is_shown.then(|| Commit::of(after.manifest(), &Changed::only_counted(after.manifest()))));
        }
        let most = if self.path.is_some() { u64::MAX } else { MAX_LOOKED_UP };
        let changed = commit::changed(context, before.map(AsRef::as_ref), after, sees_all, most).await?;
        let is_wanted = self.path.as_ref().is_none_or(|path| changed.has(path.as_str())) && !changed.is_hidden();
        let commit = is_wanted.then(|| Commit::of(after.manifest(), &changed));
        // A session that is not told is not found by its name either.
        Ok(commit.filter(|commit| self.session.is_none_or(|session| commit.is_of(session))))
    }
}
