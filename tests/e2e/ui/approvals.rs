//! Calls that wait, decided on by a person at the page.

use atlas_access::{Scope, scope};
use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use super::visitor::{Page, Visitor, function, on_host};
use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::{Client, Deployment, Reply};
use crate::support::tokens::{bearer, send, token};

async fn deployment() -> Deployment {
    let vault = VaultBuilder::new().note("a.md", "one\nthe red boat\nthree\n").note("b.md", "see [[a]]\n");
    Deployment::of_vault(&vault).await
}

/// A call by an agent, within a session.
async fn ask(client: &Client, method: &str, uri: &str, body: Value) -> Reply {
    let headers = [
        bearer(&token("agent", &scope::ALL, None)),
        ("if-match".to_owned(), "*".to_owned()),
        ("x-atlas-session".to_owned(), "tidy up".to_owned()),
    ];
    send(client, method, uri, &headers, &body).await
}

async fn overwrite(client: &Client) -> Reply {
    let body = json!({ "content": "one\nthe blue boat\nthree\n", "message": "As you asked" });
    ask(client, "PUT", "/notes/a.md", body).await
}

async fn delete(client: &Client) -> Reply {
    ask(client, "DELETE", "/notes/b.md", Value::Null).await
}

fn waiting(reply: &Reply) -> Value {
    assert_eq!(reply.error(403).1, "elicit_required");
    reply.json()["error"]["details"]["approval"].clone()
}

fn id(reply: &Reply) -> String {
    waiting(reply)["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_call_is_seen_approved_and_done() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let asked = overwrite(&client).await;
    // The agent is told where a person decides.
    let (id, url) = (id(&asked), waiting(&asked)["url"].as_str().unwrap().to_owned());
    assert_eq!(url, format!("http://127.0.0.1:3737/ui/approvals/{id}?vault=main"));
    assert!(asked.error(403).2.contains(&url));
    for place in ["/ui".to_owned(), format!("/ui/approvals/{id}"), "/ui/approvals/list".to_owned()] {
        let page = person.get(&place).await.ok();
        for part in [
            "agent",
            "write a note",
            "As you asked",
            "tidy up",
            "a.md",
            "the <mark>red</mark> boat",
            "the <mark>blue</mark> boat",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
    assert!(person.get("/ui?view=split").await.ok().contains("class=\"diff split\""));
    let decided = person.form("/ui", "/ui/approvals/approve", &[("id", &id)]).await;
    assert_eq!(decided.leads(), "/ui/approvals?said=approved");
    let page = person.get("/ui").await.ok();
    assert!(page.contains("by ada; it passes when the agent makes it again"), "{page}");
    overwrite(&client).await.ok();
    let page = person.get("/ui").await.ok();
    assert!(page.contains("approved by ada, and done"), "{page}");
}

#[tokio::test]
async fn a_refused_call_is_told_why() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let id = id(&delete(&client).await);
    let refused = person.form("/ui", "/ui/approvals/refuse", &[("id", &id), ("reason", " I need it ")]).await;
    assert_eq!(refused.leads(), "/ui/approvals?said=refused");
    assert_eq!(delete(&client).await.error(403).2, "ada refused this call: I need it");
    assert!(person.get("/ui").await.ok().contains("“I need it”"));
    let again = person.form("/ui", "/ui/approvals/approve", &[("id", &id)]).await;
    assert!(again.status == 409 && again.text.contains("that stands"), "{}", again.text);
}

#[tokio::test]
async fn all_calls_of_a_session_are_approved_at_once() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let ids = [id(&overwrite(&client).await), id(&delete(&client).await)];
    let page = person.get("/ui").await.ok();
    assert!(page.contains("Approve all 2 of session “tidy up”"), "{page}");
    person.form("/ui", "/ui/approvals/approve", &ids.each_ref().map(|id| ("id", id.as_str()))).await.leads();
    overwrite(&client).await.ok();
    delete(&client).await.ok();
}

#[tokio::test]
async fn what_changed_since_is_said_and_cannot_be_approved() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let id = id(&overwrite(&client).await);
    let other = [bearer(&token("other", &scope::ALL, None))];
    send(&client, "POST", "/notes/a.md", &other, &json!({ "content": "four" })).await.ok();
    assert!(person.get("/ui").await.ok().contains("A file has changed since"));
    let page = person.form("/ui", "/ui/approvals/approve", &[("id", &id)]).await;
    assert!(page.status == 409 && page.text.contains("has changed since"), "{}", page.text);
}

