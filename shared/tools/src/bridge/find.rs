//! `find`: finds notes by the Atlas Local Bridge specification: those whose file name, then whose heading, then whose
//! text contains the term, whatever its case. One result per note, best class first, then by path.

use atlas_mirror::Snapshot;
use atlas_mirror::manifest::SegmentEntry;
use atlas_ops::arguments::{Bounded, Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::excerpt::{TextLines, first_line_holding};
use atlas_ops::read::index::{Blocks, DocumentRef, FetchedBlocks, Index, Want};
use atlas_ops::read::merge::Merge;
use atlas_ops::read::passages::Passages;
use atlas_ops::read::view::View;
use atlas_segment::headings::Heading;
use atlas_segment::{Probe, SectionName};
use atlas_vault::fold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bridge::found::FoundTerm;
use crate::bridge::paths::{BridgePaths, SEARCH_NOTES};
use crate::bridge::search_notes;

/// Finds the notes whose file name, heading or text contains a term, whatever its case.
pub struct Find;

/// The search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The text to find, in file names, headings and text, whatever its case.
    term: Text<512>,
    /// Most results to return.
    #[serde(default)]
    max_results: Given<Bounded<1, 50>>,
}

/// The results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The term looked for.
    term: String,
    /// The results, best first.
    results: Vec<FoundTerm>,
    /// Why there may be more results; absent if these are all, or as many as were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<&'static str>,
}

impl Operation for Find {
    const INFO: Info = Info {
        name: "find",
        title: "Find",
        description: "Finds the notes whose file name, heading or text contains a term, in any case: file names first, then headings, then text. Returns paths with the nearest heading and an exact quote. For notes ranked by words take search. Example: {\"term\": \"backup\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let most = arguments.max_results.map_or(context.limits.max_results, Bounded::get);
        let folded = fold::fold(arguments.term.as_str());
        let folded = folded.as_bytes();
        let answer = context.read(|view| find(context, view, folded, most)).await?;
        let FoundTerms { paths, results, partial } = answer.value;
        let output = Output { term: arguments.term.as_str().to_owned(), results, partial };
        // Read-only callers must not trigger the write, and one caller's results must not be shown to others who may
        // see less.
        let scopes = context.caller.scopes();
        let sees_all = scopes.folders().is_none() && !context.vault.acl().tells_callers_apart();
        let may_leave = scopes.holds(Scope::WriteVault) && sees_all;
        if context.limits.search_notes && may_leave {
            search_notes::leave(context, &Self::INFO, paths, &output.term, &output.results).await;
        }
        Ok(Answer { value: output, generation: answer.generation })
    }
}

/// Grams looked up in one segment: about eight pages in all segments with many pages, so that a cold call stays within
/// its requests. All pages of a small segment come with one or two requests.
fn grams_per_segment(snapshot: &Snapshot) -> usize {
    let is_large =
        |entry: &&SegmentEntry| entry.layout.section(SectionName::Grams).is_ok_and(|grams| grams.length > FEW_GRAMS);
    let large = snapshot.segments().iter().filter(is_large);
    (8 / large.count().max(1)).clamp(2, 7)
}

/// Bytes of the grams of a small segment: about eight pages.
const FEW_GRAMS: u64 = 128_000;

/// Most bytes of text that are read for matches that the index cannot exclude.
const MAX_SCANNED_BYTES: u64 = 256 << 20;
const TOO_MUCH: &str = "256 MiB of texts were read, and others may contain the term too: use a longer one";
/// Bytes fetched to look for matches in the first wave, in thousandths of the vault's text.
const WAVE_SHARE: u64 = 25;
const WAVE_BYTES: std::ops::RangeInclusive<u64> = 256 << 10..=4 << 20;

/// The results, and the mapping of the specification's paths.
struct FoundTerms {
    paths: BridgePaths,
    results: Vec<FoundTerm>,
    partial: Option<&'static str>,
}

async fn find(context: &Context<'_>, view: View, folded: &[u8], most: usize) -> Result<FoundTerms, Error> {
    let probe = Probe::new(folded, grams_per_segment(view.snapshot()));
    let text_bytes = view.snapshot().manifest().totals.text_bytes;
    let index = Index::fetch(
        view,
        Want { names: true, headings: true, probes: std::slice::from_ref(&probe), ..Want::default() },
    )
    .await?;
    let scope = Scopes::of(&index)?;
    let chunks = index.segments().map(|segment| index.candidates(segment, &probe).map(Some));
    let passages = Passages::of(&index, chunks.collect::<Result<_, _>>()?)?;

    let mut hits = by_name(&index, &scope, folded, most)?;
    if hits.len() < most {
        let more = by_heading(&index, &scope, folded, most, &hits)?;
        hits.extend(more);
        hits.truncate(most);
    }
    let mut candidates = Merge::new(&index);
    if hits.len() < most {
        for segment in index.segments() {
            candidates.add(segment, passages.documents(segment)?);
        }
    }

    let mut results = Vec::with_capacity(most);
    let mut buffer = Vec::new();
    let mut scanned = 0;
    // The texts of the hits and of the first candidates are one wave. Not all candidates match, so more are fetched
    // than are missing, if that is little.
    let mut batch = Vec::new();
    for document in &hits {
        batch.push(Candidate::hit(&index, &passages, *document, folded)?);
    }
    let mut waiting = None;
    let mut most_bytes = (text_bytes * WAVE_SHARE / 1000).clamp(*WAVE_BYTES.start(), *WAVE_BYTES.end());
    loop {
        let mut blocks = Blocks::new(&index);
        for candidate in &batch {
            candidate.want(&index, &mut blocks)?;
        }
        loop {
            let enough = results.len() + batch.len() >= most;
            // Cached texts are read first.
            if enough && blocks.cost()? == 0 {
                break;
            }
            let candidate = match waiting.take() {
                Some(candidate) => candidate,
                None => match candidates.pop()? {
                    Some(document) if hits.contains(&document) || !scope.holds(&index, document)? => continue,
                    Some(document) => Candidate::allowed(&passages, document)?,
                    None => break,
                },
            };
            let before = blocks.count();
            candidate.want(&index, &mut blocks)?;
            if enough && blocks.cost()? > most_bytes {
                blocks.truncate(before);
                waiting = Some(candidate);
                break;
            }
            batch.push(candidate);
        }
        if batch.is_empty() {
            return Ok(FoundTerms { paths: scope.paths, results, partial: None });
        }
        if scanned >= MAX_SCANNED_BYTES {
            return Ok(FoundTerms { paths: scope.paths, results, partial: Some(TOO_MUCH) });
        }
        context.work.check()?;
        if blocks.cost()? > 0 {
            most_bytes *= 2;
        }
        let blocks = blocks.fetch().await?;
        for candidate in batch.drain(..) {
            if let Some(found) = candidate.look(&index, &blocks, folded, &mut buffer, &mut scanned)? {
                results.push(found);
            }
            if results.len() == most {
                return Ok(FoundTerms { paths: scope.paths, results, partial: None });
            }
        }
    }
}

