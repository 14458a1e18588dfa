//! Embedding models with a network, of sentence-transformers: put into the store, embedded with at sync, and asked by searches.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use atlas_embeddings::{EmbedError, EmbeddingModel, Purpose, Vector};
use atlas_mirror::embedding::StoreModel;
use atlas_mirror::{Mirror, Options, PartCache};
use atlas_sync::SyncOptions;
use atlas_testkit::VaultBuilder;
use atlas_testkit::time::minute;
use serde_json::{Value, json};

use crate::support::deployment::{Client, settings};
use crate::support::models::embedder;
use crate::support::note_calls::create;
use crate::support::programs::{Place, atlas, json_of, refusal_of};
use crate::support::world::{World, atlas as in_process, caller};

const LONG: Duration = Duration::from_secs(3600);
const HARBOUR: &str = "Harbour\nThe harbour fills with boats.";

/// A model of random numbers, so a passage is nearest to its own text.
fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/embeddings/tests/fixtures/bert_mean")
}

fn vault() -> VaultBuilder {
    VaultBuilder::new()
        .note("Harbour.md", "The harbour fills with boats.\n")
        .note("Safety.md", "A backup that nobody has restored is only a hope.\n")
        .note("Ships.md", "Ships, ropes, sails and anchors were counted.\n")
}

fn sync(place: &Place, root: &Path) -> Value {
    json_of(place.sync(root).arg("--json"))
}

/// `atlas model` on the vault of a place.
fn model(place: &Place, arguments: &[&OsStr]) -> Command {
    let mut command = place.reached_by(atlas());
    command.arg("model").args(arguments).args(["--vault", "main", "--store", &place.store]);
    command
}

fn add(place: &Place, folder: &Path) -> Command {
    model(place, &[OsStr::new("add"), folder.as_os_str()])
}

fn list(place: &Place) -> Value {
    json_of(&mut model(place, &[OsStr::new("list"), OsStr::new("--json")]))
}

async fn client(place: &Place) -> Client {
    Client::try_set_up_over(&place.open(), &settings(&[]), LONG).await.ok().unwrap()
}

