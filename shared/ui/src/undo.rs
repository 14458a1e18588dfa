//! Taking commits back: first what would become of each file, then the deed, for exactly that.

use atlas_ops::Reason;
use atlas_tools::entry;
use atlas_tools::history::undo_changes::UndoChanges;
use atlas_vault::visible::visible;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use crate::answer::{Answered as _, given};
use crate::frame::Section;
use crate::visit::{Form, Visit};
use crate::{links, response, words};

/// Which commits, as an address or a form says it.
struct Which<'a> {
    generation: Option<u64>,
    by: &'a str,
    session: &'a str,
    since: &'a str,
}

impl<'a> Which<'a> {
    fn of(text: impl Fn(&'static str) -> &'a str) -> Self {
        let generation = text("generation").parse().ok();
        Self { generation, by: text("by"), session: text("session"), since: text("since") }
    }

    /// The call that undoes them, up to the generation of its dry run; without one, the dry run.
    fn call(&self, upto: Option<u64>, message: Option<&str>) -> Value {
        let text = |value: &str| Some(value).filter(|value| !value.is_empty()).map(Value::from);
        given([
            ("generation", self.generation.map(Value::from)),
            ("by", text(self.by)),
            ("of_session", text(self.session)),
            ("since", text(self.since)),
            ("upto", upto.filter(|_| self.generation.is_none()).map(Value::from)),
            ("dry_run", Some(upto.is_none().into())),
            ("message", message.map(Value::from)),
        ])
    }

    fn told(&self) -> Markup {
        html! {
            @match self.generation {
                Some(generation) => { "commit " (generation) },
                None => {
                    @if self.session.is_empty() { "what " (visible(self.by)) " did" } @else { "session “" (visible(self.session)) "”" }
                    @if !self.since.is_empty() { " since " (words::time(self.since)) }
                }
            }
        }
    }
}

/// The commits that would be taken back.
pub(crate) async fn preview(visit: Visit) -> Response {
    let which = Which::of(|name| visit.parameter(name));
    let plan = match visit.call(entry::<UndoChanges>(), which.call(None, None)).await {
        Ok(plan) => plan,
        Err(error) if error.is(Reason::GenerationNotFound) => {
            let content = html! {
                h1 { "Nothing to undo" }
                p { "No such commit is left among the newest." }
                p { a href="/ui/activity" { "All commits" } }
            };
            return visit.page(Section::Activity, "Nothing to undo", content);
        }
        Err(error) => return visit.failed(&error),
    };
    let (undone, stay) = (plan.list("undone"), plan.list("left"));
    let commits = plan.list("commits").len() as u64;
    let upto = plan.number("generation").to_string();
    let generation = which.generation.map(|generation| generation.to_string()).unwrap_or_default();
    let content = html! {
        h1 { "Undo " (which.told()) "?" }
        p.lead {
            (words::count(commits, "commit", "commits")) ", " (words::count(plan.number("undone_count"), "file", "files")) " to take back"
            @if !stay.is_empty() { ", changes in " (words::count(plan.number("left_count"), "file stay", "files stay")) }
            ". Nothing has changed yet."
        }
        (older(&plan))
        @if !undone.is_empty() {
            h2 { "What would happen" }
            ul.rows { @for file in undone { (taken_back(file)) } }
            (more(&plan, "undone", "undone_count"))
        }
        @if !stay.is_empty() {
            h2 { "What stays" }
            (stays(&plan))
        }
        @if undone.is_empty() {
            p { "There is nothing to take back." }
        } @else {
            form.stack method="post" action="/ui/undo" {
                (visit.form_token())
                @for (name, value) in [("generation", generation.as_str()), ("by", which.by), ("session", which.session), ("since", which.since), ("upto", upto.as_str())] {
                    @if !value.is_empty() { input type="hidden" name=(name) value=(value); }
                }
                label for="message" { "Why, for the log (or leave it empty)" }
                input #message name="message" maxlength="1000" autocomplete="off";
                div.tools {
                    button.primary type="submit" { "Undo" }
                    a.button href="/ui/activity" { "Leave it" }
                }
            }
        }
    };
    visit.page(Section::Activity, "Undo", content)
}

/// The commits that were not looked at.
fn older(plan: &Value) -> Markup {
    html! {
        @if let Some(from) = plan.get("looked_from").and_then(Value::as_u64) {
            p { "Older commits were not looked at, before generation " (from) "." }
        }
    }
}

/// How many files are not listed.
fn more(plan: &Value, list: &'static str, count: &'static str) -> Markup {
    let unlisted = plan.number(count).saturating_sub(plan.list(list).len() as u64);
    html! { @if unlisted > 0 { p { "And " (words::count(unlisted, "more file", "more files")) "." } } }
}

/// Files with changes that are not taken back, and why.
fn stays(plan: &Value) -> Markup {
    html! {
        ul.rows {
            @for file in plan.list("left") {
                @let path = file.text("path");
                li { a.path href=(links::document(path)) { (visible(path)) } " " span.facts { (visible(file.text("reason"))) } }
            }
        }
        (more(plan, "left", "left_count"))
    }
}

fn taken_back(file: &Value) -> Markup {
    let path = file.text("path");
    html! {
        li {
            @match file.get("from_generation").and_then(Value::as_u64) {
                Some(generation) => {
                    a.path href=(links::document(path)) { (visible(path)) } " "
                    span.facts { "gets the text of " a href=(links::commit(generation)) { "commit " (generation) } " again" }
                },
                None => { a.path href=(links::document(path)) { (visible(path)) } " " span.facts { "goes into the trash: it was new" } }
            }
        }
    }
}

/// Takes back what the form says.
pub(crate) async fn undo(form: Form) -> Response {
    let which = Which::of(|name| form.text(name));
    let upto = form.text("upto").parse().unwrap_or_default();
    match form.visit.call(entry::<UndoChanges>(), which.call(Some(upto), form.given("message"))).await {
        Ok(done) if is_all(&done) => form.visit.told(response::see(&links::page("activity", &[("said", "undone")]))),
        Ok(done) => form.visit.page(Section::Activity, "Undo", left(&done)),
        Err(error) => form.visit.refused(Section::Activity, &error),
    }
}

/// Whether nothing of the commits is left.
fn is_all(done: &Value) -> bool {
    done.list("left").is_empty()
        && !done.list("undone").is_empty()
        && done.get("looked_from").is_none_or(Value::is_null)
}

/// Tells of an undo that left changes in some files, or all.
fn left(done: &Value) -> Markup {
    let stay = !done.list("left").is_empty();
    html! {
        @if done.list("undone").is_empty() {
            h1 { "Nothing was taken back" }
            @if stay { p.lead role="status" { "These stay as they are." } }
        } @else {
            h1 { (words::count(done.number("undone_count"), "file", "files")) " taken back" }
            p.lead role="status" {
                "That is one new commit. The next sync writes it into the folder."
                @if stay { " Changes in " (words::count(done.number("left_count"), "file stay", "files stay")) "." }
            }
        }
        (older(done))
        (stays(done))
        p { a href="/ui/activity" { "All commits" } }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_undo_tells_what_it_left_and_why() {
        let stays = json!({ "path": "a.md", "reason": "ada changed it since" });
        let undone = json!({ "path": "b.md", "how": "restored", "from_generation": 3 });
        let some = left(&json!({ "undone": [undone, undone], "undone_count": 2, "left": [stays], "left_count": 1, "looked_from": 7 })).into_string();
        assert!(some.contains("<h1>2 files taken back</h1>") && some.contains("ada changed it since"), "{some}");
        assert!(some.contains("Changes in 1 file stay.") && some.contains("before generation 7"), "{some}");
        let none = left(&json!({ "undone": [], "undone_count": 0, "left": [stays], "left_count": 1 })).into_string();
        assert!(none.contains("<h1>Nothing was taken back</h1>") && none.contains("ada changed it since"), "{none}");
        assert!(!none.contains("new commit"), "{none}");
    }
}
