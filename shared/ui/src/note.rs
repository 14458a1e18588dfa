//! A note: its text as Obsidian shows it, and what is around it: properties, outline, backlinks, and the notes near it.

mod graph;

use std::collections::BTreeMap;

use atlas_ops::Error;
use atlas_tools::admin::generate_uri::GenerateUri;
use atlas_tools::entry;
use atlas_tools::links::get_backlinks::GetBacklinks;
use atlas_tools::links::get_outgoing_links::GetOutgoingLinks;
use atlas_tools::notes::read_note::ReadNote;
use atlas_tools::notes::read_notes::ReadNotes;
use atlas_tools::vault_mcp::graph_neighbors::GraphNeighbors;
use atlas_vault::visible::visible;
use axum::response::Response;
use futures::future;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::answer::{Answered as _, given};
use crate::frame::Section;
use crate::markdown::{self, Heading, Shown, Surroundings, Targets, Wikilinks};
use crate::visit::{Form, Visit};
use crate::{links, response, words};

/// Most bytes of a note on a page.
const PART: usize = 100_000;
/// Largest note whose links are followed, in bytes: to know what they mean, all of it is read.
const MAX_LINKED: u64 = 2_000_000;
/// Most notes that a note shows within itself.
const MAX_EMBEDS: usize = 10;
/// Most notes that results of queries name and that are looked for, in all and in one call.
const MAX_NAMED: usize = 500;
const NAMED_AT_ONCE: usize = 50;
/// Most properties, backlinks, and lines of one, that are shown.
const MAX_PROPERTIES: usize = 50;
const MAX_BACKLINKS: u64 = 30;
const MAX_CONTEXTS: usize = 3;
/// Most neighbours in the graph.
const MAX_NEIGHBORS: u64 = 30;

/// A note.
pub(crate) async fn page(visit: Visit) -> Response {
    let visit = visit.in_parts(PART);
    show(&visit, visit.parameter("path"), false).await
}

/// The same, with pictures of other sites: the visitor asked for them, which a link in a note cannot.
pub(crate) async fn with_pictures(form: Form) -> Response {
    let path = form.text("path").to_owned();
    let visit = form.visit.in_parts(PART);
    response::with_pictures(show(&visit, &path, true).await)
}

async fn show(visit: &Visit, path: &str, with_pictures: bool) -> Response {
    let generation = visit.number("generation");
    let call = given([
        ("path", Some(path.into())),
        ("offset", visit.number("offset").map(Value::from)),
        ("generation", generation.map(Value::from)),
        ("render_queries", Some(true.into())),
    ]);
    let note = match visit.call(entry::<ReadNote>(), call).await {
        Ok(note) => note,
        Err(error) => return visit.failed(&error),
    };
    let path = note.text("path");
    let text = with_results(&note);
    let is_long = note.number("bytes") > MAX_LINKED;
    let offset = visit.number("offset").unwrap_or_default();
    let surroundings = async {
        match is_long {
            true => Surroundings { with_pictures, is_part: true, ..Surroundings::default() },
            false => {
                // Links are those of the newest text, where an older one's part may be elsewhere.
                let part = generation.is_none().then(|| (offset, note.text("content").len()));
                surroundings(visit, path, part, text, with_pictures).await
            }
        }
    };
    let (surroundings, around) = future::join(surroundings, Around::of(visit, path)).await;
    let shown = markdown::show(text, &surroundings);
    let content = html! {
        @if let Some(generation) = generation {
            p.said { "The text of commit " (generation) ". " a href=(links::note(path)) { "The newest" } }
        }
        div.around {
            article.note {
                (crumbs(path))
                // Many notes begin with their own name as a heading.
                h1 class=[begins_with_name(path, &shown).then_some("hidden")] { (visible(links::name(path))) }
                (properties(&note["frontmatter"], &surroundings.targets))
                @if is_long { p.hint { "A long note: its links are not followed here." } }
                @if offset > 0 { p.hint { "From byte " (offset) " of " (words::bytes(note.number("bytes"))) ". " a href=(links::note(path)) { "From the beginning" } } }
                @if shown.pictures > 0 { (pictures(visit, path, &shown)) }
                (shown.html)
                @if let Some(next) = note.get("next_offset").and_then(Value::as_u64) {
                    @let next = next.to_string();
                    @let at = generation.map(|generation| generation.to_string()).unwrap_or_default();
                    p { a.button href=(links::page("note", &[("path", path), ("generation", at.as_str()), ("offset", next.as_str())])) { "Read on" } }
                }
            }
            (around.show(path, &shown.headings))
        }
    };
    visit.page(Section::Search, links::name(path), content)
}

