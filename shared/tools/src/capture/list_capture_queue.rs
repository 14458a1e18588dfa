//! `list_capture_queue`: what waits to be made a note.

use atlas_ops::arguments::{Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::response_limit::fitting;
use atlas_ops::read::cursor;
use atlas_ops::read::paging::{Limit, Page, clamped};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queue::{self, Capture, CaptureId, Committed, QueuedCapture};

/// Lists what waits to be made a note.
pub struct ListCaptureQueue;

/// Which captures.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// List those that became notes and were kept, instead of those that wait.
    #[serde(default)]
    committed: bool,
    /// Only captures from this source.
    #[serde(default)]
    source: Given<Text<200>>,
    /// Most captures to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the page before.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A capture.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// The id that `commit_capture` takes.
    capture_id: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The first 200 characters of its text.
    content_preview: String,
    /// Its tags, without `#`.
    tags: Vec<String>,
    /// Where it comes from, if that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The name of whoever captured it.
    captured_by: String,
    /// When.
    #[schemars(with = "String", extend("format" = "date-time"))]
    captured_at: Timestamp,
    /// The path that it is meant for.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_path_hint: Option<String>,
    /// When it became a note, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    committed_at: Option<Timestamp>,
    /// The note's path, as far as the caller may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    committed_path: Option<String>,
}

/// Where a page begins: after this capture.
#[derive(Serialize, Deserialize)]
struct After {
    committed: bool,
    written: Timestamp,
    id: String,
}

/// Characters of a preview.
const PREVIEW: usize = 200;
/// How many are fetched at once, and the most of one page.
const AT_ONCE: usize = 16;
const MAX_FETCHED: usize = 400;

impl Operation for ListCaptureQueue {
    const INFO: Info = Info {
        name: "list_capture_queue",
        title: "List captures",
        description: "Lists what enqueue_capture noted down and what waits to be made a note with commit_capture, the newest first: your own captures, and for administrators those of all callers, as far as they may read the paths that these are meant for. With committed, those that became notes and were kept in the queue. A page may be short and have a cursor all the same. Example: {\"limit\": 20}",
        scopes: &[Scope::ReadVault],
        tags: &["capture"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<Item>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { committed, source, limit, cursor } = arguments;
        let source = source.as_ref().map(Text::as_str);
        let (limit, overflow) = clamped(limit);
        let after: Option<After> = cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        let after = after
            .map(|after| Some((after.written, CaptureId::parse(&after.id)?)).filter(|_| after.committed == committed));
        let after = after.map(|after| after.ok_or_else(cursor::invalid)).transpose()?;
        let mut listed = queue::list(context, committed).await?;
        if let Some((written, id)) = &after {
            listed.retain(|one| one.written < *written || one.written == *written && one.id > *id);
        }
        let mut found: Vec<(Item, usize)> = Vec::new();
        let mut looked = 0;
        for some in listed.chunks(AT_ONCE) {
            if found.len() >= limit || looked >= MAX_FETCHED {
                break;
            }
            let fetched: Vec<_> = some.iter().map(|one| item(context, one, committed, source)).collect();
            let fetched: Vec<Option<Item>> = stream::iter(fetched).buffered(AT_ONCE).try_collect().await?;
            let numbered = (looked + 1..).zip(fetched);
            found.extend(numbered.filter_map(|(number, item)| Some((item?, number))));
            looked += some.len();
        }
        let is_over = found.len() > limit;
        found.truncate(limit);
        let (mut items, numbers): (Vec<Item>, Vec<usize>) = found.into_iter().unzip();
        let all = items.len();
        items.truncate(fitting(&items, context.limits.max_response_bytes));
        let is_cut = is_over || items.len() < all;
        // How many of the listing this page and those before it are done with.
        let done = if is_cut { numbers.get(items.len().saturating_sub(1)).copied().unwrap_or(looked) } else { looked };
        let last = listed.get(done.saturating_sub(1)).filter(|_| done < listed.len());
        let next = last.map(|last| After { committed, written: last.written, id: last.id.written() });
        let cursor = next.as_ref().and_then(cursor::encode);
        Ok(Answer { value: Page { items, cursor, overflow, total_count: None }, generation: None })
    }
}

/// The capture, if the caller sees it and it is from this source.
async fn item(
    context: &Context<'_>,
    listed: &QueuedCapture,
    is_committed: bool,
    source: Option<&str>,
) -> Result<Option<Item>, Error> {
    let mirror = &context.vault.mirror;
    let Some(capture) = queue::get(mirror, &listed.id).await? else { return Ok(None) };
    let is_wanted = source.is_none_or(|source| capture.source.as_deref() == Some(source));
    if !is_wanted || !queue::shows(context, &capture) {
        return Ok(None);
    }
    let done = if is_committed { queue::committed(mirror, &listed.id).await? } else { None };
    let is_taken_out = done.as_ref().is_some_and(|done| done.deletes);
    Ok((!is_taken_out).then(|| Item::of(context, &listed.id, capture, done)))
}

impl Item {
    fn of(context: &Context<'_>, id: &CaptureId, capture: Capture, done: Option<Committed>) -> Self {
        let Capture { by, at, content, title, tags, source, hint } = capture;
        let is_readable = |done: &Committed| context.check(atlas_access::Access::Read, &done.path).is_ok();
        Self {
            capture_id: id.written(),
            title,
            content_preview: content.chars().take(PREVIEW).collect(),
            tags,
            source,
            captured_by: by,
            captured_at: at,
            target_path_hint: hint.map(|hint| hint.as_str().to_owned()),
            committed_at: done.as_ref().map(|done| done.at),
            committed_path: done.filter(is_readable).map(|done| done.path.as_str().to_owned()),
        }
    }
}
