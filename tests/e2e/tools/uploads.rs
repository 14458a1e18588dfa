//! Attachments whose bytes are uploaded to a URL, and then committed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use atlas_access::{Caller, Scope, Scopes, ThrottleConfig, scope};
use atlas_mirror::{Hash, Mirror, Retention, Store, StoreOptions};
use atlas_sync::{SyncOptions, sync};
use atlas_testkit::real_store::{localstack, minio};
use atlas_testkit::{AgingStore, VaultBuilder};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::TryStreamExt as _;
use jiff::Timestamp;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore as _, PutMode, PutOptions};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::clock;
use crate::support::deployment::{Client, Deployment};
use crate::support::publish::{files, publish};
use crate::support::signing::{fetched, mirror_in, signing};
use crate::support::throttled::throttled;
use crate::support::tokens::{bearer, token};
use crate::support::tools::Tools;
use crate::support::world::{World, atlas, caller};

const SONG: &[u8] = b"ID3\x04\0a song\xff";

/// The arguments of both tools for these bytes.
fn file(path: &str, bytes: &[u8]) -> Value {
    json!({ "path": path, "sha256": Hash::of(bytes).to_string(), "size_bytes": bytes.len() })
}

/// The arguments with some changed.
fn with(mut arguments: Value, others: Value) -> Value {
    arguments.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    arguments
}

/// The arguments to commit the upload in `begun`, the answer of `upload_attachment`.
fn commit_of(arguments: &Value, begun: &Value) -> Value {
    with(arguments.clone(), json!({ "upload": begun["upload"] }))
}

