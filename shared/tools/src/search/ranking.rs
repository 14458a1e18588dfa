//! Pages of notes, best first.

use std::collections::VecDeque;

use atlas_embeddings::Vector;
use atlas_ops::error::{Code, Error};
use atlas_ops::operation::Context;
use atlas_ops::pipeline::response_limit::fitting;
use atlas_ops::read::cursor;
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::view::View;
use atlas_segment::passages::starts as passage_starts;
use atlas_segment::text::decoded;
use atlas_vault::pages::page_of_line;
use atlas_vault::{fold, frontmatter};
use futures::future::{FutureExt as _, OptionFuture, try_join};
use serde::{Deserialize, Serialize};

use crate::search::closer::{self, Close, MAX_CLOSER, bare_name};
use crate::search::expression::{Expression, Token};
use crate::search::filter::Filter;
use crate::search::fused::Fused;
use crate::search::listing::{Listing, TOO_LARGE};
use crate::search::lists::Lists;
use crate::search::meaning::{Asked, Meaning, UNKNOWN, model};
use crate::search::merge::Weighted;
use crate::search::nearest::{self, nearest};
use crate::search::properties;
use crate::search::ranked::Ranked;
use crate::search::scores::Scores;
use crate::search::snippet::{SearchedWords, first_of, holds};
use crate::search::surroundings::has_pages;
use crate::search::{Explained, Note, Output, SearchResult, Why};

const UNREAD: &str = "the vectors cannot be read (`atlas doctor` says why), so notes were found by words only";
/// Most texts fetched at a time.
const MAX_BATCH: usize = 128;

/// The search.
pub(crate) struct Request<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) expression: Expression,
    pub(crate) listing: Listing<'a>,
    /// The question's vector, if meaning counts.
    pub(crate) meaning: Option<Asked<'a>>,
    /// Whether the caller asked for meaning, and is told why it did not count.
    pub(crate) asks_for_meaning: bool,
}

/// The start of a page: the number of matching notes before it, best first.
#[derive(Serialize, Deserialize)]
pub(crate) struct Cursor {
    pub(crate) generation: u64,
    pub(crate) of: u32,
    after: usize,
    /// Whether meaning counts.
    #[serde(default)]
    meant: bool,
}

/// The page after `cursor`, or the first.
pub(crate) async fn page(view: View, request: &Request<'_>, cursor: Option<&Cursor>) -> Result<Output, Error> {
    let has_vectors = request.meaning.as_ref().is_some_and(Asked::has_words) && model(&view).is_ok();
    let has_to =
        request.meaning.as_ref().is_some_and(|asked| asked.is_alone) || cursor.is_some_and(|cursor| cursor.meant);
    match page_of(view.clone(), request, cursor, has_vectors).await {
        // Words may answer where vectors are damaged or missing.
        Err(error) if has_vectors && !has_to && matches!(error.code, Code::Internal | Code::Unavailable) => {
            tracing::warn!(error = error.internal, "notes are found by words, without vectors");
            page_of(view, request, cursor, false).await
        }
        page => page,
    }
}

