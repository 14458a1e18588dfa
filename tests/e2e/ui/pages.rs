//! The content of each page, and the effects of its forms.

use atlas_access::scope;
use atlas_testkit::VaultBuilder;
use serde_json::json;

use super::visitor::{Visitor, function, on_host};
use crate::support::deployment::{Client, Deployment};
use crate::support::tokens::{bearer, send, token};

async fn deployment() -> Deployment {
    let vault = VaultBuilder::new()
        .note("Harbour.md", "---\nstatus: open\ntags: [port]\n---\n# Berths\n\nSee [[Lighthouse#Lamp|the lamp]] and ![[Lighthouse#Lamp]].\n\n## Cranes\n\nTwo.\n")
        .note("sea/Lighthouse.md", "# Light\n\n## Lamp\n\nIt turns.\n\n## Other\n\nNo.\n")
        .note("Log.md", "- [[Harbour]] was dredged\n");
    Deployment::of_vault(&vault).await
}

async fn append(client: &Client, name: &str, path: &str, text: &str, session: &str) {
    let mut headers = vec![bearer(&token(name, &scope::ALL, None))];
    if !session.is_empty() {
        headers.push(("x-atlas-session".to_owned(), session.to_owned()));
    }
    let body = json!({ "content": text, "message": format!("{name} adds {text}") });
    let reply = send(client, "POST", &format!("/notes/{path}"), &headers, &body).await;
    assert!(reply.status.is_success(), "{reply:?}");
}

#[tokio::test]
async fn activity_shows_who_changed_what_and_which_lines() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    append(&client, "claude", "Harbour.md", "Three.", "dredging").await;
    append(&client, "cursor", "Log.md", "- more", "").await;
    let person = Visitor::person(&deployment, &client).await;
    let all = person.get("/ui/activity").await.ok();
    assert!(
        all.contains("claude adds Three.") && all.contains("cursor adds - more") && all.contains("Harbour.md"),
        "{all}"
    );
    for (filter, has, lacks) in [
        ("by=claude", "adds Three.", "adds - more"),
        ("path=Log.md", "adds - more", "adds Three."),
        ("session=dredging", "adds Three.", "adds - more"),
        ("span=hour", "adds Three.", "No commits."),
        ("by=nobody", "No commits.", "adds Three."),
    ] {
        let page = person.get(&format!("/ui/activity?{filter}")).await.ok();
        assert!(page.contains(has) && !page.contains(lacks), "{filter}: {page}");
    }
    let commit = person.get("/ui/activity/2").await.ok();
    assert!(commit.contains("Harbour.md") && commit.contains("Three.") && commit.contains("class=\"ins\""), "{commit}");
    assert_eq!(person.get("/ui/activity/99").await.status, 404);
}

#[tokio::test]
async fn what_an_agent_did_is_taken_back_after_it_was_shown() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let text = async || {
        client.get_with("/notes/Harbour.md", &[("authorization", &bearer(&token("x", &scope::ALL, None)).1)]).await.ok()
            ["content"]
            .clone()
    };
    let before = text().await;
    append(&client, "claude", "Harbour.md", "Three.", "s").await;
    append(&client, "claude", "new.md", "Four.", "s").await;
    append(&client, "cursor", "Log.md", "- more", "").await;
    let person = Visitor::person(&deployment, &client).await;
    let feed = person.get("/ui/activity?by=claude").await.ok();
    let (_, address) = feed.split_once("href=\"/ui/undo?by=claude&amp;since=").expect("a way to undo the last hour");
    let place = format!("/ui/undo?by=claude&since={}", address.split('"').next().unwrap());
    let shown = person.get(&place).await.ok();
    assert!(
        shown.contains("2 commits, 2 files")
            && shown.contains("goes into the trash")
            && shown.contains("Nothing has changed yet"),
        "{shown}"
    );
    assert_ne!(text().await, before);
    let field = |name: &str| {
        let (_, rest) = shown.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let (since, upto) = (field("since"), field("upto"));
    let fields = [("by", "claude"), ("since", since.as_str()), ("upto", upto.as_str()), ("message", "not this")];
    assert_eq!(person.form(&place, "/ui/undo", &fields).await.leads(), "/ui/activity?said=undone");
    assert_eq!(text().await, before);
    let feed = person.get("/ui/activity").await.ok();
    assert!(feed.contains("not this") && feed.contains("undo changes"), "{feed}");
    // One commit, by its own way.
    let shown = person.get("/ui/undo?generation=4").await.ok();
    assert!(shown.contains("Undo commit 4?") && shown.contains("Log.md"), "{shown}");
    person.form("/ui/undo?generation=4", "/ui/undo", &[("generation", "4"), ("upto", "5")]).await.leads();
    assert!(person.get("/ui/undo?by=nobody").await.ok().contains("Nothing to undo"));
    // A session, and what was changed since.
    append(&client, "claude", "Log.md", "- five", "s2").await;
    append(&client, "cursor", "Log.md", "- six", "").await;
    let shown = person.get("/ui/undo?session=s2").await.ok();
    assert!(shown.contains("What stays") && shown.contains("There is nothing to take back"), "{shown}");
}

