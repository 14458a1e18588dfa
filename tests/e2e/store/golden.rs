//! A mirror of format 1 at the time it was frozen: `tests/golden/v1` has a folder store of many generations, and their
//! contents. Every later version reads it, and can continue it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas_mirror::location::{self, Variables};
use atlas_mirror::tombstones::Tombstones;
use atlas_mirror::{Hash, Manifest, Mirror, Options, PartCache, Store};
use atlas_segment::object;
use atlas_sync::{SyncOptions, sync};
use atlas_testkit::VaultBuilder;
use atlas_testkit::time::minute;
use axum::http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::deployment::{Client, Deployment, encoded};
use crate::support::note_calls::{create, delete, put, read, send};
use crate::support::publish::{Files, exported, files, publish};

/// The content of the mirror.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Expected {
    /// By generation the files' SHA-256. `many/` is all files below it: the SHA-256 of `sha256sum`'s output for them.
    generations: BTreeMap<u64, BTreeMap<String, String>>,
    /// Calls on the newest generation, and their answers.
    answers: Vec<(String, Value, Value)>,
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/v1")
}

fn store(folder: &Path) -> Store {
    location::open(&format!("file://{}", folder.display()), &Variables::default()).unwrap()
}

fn mirror(folder: &Path) -> Mirror {
    Mirror::open(store(folder), "main".parse().unwrap(), PartCache::new(0).into(), Options::default()).unwrap()
}

/// A copy of the golden store, to write to.
fn copy() -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for (path, bytes) in files(&golden().join("store")) {
        let path = copy.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    copy
}

fn hashes(files: &Files) -> BTreeMap<String, String> {
    let (many, few): (Vec<_>, Vec<_>) = files.iter().partition(|(path, _)| path.starts_with("many/"));
    let mut hashes: BTreeMap<String, String> =
        few.into_iter().map(|(path, bytes)| (path.clone(), Hash::of(bytes).to_string())).collect();
    let lines: String = many.into_iter().map(|(path, bytes)| format!("{}  {path}\n", Hash::of(bytes))).collect();
    hashes.insert("many/".to_owned(), Hash::of(lines.as_bytes()).to_string());
    hashes
}

/// The answers of `client` to all calls on the newest generation, without parts that do not depend on the mirror.
async fn answers(client: &Client) -> Vec<(String, Value, Value)> {
    const OF_THE_MIRROR: [&str; 8] =
        ["path", "anchor", "quote", "line", "generation", "sha256", "operation", "message"];
    let mut answers = Vec::new();
    let regex = |query: &str| ("/search", json!({ "query": query, "mode": "regex" }));
    for (route, body) in [
        ("/find", json!({ "term": "harbour" })),
        ("/find", json!({ "term": "港の" })),
        ("/find", json!({ "term": "0084" })),
        ("/find", json!({ "term": "zażółć" })),
        ("/search", json!({ "query": "\"high tide\"" })),
        ("/search", json!({ "query": "tag:tide" })),
        ("/search", json!({ "query": "灯台" })),
        ("/search", json!({ "query": "x path:many", "limit": 3 })),
        ("/search", json!({ "query": "Wide Harbour", "mode": "literal", "case": "insensitive" })),
        regex("w[a-z]+ \\d"),
        regex("^x$"),
        regex("(?i)STRASSE|straße"),
        ("/history/crlf.md", Value::Null),
        ("/history/inbox/log.md", Value::Null),
        ("/history/archive/Tide%20table.md", Value::Null),
    ] {
        let reply = if body.is_null() { client.get(route).await } else { client.post(route, body.clone()).await };
        let answer = reply.ok();
        let found = answer.get("results").or(answer.get("versions")).unwrap().as_array().unwrap();
        let part = |found: &Value| {
            let fields = OF_THE_MIRROR.iter().filter_map(|name| Some((name.to_string(), found.get(name)?.clone())));
            Value::Object(fields.collect())
        };
        answers.push((route.to_owned(), body, found.iter().map(part).collect()));
    }
    answers
}

#[tokio::test]
async fn every_generation_of_the_golden_mirror_holds_what_it_held() {
    let golden = golden();
    let expected: Expected = serde_json::from_slice(&fs::read(golden.join("expected.json")).unwrap()).unwrap();
    let store = golden.join("store");
    for (generation, hashed) in &expected.generations {
        let (files, _) = exported(&mirror(&store), Some(*generation)).await;
        assert_eq!(&hashes(&files), hashed, "generation {generation}");
    }
    let newest = mirror(&store).head().await.unwrap();
    assert_eq!(Some(&newest.generation()), expected.generations.keys().last());
    let asked = answers(&Client::over(&self::store(&store))).await;
    for (found, expected) in asked.iter().zip(&expected.answers) {
        assert_eq!(found, expected);
    }
    assert_eq!(asked.len(), expected.answers.len());
    has_everything(&store);
}