/// The page; without `vectors` by words alone.
async fn page_of(view: View, request: &Request<'_>, cursor: Option<&Cursor>, vectors: bool) -> Result<Output, Error> {
    let generation = view.generation();
    let was_meant = cursor.map(|cursor| cursor.meant);
    let unread = !vectors && request.meaning.as_ref().is_some_and(Asked::has_words) && model(&view).is_ok();
    let want =
        Want { names: true, headings: true, terms: true, passages: true, links: true, vectors, ..Want::default() };
    let meaning = OptionFuture::from(request.meaning.as_ref().map(|asked| asked.vector(&view, was_meant)));
    let meaning = meaning.map(Option::transpose);
    let expression = &request.expression;
    let check = || request.context.work.check();
    // The question's vector takes as long as its words.
    let words = async {
        let index = Index::fetch(view.clone(), want).await?;
        let lists = Lists::fetch(&index, expression, &check).await?;
        Ok((index, lists))
    };
    let ((index, lists), meaning) = match unread {
        true => (words.await?, Some(Meaning::failed(UNREAD))),
        false => try_join(words, meaning).await?,
    };
    let is_alone = request.meaning.as_ref().is_some_and(|asked| asked.is_alone);
    let scores = Scores::new(&index, &lists, &check)?;
    // Where meaning counts alone, words are no condition.
    let mut words = match is_alone {
        true if expression.phrases.is_empty() && !expression.has_conditions() => Vec::new(),
        true => scores.by_segment(&expression.without_words())?,
        false => scores.by_segment(expression)?,
    };
    properties::keep(request.context, view.clone(), &expression.properties, &mut words).await?;
    let query = match &meaning {
        Some(Meaning::Vector(vector)) => Some(vector),
        _ => None,
    };
    // The ranking takes them.
    let of_words = if query.is_some() { words.clone() } else { Vec::new() };
    let mut ranked = Ranked::of_segments(&index, if is_alone { Vec::new() } else { words });
    let mut next = || -> Result<Option<Close>, Error> {
        loop {
            let Some((score, document)) = ranked.next()? else { return Ok(None) };
            if takes(&index, request, document)? {
                return Ok(Some(Close::new(score, document)));
            }
        }
    };
    let mut best = Vec::new();
    while best.len() < MAX_CLOSER
        && let Some(close) = next()?
    {
        best.push(close);
    }
    let best = closer::look(&index, &lists, &scores, expression, best, &check)?;
    let mut best = match query {
        Some(query) => fused(&index, request, query, best, &of_words).await?,
        None => Fused::by_words(best),
    };
    let searched = scores.searched(expression);
    let mut page = Vec::new();
    let mut places = Vec::new();
    let mut at = 0;
    let mut bytes = 0;
    let mut partial = None;
    let mut waiting = VecDeque::new();
    // Waits before this, such as for the question's vector, leave no less time for the texts.
    let deadline = request.context.deadline(request.listing.limits.max_scan_time);
    loop {
        // One more than the page needs, which shows that there is a next page.
        let missing = request.listing.limit + 1 - page.len();
        while waiting.len() < missing
            && let Some(close) = best.next(&mut next)?
        {
            at += 1;
            if cursor.is_none_or(|cursor| at > cursor.after) {
                waiting.push_back(Candidate { place: at, close });
            }
        }
        if page.len() == request.listing.limit || waiting.is_empty() || partial.is_some() {
            break;
        }
        let batch: Vec<Candidate> = waiting.drain(..waiting.len().min(missing - 1).min(MAX_BATCH)).collect();
        let documents: Vec<DocumentRef> = batch.iter().map(|candidate| candidate.close.document).collect();
        let texts = index.texts(&documents).await?;
        for (candidate, text) in batch.into_iter().zip(texts) {
            if bytes > 0 && partial.is_none() {
                partial = request.listing.reached(bytes, deadline);
            }
            if partial.is_some() {
                waiting.push_back(candidate);
                continue;
            }
            bytes += text.len() as u64;
            let text = decoded(&text);
            let Candidate { place, close } = candidate;
            let path = index.path(close.document)?;
            if holds_what_it_must(expression, &path, &text) {
                places.push(place);
                page.push(SearchResult::Note(note(&index, close, path, &text, &searched, request.listing.explain)?));
            }
        }
    }
    let fitting = fitting(&page, request.listing.limits.max_response_bytes);
    if fitting < page.len() {
        page.truncate(fitting);
        partial = Some(TOO_LARGE);
    }
    let waiting = waiting.iter().map(|candidate| candidate.place);
    let first_left = waiting.chain(places.get(fitting..).unwrap_or_default().iter().copied()).min();
    let plan = if request.listing.explain && index.is_whole() {
        let files = if is_alone { at } else { scores.all(expression)?.len() };
        Some(Explained { kind: "ranking", files, bytes })
    } else {
        None
    };
    let cursor =
        first_left.map(|place| Cursor { generation, of: request.listing.of, after: place - 1, meant: query.is_some() });
    Ok(Output {
        results: page,
        cursor: cursor.as_ref().and_then(cursor::encode),
        partial,
        corrections: lists.corrections,
        mode_used: meaning.as_ref().and_then(|meaning| match meaning {
            Meaning::Vector(_) if is_alone => Some("semantic"),
            Meaning::Vector(_) => Some("hybrid"),
            // A caller that did not ask for meaning needs no word that there is none.
            Meaning::None { is_failure, .. } => (*is_failure || request.asks_for_meaning).then_some("text"),
        }),
        waiting: if query.is_some() { Some(nearest::waiting(&index)?).filter(|count| *count > 0) } else { None },
        notice: notice(meaning, request.asks_for_meaning, &lists.left_out),
        plan,
    })
}

