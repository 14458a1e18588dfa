//! Search in a vault with notes that were deleted, are closed to everybody or hidden from the caller: as if there had never been any.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::acl::{any_note, questions};
use crate::support::models;
use crate::support::random;
use crate::support::world::{World, caller};

type Notes = BTreeMap<String, String>;

/// What looks for notes by their words or their meaning.
const SEARCHING: [&str; 8] = [
    "search",
    "search_text",
    "search_vault",
    "search_semantic",
    "vault_graph_search",
    "vault_search",
    "connector_search",
    "atlas_pack",
];

/// Both vaults give the same answers about what the second one has.
async fn assert_same(one: &World, other: &World, paths: impl Iterator<Item = &String>, searches: &[Value]) {
    let mut asked: Vec<_> = questions().into_iter().filter(|(name, ..)| SEARCHING.contains(name)).collect();
    asked.extend(searches.iter().map(|query| ("search", query.clone(), Some("results"))));
    for path in paths {
        asked.push(("find_similar", json!({ "path": path }), None));
        asked.push(("suggest_links", json!({ "path": path }), None));
    }
    for (name, arguments, pages) in asked {
        let told = async |world: &World| match pages {
            Some(field) => Value::from(world.pages(name, arguments.clone(), field).await),
            None => world.told(name, arguments.clone()).await,
        };
        assert_eq!(told(one).await, told(other).await, "{name} {arguments}");
    }
}

/// Deletes notes, every second one for good; the others are in the trash then.
async fn delete<'a>(world: &World, paths: impl Iterator<Item = &'a String>) {
    for (at, path) in paths.enumerate() {
        world.ok("delete_note", json!({ "path": path, "hard": at % 2 == 0 })).await;
    }
}

/// How many documents of a vault's segments are deleted.
async fn tombstones(world: &World) -> usize {
    let head = world.atlas.vault(None).unwrap().mirror.head().await.unwrap();
    let mut count = 0;
    for segment in 0..head.segments().len() {
        count += head.deleted(segment).await.unwrap().len();
    }
    count
}

#[test]
fn deleted_notes_affect_no_result_count_or_score() {
    let notes = || prop::collection::btree_map("[0-9]{3}", any_note(), 1..12);
    let strategy = (
        prop::collection::vec(notes(), 1..3),
        prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        any::<bool>(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dead = std::cell::Cell::new(0);
    let result = TestRunner::new(random::cases(12)).run(&strategy, |(steps, chosen, has_model)| {
        let mut steps: Vec<Notes> = steps.into_iter().map(|step| step.into_values().collect()).collect();
        let all: Notes = steps.iter().flatten().map(|(path, text)| (path.clone(), text.clone())).collect();
        let paths: Vec<&String> = all.keys().collect();
        let chosen: BTreeSet<String> = chosen.iter().map(|index| (*index.get(&paths)).clone()).collect();
        let first = ("open.md".to_owned(), "the first".to_owned());
        steps.first_mut().unwrap().extend([first.clone()]);
        let left: Notes = all.clone().into_iter().filter(|(path, _)| !chosen.contains(path)).chain([first]).collect();
        runtime.block_on(async {
            let worlds = [
                World::of(&steps, &json!({}), caller(&[])).await,
                World::of(std::slice::from_ref(&left), &json!({}), caller(&[])).await,
            ];
            if has_model {
                for world in &worlds {
                    models::add(&world.atlas.vault(None).unwrap().mirror, 3).await;
                }
            }
            let [had, never] = worlds;
            delete(&had, chosen.iter()).await;
            dead.set(dead.get() + tombstones(&had).await);
            assert_same(&had, &never, left.keys(), &[]).await;
        });
        Ok(())
    });
    result.unwrap();
    assert!(dead.get() > 0, "all segments with deleted notes were merged");
}

#[tokio::test]
async fn a_word_of_deleted_notes_only_is_misspelt() {
    let notes =
        [("Tide.md", "The harbour."), ("Slip.md", "The harbuor."), ("Slips.md", "Harbuors, moors and moorings.")];
    let world = World::open(&notes).await;
    let query = json!({ "query": "harbuor moor", "mode": "text" });
    let before = world.ok("search", query.clone()).await;
    assert_eq!(before.get("corrections"), None, "{before}");
    delete(&world, ["Slip.md", "Slips.md"].map(str::to_owned).iter()).await;
    assert_eq!(tombstones(&world).await, 2);
    let after = world.ok("search", query).await;
    assert_eq!(after["corrections"], json!([{ "word": "harbuor", "instead": ["harbour"] }]), "{after}");
    assert_eq!(after["results"][0]["path"], "Tide.md", "{after}");
}

#[tokio::test]
async fn corrections_are_in_the_order_of_the_query() {
    let notes = [("Tide.md", "The harbour, and a lighthouse."), ("Slip.md", "The harbuor.")];
    let world = World::open(&notes).await;
    delete(&world, std::iter::once(&"Slip.md".to_owned())).await;
    assert_eq!(tombstones(&world).await, 1);
    let found = world.ok("search", json!({ "query": "harbuor lightohuse", "mode": "text" })).await;
    let words: Vec<&str> =
        found["corrections"].as_array().unwrap().iter().map(|one| one["word"].as_str().unwrap()).collect();
    assert_eq!(words, ["harbuor", "lightohuse"], "{found}");
}

#[tokio::test]
async fn however_many_words_of_unseen_notes_displace_no_others() {
    let letters = || ('a'..='z').flat_map(|one| ('a'..='z').map(move |other| (one, other)));
    // Before the others in order: words of one beginning, tags, and words with two edits.
    let many = || (0..9).flat_map(|at| letters().map(move |pair| (at, pair)));
    let mut words = String::new();
    for (at, (one, other)) in many() {
        words += &format!("moora{at}{one}{other} #port/a{at}{one}{other} ");
        let mut near: Vec<char> = "zephyrwinds".chars().collect();
        (near[1 + at], near[2 + at]) = (one, other);
        words.extend(near.into_iter().chain([' ']));
    }
    let shown = || {
        [("Quay.md", "moorings, mooring, moor zephzrwindz #port/quay"), ("Log.md", "the log of the harbour")]
            .into_iter()
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
    };
    let unseen = ("hidden/Words.md".to_owned(), words);
    let whole = World::of(&[shown().collect()], &json!({}), caller(&[])).await;
    let with: Notes = shown().chain([unseen.clone()]).collect();
    let acl = json!({ "rules": [{ "glob": "hidden/**", "scopes": ["team:a"] }] });
    let hiding = World::of(std::slice::from_ref(&with), &acl, caller(&[])).await;
    let deleting = World::of(&[with], &json!({}), caller(&[])).await;
    delete(&deleting, std::iter::once(&unseen.0)).await;
    let searches = ["moor*", "moored", "tag:port", "zephyrwinds", "log -tag:port"]
        .map(|query| json!({ "query": query, "mode": "text" }));
    for query in &searches[..4] {
        let found = whole.ok("search", query.clone()).await;
        assert_eq!(found["results"][0]["path"], "Quay.md", "{found}");
    }
    for world in [&hiding, &deleting] {
        assert_same(world, &whole, std::iter::empty(), &searches).await;
    }
}
