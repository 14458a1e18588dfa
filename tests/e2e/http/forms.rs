//! `search` for words finds notes that say them in other forms, by what links call them, and by their sections.

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::costs::{MAX_WAVES, notes_of};
use crate::support::deployment::{Client, Deployment, demo};
use crate::support::note_calls::create;

async fn explained(client: &Client, query: &str) -> Value {
    client.post("/search", json!({ "query": query, "explain": true })).await.ok()
}

async fn found(client: &Client, query: &str) -> Vec<String> {
    let page = explained(client, query).await;
    page["results"].as_array().unwrap().iter().map(|note| note["path"].as_str().unwrap().to_owned()).collect()
}

fn vault() -> VaultBuilder {
    VaultBuilder::new()
        .note("Moorings.md", "# Moorings\n\n## Summer\n\nBoats lie at the quay.\n\n## Winter\n\nBoats are hauled out and covered before the frost.\n")
        .note("Pilot.md", "Guides ships into port.\n")
        .note("Index.md", "Who brings them in: [[Pilot|the helmsman of harbours]]. Then [[Moorings]] and [[Pilot]].\n")
        .note("Log.md", "Nothing of note. Then [[Moorings]].\n")
        .note("dataview.md", "Lists from properties.\n")
        .note("es.md", "La marea sube. Las notas de la marea.\n")
}

#[tokio::test]
async fn a_word_finds_its_other_forms() {
    let client = Deployment::of_vault(&vault()).await.client();
    for (query, first) in [
        ("mooring", "Moorings.md"),
        ("hauling boat", "Moorings.md"),
        ("guiding a ship", "Pilot.md"),
        ("data view", "dataview.md"),
        ("datavuwe", "dataview.md"),
        ("la nota de las mareas", "es.md"),
    ] {
        assert_eq!(found(&client, query).await.first().map(String::as_str), Some(first), "{query}");
    }
    // A quoted or excluded word is taken as it stands.
    assert_eq!(found(&client, "\"mooring\"").await, Vec::<String>::new());
    assert_eq!(found(&client, "ship -guide").await, ["Pilot.md"]);
}

#[tokio::test]
async fn a_common_word_matters_little() {
    let vault = VaultBuilder::new()
        .note("Frost.md", "Frost.\n")
        .note("How.md", "How do I do it, and how do I do that? How, how, how: do I?\n");
    let client = Deployment::of_vault(&vault).await.client();
    assert_eq!(found(&client, "how do I do frost").await, ["Frost.md", "How.md"]);
    assert_eq!(found(&client, "how do I").await, ["How.md"]);
}

#[tokio::test]
async fn a_note_is_found_by_what_links_call_it() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = deployment.client();
    assert!(found(&client, "helmsman").await.contains(&"Pilot.md".to_owned()));
    // Also by a link that was just written, in another process.
    create(&deployment.client(), "new.md", "See [[Pilot|the steersman]].").await;
    assert!(found(&client, "steersman").await.contains(&"Pilot.md".to_owned()));
    let page = explained(&client, "moorings").await;
    assert_eq!(
        (page["results"][0]["why"]["linked_from"].as_u64(), page["results"][0]["path"].as_str()),
        (Some(2), Some("Moorings.md"))
    );
}

#[tokio::test]
async fn a_result_names_its_best_section_and_says_why() {
    let client = Deployment::of_vault(&vault()).await.client();
    let page = explained(&client, "boats covered").await;
    let first = &page["results"][0];
    assert_eq!((first["path"].as_str(), first["anchor"].as_str()), (Some("Moorings.md"), Some("#winter")));
    assert!(first["snippet"].as_str().unwrap().contains("covered before the frost"), "{first}");
    let why = &first["why"];
    assert_eq!(why["has"], json!(["boats", "covered"]));
    let parts: f64 = ["words", "passage", "name", "links"].map(|part| why[part].as_f64().unwrap()).iter().sum();
    assert!(
        (parts - first["score"].as_f64().unwrap()).abs() < 0.001 && why["passage"].as_f64().unwrap() > 0.0,
        "{first}"
    );
    let plain = client.post("/search", json!({ "query": "boats covered" })).await.ok();
    assert_eq!((plain["results"][0].get("why"), &plain["results"][0]["score"]), (None, &first["score"]));
}

