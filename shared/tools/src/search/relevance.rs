//! Ranks lines that contain a text: those of notes whose name is the text or that contain it often for their length,
//! those in headings, and whole words come first. Only lines that the caller sees count.

use std::collections::HashMap;

use atlas_ops::arguments::Text;
use atlas_ops::atlas::Limits;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context};
use atlas_ops::pipeline::response_limit::fitting;
use atlas_ops::read::cursor;
use atlas_ops::read::paging::{Page, PartialPage, clamped};
use atlas_ops::read::view::View;
use atlas_vault::fold;
use serde::{Deserialize, Serialize};

use crate::search::lines::{LineSearch, page_below};
use crate::search::listing::TOO_LARGE;
use crate::search::request::Cursor;
use crate::search::{Line, Output, SearchResult};

/// Most lines that are ranked together: beyond that, the next group by path.
const MAX_LINES: usize = 10_000;
const TOO_MANY: &str =
    "very many lines hold the text: these are the best of the first by path, and the cursor goes on to the others";

/// The saturation by further lines of a note, and the weight of its length: BM25's k1 and b, as in the ranking of
/// words.
const SATURATION: f64 = 1.2;
const BY_LENGTH: f64 = 0.75;
/// The bonus if the note's name, a heading, or a word is the text.
const IN_NAME: f64 = 1.0;
const IN_HEADING: f64 = 0.5;
const AS_WORD: f64 = 0.25;

/// The start of a page: the number of lines before it in a group that is ranked together, and the start of that group,
/// `from`.
#[derive(Serialize, Deserialize)]
struct PageStart {
    generation: u64,
    of: u32,
    from: Option<String>,
    after: usize,
}

/// The page of the lines that contain `needle`, converted to items.
pub(super) async fn page<T: Serialize>(
    lines: LineSearch<'_>,
    needle: &str,
    context: &Context<'_>,
    item: fn(Line, f64) -> T,
) -> Result<Answer<PartialPage<T>>, Error> {
    let (limit, overflow) = clamped(lines.limit);
    let of = lines.of;
    let begin: Option<PageStart> =
        lines.cursor.map(|cursor: &Text<4096>| cursor::decode(cursor.as_str())).transpose()?;
    if begin.as_ref().is_some_and(|begin| begin.of != of) {
        return Err(cursor::invalid());
    }
    let is_first = begin.is_none();
    let generation = begin.as_ref().map(|begin| begin.generation);
    let (from, after) = begin.map_or((None, 0), |begin| (begin.from, begin.after));
    let window: Option<Cursor> = from.as_deref().map(cursor::decode).transpose()?;
    // The limit applies to the page of the answer, not to the candidates.
    let limits = Limits { max_response_bytes: usize::MAX, ..*context.limits };
    let root = lines.root.clone();
    let request = lines.request(context, MAX_LINES, &limits);
    let read = |view: View| {
        let (request, root, window) = (&request, &root, window.as_ref());
        page_below(context, view, request, window, root, is_first)
    };
    let answer = cursor::read(context, generation, read).await?;
    let generation = answer.generation.unwrap_or_default();
    Ok(answer.map(|Output { results, cursor: rest, partial, .. }| {
        let found = results.into_iter().filter_map(|found| match found {
            SearchResult::Line(line) => Some(line),
            SearchResult::Note(_) => None,
        });
        let ranked = ranked(found.collect(), needle);
        let (whole, total) = (from.is_none() && rest.is_none() && partial.is_none(), ranked.len());
        let rest_of_window = ranked.into_iter().skip(after).take(limit);
        let mut items: Vec<T> = rest_of_window.map(|(score, line)| item(line, score)).collect();
        let asked = items.len();
        items.truncate(fitting(&items, context.limits.max_response_bytes));
        let at = after + items.len();
        let next = if at < total {
            Some(PageStart { generation, of, from, after: at })
        } else {
            rest.as_ref().map(|rest| PageStart { generation, of, from: Some(rest.clone()), after: 0 })
        };
        let partial = match partial {
            _ if items.len() < asked => Some(TOO_LARGE),
            None if rest.is_some() => Some(TOO_MANY),
            partial => partial,
        };
        let cursor = next.as_ref().and_then(cursor::encode);
        PartialPage { page: Page { items, cursor, overflow, total_count: whole.then_some(total) }, partial }
    }))
}

/// The lines, best first; those of equal scores in the given order, by path and line.
fn ranked(lines: Vec<Line>, needle: &str) -> Vec<(f64, Line)> {
    let mut notes: HashMap<&str, (f64, f64)> = HashMap::new();
    for line in &lines {
        let (count, _) = notes.entry(&line.path).or_insert((0.0, line.file_bytes as f64));
        *count += 1.0;
    }
    let average = notes.values().map(|(_, bytes)| bytes).sum::<f64>() / notes.len().max(1) as f64;
    let needle = fold::fold(needle.trim());
    let of_note = |path: &str, (count, bytes): (f64, f64)| {
        let length = 1.0 - BY_LENGTH + BY_LENGTH * bytes / average.max(1.0);
        let name = path.rsplit('/').next().unwrap_or_default();
        let in_name = if fold::fold(name).contains(&needle) { IN_NAME } else { 0.0 };
        count * (SATURATION + 1.0) / (count + SATURATION * length) + in_name
    };
    let scores: Vec<f64> = lines
        .iter()
        .map(|line| {
            let of_note = notes.get(line.path.as_str()).map_or(0.0, |note| of_note(&line.path, *note));
            let in_heading = if line.text.starts_with('#') { IN_HEADING } else { 0.0 };
            let as_word = if is_word(line) { AS_WORD } else { 0.0 };
            // Rounded to the digits that distinguish lines.
            ((of_note + in_heading + as_word) * 1e4).round() / 1e4
        })
        .collect();
    let mut ranked: Vec<(f64, Line)> = scores.into_iter().zip(lines).collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
    ranked
}

/// Whether neither a letter nor a digit is beside the first match.
fn is_word(line: &Line) -> bool {
    let found = line.place.as_ref().and_then(|place| {
        let start = line.text.find(&place.text)?;
        Some((line.text.get(..start)?, line.text.get(start + place.text.len()..)?))
    });
    found.is_some_and(|(before, behind)| {
        !before.ends_with(char::is_alphanumeric) && !behind.starts_with(char::is_alphanumeric)
    })
}
