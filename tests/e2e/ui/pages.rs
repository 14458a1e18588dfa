//! The content of each page, and the effects of its forms.

use atlas_access::scope;
use atlas_mirror::{LeftOut, LeftOutFile};
use atlas_testkit::notes::{Put, by};
use atlas_testkit::{CountingStore, VaultBuilder};
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::{Value, json};

use super::visitor::{Visitor, function, on_host};
use crate::support::clock;
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
async fn notes_that_link_here_are_all_shown_also_where_their_lines_have_no_room() {
    let text = format!("[[Tide]] comes in\n\n{}", "a long list\n".repeat(20_000));
    let lists = (0..7).map(|number| (format!("list {number}.md"), text.clone()));
    let vault = lists.fold(VaultBuilder::new().note("Tide.md", "x"), |vault, (name, text)| vault.note(&name, &text));
    let deployment = Deployment::of_vault(&vault).await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let page = person.get("/ui/note?path=Tide.md").await.ok();
    let (_, around) = page.split_once("Linked from").unwrap();
    let (linked, _) = around.split_once("</ul>").unwrap();
    assert!((0..7).all(|number| linked.matches(&format!(">list {number}</a>")).count() == 1), "{linked}");
    assert_eq!(linked.matches("comes in").count(), 3, "{linked}");
}

#[tokio::test]
async fn links_lead_to_files_in_every_part_of_a_long_note() {
    let lines: String = (0..6000).map(|number| format!("- line {number} leads to [[n{}]]\n", number % 50)).collect();
    let text = format!("---\nup: \"[[Tide]]\"\n---\n{lines}[[nowhere]]\n");
    let vault = VaultBuilder::new().note("Long.md", &text).note("Tide.md", "x");
    let vault = (0..50).fold(vault, |vault, number| vault.note(&format!("sub/n{number}.md"), "x"));
    let deployment = Deployment::of_vault(&vault).await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let (mut address, mut leading, mut parts) = ("/ui/note?path=Long.md".to_owned(), 0, 0);
    loop {
        let page = person.get(&address).await.ok();
        assert!(page.contains("href=\"/ui/note?path=Tide.md\""), "the property leads somewhere in part {parts}");
        leading += page.matches("href=\"/ui/note?path=sub/n").count();
        assert_eq!(page.matches("class=\"missing\"").count(), usize::from(!page.contains(">Read on<")), "{address}");
        parts += 1;
        let Some((_, rest)) = page.split_once("class=\"button\" href=\"/ui/note?path=Long.md&amp;offset=") else {
            break;
        };
        let offset = rest.split(['"', '&']).next().unwrap();
        address = format!("/ui/note?path=Long.md&offset={offset}");
    }
    assert!(parts >= 2 && leading >= 6000, "{parts} parts, {leading} links");
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
        ("q=&folder=", "Log.md", "Lighthouse.md"),
        ("q=%5Bstatus%3A+OPEN%5D", "Harbour.md", "Log.md"),
        ("q=-%5Bstatus%3A%5D+it", "sea/Lighthouse.md", "Harbour.md"),
        ("q=zebra", "Nothing found", "Log.md"),
        ("q=(&mode=regex", "class=\"problem\"", "Log.md"),
    ] {
        for place in ["/ui/search", "/ui/search/results"] {
            let page = person.get(&format!("{place}?{query}")).await.ok();
            assert!(page.contains(has) && !page.contains(lacks), "{place} {query}: {page}");
        }
    }
    let page = person.get("/ui/search").await.ok();
    assert!(
        page.contains("name=\"add\" value=\"tag:port\"") && page.contains("name=\"add\" value=\"[status:open]\""),
        "{page}"
    );
}

#[tokio::test]
async fn filters_are_chips_that_a_form_adds_and_takes_away() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    // As the form sends them, with a click on a chip, or with what somebody wrote.
    for (query, on, has, lacks) in [
        ("q=two&add=tag%3Aport", "name=\"drop\" value=\"tag:port\"", "Harbour.md", "Log.md"),
        ("q=&filter=%23port", "name=\"drop\" value=\"tag:port\"", "Harbour.md", "Log.md"),
        ("q=&filter=status%3A+open", "name=\"drop\" value=\"[status:open]\"", "Harbour.md", "Log.md"),
        ("q=lamp&filter=sea", "name=\"drop\" value=\"folder:sea\"", "sea/Lighthouse.md", "Harbour.md"),
        ("q=tag%3Aport+dredged&drop=tag%3Aport", "name=\"add\" value=\"tag:port\"", "Log.md", "name=\"drop\""),
        ("q=lamp&folder=sea&drop=folder%3Asea", "value=\"lamp\"", "sea/Lighthouse.md", "name=\"drop\""),
    ] {
        let page = person.get(&format!("/ui/search?mode=hybrid&{query}")).await.ok();
        assert!(page.contains(on) && page.contains(has) && !page.contains(lacks), "{query}: {page}");
    }
}

