//! Whether the folder and the mirror agree: the last sync, and conflict copies.

use std::collections::BTreeSet;

use atlas_tools::admin::vault_sync::VaultSync;
use atlas_tools::bridge::health::Health;
use atlas_tools::entry;
use atlas_tools::history::list_commits::ListCommits;
use atlas_tools::search::Search;
use axum::response::Response;
use futures::future;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::answer::Answered as _;
use crate::frame::{Section, said};
use crate::visit::{Form, Visit};
use crate::{links, response, words};

/// The mark in the names of conflict copies, and most copies that are shown.
const CONFLICT: &str = " (conflict ";
const MOST: u64 = 100;

/// The page.
pub(crate) async fn page(visit: Visit) -> Response {
    let (health, conflicts, newest) = future::join3(
        visit.call(entry::<Health>(), json!({})),
        visit.call(entry::<Search>(), json!({ "query": format!("path:\"{}\"", CONFLICT.trim()), "limit": MOST })),
        visit.call(entry::<ListCommits>(), json!({ "limit": 1 })),
    )
    .await;
    let health = match health {
        Ok(health) => health,
        Err(error) => return visit.failed(&error),
    };
    let [conflicts, newest] = [conflicts, newest].map(Result::unwrap_or_default);
    let copies: BTreeSet<&str> = {
        let paths = conflicts.list("results").iter().map(|found| found.text("path"));
        paths.filter(|path| path.contains(CONFLICT)).collect()
    };
    let done = (visit.parameter("said") == "asked").then_some("Asked. The host syncs within seconds, if it runs.");
    let content = html! {
        h1 { "Sync" }
        (said(done))
        (state(&visit, &health, newest.list("commits").first()))
        h2 { "Conflicts" }
        @if copies.is_empty() {
            p { "None. Where both sides changed the same lines, both texts are kept, and the copies appear here." }
        } @else {
            p { (words::count(copies.len() as u64, "copy", "copies")) " beside your notes. Compare, keep what is right, and delete the copy; in the folder " code { "atlas resolve" } " asks you about each." }
            ul.rows { @for copy in copies { (conflict(copy)) } }
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
                tr { th scope="row" { "Vault" } td { (visit.app().atlas.vault(visit.visitor.caller.vault()).map_or("", |vault| vault.name())) } }
                tr { th scope="row" { "Program" } td { "Atlas Mirror " (health.text("version")) } }
            }
        }
        form method="post" action="/ui/sync" {
            (visit.form_token())
            p { button type="submit" { "Ask the host for a sync" } }
        }
    }
}

fn conflict(copy: &str) -> Markup {
    let original = copy.split_once(CONFLICT).map(|(before, _)| format!("{before}.md"));
    html! {
        li {
            a href=(links::note(copy)) { (copy) }
            @if let Some(original) = original { " · yours: " a href=(links::note(&original)) { (original) } }
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
