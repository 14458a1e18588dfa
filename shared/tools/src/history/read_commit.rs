//! `read_commit`: what a commit changed, as diffs.

use std::collections::BTreeSet;
use std::sync::Arc;

use atlas_mirror::Snapshot;
use atlas_ops::arguments::{Bounded, Given, ReadPath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::response_limit::cut;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::writable;
use atlas_segment::Record;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::changed_file::{Change, ChangedFile, MAX_COMPARED, MAX_DIFF, diff, text};
use crate::history::commit::{self, Commit, is_zero};
use crate::history::renames::renames;

/// Most files of a commit that are listed: of more, as a first publication has them, only the number is told.
const MAX_LISTED: u64 = 10_000;

/// Most files of a commit that are looked at for the earlier path of one.
const MAX_COMPARED_FILES: usize = 500;

/// Returns what a commit changed.
pub struct ReadCommit;

/// The commit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its generation, from `list_commits` or `note_history`.
    generation: u64,
    /// Most files to return, by path; 100 if not given.
    #[serde(default)]
    limit: Bounded<1, 200, 100>,
    /// Only this file.
    #[serde(default)]
    path: Given<ReadPath>,
    /// The first line of its diff to return, counted from 0: the `next_line` of the page before.
    #[serde(default)]
    from_line: u64,
}

/// The commit, and what it changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The commit.
    commit: Commit,
    /// The files before and after it, by path.
    files: Vec<ChangedFile>,
    /// The number of other files that it changed.
    #[serde(skip_serializing_if = "is_zero")]
    more_files: u64,
}

impl Operation for ReadCommit {
    const INFO: Info = Info {
        name: "read_commit",
        title: "Read a commit",
        description: "Returns what a commit changed: for each file the kind of change, and the changed lines as a unified diff. list_commits lists commits; to take one back, take undo_changes. Example: {\"generation\": 12}",
        scopes: &[Scope::ReadVault],
        tags: &["history"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let generation = arguments.generation;
        let newest = context.read(|view| async move { Ok(view) }).await?;
        let missing = || commit::missing(generation);
        let is_whole = newest.value.is_whole();
        let mirror = &context.vault.mirror;
        let is_there = (1..=newest.value.generation()).contains(&generation);
        let after = if is_there { mirror.at_if_readable(generation).await? } else { None };
        let after = after.ok_or_else(missing)?;
        let before = match generation {
            1 => None,
            _ => {
                let none = || if is_whole { commit::uncompared(generation) } else { missing() };
                Some(mirror.at_if_readable(generation.saturating_sub(1)).await?.ok_or_else(none)?)
            }
        };
        let changed = commit::changed(context, before.as_deref(), &after, is_whole, MAX_LISTED).await?;
        if changed.is_hidden() {
            return Err(missing());
        }
        let commit = Commit::of(after.manifest(), &changed);
        let pair = Pair { context, before, after, from_line: arguments.from_line };
        let paths = changed.paths.iter().map(String::as_str);
        let paths: Vec<&str> = match arguments.path.as_ref() {
            Some(path) => {
                // A file that moved is known by both paths.
                let is_small = changed.paths.len() <= MAX_COMPARED_FILES;
                let mut looked_at: Vec<&str> = paths.filter(|one| is_small || *one == path.as_str()).collect();
                if changed.uncounted > 0 {
                    looked_at.push(path.as_str());
                }
                let mut files = pair.files(&looked_at).await?;
                files.retain(|file| file.path == path.as_str());
                let value = Output { commit, files, more_files: 0 };
                return Ok(Answer { value, generation: newest.generation });
            }
            None => paths.take(arguments.limit.get()).collect(),
        };
        let mut files = pair.files(&paths).await?;
        let not_looked_at = changed.paths.len().saturating_sub(paths.len()) as u64;
        let all = files.len();
        cut(&mut files, context);
        let more_files = changed.uncounted + not_looked_at + all.saturating_sub(files.len()) as u64;
        Ok(Answer { value: Output { commit, files, more_files }, generation: newest.generation })
    }
}

/// A commit, and the generation before it.
struct Pair<'a> {
    context: &'a Context<'a>,
    before: Option<Arc<Snapshot>>,
    after: Arc<Snapshot>,
    /// The first line of diffs.
    from_line: u64,
}

