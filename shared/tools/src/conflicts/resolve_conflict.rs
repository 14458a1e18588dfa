//! `resolve_conflict`: keeps a file, its conflict copy, both, or a merge of them.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Attempt, ChangeSet, Snapshot};
use atlas_ops::arguments::{Given, Message, ReadPath, Versions};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::write::batch::{Batch, NewDocument};
use atlas_ops::write::commit::{self, CommitResult};
use atlas_ops::write::precondition::Condition;
use atlas_ops::write::writable::{self, MAX_NOTE_BYTES};
use atlas_vault::VaultPath;
use atlas_vault::conflict::{self, Place, Version};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{certain, original};

/// Keeps one version, both, or a merge.
pub struct ResolveConflict;

/// The copy, and what to keep.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the conflict copy, from `list_conflicts`.
    path: ReadPath,
    /// What to keep.
    keep: Kept,
    /// Only with `merged`: the whole text.
    #[serde(default)]
    content: Given<String>,
    /// Only if the file and the copy are these versions: the SHA-256 of both, comma-separated, from `read_conflict`.
    #[serde(default)]
    if_match: Given<Versions>,
    #[serde(default)]
    message: Given<Message>,
}

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kept {
    /// The file; the copy goes into the trash.
    Mine,
    /// The copy, which replaces the file; the file goes into the trash.
    Theirs,
    /// Both; the copy gets a name of its own.
    Both,
    /// The text in `content`, which replaces the file; the copy goes into the trash.
    Merged,
}

impl Kept {
    /// What becomes of the two files.
    const fn files(self) -> conflict::Keep {
        match self {
            Self::Mine | Self::Merged => conflict::Keep::Mine,
            Self::Theirs => conflict::Keep::Theirs,
            Self::Both => conflict::Keep::Both,
        }
    }

    /// What was done, for a person.
    const fn told(self, had_mine: bool) -> &'static str {
        match self {
            Self::Merged => "kept the merged text; the other version is in the trash",
            kept => kept.files().told(had_mine),
        }
    }
}

/// What was kept.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The path of the file.
    original: String,
    /// The path of the kept copy, with `both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<String>,
    /// What was done, in words.
    done: &'static str,
    /// The new generation.
    generation: u64,
}

impl Operation for ResolveConflict {
    const INFO: Info = Info {
        name: "resolve_conflict",
        title: "Resolve a conflict",
        description: "Ends a conflict in one commit: keeps the file (mine), its conflict copy (theirs), both under names of their own, or a merged text. What is not kept goes into the trash. Read it first (read_conflict), and send both hashes as if_match. A person has to confirm it. Example: {\"path\": \"Plan (conflict 2026-01-31 12.00 agent).md\", \"keep\": \"mine\"}",
        scopes: &[Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault],
        destructive: true,
        tags: &["sync"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        let copy: VaultPath = arguments.path.clone().into();
        let of_original = certain(&copy)?.map(|original| accesses(arguments.keep, &original));
        Ok(of_original.into_iter().flatten().chain([(Access::Delete, copy)]).collect())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let copy: VaultPath = arguments.path.clone().into();
        let original = original(context, &copy).await?;
        let keep = arguments.keep;
        for (access, path) in accesses(keep, &original) {
            context.check(access, &path)?;
        }
        let content = match (keep, arguments.content.0) {
            (Kept::Merged, Some(content)) if content.len() <= MAX_NOTE_BYTES => Some(Bytes::from(content)),
            (Kept::Merged, _) => return Err(invalid("content: merged needs the whole text")),
            (_, Some(_)) => return Err(invalid("content: only merged takes a text")),
            _ => None,
        };
        let condition = Condition::of_existing(arguments.if_match.as_ref())?;
        let change = Resolution { context, original, copy, keep, content, condition };
        let message = arguments.message.as_ref().map(Message::as_str);
        let done = commit::commit(context, &Self::INFO, message, &change).await?;
        let had_mine = match &done {
            CommitResult::Committed(outcome, _) | CommitResult::Unchanged(outcome, _) => outcome.told,
            CommitResult::Replayed(..) => true,
        };
        let (other, generation) = done.kept();
        let original = change.original.as_str().to_owned();
        let value = Output { original, other, done: keep.told(had_mine), generation };
        Ok(Answer { value, generation: Some(generation) })
    }
}

/// What the caller must be allowed to do with the file.
fn accesses(keep: Kept, original: &VaultPath) -> Vec<PathAccess> {
    let thrown = (keep == Kept::Theirs).then(|| (Access::Delete, original.clone()));
    [(Access::Write, original.clone())].into_iter().chain(thrown).collect()
}

fn invalid(message: &str) -> Error {
    Error::bad_request(Reason::InvalidInput, message).with("field", "content")
}

struct Resolution<'a> {
    context: &'a Context<'a>,
    original: VaultPath,
    copy: VaultPath,
    keep: Kept,
    content: Option<Bytes>,
    condition: Condition<'a>,
}

