//! Files before and after a change.

use maud::{Markup, html};
use serde_json::Value;

use crate::answer::Answered as _;
use crate::diff::{self, View};
use crate::{links, words};

/// Most lines of a file that a page of several changes shows.
pub(crate) const FEW_LINES: usize = 120;
/// Most lines of a file that a page of one change shows.
pub(crate) const ALL_LINES: usize = 6000;
/// Most files that are open at first.
const OPEN: usize = 5;

/// The files of a change, each with its lines; of each at most `most`. `would` is whether the change only may be made.
pub(crate) fn show(files: &[Value], view: View, most: usize, would: bool) -> Markup {
    html! {
        @for (place, file) in files.iter().enumerate() {
            details.file open[place < OPEN] {
                summary { (title(file, would)) (counts(file)) }
                (lines(file, view, most))
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
            @for (one, name) in [(View::Unified, "Unified"), (View::Split, "Side by side")] {
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
        span.path { (path) } " " span.what { (what) @if let Some(from) = file.given("from") { (from) } }
    }
}

fn counts(file: &Value) -> Markup {
    let (added, removed) = diff::counts(file.text("diff"));
    html! {
        @if added + removed > 0 {
            span.counts {
                @if added > 0 { span.plus { "+" (added) } " " }
                @if removed > 0 { span.minus { "−" (removed) } }
            }
        }
    }
}

fn lines(file: &Value, view: View, most: usize) -> Markup {
    let size = |name: &str| file.get(name).and_then(Value::as_u64).map(words::bytes);
    html! {
        @if let Some(diff) = file.given("diff") {
            (diff::show(diff, view, most))
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
