//! `find`: where is it, as the Atlas Local Bridge specification has it: notes whose file name, then
//! whose heading, then whose text holds the term, whatever its case. One result a note, best class first, then path.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use atlas_mirror::Snapshot;
use atlas_segment::Probe;
use atlas_segment::headings::Heading;
use atlas_vault::fold;
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{self, Bounded, Text};
use crate::bridge_paths::{BridgePaths, SEARCH_NOTES};
use crate::error::Error;
use crate::excerpt::{Lines, first_line_holding};
use crate::index::{Blocks, DocumentRef, Index, Want};
use crate::operation::{Answer, Context, Info, Operation, Scope};

/// The operation.
pub struct Find;

/// What to look for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FindRequest")]
pub struct Arguments {
    /// The text to find, in file names, headings and text, whatever its case.
    term: Text<512>,
    /// Most results to return.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Bounded<1, 50>")]
    max_results: Option<Bounded<1, 50>>,
}

/// Where it is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FindResponse")]
pub struct Output {
    /// The term looked for.
    term: String,
    /// The results, best first.
    results: Vec<Found>,
}

/// One note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// Its path.
    path: String,
    /// The heading that matches or is nearest above the match, as `#anchor`; null if there is none.
    anchor: Option<String>,
    /// The line that matches and a line on either side; null if only the file name matches.
    quote: Option<String>,
}

impl Operation for Find {
    const INFO: Info = Info {
        name: "find",
        title: "Find",
        description: "Finds the notes whose file name, heading or text holds a term, whatever its case: file names first, then headings, then text. Returns paths with the nearest heading and an exact quote.",
        scopes: &[Scope::ReadVault],
        destructive: false,
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let most = arguments.max_results.map_or(context.limits.max_results, Bounded::get);
        let folded = fold::fold(arguments.term.as_str());
        let folded = folded.as_bytes();
        let answer = context.read(|snapshot| find(snapshot, folded, most)).await?;
        let output = Output { term: arguments.term.as_str().to_owned(), results: answer.value };
        Ok(Answer { value: output, generation: answer.generation })
    }
}

/// Trigrams looked up in one segment: about twelve pages in all, so that a cold call stays within its requests.
fn trigrams_per_segment(segments: usize) -> usize {
    (12 / segments.max(1)).clamp(2, 8)
}

/// Most text looked through for matches that the index only allows for.
const MAX_SCANNED_BYTES: usize = 256 << 20;
/// Blocks of text fetched in the first wave, about.
const FIRST_BLOCKS: usize = 24;
/// Most notes looked through after one wave.
const MAX_BATCH: usize = 256;

async fn find(snapshot: Arc<Snapshot>, folded: &[u8], most: usize) -> Result<Vec<Found>, Error> {
    let probe = Probe::new(folded, trigrams_per_segment(snapshot.segments().len()));
    let index = Index::fetch(snapshot, Want { names_and_headings: true, probe: Some(&probe), records: &[] }).await?;
    let scope = Scopes::of(&index)?;

    let mut hits = by_name(&index, &scope, folded, most)?;
    if hits.len() < most {
        let more = by_heading(&index, &scope, folded, most, &hits)?;
        hits.extend(more);
        hits.truncate(most);
    }
    let mut candidates = Merge::new(&index);
    if hits.len() < most {
        for segment in index.segments() {
            let mut documents = index.candidates(segment, &probe)?;
            documents.retain(|document| !hits.iter().any(|hit| hit.segment == segment && hit.document == *document));
            candidates.add(segment, documents);
        }
    }

    let mut results = Vec::with_capacity(most);
    let mut buffer = Vec::new();
    // The texts of the hits and of the first candidates are one wave. Not all candidates match, so more are
    // fetched than are missing, as long as that takes few blocks.
    let mut certain = hits.len();
    let mut batch = hits;
    let mut most_blocks = FIRST_BLOCKS;
    let mut scanned = 0;
    loop {
        let mut blocks = Blocks::new(&index);
        for document in &batch {
            blocks.want(*document)?;
        }
        while batch.len() < most || (blocks.len() < most_blocks && batch.len() < MAX_BATCH) {
            let Some(document) = candidates.next()? else { break };
            if scope.holds(&index, document)? {
                blocks.want(document)?;
                batch.push(document);
            }
        }
        if batch.is_empty() || scanned >= MAX_SCANNED_BYTES {
            return Ok(results);
        }
        let blocks = blocks.fetch().await?;
        for document in batch.drain(..) {
            let text = blocks.text(document)?;
            let is_hit = certain > 0;
            certain = certain.saturating_sub(1);
            scanned += text.len();
            let found = describe(&index, document, &text, folded, &mut buffer)?;
            if is_hit || found.quote.is_some() {
                results.push(found);
            }
            if results.len() == most {
                return Ok(results);
            }
        }
        most_blocks *= 2;
    }
}

/// The anchor and quote of the best match in a note.
fn describe(
    index: &Index,
    document: DocumentRef,
    text: &Bytes,
    folded: &[u8],
    buffer: &mut Vec<u8>,
) -> Result<Found, Error> {
    let headings = index.headings(document.segment)?;
    let matching = headings.of(document.document).find(|heading| {
        is_ranked(heading) && memchr::memmem::find(fold::fold(heading.text).as_bytes(), folded).is_some()
    });
    let (line, heading) = match matching {
        Some(heading) => (Some(heading.line as usize), Some(heading)),
        None => {
            let line = first_line_holding(text, folded, buffer);
            let nearest = line.and_then(|line| {
                headings.of(document.document).take_while(|heading| heading.line as usize <= line).last()
            });
            (line, nearest)
        }
    };
    Ok(Found {
        path: index.path(document)?,
        anchor: heading.map(|heading| atlas_vault::anchor(heading.text)),
        quote: line.map(|line| Lines::new(text).around(line, folded)),
    })
}