impl Resolution<'_> {
    /// A free path for the copy: the file's, or a numbered one beside it.
    async fn free_path(&self, head: &Snapshot) -> Result<VaultPath, Error> {
        let folder = self.original.folder().map(|folder| format!("{folder}/")).unwrap_or_default();
        let mut denied = None;
        for name in conflict::free_names(self.original.file_name()) {
            let Ok(path) = VaultPath::parse(&format!("{folder}{name}")) else { break };
            // First: whether a path that the caller may not write is taken is not told.
            if let Err(error) = self.context.check(Access::Write, &path) {
                denied.get_or_insert(error);
            } else if notes::find(head, path.as_str(), |_| false).await?.is_none() {
                return Ok(path);
            }
        }
        if let Some(denied) = denied {
            return Err(denied);
        }
        let message = format!("{} and the names beside it are taken", self.original);
        Err(Error::new(Code::Conflict, Reason::NameTaken, message).with("path", self.original.as_str()))
    }
}

impl ChangeSet for Resolution<'_> {
    type Error = Error;
    /// Told is whether there was a file beside the copy.
    type Outcome = commit::Outcome<Option<String>, bool>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let head = writable::published(head)?;
        let paths = [self.copy.as_str(), self.original.as_str()];
        let mut found = notes::find_all(head, &paths, |_| true).await?;
        let (mine, theirs) = (found.pop().flatten(), found.pop().flatten());
        let theirs = theirs.ok_or_else(|| notes::missing(self.copy.as_str()))?;
        self.condition.check(self.copy.as_str(), Some(&theirs))?;
        if let Some(mine) = &mine {
            self.condition.check(self.original.as_str(), Some(mine))?;
        }
        let mut batch = Batch::on(head, self.context);
        let mut other = None;
        // Where the file leaves its path, the copy takes it in the same commit.
        let mut left: Option<&Found> = None;
        for (version, place) in self.keep.files().moves() {
            match (version, place) {
                (Version::Original, _) => {
                    let Some(mine) = &mine else { continue };
                    batch.keep_in_trash(&self.original, mine).await?;
                    left = Some(mine);
                }
                (Version::Copy, Place::Trash) => {
                    batch.take_moved(&theirs);
                    batch.keep_in_trash(&self.original, &theirs).await?;
                }
                (Version::Copy, Place::Original) => {
                    let path = if left.is_some() { self.original.clone() } else { self.free_path(head).await? };
                    other = Some(path.as_str().to_owned()).filter(|path| *path != self.original.as_str());
                    batch.take_moved(&theirs);
                    batch.put_moved(NewDocument::moved(path, &theirs), &theirs, left);
                }
            }
        }
        if let Some(content) = &self.content {
            let merged = NewDocument::text(self.original.clone(), content.clone(), mine.as_ref(), self.context.now)?;
            if mine.as_ref().is_none_or(|mine| mine.record.sha256 != *merged.sha256().as_bytes()) {
                batch.put(merged, mine.as_ref());
            }
        }
        Ok(Attempt::changes(batch.derived().await?, commit::Outcome { kept: other, told: mine.is_some() }))
    }
}