#[tokio::test]
async fn all_that_cannot_be_approved_any_more_is_dismissed_at_once() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let ids = [id(&overwrite(&client).await), id(&delete(&client).await)];
    assert!(!person.get("/ui").await.ok().contains("Dismiss"));
    let other = [bearer(&token("other", &scope::ALL, None))];
    for path in ["/notes/a.md", "/notes/b.md"] {
        send(&client, "POST", path, &other, &json!({ "content": "four" })).await.ok();
    }
    assert!(person.get("/ui").await.ok().contains("Dismiss the 2 calls whose files have changed"));
    let form = ids.each_ref().map(|id| ("id", id.as_str()));
    person.form("/ui", "/ui/approvals/refuse", &form).await.leads();
    assert!(person.get("/ui").await.ok().contains("Nothing waits for you"));
    // The same call is asked about anew.
    assert_eq!(delete(&client).await.error(403).1, "elicit_required");
}

#[tokio::test]
async fn the_calling_client_does_not_approve_itself() {
    let deployment = deployment().await;
    let client = function(&deployment);
    let id = id(&overwrite(&client).await);
    let approve = async |visitor: &Visitor<'_>| -> Page {
        visitor.form("/ui/sync", "/ui/approvals/approve", &[("id", &id)]).await
    };
    // With the agent's own token at the page, with one of the same subject, and with one that grants less.
    let agent = Visitor::with_token(&client, "agent", &scope::ALL).await;
    let page = approve(&agent).await;
    assert!(page.status == 403 && page.text.contains("you made this call yourself"), "{}", page.text);
    let same = Visitor::with_token(&client, "agent", &[Scope::ReadVault, Scope::Admin]).await;
    assert_eq!(approve(&same).await.status, 403);
    let writer = Visitor::with_token(&client, "person", &[Scope::ReadVault, Scope::WriteVault]).await;
    assert_eq!(approve(&writer).await.status, 403);
    assert_eq!(id, self::id(&overwrite(&client).await));
    let person = Visitor::with_token(&client, "person", &[Scope::ReadVault, Scope::ApproveVault]).await;
    assert!(person.get("/ui").await.ok().contains("agent"));
    assert_eq!(approve(&person).await.leads(), "/ui/approvals?said=approved");
    overwrite(&client).await.ok();
}

#[tokio::test]
async fn an_administrator_without_the_right_to_a_note_does_not_see_its_call() {
    let deployment = deployment().await;
    let config =
        json!({ "vaults": [{ "id": "main", "acl": { "rules": [{ "glob": "b.md", "scopes": ["read:private"] }] } }] });
    let secret = crate::support::tokens::SECRET;
    let config = config.to_string();
    let client =
        deployment.set_up(&[("ATLAS_CONFIG", &config), ("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", secret)]).await;
    let private = crate::support::tokens::token_of("agent", "read:vault write:vault delete:vault read:private", None);
    let asked = send(&client, "DELETE", "/notes/b.md", &[bearer(&private)], &Value::Null).await;
    let id = id(&asked);
    let person = Visitor::administrator(&client).await;
    let page = person.get("/ui").await.ok();
    assert!(page.contains("1 other call") && !page.contains("b.md"), "{page}");
    let page = person.get(&format!("/ui/approvals/{id}")).await;
    assert!(!page.text.contains("b.md"), "{}", page.text);
}

