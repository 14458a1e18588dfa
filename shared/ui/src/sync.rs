//! Whether the folder and the mirror agree: the last sync, and conflict copies.

use atlas_tools::admin::vault_sync::VaultSync;
use atlas_tools::bridge::health::Health;
use atlas_tools::conflicts::list_conflicts::ListConflicts;
use atlas_tools::entry;
use atlas_tools::history::list_commits::ListCommits;
use atlas_vault::visible::visible;
use axum::response::Response;
use futures::future;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::answer::Answered as _;
use crate::frame::{Section, said};
use crate::visit::{Form, Visit};
use crate::{links, response, words};

/// Most conflict copies that are shown.
const MOST: u64 = 100;

/// The page.
pub(crate) async fn page(visit: Visit) -> Response {
    let (health, conflicts, newest) = future::join3(
        visit.call(entry::<Health>(), json!({})),
        visit.call(entry::<ListConflicts>(), json!({ "limit": MOST })),
        visit.call(entry::<ListCommits>(), json!({ "limit": 1 })),
    )
    .await;
    let health = match health {
        Ok(health) => health,
        Err(error) => return visit.failed(&error),
    };
    let [conflicts, newest] = [conflicts, newest].map(Result::unwrap_or_default);
    let done = match visit.parameter("said") {
        "asked" => Some("Asked. The host syncs within seconds, if it runs."),
        "resolved" => Some(
            "Resolved, in one new commit. The next sync writes it into the folder; what you did not keep is in the trash.",
        ),
        _ => None,
    };
    let content = html! {
        h1 { "Sync" }
        (said(done))
        (state(&visit, &health, newest.list("commits").first()))
        h2 { "Conflicts" }
        @let (copies, all) = (conflicts.list("items"), conflicts.number("total_count"));
        @if copies.is_empty() {
            p { "None. Where both sides changed the same lines, both texts are kept, and the copies appear here." }
        } @else {
            p { (words::count(all, "copy", "copies")) " beside your notes. Compare each with your version, and keep one, both, or a mix." }
            ul.rows { @for copy in copies { (conflict(copy)) } }
            @if all > copies.len() as u64 { p.hint { "Resolve these, and the others appear." } }
        }
    };
    visit.page(Section::Sync, "Sync", content)
}

fn state(visit: &Visit, health: &Value, newest: Option<&Value>) -> Markup {
    let sync = &health["sync"];
    html! {
        table.facts-table {
            tbody {
                tr { th scope="row" { "Last sync" } td {
                    @match sync.given("time") {
                        Some(time) => {
                            (words::time(time))
                            @if sync.is("stale") { " " span.status.gone { "Overdue" } " Its computer may be asleep." } @else { " " span.status.done { "On time" } }
                        },
                        None => "No sync has been recorded yet.",
                    }
                } }
                @if let Some(newest) = newest {
                    tr { th scope="row" { "Newest commit" } td {
                        a href=(links::commit(newest.number("generation"))) { "Commit " (newest.number("generation")) }
                        " by " (newest.text("author")) " · " (words::time(newest.text("time")))
                        @if newest.number("generation") > sync.number("generation") {
                            br; span.hint { "Newer than the last recorded sync: it comes into the folder with the next." }
                        }
                    } }
                }
                tr { th scope="row" { "Vault" } td { (visit.vault_name()) } }
                tr { th scope="row" { "Program" } td { "Atlas Mirror " (health.text("version")) } }
            }
        }
        form method="post" action="/ui/sync" {
            (visit.form_token())
            p { button type="submit" { "Ask the host for a sync" } }
        }
    }
}

fn conflict(copy: &Value) -> Markup {
    let (path, original) = (copy.text("path"), copy.text("original"));
    html! {
        li {
            div.row {
                h2 { a href=(links::page("conflict", &[("path", path)])) { (visible(original)) } }
                a.button href=(links::page("conflict", &[("path", path)])) { "Compare" span.hidden { " " (visible(path)) } }
            }
            p.facts {
                @if !copy.is("has_original") { "Your version is gone. " }
                "The other version" @if let Some(by) = copy.given("by") { " by " (visible(by)) } ": " a href=(links::document(path)) { (visible(links::name(path))) }
            }
        }
    }
}

/// Asks the host for a sync.
pub(crate) async fn ask(form: Form) -> Response {
    match form.visit.call(entry::<VaultSync>(), json!({})).await {
        Ok(_) => form.visit.told(response::see(&links::page("sync", &[("said", "asked")]))),
        Err(error) => form.visit.failed(&error),
    }
}