/// The status of the upload request in `begun` with these bytes, by a client without credentials.
fn put(begun: &Value, bytes: &[u8]) -> String {
    let mut source = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut source, bytes).unwrap();
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--max-time", "30", "--output", "/dev/null", "--write-out", "%{http_code}"]);
    for (name, value) in begun["headers"].as_object().unwrap() {
        curl.args(["--header", &format!("{name}: {}", value.as_str().unwrap())]);
    }
    curl.args(["--request", begun["method"].as_str().unwrap(), "--upload-file"]).arg(source.path());
    let output = curl.arg(begun["url"].as_str().unwrap()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_uploaded_by_a_url_and_comes_into_the_folder() {
    let bytes = [SONG, &[7; 3 << 20]].concat();
    // LocalStack does not check signatures.
    for (store, is_strict) in [(localstack(), false), (minio(), true)] {
        let Some(store) = store else { continue };
        let (vault, state) = (VaultBuilder::new().note("a.md", "[[song.mp3]]"), tempfile::tempdir().unwrap());
        let place = store.fresh();
        publish(vault.root(), &mirror_in(&place), state.path()).await;
        let client = signing(&place, |app| app);
        let tools = Tools::of(&client);

        let song = file("media/song.mp3", &bytes);
        let begun = tools.good("upload_attachment", song.clone()).await;
        let (url, expires): (&str, Timestamp) =
            (begun["url"].as_str().unwrap(), begun["expires_at"].as_str().unwrap().parse().unwrap());
        assert!(url.contains("X-Amz-Expires=900&") && !url.contains(begun["upload"].as_str().unwrap()), "{url}");
        assert!(expires > Timestamp::now() && expires < Timestamp::now() + Duration::from_secs(900), "{expires}");
        let commit = commit_of(&song, &begun);
        tools.bad("commit_attachment", commit.clone(), "upload_missing").await;
        tools.bad("get_attachment", json!({ "path": "media/song.mp3" }), "note_not_found").await;

        // It is for these bytes, under these conditions; other bytes that a store accepts are not committed.
        assert!(put(&begun, SONG).starts_with('4'));
        let longer = with(begun.clone(), json!({ "url": url.replace("Expires=900", "Expires=9000") }));
        assert!(put(&longer, &bytes).starts_with('4') || !is_strict);
        let unconditional = with(tools.good("upload_attachment", song.clone()).await, json!({ "headers": {} }));
        let is_taken = put(&unconditional, SONG) == "200";
        let code = if is_taken { "upload_mismatch" } else { "upload_missing" };
        tools.bad("commit_attachment", commit_of(&song, &unconditional), code).await;
        assert!(!(is_taken && is_strict));

        let begun = tools.good("upload_attachment", song.clone()).await;
        assert_eq!(put(&begun, &bytes), "200");
        assert_eq!(put(&begun, &bytes), "412", "once");
        let commit = commit_of(&song, &begun);
        let done = tools.good("commit_attachment", commit.clone()).await;
        assert_eq!((&done["created"], &done["mime"]), (&json!(true), &json!("audio/mpeg")));
        let again = tools.good("commit_attachment", commit).await;
        assert_eq!((&again["created"], &again["generation"]), (&json!(false), &done["generation"]), "it is done once");
        assert_eq!(put(&begun, &bytes), "412", "nor after that");
        let got = tools.good("get_attachment", json!({ "path": "media/song.mp3", "presign": true })).await;
        assert_eq!((&got["mtime"], &got["content_hash"]), (&done["mtime"], &song["sha256"]));
        assert_eq!(fetched(got["url"].as_str().unwrap()).as_ref(), Some(&bytes));
        publish(vault.root(), &mirror_in(&place), state.path()).await;
        assert_eq!(vault.read("media/song.mp3"), bytes);
    }
}

/// A store in memory that ages with the test's clock, and makes URLs.
struct Bucket(Arc<AgingStore>);

impl Bucket {
    fn new() -> Self {
        clock::stop();
        let store = AgingStore::new(Arc::new(InMemory::new()));
        store.pass(clock::now().duration_since(Timestamp::UNIX_EPOCH).unsigned_abs());
        Self(store)
    }

    fn place(&self) -> Store {
        Store::new(self.0.clone(), "", StoreOptions::default()).unwrap().signed_by(self.0.clone())
    }

    fn mirror(&self) -> Mirror {
        mirror_in(&self.place())
    }

    fn client(&self) -> Client {
        signing(&self.place(), |app| app.with_clock(clock::now))
    }

    fn pass(&self, time: Duration) {
        clock::pass(time);
        self.0.pass(time);
    }

    /// Puts bytes at the URL of `begun`, ignoring its headers: not every store checks them.
    async fn put(&self, begun: &Value, bytes: &[u8]) {
        let key = Path::from(begun["url"].as_str().unwrap().strip_prefix("aging:///").unwrap());
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        self.0.put_opts(&key, bytes.to_vec().into(), options).await.unwrap();
    }

    /// The id of an upload of these bytes, for the arguments of the commit.
    async fn upload(&self, tools: &Tools<'_>, arguments: &Value, bytes: &[u8]) -> Value {
        let begun = tools.good("upload_attachment", arguments.clone()).await;
        self.put(&begun, bytes).await;
        commit_of(arguments, &begun)
    }
}

async fn published(vault: &VaultBuilder) -> Bucket {
    let bucket = Bucket::new();
    publish(vault.root(), &bucket.mirror(), tempfile::tempdir().unwrap().path()).await;
    bucket
}

#[tokio::test]
async fn what_was_uploaded_must_be_what_was_named_and_fresh() {
    let bucket = published(&VaultBuilder::new().note("a.md", "a")).await;
    let client = bucket.client();
    let tools = Tools::of(&client);
    let song = file("song.mp3", SONG);
    for (bytes, says) in [(&SONG[1..], "11 bytes"), (&[0; SONG.len()], "SHA-256"), (b"", "0 bytes")] {
        let commit = bucket.upload(&tools, &song, bytes).await;
        let refused = tools.bad("commit_attachment", commit, "upload_mismatch").await;
        assert!(refused["message"].as_str().unwrap().contains(says), "{refused}");
    }
    let commit = bucket.upload(&tools, &song, SONG).await;
    let larger = with(commit.clone(), json!({ "size_bytes": SONG.len() + 1 }));
    tools.bad("commit_attachment", larger, "upload_mismatch").await;
    bucket.pass(Duration::from_secs(3601));
    tools.bad("commit_attachment", commit.clone(), "upload_expired").await;
    let another = bucket.upload(&tools, &song, SONG).await;
    bucket.pass(Duration::from_secs(3599));
    tools.good("commit_attachment", another).await;
    // Existing bytes need no upload.
    tools.good("commit_attachment", commit).await;
}

#[tokio::test]
async fn a_file_is_replaced_when_that_is_meant_and_confirmed() {
    let bucket = published(&VaultBuilder::new().note("a.md", "a").file("song.mp3", b"old\0")).await;
    let open = ThrottleConfig { enabled: false, ..ThrottleConfig::default() };
    let client = signing(&bucket.place(), throttled(open));
    let tools = Tools::guarded(&client);
    let (song, old) = (file("song.mp3", SONG), Hash::of(b"old\0").to_string());
    let replacing = |hash: &str| with(song.clone(), json!({ "mode": "overwrite", "expected_hash": hash }));
    for (arguments, code) in [
        (song.clone(), "note_exists"),
        (replacing(&Hash::of(b"older").to_string()), "concurrent_modification"),
        (with(file("none.mp3", SONG), json!({ "mode": "overwrite" })), "note_not_found"),
    ] {
        tools.bad("upload_attachment", arguments.clone(), code).await;
        let named = with(arguments, json!({ "upload": "0".repeat(32) }));
        tools.bad("commit_attachment", named, code).await;
    }
    let commit = bucket.upload(&tools, &replacing(&old), SONG).await;
    let either = with(commit.clone(), json!({ "mode": "upsert" }));
    tools.bad("commit_attachment", either, "elicit_required").await;
    let keyed = with(commit.clone(), json!({ "idempotency_key": "k" }));
    let done = tools.confirmed("commit_attachment", keyed.clone()).await;
    assert_eq!((&done["created"], &done["prev_hash"]), (&json!(false), &json!(old)));
    // Somebody moves it away: the repeated call was already executed.
    tools.good("move_attachment", json!({ "from": "song.mp3", "to": "away.mp3" })).await;
    assert_eq!(tools.good("commit_attachment", keyed).await, done);
    tools.bad("get_attachment", json!({ "path": "song.mp3" }), "note_not_found").await;
    // It is for one path, and for one caller.
    let elsewhere = with(commit.clone(), json!({ "path": "copy.mp3", "mode": "create" }));
    tools.bad("commit_attachment", elsewhere, "upload_missing").await;
    let anew = with(commit, json!({ "mode": "create" }));
    let other = Agent::new(&client, ERAS[0]).with(bearer(&token("other", &scope::ALL, None)));
    assert_eq!(other.refused("commit_attachment", anew.clone()).await, "upload_missing");
    // Two files have one object.
    tools.good("commit_attachment", anew).await;
    for path in ["away.mp3", "song.mp3"] {
        let got = tools.good("get_attachment", json!({ "path": path, "include_data": true })).await;
        assert_eq!(BASE64.decode(got["data_base64"].as_str().unwrap()).unwrap(), SONG, "{path}");
    }
}

#[tokio::test]
async fn text_that_is_uploaded_is_kept_as_a_sync_keeps_it() {
    let bucket = published(&VaultBuilder::new().note("a.md", "a")).await;
    let client = bucket.client();
    let tools = Tools::of(&client);
    for (path, bytes, is_text) in [
        ("board.canvas", &b"{\"harbour\": 1}"[..], true),
        ("data.csv", b"harbour,\0", false),
        ("harbour.bin", b"harbour", false),
        ("empty.txt", b"", true),
    ] {
        let commit = bucket.upload(&tools, &file(path, bytes), bytes).await;
        tools.good("commit_attachment", commit).await;
        let got = tools.good("get_attachment", json!({ "path": path, "include_data": true })).await;
        assert_eq!(BASE64.decode(got["data_base64"].as_str().unwrap()).unwrap(), bytes, "{path}");
        let read = client.get(&format!("/notes/{path}")).await;
        assert_eq!(read.status.is_success(), is_text, "{path}");
    }
    assert_eq!(tools.good("search_text", json!({ "query": "harbour" })).await["items"][0]["path"], "board.canvas");
}

#[tokio::test]
async fn who_may_not_write_at_a_path_gets_no_url_and_commits_nothing() {
    let bucket = published(&VaultBuilder::new().note("a.md", "a").file("media/old.png", b"old\0")).await;
    let acl = json!({ "readPaths": ["inbox/**"], "writePaths": ["inbox/**"] });
    let reader = || Caller::of_scopes("reader", Scopes::named([Scope::ReadVault.as_str()]));
    let named = |path: &str| (file(path, SONG), with(file(path, SONG), json!({ "upload": "0".repeat(32) })));
    for (acl, caller, path, reason) in [
        (&acl, caller(&[]), "media/new.png", "acl_denied"),
        (&acl, caller(&[]), "media/old.png", "acl_denied"),
        (&acl, reader(), "inbox/new.png", "scope_missing"),
        (&json!({}), caller(&[]), ".obsidian/new.png", "path_invalid"),
        (&json!({}), caller(&[]), "inbox/new.md", "path_invalid"),
        (&json!({}), caller(&[]), "inbox/Thumbs.db", "path_invalid"),
        (&json!({}), caller(&[]), "../new.png", "path_invalid"),
    ] {
        let world = World { atlas: atlas(bucket.mirror(), acl), caller };
        let (upload, commit) = named(path);
        assert_eq!(world.refused("upload_attachment", upload).await, reason, "{path}");
        assert_eq!(world.refused("commit_attachment", commit).await, reason, "{path}");
    }
    let world = World { atlas: atlas(bucket.mirror(), &acl), caller: caller(&[]) };
    let (upload, commit) = named("inbox/new.png");
    world.ok("upload_attachment", upload.clone()).await;
    assert_eq!(world.refused("commit_attachment", commit).await, "upload_missing");
    // A hidden object cannot be used by its name.
    let hidden = bucket.mirror().keys().blobs();
    let objects: Vec<_> = bucket.0.list(Some(&hidden)).try_collect().await.unwrap();
    let [object] = &objects[..] else { panic!("{objects:?}") };
    let (_, nonce) = object.location.filename().unwrap().split_once('-').unwrap();
    let named = with(file("inbox/old.png", b"old\0"), json!({ "upload": nonce }));
    assert_eq!(world.refused("commit_attachment", named).await, "upload_missing");
    for (field, value, reason) in [
        ("size_bytes", json!((256 << 20) + 1), "validation_error"),
        ("sha256", json!("A".repeat(64)), "invalid_input"),
        ("sha256", json!("../latest"), "invalid_input"),
    ] {
        assert_eq!(world.refused("upload_attachment", with(upload.clone(), json!({ field: value }))).await, reason);
    }
    assert_eq!(bucket.mirror().head().await.unwrap().generation(), 1);
}

#[tokio::test]
async fn a_store_that_makes_no_urls_says_what_to_do_instead() {
    let client = Deployment::of_demo().await.client();
    let refused = Tools::of(&client).bad("upload_attachment", file("a.png", SONG), "upload_unsupported").await;
    assert!(refused["message"].as_str().unwrap().contains("atlas sync"), "{refused}");
    assert!(refused["recovery"].as_str().unwrap().contains("atlas sync"), "{refused}");
}

const PATHS: [&str; 3] = ["a.bin", "b.bin", "c.txt"];
const CONTENTS: [&[u8]; 3] = [b"\0one", b"two", b"three"];

#[derive(Clone, Debug)]
enum Step {
    /// Uploads one of the contents for one of the paths.
    Upload(usize, usize),
    /// Commits one of the uploads.
    Commit(prop::sample::Index),
    /// Commits something else.
    Note,
    Minutes(u64),
    /// Syncs, and collects as much garbage as possible.
    Sync,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..CONTENTS.len(), 0..PATHS.len()).prop_map(|(content, path)| Step::Upload(content, path)),
        5 => any::<prop::sample::Index>().prop_map(Step::Commit),
        2 => Just(Step::Note),
        3 => prop_oneof![(1..200u64), (1..4000u64)].prop_map(Step::Minutes),
        3 => Just(Step::Sync),
    ]
}

