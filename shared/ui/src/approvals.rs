//! Calls that wait for a person: what each would change, and the decision.

use atlas_ops::{Error, Reason};
use atlas_tools::access::approve::Approve;
use atlas_tools::access::list_approvals::ListApprovals;
use atlas_tools::access::refuse::Refuse;
use atlas_tools::entry;
use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::answer::{Answered as _, given};
use crate::changes::{self, ALL_LINES, FEW_LINES, Only, Place};
use crate::diff::View;
use crate::frame::{Section, said};
use crate::session::cookie::is_local;
use crate::visit::{Form, Visit};
use crate::{links, response, vaults, words};

/// Most calls on the page.
const MOST: u64 = 50;
/// Most calls that one form approves.
const MOST_AT_ONCE: usize = 50;
/// Longest reason of a refusal, in bytes.
const MAX_REASON: usize = 1000;
/// Seconds between two looks of the script: at a folder of this machine, and at a store where each look costs something.
const EVERY: u64 = 3;
const EVERY_ELSEWHERE: u64 = 20;

/// Parameters that tell a page of a decision.
const APPROVED: &str = "approved";
const REFUSED: &str = "refused";

/// The page of all calls.
pub(crate) async fn page(visit: Visit) -> Response {
    // A visitor who may not decide begins with the search.
    if visit.uri.path() == "/ui" && !visit.visitor.caller.missing(entry::<ListApprovals>().info.scopes).is_empty() {
        return response::see("/ui/search");
    }
    let view = View::named(visit.parameter("view"));
    let listed = match listed(&visit).await {
        Ok(listed) => listed,
        Err(error) => return visit.failed(&error),
    };
    let every = if is_local(&visit.headers) { EVERY } else { EVERY_ELSEWHERE };
    let done = match visit.parameter("said") {
        APPROVED => Some("Approved. The call passes when the agent makes it again."),
        REFUSED => Some("Refused. The agent is told when it makes the call again."),
        _ => None,
    };
    let content = html! {
        div.head {
            h1 { "Approvals" }
            (changes::views("approvals", &[], view))
        }
        (said(done))
        div #calls data-live=(links::page("approvals/list", &[("view", view.name())])) data-every=(every) {
            (calls(&visit, &listed, view).await)
        }
        noscript { p.hint { "Load the page again to see new calls." } }
    };
    visit.page(Section::Approvals, "Approvals", content)
}

/// The part of the page that the script asks for again and again.
pub(crate) async fn list(visit: Visit) -> Response {
    let view = View::named(visit.parameter("view"));
    let listed = match listed(&visit).await {
        Ok(listed) => listed,
        Err(error) => return visit.failed(&error),
    };
    let tag = response::tag(&format!("{} {listed}", view.name()));
    if let Some(response) = response::unchanged(&visit.headers, &tag) {
        return visit.told(response);
    }
    let content = calls(&visit, &listed, view).await;
    visit.told(response::part(&visit.headers, &tag, content))
}

/// All calls, without their lines.
async fn listed(visit: &Visit) -> Result<Value, Error> {
    visit.call(entry::<ListApprovals>(), json!({ "status": "any", "diffs": false, "limit": MOST })).await
}

async fn calls(visit: &Visit, listed: &Value, view: View) -> Markup {
    let all = listed.list("approvals");
    let is_pending = |call: &&Value| call.text("status") == "pending";
    let waiting = all.iter().filter(is_pending).count();
    let pending = if waiting == 0 {
        Ok(Value::Null)
    } else {
        visit.call(entry::<ListApprovals>(), json!({ "status": "pending", "limit": MOST })).await
    };
    let pending = match &pending {
        Ok(pending) => pending.list("approvals"),
        Err(error) => return html! { p.problem role="alert" { (error.message) } },
    };
    html! {
        @match pending.len() {
            0 => div.empty {
                p { "Nothing waits for you." }
                p.hint { "When an agent wants to replace, move or delete what somebody else wrote, the call appears here, with the lines that it would change." }
            },
            waiting => p.lead { (words::count(waiting as u64, "call waits", "calls wait")) " for you." },
        }
        (sessions(visit, pending))
        @for call in pending { (waiting_call(visit, call, view, FEW_LINES)) }
        @if listed.number("hidden") > 0 {
            p.hint { (words::count(listed.number("hidden"), "other call", "other calls")) " would change notes that you may not read." }
        }
        @let decided: Vec<&Value> = all.iter().filter(|call| !is_pending(call)).collect();
        @if !decided.is_empty() {
            section.decided aria-labelledby="decided" {
                h2 #decided { "Decided" }
                ul.rows { @for call in decided { (decided_call(call)) } }
            }
        }
    }
}

