//! A vault full of attacks: script in every place that notes, names and messages have. No page runs or loads any of it.

use atlas_access::scope;
use atlas_testkit::VaultBuilder;
use serde_json::json;

use super::visitor::{Visitor, on_host};
use crate::support::deployment::{Client, Deployment, encoded};
use crate::support::tokens::{bearer, send, token};

/// The attack in a place: it ends open markup, and begins a script, an image or an attribute.
pub(super) const ATTACK: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)><!--";

/// Names of files, as far as file systems have them.
pub(super) const NAMES: [&str; 5] = [
    "\"'><script>alert(1)<&script>.md",
    "<img src=x onerror=alert(1)>.md",
    "javascript:alert(1).md",
    "a&amp;b%3Cscript%3E?x=1#y.md",
    "evil.svg",
];

pub(super) fn vault() -> VaultBuilder {
    let note = format!(
        "---\ntitle: {json}\n{json}: {json}\ntags: [{json}]\naliases: [{json}]\n---\n# {ATTACK}\n\n{ATTACK}\n\n[[{ATTACK}]] [x](javascript:alert(1))\n\
         ![[evil.svg]] [[javascript:alert(1)|{ATTACK}]] ![x](https://evil.example/x.png)\n\n> [!{ATTACK}] {ATTACK}\n> {ATTACK}\n\n- [ ] {ATTACK}\n\n\
         ```{ATTACK}\n{ATTACK}\n```\n\n#tag{ATTACK}\n\n<svg onload=alert(1)></svg><iframe srcdoc=\"<script>alert(1)</script>\"></iframe>\n",
        json = json!(ATTACK)
    );
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"><script>alert(1)</script></svg>";
    let vault = VaultBuilder::new()
        .note("Attack.md", &note)
        .file("evil.svg", svg.as_bytes())
        .file("evil.html", b"<script>alert(1)</script>");
    let links = "[[Attack]]\n".to_owned();
    NAMES[..4].iter().fold(vault, |vault, name| vault.note(name, &links))
}

/// An agent whose name, session and messages are attacks.
pub(super) async fn attack(client: &Client) -> String {
    let headers = [
        bearer(&token(ATTACK, &scope::ALL, None)),
        ("x-atlas-session".to_owned(), ATTACK.to_owned()),
        ("if-match".to_owned(), "*".to_owned()),
    ];
    let body = json!({ "content": ATTACK, "message": ATTACK });
    send(client, "POST", "/notes/new.md", &headers, &body).await;
    let asked = send(client, "PUT", "/notes/Attack.md", &headers, &body).await;
    assert_eq!(asked.error(403).1, "elicit_required");
    asked.json()["error"]["details"]["approval"]["id"].as_str().unwrap().to_owned()
}

/// All pages that show something of it.
pub(super) fn pages(id: &str) -> Vec<String> {
    let attack = encoded(ATTACK);
    let mut pages = vec![
        "/ui".to_owned(),
        "/ui?view=split".to_owned(),
        format!("/ui/approvals/{id}"),
        "/ui/approvals/list".to_owned(),
        "/ui/activity".to_owned(),
        format!("/ui/activity?by={attack}"),
        format!("/ui/activity?session={attack}&path={attack}&span={attack}"),
        "/ui/activity/1".to_owned(),
        "/ui/activity/2".to_owned(),
        "/ui/undo?generation=2".to_owned(),
        format!("/ui/undo?by={attack}"),
        format!("/ui/search?q={attack}&mode={attack}&folder={attack}"),
        "/ui/search?q=alert".to_owned(),
        "/ui/search?q=alert&mode=literal".to_owned(),
        "/ui/search/results?q=script&mode=regex".to_owned(),
        "/ui/note?path=Attack.md".to_owned(),
        format!("/ui/note?path={attack}"),
        "/ui/history?path=new.md".to_owned(),
        "/ui/sync".to_owned(),
        "/ui/connect".to_owned(),
        format!("/ui/access?path={attack}&scopes={attack}&op=write"),
    ];
    pages.extend(NAMES.iter().map(|name| format!("/ui/note?path={}", encoded(name))));
    pages
}

