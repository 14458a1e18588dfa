//! `read_conflict`: a file, its conflict copy, and the text that both were made from.

use atlas_access::Access;
use atlas_ops::arguments::ReadPath;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::response_limit::{AROUND_TEXT, bytes_of};
use atlas_ops::read::notes::{self, Found};
use atlas_ops::read::view::View;
use atlas_segment::Record;
use atlas_vault::VaultPath;
use atlas_vault::merge::{self, Changed};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{certain, common_base, original};
use crate::changed_file::{MAX_COMPARED, text};

/// Compares a file with its conflict copy.
pub struct ReadConflict;

/// The copy.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the conflict copy, from `list_conflicts`.
    path: ReadPath,
}

/// The two versions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The path of the copy.
    path: String,
    /// The path of the file.
    original: String,
    /// The file; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    mine: Option<Side>,
    /// The copy.
    theirs: Side,
    /// The generation that wrote the text that both were made from; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<u64>,
    /// The lines of both in order; empty if they are left out.
    parts: Vec<Part>,
    /// Whether the lines are left out: they are not text, or too many.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    left_out: bool,
}

/// A version.
#[derive(Debug, Serialize, JsonSchema)]
struct Side {
    /// SHA-256 of its bytes, in hex, for `if_match` of `resolve_conflict`.
    sha256: String,
    /// Its size in bytes.
    bytes: u64,
    /// When it was last changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    mtime: Timestamp,
}

impl Side {
    fn of(found: &Found) -> Self {
        let mtime = Timestamp::from_millisecond(found.record.modified_ms).unwrap_or_default();
        Self { sha256: found.sha256(), bytes: found.record.bytes, mtime }
    }
}

/// Some whole lines.
#[derive(Debug, Serialize, JsonSchema)]
struct Part {
    /// Who changed them.
    changed: Who,
    /// What the file has there, and what a merge takes unless `theirs` alone changed it.
    mine: String,
    /// What the copy has there; absent if it is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    theirs: Option<String>,
    /// What stood there before; absent where nobody changed it, or if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<String>,
}

/// Who changed some lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Who {
    /// Nobody.
    Nobody,
    /// Only the file has a change.
    Mine,
    /// Only the copy has a change, or it is not known whose the change is.
    Theirs,
    /// Both have the same change.
    Both,
    /// Both have a change of their own: somebody has to choose.
    Differently,
}

impl Part {
    fn of(piece: &merge::Piece<'_>, with_base: bool) -> Self {
        let changed = match piece.changed {
            Changed::Nowhere => Who::Nobody,
            Changed::InOurs => Who::Mine,
            Changed::InTheirs => Who::Theirs,
            Changed::Alike => Who::Both,
            Changed::Differently => Who::Differently,
        };
        let other = |text: &str, is_there: bool| is_there.then(|| text.to_owned());
        Self {
            changed,
            mine: piece.ours.to_owned(),
            theirs: other(piece.theirs, piece.theirs != piece.ours),
            base: other(piece.base, with_base && changed != Who::Nobody),
        }
    }
}

impl Operation for ReadConflict {
    const INFO: Info = Info {
        name: "read_conflict",
        title: "Read a conflict",
        description: "Compares a file with a conflict copy of it, part by part, with the text that both were made from: what only one changed, and what both changed differently. Then resolve_conflict keeps one, both, or a merge. Example: {\"path\": \"Plan (conflict 2026-01-31 12.00 agent).md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["sync"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        let copy: VaultPath = arguments.path.clone().into();
        let original = certain(&copy)?;
        Ok(original.into_iter().chain([copy]).map(|path| (Access::Read, path)).collect())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let copy: VaultPath = arguments.path.clone().into();
        let (original, copy) = (&original(context, &copy).await?, copy.as_str());
        context.check(Access::Read, original)?;
        context.read(|view| read(context, view, copy, original.as_str())).await
    }
}

async fn read(context: &Context<'_>, view: View, copy: &str, original: &str) -> Result<Output, Error> {
    let wants = |record: &Record| record.blob.is_none() && record.bytes <= MAX_COMPARED;
    let mut found = notes::find_all(view.snapshot(), &[copy, original], wants).await?;
    let (mine, theirs) = (found.pop().flatten(), found.pop().flatten());
    let theirs = theirs.ok_or_else(|| notes::missing(copy))?;
    let base = match &mine {
        Some(mine) => common_base::find(context, original, mine, &theirs).await?,
        None => None,
    };
    let parts = mine.as_ref().and_then(|mine| parts(base.as_ref(), mine, &theirs));
    let room = context.limits.max_response_bytes.saturating_sub(AROUND_TEXT);
    let parts = parts.filter(|parts| bytes_of(parts) <= room);
    Ok(Output {
        path: copy.to_owned(),
        original: original.to_owned(),
        left_out: mine.is_some() && parts.is_none(),
        base: base.filter(|_| parts.is_some()).map(|base| base.generation),
        mine: mine.as_ref().map(Side::of),
        theirs: Side::of(&theirs),
        parts: parts.unwrap_or_default(),
    })
}

/// The lines of both; [`None`] if they are not text, or too many.
fn parts(base: Option<&Found>, mine: &Found, theirs: &Found) -> Option<Vec<Part>> {
    let base = base.and_then(text);
    let pieces = merge::pieces(base, text(mine)?, text(theirs)?).ok()?;
    Some(pieces.iter().map(|piece| Part::of(piece, base.is_some())).collect())
}