/// A note that may match.
struct Candidate<'a> {
    document: DocumentRef,
    /// Whether its name or a heading contains the term.
    is_hit: bool,
    /// The matching heading.
    heading: Option<Heading<'a>>,
    /// Its chunks to read: the heading's, or those that may contain the term.
    chunks: Vec<u32>,
}

impl<'a> Candidate<'a> {
    fn hit(index: &'a Index, passages: &Passages<'_>, document: DocumentRef, folded: &[u8]) -> Result<Self, Error> {
        let holds = |text: &str| memchr::memmem::find(fold::fold(text).as_bytes(), folded).is_some();
        let heading = index
            .headings(document.segment)?
            .of(document.document)
            .find(|heading| is_ranked(heading) && holds(&heading.text));
        let chunks = match &heading {
            Some(heading) => {
                index.chunks(document.segment)?.holding(document.document, heading.line).into_iter().collect()
            }
            None => passages.of_document(document)?,
        };
        Ok(Self { document, is_hit: true, heading, chunks })
    }

    fn allowed(passages: &Passages<'_>, document: DocumentRef) -> Result<Self, Error> {
        Ok(Self { document, is_hit: false, heading: None, chunks: passages.of_document(document)? })
    }

    /// The range of a chunk and its neighbours, which may contain the neighbouring lines.
    fn surroundings(&self, index: &Index, chunk: u32) -> Result<std::ops::Range<u32>, Error> {
        let all = index.chunks(self.document.segment)?.of(self.document.document).unwrap_or_default();
        Ok(chunk.saturating_sub(1).max(all.start)..chunk.saturating_add(2).min(all.end))
    }

    fn want(&self, index: &Index, blocks: &mut Blocks<'_>) -> Result<(), Error> {
        let table = index.chunks(self.document.segment)?;
        for chunk in &self.chunks {
            let span = table.span(self.document.document, self.surroundings(index, *chunk)?);
            blocks.want(self.document.segment, span.unwrap_or_default())?;
        }
        Ok(())
    }

    /// The anchor and quote of its best match; [`None`] if nothing matches.
    fn look(
        &self,
        index: &Index,
        blocks: &FetchedBlocks<'_>,
        folded: &[u8],
        buffer: &mut Vec<u8>,
        scanned: &mut u64,
    ) -> Result<Option<FoundTerm>, Error> {
        let segment = self.document.segment;
        let table = index.chunks(segment)?;
        let document = self.document.document;
        let text = |chunks| blocks.text(segment, table.span(document, chunks).unwrap_or_default());
        let first_line = |chunk| table.first_line(document, chunk).unwrap_or_default() as usize;
        let mut place = None;
        for chunk in self.chunks.iter().copied() {
            let line = match &self.heading {
                Some(heading) => Some(heading.line as usize),
                None => {
                    let text = text(chunk..chunk + 1)?;
                    *scanned += text.len() as u64;
                    first_line_holding(&text, folded, buffer).map(|line| first_line(chunk) + line)
                }
            };
            if let Some(line) = line {
                place = Some((chunk, line));
                break;
            }
        }
        if place.is_none() && !self.is_hit {
            return Ok(None);
        }
        let headings = index.headings(segment)?;
        let nearest = |line| headings.of(document).take_while(|heading| heading.line as usize <= line).last();
        let heading = self.heading.clone().or_else(|| place.and_then(|(_, line)| nearest(line)));
        let quote = match place {
            Some((chunk, line)) => {
                let around = self.surroundings(index, chunk)?;
                Some(TextLines::new(&text(around.clone())?).around(line - first_line(around.start), folded))
            }
            None => None,
        };
        let anchor = heading.map(|heading| atlas_vault::anchor(&heading.text));
        Ok(Some(FoundTerm { path: index.path(self.document)?, anchor, quote }))
    }
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

/// The documents that the specification has `find` search: notes under `vault/`, all text under `agent/`, and YAML and
/// JSON files at the root.
struct Scopes {
    paths: BridgePaths,
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
        Ok(Self { paths, segments, search_notes: index.find(paths.resolve(SEARCH_NOTES))? })
    }

    /// Whether a live document is within scope.
    fn holds(&self, index: &Index, document: DocumentRef) -> Result<bool, Error> {
        let (Some(ranges), Some(name)) =
            (self.segments.get(document.segment), index.names(document.segment)?.get(document.document))
        else {
            return Ok(false);
        };
        if !index.shows(document) || self.search_notes == Some(document) {
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
