//! The tools that connectors of chat applications call: search, then fetch by id.

use serde_json::{Value, json};

use crate::support::world::World;

#[tokio::test]
async fn what_is_found_is_fetched_by_its_id() {
    let long = format!("# Long\n{}", "harbour ".repeat(40_000));
    let world = World::open(&[
        ("log/🌊 storm.md", "---\ntitle: The great storm\ntags: [log]\n---\nThe tide came.\n"),
        ("Plain.md", "no heading, but a tide"),
        ("long.md", &long),
    ])
    .await;
    let found = world.ok("connector_search", json!({ "query": "tide" })).await;
    let expected = [
        json!({ "id": "Plain.md", "title": "Plain", "url": "atlas://main/Plain.md" }),
        json!({ "id": "log/🌊 storm.md", "title": "The great storm", "url": "atlas://main/log/%F0%9F%8C%8A%20storm.md" }),
    ];
    let mut results = found["results"].as_array().unwrap().clone();
    results.sort_by_key(|one| one["id"].as_str().unwrap().to_owned());
    assert_eq!((results, found.as_object().unwrap().len()), (expected.to_vec(), 1));
    for hit in expected {
        let note = world.ok("connector_fetch", json!({ "id": hit["id"] })).await;
        assert_eq!((&note["id"], &note["title"], &note["url"]), (&hit["id"], &hit["title"], &hit["url"]));
        assert!(note["text"].as_str().unwrap().contains("tide") && note["metadata"]["truncated"] == false, "{note}");
    }
    let storm = world.ok("connector_fetch", json!({ "id": "log/🌊 storm.md" })).await;
    assert_eq!(storm["metadata"]["frontmatter"]["tags"], json!(["log"]));
    let long = world.ok("connector_fetch", json!({ "id": "long.md" })).await;
    assert_eq!((&long["title"], &long["metadata"]["truncated"]), (&Value::from("Long"), &Value::from(true)));
    assert_eq!(world.refused("connector_fetch", json!({ "id": "absent.md" })).await, "note_not_found");
    assert_eq!(world.ok("connector_search", json!({ "query": "nowhere" })).await, json!({ "results": [] }));
}
