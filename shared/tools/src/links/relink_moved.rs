//! `relink_moved`: links follow the files that a person moved in a folder. For the program that syncs it; no door offers it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use atlas_mirror::{Attempt, ChangeSet, Snapshot};
use atlas_ops::Entry;
use atlas_ops::call::Schemas;
use atlas_ops::error::{Code, Error};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::notes;
use atlas_ops::write::commit;
use atlas_ops::write::relocate::Moving;
use atlas_ops::write::relocate::made::{Followed, Made};
use atlas_ops::write::writable;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::{commit as commits, renames};

/// Most commits whose moves are looked for: those of an interrupted program are few.
const MAX_COMMITS: usize = 50;
/// Most changes of such a commit.
const MAX_CHANGES: u64 = 10_000;
/// Most files whose links are looked for at once.
const MAX_MOVED: usize = 500;
/// Most moves that the message names, and most reasons that the result has.
const MAX_NAMED: usize = 20;
const MAX_REASONS: usize = 100;

/// Rewrites the links that syncs broke by committing what a person moved in a folder. Where a file came from must be sure.
pub struct RelinkMoved;

/// `relink_moved`, for the program that syncs.
pub static ENTRY: Entry = Entry::of::<RelinkMoved>(Schemas { arguments: "true", output: "true" });

/// The commits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The generation before them.
    after: u64,
}

/// The rewritten links.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// The number of moved files.
    pub moved: usize,
    /// The number of rewritten links.
    pub links: usize,
    /// The number of notes with such links.
    pub notes: usize,
    /// Why links stay as they are.
    pub left: Vec<String>,
}

impl Operation for RelinkMoved {
    const INFO: Info = Info {
        name: "relink_moved",
        title: "Links follow moved files",
        description: "Rewrites the links that syncs broke by committing what a person moved in a folder.",
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["links"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let head = context.vault.mirror.head().await?;
        let moves = Moves::since(context, &head, arguments.after).await?;
        let moved = moves.ways.len();
        let nothing = |left| Answer { value: Output { moved, links: 0, notes: 0, left }, generation: None };
        if moved == 0 {
            return Ok(nothing(Vec::new()));
        }
        if moved > MAX_MOVED {
            let reason = format!("{moved} files moved; links follow at most {MAX_MOVED} at once");
            return Ok(nothing(vec![reason]));
        }
        let message = moves.message();
        let Moves { ways, made } = moves;
        let following = Following(Moving { context, ways, update_links: true, overwrite: false, made: Some(made) });
        match commit::commit(context, &Self::INFO, Some(&message), &following).await {
            Ok(done) => {
                let (value, generation) = done.kept();
                Ok(Answer { value, generation: Some(generation) })
            }
            // It would fail again.
            Err(error) if matches!(error.code, Code::TooLarge | Code::BadRequest) => Ok(nothing(vec![error.message])),
            Err(error) => Err(error),
        }
    }
}

/// The files that a person moved.
struct Moves {
    ways: Vec<(VaultPath, VaultPath)>,
    made: Made,
}

impl Moves {
    /// The sure moves by syncs between the generation `after` and `head`.
    async fn since(context: &Context<'_>, head: &Arc<Snapshot>, after: u64) -> Result<Self, Error> {
        let generation = head.generation();
        let count = usize::try_from(generation.saturating_sub(after)).unwrap_or(MAX_COMMITS).min(MAX_COMMITS);
        let mut moves = Self { ways: Vec::new(), made: Made { generation, contents: HashMap::new() } };
        if count == 0 {
            return Ok(moves);
        }
        let history = context.vault.mirror.history_over_gaps(generation, count + 1).await?;
        let mut ways: BTreeMap<VaultPath, VaultPath> = BTreeMap::new();
        for (later, earlier) in history.iter().zip(history.iter().skip(1)).rev() {
            // What a commit moved is known only beside the generation before it.
            let is_beside = earlier.generation() + 1 == later.generation() && earlier.generation() >= after;
            let manifest = later.manifest();
            let is_candidate =
                is_beside && manifest.operation == "sync" && manifest.changes.added > 0 && manifest.changes.removed > 0;
            if !is_candidate || manifest.changes.sum() > MAX_CHANGES {
                continue;
            }
            let changed = commits::changed(context, Some(earlier), later, true, MAX_CHANGES).await?;
            let paths: Vec<&str> = changed.paths.iter().map(String::as_str).collect();
            let sure: Vec<(&str, &str)> = renames::moved(earlier, later, &paths).await?.sure().collect();
            if sure.is_empty() {
                continue;
            }
            moves.made.generation = moves.made.generation.min(later.generation());
            let from: Vec<&str> = sure.iter().map(|(from, _)| *from).collect();
            let was = notes::find_all(earlier, &from, |_| false).await?;
            for ((from, to), was) in sure.into_iter().zip(was) {
                let (Ok(from), Ok(path), Some(was)) = (VaultPath::parse(from), VaultPath::parse(to), was) else {
                    continue;
                };
                moves.made.contents.insert(to.to_owned(), was.record.sha256);
                ways.insert(from, path);
            }
        }
        // Of two files that came to one path in turn, the place of one is not known.
        let mut reached: BTreeSet<&VaultPath> = BTreeSet::new();
        let twice: BTreeSet<VaultPath> = ways.values().filter(|to| !reached.insert(to)).cloned().collect();
        moves.ways = ways.into_iter().filter(|(_, to)| !twice.contains(to)).collect();
        Ok(moves)
    }

    /// The message of the commit.
    fn message(&self) -> String {
        let mut message = "links follow what was moved:".to_owned();
        for (at, (from, to)) in self.ways.iter().take(MAX_NAMED).enumerate() {
            let comma = if at == 0 { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(message, "{comma} {from} to {to}");
        }
        if let Some(more) = self.ways.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
            let _ = write!(message, ", and {more} more");
        }
        message
    }
}

struct Following<'a>(Moving<'a>);

impl ChangeSet for Following<'_> {
    type Error = Error;
    type Outcome = commit::Outcome<Output>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let Followed { batch, links, notes, left } = self.0.follow(writable::published(head)?).await?;
        let more = left.len().saturating_sub(MAX_REASONS);
        let mut left: Vec<String> = left.into_iter().map(|error| error.message).take(MAX_REASONS).collect();
        left.extend((more > 0).then(|| format!("and {more} more")));
        let output = Output { moved: self.0.ways.len(), links, notes: notes.len(), left };
        if batch.is_empty() {
            return Ok(Attempt::nothing(output.into()));
        }
        Ok(Attempt::changes(batch.derived().await?, output.into()))
    }
}
