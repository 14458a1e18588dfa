//! Sessions: visitors who are let in, and the reach of their cookies.

use atlas_access::{Scope, scope};
use atlas_testkit::VaultBuilder;
use atlas_ui::session::end_all;
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::Value;

use super::visitor::{LOCAL, PUBLIC, Visitor, encoded, form_token, function, link, on_host};
use crate::support::clock;
use crate::support::deployment::Deployment;
use crate::support::tokens::{SECRET, bearer, send, token};

async fn deployment() -> Deployment {
    Deployment::of_vault(&VaultBuilder::new().note("a.md", "one\n")).await
}

#[tokio::test]
async fn a_link_opens_the_page_once() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let link = link(&deployment).await;
    let stranger = Visitor::stranger(&client, LOCAL);
    // A checker of links looks at it, and does not use it up.
    let looked = stranger.send("HEAD", &link, &[], "").await;
    assert_eq!((looked.leads(), looked.cookie()), ("/ui", None));
    let opened = stranger.get(&link).await;
    let set = opened.reply.header("set-cookie").unwrap();
    assert!(set.starts_with("atlas_page_3737=") && set.contains("Path=/ui; HttpOnly; SameSite=Strict"), "{set}");
    let person = Visitor { cookie: opened.cookie().unwrap(), ..Visitor::stranger(&client, LOCAL) };
    assert!(person.get("/ui").await.ok().contains("Nothing waits for you"));
    // Whoever finds the link later gets nothing; who has a session loses none by it.
    assert_eq!(stranger.get(&link).await.status, 403);
    assert_eq!(person.get(&link).await.leads(), "/ui");
    for code in ["x", &"0".repeat(32), "..%2f..%2flatest"] {
        assert_eq!(stranger.get(&format!("/ui/open/{code}")).await.status, 403, "{code}");
    }
    // Of many at the same time one is let in.
    let link = super::visitor::link(&deployment).await;
    let tries = futures::future::join_all((0..8).map(|_| stranger.get(&link))).await;
    assert_eq!(tries.iter().filter(|page| page.status == 303).count(), 1);
}

#[tokio::test]
async fn without_a_session_there_is_only_the_page_to_sign_in() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let stranger = Visitor::stranger(&client, LOCAL);
    for place in [
        "/ui",
        "/ui/note?path=a.md",
        "/ui/approvals/list",
        "/ui/file?path=a.md",
        "/ui/search/results?q=one",
        "/ui/access",
    ] {
        let page = stranger.get(place).await;
        assert_eq!(page.status, 401, "{place}");
        assert!(page.text.contains("atlas ui") && !page.text.contains("one\n"), "{place}: {}", page.text);
    }
    for place in ["/ui/approvals/approve", "/ui/undo", "/ui/restore", "/ui/sign-out", "/ui/sync", "/ui/note"] {
        assert_eq!(stranger.send("POST", place, &[("origin", &stranger.origin())], "a=b").await.status, 401, "{place}");
    }
    for asset in ["style.css", "script.js", "icon.svg"] {
        stranger.get(&format!("/ui/assets/{asset}")).await.ok();
    }
    assert_eq!(stranger.get("/ui/assets/..%2fsession.rs").await.status, 404);
    // A browser that asks for the service is led to the page, a program is not.
    assert_eq!(stranger.get("/").await.leads(), "/ui");
    assert_eq!(client.get("/").await.status, 401);
    // A browser leaves the cookie out where a link of another site leads here; not if this site does.
    let headers = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    let onward = stranger.send("GET", "/ui/note?path=a.md&x=%22%3E%3Cscript%3E", &headers, "").await.text;
    assert!(!onward.contains("<script>") || onward.is_empty(), "{onward}");
    let onward = stranger.send("GET", "/ui/note?path=a.md", &headers, "").await.ok();
    assert!(onward.contains("content=\"0;url=/ui/note?path=a.md\"") && !onward.contains("one"), "{onward}");
}

#[tokio::test]
async fn a_cookie_is_good_for_the_page_and_a_token_for_the_rest() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    for (method, place) in [
        ("GET", "/notes/a.md"),
        ("POST", "/search"),
        ("POST", "/mcp"),
        ("GET", "/bridge/v1/tools"),
        ("POST", "/approve"),
    ] {
        let page = person.send(method, place, &[("origin", &person.origin())], "").await;
        assert_eq!(page.status, 401, "{place}: {}", page.text);
    }
    let owner = [bearer(&token("owner", &scope::ALL, None))];
    assert_eq!(send(&client, "GET", "/ui", &owner, &Value::Null).await.status, 401);
    send(&client, "GET", "/notes/a.md", &owner, &Value::Null).await.ok();
}

