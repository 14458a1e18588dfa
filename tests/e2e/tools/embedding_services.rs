//! Embedding models of services that a configuration names: whole syncs with them, and searches.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use atlas_testkit::stand_in::{Asked, Reply};
use atlas_testkit::{StandIn, VaultBuilder};
use serde_json::{Value, json};

use crate::support::deployment::{Client, settings};
use crate::support::models;
use crate::support::note_calls::create;
use crate::support::programs::{Place, json_of, until};
use crate::support::tools::Tools;

const DIMENSIONS: usize = 16;
const LONG: Duration = Duration::from_secs(3600);
/// What a request comes to, by its number; [`None`] if the service is sound.
type Fate = Arc<Mutex<Box<dyn FnMut(&Asked) -> Option<Reply> + Send>>>;

/// A service that stands in for one with both interfaces.
struct Embeddings {
    stand_in: StandIn,
    fate: Fate,
}

impl Embeddings {
    async fn start() -> Self {
        let fate: Fate = Arc::new(Mutex::new(Box::new(|_| None)));
        let decides = fate.clone();
        let stand_in = StandIn::new(move |asked| {
            let fated = decides.lock().unwrap()(asked);
            fated.unwrap_or_else(|| sound(asked))
        })
        .await;
        Self { stand_in, fate }
    }

    /// From now on requests come to this.
    fn becomes(&self, fate: impl FnMut(&Asked) -> Option<Reply> + Send + 'static) {
        *self.fate.lock().unwrap() = Box::new(fate);
    }

