//! Search, which answers while one types; without words, what is in a folder.

mod filters;

use std::borrow::Cow;

use atlas_ops::Error;
use atlas_tools::entry;
use atlas_tools::notes::list_notes::ListNotes;
use atlas_tools::search::Search;
use atlas_vault::visible::{self, visible};
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::answer::{Answered as _, given};
use crate::frame::Section;
use crate::visit::Visit;
use crate::{links, response, words};

use self::filters::Asked;

/// Most results, and most files of a folder.
const MOST: u64 = 30;
const MOST_FILES: u64 = 200;
/// The identifier of the form.
const FORM: &str = "find";
/// The ways to search; the first is by words.
const MODES: [(&str, &str); 3] = [("hybrid", "Words"), ("literal", "Exact text"), ("regex", "Regular expression")];

fn mode(visit: &Visit) -> &'static str {
    MODES.iter().find(|(name, _)| *name == visit.parameter("mode")).map_or("hybrid", |(name, _)| name)
}

/// The page.
pub(crate) async fn page(visit: Visit) -> Response {
    let (asked, mode) = (Asked::of(&visit), mode(&visit));
    let chips = filters::chips(&visit, &asked, mode == "hybrid", FORM);
    let (found, chips) = futures::future::join(found(&visit, &asked, mode), chips).await;
    let content = html! {
        h1.hidden { "Search" }
        form.find #(FORM) role="search" action="/ui/search" data-search="results" data-results="/ui/search/results" {
            label.hidden for="q" { "What to search for" }
            input #q type="search" name="q" value=(asked.query) maxlength="500" placeholder="Search your notes" autocomplete="off" spellcheck="false" autofocus;
            select name="mode" aria-label="How to search" {
                @for (name, text) in MODES { option value=(name) selected[name == mode] { (text) } }
            }
            @if !asked.folder.is_empty() { input type="hidden" name="folder" value=(asked.folder); }
            button type="submit" { "Search" }
        }
        (chips)
        div #results aria-live="polite" { (found.unwrap_or_else(|error| problem(&error))) }
    };
    visit.page(Section::Search, "Search", content)
}

/// The results alone, for the script.
pub(crate) async fn results(visit: Visit) -> Response {
    let (asked, mode) = (Asked::of(&visit), mode(&visit));
    let found = found(&visit, &asked, mode).await.unwrap_or_else(|error| problem(&error));
    visit.told(response::page(StatusCode::OK, found))
}

fn problem(error: &Error) -> Markup {
    html! { p.problem { (error.message) } }
}

async fn found(visit: &Visit, asked: &Asked, mode: &str) -> Result<Markup, Error> {
    let Asked { query, folder } = asked;
    if query.is_empty() {
        return files(visit, folder).await;
    }
    let query = if mode == "hybrid" { begun(query) } else { query.clone() };
    let call = given([
        ("query", Some(query.into())),
        ("mode", Some(mode.into())),
        ("path_filter", Some(in_folder(folder).into()).filter(|_| !folder.is_empty())),
        ("limit", Some(MOST.into())),
    ]);
    let answer = visit.call(entry::<Search>(), call).await?;
    let results = answer.list("results");
    let words = if mode == "regex" { Vec::new() } else { words_of(&asked.words(), mode) };
    Ok(html! {
        @for correction in answer.list("corrections") {
            @let instead: Vec<&str> = correction.list("instead").iter().filter_map(Value::as_str).collect();
            p.hint { "No note has “" (visible(correction.text("word"))) "”. Searched for " (visible(&instead.join(", "))) "." }
        }
        @if results.is_empty() { div.empty { p { "Nothing found." } } } @else {
            ul.rows.results { @for result in results { li { (row(result, &words)) } } }
        }
        @if let Some(partial) = answer.given("partial") { p.hint { (partial) } }
    })
}

/// What is in a folder, and how to search.
async fn files(visit: &Visit, folder: &str) -> Result<Markup, Error> {
    let call = json!({ "root": folder, "recursive": false, "include_folders": true, "limit": MOST_FILES });
    let listed = visit.call(entry::<ListNotes>(), call).await?;
    let (items, all) = (listed.list("items"), listed.number("total_count"));
    let more = all.saturating_sub(items.len() as u64);
    Ok(html! {
        p.hint { "Words find notes, best first. " code { "\"a phrase\"" } ", " code { "-without" } ", " code { "path:text" } ". The arrow keys go through the results, " kbd { "/" } " comes back here." }
        @if items.is_empty() { div.empty { p { "No notes here." } } } @else {
            ul.rows.results {
                @for item in items {
                    @let path = item.text("path");
                    @let name = path.rsplit('/').next().unwrap_or(path);
                    li {
                        @if item.text("type") == "folder" {
                            a.result href=(links::page("search", &[("folder", path)])) { strong.path { (visible(name)) "/" } }
                        } @else {
                            a.result href=(links::note(path)) { strong.path { (visible(links::name(path))) } " " span.facts { (words::time(item.text("mtime"))) } }
                        }
                    }
                }
            }
        }
        @if more > 0 { p.hint { (words::count(more, "other", "others")) ": search for them." } }
    })
}

