//! `GET /notes` and `GET /notes/{path}`.

use atlas_testkit::VaultBuilder;
use axum::http::Method;
use object_store::ObjectStoreExt as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::deployment::{Deployment, demo, encoded};
use crate::support::note_calls::send;

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_note_is_shown_with_its_properties() {
    let text = "---\ntags: [a, b]\nrating: 4\n---\n# Title\r\nText\n";
    let client = Deployment::of_vault(&VaultBuilder::new().note("a/note.md", text)).await.client();
    let reply = client.get("/notes/a/note.md").await;
    assert_eq!(
        reply.ok(),
        json!({
            "path": "a/note.md", "content": text, "frontmatter": { "tags": ["a", "b"], "rating": 4 },
            "bytes": text.len(), "content_hash": sha256(text.as_bytes()), "sha256": sha256(text.as_bytes()), "generation": 1,
        })
    );
    assert_eq!(reply.header("etag"), Some(format!("\"{}\"", sha256(text.as_bytes())).as_str()));
    assert_eq!(reply.header("x-atlas-generation"), Some("1"));
    assert_eq!(client.get("/notes?path=a/note.md").await.json(), reply.json());
    let markdown = client.get_with("/notes/a/note.md", &[("accept", "text/markdown")]).await;
    assert_eq!(
        (markdown.header("content-type"), &markdown.body[..]),
        (Some("text/markdown; charset=utf-8"), text.as_bytes())
    );
}

#[tokio::test]
async fn every_text_of_the_demo_vault_is_read_back_byte_for_byte() {
    let client = Deployment::of_demo().await.client();
    let listed = client.get("/notes?limit=1000").await.ok();
    let listed = listed["items"].as_array().unwrap();
    assert!(listed.len() > 50);
    for note in listed {
        let path = note["path"].as_str().unwrap();
        let markdown = client.get_with(&format!("/notes/{}", encoded(path)), &[("accept", "text/markdown")]).await;
        let on_disk = std::fs::read(demo().join(path)).or_else(|_| find_on_disk(path)).unwrap();
        assert_eq!(markdown.body, on_disk, "{path}");
        assert_eq!(
            (note["size"].as_u64().unwrap() as usize, note["sha256"].as_str().unwrap()),
            (on_disk.len(), sha256(&on_disk).as_str())
        );
    }
}

/// The file whose name is `path` in another normalisation.
fn find_on_disk(path: &str) -> std::io::Result<Vec<u8>> {
    let (folder, _) = path.rsplit_once('/').unwrap_or_default();
    let stem = path.rsplit('/').next().unwrap_or_default().chars().last();
    let mut entries = std::fs::read_dir(demo().join(folder))?.filter_map(Result::ok);
    let entry = entries.find(|entry| {
        !entry.file_name().to_string_lossy().is_ascii() && entry.file_name().to_string_lossy().chars().last() == stem
    });
    std::fs::read(entry.ok_or(std::io::ErrorKind::NotFound)?.path())
}

#[tokio::test]
async fn a_caller_that_has_the_note_is_not_sent_it_again() {
    let client = Deployment::of_vault(&VaultBuilder::new().note("a.md", "text")).await.client();
    let etag = client.get("/notes/a.md").await.header("etag").unwrap().to_owned();
    let again = client.get_with("/notes/a.md", &[("if-none-match", &etag)]).await;
    assert_eq!((again.status.as_u16(), again.body.len(), again.header("etag")), (304, 0, Some(etag.as_str())));
    client.get_with("/notes/a.md", &[("if-none-match", "\"other\"")]).await.ok();
}

