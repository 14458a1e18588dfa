//! The visitor's rights, and why a path is allowed or denied.

use atlas_access::scope;
use atlas_tools::access::inspect_acl::InspectAcl;
use atlas_tools::entry;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::answer::{Answered as _, given};
use crate::frame::Section;
use crate::grants;
use crate::visit::Visit;

/// The kinds of calls.
const ACTS: [(&str, &str); 3] = [("read", "read"), ("write", "change"), ("delete", "delete")];

/// The page.
pub(crate) async fn page(visit: Visit) -> Response {
    let path = visit.parameter("path");
    let verdict = if path.is_empty() {
        html! {}
    } else {
        verdict(&visit, path).await
    };
    let content = html! {
        h1 { "Access" }
        (who(&visit))
        (grants::section(&visit).await)
        h2 { "Why is a path allowed or denied?" }
        form.filters action="/ui/access" {
            label { "Path" input name="path" value=(path) required maxlength="1024" autocomplete="off" placeholder="Folder/Note.md"; }
            label { "A caller wants to" select name="op" {
                @for (name, text) in ACTS { option value=(name) selected[name == visit.parameter("op")] { (text) } }
            } }
            label { "With the scopes" input name="scopes" value=(visit.parameter("scopes")) maxlength="1000" autocomplete="off" placeholder="read:vault write:vault"; }
            button type="submit" { "Ask" }
        }
        (verdict)
    };
    visit.page(Section::Access, "Access", content)
}

fn who(visit: &Visit) -> Markup {
    let (visitor, caller) = (&visit.visitor, &visit.visitor.caller);
    let held: Vec<&str> =
        scope::ALL.iter().filter(|scope| caller.scopes().holds(**scope)).map(|scope| scope.as_str()).collect();
    html! {
        table.facts-table {
            tbody {
                tr { th scope="row" { "You are" } td {
                    strong { (caller.name()) }
                    @if visitor.is_person { ", the person" @if visit.app().is_on_host() { " at this machine" } } @else { ", by a token" @if let Some(client) = caller.client() { " for " (client) } }
                } }
                tr { th scope="row" { "You may" } td { @for scope in held { code { (scope) } " " } } }
                tr { th scope="row" { "This session ends" } td {
                    time { (visitor.expires.strftime("%Y-%m-%d %H:%M UTC").to_string()) }
                    "; sign out to end it now, or end all of them by " code { "atlas ui --sign-out" }
                } }
                tr { th scope="row" { "Callers show" } td {
                    @if visit.app().gate.takes_signed() { "signed tokens" }
                    @else if visit.app().gate.is_shut() { "a token of their own; without one they read. " code { "atlas clients list" } " lists them, and " code { "atlas clients revoke NAME" } " revokes one" }
                    @else { "nothing: only programs of this machine reach it" }
                } }
            }
        }
    }
}

async fn verdict(visit: &Visit, path: &str) -> Markup {
    let scopes: Vec<&str> = visit.parameter("scopes").split([' ', ',']).filter(|scope| !scope.is_empty()).collect();
    let op = visit.given("op").unwrap_or("read");
    let call = given([
        ("path", Some(path.into())),
        ("op", Some(op.into())),
        ("scopes", (!scopes.is_empty()).then(|| json!(scopes))),
    ]);
    let found = match visit.call(entry::<InspectAcl>(), call).await {
        Ok(found) => found,
        Err(error) => return html! { p.problem role="alert" { (error.message) } },
    };
    let list = |name: &str| {
        let names: Vec<&str> = found.list(name).iter().filter_map(Value::as_str).collect();
        names.join(", ")
    };
    html! {
        section.card aria-live="polite" {
            h2 { @if found.is("allowed") { span.status.done { "Allowed" } } @else { span.status.gone { "Denied" } } " " (found.text("path")) }
            table.facts-table { tbody {
                @if let Some(by) = found.given("denied_by") { tr { th scope="row" { "Denied by" } td { code { (by) } } } }
                @if let Some(rule) = found.given("matched_rule") { tr { th scope="row" { "Rule" } td { code { (rule) } } } }
                tr { th scope="row" { "Needs" } td { (list("required_scopes")) } }
                @if !found.list("missing_scopes").is_empty() { tr { th scope="row" { "Lacks" } td { (list("missing_scopes")) } } }
                @if found.is("kill_switch") { tr { th scope="row" { "Vault" } td { "read-only" } } }
            } }
        }
    }
}
