//! `read_notes`: reads several notes.

use atlas_access::Access;
use atlas_ops::arguments;
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::item_error::ItemError;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::response_limit::{AROUND_TEXT, bytes_of};
use atlas_ops::read::nearest::ShortPaths;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::notes::read_note::{self, Parts, has_text};

/// Returns the texts and properties of up to 50 notes, of one state of the vault.
pub struct ReadNotes;

/// The notes, and options.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Their paths from the root of the vault, with their extensions; 50 at most.
    #[schemars(length(min = 1, max = 50))]
    paths: Vec<String>,
    /// Whether to return their texts.
    #[serde(default = "arguments::yes")]
    include_content: bool,
    /// Whether to return their properties.
    #[serde(default = "arguments::yes")]
    include_frontmatter: bool,
    /// Whether to return their sizes and times.
    #[serde(default)]
    include_stats: bool,
}

/// The results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// One result per path, in order.
    results: Vec<Item>,
}

/// The result for one path.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// The path.
    path: String,
    /// Whether the note was read.
    ok: bool,
    /// The note, if it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<read_note::Output>,
    /// Why it was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ItemError>,
}

/// Most paths.
const MAX_PATHS: usize = 50;
/// Most missing notes for which similar ones are looked for.
const MAX_SUGGESTED: usize = 5;

impl Operation for ReadNotes {
    const INFO: Info = Info {
        name: "read_notes",
        title: "Read several notes",
        description: "Returns the texts and properties of up to 50 notes, of one state of the vault. Paths that cannot be read get an error each; long notes are read with read_note, in pages. Example: {\"paths\": [\"Projects/a.md\", \"Projects/b.md\"]}",
        scopes: &[Scope::ReadVault],
        tags: &["notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(_: &Arguments) -> Result<Vec<PathAccess>, Error> {
        // Each is checked against the access list by itself.
        Ok(Vec::new())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        if !(1..=MAX_PATHS).contains(&arguments.paths.len()) {
            let message = format!("paths: name 1 to {MAX_PATHS}");
            return Err(Error::bad_request(Reason::InvalidInput, message).with("field", "paths"));
        }
        let allowed: Vec<Result<VaultPath, Error>> =
            arguments.paths.iter().map(|path| allowed(context, path)).collect();
        let paths: Vec<&str> = allowed.iter().flatten().map(VaultPath::as_str).collect();
        let Arguments { include_content: content, include_frontmatter: frontmatter, include_stats: stats, .. } =
            arguments;
        let parts = Parts { content, offset: 0, frontmatter, stats };
        let most = context.limits.max_bytes as u64;
        let wanted = |view: View| {
            let paths = &paths;
            async move {
                let wanted = |record: &_| parts.are_text() && is_read_whole(record, most);
                let found = notes::find_all(view.snapshot(), paths, wanted).await?;
                Ok((view, found))
            }
        };
        let answer = context.read(wanted).await?;
        let (view, found) = answer.value;
        let missing = paths.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(path, _)| *path).collect();
        let mut meant = meant(context, view, parts, missing).await?.into_iter();
        let mut found = found.into_iter();
        let mut taken = 0;
        let mut results = Vec::with_capacity(allowed.len());
        for (written, allowed) in arguments.paths.into_iter().zip(allowed) {
            let note = allowed.and_then(|path| {
                let found = match found.next().flatten() {
                    Some(found) => found,
                    None => meant.next().unwrap_or_else(|| Err(notes::missing(path.as_str())))?,
                };
                note(context, parts, found, taken)
            });
            let item = match note {
                Ok(note) => Item { path: note.path.clone(), ok: true, note: Some(note), error: None },
                Err(error) => {
                    let error = Some(ItemError::of(error, context.caller));
                    Item { path: written, ok: false, note: None, error }
                }
            };
            taken += bytes_of(&item) + 1;
            results.push(item);
        }
        Ok(Answer { value: Output { results }, generation: answer.generation })
    }
}

/// The path in `written`, if the caller may read it.
fn allowed(context: &Context<'_>, written: &str) -> Result<VaultPath, Error> {
    let path = arguments::path("paths", written)?;
    context.check(Access::Read, &path)?;
    Ok(path)
}

fn is_read_whole(record: &atlas_segment::Record, most: u64) -> bool {
    has_text(record) && record.bytes <= most
}

/// The notes that the paths mean at which there is none: without a folder, or without `.md`.
async fn meant(
    context: &Context<'_>,
    view: View,
    parts: Parts,
    missing: Vec<&str>,
) -> Result<Vec<Result<Found, Error>>, Error> {
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let short = ShortPaths::of(view.clone()).await?;
    let meant = |(at, path)| allowed(context, &short.meant(context, path, at < MAX_SUGGESTED)?);
    let paths: Vec<Result<VaultPath, Error>> = missing.into_iter().enumerate().map(meant).collect();
    let there: Vec<&str> = paths.iter().flatten().map(VaultPath::as_str).collect();
    let most = context.limits.max_bytes as u64;
    let wanted = |record: &_| parts.are_text() && is_read_whole(record, most);
    let mut found = notes::find_all(view.snapshot(), &there, wanted).await?.into_iter();
    let note = |path: Result<VaultPath, Error>| {
        let path = path?;
        found.next().flatten().ok_or_else(|| notes::missing(path.as_str()))
    };
    Ok(paths.into_iter().map(note).collect())
}

/// The note `found`, for an answer of which `taken` bytes are used.
fn note(context: &Context<'_>, parts: Parts, found: Found, taken: usize) -> Result<read_note::Output, Error> {
    let path = found.record.path.clone();
    if !has_text(&found.record) {
        return Err(notes::missing(&path));
    }
    let too_large = |what: String| {
        let message = format!("{what}: read {path} by itself, with read_note");
        Err(Error::new(Code::TooLarge, Reason::NoteTooLarge, message).with("path", path.as_str()))
    };
    if parts.are_text() && !is_read_whole(&found.record, context.limits.max_bytes as u64) {
        return too_large(format!("the note has {} bytes", found.record.bytes));
    }
    let note = parts.of(found, context.limits, 0)?;
    if taken + bytes_of(&note) + AROUND_TEXT > context.limits.max_response_bytes {
        return too_large("the answer has no room for the note".to_owned());
    }
    Ok(note)
}