#[tokio::test]
async fn who_signed_in_by_a_token_undoes_what_another_approved() {
    let deployment = deployment().await;
    let client = function(&deployment);
    append(&client, "claude", "Log.md", "- more", "").await;
    let owner = Visitor::administrator(&client).await;
    let fields = [("generation", "2"), ("upto", "2")];
    let page = owner.form("/ui/undo?generation=2", "/ui/undo", &fields).await.ok();
    assert!(page.contains("Somebody else has to approve this"), "{page}");
    let other = Visitor::with_token(&client, "other", &scope::ALL).await;
    let waiting = other.get("/ui").await.ok();
    let (_, id) = waiting.split_once("name=\"id\" value=\"").unwrap();
    other.form("/ui", "/ui/approvals/approve", &[("id", &id[..32])]).await.leads();
    assert_eq!(owner.form("/ui/undo?generation=2", "/ui/undo", &fields).await.leads(), "/ui/activity?said=undone");
}

#[tokio::test]
async fn a_note_is_shown_with_what_is_around_it() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    append(&client, "claude", "Harbour.md", "Three.", "").await;
    let person = Visitor::person(&deployment, &client).await;
    let page = person.get("/ui/note?path=Harbour.md").await.ok();
    for part in [
        "<h1>Harbour</h1>",
        "<th scope=\"row\">status</th><td>open</td>",
        "#port</a>",
        "href=\"/ui/note?path=sea/Lighthouse.md#n-lamp\"",
        "It turns.",
        "<a href=\"#n-cranes\">Cranes</a>",
        "[[Harbour]] was dredged",
        "<svg class=\"graph\"",
        "obsidian://open?",
        "/ui/history?path=Harbour.md",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains(">No.<"), "only the part that is embedded: {page}");
    assert!(person.get("/ui/note?path=Harbou.md").await.text.contains("Harbour.md"), "the nearest names are told");
    let versions = person.get("/ui/history?path=Harbour.md").await.ok();
    assert!(versions.contains("claude") && versions.contains("Newest"), "{versions}");
    assert!(!person.get("/ui/note?path=Harbour.md&generation=1").await.ok().contains("Three."));
    let (_, hash) = versions.split_once("name=\"if_match\" value=\"").unwrap();
    let fields = [("path", "Harbour.md"), ("generation", "1"), ("if_match", &hash[..64])];
    person.form("/ui/history?path=Harbour.md", "/ui/restore", &fields).await.leads();
    assert!(!person.get("/ui/note?path=Harbour.md").await.ok().contains("Three."));
    assert_eq!(person.form("/ui/history?path=Harbour.md", "/ui/restore", &fields).await.status, 412);
}

#[tokio::test]
async fn search_answers_with_marks_and_filters() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    for (query, has, lacks) in [
        ("q=dredged", "<mark>dredged</mark>", "Lighthouse.md"),
        ("q=dred", "Log.md", "Nothing found"),
        ("q=tag%3Aport", "Harbour.md", "Log.md"),
        ("q=It+turns&mode=literal", "sea/Lighthouse.md", "Log.md"),
        ("q=%5EIt&mode=regex", "sea/Lighthouse.md", "Log.md"),
        ("q=lamp&folder=sea", "sea/Lighthouse.md", "Log.md"),
        ("folder=sea", "sea/Lighthouse.md", "Log.md"),
        ("q=zebra", "Nothing found", "Log.md"),
        ("q=(&mode=regex", "class=\"problem\"", "Log.md"),
    ] {
        for place in ["/ui/search", "/ui/search/results"] {
            let page = person.get(&format!("{place}?{query}")).await.ok();
            assert!(page.contains(has) && !page.contains(lacks), "{place} {query}: {page}");
        }
    }
    assert!(person.get("/ui/search").await.ok().contains("href=\"/ui/search?q=tag%3Aport\""));
}

#[tokio::test]
async fn sync_connect_and_access_say_what_there_is() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    assert!(person.get("/ui/sync").await.ok().contains("Newest commit"));
    assert_eq!(person.form("/ui/sync", "/ui/sync", &[]).await.leads(), "/ui/sync?said=asked");
    assert!(deployment.mirror().sync_request().await.unwrap().is_some());
    append(&client, "claude", "Log%20(conflict%202026-11-21%2014.03%20claude).md", "x", "").await;
    let page = person.get("/ui/sync").await.ok();
    assert!(page.contains("1 copy") && page.contains("href=\"/ui/note?path=Log.md\""), "{page}");
    let page = person.get("/ui/connect").await.ok();
    assert!(page.contains("http://127.0.0.1:3737/mcp") && page.contains("mcpServers"), "{page}");
    let page = person.get("/ui/access?path=.obsidian/app.json&op=write").await.ok();
    assert!(
        page.contains("Denied") && page.contains("closed_folder") && page.contains("the person at this machine"),
        "{page}"
    );
    let page = person.get("/ui/access?path=Log.md&op=write&scopes=read:vault").await.ok();
    assert!(page.contains("Denied") && page.contains("write:vault"), "{page}");
}