async fn search(client: &Client, query: &str, mode: &str) -> Value {
    client.post("/search", json!({ "query": query, "mode": mode, "explain": true })).await.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_found_by_a_network_in_the_store() {
    let (vault, place) = (vault(), Place::new());
    sync(&place, vault.root());
    let added = add(&place, &fixture()).output().unwrap();
    let told = String::from_utf8_lossy(&added.stdout).into_owned();
    assert!(added.status.success() && told.contains("3 notes are found by meaning, with bert_mean"), "{added:?}");
    let client = client(&place).await;
    let found = search(&client, HARBOUR, "semantic").await;
    let first = &found["results"][0];
    assert!(first["path"] == "Harbour.md" && first["why"]["meaning"].as_f64().unwrap() > 0.99, "{found}");
    assert_eq!(search(&client, "boats", "hybrid").await["mode_used"], "hybrid");
    let again = search(&client, HARBOUR, "semantic").await;
    assert_eq!(again.to_string(), found.to_string(), "equal requests give equal bytes");
    // A function does not run a network for what it writes; the next sync does, for that alone.
    create(&client, "New.md", "Les bateaux rentrent au port.\n").await;
    assert_eq!(search(&client, "boats", "hybrid").await["waiting"], 1);
    let synced = sync(&place, vault.root());
    assert_eq!((&synced["embedded"], synced.get("embedding_waiting")), (&json!(1), None), "{synced}");
    let found = search(&client, "New\nLes bateaux rentrent au port.", "semantic").await;
    assert!(found["results"][0]["path"] == "New.md" && found.get("waiting").is_none(), "{found}");
    let listed = list(&place);
    assert_eq!((&listed[0]["name"], &listed[0]["used"]), (&json!("bert_mean"), &json!(true)), "{listed}");
}

/// A model that fails after so many calls.
#[derive(Debug)]
struct Failing(StoreModel, Mutex<usize>);

#[async_trait]
impl EmbeddingModel for Failing {
    fn takes(&self, texts: &[&str]) -> Result<usize, EmbedError> {
        self.0.takes(texts)
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vector>, EmbedError> {
        {
            let mut left = self.1.lock().unwrap();
            *left = left.checked_sub(1).ok_or_else(|| EmbedError::Unavailable("stopped".to_owned()))?;
        }
        self.0.embed(texts, purpose).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_computed_before_an_interruption_is_not_computed_again() {
    let place = Place::new();
    let vault = (0..40).fold(vault(), |vault, n| vault.note(&format!("{n}.md"), &format!("The tide of {n}.")));
    sync(&place, vault.root());
    let (mirror, state) = (place.mirror(), tempfile::tempdir().unwrap());
    let read = |name: &str| std::fs::read(fixture().join(name)).unwrap();
    let model = atlas_embeddings::ContextualModel::from_files(&atlas_embeddings::contextual::Files {
        config: &read("config.json"),
        tokenizer: &read("tokenizer.json"),
        tensors: &read("model.safetensors"),
        modules: &read("modules.json"),
        pooling: &read("1_Pooling/config.json"),
        ..Default::default()
    });
    let embedder = atlas_sync::Embedder { state: Some(state.path().to_owned()), ..embedder() };
    let embeddings = mirror.add_model("network", &model.unwrap(), embedder.time).await.unwrap().embeddings();
    let runs = |calls| Failing(StoreModel::new(mirror.clone(), embeddings.clone()), Mutex::new(calls));
    let (first, failure) = embedder.embed(&mirror, &embeddings, &runs(2), &()).await.unwrap();
    assert!(failure.is_some() && first.passages == 32 && first.waiting == 11, "{first:?}");
    let (rest, failure) = embedder.embed(&mirror, &embeddings, &runs(100), &()).await.unwrap();
    assert_eq!((failure, rest.passages, rest.waiting), (None, 11, 0));
}

/// The notes that have vectors, and those that wait.
async fn embedded(mirror: &Mirror) -> (u32, u32) {
    let head = mirror.head().await.unwrap();
    let of = || head.segments().iter().filter_map(|entry| entry.vectors).map(|of| of.layout);
    (of().map(|layout| layout.rows).sum(), of().map(|layout| layout.waiting).sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_without_networks_says_so_and_goes_on() {
    let (vault, place) = (vault(), Place::new());
    sync(&place, vault.root());
    assert!(add(&place, &fixture()).output().unwrap().status.success());
    let (rows, _) = embedded(&place.mirror()).await;
    let options = Options { runs_networks: false, ..Options::default() };
    let mirror = Mirror::open(place.open(), "main".parse().unwrap(), PartCache::new(0).into(), options).unwrap();
    let world = World { atlas: in_process(mirror.clone(), &json!({})), caller: caller(&[]) };
    for mode in ["text", "hybrid"] {
        let found = world.ok("search", json!({ "query": "boats", "mode": mode })).await;
        assert_eq!(
            (&found["results"][0]["path"], &found["results"][1]),
            (&json!("Harbour.md"), &Value::Null),
            "{found}"
        );
    }
    let found = world.ok("search", json!({ "query": "boats", "mode": "hybrid" })).await;
    assert_eq!(found["mode_used"], "text", "{found}");
    assert!(found["notice"].as_str().unwrap().contains("SEARCH=contextual"), "{found}");
    for (name, arguments) in [
        ("search", json!({ "query": "boats", "mode": "semantic" })),
        ("search_semantic", json!({ "query": "boats" })),
        ("vault_graph_search", json!({ "query": "boats" })),
    ] {
        let error = world.call(name, arguments).await.unwrap_err();
        assert_eq!(error.reason(), "embedding_provider_error", "{name}");
        assert!(error.message.contains("has a network, and this program is built without"), "{name}: {error:?}");
    }
    // What is embedded already needs no network.
    let similar = world.ok("find_similar", json!({ "path": "Harbour.md" })).await;
    assert_eq!(similar["items"].as_array().unwrap().len(), 2, "{similar}");
    // A sync brings the notes; they wait for one that runs networks, which is told once.
    vault.write("New.md", b"Les bateaux rentrent au port.\n");
    let synced = async || {
        let options = SyncOptions::new(vault.root().to_owned(), place.path("state"), "tests".to_owned(), minute(0));
        atlas_sync::sync(&mirror, &options, Arc::new(())).await.unwrap()
    };
    let first = synced().await;
    assert_eq!((first.embedded, first.embedding_waiting), (0, 1), "{first:?}");
    assert!(first.embedding_failure.as_ref().unwrap().contains("SEARCH=contextual"), "{first:?}");
    let (generation, again) = (mirror.head().await.unwrap().generation(), synced().await);
    assert_eq!(mirror.head().await.unwrap().generation(), generation, "nothing is new: {again:?}");
    assert_eq!(world.ok("search", json!({ "query": "bateaux" })).await["results"][0]["path"], "New.md");
    assert!(embedded(&mirror).await.0 >= rows, "no vector is lost");
    let with = sync(&place, vault.root());
    assert_eq!((&with["embedded"], with.get("embedding_waiting")), (&json!(1), None), "{with}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_no_model_is_refused_before_anything_is_stored() {
    let (vault, place, folder) = (vault(), Place::new(), tempfile::tempdir().unwrap());
    sync(&place, vault.root());
    assert!(
        refusal_of(&mut add(&place, folder.path())).contains("it has no tokenizer.json: name the folder of a model")
    );
    let copied = ["modules.json", "config.json", "tokenizer.json", "model.safetensors"];
    for name in copied {
        std::fs::copy(fixture().join(name), folder.path().join(name)).unwrap();
    }
    assert!(refusal_of(&mut add(&place, folder.path())).contains("it has no 1_Pooling/config.json"));
    std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    let pooling = |mode: &str| std::fs::write(folder.path().join("1_Pooling/config.json"), mode).unwrap();
    pooling(r#"{"pooling_mode_max_tokens": true}"#);
    assert!(refusal_of(&mut add(&place, folder.path())).contains("pooling by anything but the mean"));
    pooling(r#"{"pooling_mode_mean_tokens": true}"#);
    std::fs::write(folder.path().join("model.safetensors"), "xyz").unwrap();
    assert!(refusal_of(&mut add(&place, folder.path())).contains("model.safetensors"));
    assert_eq!(list(&place), json!([]));
}