/// The text of a note with the results of its queries in their places.
fn with_results(note: &Value) -> &str {
    note.given("rendered").unwrap_or_else(|| note.text("content"))
}

/// The targets of links in a `part` of the note at `path`, given by its offset and length, and the notes that it shows
/// within itself.
async fn surroundings(
    visit: &Visit,
    path: &str,
    part: Option<(u64, usize)>,
    text: &str,
    with_pictures: bool,
) -> Surroundings {
    let wikilinks = markdown::wikilinks(text);
    let targets = targets(visit, path, part, &wikilinks).await;
    let wanted = wikilinks.embeds.into_iter().filter_map(|written| {
        let target = targets.get(&written).filter(|target| links::is_note(target) && **target != path)?;
        Some((written.clone(), target.clone()))
    });
    let embeds = future::join_all(wanted.take(MAX_EMBEDS).map(|(written, target)| async move {
        let embedded = embed(visit, &written, &target).await.ok()?;
        Some((written, embedded))
    }));
    let embeds: BTreeMap<String, Markup> = embeds.await.into_iter().flatten().collect();
    Surroundings { targets, embeds, with_pictures, is_part: false }
}

/// The files that the links in a part of the note at `path` mean, or in all of it, and those that results of its queries
/// name by their paths.
async fn targets(visit: &Visit, path: &str, part: Option<(u64, usize)>, wikilinks: &Wikilinks) -> Targets {
    let call = given([
        ("path", Some(path.into())),
        ("include_unresolved", Some(false.into())),
        ("offset", part.map(|(offset, _)| offset.into())),
        ("bytes", part.map(|(_, bytes)| bytes.into())),
    ]);
    let found = visit.call(entry::<GetOutgoingLinks>(), call).await.unwrap_or_default();
    let target = |link: &Value| Some((link.text("target").to_owned(), link.given("target_path")?.to_owned()));
    let mut targets: Targets = found.list("links").iter().filter_map(target).collect();
    let named = |written: &String| {
        let path = written.split('#').next().unwrap_or_default();
        (!targets.contains_key(written) && links::is_note(path)).then(|| (written.clone(), path.to_owned()))
    };
    let named: Vec<(String, String)> = wikilinks.links.iter().filter_map(named).take(MAX_NAMED).collect();
    let pages = future::join_all(named.chunks(NAMED_AT_ONCE).map(|named| are_there(visit, named))).await;
    targets.extend(pages.into_iter().flatten());
    targets
}

/// Those of the links whose notes the visitor may read.
async fn are_there(visit: &Visit, named: &[(String, String)]) -> Vec<(String, String)> {
    let paths: Vec<&str> = named.iter().map(|(_, path)| path.as_str()).collect();
    let call = json!({ "paths": paths, "include_content": false, "include_frontmatter": false });
    let found = visit.call(entry::<ReadNotes>(), call).await.unwrap_or_default();
    let there = named.iter().zip(found.list("results")).filter(|(_, result)| result.is("ok"));
    there.map(|(named, _)| named.clone()).collect()
}

/// The note at `path`, or the part of it that `written` names.
async fn embed(visit: &Visit, written: &str, path: &str) -> Result<Markup, Error> {
    let part = written.split_once('#').map(|(_, part)| part.replace('#', " > "));
    let call = given([
        ("path", Some(path.into())),
        ("anchor", part.map(Value::from)),
        ("include_frontmatter", Some(false.into())),
        ("render_queries", Some(true.into())),
    ]);
    let note = visit.call(entry::<ReadNote>(), call).await?;
    let text = with_results(&note);
    let targets = targets(visit, path, None, &markdown::wikilinks(text)).await;
    Ok(markdown::show(text, &Surroundings { targets, ..Surroundings::default() }).html)
}

fn crumbs(path: &str) -> Markup {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    html! {
        @if !folder.is_empty() {
            p.crumbs { a href=(links::page("search", &[("folder", folder)])) { (visible(folder)) } }
        }
    }
}

fn pictures(visit: &Visit, path: &str, shown: &Shown) -> Markup {
    html! {
        form.said method="post" action="/ui/note" {
            (visit.form_token())
            input type="hidden" name="path" value=(path);
            (words::count(shown.pictures as u64, "picture", "pictures")) " of other sites not loaded: loading tells them that you read this. "
            button type="submit" { "Load them" }
        }
    }
}