#[tokio::test]
async fn any_vault_can_be_asked() {
    let code = VaultBuilder::new()
        .file("src/login.rs", b"fn login_user(name: &str) -> Session { open(name) }\n")
        .file("src/logout.rs", b"fn logout() {}\n");
    let ten =
        (0..10).fold(VaultBuilder::new(), |vault, n| vault.note(&format!("{n}.md"), &format!("note {n} of ten\n")));
    let han = VaultBuilder::new()
        .note("別名.md", "# 別名\n\nノートに複数の名前を付ける。\n")
        .note("検索.md", "ノートを検索する。\n");
    for (vault, query, first) in [
        (VaultBuilder::new().note("empty.md", ""), "anything at all", None),
        (code, "login user", Some("src/login.rs")),
        (ten, "note 7", Some("7.md")),
        (han, "名前を付けたい", Some("別名.md")),
    ] {
        let client = Deployment::of_vault(&vault).await.client();
        assert_eq!(found(&client, query).await.first().map(String::as_str), first, "{query}");
        assert_eq!(explained(&client, query).await, explained(&client, query).await);
    }
}

/// The vault judges: who follows a link by its text expects the note that it leads to.
#[tokio::test]
async fn the_texts_of_links_find_their_notes() {
    let root = demo();
    let notes = notes_of(&root);
    let client = Deployment::of(&root).await.client();
    let (mut asked, mut ranks) = (0, Vec::new());
    for note in &notes {
        let text = std::fs::read_to_string(note).unwrap();
        for link in atlas_vault::parse(&text).links {
            let display = link.display.filter(|_| !link.target.is_empty()).unwrap_or_default();
            let named = |path: &&std::path::PathBuf| {
                path.file_stem().is_some_and(|stem| link.target.ends_with(stem.to_str().unwrap()))
            };
            let Some(target) = notes.iter().find(named).filter(|target| *target != note && display.len() > 2) else {
                continue;
            };
            let target = target.strip_prefix(&root).unwrap().to_str().unwrap();
            let query = display.replace(['"', '*', ':', '-'], " ");
            asked += 1;
            ranks.extend(found(&client, &query).await.iter().position(|path| path == target));
        }
    }
    assert!(asked >= 20, "{asked} links have a text");
    let share = |most: usize| ranks.iter().filter(|rank| **rank < most).count() as f64 / f64::from(asked);
    assert!(share(10) >= 0.95 && share(3) >= 0.75, "of {asked}: {ranks:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cold_search_takes_few_waves() {
    let mut vault = VaultBuilder::new();
    for n in 0..2000 {
        let words: String = (0..60).map(|w| format!("w{} ", (n * 7919 + w * 104_729) % 5000)).collect();
        let next = (n * 31) % 2000;
        vault = vault.note(
            &format!("n/{n:04}.md"),
            &format!("# Note {n}\n\n{words}\n## More\n[[{next:04}|harbour{}]]\n", n % 11),
        );
    }
    let deployment = Deployment::of_vault(&vault).await;
    for query in ["w4711 harbours", "note 77", "w47711x", "harbuor3 wards"] {
        let client = deployment.client();
        found(&client, query).await;
        let requests = client.requests.take();
        assert!(
            requests.waves() <= MAX_WAVES + 1 && requests.count() <= 40,
            "{query} took {} waves:\n{requests}",
            requests.waves()
        );
        found(&client, query).await;
        assert_eq!(client.requests.take().count(), 1, "{query}");
    }
}