/// The query, whose last word may be only the beginning of one.
fn begun(query: &str) -> String {
    let is_open = query.ends_with(char::is_alphanumeric) && query.matches('"').count().is_multiple_of(2);
    let last = query.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_word = last.chars().all(char::is_alphanumeric);
    if is_open && is_word && last.chars().count() > 1 { format!("{query}*") } else { query.to_owned() }
}

/// The glob of what is in a folder.
fn in_folder(folder: &str) -> String {
    let escaped = folder.chars().flat_map(|letter| {
        let is_special = "*?[]{}!\\".contains(letter);
        is_special.then_some('\\').into_iter().chain([letter])
    });
    format!("{}/**", escaped.collect::<String>())
}

fn words_of(query: &str, mode: &str) -> Vec<String> {
    if mode == "literal" {
        return vec![query.to_owned()];
    }
    let is_plain = |word: &&str| !word.starts_with('-') && !word.contains(':');
    let words = query.split_whitespace().filter(is_plain);
    words
        .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase())
        .filter(|word| word.len() > 1)
        .collect()
}

fn row(result: &Value, words: &[String]) -> Markup {
    let path = result.text("path");
    let text = result.given("snippet").unwrap_or(result.text("text"));
    let title = result.given("title").unwrap_or(links::name(path));
    let anchor =
        result.given("anchor").map(|anchor| format!("{}{}", crate::markdown::PREFIX, crate::markdown::anchor(anchor)));
    let address = if links::is_note(path) {
        links::note_at(path, anchor.as_deref().unwrap_or_default())
    } else {
        links::file(path)
    };
    html! {
        a.result href=(address) {
            strong.path { (visible(title)) } " "
            span.facts { span.path { (visible(path)) } @if result.number("line") > 0 { ":" (result.number("line")) } @if result.number("page") > 0 { ", page " (result.number("page")) } }
            span.snippet { (marked(text, words)) }
        }
    }
}

/// The text with the words that were searched for marked.
fn marked(text: &str, words: &[String]) -> Markup {
    let mut pieces: Vec<(Cow<'_, str>, bool)> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        // A word is marked where it begins one.
        let length = words.iter().filter_map(|word| length_of(rest, word)).max();
        let step = length.unwrap_or_else(|| {
            rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len()).max(first.len_utf8())
        });
        let (piece, after) = rest.split_at(step);
        let before = text.get(..text.len() - rest.len()).unwrap_or_default();
        pieces.push((visible::piece(before, piece, after), length.is_some()));
        rest = after;
    }
    html! { @for (piece, is_mark) in pieces { @if is_mark { mark { (piece) } } @else { (piece) } } }
}

/// The length in bytes of what `text` begins with, if that is `word`, whatever the case.
fn length_of(text: &str, word: &str) -> Option<usize> {
    let mut letters = text.char_indices();
    for wanted in word.chars() {
        let (_, letter) = letters.next()?;
        if letter != wanted && !letter.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(letters.next().map_or(text.len(), |(end, _)| end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_where_they_begin() {
        let words = words_of("Häfen -not tag:x boat", "text");
        assert_eq!(words, ["häfen", "boat"]);
        let shown = marked("HÄFEN, boats & <b>lifeboat</b>", &words).into_string();
        assert_eq!(shown, "<mark>HÄFEN</mark>, <mark>boat</mark>s &amp; &lt;b&gt;lifeboat&lt;/b&gt;");
        assert_eq!(marked("", &words).into_string(), "");
    }

    #[test]
    fn the_last_word_may_be_a_beginning() {
        for (query, asked) in [
            ("harb", "harb*"),
            ("berth wind", "berth wind*"),
            ("berth ", "berth "),
            ("\"berth wind", "\"berth wind"),
            ("tag:a", "tag:a"),
            ("x", "x"),
        ] {
            assert_eq!(begun(query), asked, "{query}");
        }
        assert_eq!(in_folder("a [b]/c"), "a \\[b\\]/c/**");
    }
}
