//! A commit, as a caller sees it: only what it did to files that the caller may read.

use std::collections::BTreeSet;

use atlas_access::Access;
use atlas_mirror::{Manifest, Snapshot};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::notes;
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// A commit.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Commit {
    /// The generation that it made: pass it to `read_commit` and `undo_changes`.
    pub(crate) generation: u64,
    /// When it was made.
    #[schemars(with = "String", extend("format" = "date-time"))]
    time: Timestamp,
    /// The author.
    author: String,
    /// By which operation.
    operation: String,
    /// The author's message; absent if the commit also changed files that the caller may not read, or it may name such.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The session that the author named; absent if the commit also changed files that the caller may not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The number of new files that the caller may read.
    added: u64,
    /// The number of such files whose content changed.
    changed: u64,
    /// The number of such files that were removed.
    removed: u64,
    /// The paths of files that it changed, at most 10.
    paths: Vec<String>,
    /// The number of other files that it changed.
    #[serde(skip_serializing_if = "is_zero")]
    more_files: u64,
}

/// Most paths of a commit in a list.
const LISTED: usize = 10;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Operations that may make a message themselves, of paths that may be hidden from whoever sees the changed file.
const MAKE_MESSAGES: [&str; 6] = ["copy_note", "move_note", "move_attachment", "relink_moved", "rewrite_link", "sync"];

/// What a caller may know of a commit that changed a file which they may read, besides the file.
#[derive(Default)]
pub(crate) struct Told<'a> {
    pub(crate) message: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
}

impl<'a> Told<'a> {
    /// For a caller who sees everything, or a part.
    pub(crate) fn of(manifest: &'a Manifest, sees_all: bool) -> Self {
        // A message about several files may name a hidden one.
        if !sees_all && manifest.changes.sum() != 1 {
            return Self::default();
        }
        let is_given = !MAKE_MESSAGES.contains(&manifest.operation.as_str());
        Self {
            message: manifest.message.as_deref().filter(|_| sees_all || is_given),
            session: manifest.session.as_deref(),
        }
    }
}

/// The files that a commit changed.
pub(crate) struct Changed {
    /// The paths that the caller may read; none if there are too many to look them up.
    pub(crate) paths: Vec<String>,
    /// The number of files that were not looked up.
    pub(crate) uncounted: u64,
    /// How many were added, changed and removed.
    counts: [u64; 3],
    /// Whether it changed nothing else.
    is_whole: bool,
}

impl Changed {
    /// For a caller who sees everything, where no paths are looked up.
    pub(crate) const fn only_counted(manifest: &Manifest) -> Self {
        Self { paths: Vec::new(), uncounted: manifest.changes.sum(), counts: counted(manifest), is_whole: true }
    }

    /// Whether the caller sees nothing of the commit.
    pub(crate) fn is_hidden(&self) -> bool {
        self.paths.is_empty() && self.uncounted == 0
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.iter().any(|changed| changed == path)
    }
}

/// The files that `after` changed, for a caller who sees everything if `sees_all`: then more than `most` are only counted. `before` is the
/// generation before; the first has none.
pub(crate) async fn changed(
    context: &Context<'_>,
    before: Option<&Snapshot>,
    after: &Snapshot,
    sees_all: bool,
    most: u64,
) -> Result<Changed, Error> {
    let count = after.manifest().changes.sum();
    // A first publication is as large as the vault.
    if sees_all && count > most {
        return Ok(Changed::only_counted(after.manifest()));
    }
    context.work.check()?;
    let all: BTreeSet<String> = context.vault.mirror.changed_between(before, after).await?;
    let is_readable =
        |path: &String| VaultPath::parse(path).is_ok_and(|path| context.check(Access::Read, &path).is_ok());
    let paths: Vec<String> = all.into_iter().filter(is_readable).collect();
    let counts = if sees_all { counted(after.manifest()) } else { count_of(before, after, &paths).await? };
    Ok(Changed { paths, uncounted: 0, counts, is_whole: sees_all })
}

const fn counted(manifest: &Manifest) -> [u64; 3] {
    [manifest.changes.added, manifest.changes.changed, manifest.changes.removed]
}

/// How many of the files at `paths` were added, changed and removed.
async fn count_of(before: Option<&Snapshot>, after: &Snapshot, paths: &[String]) -> Result<[u64; 3], Error> {
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let now = notes::find_all(after, &paths, |_| false).await?;
    let was = match before {
        Some(before) => notes::find_all(before, &paths, |_| false).await?,
        None => Vec::new(),
    };
    let (now, was) = (now.iter().map(Option::is_some), was.iter().map(Option::is_some));
    let mut counts = [0; 3];
    for (is_there, was_there) in now.zip(was.chain(std::iter::repeat(false))) {
        let kind = match (was_there, is_there) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => 2,
        };
        if let Some(count) = counts.get_mut(kind) {
            *count += 1;
        }
    }
    Ok(counts)
}

impl Commit {
    pub(crate) fn of(manifest: &Manifest, changed: &Changed) -> Self {
        let told = Told::of(manifest, changed.is_whole);
        let [added, changed_files, removed] = changed.counts;
        let more = changed.paths.len().saturating_sub(LISTED) as u64;
        Self {
            generation: manifest.generation,
            time: manifest.time,
            author: manifest.author.clone(),
            operation: manifest.operation.clone(),
            message: told.message.map(str::to_owned),
            session: told.session.map(str::to_owned),
            added,
            changed: changed_files,
            removed,
            paths: changed.paths.iter().take(LISTED).cloned().collect(),
            more_files: more.saturating_add(changed.uncounted),
        }
    }

    /// Whether it is of the session with this name, and the caller may know.
    pub(crate) fn is_of(&self, session: &str) -> bool {
        self.session.as_deref() == Some(session)
    }
}

/// The error for a commit without the generation before it, for a caller who sees everything: others are not told whether it changed what they see.
pub(crate) fn uncompared(generation: u64) -> Error {
    let message = format!(
        "the generation before {generation} is lost or no longer kept, so nobody knows what {generation} changed: \
         note_history lists the versions of single notes, and restore_note restores one"
    );
    Error::not_found(Reason::GenerationNotFound, message).with("generation", generation)
}

/// The error for a commit that is not kept, or of which the caller may see nothing.
pub(crate) fn missing(generation: u64) -> Error {
    let message = format!("there is no commit {generation}, or not any more: list_commits lists those that are kept");
    Error::not_found(Reason::GenerationNotFound, message).with("generation", generation)
}