/// For each session with several calls, a form that approves those that are shown.
fn sessions(visit: &Visit, pending: &[Value]) -> Markup {
    let of = |name: &str| -> Vec<&str> {
        let calls = pending.iter().filter(|call| call.text("session") == name && !call.is("lapsed"));
        calls.map(|call| call.text("id")).take(MOST_AT_ONCE).collect()
    };
    let mut names: Vec<&str> = pending.iter().filter_map(|call| call.given("session")).collect();
    names.sort_unstable();
    names.dedup();
    html! {
        @for name in names {
            @let ids = of(name);
            @if ids.len() > 1 {
                form.all method="post" action="/ui/approvals/approve" {
                    (visit.form_token())
                    @for id in &ids { input type="hidden" name="id" value=(id); }
                    button type="submit" { "Approve all " (ids.len()) " of session “" (name) "”" }
                }
            }
        }
    }
}

/// The caller, and the operation in words.
fn asked(call: &Value) -> Markup {
    html! {
        strong { (call.text("caller")) }
        @if let Some(client) = call.given("client") { " through " (client) }
        " wants to " strong { (words::operation(call.text("operation"))) }
    }
}

fn waiting_call(visit: &Visit, call: &Value, view: View, most: usize) -> Markup {
    let id = call.text("id");
    let files = call.list("files");
    let page = page_of(id);
    html! {
        article.call id=(format!("call-{id}")) {
            header {
                h2 { a href=(links::approval(id)) { (asked(call)) } }
                p.facts {
                    (words::time(call.text("asked_at")))
                    " · " code { (call.text("operation")) }
                    " · " (changes::summary(files, call.number("more_files")))
                    @if let Some(session) = call.given("session") { " · session “" (session) "”" }
                }
            }
            @if let Some(message) = call["arguments"].given("message") { blockquote.why { (message) } }
            @if call.is("lapsed") {
                p.problem { "A file has changed since. When the agent makes the call again, it waits anew, with the lines as they are then." }
            }
            (changes::show(files, Place { page: &page, view, most, would: true }))
            @if call.number("more_files") > 0 { p.hint { "And " (words::count(call.number("more_files"), "more file", "more files")) "." } }
            details.arguments {
                summary { "Arguments of the call" }
                pre tabindex="0" { code { (serde_json::to_string_pretty(&call["arguments"]).unwrap_or_default()) } }
            }
            (decision(visit, call))
        }
    }
}

fn decision(visit: &Visit, call: &Value) -> Markup {
    let id = call.text("id");
    let reason = format!("reason-{id}");
    html! {
        div.decide {
            @if !call.is("lapsed") {
                form method="post" action="/ui/approvals/approve" {
                    (visit.form_token())
                    input type="hidden" name="id" value=(id);
                    button.primary type="submit" { "Approve" }
                }
            }
            form.refuse method="post" action="/ui/approvals/refuse" {
                (visit.form_token())
                input type="hidden" name="id" value=(id);
                label.hidden for=(reason) { "Why not, for the agent" }
                input #(reason) name="reason" maxlength=(MAX_REASON) placeholder="Why not, for the agent" autocomplete="off";
                button type="submit" { "Refuse" }
            }
        }
    }
}

