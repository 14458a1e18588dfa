//! `read_note`: one note's text and properties.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::Snapshot;
use atlas_ops::arguments::{self, Given, ReadPath};
use atlas_ops::atlas::Limits;
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::response_limit::AROUND_TEXT;
use atlas_ops::read::notes::{self, Found};
use atlas_ops::read::view::View;
use atlas_ops::write::writable::text_of;
use atlas_segment::text::in_utf8;
use atlas_segment::{Kind, Record};
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::anchor::ShortAnchor;
use crate::queries::in_note::{self, RanQuery};
use page::page;
pub(crate) use page::within;

mod page;

/// Returns the text and properties of the note at a path.
pub struct ReadNote;

/// The note, and options.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: ReadPath,
    /// Only the section of this heading, `Parent > Child`, or the block `^id`; the whole note if not given.
    #[serde(default)]
    anchor: Given<ShortAnchor>,
    /// The first byte: 0, or a page's `next_offset` with its `generation`.
    #[serde(default)]
    offset: u64,
    /// Read it at this generation.
    #[serde(default)]
    generation: Given<u64>,
    /// Whether to return its text.
    #[serde(default = "arguments::yes")]
    include_content: bool,
    /// Whether to return its properties.
    #[serde(default = "arguments::yes")]
    include_frontmatter: bool,
    /// Whether to return its size and time.
    #[serde(default)]
    include_stats: bool,
    /// Whether to run the queries in it (blocks `dataview` and `base`, embedded bases, inline `= …`) and return `rendered`.
    #[serde(default)]
    render_queries: bool,
}

/// The note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    pub(crate) path: String,
    /// Its text, or the requested page of it; absent if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    /// The same text with the result of each query in its place, as markdown, or why it has none; absent if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<String>,
    /// The queries of that text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queries: Vec<RanQuery>,
    /// Its properties; null if it has none or they cannot be read, absent if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub(crate) frontmatter: Option<Option<Map<String, Value>>>,
    /// Its size and time, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Stats>,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// SHA-256 of its bytes, in hex.
    pub(crate) sha256: String,
    /// Equal to `sha256`.
    content_hash: String,
    /// The generation that wrote this version.
    generation: u64,
    /// The start of the next page, to be passed with `generation`; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
    /// True if the note is not UTF-8: it is shown decoded from UTF-16, or with U+FFFD for invalid bytes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
}

/// A note's size and time. The time of its creation is unknown here.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stats {
    /// Its size in bytes.
    size: u64,
    /// When it was last changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    mtime: Timestamp,
}

impl Arguments {
    /// The beginning of the newest version of the note at `path`.
    pub(crate) const fn of(path: ReadPath) -> Self {
        Self {
            path,
            anchor: Given(None),
            offset: 0,
            generation: Given(None),
            include_content: true,
            include_frontmatter: true,
            include_stats: false,
            render_queries: false,
        }
    }

    const fn parts(&self) -> Parts {
        let Self { offset, include_content: content, include_frontmatter: frontmatter, include_stats: stats, .. } =
            *self;
        Parts { content, offset, frontmatter, stats }
    }
}

/// The requested parts of a note.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) content: bool,
    /// The start of the text.
    pub(crate) offset: u64,
    pub(crate) frontmatter: bool,
    pub(crate) stats: bool,
}

impl Parts {
    /// Whether they need its text.
    pub(crate) const fn are_text(self) -> bool {
        self.content || self.frontmatter
    }

    /// The parts of a note, with as much of its text as fits into an answer of which `taken` bytes are used.
    pub(crate) fn of(self, found: Found, limits: &Limits, taken: usize) -> Result<Output, Error> {
        let whole = 0..found.text.len();
        self.within(whole, found, limits, taken)
    }

    /// Like [`of`](Self::of), with text from this range only.
    fn within(self, range: Range<usize>, found: Found, limits: &Limits, taken: usize) -> Result<Output, Error> {
        let text = in_utf8(&found.text);
        // Only all of a text in UTF-16 is ever asked for: an anchor is one of a text in UTF-8.
        let is_decoded = matches!(text, Cow::Owned(_));
        let range = if is_decoded { 0..text.len() } else { range };
        let frontmatter = self.frontmatter.then(|| {
            let frontmatter = atlas_vault::frontmatter::of(&String::from_utf8_lossy(&text));
            frontmatter.and_then(|frontmatter| frontmatter.properties.ok())
        });
        let json_bytes = room(limits, frontmatter.as_ref().and_then(Option::as_ref)).saturating_sub(taken);
        let page = match self.content {
            true => Some(page(text.get(range).unwrap_or_default(), self.offset, limits.max_bytes, json_bytes)?),
            false => None,
        };
        let sha256 = found.sha256();
        let mtime = Timestamp::from_millisecond(found.record.modified_ms).unwrap_or_default();
        Ok(Output {
            content_hash: sha256.clone(),
            sha256,
            path: found.record.path,
            frontmatter,
            stats: self.stats.then_some(Stats { size: found.record.bytes, mtime }),
            bytes: found.record.bytes,
            generation: found.generation,
            rendered: None,
            queries: Vec::new(),
            next_offset: page.as_ref().and_then(|page| page.next),
            lossy: page.as_ref().is_some_and(|page| page.lossy || is_decoded),
            content: page.map(|page| page.content),
        })
    }
}

