//! A file and its conflict copy, part by part, and what a person keeps of them.

use atlas_tools::conflicts::read_conflict::ReadConflict;
use atlas_tools::conflicts::resolve_conflict::ResolveConflict;
use atlas_tools::entry;
use atlas_vault::diff;
use atlas_vault::visible::visible;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::answer::{Answered as _, given};
use crate::diff::marked;
use crate::frame::Section;
use crate::visit::{Form, Visit};
use crate::{links, response, words};

/// Most bytes of an answer with both versions.
const ROOM: usize = 4 << 20;
/// Most parts that a person chooses for one by one, and most lines that are shown of a part.
const MOST: usize = 80;
const MOST_LINES: usize = 60;
/// Largest text that is changed here, in bytes: a form takes up to three for each.
const MAX_TEXT: usize = 300_000;
/// The field that says that the lines of the file end as on Windows, which no form keeps.
const BREAKS: &str = "breaks";

/// What is kept of a part: its name in addresses, and in words.
const CHOICES: [(&str, &str); 4] =
    [("mine", "Yours"), ("theirs", "Theirs"), ("both", "Both, yours first"), ("base", "As it was")];

/// A part that differs, and the choice for it.
struct Choice<'a> {
    name: String,
    part: &'a Value,
    chosen: &'a str,
}

impl<'a> Choice<'a> {
    fn of(visit: &'a Visit, place: usize, part: &'a Value, has_base: bool) -> Self {
        let name = format!("p{place}");
        let usual = if has_base && part.text("changed") == "theirs" { "theirs" } else { "mine" };
        let asked = visit.parameter(&name);
        let chosen = CHOICES.iter().map(|(choice, _)| *choice).find(|choice| *choice == asked).unwrap_or(usual);
        Self { name, part, chosen }
    }

    /// The lines that are kept.
    fn text(&self) -> String {
        let [mine, theirs, base] = ["mine", "theirs", "base"].map(|side| self.part.text(side));
        match self.chosen {
            "theirs" => theirs.to_owned(),
            "base" => base.to_owned(),
            "both" => {
                let gap = if mine.is_empty() || mine.ends_with('\n') { "" } else { "\n" };
                format!("{mine}{gap}{theirs}")
            }
            _ => mine.to_owned(),
        }
    }
}

/// A conflict.
pub(crate) async fn page(visit: Visit) -> Response {
    let visit = visit.with_room(ROOM);
    let path = visit.parameter("path");
    let read = match visit.call(entry::<ReadConflict>(), json!({ "path": path })).await {
        Ok(read) => read,
        Err(error) => return visit.failed(&error),
    };
    let (original, parts, has_base) = (read.text("original"), read.list("parts"), read.get("base").is_some());
    let differ: Vec<&Value> = parts.iter().filter(|part| part.get("theirs").is_some()).collect();
    let choices: Vec<Choice<'_>> =
        differ.iter().enumerate().map(|(place, part)| Choice::of(&visit, place, part, has_base)).collect();
    let has_mine = read.get("mine").is_some();
    let content = html! {
        p.crumbs { a href="/ui/sync" { "Sync" } }
        h1 { "Conflict in " (visible(links::name(original))) }
        p.lead { "Both sides changed the same lines. Both versions are kept until you decide." }
        (versions(&read))
        (whole(&visit, &read))
        @if read.is("left_out") {
            p.hint { "The lines are not shown: the files are not text, or are long." }
        } @else if has_mine && choices.is_empty() {
            p { "The two versions have the same text." }
        } @else if has_mine {
            h2 #parts { (words::count(choices.len() as u64, "place differs", "places differ")) }
            @if !has_base { p.hint { "The text that both were made from is not known here, so both versions are compared with each other." } }
            form.choose action="/ui/conflict#merged" {
                input type="hidden" name="path" value=(path);
                @for (number, choice) in choices.iter().take(MOST).enumerate() { (place(number + 1, choice, has_base)) }
                @if choices.len() > MOST { p.hint { "And " (words::count((choices.len() - MOST) as u64, "more place", "more places")) ", in the text below." } }
                p { button type="submit" { "Put these together" } }
            }
            (merged(&visit, &read, parts, choices))
        }
    };
    visit.page(Section::Sync, &format!("Conflict in {}", links::name(original)), content)
}

/// The two files.
fn versions(read: &Value) -> Markup {
    let row = |name: &str, path: &str, side: &Value| {
        html! {
            tr {
                th scope="row" { (name) }
                td {
                    @if side.is_null() { "gone" } @else {
                        a.path href=(links::document(path)) { (visible(path)) }
                        " · " (words::bytes(side.number("bytes"))) " · " (words::time(side.text("mtime")))
                    }
                }
            }
        }
    };
    html! {
        table.facts-table { tbody {
            (row("Yours", read.text("original"), &read["mine"]))
            (row("Theirs", read.text("path"), &read["theirs"]))
        } }
    }
}

/// The hashes of both versions.
fn seen(read: &Value) -> String {
    let hashes = ["mine", "theirs"].map(|side| read[side].text("sha256"));
    hashes.into_iter().filter(|hash| !hash.is_empty()).collect::<Vec<_>>().join(",")
}