/// A call that was decided on, and whether it passed.
fn decided_call(call: &Value) -> Markup {
    let by = call.given("decided_by").unwrap_or("nobody");
    let (kind, status) = match call.text("status") {
        "used" => ("done", "Done"),
        "approved" if call.is("lapsed") => ("gone", "Lapsed"),
        "approved" => ("waits", "Approved"),
        "refused" => ("gone", "Refused"),
        _ => ("none", "Expired"),
    };
    html! {
        li {
            span class={ "status " (kind) } { (status) }
            " " a href=(links::approval(call.text("id"))) { (asked(call)) } " "
            span.facts {
                @match call.text("status") {
                    "used" => { "approved by " (by) ", and done" },
                    "approved" if call.is("lapsed") => { "approved by " (by) ", but a file has changed since" },
                    "approved" => { "by " (by) "; it passes when the agent makes it again" },
                    "refused" => { "by " (by) @if let Some(reason) = call.given("reason") { ": “" (reason) "”" } },
                    _ => "nobody decided in time",
                }
                @if let Some(at) = call.given("decided_at") { " · " (words::time(at)) }
            }
        }
    }
}

/// The page of a call, below `/ui/`.
fn page_of(id: &str) -> String {
    format!("approvals/{}", links::encoded(id))
}

/// The page of one call.
pub(crate) async fn one(visit: Visit, Path(id): Path<String>) -> Response {
    let only = Only::of(&visit);
    let call = given([
        ("id", Some(id.as_str().into())),
        ("path", only.as_ref().map(|only| only.path.into())),
        ("from_line", only.as_ref().map(|only| only.from.into())),
    ]);
    let found = visit.call(entry::<ListApprovals>(), call).await;
    let found = match &found {
        Ok(found) => found.list("approvals"),
        Err(error) if error.is(Reason::ApprovalNotFound) && visit.vaults().len() > 1 => {
            return visit.page(Section::Approvals, "Not in this vault", vaults::other(&visit, &id, &error.message));
        }
        Err(error) => return visit.failed(error),
    };
    let Some(call) = found.first() else {
        let content = html! { h1 { "Not for you" } p { "This call would change notes that you may not read." } };
        return visit.page(Section::Approvals, "Not for you", content);
    };
    let view = View::named(visit.parameter("view"));
    let page = page_of(call.text("id"));
    let file = [("file", visit.parameter("file")), ("from", visit.parameter("from"))];
    let content = html! {
        div.head {
            h1 { "A call" }
            (changes::views(&page, &file, view))
        }
        (changes::only(&page, view, only.as_ref()))
        @if call.text("status") == "pending" {
            (waiting_call(&visit, call, view, ALL_LINES))
        } @else {
            ul.rows { (decided_call(call)) }
            (changes::show(call.list("files"), Place { page: &page, view, most: ALL_LINES, would: false }))
            @if call.text("status") == "approved" {
                form.stack method="post" action="/ui/approvals/refuse" {
                    (visit.form_token())
                    input type="hidden" name="id" value=(call.text("id"));
                    button type="submit" { "Take the approval back" }
                }
            }
        }
        p { a href="/ui/approvals" { "All calls" } }
    };
    visit.page(Section::Approvals, "A call", content)
}

/// Approves the calls of a form.
pub(crate) async fn approve(form: Form) -> Response {
    for id in form.all("id").take(MOST_AT_ONCE) {
        if let Err(error) = form.visit.call(entry::<Approve>(), json!({ "id": id })).await {
            return form.visit.failed(&error);
        }
    }
    form.visit.told(response::see(&links::page("approvals", &[("said", APPROVED)])))
}

/// Refuses the call of a form.
pub(crate) async fn refuse(form: Form) -> Response {
    let reason = form.given("reason").map(Value::from);
    let call = given([("id", Some(form.text("id").into())), ("reason", reason)]);
    match form.visit.call(entry::<Refuse>(), call).await {
        Ok(_) => form.visit.told(response::see(&links::page("approvals", &[("said", REFUSED)]))),
        Err(error) => form.visit.failed(&error),
    }
}