fn begins_with_name(path: &str, shown: &Shown) -> bool {
    let first = shown.headings.first().filter(|first| first.level == 1);
    first.is_some_and(|first| first.text.to_lowercase() == links::name(path).to_lowercase())
}

fn properties(frontmatter: &Value, targets: &Targets) -> Markup {
    let Some(properties) = frontmatter.as_object().filter(|properties| !properties.is_empty()) else { return html! {} };
    html! {
        table.properties {
            tbody {
                @for (name, value) in properties.iter().take(MAX_PROPERTIES) {
                    tr { th scope="row" { (name) } td { (property(name, value, targets)) } }
                }
            }
        }
    }
}

fn property(name: &str, value: &Value, targets: &Targets) -> Markup {
    let is_tag = matches!(name, "tags" | "tag");
    let one = |value: &Value| match value {
        Value::String(text) if is_tag => {
            html! { a.tag href=(links::page("search", &[("q", &format!("tag:{text}"))])) { "#" (text) } " " }
        }
        Value::String(text) => linked(text, targets),
        Value::Bool(is_true) => html! { (if *is_true { "☑ yes" } else { "☐ no" }) },
        Value::Null => html! {},
        other => html! { (other.to_string()) },
    };
    html! {
        @match value {
            Value::Array(values) => {
                @for (place, value) in values.iter().take(MAX_PROPERTIES).enumerate() {
                    @if place > 0 && !is_tag { ", " }
                    (one(value))
                }
            }
            value => { (one(value)) }
        }
    }
}

/// A property's text, which may be a wikilink.
fn linked(text: &str, targets: &Targets) -> Markup {
    let inner = text.strip_prefix("[[").and_then(|text| text.strip_suffix("]]"));
    let (target, name) = inner.map_or((text, text), |inner| inner.split_once('|').unwrap_or((inner, inner)));
    match inner.and_then(|_| targets.get(target)) {
        Some(path) => html! { a href=(links::document(path)) { (name) } },
        None => html! { (text) },
    }
}

/// The notes that link to the one at `path`, with the lines of the links as far as a page of them has room.
async fn backlinks(visit: &Visit, path: &str) -> Vec<Value> {
    let call = |with_lines: bool| {
        let call = json!({ "path": path, "include_context": with_lines, "limit": MAX_BACKLINKS });
        visit.call(entry::<GetBacklinks>(), call)
    };
    let page = call(true).await.unwrap_or_default();
    let mut found = page.list("items").to_vec();
    if page.given("cursor").is_some() && (found.len() as u64) < MAX_BACKLINKS {
        let all = call(false).await.unwrap_or_default();
        found.extend(all.list("items").iter().skip(found.len()).cloned());
    }
    found
}

/// The neighbourhood of a note.
struct Around {
    backlinks: Vec<Value>,
    neighbors: Value,
    uri: Value,
}

impl Around {
    async fn of(visit: &Visit, path: &str) -> Self {
        let neighbors = json!({ "path": path, "depth": 2, "limit": MAX_NEIGHBORS });
        let uri = json!({ "action": "open", "params": { "file": path } });
        let (backlinks, neighbors, uri) = future::join3(
            backlinks(visit, path),
            visit.call(entry::<GraphNeighbors>(), neighbors),
            visit.call(entry::<GenerateUri>(), uri),
        )
        .await;
        let [neighbors, uri] = [neighbors, uri].map(Result::unwrap_or_default);
        Self { backlinks, neighbors, uri }
    }

    fn show(&self, path: &str, headings: &[Heading]) -> Markup {
        let links = &self.backlinks;
        html! {
            aside.side aria-label="Around this note" {
                div.tools {
                    a.button href=(links::page("history", &[("path", path)])) { "History" }
                    @if let Some(uri) = self.uri.given("uri").filter(|uri| uri.starts_with("obsidian://")) {
                        a.button href=(uri) { "Open in Obsidian" }
                    }
                }
                @if headings.len() > 1 {
                    h2 { "Outline" }
                    ul { @for heading in headings { li class={ "in" (heading.level) } { a href={ "#" (heading.anchor) } { (heading.text) } } } }
                }
                h2 { "Linked from" }
                @if links.is_empty() { p.hint { "No note links here." } }
                ul {
                    @for link in links {
                        li {
                            a href=(links::note(link.text("source_path"))) { (visible(links::name(link.text("source_path")))) }
                            @for line in link.list("contexts").iter().take(MAX_CONTEXTS) { p.context { (line.text("text")) } }
                        }
                    }
                }
                (graph::show(path, self.neighbors.list("neighbors")))
            }
        }
    }
}