/// The forms that keep whole files.
fn whole(visit: &Visit, read: &Value) -> Markup {
    let one = |keep: &str, name: &str| {
        html! {
            form method="post" action="/ui/conflict" {
                (visit.form_token())
                @for (name, value) in [("path", read.text("path")), ("keep", keep), ("if_match", &seen(read))] {
                    input type="hidden" name=(name) value=(value);
                }
                button type="submit" { (name) }
            }
        }
    };
    html! {
        div.tools.decide-whole {
            @if read.get("mine").is_some() {
                (one("mine", "Keep yours")) (one("theirs", "Keep theirs")) (one("both", "Keep both files"))
            } @else {
                (one("theirs", "Keep theirs as your file")) (one("mine", "Throw theirs away too"))
            }
        }
        p.hint { "What you do not keep goes into the trash, and stays in the history." }
    }
}

/// A part that differs, with its versions side by side.
fn place(number: usize, choice: &Choice<'_>, has_base: bool) -> Markup {
    let part = choice.part;
    let what = match part.text("changed") {
        "mine" => "only yours changed it",
        "theirs" if has_base => "only theirs changed it",
        "theirs" => "the versions differ",
        _ => "both changed it, differently",
    };
    let [mine, theirs, base] = ["mine", "theirs", "base"].map(|side| part.text(side));
    let changed = if mine == base { theirs } else { mine };
    // Each version beside what it was made from, or else beside the other.
    let [before_mine, before_theirs] = if has_base { [base, base] } else { [theirs, mine] };
    let sides = [
        ("base", "As it was", base, changed),
        ("mine", "Yours", mine, before_mine),
        ("theirs", "Theirs", theirs, before_theirs),
    ];
    html! {
        fieldset.place {
            legend { strong { "Place " (number) } " · " span.facts { (what) } }
            div.sides {
                @for (side, name, text, other) in sides {
                    @if side != "base" || has_base {
                        div.side-text {
                            h3 { (name) }
                            div.lines.ins[side != "base" && (text != base || !has_base)] tabindex="0" role="group" aria-label={ (name) ", place " (number) } { (lines(text, other)) }
                        }
                    }
                }
            }
            div.keep {
                @for (value, name) in CHOICES {
                    @if value != "base" || has_base {
                        label { input type="radio" name=(choice.name) value=(value) checked[value == choice.chosen]; " " (name) }
                    }
                }
            }
        }
    }
}

/// The lines of a part, with the words marked that `other` does not have.
fn lines(text: &str, other: &str) -> Markup {
    let all = text.lines().count();
    let others: Vec<&str> = other.lines().take(MOST_LINES).collect();
    html! {
        @if text.is_empty() { p.hint { "Nothing" } }
        @for (at, line) in text.lines().take(MOST_LINES).enumerate() {
            @let marks = others.get(at).and_then(|other| diff::words(other, line)).map(|(_, marks)| marks).unwrap_or_default();
            div { (marked(line, &marks)) }
        }
        @if all > MOST_LINES { p.hint { (words::count((all - MOST_LINES) as u64, "more line", "more lines")) } }
    }
}

/// The text of all choices, to change and keep.
fn merged(visit: &Visit, read: &Value, parts: &[Value], choices: Vec<Choice<'_>>) -> Markup {
    let mut choices = choices.into_iter();
    let text: String = parts
        .iter()
        .map(|part| match part.get("theirs").and_then(|_| choices.next()) {
            Some(choice) => choice.text(),
            None => part.text("mine").to_owned(),
        })
        .collect();
    if text.len() > MAX_TEXT {
        return html! { p.hint { "The text is too long to be changed here: keep a version, and change that in your folder." } };
    }
    let breaks = if text.contains("\r\n") { "windows" } else { "" };
    html! {
        form.stack #merged method="post" action="/ui/conflict" {
            (visit.form_token())
            @for (name, value) in [("path", read.text("path")), ("keep", "merged"), ("if_match", &seen(read)), (BREAKS, breaks)] {
                input type="hidden" name=(name) value=(value);
            }
            h2 { label for="kept" { "The text as chosen above" } }
            // A form drops the first line break.
            textarea #kept name="content" rows="16" spellcheck="false" { "\n" (text) }
            button.primary type="submit" { "Keep this text" }
        }
    }
}

/// Keeps what the form says.
pub(crate) async fn resolve(form: Form) -> Response {
    let keep = form.text("keep");
    let content = (keep == "merged").then(|| {
        let text = form.text("content").replace("\r\n", "\n");
        if form.text(BREAKS).is_empty() { text } else { text.replace('\n', "\r\n") }
    });
    let call = given([
        ("path", Some(form.text("path").into())),
        ("keep", Some(keep.into())),
        ("content", content.map(Value::from)),
        ("if_match", form.given("if_match").map(Value::from)),
    ]);
    match form.visit.call(entry::<ResolveConflict>(), call).await {
        Ok(_) => form.visit.told(response::see(&links::page("sync", &[("said", "resolved")]))),
        Err(error) => form.visit.refused(Section::Sync, &error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_are_marked_in_both_versions() {
        assert_eq!(
            lines("a blue boat\n<b>\n", "a red boat\n").into_string(),
            "<div>a <mark>blue</mark> boat</div><div>&lt;b&gt;</div>"
        );
        assert!(lines("", "x\n").into_string().contains("Nothing"));
        assert!(lines(&"x\n".repeat(100), "").into_string().contains("40 more lines"));
    }

    #[test]
    fn a_choice_of_both_keeps_lines_apart() {
        let part = json!({ "changed": "differently", "mine": "one", "theirs": "two\n", "base": "zero\n" });
        let text = |chosen| Choice { name: String::new(), part: &part, chosen }.text();
        assert_eq!(["mine", "theirs", "both", "base"].map(text), ["one", "two\n", "one\ntwo\n", "zero\n"]);
    }
}