/// Why meaning did not count, and which words did not.
fn notice(meaning: Option<Meaning>, asks_for_meaning: bool, left_out: &[String]) -> Option<String> {
    let no_meaning = match meaning {
        Some(Meaning::None { why, is_failure }) => Some(why).filter(|_| is_failure || asks_for_meaning),
        Some(Meaning::Vector(vector)) if vector.is_zero() => Some(UNKNOWN.to_owned()),
        _ => None,
    };
    let no_words = || format!("these words are in too many notes to count beside the others: {}", left_out.join(", "));
    let all: Vec<String> = no_meaning.into_iter().chain((!left_out.is_empty()).then(no_words)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Notes by their meaning, and unless that counts alone by their words, of which `words` has all scores, by segment.
async fn fused(
    index: &Index,
    request: &Request<'_>,
    query: &Vector,
    best: Vec<Close>,
    words: &[Weighted],
) -> Result<Fused, Error> {
    let also: Vec<DocumentRef> = best.iter().map(|close| close.document).collect();
    let expression = &request.expression;
    // Phrases are looked for in the texts; what else is required or excluded only the index tells.
    let only_words = expression.has_conditions();
    let is_alone = request.meaning.as_ref().is_some_and(|asked| asked.is_alone);
    let is_kept = |DocumentRef { segment, document }: DocumentRef| {
        let kept = words.get(segment).map(Vec::as_slice).unwrap_or_default();
        kept.binary_search_by_key(&document, |(document, _)| *document).is_ok()
    };
    let is_any = !is_alone || words.is_empty();
    let takes = |document| Ok((is_any || is_kept(document)) && takes(index, request, document)?);
    let nearest = nearest(index, query, &also, takes).await?;
    if is_alone {
        return Ok(Fused::by_meaning(&nearest));
    }
    Ok(Fused::new(index, best, words, &nearest, only_words))
}

/// A note that the index cannot exclude, and its rank.
struct Candidate {
    place: usize,
    close: Close,
}

/// Whether a note contains the required phrases and none of the excluded ones, in its name or text.
fn holds_what_it_must(expression: &Expression, path: &str, text: &str) -> bool {
    let found = |phrase: &[Token]| holds(text, phrase) || holds(bare_name(path), phrase);
    expression.phrases.iter().all(|phrase| found(phrase))
        // For single words the index alone decides.
        && !expression.excluded.iter().any(|phrase| phrase.len() > 1 && found(phrase))
}

/// Whether a document is one of those that are searched.
fn takes(index: &Index, request: &Request<'_>, document: DocumentRef) -> Result<bool, Error> {
    let (filter, Expression { paths, excluded_paths, .. }) = (request.listing.filter.as_ref(), &request.expression);
    if filter.is_none() && paths.is_empty() && excluded_paths.is_empty() {
        return Ok(true);
    }
    let path = index.path(document)?;
    let folded = fold::fold(&path);
    Ok(Filter::takes(filter, &path)
        && paths.iter().all(|part| folded.contains(part))
        && !excluded_paths.iter().any(|part| folded.contains(part)))
}

/// The title of a note with these headings: the property, else the first heading of level 1, else its name.
pub(crate) fn title(path: &str, text: &str, mut headings: impl Iterator<Item = (u8, impl AsRef<str>)>) -> String {
    frontmatter::title(text).unwrap_or_else(|| {
        let first = headings.find(|(level, heading)| *level == 1 && !heading.as_ref().trim().is_empty());
        first.map_or_else(|| bare_name(path).to_owned(), |(_, heading)| heading.as_ref().trim().to_owned())
    })
}

fn note(
    index: &Index,
    close: Close,
    path: String,
    text: &str,
    searched: &SearchedWords,
    explain: bool,
) -> Result<Note, Error> {
    let headings = || Ok::<_, Error>(index.headings(close.document.segment)?.of(close.document.document));
    // A passage begins with the line of its heading.
    let starts = passage_starts(text, headings()?.map(|heading| heading.line));
    // The first passage is mostly properties: of a note for which it is the best, any line may say most.
    let passage = close.passage.filter(|passage| *passage > 0).map(|passage| {
        let at = |passage: usize| passage.checked_sub(1).map_or(Some(0), |heading| starts.get(heading).copied());
        at(passage).unwrap_or(text.len())..at(passage + 1).unwrap_or(text.len())
    });
    let snippet = match close.lines {
        Some(lines) if searched.found(text).next().is_none() => first_of(text, lines),
        _ => searched.snippet(text, passage.unwrap_or_default()),
    };
    let page = has_pages(&path).then(|| page_of_line(text.as_bytes(), snippet.line));
    let title = title(&path, text, headings()?.map(|heading| (heading.level, heading.text)));
    let nearest = headings()?.take_while(|heading| heading.line as usize <= snippet.line).last();
    let why = explain.then(|| Why {
        words: rounded(close.score - close.by_passage - close.by_name - close.by_links - close.by_meaning),
        meaning: Some(rounded(close.by_meaning)).filter(|_| close.lines.is_some()),
        passage: rounded(close.by_passage),
        name: rounded(close.by_name),
        links: rounded(close.by_links),
        linked_from: close.linking,
        has: searched.found(text).map(str::to_owned).collect(),
    });
    Ok(Note {
        path,
        title,
        score: rounded(close.score),
        anchor: nearest.map(|heading| atlas_vault::anchor(&heading.text)),
        line: snippet.line as u64 + 1,
        page,
        snippet: snippet.text,
        why,
    })
}

/// To the digits that distinguish notes.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}