impl Operation for ReadNote {
    const INFO: Info = Info {
        name: "read_note",
        title: "Read a note",
        description: "Returns the text, the properties and the sha256 of the note at a path, now or at an older generation. Of a long note read a part (anchor) or pages (next_offset). If you do not know the path, call search. With render_queries its Dataview and Bases queries are run, and `rendered` has their results. Example: {\"path\": \"Projects/Atlas.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["notes"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let (path, arguments) = (path.as_str(), &arguments);
        let read = |view: View| async move {
            let parts = arguments.parts();
            let needs_text = parts.are_text() || arguments.anchor.is_some() || arguments.render_queries;
            let found = notes::find(view.snapshot(), path, |record| needs_text && has_text(record)).await?;
            let found = match found {
                Some(found) if has_text(&found.record) => found,
                Some(found) if found.record.kind == Kind::Attachment => return Err(attachment(&found.record)),
                _ => return Err(notes::missing(path)),
            };
            let range = match arguments.anchor.as_ref() {
                Some(anchor) => {
                    let text = text_of(&found)?;
                    anchor.0.find(text)?.range(text)?
                }
                None => 0..found.text.len(),
            };
            match arguments.render_queries {
                true => with_results(context, view, parts, range, found).await,
                false => parts.within(range, found, context.limits, 0),
            }
        };
        match *arguments.generation {
            None => context.read(read).await,
            Some(generation) => {
                let kept = match notes::at(context, generation).await {
                    Err(gone) if gone.is(Reason::GenerationNotFound) && !arguments.render_queries => {
                        unchanged(context, path, generation).await?.ok_or(gone)
                    }
                    kept => kept,
                };
                let snapshot = kept?;
                let view = if arguments.render_queries { context.view(snapshot) } else { View::whole(snapshot) };
                Ok(Answer { value: read(view).await?, generation: Some(generation) })
            }
        }
    }
}

/// The newest generation, if the note at `path` is there as it was at `generation`.
async fn unchanged(context: &Context<'_>, path: &str, generation: u64) -> Result<Option<Arc<Snapshot>>, Error> {
    let newest = context.read(|view| async move { Ok(view) }).await?.value;
    let snapshot = newest.snapshot();
    let found = notes::find(snapshot, path, |_| false).await?;
    let is_same = |found: &Found| (found.generation..=snapshot.generation()).contains(&generation);
    Ok(found.filter(is_same).map(|_| snapshot.clone()))
}

/// A page of a note, and the same with the results of its queries. The page is smaller, so that the answer has room for these.
async fn with_results(
    context: &Context<'_>,
    view: View,
    parts: Parts,
    range: Range<usize>,
    found: Found,
) -> Result<Output, Error> {
    let (path, start) = (found.record.path.clone(), range.start);
    let text = text_of(&found)?.to_owned();
    let room = context.limits.max_response_bytes;
    let limits = Limits { max_response_bytes: room / 4, ..*context.limits };
    let mut output = Parts { content: true, ..parts }.within(range, found, &limits, 0)?;
    let offset = start + usize::try_from(parts.offset).unwrap_or(usize::MAX);
    let length = output.content.as_ref().map_or(0, String::len);
    let part = offset..offset.saturating_add(length);
    let rendered = in_note::rendered(context, view, &path, &text, part, room / 2).await?;
    (output.rendered, output.queries) = (Some(rendered.text), rendered.queries);
    if !parts.content {
        output.content = None;
    }
    Ok(output)
}

/// The error for an attachment, which another operation reads.
fn attachment(record: &Record) -> Error {
    let path = record.path.as_str();
    let how = if record.text.length > 0 { "its text with page" } else { "its bytes with include_data" };
    let message = format!("there is no note at {path}: it is an attachment; call get_attachment, which gives {how}");
    Error::not_found(Reason::NoteNotFound, message).with("path", path)
}

/// Whether it is a note or another text file.
pub(crate) const fn has_text(record: &Record) -> bool {
    matches!(record.kind, Kind::Note | Kind::Text)
}

/// Bytes of text, as JSON, that fit into an answer besides these properties.
pub(crate) fn room(limits: &Limits, properties: Option<&Map<String, Value>>) -> usize {
    let around = AROUND_TEXT + properties.map_or(0, |properties| json!(properties).to_string().len());
    limits.max_response_bytes.saturating_sub(around)
}
