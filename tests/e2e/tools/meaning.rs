//! Finding by meaning: `search` in its modes, `search_semantic`, `find_similar` and `vault_graph_search`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use atlas_embeddings::{EmbedError, EmbeddingModel, Purpose, Vector};
use atlas_mirror::embedding::StoreModel;
use atlas_mirror::{Embeddings, Hash, Mirror};
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Put, by};
use serde_json::{Value, json};

use crate::support::models;
use crate::support::publish::publish_code;
use crate::support::world::{World, caller};

const NOTES: [(&str, &str); 5] = [
    ("Harbour.md", "# Harbour\n\nThe harbour has a quay.\n"),
    ("Safety.md", "# Safety\n\nA backup is a copy. See [[Bread]].\n"),
    ("Bread.md", "# Bread\n\nThe bakery has an oven and flour.\n\nSee [[Weather]].\n"),
    ("Weather.md", "# Weather\n\nThe storm brings wind.\n"),
    ("Empty.md", ""),
];

async fn world() -> World {
    let world = World::open(&NOTES).await;
    models::add(mirror(&world), 1).await;
    world
}

fn mirror(world: &World) -> &Mirror {
    &world.atlas.vault(None).unwrap().mirror
}

fn paths(answer: &Value, field: &str) -> Vec<String> {
    answer[field].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn notes_are_found_by_words_that_they_do_not_have() {
    let world = world().await;
    let found = world.ok("search", json!({ "query": "haven" })).await;
    assert_eq!(found["results"][0]["path"], "Harbour.md", "{found}");
    assert_eq!((&found["mode_used"], &found["results"][0]["line"]), (&json!("hybrid"), &json!(3)), "{found}");
    assert_eq!(found["results"][0]["snippet"], "The harbour has a quay.");
    let words = world.ok("search", json!({ "query": "haven", "mode": "text" })).await;
    assert_eq!((words["results"].as_array().unwrap().len(), words.get("mode_used")), (0, None), "{words}");
    let meant = world.ok("search", json!({ "query": "gale", "mode": "semantic", "explain": true })).await;
    assert_eq!((&meant["results"][0]["path"], &meant["mode_used"]), (&json!("Weather.md"), &json!("semantic")));
    assert!(meant["results"][0]["why"]["meaning"].as_f64().unwrap() > 0.5, "{meant}");
    for mode in ["semantic", "hybrid", "auto"] {
        let found = world.ok("search_vault", json!({ "query": "ledger", "mode": mode, "explain": true })).await;
        let used = if mode == "semantic" { "semantic" } else { "hybrid" };
        assert_eq!((&found["items"][0]["path"], &found["items"][0]["mode_used"]), (&json!("Safety.md"), &json!(used)));
        assert_eq!(found["_explain"]["chosen"], used);
    }
    let config = world.ok("get_server_config", json!({})).await;
    assert_eq!(config["vaults_summary"][0]["embeddings_provider"], "static", "{config}");
    let filtered = world.ok("search", json!({ "query": "haven", "path_filter": "W*" })).await;
    assert_eq!(paths(&filtered, "results"), ["Weather.md"]);
    let required = world.ok("search", json!({ "query": "haven \"flour\"" })).await;
    assert_eq!(paths(&required, "results"), ["Bread.md"], "a phrase is required all the same");
}

#[tokio::test]
async fn where_meaning_counts_alone_conditions_count_too() {
    let near = (0..200).map(|at| (format!("near/{at}.md"), "The harbour has a quay, and boats.\n".to_owned()));
    let far = [
        ("Log.md", "---\nstatus: open\n---\nBread of the bakery. #log/sea\n"),
        ("Old.md", "---\nstatus: done\n---\nFlour for the oven. #old\n"),
    ];
    let far = far.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned()));
    let world = World::of(&[near.chain(far).collect()], &json!({}), caller(&[])).await;
    models::add(mirror(&world), 1).await;
    // More notes are nearer than are looked at.
    for (conditions, expected) in [
        ("tag:log", ["Log.md"].as_slice()),
        ("[status:open]", &["Log.md"]),
        ("-harbour", &["Log.md", "Old.md"]),
        ("-harbour -tag:old", &["Log.md"]),
        ("-[status:open] -boats", &["Old.md"]),
        ("\"for the oven\"", &["Old.md"]),
        ("path:log", &["Log.md"]),
    ] {
        let found = world.ok("search", json!({ "query": format!("haven {conditions}"), "mode": "semantic" })).await;
        let mut found = paths(&found, "results");
        found.sort();
        assert_eq!(found, expected, "{conditions}");
    }
}

