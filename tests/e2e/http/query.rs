//! `POST /query`, as the Atlas Local Bridge specification has it.

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment};

async fn ask(client: &Client, question: &str) -> (String, Value) {
    let answer = client.post("/query", json!({ "question": question })).await.ok();
    (answer["answer"].as_str().unwrap().to_owned(), answer["citations"].clone())
}

#[tokio::test]
async fn components_are_named_from_the_headings_and_the_section_is_quoted() {
    let client = Deployment::of_demo().await.client();
    for question in ["What are the components?", "Who has which RESPONSIBILITIES?"] {
        let (answer, citations) = ask(&client, question).await;
        assert!(
            answer.ends_with("under 'Components': gauge-feed; tide-engine; berth-planner; ledger; board; notify."),
            "{answer}"
        );
        assert_eq!(citations[0]["path"], "vault/architecture/ARCHITECTURE.md");
        assert_eq!(citations[0]["anchor"], "#components");
        let quote = citations[0]["quote"].as_str().unwrap();
        assert!(
            quote.starts_with("## Components\n") && !quote.contains("## Berth windows") && quote.len() <= 1300,
            "{quote}"
        );
    }
}

#[tokio::test]
async fn a_definition_is_found_by_heading_before_text_quoted_or_bare() {
    let client = Deployment::of_demo().await.client();
    for question in [
        "Where is \"berth windows\" defined?",
        "where are berth windows defined?",
        "Where is the Berth Windows?",
        "Where's Berth Windows?",
    ] {
        let (answer, citations) = ask(&client, question).await;
        assert_eq!(
            answer.to_lowercase(),
            "found 'berth windows' in vault/architecture/architecture.md under 'berth windows'."
        );
        assert_eq!(citations[0]["anchor"], "#berth-windows");
        assert!(citations[0]["quote"].as_str().unwrap().contains("## Berth windows"));
    }
    let (answer, citations) = ask(&client, "Where is \"One clock\" defined?").await;
    assert!(answer.contains("DECISIONS.md under 'One clock'"), "{answer}");
    assert_eq!(citations[0]["anchor"], "#one-clock");
}

#[tokio::test]
async fn text_is_searched_when_no_heading_has_the_term() {
    let vault = VaultBuilder::new()
        .note("vault/architecture/ARCHITECTURE.md", "# Architecture\n\nThe *lease table* is here.\n")
        .note("vault/architecture/DECISIONS.md", "# Decisions\n\n## Lease table\n\nx\n");
    let client = Deployment::of_vault(&vault).await.client();
    assert!(ask(&client, "where is \"lease table\" defined").await.0.contains("DECISIONS.md under 'Lease table'"));
    let (answer, citations) = ask(&client, "where is \"is here\"").await;
    assert_eq!(answer, "Found 'is here' in vault/architecture/ARCHITECTURE.md under 'Architecture'.");
    assert_eq!(citations[0]["quote"], "\nThe *lease table* is here.");
}

#[tokio::test]
async fn when_nothing_is_found_the_closest_headings_are_named() {
    let client = Deployment::of_demo().await.client();
    let (answer, citations) = ask(&client, "Where is \"Berth windwos\" defined?").await;
    assert!(
        answer.starts_with(
            "Not found: 'Berth windwos'. Closest headings: 'Berth windows' (vault/architecture/ARCHITECTURE.md)"
        ),
        "{answer}"
    );
    assert_eq!(citations[0]["anchor"], "#berth-windows");
    let vault = VaultBuilder::new().note("vault/architecture/ARCHITECTURE.md", "# Architecture\n\n## Parts\n");
    let (answer, citations) = ask(&Deployment::of_vault(&vault).await.client(), "components?").await;
    assert!(
        answer.starts_with(
            "Not found: Components section missing in vault/architecture/ARCHITECTURE.md. Closest headings: "
        ),
        "{answer}"
    );
    assert_eq!(citations.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn anything_else_is_not_guessed_at() {
    let client = Deployment::of_demo().await.client();
    let (answer, citations) = ask(&client, "Should we rewrite it?").await;
    assert!(answer.starts_with("Unsupported query intent."), "{answer}");
    assert_eq!(citations, json!([]));
}

#[tokio::test]
async fn without_architecture_notes_it_names_the_paths_that_it_looked_for() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("vault/Home.md", "")).await;
    let (_, reason, message) = deployment.client().post("/query", json!({ "question": "components" })).await.error(404);
    assert_eq!(reason, "note_not_found");
    assert!(
        message.contains("vault/architecture/ARCHITECTURE.md") && message.contains("vault/architecture/DECISIONS.md"),
        "{message}"
    );
    let vault = VaultBuilder::new().note("architecture/DECISIONS.md", "# Decisions\n\n## Tea\n");
    assert!(
        ask(&Deployment::of_vault(&vault).await.client(), "where is tea")
            .await
            .0
            .contains("architecture/DECISIONS.md under 'Tea'")
    );
}

#[tokio::test]
async fn other_questions_are_answered_with_passages_where_that_is_allowed() {
    let vault = VaultBuilder::new()
        .note("log/Storm.md", "# Storms\n\n## Moorings\n\nDouble the mooring lines when a storm comes.\n")
        .note("Bread.md", "# Bread\n\nThe oven is hot.\n");
    let deployment = Deployment::of_vault(&vault).await;
    let config = json!({ "query": { "passages": true } }).to_string();
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
    let (answer, citations) = ask(&client, "What do we do about mooring lines in a storm?").await;
    assert!(answer.contains("log/Storm.md"), "{answer}");
    assert_eq!((&citations[0]["path"], &citations[0]["anchor"]), (&json!("log/Storm.md"), &json!("#moorings")));
    assert!(citations[0]["quote"].as_str().unwrap().contains("Double the mooring lines"), "{citations}");
    for nothing in ["???", "xyzzy plugh"] {
        let (answer, citations) = ask(&client, nothing).await;
        assert!(answer.starts_with("Not found") && citations == json!([]), "{answer}");
    }
    // The specification's questions are answered from the specification's notes alone.
    let components = json!({ "question": "What are the components?" });
    assert_eq!(client.post("/query", components.clone()).await.error(404).1, "note_not_found");
    let refusing = Deployment::of_demo().await.client();
    assert!(ask(&refusing, "What do we do in a storm?").await.0.starts_with("Unsupported query intent"));
}