    /// How often it was asked for each text.
    fn texts(&self) -> BTreeMap<String, usize> {
        let mut texts = BTreeMap::new();
        for asked in self.stand_in.asked() {
            for text in asked.json()["input"].as_array().unwrap() {
                *texts.entry(text.as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
        texts
    }

    fn config(&self, provider: &str, more: Value) -> String {
        let mut embeddings = json!({
            "provider": provider, "model": "words", "dimensions": DIMENSIONS, "baseUrl": self.stand_in.address(),
            "batchSize": 2, "queryTimeoutMs": 500,
        });
        embeddings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "embeddings": embeddings }).to_string()
    }
}

/// Sound answers: the vectors of [`models`], of which each model has others.
fn sound(asked: &Asked) -> Reply {
    let request = asked.json();
    let seed = request["model"].as_str().unwrap().len() as u32;
    let vector = |text: &Value| {
        let mut vector = models::model(seed).mean(text.as_str().unwrap());
        vector[DIMENSIONS - 1] += 0.01;
        vector
    };
    let vectors: Vec<Vec<f32>> = request["input"].as_array().unwrap().iter().map(vector).collect();
    if asked.target == "/api/embed" {
        return Reply::json(&json!({ "embeddings": vectors }));
    }
    let data: Vec<Value> =
        vectors.iter().enumerate().rev().map(|(index, one)| json!({ "index": index, "embedding": one })).collect();
    Reply::json(&json!({ "data": data, "usage": { "total_tokens": 40 } }))
}

fn vault() -> VaultBuilder {
    VaultBuilder::new()
        .note("Harbour.md", "# Harbour\n\nThe harbour has a quay.\n")
        .note("Safety.md", "# Safety\n\nA backup is a copy.\n")
        .note("Bread.md", "# Bread\n\nThe bakery has an oven and flour.\n")
        .note("Weather.md", "# Weather\n\nThe storm brings wind.\n")
        .note("Pilot.md", "# Pilot\n\nThe captain has a helmsman.\n")
}

fn sync(place: &Place, root: &Path, config: &str) -> Value {
    json_of(place.sync(root).arg("--json").env("ATLAS_CONFIG", config))
}

async fn client(place: &Place, config: &str) -> Client {
    Client::try_set_up_over(&place.open(), &settings(&[("ATLAS_CONFIG", config)]), LONG).await.ok().unwrap()
}

async fn search(client: &Client, query: &str, mode: &str) -> Value {
    client.post("/search", json!({ "query": query, "mode": mode })).await.ok()
}

async fn model_of(place: &Place) -> Option<String> {
    let head = place.mirror().head().await.unwrap();
    head.manifest().embeddings.as_ref().map(|embeddings| embeddings.model.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_embeds_by_the_configured_service_and_searches_ask_it() {
    for provider in ["openai", "ollama"] {
        let (service, vault, place) = (Embeddings::start().await, vault(), Place::new());
        let config = service.config(provider, json!({}));
        let synced = sync(&place, vault.root(), &config);
        assert_eq!((&synced["embedded"], synced.get("embedding_failure")), (&json!(5), None), "{synced}");
        assert!(service.texts().values().all(|times| *times == 1) && service.texts().len() == 5);
        assert_eq!(sync(&place, vault.root(), &config)["generation"], synced["generation"], "nothing is left to do");
        let client = client(&place, &config).await;
        let found = search(&client, "haven", "hybrid").await;
        assert_eq!((&found["results"][0]["path"], &found["mode_used"]), (&json!("Harbour.md"), &json!("hybrid")));
        assert_eq!(search(&client, "gale", "semantic").await["results"][0]["path"], "Weather.md");
        // What a function writes waits for the next sync, which asks for that alone.
        let asked = service.texts().len();
        create(&client, "New.md", "The port has a berth.\n").await;
        let found = search(&client, "haven", "hybrid").await;
        assert_eq!((&found["results"][0]["path"], &found["waiting"]), (&json!("Harbour.md"), &json!(1)), "{found}");
        let synced = sync(&place, vault.root(), &config);
        assert_eq!(synced["embedding_waiting"], Value::Null, "{synced}");
        assert_eq!(service.texts().len(), asked + 1, "{:?}", service.texts());
        let found = search(&client, "haven", "semantic").await;
        assert_eq!(found.get("waiting"), None);
        assert!(found.to_string().contains("New.md"), "{found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_service_fails_words_answer_and_meaning_says_why() {
    let (service, vault, place) = (Embeddings::start().await, vault(), Place::new());
    let config = service.config("openai", json!({}));
    sync(&place, vault.root(), &config);
    let client = client(&place, &config).await;
    let long = Duration::from_secs(30);
    for (fate, says) in [
        (Reply::Silence(long), "in time"),
        (Reply::Status(503, String::new()), "status 503"),
        (Reply::Status(200, r#"{"data": []}"#.to_owned()), "0 vectors for 1 texts"),
        (Reply::Status(200, r#"{"data": [{"index": 1, "embedding": [1]}]}"#.to_owned()), "text 1 of 1"),
        (Reply::Status(200, r#"{"data": [{"index": 0, "embedding": [1]}]}"#.to_owned()), "1 dimensions instead of 16"),
        (Reply::Endless("HTTP/1.1 200 So\r\n\r\n".to_owned()), "more than"),
    ] {
        service.becomes(move |_| Some(fate.clone()));
        let began = Instant::now();
        let found = search(&client, "oven", "hybrid").await;
        assert_eq!((&found["results"][0]["path"], &found["mode_used"]), (&json!("Bread.md"), &json!("text")));
        assert!(found["notice"].as_str().unwrap().contains(says), "{says}: {found}");
        let refused = client.post("/search", json!({ "query": "oven", "mode": "semantic" })).await;
        let (_, reason, message) = refused.error(503);
        assert!(message.contains(says) && reason == "embedding_provider_error", "{says}: {message}");
        assert!(began.elapsed() < long / 2, "{says}");
    }
    service.becomes(|_| None);
    assert_eq!(search(&client, "oven", "hybrid").await["mode_used"], "hybrid");
    // The second page of a list is of the same list, whatever becomes of the service.
    let first = client.post("/search", json!({ "query": "the storm", "mode": "hybrid", "limit": 1 })).await.ok();
    let next = json!({ "query": "the storm", "mode": "hybrid", "limit": 1, "cursor": first["cursor"] });
    service.becomes(|_| Some(Reply::Status(500, String::new())));
    assert_eq!(client.post("/search", next.clone()).await.ok()["mode_used"], "hybrid", "the vector is kept");
    let cold = self::client(&place, &config).await;
    assert_eq!(cold.post("/search", next).await.error(503).1, "embedding_provider_error");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_paid_for_survives_a_sync_that_is_killed() {
    let (service, vault, place) = (Embeddings::start().await, vault(), Place::new());
    let config = service.config("openai", json!({}));
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    let hang = move |_: &Asked| (counted.fetch_add(1, Ordering::SeqCst) >= 2).then_some(Reply::Silence(LONG));
    service.becomes(hang);
    let mut killed = place.sync(vault.root());
    let mut killed = killed.env("ATLAS_CONFIG", &config).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(Duration::from_secs(60), "a third request", || {
        if requests.load(Ordering::SeqCst) >= 3 { Ok(()) } else { Err("fewer") }
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(model_of(&place).await, None, "nothing is committed yet");
    service.becomes(|_| None);
    let synced = sync(&place, vault.root(), &config);
    assert_eq!(synced["embedded"], 5, "{synced}");
    let twice: Vec<usize> = service.texts().into_values().collect();
    // The last batch, of one text, had no answer; the two before it were paid for.
    assert_eq!((twice.len(), twice.iter().sum::<usize>()), (5, 5 + 1), "{:?}", service.texts());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_tokens_stops_a_sync_and_the_next_goes_on() {
    let (service, place) = (Embeddings::start().await, Place::new());
    let text = |word: &str| format!("{}\n", format!("{word} tide ").repeat(160));
    let notes = (0..9).map(|n| (format!("{n}.md"), text(&format!("word{n}"))));
    let vault = notes.fold(VaultBuilder::new(), |vault, (path, text)| vault.note(&path, &text));
    // The service counts 1,800 tokens of each text, so a sync asks for five.
    service.becomes(|asked| {
        let Reply::Status(status, body) = sound(asked) else { return None };
        let tokens = 1_800 * asked.json()["input"].as_array().unwrap().len();
        Some(Reply::Status(status, body.replace("\"total_tokens\":40", &format!("\"total_tokens\":{tokens}"))))
    });
    let config = service.config("openai", json!({ "maxTokensPerSync": 10_000 }));
    let mut waiting = Vec::new();
    for _ in 0..4 {
        let synced = sync(&place, vault.root(), &config);
        waiting.push(synced["embedding_waiting"].as_u64().unwrap_or(0));
        match waiting.last() {
            Some(0) => assert_eq!(synced.get("embedding_failure"), None),
            _ => assert!(synced["embedding_failure"].as_str().unwrap().contains("the next sync goes on"), "{synced}"),
        }
    }
    assert_eq!(waiting, [4, 0, 0, 0], "{waiting:?}");
    assert!(service.texts().values().all(|times| *times == 1), "{:?}", service.texts());
    let found = search(&client(&place, &config).await, "ebb", "semantic").await;
    assert_eq!(found["results"].as_array().unwrap().len(), 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_long_note_only_the_changed_section_is_asked_for() {
    let (service, place) = (Embeddings::start().await, Place::new());
    let note = |words: [&str; 3]| words.map(|word| format!("# {word}\n\n{}\n", format!("{word} ").repeat(80))).concat();
    let vault = VaultBuilder::new().note("Long.md", &note(["harbour", "backup", "storm"]));
    let config = service.config("openai", json!({}));
    sync(&place, vault.root(), &config);
    assert_eq!(service.texts().len(), 3);
    std::fs::write(vault.root().join("Long.md"), note(["harbour", "bakery", "storm"])).unwrap();
    sync(&place, vault.root(), &config);
    let texts = service.texts();
    assert_eq!((texts.len(), texts.values().sum::<usize>()), (4, 4), "{texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_takes_over_when_it_has_all() {
    let (service, vault, place) = (Embeddings::start().await, vault(), Place::new());
    sync(&place, vault.root(), &service.config("openai", json!({})));
    let other = service.config("openai", json!({ "model": "other words" }));
    let left = AtomicUsize::new(2);
    service.becomes(move |asked| {
        let is_other = asked.json()["model"] == "other words";
        let is_over = is_other && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_err();
        is_over.then(|| Reply::Status(401, String::new()))
    });
    let synced = sync(&place, vault.root(), &other);
    assert!(synced["embedding_failure"].as_str().unwrap().contains("key"), "{synced}");
    assert_eq!(model_of(&place).await.as_deref(), Some("words"));
    // Until then the model before answers, which the service has too.
    let client = client(&place, &other).await;
    assert_eq!(search(&client, "haven", "semantic").await["results"][0]["path"], "Harbour.md");
    service.becomes(|_| None);
    let again = sync(&place, vault.root(), &other);
    assert_eq!((&again["embedded"], model_of(&place).await.as_deref()), (&json!(5), Some("other words")));
    let asked = service.stand_in.asked();
    let others = asked
        .iter()
        .filter(|asked| asked.json()["model"] == "other words" && asked.json()["input"] != json!(["haven"]));
    assert_eq!(others.count(), 2 + 1 + 1, "the two batches that were paid for are not asked for again");
    assert_eq!(search(&client, "haven", "semantic").await["results"][0]["path"], "Harbour.md");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_refused_holds_up_no_other() {
    let (service, vault, place) = (Embeddings::start().await, vault(), Place::new());
    service.becomes(|asked| {
        asked.json()["input"].to_string().contains("Bread").then(|| Reply::Status(400, String::new()))
    });
    let config = service.config("openai", json!({}));
    let synced = sync(&place, vault.root(), &config);
    assert_eq!((&synced["embedded"], &synced["embedding_waiting"]), (&json!(4), &json!(1)), "{synced}");
    let found = search(&client(&place, &config).await, "haven", "hybrid").await;
    assert_eq!((&found["results"][0]["path"], &found["waiting"]), (&json!("Harbour.md"), &json!(1)));
    service.becomes(|_| None);
    assert_eq!(sync(&place, vault.root(), &config).get("embedding_waiting"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_names_a_model_in_the_store() {
    let (vault, place) = (vault(), Place::new());
    let config = |model: &str| json!({ "embeddings": { "provider": "static", "model": model } }).to_string();
    let synced = sync(&place, vault.root(), &config("words-1"));
    assert!(synced["embedding_failure"].as_str().unwrap().contains("atlas model add"), "{synced}");
    for seed in [1, 2] {
        models::add(&place.mirror(), seed).await;
    }
    assert_eq!(model_of(&place).await.as_deref(), Some("words-2"));
    let synced = sync(&place, vault.root(), &config("words-1"));
    assert_eq!((&synced["embedded"], model_of(&place).await.as_deref()), (&json!(5), Some("words-1")));
    assert_eq!(sync(&place, vault.root(), &config("words-1"))["generation"], synced["generation"]);
    let found = search(&client(&place, &config("words-1")).await, "haven", "hybrid").await;
    assert_eq!(found["results"][0]["path"], "Harbour.md");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_is_rescued_keeps_what_was_paid_for() {
    let (service, vault, place) = (Embeddings::start().await, vault(), Place::new());
    let config = service.config("openai", json!({}));
    sync(&place, vault.root(), &config);
    let paid = service.texts();
    let head = place.mirror().head().await.unwrap();
    let object = place.path("store/vaults/main/segments").join(head.segments()[0].id.to_string());
    let mut bytes = std::fs::read(&object).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&object, bytes).unwrap();
    let mut repair = place.sync(vault.root());
    let repaired = json_of(repair.args(["--json", "--repair"]).env("ATLAS_CONFIG", &config));
    assert!(!repaired["repaired"]["flaws"].as_array().unwrap().is_empty(), "{repaired}");
    assert_eq!(service.texts(), paid, "nothing is asked for again");
    let found = search(&client(&place, &config).await, "haven", "semantic").await;
    assert!(found["results"][0]["path"] == "Harbour.md" && found.get("waiting").is_none(), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_vectors_leave_words_and_are_made_anew() {
    let (vault, place) = (vault(), Place::new());
    sync(&place, vault.root(), "{}");
    models::add(&place.mirror(), 1).await;
    let vectors = |head: &atlas_mirror::Snapshot| head.segments()[0].vectors.map(|vectors| vectors.id.to_string());
    for is_missing in [true, false] {
        let head = place.mirror().head().await.unwrap();
        let object = place.path("store/vaults/main/segments").join(vectors(&head).unwrap());
        if is_missing {
            std::fs::remove_file(&object).unwrap();
        } else {
            let mut bytes = std::fs::read(&object).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&object, bytes).unwrap();
        }
        let client = client(&place, "{}").await;
        let found = search(&client, "oven", "hybrid").await;
        assert_eq!(
            (&found["results"][0]["path"], &found["mode_used"]),
            (&json!("Bread.md"), &json!("text")),
            "{found}"
        );
        assert!(found["notice"].as_str().unwrap().contains("atlas doctor"), "{found}");
        let doctor = place.atlas("doctor").output().unwrap();
        let said = String::from_utf8_lossy(&doctor.stdout).into_owned() + &String::from_utf8_lossy(&doctor.stderr);
        assert!(said.contains(&vectors(&head).unwrap()), "{said}");
        let repaired = json_of(place.sync(vault.root()).args(["--json", "--repair"]));
        assert_eq!(repaired["repaired"]["flaws"].as_array().unwrap().len(), 1, "{repaired}");
        assert_eq!((&repaired["embedded"], &repaired["repaired"]["lost"]), (&json!(5), &Value::Null), "{repaired}");
        let found = search(&self::client(&place, "{}").await, "haven", "hybrid").await;
        assert_eq!((&found["results"][0]["path"], &found["mode_used"]), (&json!("Harbour.md"), &json!("hybrid")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_service_takes_no_time_from_the_texts() {
    let (service, vault, place) = (Embeddings::start().await, vault(), Place::new());
    let config = service.config("openai", json!({ "queryTimeoutMs": 2_000 }));
    sync(&place, vault.root(), &config);
    let query = "harbour backup bakery storm captain";
    let client = client(&place, &config).await;
    for (seconds, used) in [(1.5, "hybrid"), (3.0, "text")] {
        let late = Duration::from_secs_f64(seconds);
        service.becomes(move |_| {
            std::thread::sleep(late.min(Duration::from_millis(1_500)));
            (late > Duration::from_secs(2)).then_some(Reply::Silence(late))
        });
        // Another question each time: vectors of questions are kept.
        let asked = json!({ "query": format!("{query} {seconds}"), "limit": 5 });
        let answer = client.post("/search", asked.clone()).await.ok();
        assert_eq!(answer["results"].as_array().unwrap().len(), 5, "{seconds}: {answer}");
        assert_eq!((answer.get("partial"), &answer["mode_used"]), (None, &json!(used)), "{answer}");
        assert_eq!(answer.get("notice").is_some(), seconds > 2.0, "who did not ask for meaning is told of the failure");
        let answer = Tools::of(&client).good("search_vault", asked).await;
        assert_eq!(answer["items"].as_array().unwrap().len(), 5, "{seconds}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_without_words_asks_no_model() {
    let (service, place) = (Embeddings::start().await, Place::new());
    let vault = vault().note("Log.md", "The tide. #sea\n");
    let config = service.config("openai", json!({}));
    sync(&place, vault.root(), &config);
    let asked = service.stand_in.asked().len();
    let client = client(&place, &config).await;
    let found = search(&client, "tag:sea", "hybrid").await;
    assert_eq!((&found["results"][0]["path"], &found["mode_used"]), (&json!("Log.md"), &json!("text")), "{found}");
    let refused = client.post("/search", json!({ "query": "tag:sea", "mode": "semantic" })).await;
    let (_, reason, message) = refused.error(400);
    assert!(reason == "query_invalid" && message.contains("no words whose meaning"), "{message}");
    assert_eq!(service.stand_in.asked().len(), asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_at_which_the_service_fails_holds_up_no_other() {
    let (service, vault, place) = (Embeddings::start().await, vault(), Place::new());
    let failure = b"HTTP/1.1 500 So\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    service.becomes(|asked| asked.json()["input"].to_string().contains("Bread").then(|| Reply::Raw(failure.to_vec())));
    let config = service.config("openai", json!({}));
    let synced = sync(&place, vault.root(), &config);
    assert_eq!((&synced["embedded"], &synced["embedding_waiting"]), (&json!(4), &json!(1)), "{synced}");
    assert_eq!(synced.get("embedding_failure"), None);
    service.becomes(|_| None);
    assert_eq!(sync(&place, vault.root(), &config).get("embedding_waiting"), None);
}
