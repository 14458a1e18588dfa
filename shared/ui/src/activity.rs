//! Commits: who changed what, when, and why.

use atlas_tools::entry;
use atlas_tools::history::list_commits::ListCommits;
use atlas_tools::history::read_commit::ReadCommit;
use atlas_vault::visible::visible;
use axum::extract::Path;
use axum::response::Response;
use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use serde_json::Value;

use crate::answer::{Answered as _, given};
use crate::changes::{self, ALL_LINES, FEW_LINES, Only, Place};
use crate::diff::View;
use crate::frame::{Section, said};
use crate::visit::Visit;
use crate::{links, words};

/// Commits on a page, and files of one.
const MOST: u64 = 30;
const MOST_FILES: u64 = 50;

/// Spans of time to choose from: their names in addresses, their names, and hours.
const SPANS: [(&str, &str, i64); 3] =
    [("hour", "The last hour", 1), ("day", "The last day", 24), ("week", "The last week", 168)];

/// The filters of a visit.
struct Filters<'a> {
    by: &'a str,
    session: &'a str,
    path: &'a str,
    span: &'a str,
}

impl<'a> Filters<'a> {
    fn of(visit: &'a Visit) -> Self {
        let of = |name| visit.parameter(name);
        Self { by: of("by"), session: of("session"), path: of("path"), span: of("span") }
    }

    /// When the span began.
    fn since(&self, now: Timestamp) -> Option<Timestamp> {
        let (.., hours) = SPANS.iter().find(|(name, ..)| *name == self.span)?;
        now.checked_sub(SignedDuration::from_hours(*hours)).ok()
    }

    fn parameters(&self) -> [(&'static str, &'a str); 4] {
        [("by", self.by), ("session", self.session), ("path", self.path), ("span", self.span)]
    }
}

/// The feed of commits.
pub(crate) async fn page(visit: Visit) -> Response {
    let filters = Filters::of(&visit);
    let now = (visit.app().clock)();
    let text = |value: &str| Some(value).filter(|value| !value.is_empty()).map(Value::from);
    let call = given([
        ("by", text(filters.by)),
        ("of_session", text(filters.session)),
        ("path", text(filters.path)),
        ("since", filters.since(now).map(|since| since.to_string().into())),
        ("before", visit.number("before").map(Value::from)),
        ("limit", Some(MOST.into())),
    ]);
    let listed = match visit.call(entry::<ListCommits>(), call).await {
        Ok(listed) => listed,
        Err(error) => return visit.failed(&error),
    };
    let commits = listed.list("commits");
    let done = (visit.parameter("said") == "undone")
        .then_some("Taken back, in one new commit. The next sync writes it into the folder.");
    let content = html! {
        h1 { "Activity" }
        (said(done))
        (form(&filters))
        (undo_all(&filters, now))
        @if commits.is_empty() {
            div.empty { p { "No commits." } p.hint { "Each change of the vault is a commit: by the folder's sync, by an agent, or by you." } }
        } @else {
            ul.rows { @for commit in commits { (row(commit)) } }
        }
        @if let Some(before) = listed.get("before").and_then(Value::as_u64) {
            @let before = before.to_string();
            @let [by, session, path, span] = filters.parameters();
            p { a.button href=(links::page("activity", &[by, session, path, span, ("before", before.as_str())])) { "Older" } }
        }
    };
    visit.page(Section::Activity, "Activity", content)
}

fn form(filters: &Filters<'_>) -> Markup {
    html! {
        form.filters action="/ui/activity" {
            label { "By" input name="by" value=(filters.by) maxlength="200" autocomplete="off"; }
            label { "File" input name="path" value=(filters.path) maxlength="1024" autocomplete="off" placeholder="Folder/Note.md"; }
            label { "Session" input name="session" value=(filters.session) maxlength="200" autocomplete="off"; }
            label { "When" select name="span" {
                option value="" { "Any time" }
                @for (name, text, _) in SPANS { option value=(name) selected[name == filters.span] { (text) } }
            } }
            button type="submit" { "Show" }
        }
    }
}

