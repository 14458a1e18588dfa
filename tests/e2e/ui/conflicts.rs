//! Conflict copies, compared and resolved at the page.

use atlas_access::Scope;
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Put, by};
use serde_json::json;

use super::visitor::{Visitor, form_value, on_host};
use crate::support::deployment::{Client, Deployment, encoded};
use crate::support::note_calls;
use crate::support::tokens::{bearer, send, token};

const COPY: &str = "log/Harbour (conflict 2026-11-21 14.03 agent).md";
const BASE: &str = "# Harbour\n\nThe ferry leaves at nine.\n\nFog.\n\nThree boats.\n";
const THEIRS: &str = "# Harbour\n\nThe ferry leaves at eight.\n\nFog.\n\nFour boats.\n";
const MINE: &str = "# Harbour\n\nThe ferry leaves at noon.\n\nNo fog.\n\nThree boats.\n";

/// A vault as a sync leaves it that could not merge: the mirror's version as a copy beside the folder's.
async fn deployment() -> Deployment {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("log/Harbour.md", BASE)).await;
    let mirror = deployment.mirror();
    for (author, path, text) in
        [("agent", "log/Harbour.md", THEIRS), ("ada", "log/Harbour.md", MINE), ("ada", COPY, THEIRS)]
    {
        mirror.commit(&by(author), &Put::note(path, text)).await.unwrap();
    }
    deployment
}

fn place() -> String {
    format!("/ui/conflict?path={}", encoded(COPY))
}

/// The texts of the file and of other files beside it.
async fn texts(client: &Client) -> Vec<(String, String)> {
    let headers = [("authorization", bearer(&token("reader", &[Scope::ReadVault], None)).1)];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut texts = Vec::new();
    for path in ["log/Harbour.md", "log/Harbour 2.md", COPY] {
        let reply = client.get_with(&format!("/notes/{}", encoded(path)), &headers).await;
        if reply.status.is_success() {
            texts.push((path.to_owned(), reply.ok()["content"].as_str().unwrap().to_owned()));
        }
    }
    texts
}

fn expected(texts: &[(&str, &str)]) -> Vec<(String, String)> {
    texts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[tokio::test]
async fn both_versions_are_shown_with_what_both_were_made_from() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let sync = person.get("/ui/sync").await.ok();
    assert!(sync.contains("1 copy") && sync.contains(">log/Harbour.md</a>"), "{sync}");
    let page = person.get(&place()).await.ok();
    for part in [
        "3 places differ",
        "both changed it, differently",
        "only yours changed it",
        "only theirs changed it",
        "leaves at <mark>noon</mark>.",
        "leaves at <mark>eight</mark>.",
        "leaves at <mark>nine</mark>.",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // What only one side changed is taken from that side; the rest is chosen.
    assert!(page.contains("leaves at noon.\n\nNo fog.\n\nFour boats.\n</textarea>"), "{page}");
    let chosen = person.get(&format!("{}&p0=both&p1=base", place())).await.ok();
    assert!(chosen.contains("at noon.\nThe ferry leaves at eight.\n\nFog.\n\nFour boats.\n</textarea>"), "{chosen}");
    assert!(person.get("/ui/conflict?path=log/Harbour.md").await.text.contains("not the name of a conflict copy"));
    assert_eq!(person.get("/ui/conflict?path=a%20(conflict%202026-11-21%2014.03%20x).md").await.status, 404);
}

#[tokio::test]
async fn what_is_kept_is_there_and_the_rest_is_in_the_trash() {
    let merged = "# Harbour\r\n\r\nThe ferry leaves at ten.\r\n";
    for (keep, left) in [
        ("mine", vec![("log/Harbour.md", MINE)]),
        ("theirs", vec![("log/Harbour.md", THEIRS)]),
        ("both", vec![("log/Harbour.md", MINE), ("log/Harbour 2.md", THEIRS)]),
        ("merged", vec![("log/Harbour.md", "# Harbour\n\nThe ferry leaves at ten.\n")]),
    ] {
        let deployment = deployment().await;
        let client = on_host(&deployment);
        let person = Visitor::person(&deployment, &client).await;
        let seen = form_value(&person.get(&place()).await.ok(), "if_match");
        let mut fields = vec![("path", COPY), ("keep", keep), ("if_match", seen.as_str())];
        if keep == "merged" {
            fields.push(("content", merged));
        }
        assert_eq!(person.form(&place(), "/ui/conflict", &fields).await.leads(), "/ui/sync?said=resolved", "{keep}");
        assert_eq!(texts(&client).await, expected(&left), "{keep}");
        let sync = person.get("/ui/sync?said=resolved").await.ok();
        assert!(sync.contains("Resolved") && sync.contains("None. Where both sides"), "{sync}");
        let trash = note_calls::notes(&deployment).await;
        let thrown = trash.get(".trash/log/Harbour.md").map(String::as_str);
        let expected = [("mine", Some(THEIRS)), ("theirs", Some(MINE)), ("both", None), ("merged", Some(THEIRS))];
        assert_eq!(thrown, expected.iter().find(|(kept, _)| *kept == keep).and_then(|(_, thrown)| *thrown), "{keep}");
    }
}

#[tokio::test]
async fn a_version_that_nobody_saw_is_not_replaced() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let seen = form_value(&person.get(&place()).await.ok(), "if_match");
    deployment.mirror().commit(&by("ada"), &Put::note("log/Harbour.md", "newer\n")).await.unwrap();
    for keep in ["mine", "theirs", "both"] {
        let page = person.form(&place(), "/ui/conflict", &[("path", COPY), ("keep", keep), ("if_match", &seen)]).await;
        assert_eq!(page.status, 412, "{keep}: {}", page.text);
    }
    assert_eq!(texts(&client).await, expected(&[("log/Harbour.md", "newer\n"), (COPY, THEIRS)]));
}

#[tokio::test]
async fn an_agent_resolves_only_what_a_person_approved() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let agent = [bearer(&token("agent", &[Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault], None))];
    let call = json!({ "arguments": { "path": COPY, "keep": "theirs" } });
    let asked = send(&client, "POST", "/bridge/v1/tools/resolve_conflict/call", &agent, &call).await;
    assert!(String::from_utf8_lossy(&asked.body).contains("a person has to approve this call"), "{asked:?}");
    let person = Visitor::person(&deployment, &client).await;
    let waiting = person.get("/ui").await.ok();
    assert!(waiting.contains("resolve a conflict") && waiting.contains("leaves at"), "{waiting}");
    assert_eq!(texts(&client).await, expected(&[("log/Harbour.md", MINE), (COPY, THEIRS)]));
}