/// All files keep their bytes, whatever was committed or collected when.
#[test]
fn no_file_loses_its_bytes_to_garbage_collection() {
    let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (refused, collected) = (Cell::new(0), Cell::new(0));
    let result = runner.run(&prop::collection::vec(step(), 1..30), |steps| {
        runtime.block_on(async {
            let (vault, state) = (VaultBuilder::new().note("a.md", "a"), tempfile::tempdir().unwrap());
            let bucket = published(&vault).await;
            let client = bucket.client();
            let (tools, agent) = (Tools::of(&client), Agent::new(&client, ERAS[0]));
            let mut options = SyncOptions::new(
                vault.root().to_owned(),
                state.path().to_owned(),
                "tests".to_owned(),
                Timestamp::UNIX_EPOCH,
            );
            options.collect = Some(Retention { time: Duration::ZERO, generations: 1, ..Retention::default() });
            let mut uploads: Vec<(&str, &[u8], Value, Timestamp)> = Vec::new();
            let mut kept: BTreeMap<&str, &[u8]> = BTreeMap::new();
            for step in steps.into_iter().chain([Step::Sync]) {
                match step {
                    Step::Upload(content, path) => {
                        let (bytes, path) = (CONTENTS[content], PATHS[path]);
                        let arguments = with(file(path, bytes), json!({ "mode": "upsert" }));
                        let commit = bucket.upload(&tools, &arguments, bytes).await;
                        uploads.push((path, bytes, commit, clock::now()));
                    }
                    Step::Commit(upload) if !uploads.is_empty() => {
                        let (path, bytes, commit, written) = upload.get(&uploads);
                        let result = agent.call("commit_attachment", commit.clone()).await;
                        if result["isError"] == false {
                            kept.insert(path, bytes);
                        } else {
                            let told = result.to_string();
                            assert!(told.contains("upload_expired") || told.contains("upload_missing"), "{told}");
                            assert!(clock::now().duration_since(*written).as_secs() >= 3600, "{told}");
                            refused.set(refused.get() + 1);
                        }
                    }
                    Step::Commit(..) => {}
                    Step::Note => drop(
                        tools
                            .good("write_note", json!({ "path": "log.md", "content": clock::now(), "mode": "upsert" }))
                            .await,
                    ),
                    Step::Minutes(minutes) => bucket.pass(Duration::from_secs(60 * minutes + 1)),
                    Step::Sync => {
                        options.began = clock::now();
                        let summary = sync(&bucket.mirror(), &options, Arc::new(())).await.unwrap();
                        collected.set(collected.get() + summary.collected.unwrap().objects);
                        let mut there = files(vault.root());
                        there.retain(|path, _| PATHS.contains(&path.as_str()));
                        let expected = kept.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
                        assert_eq!(there, expected);
                        for (path, bytes) in &kept {
                            let wanted = json!({ "path": path, "include_data": true });
                            let got = tools.good("get_attachment", wanted).await;
                            assert_eq!(BASE64.decode(got["data_base64"].as_str().unwrap()).unwrap(), *bytes, "{path}");
                        }
                    }
                }
            }
        });
        Ok(())
    });
    result.unwrap();
    assert!(refused.get() > 0 && collected.get() > 0, "{refused:?} {collected:?}");
}