/// Leads to undoing what a caller or a session did.
fn undo_all(filters: &Filters<'_>, now: Timestamp) -> Markup {
    let hour = now.checked_sub(SignedDuration::from_hours(1)).map(|since| since.to_string()).unwrap_or_default();
    let since = filters.since(now).map(|since| since.to_string()).unwrap_or_default();
    html! {
        div.tools {
            @if !filters.by.is_empty() {
                a.button href=(links::page("undo", &[("by", filters.by), ("since", &hour)])) { "Undo the last hour of " (visible(filters.by)) "…" }
            }
            @if !filters.session.is_empty() {
                a.button href=(links::page("undo", &[("session", filters.session), ("by", filters.by), ("since", &since)])) {
                    "Undo session “" (visible(filters.session)) "”…"
                }
            }
        }
    }
}

fn row(commit: &Value) -> Markup {
    let generation = commit.number("generation");
    let (author, paths) = (commit.text("author"), commit.list("paths"));
    html! {
        li {
            div.row {
                h2 {
                    a href=(links::page("activity", &[("by", author)])) { strong { (visible(author)) } }
                    " · " (words::operation(commit.text("operation")))
                    (counts(commit))
                }
                span.facts { (words::time(commit.text("time"))) }
            }
            @if let Some(message) = commit.given("message") { p.why { (visible(message)) } }
            ul.paths {
                @for path in paths.iter().filter_map(Value::as_str) { li { a.path href=(links::document(path)) { (visible(path)) } } }
                @if commit.number("more_files") > 0 { li.hint { "and " (words::count(commit.number("more_files"), "other file", "other files")) } }
            }
            div.actions {
                a href=(links::commit(generation)) { "See the lines" span.hidden { " of commit " (generation) } }
                @if generation > 1 {
                    a href=(links::page("undo", &[("generation", &generation.to_string())])) { "Undo…" span.hidden { " commit " (generation) } }
                }
                @if let Some(session) = commit.given("session") {
                    a href=(links::page("activity", &[("session", session)])) { "Session “" (visible(session)) "”" }
                }
            }
        }
    }
}

/// How many lines of each file are shown.
const fn most_lines(files: &[Value]) -> usize {
    if files.len() <= 5 { ALL_LINES } else { FEW_LINES / 2 }
}

/// How many files a commit added, changed and removed.
fn counts(commit: &Value) -> Markup {
    let [added, changed, removed] = ["added", "changed", "removed"].map(|name| commit.number(name));
    html! {
        span.counts {
            @if added > 0 { span.plus { "+" (added) } " " }
            @if changed > 0 { span.tilde { "~" (changed) } " " }
            @if removed > 0 { span.minus { "−" (removed) } }
        }
    }
}

/// The page of one commit.
pub(crate) async fn commit(visit: Visit, Path(generation): Path<u64>) -> Response {
    let view = View::named(visit.parameter("view"));
    let only = Only::of(&visit);
    let call = given([
        ("generation", Some(generation.into())),
        ("limit", Some(MOST_FILES.into())),
        ("path", only.as_ref().map(|only| only.path.into())),
        ("from_line", only.as_ref().map(|only| only.from.into())),
    ]);
    let read = match visit.call(entry::<ReadCommit>(), call).await {
        Ok(read) => read,
        Err(error) => return visit.failed(&error),
    };
    let (commit, files) = (&read["commit"], read.list("files"));
    let title = format!("Commit {generation}");
    let page = format!("activity/{generation}");
    let file = [("file", visit.parameter("file")), ("from", visit.parameter("from"))];
    let content = html! {
        div.head {
            h1 { (title) }
            (changes::views(&page, &file, view))
        }
        (changes::only(&page, view, only.as_ref()))
        p.facts {
            strong { (visible(commit.text("author"))) } " · " (words::operation(commit.text("operation"))) " · " (words::time(commit.text("time")))
            " · " (changes::summary(files, read.number("more_files")))
            @if let Some(session) = commit.given("session") { " · session “" (visible(session)) "”" }
        }
        @if let Some(message) = commit.given("message") { blockquote.why { (visible(message)) } }
        @if generation > 1 {
            div.tools { a.button href=(links::page("undo", &[("generation", &generation.to_string())])) { "Undo this commit…" } }
        }
        (changes::show(files, Place { page: &page, view, most: most_lines(files), would: false }))
        @if read.number("more_files") > 0 { p.hint { "And " (words::count(read.number("more_files"), "other file", "other files")) "." } }
        p { a href="/ui/activity" { "All commits" } }
    };
    visit.page(Section::Activity, &title, content)
}
