//! Pages of lines that match, in order of path and line.

use std::ops::Range;
use std::sync::Arc;

use atlas_mirror::Snapshot;
use serde::{Deserialize, Serialize};

use crate::atlas::Limits;
use crate::cursor;
use crate::error::Error;
use crate::excerpt::{Lines, cut_at};
use crate::index::{Blocks, DocumentRef, FetchedBlocks, Index, Want};
use crate::merge::Merge;
use crate::operation::Deadline;
use crate::passages::Passages;
use crate::search::filter::Filter;
use crate::search::pattern::{Pattern, Searchers};
use crate::search::plan::Plan;
use crate::search::{Explained, Found, Line, Output, TOO_LONG, TOO_MUCH};

/// Bytes fetched in the first wave, about; each later one may be twice as large, up to the last of these.
const WAVE_BYTES: Range<u64> = 4 << 20..32 << 20;
/// Most files looked through after one wave.
const MAX_BATCH: usize = 1024;
/// Chunks looked through before the clock is.
const RUN_CHUNKS: u32 = 128;
/// Most bytes of a line that matched, and of one beside it.
const MATCH_BYTES: usize = 1_200;
const BESIDE_BYTES: usize = 400;

/// What to look for.
pub(crate) struct Request<'a> {
    pub(crate) pattern: Pattern,
    pub(crate) plan: Plan,
    pub(crate) filter: Option<Filter>,
    pub(crate) context_lines: usize,
    pub(crate) limit: usize,
    pub(crate) explain: bool,
    /// Of the arguments that make the listing.
    pub(crate) of: u32,
    pub(crate) limits: &'a Limits,
    pub(crate) deadline: Deadline,
}

/// Where a page begins: after this line of this file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Cursor {
    pub(crate) generation: u64,
    pub(crate) of: u32,
    path: String,
    line: u64,
}

/// The page after `cursor`, or the first.
pub(crate) async fn page(
    snapshot: Arc<Snapshot>,
    request: &Request<'_>,
    cursor: Option<&Cursor>,
) -> Result<Output, Error> {
    let generation = snapshot.generation();
    let probes = request.plan.probes(snapshot.segments().len());
    let index = Index::fetch(snapshot, Want { probes: &probes, ..Want::default() }).await?;
    let mut chunks = Vec::new();
    for segment in index.segments() {
        chunks.push(request.plan.chunks(&index, segment, &mut probes.iter().cloned())?);
    }
    let is_scan = chunks.iter().any(Option::is_none);
    let passages = Passages::of(&index, chunks)?;
    let mut candidates = Merge::new(&index);
    for segment in index.segments() {
        candidates.add(segment, passages.documents(segment)?);
    }

    let mut page = Page {
        request,
        cursor,
        searchers: Searchers::new(),
        results: Vec::new(),
        last: None,
        files: 0,
        bytes: 0,
        partial: None,
    };
    let mut waiting = None;
    let mut most_bytes = WAVE_BYTES.start;
    while !page.is_full() && page.partial.is_none() {
        let mut blocks = Blocks::new(&index);
        let mut batch = Vec::new();
        while batch.len() < MAX_BATCH {
            let candidate = match waiting.take() {
                Some(candidate) => candidate,
                None => match candidates.next()? {
                    Some(document) => match page.candidate(&index, &passages, document)? {
                        Some(candidate) => candidate,
                        None => continue,
                    },
                    None => break,
                },
            };
            let before = blocks.len();
            candidate.want(&index, &mut blocks)?;
            if !batch.is_empty() && blocks.len() > before && blocks.cost()? > most_bytes {
                blocks.truncate(before);
                waiting = Some(candidate);
                break;
            }
            batch.push(candidate);
        }
        if batch.is_empty() {
            break;
        }
        if page.bytes >= request.limits.max_scanned_bytes {
            page.partial = Some(TOO_MUCH);
            break;
        }
        if blocks.cost()? > 0 {
            most_bytes = (most_bytes * 2).min(WAVE_BYTES.end);
        }
        let blocks = blocks.fetch().await?;
        for candidate in batch {
            if page.is_full() || page.partial.is_some() {
                break;
            }
            page.look(&index, &blocks, &candidate)?;
        }
    }
    Ok(page.finish(generation, is_scan))
}

/// A file that may hold matches.
struct Candidate {
    document: DocumentRef,
    path: String,
    /// The chunks to look at that follow each other; none for all of the text.
    runs: Option<Vec<Range<u32>>>,
}

impl Candidate {
    fn want(&self, index: &Index, blocks: &mut Blocks<'_>) -> Result<(), Error> {
        let DocumentRef { segment, document } = self.document;
        match &self.runs {
            None => blocks.want(segment, index.span(self.document)?)?,
            Some(runs) => {
                for run in runs {
                    let span = index.chunks(segment)?.span(document, run.clone());
                    blocks.want(segment, span.unwrap_or_default())?;
                }
            }
        }
        Ok(())
    }
}

/// Joins chunks that follow each other, up to so many as may be looked at without a look at the clock.
fn runs(chunks: Vec<u32>) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for chunk in chunks {
        match runs.last_mut() {
            Some(run) if run.end == chunk && run.end - run.start < RUN_CHUNKS => run.end += 1,
            _ => runs.push(chunk..chunk + 1),
        }
    }
    runs
}

