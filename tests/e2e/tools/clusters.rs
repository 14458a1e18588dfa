//! Finding by meaning where there are so many vectors that they are clustered: as without clusters, but less is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use atlas_embeddings::StaticModel;
use atlas_mirror::change::CommitInfo;
use atlas_mirror::collect::Retention;
use atlas_mirror::purge::Purge;
use atlas_mirror::{Mirror, Options, PartCache, Store, StoreOptions};
use atlas_sync::{SyncOptions, sync};
use atlas_testkit::time::minute;
use atlas_testkit::{CountingStore, Fault, FaultStore, Op};
use atlas_vault::VaultPath;
use jiff::Timestamp;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::models;
use crate::support::publish::publish_code;
use crate::support::world::{World, atlas, caller};

const NOTES: usize = 1_500;
const TOPICS: usize = 60;
const WORDS: usize = 12;
const DIMENSIONS: usize = 64;
/// Vectors from which on these tests cluster.
const BOUND: u64 = 500;

/// A number below `most` that looks random.
fn drawn(at: usize, most: usize) -> usize {
    let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as usize % most
}

/// Words of a topic mean something similar.
fn model() -> StaticModel {
    let noise = |at: usize| drawn(at, 20_001) as f32 / 1e4 - 1.0;
    let row = |topic: usize, word: usize| {
        let of =
            |at| noise(topic * DIMENSIONS + at) + 1.6 * noise((1 << 20) + (topic * WORDS + word) * DIMENSIONS + at);
        (0..DIMENSIONS).map(of).collect()
    };
    let words = (0..TOPICS).flat_map(|topic| (0..WORDS).map(move |word| (topic, word)));
    models::of_words(words.map(|(topic, word)| (word_of(topic, word), row(topic, word))).collect())
}

fn word_of(topic: usize, word: usize) -> String {
    let letter = |at: usize| char::from(b'a' + at as u8);
    format!("q{}{}{}", letter(topic / 26), letter(topic % 26), letter(word))
}

/// Some words of a topic, and one of another.
fn text_of(note: usize) -> String {
    let mut text = String::new();
    for at in 0..5 {
        let topic = if at == 4 { drawn(note * 31, TOPICS) } else { note % TOPICS };
        write!(text, "{} ", word_of(topic, drawn(note * 7 + at, WORDS))).unwrap();
    }
    text
}

fn vault() -> BTreeMap<String, String> {
    (0..NOTES).map(|note| (format!("{}/{note:04}.md", note % 17), text_of(note))).collect()
}

/// Words of one topic that no note has together.
fn queries() -> impl Iterator<Item = String> {
    (0..40).map(|at| format!("{} {}", word_of(at * 3 % TOPICS, 2), word_of(at * 3 % TOPICS, at % WORDS)))
}

fn mirror(world: &World) -> &Mirror {
    &world.atlas.vault(None).unwrap().mirror
}

fn info() -> CommitInfo {
    CommitInfo {
        author: "test".to_owned(),
        caller: None,
        operation: "embed".to_owned(),
        message: None,
        session: None,
        key: None,
        time: Timestamp::UNIX_EPOCH,
        deadline: Duration::from_secs(60),
    }
}

/// The passages that mean what `query` does, with their scores.
async fn found(world: &World, query: &str, root: &str) -> Vec<(String, String)> {
    let arguments = json!({ "query": query, "k": 10, "root": root, "return_content": false });
    let answer = world.ok("search_semantic", arguments).await;
    let item = |item: &Value| (item["path"].as_str().unwrap().to_owned(), item["score"].to_string());
    answer["items"].as_array().unwrap().iter().map(item).collect()
}

/// A world of the vault, embedded without clusters.
async fn world(notes: &BTreeMap<String, String>, acl: &Value) -> World {
    let world = World::of(std::slice::from_ref(notes), acl, caller(&[])).await;
    models::add_model(mirror(&world), "topics", &model(), u64::MAX).await;
    world
}

/// What all queries find.
async fn all_found(world: &World) -> Vec<Vec<(String, String)>> {
    let mut all = Vec::new();
    for query in queries() {
        all.push(found(world, &query, "").await);
    }
    all
}

/// How many of those in `flat` are in `clustered` too, with the same score, in a hundred.
fn share(flat: &[Vec<(String, String)>], clustered: &[Vec<(String, String)>]) -> usize {
    let wanted: usize = flat.iter().map(Vec::len).sum();
    let pairs = flat.iter().zip(clustered).flat_map(|(flat, clustered)| flat.iter().map(move |one| (one, clustered)));
    pairs.filter(|(one, clustered)| clustered.contains(one)).count() * 100 / wanted
}