#[tokio::test]
async fn the_list_is_sent_again_only_when_something_happened() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let list =
        async |tag: &str| person.send("GET", "/ui/approvals/list?view=unified", &[("if-none-match", tag)], "").await;
    let empty = list("").await;
    let tag = empty.reply.header("etag").unwrap().to_owned();
    let same = list(&tag).await;
    assert!(same.status == 304 && same.text.is_empty());
    let id = id(&overwrite(&client).await);
    let waits = list(&tag).await;
    assert!(waits.status == 200 && waits.text.contains(&id) && !waits.text.contains("<html"));
    let tag = waits.reply.header("etag").unwrap().to_owned();
    assert_eq!(list(&tag).await.status, 304);
    person.form("/ui", "/ui/approvals/approve", &[("id", &id)]).await.leads();
    assert_eq!(list(&tag).await.status, 200);
}

/// The text of a long note.
fn long(word: &str) -> String {
    (0..1700).map(|line| format!("{word} {line} of a long note\n")).collect()
}

#[tokio::test]
async fn a_call_with_too_many_lines_is_shown_with_all_its_files_and_decided_on() {
    let paths: Vec<String> = (0..100).map(|number| format!("log/{number:03}.md")).collect();
    let vault = VaultBuilder::new().note("a.md", "one\n").note("b.md", "see [[a]]\n");
    let vault = paths.iter().fold(vault, |vault, path| vault.note(path, &long("old")));
    let deployment = Deployment::of_vault(&vault).await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let items: Vec<Value> =
        paths.iter().map(|path| json!({ "path": path, "mode": "overwrite", "content": "gone\n" })).collect();
    let agent = Agent::new(&client, ERAS[0]).with(bearer(&token("agent", &scope::ALL, None)));
    let asked = agent.failure("bulk_create_notes", json!({ "items": items })).await;
    let id = asked["details"]["approval"]["id"].as_str().unwrap().to_owned();
    let small = self::id(&delete(&client).await);
    for place in ["/ui/approvals".to_owned(), format!("/ui/approvals/{id}")] {
        let page = person.get(&place).await.ok();
        for path in &paths {
            assert!(page.contains(path), "{path}");
        }
        assert!(page.contains("−1700"), "{page:.2000}");
        assert!(page.contains(">Approve</button>") && page.contains(">Refuse</button>"));
    }
    // The other call has its lines beside it, and the rest is a link away.
    assert!(person.get("/ui/approvals").await.ok().contains(&small));
    let page = person.get(&format!("/ui/approvals/{id}?file=log/007.md&from=1000")).await.ok();
    assert!(page.contains("of a long note") && page.contains("Only"), "{page:.2000}");
    person.form("/ui", "/ui/approvals/refuse", &[("id", &id), ("reason", "too much")]).await.leads();
}

#[tokio::test]
async fn calls_that_wait_are_counted_however_many_were_decided_since() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let first = id(&delete(&client).await);
    for number in 0..60 {
        let body = json!({ "content": format!("{number}\n") });
        let id = id(&ask(&client, "PUT", "/notes/a.md", body).await);
        person.form("/ui", "/ui/approvals/refuse", &[("id", &id)]).await.leads();
    }
    let page = person.get("/ui/approvals").await.ok();
    assert!(page.contains("1 call waits") && page.contains(&format!("call-{first}")), "{page}");
}

#[tokio::test]
async fn a_call_that_was_decided_does_not_keep_the_others_from_being_approved() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let refused = id(&ask(&client, "PUT", "/notes/a.md", json!({ "content": "other\n" })).await);
    let ids = [id(&overwrite(&client).await), refused.clone(), id(&delete(&client).await)];
    person.form("/ui", "/ui/approvals/refuse", &[("id", &refused)]).await.leads();
    let fields = ids.each_ref().map(|id| ("id", id.as_str()));
    let page = person.form("/ui", "/ui/approvals/approve", &fields).await.ok();
    assert!(page.contains("2 of 3 approved") && page.contains("that stands"), "{page}");
    delete(&client).await.ok();
}
