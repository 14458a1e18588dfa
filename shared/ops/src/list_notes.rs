//! `list_notes`: the notes under a prefix, in path order.

use atlas_segment::{Kind, Record};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{self, Bounded, Text};
use crate::cursor;
use crate::error::Error;
use crate::governor::fitting;
use crate::index::Wave;
use crate::operation::{Answer, Context, Info, Operation, Scope, Touch};
use crate::view::View;

/// The operation.
pub struct ListNotes;

/// Which notes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ListNotesRequest")]
pub struct Arguments {
    /// Only paths that begin so, for example `projects/`.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    prefix: String,
    /// Most notes to return; 100 if not given.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Bounded<1, 1000>")]
    limit: Option<Bounded<1, 1000>>,
    /// The `cursor` of the page before. The pages of one listing show the vault as it was at the first.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Text<4096>")]
    cursor: Option<Text<4096>>,
}

/// The notes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ListNotesResponse")]
pub struct Output {
    /// The notes, in the byte order of their paths.
    notes: Vec<Listed>,
    /// What to pass for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// One note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed {
    /// Its path.
    path: String,
    /// Its size in bytes.
    bytes: u64,
    /// SHA-256 of its bytes, in hex.
    sha256: String,
    /// When it was last changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    modified: Timestamp,
}

/// Where the next page begins.
#[derive(Serialize, Deserialize)]
struct Cursor {
    generation: u64,
    after: String,
}

const DEFAULT_LIMIT: usize = 100;

impl Operation for ListNotes {
    const INFO: Info = Info {
        name: "list_notes",
        title: "List notes",
        description: "Lists the notes whose paths begin with a prefix, in path order, with sizes, times and hashes. Pages by cursor.",
        scopes: &[Scope::ReadVault],
        destructive: false,
        tags: &["notes"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn touches(_: &Self::Arguments) -> Result<Vec<Touch>, Error> {
        Ok(Vec::new())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let limit = arguments.limit.map_or(DEFAULT_LIMIT, Bounded::get);
        let prefix = arguments.prefix.as_str();
        if prefix.len() > 1024 {
            return Err(Error::bad_request("validation_error", "prefix: must be at most 1024 bytes"));
        }
        let cursor: Option<Cursor> =
            arguments.cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        let (generation, after) = match &cursor {
            Some(cursor) => (Some(cursor.generation), cursor.after.as_str()),
            None => (None, ""),
        };
        let most_bytes = context.limits.max_response_bytes;
        cursor::read(context, generation, |view| list(view, prefix, after, limit, most_bytes)).await
    }
}

async fn list(view: View, prefix: &str, after: &str, limit: usize, most_bytes: usize) -> Result<Output, Error> {
    let mut notes = Vec::new();
    let mut after = after.to_owned();
    // A page of records may hold few notes under the prefix, or few that are live: go on until there are enough.
    loop {
        let (found, end) = next_records(&view, prefix, &after, limit + 1 - notes.len()).await?;
        notes.extend(found.into_iter().filter(|record| record.kind == Kind::Note));
        match end {
            Some(end) if notes.len() <= limit => after = end,
            _ => break,
        }
    }
    let mut more = notes.len() > limit;
    notes.truncate(limit);
    let mut notes: Vec<Listed> = notes.into_iter().map(listed).collect();
    let fitting = fitting(&notes, most_bytes);
    more |= fitting < notes.len();
    notes.truncate(fitting);
    let cursor = match notes.last() {
        Some(last) if more => cursor::encode(&Cursor { generation: view.generation(), after: last.path.clone() }),
        _ => None,
    };
    Ok(Output { notes, cursor })
}

/// The live records under `prefix` and after `after`, in path order, from one wave of pages that hold at least `count` records, and the
/// path up to which they are complete; none if there are no more.
async fn next_records(
    view: &View,
    prefix: &str,
    after: &str,
    count: usize,
) -> Result<(Vec<Record>, Option<String>), Error> {
    let snapshot = view.snapshot();
    let start = if after < prefix { prefix } else { after };
    let mut wave = Wave::default();
    let mut pages = Vec::new();
    for (segment, entry) in snapshot.segments().iter().enumerate() {
        let first = entry.layout.record_page(start)?.map_or(0, |(_, first)| first);
        let from = entry.layout.record_pages()?.into_iter().filter(|(_, documents)| documents.start >= first);
        let mut held = 0;
        let mut complete = true;
        let mut slots = Vec::new();
        for (page, documents) in from {
            // The first page may hold only documents before the start.
            if held > count as u32 && slots.len() > 1 {
                complete = false;
                break;
            }
            held += documents.end - documents.start;
            slots.push((wave.add(segment, page), documents.start));
        }
        pages.push((segment, slots, complete));
    }
    let fetched = wave.fetch(snapshot).await?;
    let mut records = Vec::new();
    let mut end: Option<String> = None;
    for (segment, slots, complete) in pages {
        let mut last = None;
        for (slot, first) in slots {
            let page = fetched.get(slot)?;
            let page = page.record_page()?;
            for index in 0..page.len() {
                let record = page.get(index)?;
                last = Some(record.path.clone());
                let under = record.path.starts_with(prefix) && record.path.as_str() > after;
                if under && view.shows(segment, first.saturating_add(index as u32), || Some(&record.path)) {
                    records.push(record);
                }
            }
        }
        if !complete && last.as_deref().is_some_and(|last| last.starts_with(prefix) || last < prefix) {
            end = match (end, last) {
                (Some(end), Some(last)) => Some(end.min(last)),
                (end, last) => end.or(last),
            };
        }
    }
    if let Some(end) = &end {
        records.retain(|record| record.path <= *end);
    }
    records.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok((records, end))
}

fn listed(record: Record) -> Listed {
    Listed {
        path: record.path,
        bytes: record.bytes,
        sha256: record.sha256.iter().map(|byte| format!("{byte:02x}")).collect(),
        modified: Timestamp::from_millisecond(record.modified_ms).unwrap_or(Timestamp::UNIX_EPOCH),
    }
}