#[tokio::test]
async fn queries_in_a_note_are_shown_as_tables_of_what_the_reader_may_see() {
    let queries = "```dataview\nTABLE status FROM \"boats\" SORT file.name\n```\n\n```base\nfilters: file.inFolder(\"boats\")\nviews:\n  - type: table\n    name: All\n    order: [file.name, status]\n```\n\n\
                   ```dataview\nTABLE FROM\n```\n\n`= 1 + 2`\n";
    let evil = format!("---\nstatus: {}\n---\n", json!(super::attacks::ATTACK));
    let vault = VaultBuilder::new()
        .note("Fleet.md", queries)
        .note("Home.md", "![[Fleet]]\n")
        .note("boats/Gull.md", "---\nstatus: at sea\n---\n")
        .note("boats/Tern.md", &evil)
        .note("boats/hidden/Skua.md", "---\nstatus: secret\n---\n");
    let deployment = Deployment::of_vault(&vault).await;
    let config = json!({ "vaults": [{ "id": "main", "acl": { "rules": [{ "glob": "boats/hidden/**", "scopes": ["read:hidden"] }] } }] });
    let secret = crate::support::tokens::SECRET;
    let variables = [
        ("ATLAS_CONFIG", config.to_string()),
        ("ATLAS_AUTH", "jwt".to_owned()),
        ("ATLAS_JWT_SECRET", secret.to_owned()),
    ];
    let client = deployment.set_up(&variables.each_ref().map(|(name, value)| (*name, value.as_str()))).await;
    let reader = Visitor::administrator(&client).await;
    for place in ["/ui/note?path=Fleet.md", "/ui/note?path=Home.md"] {
        let page = reader.get(place).await.ok();
        assert_eq!(page.matches("<table>").count(), 2, "{page}");
        assert!(page.contains("href=\"/ui/note?path=boats/Gull.md\"") && page.contains("<td>at sea</td>"), "{page}");
        assert!(page.contains("This query has no result") && page.contains("<p>3</p>"), "{page}");
        assert!(!page.contains("Skua") && !page.contains("secret") && !page.contains("<script>alert"), "{page}");
    }
}

#[tokio::test]
async fn a_long_change_is_shown_page_by_page_and_as_it_looks() {
    let long = |word: &str| (0..5000).map(|line| format!("{word} {line}\n")).collect::<String>();
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("Log.md", &long("old"))).await;
    for (path, text) in [("Log.md", long("new")), ("Short.md", "# Short\n\nSee *[[Here]]*.\n".to_owned())] {
        deployment.mirror().commit(&by("ada"), &Put::note(path, &text)).await.unwrap();
    }
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let mut place = "/ui/activity/2".to_owned();
    let (mut pages, mut lines) = (0, 0);
    loop {
        let page = person.get(&place).await.ok();
        assert!(page.len() < 400_000, "{} bytes", page.len());
        pages += 1;
        lines += page.matches("<tr class=\"ins\">").count() + page.matches("<tr class=\"del\">").count();
        let Some((before, _)) = page.split_once("\">The next lines</a>") else { break };
        place = before.rsplit('"').next().unwrap().replace("&amp;", "&");
    }
    assert_eq!((pages, lines), (11, 10_000));
    let page = person.get("/ui/activity/2?file=Log.md&from=6001").await.ok();
    assert!(page.contains("from line 6002 of its changes") && page.contains("<td class=\"n\">1001</td>"), "{page}");
    let page = person.get("/ui/activity/3?view=rendered").await.ok();
    assert!(
        page.contains("<h1>Short</h1>") && page.contains("<em><span class=\"elsewhere\">Here</span></em>"),
        "{page}"
    );
}