#[tokio::test]
async fn clusters_find_what_all_codes_do() {
    let world = world(&vault(), &json!({})).await;
    let flat = all_found(&world).await;
    let of_folder = found(&world, &queries().next().unwrap(), "3").await;
    assert!(flat.iter().all(|found| found.len() == 10));
    assert_eq!(mirror(&world).cluster_vectors(&info(), NOTES as u64 + 1).await.unwrap(), None, "they are few");
    let generation = mirror(&world).cluster_vectors(&info(), BOUND).await.unwrap();
    let head = mirror(&world).head().await.unwrap();
    assert_eq!((generation, head.manifest().format), (Some(head.generation()), 2));
    assert_eq!(head.manifest().clusters.map(|of| (of.layout.rows, of.layout.clusters)), Some((NOTES as u64, 76)));
    assert_eq!(mirror(&world).cluster_vectors(&info(), BOUND).await.unwrap(), None, "nothing is new");
    let clustered = all_found(&world).await;
    assert!(share(&flat, &clustered) >= 95, "{} of a hundred", share(&flat, &clustered));
    assert_eq!(clustered, all_found(&world).await);
    // Lists are read until they have enough of a folder, or all of it.
    assert_eq!(found(&world, &queries().next().unwrap(), "3").await, of_folder);
    let similar = world.ok("find_similar", json!({ "path": "3/0003.md", "limit": 5 })).await;
    assert_eq!(similar["items"].as_array().unwrap().len(), 5, "{similar}");
    let graph = world.ok("vault_graph_search", json!({ "query": queries().next().unwrap() })).await;
    assert_eq!(graph["results"].as_array().unwrap().len(), 30, "{graph}");
}

#[tokio::test]
async fn a_hidden_note_changes_neither_what_is_found_nor_a_score() {
    let near = queries().next().unwrap();
    let hidden = (0..900).map(|at| (format!("hidden/{at}.md"), format!("{near} {}", text_of(at * 7 % TOPICS))));
    let acl = json!({ "rules": [{ "glob": "hidden/**", "scopes": ["team:a"] }] });
    let mut worlds = Vec::new();
    for notes in [vault(), vault().into_iter().chain(hidden).collect()] {
        let world = world(&notes, &acl).await;
        mirror(&world).cluster_vectors(&info(), BOUND).await.unwrap().unwrap();
        worlds.push(world);
    }
    let (without, with) = (&worlds[0], &worlds[1]);
    assert_eq!(all_found(without).await, all_found(with).await);
    for query in queries() {
        let ask = |world| World::ok(world, "search", json!({ "query": query, "mode": "hybrid", "limit": 20 }));
        let (without, with) = (ask(without).await, ask(with).await);
        assert_eq!((&without["results"], without["mode_used"].as_str()), (&with["results"], Some("hybrid")));
    }
}

#[tokio::test]
async fn what_is_written_afterwards_is_found_at_once_and_what_is_deleted_is_not() {
    let world = world(&vault(), &json!({})).await;
    mirror(&world).cluster_vectors(&info(), BOUND).await.unwrap().unwrap();
    let query = queries().nth(5).unwrap();
    let best = found(&world, &query, "").await.remove(0).0;
    world.ok("write_note", json!({ "path": "New.md", "content": query })).await;
    assert_eq!(found(&world, &query, "").await[0].0, "New.md");
    world.ok("delete_note", json!({ "path": best })).await;
    assert!(found(&world, &query, "").await.iter().all(|(path, _)| *path != best));
    // Merges list what they carry no more, and the next sync lists it again.
    for at in 0..30 {
        world.ok("write_note", json!({ "path": format!("more/{at}.md"), "content": text_of(at) })).await;
    }
    let now = found(&world, &query, "").await;
    let before = mirror(&world).head().await.unwrap();
    let unlisted = |head: &atlas_mirror::Snapshot| {
        let vectors = head.segments().iter().filter_map(|entry| entry.vectors);
        vectors.filter(|of| of.listed.is_none()).map(|of| of.layout.rows).sum::<u32>()
    };
    assert_eq!(unlisted(&before), 31);
    assert!(!before.clusters_are_due(BOUND), "few of many are read as they are");
    assert!(before.clusters_are_due(1));
    mirror(&world).cluster_vectors(&info(), 1).await.unwrap().unwrap();
    assert_eq!(unlisted(&mirror(&world).head().await.unwrap()), 0);
    assert_eq!(found(&world, &query, "").await, now);
    // Another model drops them.
    models::add_model(mirror(&world), "other", &models::model(2), u64::MAX).await;
    let head = mirror(&world).head().await.unwrap();
    assert_eq!((head.manifest().clusters, unlisted(&head)), (None, NOTES as u32 + 30));
}

