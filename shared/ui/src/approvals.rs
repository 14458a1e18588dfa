//! Calls that wait for a person: what each would change, and the decision.

use atlas_ops::{Error, Reason};
use atlas_tools::access::list_approvals::ListApprovals;
use atlas_tools::entry;
use atlas_vault::visible::visible;
use axum::extract::Path;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;

use crate::answer::{Answered as _, given};
use crate::changes::{self, ALL_LINES, FEW_LINES, Only, Place};
use crate::diff::View;
use crate::frame::{Section, said};
use crate::session::cookie::is_local;
use crate::visit::Visit;
use crate::{links, response, vaults, words};

pub(crate) mod decide;

/// Most calls that wait on a page: as many as one form approves.
const MOST: usize = 50;
/// Most calls of any status that are looked at for those that were decided on.
const MOST_LISTED: u64 = 100;
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
    let before = visit.parameter("before");
    let calls = match calls(&visit, view).await {
        Ok(calls) => calls,
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
            (changes::views("approvals", &[("before", before)], view))
        }
        (said(done))
        div #calls data-live=(links::page("approvals/list", &[("view", view.name()), ("before", before)])) data-every=(every) {
            (calls)
        }
        noscript { p.hint { "Load the page again to see new calls." } }
    };
    visit.page(Section::Approvals, "Approvals", content)
}

/// The part of the page that the script asks for again and again.
pub(crate) async fn list(visit: Visit) -> Response {
    let view = View::named(visit.parameter("view"));
    let seen = async {
        let all = visit.call(entry::<ListApprovals>(), every(&visit)).await?;
        // Those that wait may be older than all that are listed.
        let pending = match all.number("waiting") {
            0 => Value::Null,
            _ => visit.call(entry::<ListApprovals>(), pending(&visit, false)).await?,
        };
        Ok::<_, Error>(response::tag(&format!("{} {all} {pending}", view.name())))
    };
    let tag = match seen.await {
        Ok(tag) => tag,
        Err(error) => return visit.failed(&error),
    };
    if let Some(response) = response::unchanged(&visit.headers, &tag) {
        return visit.told(response);
    }
    match calls(&visit, view).await {
        Ok(calls) => visit.told(response::part(&visit.headers, &tag, calls)),
        Err(error) => visit.failed(&error),
    }
}

/// The id of the call that a page begins behind.
fn before(visit: &Visit) -> Option<Value> {
    visit.given("before").map(Value::from)
}

/// The question for the newest calls of any status, without their lines.
fn every(visit: &Visit) -> Value {
    given([
        ("status", Some("any".into())),
        ("diffs", Some(false.into())),
        ("before", before(visit)),
        ("limit", Some(MOST_LISTED.into())),
    ])
}

/// The question for the calls that wait.
fn pending(visit: &Visit, diffs: bool) -> Value {
    given([
        ("status", Some("pending".into())),
        ("diffs", Some(diffs.into())),
        ("before", before(visit)),
        ("limit", Some(MOST.into())),
    ])
}

async fn calls(visit: &Visit, view: View) -> Result<Markup, Error> {
    let all = visit.call(entry::<ListApprovals>(), every(visit));
    let pending = visit.call(entry::<ListApprovals>(), pending(visit, true));
    let (all, found) = futures::future::try_join(all, pending).await?;
    let pending = found.list("approvals");
    let decided: Vec<&Value> =
        all.list("approvals").iter().filter(|call| call.text("status") != "pending").take(MOST).collect();
    let next = pending.last().filter(|_| found.is("truncated")).map(|call| call.text("id"));
    let is_whole = next.is_none() && before(visit).is_none();
    Ok(html! {
        (lead(found.number("waiting"), pending.len() as u64, is_whole))
        (sessions(visit, pending, is_whole))
        (dismissal(visit, pending))
        @for call in pending { (waiting_call(visit, call, view, FEW_LINES)) }
        @if let Some(next) = next {
            p { a.button href=(links::page("approvals", &[("before", next), ("view", view.name())])) { "More calls that wait" } }
        }
        @if before(visit).is_some() { p { a href=(links::page("approvals", &[("view", view.name())])) { "The newest calls" } } }
        @if all.number("hidden") > 0 {
            p.hint {
                (words::count(all.number("hidden"), "other call", "other calls")) " read or would change notes that you may not read, or act on the whole vault, of which you may read a part."
            }
        }
        @if !decided.is_empty() {
            section.decided aria-labelledby="decided" {
                h2 #decided { "Decided" }
                ul.rows { @for call in decided { (decided_call(call)) } }
            }
        }
    })
}

