//! A page of lines while it is filled: the results, and the progress of the search.

use std::ops::Range;

use atlas_ops::error::Error;
use atlas_ops::pipeline::response_limit::fitting;
use atlas_ops::read::cursor;
use atlas_ops::read::excerpt::cut_at;
use atlas_ops::read::index::{Blocks, DocumentRef, FetchedBlocks, Index};
use atlas_segment::TextSpan;

use crate::search::filter::Filter;
use crate::search::listing::TOO_LARGE;
use crate::search::pattern::Searchers;
use crate::search::regions::{Region, Regions};
use crate::search::request::{Cursor, Request};
use crate::search::surroundings;
use crate::search::{Explained, Line, MatchPlace, Output, SearchResult};

/// Chunks of the first region of a vault.
const FIRST_CHUNKS: u32 = 16;
/// The bytes within which a page must fill, else the index is used.
const FILLED_WITHIN: u64 = 16 << 20;
/// Most bytes of a matching line.
const MATCH_BYTES: usize = 1_200;

/// The first document and chunk of `segment` to search for a page.
fn begin(index: &Index, segment: usize, after: Option<(&str, u64)>) -> Result<(u32, u32), Error> {
    let Some((path, line)) = after else { return Ok((0, 0)) };
    let paths = index.paths(segment)?;
    let table = index.chunks(segment)?;
    let first = paths.first_from(path.as_bytes());
    let first_chunk = |document| table.of(document).unwrap_or_default().start;
    if paths.get(path) != Some(first) {
        return Ok((first, first_chunk(first)));
    }
    match u32::try_from(line).ok() {
        None => Ok((first.saturating_add(1), first_chunk(first.saturating_add(1)))),
        Some(_) if table.is_whole(first) => Ok((first, first_chunk(first))),
        Some(line) => Ok((first, table.holding(first, line).unwrap_or_else(|| first_chunk(first)))),
    }
}

/// A page of lines.
pub(crate) struct Page<'a> {
    request: &'a Request<'a>,
    cursor: Option<&'a Cursor>,
    /// [`None`] while they are used.
    searchers: Option<Searchers>,
    results: Vec<Line>,
    /// The documents of the results.
    documents: Vec<DocumentRef>,
    /// The file and line up to which all was searched.
    last: Option<(String, u64)>,
    /// The last document that was searched as a whole.
    whole: Option<DocumentRef>,
    files: usize,
    bytes: u64,
    pub(crate) partial: Option<&'static str>,
}

/// A piece of a region's text.
struct Piece<'a> {
    region: &'a Region,
    /// Its start in the segment's text.
    start: u32,
    text: &'a [u8],
}

/// The document of the current matches, and its lines counted so far.
struct Spot {
    document: u32,
    /// Its range in the segment's text.
    text: Range<u32>,
    /// [`None`] if it is not searched.
    path: Option<String>,
    /// A byte of the segment's text and the number of lines before it in the document.
    counted: (u32, u64),
}

impl<'a> Page<'a> {
    pub(crate) fn new(request: &'a Request<'a>, cursor: Option<&'a Cursor>) -> Self {
        Self {
            request,
            cursor,
            searchers: None,
            results: Vec::new(),
            documents: Vec::new(),
            last: cursor.map(|cursor| (cursor.path.clone(), cursor.line)),
            whole: None,
            files: 0,
            bytes: 0,
            partial: None,
        }
    }

    /// Whether there is one more match than the page needs, which shows that there is a next page.
    pub(crate) fn is_full(&self) -> bool {
        self.results.len() > self.request.listing.limit
    }

    pub(crate) fn is_done(&self) -> bool {
        self.is_full() || self.partial.is_some()
    }