#[tokio::test]
async fn the_less_of_a_query_one_passage_has_the_more_meaning_counts() {
    let world = world().await;
    // The part of the best score by words.
    let by_words = async |query: &str| {
        let found = world.ok("search", json!({ "query": query, "explain": true })).await;
        let parts = found["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|note| note["score"].as_f64().unwrap() - note["why"]["meaning"].as_f64().unwrap_or_default());
        parts.fold(0.0, f64::max)
    };
    let all = by_words("storm wind").await;
    let known = by_words("storm wind xyzzy").await;
    let half = by_words("storm oven").await;
    assert!((all - 0.65).abs() < 0.001 && (known - all).abs() < 0.001, "{all} {known}");
    assert!(half < 0.5 && half > 0.4, "{half}");
}

#[tokio::test]
async fn pages_of_notes_by_meaning_are_one_list() {
    let world = world().await;
    for mode in ["hybrid", "semantic"] {
        let all = world.ok("search", json!({ "query": "the storm and the oven", "mode": mode, "limit": 50 })).await;
        let paged = world
            .pages("search", json!({ "query": "the storm and the oven", "mode": mode, "limit": 1 }), "results")
            .await;
        assert_eq!(json!(paged), all["results"], "{mode}");
        let scores: Vec<f64> = paged.iter().map(|found| found["score"].as_f64().unwrap()).collect();
        assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]), "{mode}: {scores:?}");
    }
}

#[tokio::test]
async fn passages_are_found_with_their_texts() {
    let notes = [&NOTES[..], &[("Empty/Note.md", "")]].concat();
    let world = World::open(&notes).await;
    models::add(mirror(&world), 1).await;
    let found = world.ok("search_semantic", json!({ "query": "mooring", "k": 2 })).await;
    let first = &found["items"][0];
    assert_eq!((&first["chunk_id"], &first["embedding_model"]), (&json!("Harbour.md:1"), &json!("words-1")), "{found}");
    assert_eq!(first["content"], "# Harbour\n\nThe harbour has a quay.");
    assert_eq!(found["items"].as_array().unwrap().len(), 2);
    let some =
        world.ok("search_semantic", json!({ "query": "mooring", "min_score": 0.6, "return_content": false })).await;
    assert_eq!((paths(&some, "items"), some["items"][0].get("content")), (vec!["Harbour.md".to_owned()], None));
    let below = |root: &str| json!({ "query": "mooring", "root": root });
    assert_eq!(world.ok("search_semantic", below("Empty")).await["items"], json!([]));
    assert_eq!(world.refused("search_semantic", below("log")).await, "note_not_found");
    for (tool, field) in [("search_semantic", "items"), ("vault_graph_search", "results")] {
        let unknown = world.ok(tool, json!({ "query": "xyzzy" })).await;
        assert!(unknown[field] == json!([]) && unknown["notice"].as_str().unwrap().contains("no word"), "{unknown}");
    }
    let unknown = world.ok("search", json!({ "query": "xyzzy", "mode": "semantic" })).await;
    assert!(unknown["notice"].as_str().unwrap().contains("no word"), "{unknown}");
    assert_eq!(world.refused("search_semantic", json!({ "query": "x", "min_score": 2 })).await, "invalid_input");
    let similar = world.ok("find_similar", json!({ "path": "Weather.md", "limit": 1 })).await;
    assert_eq!(similar["items"].as_array().unwrap().len(), 1, "{similar}");
    assert_ne!(similar["items"][0]["path"], "Weather.md");
    assert_eq!(world.refused("find_similar", json!({ "path": "None.md" })).await, "note_not_found");
}