/// How many calls wait, and how many of them are here.
fn lead(waiting: u64, here: u64, is_whole: bool) -> Markup {
    html! {
        @if waiting == 0 {
            div.empty {
                p { "Nothing waits for you." }
                p.hint { "When an agent wants to replace, move or delete what somebody else wrote, the call appears here, with the lines that it would change." }
            }
        } @else {
            p.lead {
                (words::count(waiting, "call waits", "calls wait")) " for you."
                @if !is_whole || here < waiting { " Here " @if here == 1 { "is " } @else { "are " } (here) " of them." }
            }
        }
    }
}

/// For each session with several calls, a form that approves exactly those that are shown.
fn sessions(visit: &Visit, pending: &[Value], is_whole: bool) -> Markup {
    let of = |name: &str| -> Vec<&str> {
        let calls = pending.iter().filter(|call| call.text("session") == name && !call.is("lapsed"));
        calls.map(|call| call.text("id")).take(MOST).collect()
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
                    button type="submit" { (approve_all(ids.len(), name, is_whole)) }
                }
            }
        }
    }
}

/// A form that refuses all shown calls that can be approved no more.
fn dismissal(visit: &Visit, pending: &[Value]) -> Markup {
    let lapsed: Vec<&str> = pending.iter().filter(|call| call.is("lapsed")).map(|call| call.text("id")).collect();
    html! {
        @if lapsed.len() > 1 {
            form.all method="post" action="/ui/approvals/refuse" {
                (visit.form_token())
                @for id in &lapsed { input type="hidden" name="id" value=(id); }
                input type="hidden" name="reason" value="a file has changed since";
                button type="submit" { "Dismiss the " (lapsed.len()) " calls whose files have changed" }
            }
        }
    }
}

fn approve_all(calls: usize, session: &str, is_whole: bool) -> String {
    let session = visible(session);
    match is_whole {
        true => format!("Approve all {calls} of session “{session}”"),
        // It may have calls on other pages.
        false => format!("Approve the {calls} of session “{session}” on this page"),
    }
}

/// The caller, and the operation in words.
fn asked(call: &Value) -> Markup {
    html! {
        strong { (visible(call.text("caller"))) }
        @if let Some(client) = call.given("client") { " through " (visible(client)) }
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
                    @if let Some(session) = call.given("session") { " · session “" (visible(session)) "”" }
                }
            }
            @if let Some(message) = call["arguments"].given("message") { blockquote.why { (visible(message)) } }
            @if call.is("lapsed") {
                p.problem { "A file has changed since. When the agent makes the call again, it waits anew, with the lines as they are then." }
            }
            (changes::show(files, Place { page: &page, view, most, would: true }))
            @if call.number("more_files") > 0 { p.hint { "And " (words::count(call.number("more_files"), "more file", "more files")) "." } }
            details.arguments {
                summary { "Arguments of the call" }
                pre tabindex="0" { code { (visible(&serde_json::to_string_pretty(&call["arguments"]).unwrap_or_default())) } }
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
    let by = visible(call.given("decided_by").unwrap_or("nobody"));
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
                    "refused" => { "by " (by) @if let Some(reason) = call.given("reason") { ": “" (visible(reason)) "”" } },
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
        let content = html! { h1 { "Not for you" } p { "This call reads or would change notes that you may not read, or acts on the whole vault, of which you may read a part." } };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_counts_all_calls_and_says_how_many_are_here() {
        let lead = |waiting, here, is_whole| lead(waiting, here, is_whole).into_string();
        assert!(lead(0, 0, true).contains("Nothing waits for you."));
        assert_eq!(lead(2, 2, true), "<p class=\"lead\">2 calls wait for you.</p>");
        assert!(lead(70, 50, false).contains("70 calls wait for you. Here are 50 of them."));
        assert!(lead(1, 0, false).contains("1 call waits for you. Here are 0 of them."));
    }

    #[test]
    fn a_form_says_which_calls_it_approves() {
        assert_eq!(approve_all(2, "tidy up", true), "Approve all 2 of session “tidy up”");
        assert_eq!(approve_all(50, "a\u{202E}b", false), "Approve the 50 of session “a⟨U+202E⟩b” on this page");
    }
}