    /// The limit that was reached, if any.
    pub(crate) fn limit(&self) -> Option<&'static str> {
        self.request.listing.reached(self.bytes, self.request.deadline)
    }

    /// The regions of these chunks after the searched ones.
    pub(crate) fn regions<'i>(
        &self,
        index: &'i Index,
        chunks: Vec<Option<Vec<u32>>>,
        most: u32,
    ) -> Result<Regions<'i>, Error> {
        let after = self.last.as_ref().map(|(path, line)| (path.as_str(), *line));
        Regions::new(index, chunks, most, |segment| begin(index, segment, after))
    }

    /// Searches cached text from the beginning, without the index, as long as the page fills fast enough: a pattern
    /// that is nearly everywhere takes longer to look up than to find.
    pub(crate) async fn look_at_beginning(&mut self, index: &Index) -> Result<(), Error> {
        let most = self.request.pattern.most_chunks().min(FIRST_CHUNKS);
        let mut regions = self.regions(index, index.segments().map(|_| None).collect(), most)?;
        while let Some(region) = regions.next()? {
            let mut blocks = Blocks::new(index);
            self.want(index, &region, &mut blocks)?;
            if blocks.cost()? > 0 {
                break;
            }
            self.look(index, &region, &blocks.fetch().await?)?;
            let expected = self.request.listing.limit as u64 * self.bytes / FILLED_WITHIN;
            if self.is_full() || (self.results.len() as u64) < expected.max(1) || self.limit().is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Adds the blocks that a region needs.
    pub(crate) fn want(&self, index: &Index, region: &Region, blocks: &mut Blocks<'_>) -> Result<(), Error> {
        let table = index.chunks(region.segment)?;
        blocks.want(region.segment, region.span)?;
        for document in table.whole(region.documents.clone()) {
            blocks.want(region.segment, table.text(document).unwrap_or_default())?;
        }
        Ok(())
    }

    /// The path of a document, if it is live and passes the filter.
    fn path(&self, index: &Index, document: DocumentRef) -> Result<Option<String>, Error> {
        if !index.shows(document) {
            return Ok(None);
        }
        Ok(Some(index.path(document)?).filter(|path| Filter::takes(self.request.listing.filter.as_ref(), path)))
    }

    /// Adds the matches of a region, until there is one more than the page needs.
    pub(crate) fn look(&mut self, index: &Index, region: &Region, blocks: &FetchedBlocks<'_>) -> Result<(), Error> {
        let table = index.chunks(region.segment)?;
        let mut start = region.span.start;
        let end = start + region.span.length;
        // By cached pieces: most blocks end with a document.
        for stop in index.text_blocks(region.segment)?.ends(region.span).chain([end]) {
            let last = stop.checked_sub(1).and_then(|last| table.text(table.document_at(last)?));
            if stop == end || last.is_some_and(|last| last.range().end == u64::from(stop)) {
                self.look_at_piece(index, region, start..stop, blocks)?;
                start = stop;
            }
            if self.is_full() {
                return Ok(());
            }
        }
        self.last = self.end_of(index, region)?;
        Ok(())
    }

    /// Adds the matches in `range` of a region, given in the segment's text.
    fn look_at_piece(
        &mut self,
        index: &Index,
        region: &Region,
        range: Range<u32>,
        blocks: &FetchedBlocks<'_>,
    ) -> Result<(), Error> {
        let table = index.chunks(region.segment)?;
        let span = TextSpan { start: range.start, length: range.end - range.start };
        let text = blocks.text(region.segment, span)?;
        let piece = Piece { region, start: range.start, text: &text };
        self.bytes += text.len() as u64;
        let mut from = range.start;
        let (Some(first), Some(last)) =
            (table.document_at(range.start), range.end.checked_sub(1).and_then(|last| table.document_at(last)))
        else {
            return Ok(());
        };
        for document in first..=last {
            let own = table.text(document).unwrap_or_default();
            let own_end = own.start + own.length;
            if own.length == 0 {
                continue;
            }
            self.files += usize::from(range.contains(&own.start));
            if table.is_whole(document) {
                self.look_at_lines(index, &piece, from..own.start.max(from))?;
                self.look_at_file(index, DocumentRef { segment: region.segment, document }, blocks)?;
                from = own_end.min(range.end);
            } else if own_end <= range.end && byte_before(&text, own_end - range.start) != Some(b'\n') {
                // Its last line does not continue in the next document.
                self.look_at_lines(index, &piece, from..own_end)?;
                from = own_end;
            }
            if self.is_full() {
                return Ok(());
            }
        }
        self.look_at_lines(index, &piece, from..range.end)
    }

    /// The end of a region, for a cursor.
    fn end_of(&self, index: &Index, region: &Region) -> Result<Option<(String, u64)>, Error> {
        let table = index.chunks(region.segment)?;
        let end = region.span.start + region.span.length;
        let Some(last) = end.checked_sub(1).and_then(|last| table.document_at(last)) else { return Ok(None) };
        // A cursor contains no hidden path; the region begins with a visible one.
        let is_shown = |document: &u32| index.shows(DocumentRef { segment: region.segment, document: *document });
        let Some(document) = (region.documents.start..=last).rev().find(is_shown) else { return Ok(None) };
        let text = table.text(document).unwrap_or_default();
        let line = if document < last || end >= text.start + text.length || table.is_whole(document) {
            u64::MAX
        } else {
            table.first_line(document, region.chunks.end).map_or(u64::MAX, u64::from)
        };
        let path = index.path(DocumentRef { segment: region.segment, document })?;
        Ok(Some((path, line)))
    }

    /// Adds the matches in `range` of a piece, given in the segment's text.
    fn look_at_lines(&mut self, index: &Index, piece: &Piece<'_>, range: Range<u32>) -> Result<(), Error> {
        let region = piece.region;
        let base = range.start;
        let offset = |at: u32| at.saturating_sub(piece.start) as usize;
        let slice = piece.text.get(offset(range.start)..offset(range.end)).filter(|slice| !slice.is_empty());
        let Some(slice) = slice else { return Ok(()) };
        let mut searchers = self.searchers.take().unwrap_or_default();
        let mut place: Option<Spot> = None;
        let mut fault = None;
        let searched = self.request.pattern.lines(&mut searchers, slice, |found| {
            let at = base.saturating_add(found.offset as u32);
            let found = self.place(index, &mut place, piece, at).map(|place| {
                let (counted, lines) = place.counted;
                let between = slice.get(counted.saturating_sub(base) as usize..found.offset).unwrap_or_default();
                let lines = lines + memchr::memchr_iter(b'\n', between).count() as u64;
                place.counted = (at, lines);
                if let Some(path) = &place.path {
                    let document = DocumentRef { segment: region.segment, document: place.document };
                    self.add(document, path, lines + 1, found.bytes);
                }
            });
            fault = found.err();
            fault.is_none() && !self.is_full()
        });
        self.searchers = Some(searchers);
        fault.map_or(searched, Err)
    }

    /// The position of byte `at` of the segment's text, after `place`, the previous match.
    fn place<'p>(
        &self,
        index: &Index,
        place: &'p mut Option<Spot>,
        piece: &Piece<'_>,
        at: u32,
    ) -> Result<&'p mut Spot, Error> {
        if let Some(old) = place.take_if(|old| old.text.contains(&at)) {
            return Ok(place.insert(old));
        }
        let region = piece.region;
        let table = index.chunks(region.segment)?;
        let document = table.document_at(at).unwrap_or(u32::MAX);
        let text = table.text(document).unwrap_or_default();
        // A piece that begins within a document is the first of its region.
        let counted = if text.start >= piece.start {
            (text.start, 0)
        } else {
            (piece.start, u64::from(table.first_line(document, region.chunks.start).unwrap_or_default()))
        };
        let path = self.path(index, DocumentRef { segment: region.segment, document })?;
        Ok(place.insert(Spot { document, text: text.start..text.start + text.length, path, counted }))
    }

    /// Adds the matches of a whole file, once.
    fn look_at_file(&mut self, index: &Index, document: DocumentRef, blocks: &FetchedBlocks<'_>) -> Result<(), Error> {
        if self.whole.replace(document) == Some(document) {
            return Ok(());
        }
        let Some(path) = self.path(index, document)? else { return Ok(()) };
        let text = blocks.text(document.segment, index.span(document)?)?;
        self.bytes += text.len() as u64;
        let mut searchers = self.searchers.take().unwrap_or_default();
        let searched = self.request.pattern.lines_of_file(&mut searchers, &text, |found| {
            self.add(document, &path, found.number, found.bytes);
            !self.is_full()
        });
        self.searchers = Some(searchers);
        searched
    }

    /// Adds a line, unless it was on a previous page.
    fn add(&mut self, document: DocumentRef, path: &str, line: u64, bytes: &[u8]) {
        if self.cursor.is_some_and(|cursor| cursor.path == path && line <= cursor.line) || self.is_full() {
            return;
        }
        if self.request.most_of_file.is_some_and(|most| self.count_of(path) >= most) {
            return;
        }
        let has_place = self.request.has_places || bytes.len() > MATCH_BYTES;
        let place = if has_place { self.request.pattern.place(bytes) } else { 0..0 };
        let text = cut_at(bytes.strip_suffix(b"\r").unwrap_or(bytes), place.start, MATCH_BYTES);
        let place = self.request.has_places.then(|| MatchPlace::of(bytes, place));
        self.results.push(Line {
            path: path.to_owned(),
            line,
            page: None,
            text,
            before: Vec::new(),
            after: Vec::new(),
            place,
            file_bytes: 0,
        });
        self.documents.push(document);
    }

    /// The number of lines of the file at `path`, including previous pages; all lines of a file are adjacent.
    fn count_of(&self, path: &str) -> usize {
        let before = self.cursor.filter(|cursor| cursor.path == path).map_or(0, |cursor| cursor.count);
        before + self.results.iter().rev().take_while(|line| line.path == path).count()
    }

    pub(crate) async fn finish(mut self, index: &Index, generation: u64, is_scan: bool) -> Result<Output, Error> {
        let is_full = self.is_full();
        self.results.truncate(self.request.listing.limit);
        self.documents.truncate(self.request.listing.limit);
        if self.request.context_lines > 0 {
            let count = self.request.context_lines;
            surroundings::add_context(index, &mut self.results, &self.documents, count).await?;
        }
        surroundings::add_pages(index, &mut self.results, &self.documents).await?;
        for (line, document) in self.results.iter_mut().zip(&self.documents) {
            line.file_bytes = index.span(*document)?.length;
        }
        let fitting = fitting(&self.results, self.request.listing.limits.max_response_bytes);
        let is_cut = fitting < self.results.len();
        self.results.truncate(fitting);
        let last = match self.results.last() {
            Some(last) if is_full || is_cut => Some((last.path.clone(), last.line)),
            _ => self.last.take().filter(|_| self.partial.is_some()),
        };
        let of = self.request.listing.of;
        let cursor = last.and_then(|(path, line)| {
            let count = self.count_of(&path);
            cursor::encode(&Cursor { generation, of, path, line, count })
        });
        let kind = if is_scan { "scan" } else { "index" };
        Ok(Output {
            results: self.results.into_iter().map(SearchResult::Line).collect(),
            cursor,
            partial: if is_cut { Some(TOO_LARGE) } else { self.partial.filter(|_| !is_full) },
            corrections: Vec::new(),
            mode_used: None,
            waiting: None,
            notice: None,
            plan: (self.request.listing.explain && index.is_whole()).then_some(Explained {
                kind,
                files: self.files,
                bytes: self.bytes,
            }),
        })
    }
}

fn byte_before(text: &[u8], at: u32) -> Option<u8> {
    text.get(at.checked_sub(1)? as usize).copied()
}