/// Checks that every feature of the format is in some generation.
fn has_everything(store: &Path) {
    let vault = store.join("vaults/main");
    let objects = files(&vault.join("segments"));
    let manifests = files(&vault.join("manifests")).into_values().map(|bytes| Manifest::decode(&bytes).unwrap());
    let manifests: Vec<Manifest> = manifests.collect();
    let entries = || manifests.iter().flat_map(|manifest| &manifest.segments);
    for entry in entries() {
        assert_eq!(object::verify(&objects[&entry.id.to_string()].clone().into()).unwrap(), entry.layout);
    }
    assert!(entries().any(|entry| matches!(&entry.deleted, Tombstones::Inline(set) if set.len() > 1)));
    assert!(entries().any(|entry| matches!(&entry.deleted, Tombstones::Stored(_))));
    assert!(entries().any(|entry| entry.replaces > 0));
    let newest = manifests.last().unwrap();
    assert!(
        newest.segments.iter().any(|entry| entry.generation > 4 && entry.layout.documents > 2),
        "nothing was merged"
    );
    assert!(manifests.iter().any(|manifest| manifest.idempotency.is_some() && manifest.message.is_some()));
    for folder in ["blobs", "state/claims"] {
        assert!(!files(&vault.join(folder)).is_empty(), "{folder}");
    }
    assert!(vault.join("latest").is_file());
}

/// Facts missing in the first segments of the format are built from their texts, and equal those of current segments.
#[tokio::test]
async fn what_old_segments_do_not_say_is_made_of_their_texts() {
    let old = Client::over(&store(&golden().join("store")));
    let (there, _) = exported(&mirror(&golden().join("store")), None).await;
    let vault = there.iter().filter(|(path, _)| !path.starts_with(".trash/"));
    let vault = vault.fold(VaultBuilder::new(), |vault, (path, bytes)| vault.file(path, bytes));
    let deployment = Deployment::of_vault(&vault).await;
    let new = deployment.client();
    for (name, arguments) in [
        ("list_tags", json!({})),
        ("list_properties", json!({})),
        ("list_tasks", json!({})),
        ("find_unresolved_links", json!({})),
        (
            "query_notes",
            json!({ "query": "TABLE file.tags, file.lists, file.inlinks, file.outlinks, file.frontmatter WHERE file.lists" }),
        ),
        ("query_notes", json!({ "query": "TASK" })),
    ] {
        let mut told = [Value::Null, Value::Null];
        for (client, told) in [&old, &new].into_iter().zip(&mut told) {
            let reply =
                client.post(&format!("/bridge/v1/tools/{name}/call"), json!({ "arguments": arguments })).await.ok();
            let mut answer: Value = serde_json::from_str(reply["content"][0]["text"].as_str().unwrap()).unwrap();
            answer.as_object_mut().unwrap().remove("cursor");
            *told = answer;
        }
        assert_eq!(told[0], told[1], "{name}");
    }
    let tags = new.post("/bridge/v1/tools/list_tags/call", json!({ "arguments": {} })).await.ok();
    assert!(tags["content"][0]["text"].as_str().unwrap().contains("\"tide\""), "{tags}");
}