#[track_caller]
fn is_harmless(place: &str, html: &str) {
    let mut rest = html;
    while let Some((_, tag)) = rest.split_once('<') {
        // An attribute's value has no `<`: it is escaped.
        let end = tag.find(['<', '>']).unwrap_or(tag.len());
        let (tag, after) = tag.split_at(end);
        rest = after;
        let lower = tag.to_lowercase();
        let name = lower.split([' ', '/', '\n']).next().unwrap_or_default().to_owned();
        if name == "script" {
            assert!(
                lower.starts_with("script src=\"/ui/assets/script.js?v=") && lower.ends_with("\" defer"),
                "{place}: {tag}"
            );
        }
        for part in ["iframe", "object", "embed", "base", "style"] {
            assert_ne!(name, part, "{place}: {tag}");
        }
        let quoted = lower.matches('"').count();
        assert_eq!(quoted % 2, 0, "{place}: {tag}");
        // Outside of values.
        let names: String = lower.split('"').step_by(2).collect();
        for attribute in ["onerror", "onload", "onclick", "style=", "srcdoc"] {
            assert!(!names.contains(attribute), "{place}: {tag}");
        }
        for (attribute, value) in
            lower.split('"').collect::<Vec<_>>().chunks(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)))
        {
            if attribute.ends_with("src=") || (attribute.ends_with("href=") && name == "link") {
                assert!(value.starts_with("/ui"), "{place}: {tag}");
            }
            if attribute.ends_with("href=") || attribute.ends_with("action=") {
                let is_known = ["/", "#", "https://", "http://", "mailto:", "obsidian://"]
                    .iter()
                    .any(|begin| value.starts_with(begin));
                assert!(is_known, "{place}: {tag}");
            }
        }
    }
}

#[tokio::test]
async fn no_page_has_anything_of_an_attack_but_as_text() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = on_host(&deployment);
    let id = attack(&client).await;
    let person = Visitor::person(&deployment, &client).await;
    let mut shown = 0;
    for place in pages(&id) {
        let page = person.get(&place).await;
        assert!(page.status != 500 && page.status != 401, "{place}: {}", page.text);
        is_harmless(&place, &page.text);
        shown += page.text.matches("&lt;script&gt;").count();
    }
    assert!(shown > 30, "the attacks are shown as text: {shown}");
}

#[tokio::test]
async fn a_file_runs_nowhere() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    for (path, kind) in [("evil.svg", "image/svg+xml"), ("evil.html", "application/octet-stream")] {
        let file = person.get(&format!("/ui/file?path={path}")).await;
        assert_eq!(file.status, 200, "{}", file.text);
        assert_eq!(file.reply.header("content-type"), Some(kind));
        assert!(file.reply.header("content-disposition").unwrap().starts_with("attachment; filename*=UTF-8''evil%2E"));
        assert!(file.reply.header("content-security-policy").unwrap().ends_with("sandbox"));
        assert_eq!(file.reply.header("x-content-type-options"), Some("nosniff"));
        let tag = file.reply.header("etag").unwrap().to_owned();
        assert_eq!(
            person.send("GET", &format!("/ui/file?path={path}"), &[("if-none-match", &tag)], "").await.status,
            304
        );
    }
    for path in [".obsidian/app.json", "../secret", "none.png", ""] {
        assert!(person.get(&format!("/ui/file?path={}", encoded(path))).await.status >= 400, "{path}");
    }
}

#[tokio::test]
async fn pictures_of_other_sites_come_only_when_the_visitor_asks() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let place = "/ui/note?path=Attack.md";
    let page = person.get(place).await.ok();
    assert!(page.contains("Picture of evil.example") && !page.contains("src=\"https://"), "{page}");
    // No link can ask for it.
    let page = person.get(&format!("{place}&with_pictures=true")).await.ok();
    assert!(!page.contains("src=\"https://"));
    let asked = person.form(place, "/ui/note", &[("path", "Attack.md")]).await;
    assert!(asked.text.contains("src=\"https://evil.example/x.png\""), "{}", asked.text);
    assert!(asked.reply.header("content-security-policy").unwrap().contains("img-src 'self' https:;"));
    let stolen = person.send("POST", "/ui/note", &[("origin", "https://evil.example")], "path=Attack.md").await;
    assert_eq!(stolen.status, 403);
}