#[tokio::test]
async fn a_long_note_comes_in_pages() {
    let text = "港の水位は高い。\n".repeat(20_001);
    let client = Deployment::of_vault(&VaultBuilder::new().note("long.md", &text)).await.client();
    let (mut whole, mut pages, mut url) = (String::new(), 0, "/notes/long.md".to_owned());
    loop {
        let page = client.get(&url).await.ok();
        let content = page["content"].as_str().unwrap();
        assert!(content.len() <= 250_000 && page["bytes"] == text.len());
        whole.push_str(content);
        pages += 1;
        match page["next_offset"].as_u64() {
            Some(next) => url = format!("/notes/long.md?offset={next}"),
            None => break,
        }
    }
    assert!(whole == text && pages == 3);
    // The pages are of the version that the first was of, whoever changes the note meanwhile.
    let first = client.get("/notes/long.md").await.ok();
    send(&client, Method::PUT, "long.md", &[("if-match", "*")], json!({ "content": "other ".repeat(100_000) }))
        .await
        .ok();
    let url = format!("/notes/long.md?offset={}&generation={}", first["next_offset"], first["generation"]);
    let second = client.get(&url).await.ok();
    let rest = text.get(first["content"].as_str().unwrap().len()..).unwrap();
    assert_eq!((&second["sha256"], rest.starts_with(second["content"].as_str().unwrap())), (&first["sha256"], true));
    assert_eq!(client.get("/notes/long.md?offset=99999999").await.error(400).1, "offset_invalid");
    assert_eq!(client.get("/notes/long.md?offset=-1").await.error(400).1, "validation_error");
}

#[tokio::test]
async fn an_offset_inside_a_character_is_refused() {
    let vault = VaultBuilder::new().note("x.md", "caf\u{e9} au lait").file("latin.md", b"caf\xe9\xa0x");
    let client = Deployment::of_vault(&vault).await.client();
    for rendered in ["", "&render_queries=true"] {
        for accept in ["application/json", "text/markdown"] {
            let url = format!("/notes/x.md?offset=4{rendered}");
            let refused = client.get_with(&url, &[("accept", accept)]).await;
            assert_eq!(refused.error(400).1, "offset_invalid");
            assert_eq!(refused.json()["error"]["details"]["nearest"], 3);
        }
    }
    let page = client.get("/notes/x.md?offset=3").await.ok();
    assert_eq!((&page["content"], page.get("lossy")), (&json!("\u{e9} au lait"), None));
    assert_eq!(client.get("/notes/latin.md?offset=4").await.ok()["content"], "\u{fffd}x");
}

#[tokio::test]
async fn the_representation_is_the_one_of_the_highest_weight() {
    let client = Deployment::of_vault(&VaultBuilder::new().note("a.md", "text")).await.client();
    for (accept, expected) in [
        ("text/markdown;q=0, application/json", "application/json"),
        ("text/markdown;q=0.4, application/json;q=0.5", "application/json"),
        ("application/json;q=0.4, text/markdown;q=0.5", "text/markdown; charset=utf-8"),
        ("text/*, */*;q=0.1", "text/markdown; charset=utf-8"),
        ("*/*", "application/json"),
    ] {
        let reply = client.get_with("/notes/a.md", &[("accept", accept)]).await;
        assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, Some(expected)), "{accept}");
    }
    for (accept, expected) in [
        ("text/csv;q=0, application/json", "application/json"),
        ("application/jsonl;q=0.2, text/csv;q=0.1", "application/jsonl; charset=utf-8"),
        ("*/*", "text/csv; charset=utf-8"),
    ] {
        let reply = client.get_with("/tables?query=TABLE%20file.name", &[("accept", accept)]).await;
        assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, Some(expected)), "{accept}");
    }
}

#[tokio::test]
async fn what_is_no_note_is_not_found() {
    let vault =
        VaultBuilder::new().note("a/b.md", "x").file("a/picture.png", b"\x89PNG").note(".obsidian/app.json", "{}");
    let client = Deployment::of_vault(&vault).await.client();
    for path in ["a/c.md", "a", "A/b.md", "a/picture.png"] {
        let (code, reason, message) = client.get(&format!("/notes/{path}")).await.error(404);
        assert_eq!((code.as_str(), reason.as_str()), ("NOT_FOUND", "note_not_found"));
        let more = if path == "a/picture.png" { ": it is an attachment" } else { "" };
        assert!(message.starts_with(&format!("there is no note at {path}{more}")), "{message}");
    }
    for path in [".obsidian/app.json", ".obsidian/none.json", ".Obsidian/app.json", ".trash/a.md", ".git/config"] {
        assert_eq!(client.get(&format!("/notes/{path}")).await.error(403).1, "acl_denied", "{path}");
    }
}

#[tokio::test]
async fn a_note_that_is_not_utf_8_says_so() {
    let client = Deployment::of_vault(&VaultBuilder::new().file("a.md", b"# Caf\xe9\n")).await.client();
    let note = client.get("/notes/a.md").await.ok();
    assert_eq!(
        (note["content"].as_str(), note["lossy"].as_bool(), note["bytes"].as_u64()),
        (Some("# Caf\u{fffd}\n"), Some(true), Some(7))
    );
    assert_eq!(note["sha256"], sha256(b"# Caf\xe9\n"));
}

