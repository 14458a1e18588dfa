//! The versions of a note, and the way back to one.

use atlas_tools::entry;
use atlas_tools::history::note_history::NoteHistory;
use atlas_tools::history::restore_note::RestoreNote;
use atlas_vault::visible::visible;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::answer::{Answered as _, given};
use crate::frame::Section;
use crate::visit::{Form, Visit};
use crate::{links, response, words};

/// Versions on a page.
const MOST: u64 = 20;

/// The versions of a note.
pub(crate) async fn page(visit: Visit) -> Response {
    let path = visit.parameter("path");
    let call = given([
        ("path", Some(path.into())),
        ("limit", Some(MOST.into())),
        ("before", visit.number("before").map(Value::from)),
    ]);
    let found = match visit.call(entry::<NoteHistory>(), call).await {
        Ok(found) => found,
        Err(error) => return visit.failed(&error),
    };
    let versions = found.list("versions");
    let is_newest_page = visit.number("before").is_none();
    let newest = versions.first().filter(|_| is_newest_page).map(|version| version.text("sha256")).unwrap_or_default();
    let content = html! {
        h1 { "History of " a.path href=(links::note(path)) { (visible(links::name(path))) } }
        ul.rows {
            @for (place, version) in versions.iter().enumerate() {
                (row(&visit, path, version, newest, is_newest_page && place == 0))
            }
        }
        @if let Some(before) = found.get("before").and_then(Value::as_u64) {
            p { a.button href=(links::page("history", &[("path", path), ("before", &before.to_string())])) { "Older" } }
        }
    };
    visit.page(Section::Activity, &format!("History of {}", links::name(path)), content)
}

fn row(visit: &Visit, path: &str, version: &Value, newest: &str, is_newest: bool) -> Markup {
    let generation = version.number("generation");
    let number = generation.to_string();
    html! {
        li {
            div.row {
                h2 {
                    strong { (visible(version.given("author").unwrap_or("older than the history"))) }
                    @if let Some(operation) = version.given("operation") { " · " (words::operation(operation)) }
                    @if is_newest { " " span.status.done { "Newest" } }
                }
                span.facts { (words::bytes(version.number("bytes"))) " · " (words::time(version.text("time"))) }
            }
            @if let Some(message) = version.given("message") { p.why { (visible(message)) } }
            div.actions {
                @if version.given("author").is_some() {
                    a href=(links::page("note", &[("path", path), ("generation", &number)])) { "Read" span.hidden { " version " (number) } }
                    a href=(links::commit(generation)) { "See the lines" span.hidden { " of commit " (number) } }
                    @if !is_newest && !newest.is_empty() {
                        form method="post" action="/ui/restore" {
                            (visit.form_token())
                            @for (name, value) in [("path", path), ("generation", number.as_str()), ("if_match", newest)] {
                                input type="hidden" name=(name) value=(value);
                            }
                            button.plain type="submit" { "Restore" span.hidden { " version " (number) } }
                        }
                    }
                }
            }
        }
    }
}

/// Brings a version back, as a new one.
pub(crate) async fn restore(form: Form) -> Response {
    let (path, generation) = (form.text("path"), form.text("generation").parse::<u64>().unwrap_or_default());
    let call = json!({ "path": path, "generation": generation, "if_match": form.text("if_match") });
    match form.visit.call(entry::<RestoreNote>(), call).await {
        Ok(_) => form.visit.told(response::see(&links::page("history", &[("path", path)]))),
        Err(error) => form.visit.refused(Section::Activity, &error),
    }
}