#[tokio::test]
async fn the_golden_mirror_goes_on() {
    let copy = copy();
    let before = mirror(copy.path()).head().await.unwrap().generation();
    let client = Client::over(&store(copy.path()));
    let edit = json!({ "edits": [{ "op": "append", "text": "appended today" }] });
    send(&client, Method::PATCH, "crlf.md", &[], edit).await.ok();
    assert_eq!(create(&client, "inbox/today.md", "made today").await.status, 201);
    // An old key is answered as it was then.
    let replayed = append_keyed(&client).await;
    assert!(replayed["generation"].as_u64().unwrap() < before, "{replayed}");

    let (there, _) = exported(&mirror(copy.path()), None).await;
    let vault = there.iter().filter(|(path, _)| !path.starts_with(".trash/"));
    let vault = vault.fold(VaultBuilder::new(), |vault, (path, bytes)| vault.file(path, bytes));
    let state = tempfile::tempdir().unwrap();
    assert_eq!(publish(vault.root(), &mirror(copy.path()), state.path()).await.generation, before + 2);
    vault.write("🌊 wave.md", b"rewritten today\n");
    let summary = publish(vault.root(), &mirror(copy.path()), state.path()).await;
    assert!(summary.skipped.is_empty() && summary.conflicts.is_empty(), "{summary:?}");
    let (after, generation) = exported(&mirror(copy.path()), None).await;
    assert_eq!(generation, before + 3);
    let today: Files = after.into_iter().filter(|(path, bytes)| there.get(path) != Some(bytes)).collect();
    assert_eq!(today, Files::from([("🌊 wave.md".to_owned(), b"rewritten today\n".to_vec())]));
    assert!(read(&client, "crlf.md").await.ends_with("appended today"));
    assert_eq!(client.found("made today").await, ["inbox/today.md"]);
}

async fn append_keyed(client: &Client) -> Value {
    let body = json!({ "content": "once", "message": "as asked" });
    send(client, Method::POST, "inbox/log.md", &[("idempotency-key", "golden/1")], body).await.ok()
}

/// The golden mirror while it is made.
struct Making {
    folder: PathBuf,
    vault: VaultBuilder,
    state: TempDir,
    files: Files,
    expected: Expected,
}

impl Making {
    /// Syncs the vault's folder.
    async fn sync(&mut self) {
        let (root, state) = (self.vault.root().to_owned(), self.state.path().to_owned());
        let options =
            SyncOptions { allow_mass_delete: true, ..SyncOptions::new(root, state, "a person".to_owned(), minute(0)) };
        let summary = sync(&mirror(&self.folder), &options, Arc::new(())).await.unwrap();
        assert!(summary.skipped.is_empty() && summary.conflicts.is_empty(), "{summary:?}");
        let trash = |path: &String| path.starts_with(".trash/");
        self.files.retain(|path, _| trash(path));
        self.files.append(&mut files(self.vault.root()));
        self.check().await;
    }

    /// Records changes of these files through the functions.
    async fn wrote(&mut self, changed: &[(&str, Option<&str>)]) {
        for (path, text) in changed {
            match text {
                Some(text) => self.files.insert((*path).to_owned(), text.as_bytes().to_vec()),
                None => self.files.remove(*path),
            };
        }
        self.check().await;
    }

    /// Checks that the newest generation equals what was written, and records it.
    async fn check(&mut self) {
        let (there, generation) = exported(&mirror(&self.folder), None).await;
        let lacks = |one: &Files, other: &Files| -> Vec<String> {
            let differ = one.iter().filter(|(path, bytes)| other.get(*path) != Some(bytes));
            differ.map(|(path, bytes)| format!("{path}: {:?}", String::from_utf8_lossy(bytes))).collect()
        };
        assert_eq!(lacks(&there, &self.files), lacks(&self.files, &there), "generation {generation}");
        assert!(self.expected.generations.insert(generation, hashes(&there)).is_none(), "generation {generation}");
    }
}