#[tokio::test]
async fn a_visitor_of_several_vaults_switches_between_them() {
    let deployment = deployment().await;
    deployment.publish_as("work", VaultBuilder::new().note("Plan.md", "# Plan\n").root()).await;
    let config = json!({ "vaults": [{ "id": "main" }, { "id": "work", "name": "Work & co" }] }).to_string();
    let secret = crate::support::tokens::SECRET;
    let client =
        deployment.set_up(&[("ATLAS_CONFIG", &config), ("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", secret)]).await;
    // Who is bound to one vault sees no other.
    let bound = Visitor::administrator(&client).await;
    assert!(!bound.get("/ui/sync").await.ok().contains("/ui/vault"));
    let refused = bound.form("/ui/sync", "/ui/vault", &[("vault", "work")]).await;
    assert_eq!(refused.status, 404);
    let forced = [("cookie", format!("{}; __Host-atlas-vault=work", bound.cookie))];
    let page = bound.send("GET", "/ui/note?path=Plan.md", &forced.each_ref().map(|(a, b)| (*a, b.as_str())), "").await;
    assert_eq!(page.status, 404, "{}", page.text);
    // The person at the host sees all.
    let app =
        deployment.app_of(&[("ATLAS_CONFIG", &config), ("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", secret)]).await;
    let app = app.for_its_hosts().with_page("http://127.0.0.1:3737/ui");
    let at_host = Client::of(app, CountingStore::new(deployment.objects.clone()));
    let mut person = Visitor::person(&deployment, &at_host).await;
    let page = person.get("/ui/sync").await.ok();
    assert!(page.contains("<option value=\"work\">Work &amp; co</option>"), "{page}");
    assert!(person.get("/ui/note?path=Plan.md").await.status == 404);
    // The link to a call that waits in the other vault leads there.
    let agent = [bearer(&token("agent", &scope::ALL, Some("work"))), ("if-match".to_owned(), "*".to_owned())];
    let asked = send(&at_host, "DELETE", "/notes/Plan.md", &agent, &Value::Null).await;
    assert_eq!(asked.error(403).1, "elicit_required");
    let url = asked.json()["error"]["details"]["approval"]["url"].as_str().unwrap().to_owned();
    let place = url.strip_prefix("http://127.0.0.1:3737").unwrap();
    let page = person.get(place).await;
    assert!(page.status == 200 && page.text.contains("Look there"), "{}", page.text);
    let chosen = person.form(place, "/ui/vault", &[("vault", "work"), ("approval", "5f")]).await;
    assert_eq!(chosen.leads(), "/ui/approvals/5f");
    let chosen = person.form("/ui/sync", "/ui/vault", &[("vault", "work")]).await;
    assert_eq!(chosen.leads(), "/ui");
    person.cookie = format!("{}; {}", person.cookie, chosen.cookie().unwrap());
    assert!(person.get("/ui/note?path=Plan.md").await.ok().contains("Plan"));
    assert!(person.get("/ui/note?path=Harbour.md").await.status == 404);
    assert_eq!(person.form("/ui/sync", "/ui/vault", &[("vault", "none")]).await.status, 404);
}