#[tokio::test]
async fn notes_are_listed_by_prefix_in_pages_that_do_not_change_under_the_reader() {
    let mut vault = VaultBuilder::new();
    for n in 0..300 {
        vault = vault.note(&format!("a/{n:03}.md"), &format!("note {n}")).file(&format!("a/{n:03}.png"), b"\x89PNG");
    }
    vault = vault.note("b.md", "").note("a.md", "").note("aa/x.md", "");
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    let paths = |page: &Value| {
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|note| note["path"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };

    assert_eq!(paths(&client.get("/notes?limit=2").await.ok()), ["a.md", "a/000.md"]);
    assert_eq!(paths(&client.get("/notes?prefix=b").await.ok()), ["b.md"]);
    assert_eq!(paths(&client.get("/notes?prefix=zz").await.ok()), [""; 0]);

    let mut page = client.get("/notes?prefix=a/&limit=70").await.ok();
    let mut all = paths(&page);
    vault.write("a/0005.md", b"came meanwhile");
    vault.remove("a/299.md");
    deployment.publish(vault.root()).await;
    while let Some(cursor) = page["cursor"].as_str().map(str::to_owned) {
        page = client.get(&format!("/notes?prefix=a/&limit=70&cursor={cursor}")).await.ok();
        all.extend(paths(&page));
    }
    assert_eq!(all, (0..300).map(|n| format!("a/{n:03}.md")).collect::<Vec<_>>());
    assert_eq!(client.get("/notes?cursor=zzz").await.error(400).1, "cursor_invalid");
    for limit in ["0", "x", "-3"] {
        assert_eq!(client.get(&format!("/notes?limit={limit}")).await.error(400).1, "validation_error");
    }
    assert_eq!(client.get("/notes?limit=1&limit=2").await.error(400).1, "validation_error");
    assert_eq!(client.get("/notes?colour=red").await.error(400).1, "validation_error");
}

#[tokio::test]
async fn the_version_that_is_there_is_told_when_history_does_not_go_back_to_it() {
    let deployment =
        Deployment::of_vault(&VaultBuilder::new().note("old.md", "# Old\n").note("other.md", "one\n")).await;
    let client = deployment.client();
    let edited = send(&client, Method::PUT, "other.md", &[("if-match", "*")], json!({ "content": "two" })).await;
    edited.ok();
    let first = deployment.mirror().keys().manifest(1);
    deployment.objects.delete(&first).await.unwrap();
    let told = deployment.client().get("/history/old.md").await.ok();
    let versions = told["versions"].as_array().unwrap();
    assert_eq!((versions.len(), versions[0]["generation"].as_u64()), (1, Some(2)), "the generation that has it");
    assert_eq!((versions[0]["bytes"].as_u64(), versions[0]["author"].is_null()), (Some(6), true), "{told}");
    assert!(versions[0]["time"].as_str().is_some_and(|time| time.starts_with("20")), "{told}");
    // The generation is not kept, but the note is as it was then.
    assert_eq!(deployment.client().get("/notes/old.md?generation=1").await.ok()["content"], "# Old\n");
    for url in ["/notes/other.md?generation=1", "/notes/old.md?generation=9"] {
        assert_eq!(deployment.client().get(url).await.error(404).1, "generation_not_found", "{url}");
    }
    let both = deployment.client().get("/history/other.md").await.ok();
    assert_eq!(both["versions"].as_array().unwrap().len(), 1, "what it replaced is not kept: {both}");
    assert_eq!(deployment.client().get("/history/never.md").await.error(404).1, "note_not_found");
    // The generation before still has what a version of today replaced.
    send(&client, Method::PUT, "old.md", &[("if-match", "*")], json!({ "content": "new" })).await.ok();
    let told = deployment.client().get("/history/old.md").await.ok();
    let generations: Vec<_> =
        told["versions"].as_array().unwrap().iter().map(|version| &version["generation"]).collect();
    assert_eq!(generations, [3, 2], "{told}");
    let old = deployment.client().get("/notes/old.md?generation=2").await.ok();
    assert_eq!(old["content"], "# Old\n");
}