/// A mirror of the vault in `objects`.
fn opened(objects: Arc<dyn ObjectStore>) -> Mirror {
    with_options(objects, Options::default())
}

fn with_options(objects: Arc<dyn ObjectStore>, options: Options) -> Mirror {
    let store = Store::new(objects, "", StoreOptions::default()).unwrap();
    Mirror::open(store, "main".parse().unwrap(), Arc::new(PartCache::new(64 << 20)), options).unwrap()
}

/// The vault, its folder, and what a sync keeps of it.
struct Site {
    objects: Arc<InMemory>,
    folder: TempDir,
    state: TempDir,
    /// The key of its clusters.
    clusters: Path,
}

async fn published() -> Site {
    let (objects, folder, state) = (Arc::new(InMemory::new()), TempDir::new().unwrap(), TempDir::new().unwrap());
    let mirror = opened(objects.clone());
    for (path, text) in vault() {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    publish_code(folder.path(), &mirror, state.path(), None).await;
    models::add_model(&mirror, "topics", &model(), BOUND).await;
    let id = mirror.head().await.unwrap().manifest().clusters.unwrap().id;
    Site { objects, folder, state, clusters: mirror.keys().segment(id) }
}

#[tokio::test(start_paused = true)]
async fn a_cold_query_takes_few_waves_and_reads_no_codes_but_those_of_lists() {
    let Site { objects, clusters, .. } = published().await;
    for mode in ["hybrid", "semantic"] {
        let counting = CountingStore::new(objects.clone());
        let cold = World { atlas: atlas(opened(counting.clone()), &json!({})), caller: caller(&[]) };
        let query = json!({ "query": queries().nth(2).unwrap(), "mode": mode });
        let answer = cold.ok("search", query).await;
        assert_eq!((answer["results"].as_array().unwrap().len(), &answer["mode_used"]), (10, &json!(mode)), "{answer}");
        let requests = counting.take();
        assert!(requests.waves() <= 6, "{mode}: {requests}");
        assert!(requests.count() <= 40, "{mode}: {requests}");
        let of_lists: BTreeSet<u64> =
            requests.0.iter().filter(|request| request.key == clusters.as_ref()).map(|request| request.wave).collect();
        assert_eq!(of_lists.len(), 2, "the head and the centroids, and then the lists: {requests}");
    }
}

#[tokio::test]
async fn where_vectors_are_too_many_a_caller_who_does_not_see_everything_is_answered_by_words() {
    let Site { objects, .. } = published().await;
    let acl = json!({ "rules": [{ "glob": "3/**", "scopes": ["team:a"] }] });
    let options = Options { max_flat: 8 << 10, ..Options::default() };
    let world =
        |acl: &Value, options| World { atlas: atlas(with_options(objects.clone(), options), acl), caller: caller(&[]) };
    let (narrow, wide) = (world(&acl, options), world(&json!({}), options));
    assert!(!mirror(&narrow).head().await.unwrap().is_flat());
    let query = queries().nth(3).unwrap();
    let ask = |mode: &str| json!({ "query": query, "mode": mode });
    let by_words = narrow.ok("search", ask("hybrid")).await;
    assert_eq!(by_words["mode_used"], "text", "{by_words}");
    let notice = by_words["notice"].as_str().unwrap();
    assert!(notice.contains("does not see all") && notice.contains("by words only"), "{notice}");
    assert_eq!(by_words["results"], narrow.ok("search", ask("text")).await["results"]);
    let asked = [
        ("search", ask("semantic")),
        ("search_semantic", json!({ "query": query })),
        ("find_similar", json!({ "path": "4/0004.md" })),
        ("vault_graph_search", json!({ "query": query })),
    ];
    for (name, arguments) in asked {
        assert_eq!(narrow.refused(name, arguments.clone()).await, "embedding_provider_error", "{name}");
        wide.ok(name, arguments.clone()).await;
        world(&acl, Options::default()).ok(name, arguments).await;
    }
    narrow.ok("suggest_links", json!({ "path": "4/0004.md" })).await;
    assert_eq!(wide.ok("search", ask("hybrid")).await["mode_used"], "hybrid");
}

#[tokio::test]
async fn only_clusters_that_are_missing_or_damaged_are_done_without() {
    let Site { objects, clusters, .. } = published().await;
    let faults = FaultStore::new(objects.clone());
    let world = || World { atlas: atlas(opened(faults.clone()), &json!({})), caller: caller(&[]) };
    let query = queries().nth(3).unwrap();
    let with = found(&world(), &query, "").await;
    faults.always(Op::Range, clusters.as_ref(), Fault::Refused);
    for (name, arguments) in
        [("search", json!({ "query": query, "mode": "semantic" })), ("search_semantic", json!({ "query": query }))]
    {
        assert_eq!(world().refused(name, arguments).await, "internal", "{name}");
    }
    let by_words = world().ok("search", json!({ "query": query, "mode": "hybrid" })).await;
    assert_eq!(by_words["mode_used"], "text", "{by_words}");
    faults.heal();
    let similar = json!({ "path": "3/0003.md", "limit": 5 });
    let graph = json!({ "query": query, "final_top_k": 5 });
    let told = async |world: World| {
        (world.ok("find_similar", similar.clone()).await, world.ok("vault_graph_search", graph.clone()).await)
    };
    let expected = told(world()).await;
    let bytes = objects.get(&clusters).await.unwrap().bytes().await.unwrap().to_vec();
    let layout = opened(objects.clone()).head().await.unwrap().manifest().clusters.unwrap().layout;
    let head = layout.head().range.start as usize;
    // The head, all pages and lists, and lists alone.
    for damaged in
        [head..head + 1, layout.centroids().range.end as usize..bytes.len(), bytes.len() / 4 * 3..bytes.len()]
    {
        let mut bytes = bytes.clone();
        bytes[damaged].iter_mut().for_each(|byte| *byte ^= 1);
        objects.put(&clusters, bytes.into()).await.unwrap();
        assert_eq!(found(&world(), &query, "").await, with);
        assert_eq!(told(world()).await, expected);
    }
}

#[tokio::test]
async fn without_their_object_all_codes_are_read_and_a_repair_forgets_them() {
    let Site { objects, clusters, folder, state } = published().await;
    let world = |objects: Arc<InMemory>| World { atlas: atlas(opened(objects), &json!({})), caller: caller(&[]) };
    let query = queries().nth(3).unwrap();
    let with = found(&world(objects.clone()), &query, "").await;
    let retention = Retention { time: Duration::ZERO, generations: 1, ..Retention::default() };
    let later = Timestamp::now() + Duration::from_secs(1 << 30);
    opened(objects.clone()).collect(retention, later).await.unwrap();
    assert!(objects.head(&clusters).await.is_ok(), "they are kept as long as they are referred to");
    objects.delete(&clusters).await.unwrap();
    assert_eq!(found(&world(objects.clone()), &query, "").await, with);
    let mirror = opened(objects.clone());
    let flaws = mirror.inspect(&mirror.head().await.unwrap(), false).await.unwrap().flaws;
    assert_eq!(flaws.iter().map(|flaw| flaw.object.as_str()).collect::<Vec<_>>(), [clusters.as_ref()]);
    let options = SyncOptions::new(folder.path().to_owned(), state.path().to_owned(), "tests".to_owned(), minute(0));
    sync(&mirror, &SyncOptions { repair: true, ..options }, Arc::new(())).await.unwrap();
    let head = mirror.head().await.unwrap();
    assert!(head.manifest().clusters.is_none() && head.clusters_are_due(BOUND));
    mirror.cluster_vectors(&info(), BOUND).await.unwrap().unwrap();
    let head = mirror.head().await.unwrap();
    assert_eq!(mirror.inspect(&head, false).await.unwrap().flaws, []);
    // Lists have the codes of what is purged.
    let purged = mirror.keys().segment(head.manifest().clusters.unwrap().id);
    let note = Purge { path: VaultPath::parse("3/0003.md").unwrap(), keeps_newest: false };
    mirror.purge(&info(), &[note]).await.unwrap();
    assert!(mirror.head().await.unwrap().manifest().clusters.is_none() && objects.head(&purged).await.is_err());
}