/// The specification ranks `#`, `##` and `###`; deeper headings count as text.
const fn is_ranked(heading: &Heading<'_>) -> bool {
    heading.level <= 3
}

fn by_name(index: &Index, scope: &Scopes, folded: &[u8], most: usize) -> Result<Vec<DocumentRef>, Error> {
    let mut merge = Merge::new(index);
    for segment in index.segments() {
        let mut documents = Vec::new();
        for document in index.names(segment)?.holding(folded) {
            if scope.holds(index, DocumentRef { segment, document })? {
                documents.push(document);
                if documents.len() == most {
                    break;
                }
            }
        }
        merge.add(segment, documents);
    }
    merge.take(most)
}

fn by_heading(
    index: &Index,
    scope: &Scopes,
    folded: &[u8],
    most: usize,
    named: &[DocumentRef],
) -> Result<Vec<DocumentRef>, Error> {
    let mut merge = Merge::new(index);
    for segment in index.segments() {
        let mut documents: Vec<u32> = Vec::new();
        for heading in index.headings(segment)?.holding(folded).filter(is_ranked) {
            let document = DocumentRef { segment, document: heading.document };
            if documents.last() != Some(&heading.document)
                && !named.contains(&document)
                && scope.holds(index, document)?
            {
                documents.push(heading.document);
                if documents.len() == most {
                    break;
                }
            }
        }
        merge.add(segment, documents);
    }
    merge.take(most)
}

/// Which documents the specification has `find` look at: notes under `vault/`, everything with text under `agent/`, and YAML and JSON files at the root.
struct Scopes {
    segments: Vec<Ranges>,
    search_notes: Option<DocumentRef>,
}

/// Ids of one segment.
struct Ranges {
    vault: std::ops::Range<u32>,
    agent: std::ops::Range<u32>,
}

impl Scopes {
    fn of(index: &Index) -> Result<Self, Error> {
        let paths = BridgePaths::of(index)?;
        let mut segments = Vec::new();
        for segment in index.segments() {
            let fst = index.paths(segment)?;
            segments.push(Ranges { vault: fst.with_prefix(paths.folder()), agent: fst.with_prefix("agent/") });
        }
        Ok(Self { segments, search_notes: index.find(paths.resolve(SEARCH_NOTES))? })
    }

    /// Whether a live document is within scope.
    fn holds(&self, index: &Index, document: DocumentRef) -> Result<bool, Error> {
        let (Some(ranges), Some(name)) =
            (self.segments.get(document.segment), index.names(document.segment)?.get(document.document))
        else {
            return Ok(false);
        };
        if !index.is_live(document) || self.search_notes == Some(document) {
            return Ok(false);
        }
        if ranges.vault.contains(&document.document) && name.ends_with(b".md") {
            return Ok(true);
        }
        if ranges.agent.contains(&document.document) {
            return Ok(index.span(document)?.length > 0);
        }
        let is_root_data = name.ends_with(b".yml") || name.ends_with(b".json");
        Ok(is_root_data && !index.path(document)?.contains('/'))
    }
}

/// Documents of several segments in path order. Ids are in path order within a segment, so that only the
/// paths of the next one of each segment are ever looked at, and none where there is one segment.
struct Merge<'a> {
    index: &'a Index,
    segments: Vec<(usize, std::vec::IntoIter<u32>)>,
    heads: BinaryHeap<Reverse<(String, usize, DocumentRef)>>,
    begun: bool,
}

impl<'a> Merge<'a> {
    const fn new(index: &'a Index) -> Self {
        Self { index, segments: Vec::new(), heads: BinaryHeap::new(), begun: false }
    }

    fn add(&mut self, segment: usize, documents: Vec<u32>) {
        if !documents.is_empty() {
            self.segments.push((segment, documents.into_iter()));
        }
    }

    fn next(&mut self) -> Result<Option<DocumentRef>, Error> {
        if let [(segment, documents)] = self.segments.as_mut_slice() {
            return Ok(documents.next().map(|document| DocumentRef { segment: *segment, document }));
        }
        if !self.begun {
            self.begun = true;
            for list in 0..self.segments.len() {
                self.advance(list)?;
            }
        }
        let Some(Reverse((_, list, document))) = self.heads.pop() else {
            return Ok(None);
        };
        self.advance(list)?;
        Ok(Some(document))
    }

    fn advance(&mut self, list: usize) -> Result<(), Error> {
        if let Some((segment, documents)) = self.segments.get_mut(list)
            && let Some(document) = documents.next()
        {
            let document = DocumentRef { segment: *segment, document };
            self.heads.push(Reverse((self.index.path(document)?, list, document)));
        }
        Ok(())
    }

    fn take(mut self, most: usize) -> Result<Vec<DocumentRef>, Error> {
        let mut documents = Vec::new();
        while documents.len() < most
            && let Some(document) = self.next()?
        {
            documents.push(document);
        }
        Ok(documents)
    }
}
