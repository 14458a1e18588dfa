//! The tools of Atlas Guardrails, and requests for a sync.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use atlas_testkit::VaultBuilder;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::costs::MAX_WAVES;
use crate::support::deployment::{Client, Deployment, demo};
use crate::support::programs::{Place, Running, until};
use crate::support::world::{World, caller};

async fn code() -> World {
    World::open(&[
        ("src/Auth.md", "# Login\n\nHow a login is checked.\n\n```rust\npub fn check_login() {}\nclass other\n```\n"),
        ("src/ids.py", "def make_uuid():\n    pass\n\nclass UuidGenerator:\n    pass\n"),
        ("Ideas.md", "class uuid is prose\n\n## UUID generators\n\nIdentifiers, made at random.\n"),
        ("Uuid generator.md", "Made of 128 bits.\n"),
        ("Other.md", "Nothing of the kind.\n"),
    ])
    .await
}

fn names(answer: &Value) -> Vec<(String, String, u64)> {
    let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
    let candidates = answer["candidates"].as_array().unwrap();
    candidates.iter().map(|one| (text(one, "kind"), text(one, "name"), one["line"].as_u64().unwrap())).collect()
}

#[tokio::test]
async fn notes_headings_and_symbols_that_match_an_intent_are_found() {
    let world = code().await;
    let answer = world.ok("atlas_find_duplicates", json!({ "intent": "UuidGenerator" })).await;
    let found = names(&answer);
    for (kind, name, line) in [
        ("note", "Uuid generator", 1),
        ("symbol", "UuidGenerator", 4),
        ("heading", "UUID generators", 3),
        ("symbol", "make_uuid", 1),
    ] {
        assert!(found.contains(&(kind.to_owned(), name.to_owned(), line)), "{name} is not in {answer:#}");
    }
    assert!(
        !found.iter().any(|(kind, name, _)| kind == "symbol" && name == "uuid"),
        "prose defines nothing: {answer:#}"
    );
    let scores: Vec<f64> =
        answer["candidates"].as_array().unwrap().iter().map(|one| one["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, other| one >= other) && scores[0] <= 1.0, "{scores:?}");
    let login = world.ok("atlas_find_duplicates", json!({ "intent": "check login" })).await;
    assert_eq!(names(&login)[0], ("symbol".to_owned(), "check_login".to_owned(), 6));
    assert_eq!(world.ok("atlas_find_duplicates", json!({ "intent": "zebra" })).await, json!({ "candidates": [] }));
    assert_eq!(world.refused("atlas_find_duplicates", json!({ "intent": "…" })).await, "query_invalid");
}

#[tokio::test]
async fn a_pack_has_the_notes_and_sections_that_say_most_with_the_reason() {
    let filler = |word: &str| format!("{word} ").repeat(2_000);
    let long =
        format!("# Top\n\n{}\n## High tide\n\nThe tide gauge.\n\n## Sand\n\n{}\n", filler("wind"), filler("sand"));
    let world = World::open(&[
        ("Tide gauge.md", "How a gauge tells the tide.\n"),
        ("long.md", &long),
        ("other.md", "Nothing of the kind.\n"),
    ])
    .await;
    let pack = world.ok("atlas_pack", json!({ "task": "mend the tide gauge", "budget": 4_000 })).await;
    assert_eq!(pack["task"], "mend the tide gauge");
    let files = pack["files"].as_array().unwrap();
    assert_eq!((files.len(), &files[0]["path"], &files[1]["path"]), (2, &json!("Tide gauge.md"), &json!("long.md")));
    assert_eq!(files[0]["content"], "How a gauge tells the tide.\n");
    assert!(files[0]["reason"].as_str().unwrap().contains("gauge"), "{pack:#}");
    let content = files[1]["content"].as_str().unwrap();
    assert!(content.contains("The tide gauge.") && !content.contains("sand"), "{content}");
    assert!(files[1]["reason"].as_str().unwrap().contains("#high-tide"), "{pack:#}");
    // A single note may use the whole budget.
    let sand = world.ok("atlas_pack", json!({ "task": "sand", "budget": 4_000.0 })).await;
    let chars = sand.to_string().chars().count();
    assert!((3_900..=4_000).contains(&chars), "{chars}");
    assert_eq!(world.refused("atlas_pack", json!({ "task": "…" })).await, "query_invalid");
    assert_eq!(world.ok("atlas_pack", json!({ "task": "zebra" })).await["files"], json!([]));
}

#[tokio::test]
async fn a_symbol_is_found_by_an_intent_that_has_its_name_among_many_words() {
    let mut notes = vec![
        ("src/timing.js".to_owned(), "export function debounce(handler, wait) {}\n".to_owned()),
        ("src/text.js".to_owned(), "export function slugify(title) {}\n".to_owned()),
        ("src/urls.js".to_owned(), "export function joinSegments(path) {}\n".to_owned()),
        ("notes/ci.md".to_owned(), "Nothing of the kind.\n".to_owned()),
    ];
    // A word that many things are called is no name of one.
    notes.extend((0..30).map(|n| (format!("src/part{n}.js"), "export function handler() {}\n".to_owned())));
    let notes: Vec<(&str, &str)> = notes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let world = World::open(&notes).await;
    for (intent, name) in [
        ("debounce a handler so that input events fire once per interval", "debounce"),
        ("slugify a title into a url path segment without spaces", "slugify"),
        (
            "a function for the pages of the editor that makes from each title and each note, as `slugify` does, a path",
            "slugify",
        ),
    ] {
        let answer = world.ok("atlas_find_duplicates", json!({ "intent": intent })).await;
        let (_, found, _) = names(&answer).into_iter().find(|(kind, ..)| kind == "symbol").expect(intent);
        assert_eq!(found, name, "{intent}: {answer:#}");
        assert!(!names(&answer).iter().any(|(_, name, _)| name == "handler"), "{intent}: {answer:#}");
    }
    let answer = world.ok("atlas_find_duplicates", json!({ "intent": "C++" })).await;
    assert!(!names(&answer).iter().any(|(_, name, _)| name == "ci"), "{answer:#}");
}

#[tokio::test]
async fn a_pack_has_what_it_names_as_the_reason_however_small_it_is() {
    let (sand, gauge) = ("sand ".repeat(200), "## High tide\n\nThe tide gauge.\n");
    let world = World::open(&[("long.md", &format!("# Top\n\n{sand}\n\n{gauge}"))]).await;
    let task = json!({ "task": "mend the tide gauge", "budget": 500 });
    let pack = world.ok("atlas_pack", task).await;
    assert!(pack["files"][0]["content"].as_str().unwrap().ends_with(gauge), "{pack:#}");
    // Too small for anything.
    for budget in [1, 50] {
        let small = json!({ "task": "mend the tide gauge", "budget": budget });
        let error = world.call("atlas_pack", small).await.unwrap_err();
        assert_eq!((error.reason(), &error.details["field"]), ("validation_error", &json!("budget")));
        let least = error.message.split("take ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        let enough = json!({ "task": "mend the tide gauge", "budget": least.parse::<u32>().unwrap() });
        assert_eq!(world.ok("atlas_pack", enough).await["files"].as_array().unwrap().len(), 1);
        assert_eq!(world.ok("atlas_pack", json!({ "task": "zebra", "budget": budget })).await["files"], json!([]));
    }
    let long = json!({ "task": "tide ".repeat(6_000) });
    assert_eq!(world.ok("atlas_pack", long).await["files"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn identifiers_are_found_by_their_words_and_paths_are_a_reason() {
    let world = World::open(&[
        ("src/session.ts", "export function loginUser(name: string) {}\n"),
        ("src/old.py", "def login_user():\n    pass\n"),
        ("src/net.go", "type HTTPServer2 struct{}\n"),
        ("src/login/form.rs", "pub struct Field;\n"),
        ("src/noise.ts", "const the = 1; // the to of and is\n"),
        ("notes.md", "loginUser is a name in a note.\n"),
    ])
    .await;
    let packed = async |task: &str| {
        let pack = world.ok("atlas_pack", json!({ "task": task })).await;
        let files = pack["files"].as_array().unwrap().clone();
        files
            .into_iter()
            .map(|file| (file["path"].as_str().unwrap().to_owned(), file["reason"].as_str().unwrap().to_owned()))
            .collect::<BTreeMap<_, _>>()
    };
    let login = packed("the login of a user").await;
    for path in ["src/session.ts", "src/old.py"] {
        assert!(login[path].contains("has login, user") || login[path].contains("has user, login"), "{login:?}");
    }
    assert!(login["src/login/form.rs"].contains("its path has login"), "{login:?}");
    assert!(!login.contains_key("src/noise.ts"), "stop words rank: {login:?}");
    // In notes words are indexed as written.
    assert!(!login.contains_key("notes.md"), "{login:?}");
    assert!(packed("http server").await.contains_key("src/net.go"));
    assert!(packed("loginUser").await.contains_key("src/old.py"));
    let exact = world.ok("search", json!({ "query": "loginUser", "mode": "text" })).await;
    assert!(exact["results"].to_string().contains("notes.md"), "{exact}");
}

#[tokio::test]
async fn a_pack_ends_where_little_is_said() {
    let weak: Vec<(String, String)> =
        (0..30).map(|n| (format!("weak{n:02}.md"), format!("tide {}", "sand wind berth ".repeat(80)))).collect();
    let mut notes = vec![("best.md", "# Tide gauge\n\nHow the tide gauge is mended: gauge, tide.\n")];
    notes.extend(weak.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let world = World::open(&notes).await;
    let pack = world.ok("atlas_pack", json!({ "task": "mend the tide gauge" })).await;
    let paths: Vec<&str> =
        pack["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["best.md"]);
}

/// A pack never exceeds its budget, whatever the task, and is deterministic.
#[test]
fn a_pack_is_never_over_its_budget() {
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    let words =
        prop::sample::select(vec!["tide", "\"gauge\"", "潮", "\n# Tide\n", "\\wind", "\n\n", "🌊", "\t", "berth"]);
    let notes = prop::collection::vec(prop::collection::vec(words, 1..400), 1..8);
    let tasks = prop::sample::select(vec!["tide", "潮 gauge", "the \"berth\" at high tide", "wind"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let seen = std::cell::Cell::new(0);
    let result = runner.run(&(notes, tasks, prop::collection::vec(1..6_000usize, 6)), |(notes, task, budgets)| {
        let notes = notes.iter().enumerate().map(|(at, words)| (format!("{at} \"潮\".md"), words.join(" "))).collect();
        runtime.block_on(async {
            let world = World::of(&[notes], &json!({}), caller(&[])).await;
            for budget in budgets {
                let arguments = json!({ "task": task, "budget": budget });
                let pack = match world.call("atlas_pack", arguments.clone()).await {
                    Ok(pack) => pack,
                    Err(error) => {
                        assert_eq!((error.reason(), &error.details["field"]), ("validation_error", &json!("budget")));
                        assert!(budget < 300, "{budget}: {error}");
                        continue;
                    }
                };
                let chars = pack.to_string().chars().count();
                let files = pack["files"].as_array().unwrap();
                assert!(chars <= budget || files.is_empty(), "{chars} of {budget}: {pack:#}");
                seen.set(seen.get() + files.len());
                assert_eq!(world.ok("atlas_pack", arguments).await, pack);
            }
        });
        Ok(())
    });
    result.unwrap();
    assert!(seen.get() > 20, "hardly anything was packed");
}

#[tokio::test]
async fn a_pack_fits_into_an_answer_whatever_its_budget() {
    let vault = VaultBuilder::new().note("tide.md", &"潮 tide ".repeat(100_000));
    let deployment = Deployment::of_vault(&vault).await.with_limits(|limits| limits.max_response_bytes = 100_000);
    let (is_error, text) = tool(&deployment.client(), "atlas_pack", json!({ "task": "潮", "budget": 1_000_000 })).await;
    // It is sent as text, in which each byte may take two.
    assert!(!is_error && (40_000..50_000).contains(&text.len()), "{}", text.len());
}

async fn tool(client: &Client, name: &str, arguments: Value) -> (bool, String) {
    let told = client.post(&format!("/bridge/v1/tools/{name}/call"), json!({ "arguments": arguments })).await.ok();
    (told["success"] == false, told["content"][0]["text"].as_str().unwrap().to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_cold_pack_takes_three_waves_and_a_warm_one_asks_for_nothing() {
    let vault = (0..2_000).fold(VaultBuilder::new(), |vault, n| {
        let words: String = (0..60).map(|w| format!("w{} ", (n * 7919 + w * 104_729) % 5000)).collect();
        vault.note(&format!("{n:04}.md"), &format!("# Note {n}\n\n{words}\nharbour{}\n", n % 11))
    });
    let client = Deployment::of_vault(&vault).await.client();
    let task = json!({ "task": "find the w4711 in harbour3" });
    assert!(!tool(&client, "atlas_pack", task.clone()).await.0);
    let requests = client.requests.take();
    assert!(requests.waves() <= MAX_WAVES, "{requests}");
    tool(&client, "atlas_pack", task).await;
    assert_eq!(client.requests.take().count(), 1);
}

#[tokio::test]
async fn the_state_of_the_index_is_told_and_a_sync_is_asked_for_once() {
    let world = code().await;
    let index = world.ok("atlas_index", json!({})).await;
    assert_eq!((&index["status"], &index["generation"]), (&json!("Indexing complete"), &json!(1)));
    assert_eq!((&index["totals"]["notes"], index.get("sync_requested_at")), (&json!(4), None));
    let first = world.ok("vault_sync", json!({})).await;
    assert_eq!((&first["requested"], &first["generation"]), (&json!(true), &json!(1)));
    let second = world.ok("vault_sync", json!({})).await;
    assert_eq!((&second["requested"], &second["requested_at"]), (&json!(false), &first["requested_at"]));
    assert_eq!(world.ok("atlas_index", json!({})).await["sync_requested_at"], first["requested_at"]);
    // The number of hidden notes is not revealed.
    let steps = [BTreeMap::from([("a.md".to_owned(), "x".to_owned()), ("b/c.md".to_owned(), "y".to_owned())])];
    let restricted = World::of(&steps, &json!({ "readPaths": ["a.md"] }), caller(&[])).await;
    assert_eq!(restricted.ok("atlas_index", json!({})).await.get("totals"), None);
}

/// A watching host syncs on request, long before its pause is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_watching_host_syncs_when_it_is_asked_to() {
    let place = Place::new();
    let mut sync = place.sync(&demo());
    sync.args(["--watch", "86400"]).stdout(Stdio::null()).stderr(Stdio::null());
    let _watching = Running(sync.spawn().unwrap());
    let mirror = place.mirror();
    let limit = Duration::from_secs(120);
    let runtime = tokio::runtime::Handle::current();
    let asked = || tokio::task::block_in_place(|| runtime.block_on(mirror.sync_request())).unwrap();
    until(limit, "the first sync", || {
        tokio::task::block_in_place(|| runtime.block_on(mirror.head())).map_err(|error| error.to_string())
    });
    mirror.request_sync("an agent", jiff::Timestamp::now()).await.unwrap();
    until(limit, "the sync that was asked for", || asked().map_or(Ok(()), Err));
}