/// A page of matches.
struct Page<'a> {
    request: &'a Request<'a>,
    cursor: Option<&'a Cursor>,
    searchers: Searchers,
    results: Vec<Line>,
    /// The file and line up to which all was looked at.
    last: Option<(String, u64)>,
    files: usize,
    bytes: u64,
    partial: Option<&'static str>,
}

impl Page<'_> {
    /// Whether there is a match more than the page holds, which tells that there is a next page.
    fn is_full(&self) -> bool {
        self.results.len() > self.request.limit
    }

    /// What to look at of a document, if it is live, has text, and comes into question.
    fn candidate(
        &self,
        index: &Index,
        passages: &Passages<'_>,
        document: DocumentRef,
    ) -> Result<Option<Candidate>, Error> {
        if !index.is_live(document) {
            return Ok(None);
        }
        let path = index.path(document)?;
        let is_before = |cursor: &Cursor| path < cursor.path || path == cursor.path && cursor.line == u64::MAX;
        if self.cursor.is_some_and(is_before) || !Filter::takes(self.request.filter.as_ref(), &path) {
            return Ok(None);
        }
        let is_whole = self.request.context_lines > 0 || index.chunks(document.segment)?.is_whole(document.document);
        let runs = if is_whole { None } else { Some(runs(passages.of_document(document)?)) };
        Ok(Some(Candidate { document, path, runs }))
    }

    /// Adds the matches of a file, one more than the page holds at most.
    fn look(&mut self, index: &Index, blocks: &FetchedBlocks<'_>, candidate: &Candidate) -> Result<(), Error> {
        let DocumentRef { segment, document } = candidate.document;
        self.files += 1;
        let after = self.cursor.filter(|cursor| cursor.path == candidate.path).map_or(0, |cursor| cursor.line);
        match &candidate.runs {
            None => {
                let text = blocks.text(segment, index.span(candidate.document)?)?;
                self.look_at(&candidate.path, &text, None, after)?;
            }
            Some(runs) => {
                let table = index.chunks(segment)?;
                let lines_before = |chunk| table.first_line(document, chunk).map_or(u64::MAX, u64::from);
                let all = table.of(document).unwrap_or_default();
                for run in runs {
                    let first = lines_before(run.start);
                    let end = if run.end < all.end { lines_before(run.end) } else { u64::MAX };
                    if end <= after {
                        continue;
                    }
                    let text = blocks.text(segment, table.span(document, run.clone()).unwrap_or_default())?;
                    self.look_at(&candidate.path, &text, Some(first), after)?;
                    if self.is_full() {
                        return Ok(());
                    }
                    if self.is_late() {
                        self.last = Some((candidate.path.clone(), end));
                        return Ok(());
                    }
                }
            }
        }
        self.last = Some((candidate.path.clone(), u64::MAX));
        self.is_late();
        Ok(())
    }

    /// Whether the time is up; the page is partial then.
    fn is_late(&mut self) -> bool {
        if self.request.deadline.has_passed() {
            self.partial = Some(TOO_LONG);
        }
        self.partial.is_some()
    }

    /// Adds the matches of a text: lines of a file from line `first` on, or all of it.
    fn look_at(&mut self, path: &str, text: &[u8], first: Option<u64>, after: u64) -> Result<(), Error> {
        let Self { request, .. } = self;
        self.bytes += text.len() as u64;
        let room = (request.limit + 1).saturating_sub(self.results.len());
        let lines = request.pattern.lines(&mut self.searchers, text, first, after, room)?;
        let beside = if request.context_lines > 0 && !lines.is_empty() { Some(Lines::new(text)) } else { None };
        for line in lines {
            let number = line.number as usize;
            let range = |from: usize, to: usize| -> Vec<String> {
                let lines = beside.iter().flat_map(|lines| (from..to).filter_map(|line| lines.get(line)));
                lines.map(|line| cut_at(line, 0, BESIDE_BYTES)).collect()
            };
            self.results.push(Line {
                path: path.to_owned(),
                line: line.number,
                text: cut_at(line.bytes.strip_suffix(b"\r").unwrap_or(&line.bytes), line.at, MATCH_BYTES),
                before: range((number - 1).saturating_sub(request.context_lines), number - 1),
                after: range(number, number + request.context_lines),
            });
        }
        Ok(())
    }

    fn finish(mut self, generation: u64, is_scan: bool) -> Output {
        let is_full = self.is_full();
        self.results.truncate(self.request.limit);
        let last = match self.results.last() {
            Some(last) if is_full => Some((last.path.clone(), last.line)),
            _ => self.last.filter(|_| self.partial.is_some()),
        };
        let of = self.request.of;
        let cursor = last.and_then(|(path, line)| cursor::encode(&Cursor { generation, of, path, line }));
        let kind = if is_scan { "scan" } else { "index" };
        Output {
            results: self.results.into_iter().map(Found::Line).collect(),
            cursor,
            partial: self.partial.filter(|_| !is_full),
            corrections: Vec::new(),
            plan: self.request.explain.then_some(Explained { kind, files: self.files, bytes: self.bytes }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_follow_each_other_are_looked_at_together() {
        assert_eq!(runs(vec![1, 2, 3, 7, 9, 10]), [1..4, 7..8, 9..11]);
        assert_eq!(runs((0..300).collect()), [0..128, 128..256, 256..300]);
        assert!(runs(Vec::new()).is_empty());
    }
}