#[tokio::test]
async fn a_form_counts_only_from_a_page_of_its_session() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let other = Visitor::person(&deployment, &client).await;
    let own = form_token(&person.get("/ui/sync").await.ok());
    let others = form_token(&other.get("/ui/sync").await.ok());
    assert_ne!(own, others);
    let origin = person.origin();
    let sent = async |headers: &[(&str, &str)], token: &str| {
        person.send("POST", "/ui/sync", headers, &encoded(&[("form_token", token)])).await.status
    };
    assert_eq!(sent(&[("origin", &origin)], &own).await, 303);
    for (headers, token) in [
        (vec![("origin", origin.as_str())], ""),
        (vec![("origin", origin.as_str())], others.as_str()),
        (vec![], own.as_str()),
        (vec![("origin", "null")], own.as_str()),
        (vec![("origin", "https://evil.example")], own.as_str()),
        (vec![("origin", "http://127.0.0.1:8080")], own.as_str()),
        (vec![("origin", origin.as_str()), ("sec-fetch-site", "cross-site")], own.as_str()),
        (vec![("origin", origin.as_str()), ("sec-fetch-site", "same-site")], own.as_str()),
    ] {
        assert_eq!(sent(&headers, token).await, 403, "{headers:?}");
    }
    // Nobody is signed in by a form of another site either.
    let token = token("mallory", &scope::ALL, None);
    let form = encoded(&[("token", &token)]);
    let page = person.send("POST", "/ui/sign-in", &[("origin", "https://evil.example")], &form).await;
    assert!(page.status == 403 && page.cookie().is_none());
}

#[tokio::test]
async fn nobody_chooses_the_session_of_another() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let chosen = format!("atlas_page_3737={}", "a".repeat(32));
    let fixed = Visitor { cookie: chosen.clone(), ..Visitor::stranger(&client, LOCAL) };
    let opened = fixed.get(&link(&deployment).await).await;
    assert_ne!(opened.cookie().unwrap(), chosen);
    assert_eq!(fixed.get("/ui").await.status, 401);
    // Signing in anew ends the session before.
    let first = Visitor { cookie: opened.cookie().unwrap(), ..Visitor::stranger(&client, LOCAL) };
    let second = first.get(&link(&deployment).await).await;
    assert_eq!(first.get("/ui").await.status, 401);
    let second = Visitor { cookie: second.cookie().unwrap(), ..Visitor::stranger(&client, LOCAL) };
    second.get("/ui").await.ok();
    // The cookie of one port is not that of another.
    let elsewhere = Visitor { host: "127.0.0.1:99", cookie: second.cookie.clone(), client: &client };
    assert_eq!(elsewhere.get("/ui").await.status, 401);
}

#[tokio::test]
async fn a_session_ends_by_signing_out_by_the_host_and_by_itself() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let out = person.form("/ui", "/ui/sign-out", &[]).await;
    assert_eq!(out.leads(), "/ui/sign-in");
    assert!(out.reply.header("set-cookie").unwrap().contains("=; Max-Age=0"));
    assert_eq!(person.get("/ui").await.status, 401);
    let person = Visitor::person(&deployment, &client).await;
    end_all(&deployment.mirror(), "ada").await.unwrap();
    assert_eq!(person.get("/ui").await.status, 401);
    let person = Visitor::person(&deployment, &client).await;
    let old = link(&deployment).await;
    let later = deployment.client_with(|app| {
        crate::access::unthrottled()(app)
            .for_its_hosts()
            .with_clock(|| clock::now() + jiff::SignedDuration::from_hours(13))
    });
    let later = Visitor { client: &later, cookie: person.cookie.clone(), ..person };
    assert_eq!(later.get("/ui").await.status, 401);
    assert_eq!(Visitor::stranger(later.client, LOCAL).get(&old).await.status, 403);
}