#[tokio::test]
async fn links_bring_notes_from_what_was_found() {
    let more: Vec<(String, String)> =
        (0..40).map(|n| (format!("more/{n}.md"), "The bakery and the harbour.".to_owned())).collect();
    let notes: BTreeMap<String, String> = NOTES
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .chain(more)
        .chain([("Log.md".to_owned(), "A gale from the port to the harbour. [[Safety]]".to_owned())])
        .collect();
    let open = World::of(std::slice::from_ref(&notes), &json!({}), caller(&[])).await;
    models::add(mirror(&open), 1).await;
    let found = open.ok("vault_graph_search", json!({ "query": "harbour", "final_top_k": 100 })).await;
    let seeds = found["results"].as_array().unwrap().iter().filter(|found| found["source"] == "seed");
    assert_eq!(seeds.count(), 30, "{found}");
    let of = |found: &Value, path: &str| {
        found["results"].as_array().unwrap().iter().find(|found| found["path"] == path).cloned().unwrap_or_default()
    };
    assert_eq!((&of(&found, "Harbour.md")["hop"], &of(&found, "Harbour.md")["via_edge"]), (&json!(0), &Value::Null));
    let expanded: Vec<&Value> =
        found["results"].as_array().unwrap().iter().filter(|found| found["source"] == "expansion").collect();
    for one in &expanded {
        assert!(one["hop"].as_u64().unwrap() >= 1 && one["via_edge"]["source_path"].is_string(), "{one}");
        assert!(one["root_seed"].is_string() && one["via_edge"]["provenance"].is_null(), "{one}");
    }
    // Without the note between, there is no way: a hidden note is no bridge.
    let hiding = json!({ "rules": [{ "glob": "Bread.md", "scopes": ["team:a"] }] });
    let closed = World::of(&[notes], &hiding, caller(&[])).await;
    models::add(mirror(&closed), 1).await;
    let hidden = closed.ok("vault_graph_search", json!({ "query": "copy", "final_top_k": 100 })).await;
    assert!(!hidden.to_string().contains("Bread.md"), "{hidden}");
}

#[tokio::test]
async fn without_a_model_words_answer_and_meaning_says_why_not() {
    let world = World::open(&NOTES).await;
    for (name, arguments) in [
        ("search", json!({ "query": "haven", "mode": "semantic" })),
        ("search_vault", json!({ "query": "haven", "mode": "semantic" })),
        ("search_semantic", json!({ "query": "haven" })),
        ("vault_graph_search", json!({ "query": "haven" })),
        ("find_similar", json!({ "path": "Bread.md" })),
    ] {
        assert_eq!(world.refused(name, arguments).await, "embedding_provider_error", "{name}");
    }
    let said = world.ok("search", json!({ "query": "oven", "mode": "hybrid" })).await;
    assert_eq!((&said["results"][0]["path"], &said["mode_used"]), (&json!("Bread.md"), &json!("text")), "{said}");
    assert!(said["notice"].as_str().unwrap().contains("no embedding model"));
    let plain = world.ok("search", json!({ "query": "oven" })).await;
    assert_eq!((plain.get("mode_used"), plain.get("notice")), (None, None), "who did not ask is not told");
}

#[tokio::test]
async fn what_a_function_writes_is_found_at_once_and_merges_keep_it() {
    let world = world().await;
    for n in 0..30 {
        let text = format!("# Note {n}\n\nThe captain of ship {n}.\n");
        world.ok("write_note", json!({ "path": format!("log/{n:02}.md"), "content": text })).await;
        let found = world.ok("search_semantic", json!({ "query": "pilot", "k": 100 })).await;
        let logs = paths(&found, "items").iter().filter(|path| path.starts_with("log/")).count();
        assert_eq!((logs, found.get("waiting")), (n + 1, None), "{found}");
    }
    let head = mirror(&world).head().await.unwrap();
    assert!(head.segments().len() < 20, "small segments were merged");
    assert!(!head.waits_for_vectors());
    world.ok("append_note", json!({ "path": "log/03.md", "content": "flour and bread" })).await;
    let found = world.ok("search_semantic", json!({ "query": "oven", "k": 2 })).await;
    assert!(paths(&found, "items").contains(&"Bread.md".to_owned()), "{found}");
}

#[tokio::test]
async fn another_model_takes_over_in_one_commit_and_none_leaves_no_trace() {
    let world = world().await;
    let mirror = mirror(&world);
    let before = mirror.head().await.unwrap();
    assert_eq!(before.manifest().format, 2);
    let (info, embedded) = models::add(mirror, 2).await;
    assert_eq!((embedded.notes, embedded.generation), (5, Some(before.generation() + 1)));
    let after = mirror.head().await.unwrap();
    assert_eq!(after.manifest().embeddings.as_ref().map(|embeddings| embeddings.id), Some(info.id));
    let texts = |head: &atlas_mirror::Snapshot| head.segments().iter().map(|entry| entry.id).collect::<Vec<_>>();
    assert_eq!(texts(&before), texts(&after), "no text was written again");
    assert_eq!(world.ok("search_semantic", json!({ "query": "haven" })).await["items"][0]["path"], "Harbour.md");
    let (_, again) = models::add(mirror, 2).await;
    assert_eq!((again.passages, again.generation), (0, None), "nothing is embedded twice");
    models::embedder().drop_vectors(mirror).await.unwrap();
    let head = mirror.head().await.unwrap();
    assert_eq!((head.manifest().format, head.segments().iter().any(|entry| entry.vectors.is_some())), (1, false));
    assert_eq!(world.refused("search_semantic", json!({ "query": "haven" })).await, "embedding_provider_error");
}

