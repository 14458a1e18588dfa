//! Search, which answers while one types.

use atlas_ops::Error;
use atlas_tools::entry;
use atlas_tools::search::Search;
use atlas_tools::tags::list_tags::ListTags;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::answer::{Answered as _, given};
use crate::frame::Section;
use crate::visit::Visit;
use crate::{links, response};

/// Most results, and most tags to choose from.
const MOST: u64 = 30;
const MOST_TAGS: u64 = 14;
const MODES: [(&str, &str); 3] = [("hybrid", "Words"), ("literal", "Exact text"), ("regex", "Regular expression")];

/// The page.
pub(crate) async fn page(visit: Visit) -> Response {
    let (query, folder) = (visit.parameter("q"), visit.parameter("folder"));
    let (found, tags) = futures::future::join(found(&visit), tags(&visit)).await;
    let content = html! {
        h1.hidden { "Search" }
        form.find role="search" action="/ui/search" data-search="results" data-results="/ui/search/results" {
            label.hidden for="q" { "What to search for" }
            input #q type="search" name="q" value=(query) maxlength="500" placeholder="Search your notes" autocomplete="off" spellcheck="false" autofocus;
            select name="mode" aria-label="How to search" {
                @for (name, text) in MODES { option value=(name) selected[name == visit.parameter("mode")] { (text) } }
            }
            input name="folder" value=(folder) maxlength="400" placeholder="In folder" aria-label="In folder" autocomplete="off";
            button type="submit" { "Search" }
        }
        (tags)
        div #results aria-live="polite" { (found.unwrap_or_else(|error| problem(&error))) }
    };
    visit.page(Section::Search, "Search", content)
}

/// The results alone, for the script.
pub(crate) async fn results(visit: Visit) -> Response {
    let found = found(&visit).await.unwrap_or_else(|error| problem(&error));
    visit.told(response::page(StatusCode::OK, found))
}

fn problem(error: &Error) -> Markup {
    html! { p.problem { (error.message) } }
}

async fn found(visit: &Visit) -> Result<Markup, Error> {
    let (query, folder) = (visit.parameter("q"), visit.parameter("folder"));
    let mode = MODES.iter().find(|(name, _)| *name == visit.parameter("mode")).map_or("hybrid", |(name, _)| name);
    if query.trim().is_empty() && folder.is_empty() {
        return Ok(html! {
            p.hint { "Words find notes, best first. " code { "\"a phrase\"" } ", " code { "tag:name" } ", " code { "path:text" } ", " code { "-without" } ". The arrow keys go through the results, " kbd { "/" } " comes back here." }
        });
    }
    // A folder alone lists what is in it.
    let (query, mode) = if query.trim().is_empty() { ("^", "regex") } else { (query, mode) };
    let asked = if mode == "hybrid" { begun(query) } else { query.to_owned() };
    let call = given([
        ("query", Some(asked.into())),
        ("mode", Some(mode.into())),
        (
            "path_filter",
            Some(folder.trim_matches('/')).filter(|folder| !folder.is_empty()).map(|folder| in_folder(folder).into()),
        ),
        ("limit", Some(MOST.into())),
    ]);
    let answer = visit.call(entry::<Search>(), call).await?;
    let results = answer.list("results");
    let words = if mode == "regex" { Vec::new() } else { words_of(query, mode) };
    Ok(html! {
        @for correction in answer.list("corrections") {
            @let instead: Vec<&str> = correction.list("instead").iter().filter_map(Value::as_str).collect();
            p.hint { "No note has “" (correction.text("word")) "”. Searched for " (instead.join(", ")) "." }
        }
        @if results.is_empty() { div.empty { p { "Nothing found." } } } @else {
            ul.rows.results { @for result in results { li { (row(result, &words)) } } }
        }
        @if let Some(partial) = answer.given("partial") { p.hint { (partial) } }
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
            strong { (title) } " "
            span.facts { (path) @if result.number("line") > 0 { ":" (result.number("line")) } @if result.number("page") > 0 { ", page " (result.number("page")) } }
            span.snippet { (marked(text, words)) }
        }
    }
}

/// The text with the words that were searched for marked.
fn marked(text: &str, words: &[String]) -> Markup {
    let mut pieces: Vec<(&str, bool)> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        // A word is marked where it begins one.
        let length = words.iter().filter_map(|word| length_of(rest, word)).max();
        let step = length.unwrap_or_else(|| {
            rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len()).max(first.len_utf8())
        });
        let (piece, after) = rest.split_at(step);
        pieces.push((piece, length.is_some()));
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

/// Tags to narrow the search by.
async fn tags(visit: &Visit) -> Markup {
    let query = visit.parameter("q").trim();
    let listed = visit.call(entry::<ListTags>(), json!({ "limit": MOST_TAGS })).await.unwrap_or_default();
    let chip = |tag: &str| {
        let own = format!("tag:{tag}");
        let is_on = query.split_whitespace().any(|word| word == own);
        let others: Vec<&str> = query.split_whitespace().filter(|word| *word != own).collect();
        let others = others.join(" ");
        let query = if is_on { others } else { format!("{others} {own}").trim_start().to_owned() };
        let address = links::page("search", &[("q", &query), ("folder", visit.parameter("folder"))]);
        html! { li { a href=(address) aria-current=[is_on.then_some("true")] { "#" (tag) } } }
    };
    html! {
        @if !listed.list("items").is_empty() {
            nav aria-label="Tags" { ul.chips { @for tag in listed.list("items") { (chip(tag.text("tag"))) } } }
        }
    }
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