#[tokio::test]
async fn a_token_is_shown_once_and_grants_what_it_grants() {
    let deployment = deployment().await;
    let client = function(&deployment);
    let stranger = Visitor::stranger(&client, PUBLIC);
    for wrong in ["", "x", "a.b.c", &"x".repeat(5000), &token("x", &scope::ALL, Some("other"))] {
        let page = stranger.sign_in(wrong).await;
        assert!(page.cookie().is_none() && page.status >= 400, "{wrong}: {}", page.status);
    }
    let signed_in = stranger.sign_in(&token("reader", &[Scope::ReadVault], None)).await;
    let set = signed_in.reply.header("set-cookie").unwrap();
    assert!(
        set.starts_with("__Host-atlas-page=") && set.contains("Path=/; Secure; HttpOnly; SameSite=Strict"),
        "{set}"
    );
    let reader = Visitor { cookie: signed_in.cookie().unwrap(), ..Visitor::stranger(&client, PUBLIC) };
    assert!(reader.get("/ui/note?path=a.md").await.ok().contains("one"));
    assert_eq!(reader.get("/ui").await.leads(), "/ui/search");
    assert_eq!(reader.get("/ui/approvals").await.status, 403, "only administrators see the calls that wait");
    // The secret without the token, or with another's, is no session.
    let (secret, _) = reader.cookie.split_once('.').unwrap();
    let owner = token("owner", &scope::ALL, None);
    for cookie in [secret.to_owned(), format!("{secret}.x"), format!("__Host-atlas-page={}.{owner}", "b".repeat(32))] {
        let other = Visitor { cookie, ..Visitor::stranger(&client, PUBLIC) };
        assert_eq!(other.get("/ui/note?path=a.md").await.status, 401);
    }
    // It ends with the token.
    let later = deployment.client_with(|app| {
        crate::access::unthrottled()(app).with_clock(|| clock::now() + jiff::SignedDuration::from_mins(11))
    });
    let reader = Visitor { client: &later, ..reader };
    assert_eq!(reader.get("/ui/note?path=a.md").await.status, 401);
    // A function takes no links: it is on no host.
    assert_eq!(stranger.get(&link(&deployment).await).await.status, 403);
}

#[tokio::test]
async fn every_answer_says_what_a_browser_may_do_with_it() {
    let deployment = deployment().await;
    let client = on_host(&deployment);
    let person = Visitor::person(&deployment, &client).await;
    let stranger = Visitor::stranger(&client, LOCAL);
    for page in [
        person.get("/ui").await,
        person.get("/ui/note?path=a.md").await,
        person.get("/ui/note?path=none.md").await,
        person.get("/ui/approvals/list").await,
        stranger.get("/ui").await,
        stranger.get("/ui/sign-in").await,
    ] {
        let policy = page.reply.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"),
            "{policy}"
        );
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(page.reply.header(name), Some(value));
        }
        assert!(
            page.reply.header("cache-control").is_some_and(|value| value.contains("no-")),
            "{:?}",
            page.reply.headers
        );
        assert!(page.reply.header("access-control-allow-origin").is_none());
    }
    let mut bytes = person.get("/ui").await.text.len();
    for asset in ["style.css", "script.js", "icon.svg"] {
        bytes += stranger.get(&format!("/ui/assets/{asset}")).await.text.len();
    }
    assert!(bytes <= 60_000, "the first page transfers {bytes} bytes");
}

#[tokio::test]
async fn a_token_for_a_vault_with_its_own_document_opens_that_vault() {
    let deployment = deployment().await;
    deployment.publish_as("tenant", VaultBuilder::new().note("Harbour.md", "# Harbour").root()).await;
    let put = PutPayload::from(r#"{"id": "tenant", "name": "The tenant"}"#);
    deployment.objects.put(&Path::from("config/vaults/tenant.json"), put).await.unwrap();
    let document = r#"{"vaultDocuments": "store:config/vaults", "auth": {"mode": "jwt"}}"#;
    let client = deployment.set_up(&[("ATLAS_CONFIG", document), ("ATLAS_JWT_SECRET", SECRET)]).await;
    let mut visitor = Visitor::stranger(&client, PUBLIC);
    let token = token("person", &scope::ALL, Some("tenant"));
    visitor.cookie = visitor.sign_in(&token).await.cookie().expect("a session");
    let page = visitor.get("/ui/note?path=Harbour.md").await.ok();
    assert!(page.contains("Harbour"), "{page}");
}