/// How `tests/golden/v1` was made. A mirror of another format goes beside it, into a folder of its own.
#[tokio::test]
#[ignore = "the golden mirror is made once; `golden/v1` must not be there"]
async fn the_golden_mirror_is_made() {
    let golden = golden();
    assert!(!golden.exists(), "format 1 is frozen: its mirror is not made again");
    let folder = golden.join("store");
    fs::create_dir_all(&folder).unwrap();
    let utf16 =
        "\u{feff}# Wide\r\n\r\nwide harbour words\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let crlf = "---\r\naliases: [\"Old name\"]\r\ntags: [tide]\r\n---\r\n# Log  \r\n\r\nweek 1, high tide\r\n\r\n## Später\r\n\r\nno final line end";
    let long: String = (0..400).map(|n| format!("line {n} of the longest note, ship {}\n", n * 7919 % 1000)).collect();
    let vault = VaultBuilder::new()
        .note("crlf.md", crlf)
        .note("🌊 wave.md", "# Wave 🌊\n\nThe *harbour* at high tide. [[Tide table|the table]] #tide/high\n")
        .note("日本/港の灯台.md", "# 灯台\n\n港の灯台は夜に光る。[[Tide table]]\n")
        .note("Cafe\u{301}/re\u{301}sume\u{301}.md", "# Résumé\n\nzażółć gęślą jaźń, Straße\n")
        .note("tables/Tide table.md", "# Tide table\n\n- [ ] week 2 ^block\n\n![[chart.png]] [log](../crlf.md#Log)\n")
        .note("a/b c/d & #1 [x] 100%.md", "---\ntitle: \"Punctuation: all\"\n---\n\n```\n# no heading\n```\n")
        .note("long.md", &format!("# Long\n\n{long}"))
        .note("empty.md", "")
        .file("bom.md", b"\xef\xbb\xbf# Marked\n\nharbour with a mark\n")
        .file("wide.md", &utf16)
        .file("latin1.md", b"# Caf\xe9\n\nnot UTF-8: \xff harbour\n")
        .file("board.canvas", br#"{"nodes":[{"id":"1","type":"text","text":"harbour plan"}],"edges":[]}"#)
        .file("chart.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR not really")
        .file(".obsidian/app.json", br#"{"attachmentFolderPath":"files"}"#);
    let (state, files) = (tempfile::tempdir().unwrap(), Files::new());
    let expected = Expected { generations: BTreeMap::new(), answers: Vec::new() };
    let mut making = Making { folder, vault, state, files, expected };
    making.sync().await;
    // A set of tombstones becomes a separate object if more than 4,096 documents of one segment are dead.
    let many = |n: usize| format!("many/{n:04}.md");
    (0..4200).for_each(|n| making.vault.write(&many(n), b"x\n"));
    making.sync().await;
    (0..4200).filter(|n| n % 84 != 0).for_each(|n| making.vault.remove(&many(n)));
    making.sync().await;

    let client = Client::over(&store(&making.folder));
    let edit = json!({ "edits": [{ "op": "append_to_section", "target": { "heading": ["Log"] }, "text": "week 3" }], "message": "a new week" });
    send(&client, Method::PATCH, "crlf.md", &[], edit).await.ok();
    let patched = format!("{crlf}\r\nweek 3");
    making.wrote(&[("crlf.md", Some(&patched))]).await;
    create(&client, "inbox/log.md", "# Log\n").await;
    making.wrote(&[("inbox/log.md", Some("# Log\n"))]).await;
    append_keyed(&client).await;
    making.wrote(&[("inbox/log.md", Some("# Log\n\nonce"))]).await;
    delete(&client, "empty.md", &[]).await.ok();
    making.wrote(&[("empty.md", None), (".trash/empty.md", Some(""))]).await;
    let table = "# Tide table\n\n- [ ] week 2 ^block\n\n![[chart.png]] [log](../crlf.md#Log)\n";
    let moved = json!({ "to": "archive/Tide table 2026.md", "message": "last year's" });
    client.post(&format!("/move/{}", encoded("tables/Tide table.md")), moved).await.ok();
    making
        .wrote(&[
            ("tables/Tide table.md", None),
            ("archive/Tide table 2026.md", Some(table)),
            ("🌊 wave.md", Some("# Wave 🌊\n\nThe *harbour* at high tide. [[Tide table 2026|the table]] #tide/high\n")),
            ("日本/港の灯台.md", Some("# 灯台\n\n港の灯台は夜に光る。[[Tide table 2026]]\n")),
        ])
        .await;
    let back = json!({ "to": "archive/Tide table.md", "update_links": false });
    client.post(&format!("/move/{}", encoded("archive/Tide table 2026.md")), back).await.ok();
    making.wrote(&[("archive/Tide table 2026.md", None), ("archive/Tide table.md", Some(table))]).await;
    for n in 0..3 {
        let (path, text) = (format!("inbox/{n}.md"), format!("# Note {n}\n\nwords {n} #tide\n"));
        create(&client, &path, &text).await;
        making.wrote(&[(&path, Some(&text))]).await;
    }
    making.vault.write("long.md", "# 長い\n\nshort words 5\n".as_bytes());
    making.sync().await;
    for path in ["inbox/0.md", "archive/Tide table.md"] {
        let text = format!("# Other\n\nother words of {path}\n");
        put(&client, path, &[("if-match", "*")], json!({ "content": text })).await.ok();
        making.wrote(&[(path, Some(&text))]).await;
    }
    delete(&client, "inbox/1.md?hard=true", &[]).await.ok();
    making.wrote(&[("inbox/1.md", None)]).await;

    making.expected.answers = answers(&Client::over(&store(&making.folder))).await;
    has_everything(&making.folder);
    fs::write(golden.join("expected.json"), serde_json::to_vec_pretty(&making.expected).unwrap()).unwrap();
}
