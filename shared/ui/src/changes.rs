//! Files before and after a change.

use atlas_vault::visible::visible;
use maud::{Markup, html};
use serde_json::Value;

use crate::answer::Answered as _;
use crate::diff::{self, View};
use crate::visit::Visit;
use crate::{links, words};

/// Most lines of a file that a page of several changes shows.
pub(crate) const FEW_LINES: usize = 120;
/// Most lines of a file that a page of one change shows: as many as operations tell at once.
pub(crate) const ALL_LINES: usize = 1100;
/// Most files that are open at first.
const OPEN: usize = 5;

/// The place where a change is shown, and how.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The page of the change alone, below `/ui/`.
    pub(crate) page: &'a str,
    pub(crate) view: View,
    /// Most lines of a file.
    pub(crate) most: usize,
    /// Whether the change only may be made.
    pub(crate) would: bool,
}

/// The one file of a change that a page shows, and from which line of its diff on.
pub(crate) struct Only<'a> {
    pub(crate) path: &'a str,
    pub(crate) from: u64,
}

impl<'a> Only<'a> {
    /// The file that a visit asks for.
    pub(crate) fn of(visit: &'a Visit) -> Option<Self> {
        let path = visit.given("file")?;
        Some(Self { path, from: visit.number("from").unwrap_or_default() })
    }
}

/// The files of a change, each with its lines.
pub(crate) fn show(files: &[Value], place: Place<'_>) -> Markup {
    html! {
        @for (number, file) in files.iter().enumerate() {
            details.file open[number < OPEN] {
                summary { (title(file, place.would)) (counts(file)) }
                (lines(file, place))
            }
        }
    }
}

/// The head of a page that shows one file alone.
pub(crate) fn only(page: &str, view: View, only: Option<&Only<'_>>) -> Markup {
    html! {
        @if let Some(only) = only {
            p.said {
                "Only " strong.path { (visible(only.path)) } @if only.from > 0 { ", from line " (only.from + 1) " of its changes" } ". "
                @if only.from > 0 { a href=(links::page(page, &[("file", only.path), ("view", view.name())])) { "From its first line" } " · " }
                a href=(links::page(page, &[("view", view.name())])) { "All files" }
            }
        }
    }
}

/// How many files, in words.
pub(crate) fn summary(files: &[Value], more: u64) -> String {
    words::count(files.len() as u64 + more, "file", "files")
}

/// Leads to the other view of the lines.
pub(crate) fn views(place: &str, parameters: &[(&str, &str)], view: View) -> Markup {
    let address = |view: View| {
        let mut parameters = parameters.to_vec();
        parameters.push(("view", view.name()));
        links::page(place, &parameters)
    };
    html! {
        nav.views aria-label="How lines are shown" {
            @for (one, name) in [(View::Unified, "Unified"), (View::Split, "Side by side"), (View::Rendered, "Rendered")] {
                a href=(address(one)) aria-current=[(one == view).then_some("true")] { (name) }
            }
        }
    }
}

fn title(file: &Value, would: bool) -> Markup {
    let path = file.text("path");
    let (sign, what) = match (file.text("change"), would) {
        ("created", true) => ("new", "would be new"),
        ("created", false) => ("new", "is new"),
        ("moved", true) => ("moved", "would be moved from "),
        ("moved", false) => ("moved", "was moved from "),
        ("trashed", true) => ("gone", "would go into the trash"),
        ("trashed", false) => ("gone", "went into the trash"),
        ("deleted", true) => ("gone", "would be deleted permanently"),
        ("deleted", false) => ("gone", "was deleted"),
        (_, true) => ("edit", "would change"),
        (_, false) => ("edit", "changed"),
    };
    html! {
        span class={ "sign " (sign) } aria-hidden="true" {}
        span.path { (visible(path)) } " " span.what { (what) @if let Some(from) = file.given("from") { span.path { (visible(from)) } } }
    }
}

fn counts(file: &Value) -> Markup {
    let told = |name: &str| file.get(name).and_then(Value::as_u64);
    // A diff without all lines does not count the others.
    let (added, removed) = diff::counts(file.text("diff"));
    let (added, removed) = (told("lines_added").unwrap_or(added), told("lines_removed").unwrap_or(removed));
    html! {
        @if added + removed > 0 {
            span.counts {
                @if added > 0 { span.plus { "+" (added) } " " }
                @if removed > 0 { span.minus { "−" (removed) } }
            }
        }
    }
}

fn lines(file: &Value, place: Place<'_>) -> Markup {
    let size = |name: &str| file.get(name).and_then(Value::as_u64).map(words::bytes);
    html! {
        @let next = file.get("next_line").and_then(Value::as_u64);
        @let rest = |from: u64, name: &str| -> Markup {
            let page = [("file", file.text("path")), ("from", &from.to_string()), ("view", place.view.name())];
            html! { p.hint { a href=(links::page(place.page, &page)) { (name) } } }
        };
        @if let Some(diff) = file.given("diff") {
            (diff::show(diff, if links::is_note(file.text("path")) { place.view } else { place.view.of_source() }, place.most))
            @if diff.lines().count() > place.most {
                p.hint { a href=(links::page(place.page, &[("file", file.text("path")), ("view", place.view.name())])) { "All lines of this file" } }
            } @else if let Some(next) = next { (rest(next, "The next lines")) }
        } @else if let Some(next) = next {
            (rest(next, &format!("The lines of {}", visible(file.text("path")))))
        } @else if file.is("left_out") {
            p.hint {
                "The lines are not shown: the file is not text, is long, or has changed since. "
                @if let Some(before) = size("bytes_before") { "Before: " (before) ". " }
                @if let Some(after) = size("bytes_after") { "After: " (after) "." }
            }
        } @else {
            p.hint { "The text stays as it is." }
        }
    }
}