/// A model that answers as it is told.
#[derive(Debug)]
struct Told(Mutex<Vec<Result<usize, EmbedError>>>);

#[async_trait]
impl EmbeddingModel for Told {
    fn takes(&self, texts: &[&str]) -> Result<usize, EmbedError> {
        Ok(texts.len().min(2))
    }

    /// So many vectors, of as many dimensions as it is told; or the error.
    async fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vector>, EmbedError> {
        let told = self.0.lock().unwrap().pop().unwrap_or(Ok(8))?;
        let (count, dimensions) = if told == 0 { (texts.len() / 2, 8) } else { (texts.len(), told) };
        Ok((0..count).map(|at| Vector::normalised(vec![1.0 + at as f32; dimensions]).unwrap()).collect())
    }
}

#[tokio::test]
async fn a_model_that_fails_changes_nothing_and_says_so() {
    let world = World::open(&NOTES).await;
    let mirror = mirror(&world);
    let embeddings = Embeddings {
        provider: "openai".to_owned(),
        model: "m".to_owned(),
        id: Hash::of(b"m"),
        dimensions: 8,
        stored: None,
    };
    let state = tempfile::tempdir().unwrap();
    let embedder = atlas_sync::Embedder { state: Some(state.path().to_owned()), ..models::embedder() };
    for bad in
        [Err(EmbedError::Unavailable("429".to_owned())), Ok(7), Ok(0), Err(EmbedError::Limit("1 USD".to_owned()))]
    {
        let model = Told(Mutex::new(vec![bad]));
        let (embedded, failure) = embedder.embed(mirror, &embeddings, &model, &()).await.unwrap();
        assert!(failure.is_some() && embedded.generation.is_none(), "{embedded:?}");
        assert_eq!(mirror.head().await.unwrap().manifest().embeddings, None);
    }
    // The second batch fails: the first is not asked for again.
    let model = Told(Mutex::new(vec![Err(EmbedError::Unavailable("slow".to_owned())), Ok(8)]));
    let (embedded, failure) = embedder.embed(mirror, &embeddings, &model, &()).await.unwrap();
    assert!(failure.is_some() && embedded.passages == 2);
    let (embedded, failure) = embedder.embed(mirror, &embeddings, &Told(Mutex::default()), &()).await.unwrap();
    assert_eq!((failure, embedded.passages, embedded.notes), (None, 2, 5));
    // Nobody here runs the model, so words answer.
    let found = world.ok("search", json!({ "query": "oven", "mode": "hybrid" })).await;
    assert_eq!((&found["results"][0]["path"], &found["mode_used"]), (&json!("Bread.md"), &json!("text")), "{found}");
    assert!(found["notice"].as_str().unwrap().contains("the configuration does not name"), "{found}");
}

#[tokio::test]
async fn a_sync_embeds_what_changed_and_nothing_else() {
    let (mirror, state) = (crate::support::world::mirror(), tempfile::tempdir().unwrap());
    let vault = NOTES.iter().fold(VaultBuilder::new(), |vault, (path, text)| vault.note(path, text));
    let publish = async || publish_code(vault.root(), &mirror, state.path(), None).await;
    assert_eq!(publish().await.embedded, 0, "there is no model");
    models::add(&mirror, 1).await;
    std::fs::write(vault.root().join("New.md"), "The captain is here.").unwrap();
    let synced = publish().await;
    assert_eq!((synced.embedded, synced.embedding_waiting), (1, 0));
    let head = mirror.head().await.unwrap();
    assert_eq!((head.generation(), head.waits_for_vectors()), (synced.generation, false));
    assert_eq!(publish().await.generation, synced.generation, "a sync without changes commits nothing");
    let world = World { atlas: crate::support::world::atlas(mirror, &json!({})), caller: caller(&[]) };
    let found = world.ok("search_semantic", json!({ "query": "helmsman", "k": 1 })).await;
    assert_eq!((paths(&found, "items"), found.get("waiting")), (vec!["New.md".to_owned()], None));
}

#[tokio::test]
async fn a_model_that_is_gone_leaves_words() {
    let world = world().await;
    let info = mirror(&world).models().await.unwrap().remove(0);
    mirror(&world).remove_model(&info.id).await.unwrap();
    let again =
        World { atlas: crate::support::world::atlas(mirror(&world).metered(), &json!({})), caller: caller(&[]) };
    let found = again.ok("search", json!({ "query": "oven" })).await;
    assert_eq!(found["results"][0]["path"], "Bread.md", "{found}");
    again.ok("write_note", json!({ "path": "New.md", "content": "The port." })).await;
}

