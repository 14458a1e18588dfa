//! The visitor's rights, the clients and limits, and why a path is found or not, allowed or denied.

use atlas_access::scope;
use atlas_tools::access::inspect_acl::InspectAcl;
use atlas_tools::admin::explain_path::ExplainPath;
use atlas_tools::admin::get_metrics::GetMetrics;
use atlas_tools::admin::get_server_config::GetServerConfig;
use atlas_tools::bridge::health::Health;
use atlas_tools::entry;
use atlas_vault::visible::visible;
use axum::response::Response;
use futures::future;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::answer::{Answered as _, given};
use crate::frame::Section;
use crate::visit::Visit;
use crate::{grants, links, words};

/// The kinds of calls.
const ACTS: [(&str, &str); 3] = [("read", "read"), ("write", "change"), ("delete", "delete")];

/// Most clients that are listed.
const MOST_CLIENTS: usize = 100;

/// The page.
pub(crate) async fn page(visit: Visit) -> Response {
    let path = visit.parameter("path");
    let verdict = if path.is_empty() {
        html! {}
    } else {
        html! { (explained(&visit, path).await) (verdict(&visit, path).await) }
    };
    let content = html! {
        h1 { "Access" }
        (who(&visit))
        (grants::section(&visit).await)
        (clients(&visit))
        (state(&visit).await)
        h2 #why { "Why is a note found or not, allowed or denied?" }
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

/// The clients that have tokens of their own on this machine.
fn clients(visit: &Visit) -> Markup {
    let clients = if visit.visitor.is_person { visit.app().gate.clients() } else { Vec::new() };
    html! {
        @if !clients.is_empty() {
            h2 { "Clients with a token of their own" }
            ul.rows {
                @for (name, since) in clients.iter().take(MOST_CLIENTS) {
                    li { div.row {
                        span { strong { (name) } " · since " (words::time(&since.to_string())) }
                        a href=(links::page("activity", &[("by", name)])) { "What it did" }
                    } }
                }
            }
            p.hint { code { "atlas clients revoke NAME" } " ends one." }
        }
    }
}

/// The limits on calls, and what the index has; for administrators.
async fn state(visit: &Visit) -> Markup {
    if !visit.visitor.caller.missing(entry::<GetMetrics>().info.scopes).is_empty() {
        return html! {};
    }
    let (config, metrics, health) = future::join3(
        visit.call(entry::<GetServerConfig>(), json!({})),
        visit.call(entry::<GetMetrics>(), json!({})),
        visit.call(entry::<Health>(), json!({})),
    )
    .await;
    let [config, metrics, health] = [config, metrics, health].map(Result::unwrap_or_default);
    let sum = |name: &str| {
        let values = metrics.list("metrics").iter().filter(|metric| metric.text("name") == name);
        values.filter_map(|metric| metric.get("value")?.as_f64()).sum::<f64>() as u64
    };
    let limits = &config["limits"];
    let most = |name: &str| limits.get(name).and_then(Value::as_u64);
    html! {
        h2 { "Limits and index" }
        table.facts-table { tbody {
            tr { th scope="row" { "Each caller may" } td {
                @match most("max_operations_per_minute") {
                    Some(minute) => {
                        "read " (words::count(minute, "time", "times")) " a minute, "
                        @if let Some(second) = most("max_operations_per_second") { (second) " at once" }
                    },
                    None => "call as often as it likes: the throttle is off",
                }
                @if let Some(minute) = most("max_vault_operations_per_minute") { "; all together " (words::count(minute, "time", "times")) " a minute" }
                @if let Some(writes) = most("max_concurrent_writes_per_vault") { "; " (words::count(writes, "change", "changes")) " of the vault at a time" }
            } }
            tr { th scope="row" { "Refused by the throttle" } td { (words::count(sum("atlas_throttled_total"), "call", "calls")) " since this program began" } }
            // With a token for some folders, no size is told.
            @if sum("atlas_vault_segments") > 0 {
                tr { th scope="row" { "In the index" } td {
                    (words::count(sum("atlas_vault_notes"), "note", "notes")) ", " (words::count(sum("atlas_vault_attachments"), "other file", "other files"))
                    ", " (words::bytes(sum("atlas_vault_text_bytes"))) " of text in " (words::count(sum("atlas_vault_segments"), "segment", "segments"))
                } }
            }
            tr { th scope="row" { "As of" } td {
                a href=(links::commit(health.number("generation"))) { "commit " (health.number("generation")) }
                @if health["sync"].is("stale") { " " span.status.gone { "Overdue" } " The host has not synced for long." }
            } }
        } }
    }
}

/// Whether and why a file is found.
async fn explained(visit: &Visit, path: &str) -> Markup {
    let call = given([("path", Some(path.into())), ("scopes", scopes(visit))]);
    let found = match visit.call(entry::<ExplainPath>(), call).await {
        Ok(found) => found,
        Err(error) => return html! { p.problem role="alert" { (error.message) } },
    };
    let (kind, verdict) = match found.text("verdict") {
        "found" => ("done", "Found"),
        "found_by_name" => ("waits", "By name only"),
        "hidden" => ("gone", "Hidden"),
        "closed" => ("gone", "Closed"),
        "trashed" => ("gone", "In the trash"),
        "left_out" => ("gone", "Left out"),
        _ => ("none", "Not there"),
    };
    html! {
        section.card aria-live="polite" {
            h2 { span class={ "status " (kind) } { (verdict) } " " (visible(found.text("path"))) }
            p { (found.text("message")) @if let Some(by) = found.given("denied_by") { " Rule: " code { (by) } "." } }
            @if let Some(told) = found.given("told_at") { p.hint { "What syncs leave out was told by the host " (words::time(told)) "." } }
            @if !found.list("suggestions").is_empty() {
                p { "There is:" }
                ul { @for path in found.list("suggestions").iter().filter_map(Value::as_str) { li { a.path href=(links::document(path)) { (visible(path)) } } } }
            }
        }
    }
}

/// The scopes that a visit names.
fn scopes(visit: &Visit) -> Option<Value> {
    let scopes: Vec<&str> = visit.parameter("scopes").split([' ', ',']).filter(|scope| !scope.is_empty()).collect();
    (!scopes.is_empty()).then(|| json!(scopes))
}

async fn verdict(visit: &Visit, path: &str) -> Markup {
    let op = visit.given("op").unwrap_or("read");
    let call = given([("path", Some(path.into())), ("op", Some(op.into())), ("scopes", scopes(visit))]);
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
            h2 { @if found.is("allowed") { span.status.done { "Allowed" } } @else { span.status.gone { "Denied" } } " " (visible(found.text("path"))) }
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