impl Pair<'_> {
    /// The files at `paths` before and after, by path.
    async fn files(&self, paths: &[&str]) -> Result<Vec<ChangedFile>, Error> {
        let wants = |record: &Record| record.blob.is_none() && record.bytes <= MAX_COMPARED;
        let now = notes::find_all(&self.after, paths, wants).await?;
        let was = match &self.before {
            Some(before) => notes::find_all(before, paths, wants).await?,
            None => paths.iter().map(|_| None).collect(),
        };
        let moves = renames(paths, &was, &now).from;
        let left: BTreeSet<&str> = moves.values().copied().collect();
        let thrown = self.thrown(paths, &was, &now).await?;
        let was_of = |path: &str| was.get(paths.iter().position(|one| *one == path)?)?.as_ref();
        let mut files = Vec::with_capacity(paths.len());
        for ((path, was), now) in paths.iter().copied().zip(&was).zip(&now) {
            self.context.work.check()?;
            let from = moves.get(path).copied();
            let change = match (was, now) {
                (None, Some(_)) if from.is_some() => Change::Moved,
                (None, Some(_)) => Change::Created,
                (Some(_), Some(_)) => Change::Changed,
                // It is listed where it moved to.
                (Some(_), None) if left.contains(path) => continue,
                (Some(_), None) if thrown.contains(path) => Change::Trashed,
                (Some(_), None) => Change::Deleted,
                (None, None) => continue,
            };
            let earlier = from.and_then(was_of).or(was.as_ref());
            files.push(self.file(path, change, from, earlier, now.as_ref()));
        }
        Ok(files)
    }

    /// Those of the paths whose file went into the trash.
    async fn thrown<'p>(
        &self,
        paths: &[&'p str],
        was: &[Option<Found>],
        now: &[Option<Found>],
    ) -> Result<BTreeSet<&'p str>, Error> {
        let gone = paths.iter().copied().zip(was).zip(now).filter_map(|((path, was), now)| {
            let was = was.as_ref().filter(|_| now.is_none())?;
            let trash = writable::trash(&VaultPath::parse(path).ok()?).ok()?;
            Some((path, trash.as_str().to_owned(), was.record.sha256))
        });
        let gone: Vec<(&str, String, [u8; 32])> = gone.collect();
        let places: Vec<&str> = gone.iter().map(|(_, trash, _)| trash.as_str()).collect();
        let found = notes::find_all(&self.after, &places, |_| false).await?;
        let is_thrown = |found: &Option<Found>, sha256: &[u8; 32]| {
            found.as_ref().is_some_and(|found| found.record.sha256 == *sha256)
        };
        let thrown = gone.iter().zip(&found).filter(|((.., sha256), found)| is_thrown(found, sha256));
        Ok(thrown.map(|((path, ..), _)| *path).collect())
    }

    fn file(
        &self,
        path: &str,
        change: Change,
        from: Option<&str>,
        was: Option<&Found>,
        now: Option<&Found>,
    ) -> ChangedFile {
        let is_equal = was.zip(now).is_some_and(|(was, now)| was.record.sha256 == now.record.sha256);
        let text_of = |found: Option<&Found>| match found {
            Some(found) => text(found).map(str::to_owned),
            None => Some(String::new()),
        };
        let compared = text_of(was).zip(text_of(now)).filter(|_| !is_equal);
        let lines =
            compared.as_ref().and_then(|(old, new)| diff(old, new, self.from_line, MAX_DIFF)).unwrap_or_default();
        ChangedFile {
            path: path.to_owned(),
            change,
            from: from.map(str::to_owned),
            next_line: lines.next,
            diff: lines.diff,
            left_out: compared.is_none() && !is_equal,
            lines_added: lines.counts.map(|(added, _)| added),
            lines_removed: lines.counts.map(|(_, removed)| removed),
            bytes_before: was.map(|was| was.record.bytes),
            bytes_after: now.map(|now| now.record.bytes),
        }
    }
}