#[tokio::test]
async fn links_are_suggested_to_notes_of_the_same_meaning() {
    let more = [("Port.md", "A haven with a berth, as [[Jetty]] has.\n"), ("Jetty.md", "The port has a mooring.\n")];
    let notes: Vec<(&str, &str)> = NOTES.iter().chain(&more).copied().collect();
    let world = World::open(&notes).await;
    let suggested = async |path: &str| world.ok("suggest_links", json!({ "path": path, "limit": 2 })).await;
    assert_eq!(paths(&suggested("Harbour.md").await, "suggestions"), [""; 0], "nothing else leads from it");
    models::add(mirror(&world), 1).await;
    let of_harbour = suggested("Harbour.md").await;
    let mut near = paths(&of_harbour, "suggestions");
    near.sort();
    assert_eq!(near, ["Jetty.md", "Port.md"], "{of_harbour}");
    let first = &of_harbour["suggestions"][0];
    assert!(first["score"] == 10 && first["similarity"].as_f64().unwrap() > 0.5, "{of_harbour}");
    assert!(!paths(&suggested("Port.md").await, "suggestions").contains(&"Jetty.md".to_owned()), "it links there");
}

#[tokio::test]
async fn of_a_long_note_as_many_passages_are_found_as_are_asked_for() {
    let section = |n: usize| format!("# Part {n}\n\n{}\n\n", format!("The harbour has quay {n}. ").repeat(40));
    let long: String = (0..12).map(section).collect();
    let world = World::open(&[("Long.md", long.as_str()), ("Bread.md", "The bakery has an oven.\n")]).await;
    models::add(mirror(&world), 1).await;
    let found = world.ok("search_semantic", json!({ "query": "haven", "k": 10 })).await;
    assert_eq!(paths(&found, "items"), vec!["Long.md"; 10], "{found}");
    let seeds = world.ok("vault_graph_search", json!({ "query": "haven" })).await;
    assert!(seeds["results"].as_array().unwrap().len() > 10, "{seeds}");
}

/// A model while whose answer somebody adds another one, or removes all.
#[derive(Debug)]
struct Meanwhile(StoreModel, Mirror, Mutex<Option<Option<Embeddings>>>);

#[async_trait]
impl EmbeddingModel for Meanwhile {
    fn takes(&self, texts: &[&str]) -> Result<usize, EmbedError> {
        self.0.takes(texts)
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vector>, EmbedError> {
        let chosen = self.2.lock().unwrap().take();
        match chosen {
            Some(None) => models::embedder().drop_vectors(&self.1).await.unwrap(),
            Some(Some(other)) => {
                let runs = StoreModel::new(self.1.clone(), other.clone());
                models::embedder().embed(&self.1, &other, &runs, &()).await.unwrap();
            }
            None => {}
        }
        self.0.embed(texts, purpose).await
    }
}

#[tokio::test]
async fn the_choice_of_another_model_outlives_an_embedding_that_began_before() {
    // The notes lack vectors of the first model, or all change to the second; meanwhile the third is added, or all are removed.
    for (own, seed) in [(1, 3), (2, 3), (1, 0), (2, 0)] {
        let world = world().await;
        let mirror = mirror(&world);
        mirror.commit(&by("agent"), &Put::note("New.md", "The port has a berth.\n")).await.unwrap();
        let info =
            mirror.add_model(&format!("words-{own}"), &models::model(own), models::embedder().time).await.unwrap();
        let embeddings = info.embeddings();
        let runs = StoreModel::new(mirror.clone(), embeddings.clone());
        let other = match seed {
            0 => None,
            _ => Some(
                mirror.add_model("words-3", &models::model(seed), models::embedder().time).await.unwrap().embeddings(),
            ),
        };
        let model = Meanwhile(runs, mirror.clone(), Mutex::new(Some(other)));
        let (embedded, failure) = models::embedder().embed(mirror, &embeddings, &model, &()).await.unwrap();
        assert_eq!((failure, embedded.generation), (Some(EmbedError::Superseded), None), "{own} {seed}");
        let head = mirror.head().await.unwrap();
        let chosen = head.manifest().embeddings.as_ref().map(|embeddings| embeddings.model.as_str());
        assert_eq!(chosen, (seed > 0).then_some("words-3"), "{own} {seed}");
        assert!(!head.waits_for_vectors(), "no note has lost its vectors");
    }
}