#[tokio::test]
async fn a_person_decides_in_a_vault_that_only_its_document_names() {
    let deployment = deployment().await;
    for id in ["work", "other"] {
        deployment.publish_as(id, VaultBuilder::new().note("Plan.md", "# Plan\n").root()).await;
        let document = PutPayload::from(json!({ "id": id, "name": "Notes" }).to_string());
        deployment.objects.put(&Path::from(format!("config/vaults/{id}.json")), document).await.unwrap();
    }
    deployment.objects.put(&Path::from("config/vaults/broken.json"), PutPayload::from_static(b"{")).await.unwrap();
    // All vaults have the same name.
    let config = json!({ "vaults": [{ "id": "main", "name": "Notes" }], "vaultDocuments": "store:config/vaults" });
    let config = config.to_string();
    let secret = crate::support::tokens::SECRET;
    let settings = [("ATLAS_CONFIG", config.as_str()), ("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", secret)];
    let app = deployment.app_of(&settings).await.for_its_hosts().with_page("http://127.0.0.1:3737/ui");
    let client = Client::of(app, CountingStore::new(deployment.objects.clone()));
    let agent = [bearer(&token("agent", &scope::ALL, Some("work"))), ("if-match".to_owned(), "*".to_owned())];
    let asked = send(&client, "DELETE", "/notes/Plan.md?hard=true", &agent, &Value::Null).await;
    assert_eq!(asked.error(403).1, "elicit_required");
    let url = asked.json()["error"]["details"]["approval"]["url"].as_str().unwrap().to_owned();
    let place = url.strip_prefix("http://127.0.0.1:3737").unwrap();

    let mut person = Visitor::person(&deployment, &client).await;
    let page = person.get(place).await.ok();
    assert!(page.contains("Look there") && page.contains("<option value=\"work\">"), "{page}");
    for unknown in ["none", "broken", "../vaults/work"] {
        assert_eq!(person.form("/ui/sync", "/ui/vault", &[("other-vault", unknown)]).await.status, 404, "{unknown}");
        assert_eq!(person.get(&format!("/ui/sync?vault={unknown}")).await.status, 200, "{unknown}");
    }
    let id = place.split('?').next().unwrap().rsplit('/').next().unwrap();
    let chosen = person.form(place, "/ui/vault", &[("vault", "work"), ("approval", id)]).await;
    assert_eq!(chosen.leads(), format!("/ui/approvals/{id}"));
    let chosen = person.form("/ui/sync", "/ui/vault", &[("vault", "main"), ("other-vault", " work ")]).await;
    assert_eq!(chosen.leads(), "/ui");
    person.cookie = format!("{}; {}", person.cookie, chosen.cookie().unwrap());
    assert!(person.get(place).await.ok().contains("Plan.md"));
    let decided = person.form("/ui", "/ui/approvals/approve", &[("id", id)]).await;
    assert_eq!(decided.leads(), "/ui/approvals?said=approved");
    send(&client, "DELETE", "/notes/Plan.md?hard=true", &agent, &Value::Null).await.ok();
    assert!(person.get("/ui/activity").await.ok().contains("Plan.md"));
    // A form of the vault that they looked at before, in another tab, does nothing in this one.
    assert!(person.get("/ui/activity").await.ok().contains("name=\"of-vault\" value=\"work\""));
    let stale = [("generation", "2"), ("of-vault", "main")];
    let refused = person.form("/ui/activity", "/ui/undo", &stale).await;
    assert!(refused.status == 409 && refused.text.contains("of the vault main"), "{}", refused.text);
    let back = person.form("/ui/activity", "/ui/vault", &[("vault", "main"), ("of-vault", "main")]).await;
    assert_eq!(back.leads(), "/ui");

    // A token's holder comes to no other vault.
    let function = deployment.set_up(&settings).await;
    let bound = Visitor::of_vault(&function, "work").await;
    let forced = [("cookie", format!("{}; __Host-atlas-vault=other", bound.cookie))];
    let forced = forced.each_ref().map(|(name, value)| (*name, value.as_str()));
    let page = bound.send("GET", "/ui/note?path=Plan.md&vault=other", &forced, "").await;
    assert_eq!(page.status, 404, "{}", page.text);
    assert_eq!(bound.form("/ui/sync", "/ui/vault", &[("other-vault", "other")]).await.status, 404);
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
    assert!(page.contains("1 copy") && page.contains("href=\"/ui/conflict?path=Log%20"), "{page}");
    let page = person.get("/ui/connect").await.ok();
    assert!(page.contains("http://127.0.0.1:3737/mcp") && page.contains("mcpServers"), "{page}");
    let page = person.get("/ui/access?path=.obsidian/app.json&op=write").await.ok();
    assert!(
        page.contains("Denied") && page.contains("closed_folder") && page.contains("the person at this machine"),
        "{page}"
    );
    let file = LeftOutFile::new("private/", "the rule `private/` in .atlasignore excludes it".to_owned());
    deployment.mirror().record_left_out(&LeftOut::of(clock::now(), vec![file])).await.unwrap();
    for (path, verdict, why) in [
        ("Log.md", "Found", "by its path, its name, its headings and its words"),
        (".obsidian/app.json", "Closed", "closed to every caller"),
        ("a/.hidden.md", "Closed", "begin with a dot"),
        ("private/a.md", "Left out", "private/: the rule `private/` in .atlasignore excludes it"),
        ("Harbou.md", "Not there", "href=\"/ui/note?path=Harbour.md\""),
    ] {
        let page = person.get(&format!("/ui/access?path={path}")).await.ok();
        assert!(page.contains(&format!("{verdict}</span> {path}")) && page.contains(why), "{path}: {page}");
    }
    let page = person.get("/ui/access").await.ok();
    assert!(
        page.contains("Limits and index") && page.contains("4 notes") && page.contains("Refused by the throttle"),
        "{page}"
    );
    let page = person.get("/ui/access?path=Log.md&op=write&scopes=read:vault").await.ok();
    assert!(page.contains("Denied") && page.contains("write:vault"), "{page}");
}
