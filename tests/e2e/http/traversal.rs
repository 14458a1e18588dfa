//! Paths that try to leave the vault are refused in every spelling, before any request to the store.

use atlas_testkit::VaultBuilder;
use serde_json::json;

use crate::support::deployment::{Client, Deployment};

const HOSTILE: [&str; 34] = [
    "GIT~1/hooks/x.md",
    "a/obsidi~1/app.md",
    ".git./a.md",
    ".git::$INDEX_ALLOCATION/a.md",
    ".g\u{200c}it/a.md",
    "a/.. /b.md",
    "../secret.md",
    "a/../../secret.md",
    "a/../b.md",
    "./a.md",
    "a/./b.md",
    "..",
    ".",
    "a/..",
    "%2e%2e/secret.md",
    "%2E%2E/secret.md",
    "%252e%252e/secret.md",
    "%25252e%25252e%25252fsecret.md",
    "..%2fsecret.md",
    "..%252fsecret.md",
    "%2e./secret.md",
    "a%2f..%2f..%2fsecret.md",
    "..\\secret.md",
    "a\\b.md",
    "..%5csecret.md",
    "%5c%5chost%5cshare.md",
    "/etc/passwd",
    "//etc/passwd",
    "%2fetc/passwd",
    "C:/secret.md",
    "c:secret.md",
    "a//b.md",
    "a/b.md/",
    "a\0.md",
];

async fn assert_refused(client: &Client, url: &str) {
    let reply = client.get(url).await;
    let (code, reason, _) = reply.error(400);
    assert_eq!((code.as_str(), reason.as_str()), ("BAD_REQUEST", "path_invalid"), "{url}");
    assert_eq!(client.requests.take().count(), 0, "{url}");
}

/// Escapes every byte that is invalid in a URL, and `%` only if `also_percent`.
fn escaped(path: &str, also_percent: bool) -> String {
    path.bytes()
        .map(|byte| match byte {
            b'%' if !also_percent => "%".to_owned(),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'/' | b'-' | b':' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[tokio::test]
async fn a_path_that_leaves_the_vault_is_refused_and_touches_nothing() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a/b.md", "x").note("secret.md", "y")).await;
    let client = deployment.client();
    let long = format!("{}.md", "a".repeat(1100));
    for path in HOSTILE.into_iter().chain([long.as_str()]) {
        assert_refused(&client, &format!("/notes?path={}", escaped(path, true))).await;
        assert_refused(&client, &format!("/notes?path={}", escaped(path, false))).await;
        assert_refused(&client, &format!("/notes/{}", escaped(path, true))).await;
        assert_refused(&client, &format!("/notes/{}", escaped(path, false))).await;
    }
    assert_refused(&client, "/notes/%ff%fe.md").await;
}

#[tokio::test]
async fn the_same_holds_for_what_context_is_asked_to_include() {
    let deployment =
        Deployment::of_vault(&VaultBuilder::new().note("vault/planning/now.md", "").note("secret.md", "y")).await;
    let client = deployment.client();
    for path in HOSTILE {
        let reply = client.post("/context/current", json!({ "include": [path] })).await;
        assert_eq!(reply.error(400).1, "path_invalid", "{path}");
        assert_eq!(client.requests.take().count(), 0, "{path}");
    }
}

#[tokio::test]
async fn an_nfd_path_finds_the_note() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("Caf\u{e9}.md", "x")).await;
    assert_eq!(deployment.client().get("/notes/Cafe%CC%81.md").await.ok()["path"], "Caf\u{e9}.md");
}
