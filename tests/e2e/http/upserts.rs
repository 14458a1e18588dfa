//! `POST /notes/{path}`, `upsert_note` and `note_upsert`: creating a note, or adding to its end.

use atlas_testkit::VaultBuilder;
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::json;

use crate::support::deployment::Deployment;
use crate::support::note_calls::{read, send};

#[tokio::test]
async fn an_upsert_creates_a_note_or_adds_to_it() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    let body =
        json!({ "content": "[impl] 2026-11-21 made it", "frontmatter": { "type": "devlog", "tags": ["a", "b c"] } });
    let created = send(&client, Method::POST, "vault/devlog/new.md", &[], body.clone()).await;
    assert_eq!((created.status.as_u16(), created.json()["created"].as_bool()), (201, Some(true)));
    let note = client.get("/notes/vault/devlog/new.md").await.ok();
    assert_eq!(note["frontmatter"], json!({ "type": "devlog", "tags": ["a", "b c"] }));
    let first = note["content"].as_str().unwrap().to_owned();
    assert!(first.ends_with("[impl] 2026-11-21 made it"), "{first}");
    let added = send(&client, Method::POST, "vault/devlog/new.md", &[], body).await;
    assert_eq!(
        (added.ok()["created"].as_bool(), read(&client, "vault/devlog/new.md").await),
        (Some(false), format!("{first}\n[impl] 2026-11-21 made it"))
    );
    // Two concurrent ones are both kept, in any order.
    let (one, other) = (deployment.client(), deployment.client());
    futures::join!(
        send(&one, Method::POST, "vault/devlog/new.md", &[], json!({ "content": "by one" })),
        send(&other, Method::POST, "vault/devlog/new.md", &[], json!({ "content": "by other" }))
    );
    let text = read(&client, "vault/devlog/new.md").await;
    assert!(text.contains("\nby one") && text.contains("\nby other"), "{text}");
    assert_eq!(send(&client, Method::POST, "x.txt", &[], json!({ "content": "x" })).await.error(400).1, "path_invalid");
}

#[tokio::test]
async fn what_an_upsert_adds_has_the_line_breaks_of_the_note_and_begins_an_empty_one() {
    let (crlf, text) = ("# Log\r\none\r\n", "---\nrank: 1\n---\ntwo\n");
    let doors = ["json", "markdown", "upsert_note", "note_upsert"];
    let paths = |door: &str| [format!("{door}/crlf.md"), format!("{door}/empty.md"), format!("{door}/mark.md")];
    let vault = doors.iter().fold(VaultBuilder::new(), |vault, door| {
        let [lines, empty, mark] = paths(door);
        vault.note(&lines, crlf).note(&empty, "").note(&mark, "\u{feff}")
    });
    let client = Deployment::of_vault(&vault).await.client();
    for door in doors {
        for path in paths(door) {
            let body = json!({ "path": path, "content": text });
            match door {
                "json" => drop(send(&client, Method::POST, &path, &[], json!({ "content": text })).await.ok()),
                "markdown" => {
                    let request = Request::post(format!("/notes/{path}")).header("content-type", "text/markdown");
                    client.send(request.body(Body::from(text)).unwrap()).await.ok();
                }
                tool => {
                    let call = format!("/bridge/v1/tools/{tool}/call");
                    client.post(&call, json!({ "arguments": body })).await.ok();
                }
            }
        }
        let [lines, empty, mark] = paths(door);
        let added = text.replace('\n', "\r\n");
        assert_eq!(read(&client, &lines).await, format!("{crlf}\r\n{added}"), "{door}");
        for (path, before) in [(empty, ""), (mark, "\u{feff}")] {
            let note = client.get(&format!("/notes/{path}")).await.ok();
            assert_eq!(
                (&note["content"], &note["frontmatter"]),
                (&json!(format!("{before}{text}")), &json!({ "rank": 1 })),
                "{path}"
            );
        }
    }
}
