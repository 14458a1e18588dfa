//! Questions about the graph of links as a whole.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::world::{World, caller};

fn paths(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap()).collect()
}

/// Two groups of notes; `bridge.md` connects them. `secret/x.md` would be a shorter path.
const NOTES: [(&str, &str); 11] = [
    ("a/1.md", "[[2]] [[a/3]] [[bridge]]"),
    ("a/2.md", "[[1]] [[a/3]]"),
    ("a/3.md", "[[2]] ![[pic.png]]"),
    ("bridge.md", "[[b/1]]"),
    ("b/1.md", "[[b/2]] [[b/3]]"),
    ("b/2.md", "[[b/3]]"),
    ("b/3.md", "[[b/1]] [[nowhere]]"),
    ("alone.md", "Tide tables name [[#Own]] high water and HIGH WATER again.\n`Tide` Tides\n"),
    ("Tide.md", "---\naliases: [High water, b]\n---\n"),
    ("secret/x.md", "[[a/1]] [[b/3]] [[Tide]]"),
    ("board.canvas", r#"{"nodes":[{"id":"n","type":"file","file":"Tide.md","x":0,"y":0,"width":1,"height":1}]}"#),
];

fn notes() -> BTreeMap<String, String> {
    let unlinked = NOTES
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.replace("[[2]]", "[[a/2]]").replace("[[1]]", "[[a/1]]")));
    unlinked.chain([("pic.png".to_owned(), "x".to_owned())]).collect()
}

async fn world(scopes: &[&str]) -> World {
    let acl = json!({ "rules": [{ "glob": "secret/**", "scopes": ["read:secret"] }] });
    let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    World::of(&[notes()], &acl, caller(&scopes)).await
}

#[tokio::test]
async fn a_way_between_two_notes_is_told_step_by_step() {
    let world = world(&[]).await;
    let way = world.ok("graph_path_between", json!({ "from": "a/2.md", "to": "b/2.md" })).await;
    let expected = json!([
        { "from": "a/2.md", "to": "a/1.md", "via": ["link", "backlink"] },
        { "from": "a/1.md", "to": "bridge.md", "via": ["link"] },
        { "from": "bridge.md", "to": "b/1.md", "via": ["link"] },
        { "from": "b/1.md", "to": "b/2.md", "via": ["link"] },
    ]);
    assert_eq!((&way["hops"], &way["length"], &way["connected"]), (&expected, &json!(4), &json!(true)));
    let back = json!({ "from": "b/2.md", "to": "a/2.md", "directed": true });
    let back = world.ok("graph_path_between", back).await;
    assert_eq!((&back["connected"], &back["length"], &back["hops"]), (&json!(false), &json!(null), &json!([])));
    let alone = world.ok("graph_path_between", json!({ "from": "alone.md", "to": "board.canvas" })).await;
    assert_eq!((&alone["from_in_graph"], &alone["to_in_graph"]), (&json!(false), &json!(true)));
    let to_itself = world.ok("graph_path_between", json!({ "from": "a/1.md", "to": "a/1.md" })).await;
    assert_eq!((&to_itself["connected"], &to_itself["length"]), (&json!(true), &json!(0)));
    for (from, reason) in [("pic.png", "invalid_input"), ("absent.md", "note_not_found"), ("secret/x.md", "acl_denied")]
    {
        let arguments = json!({ "from": from, "to": "a/1.md" });
        assert_eq!(world.refused("graph_path_between", arguments).await, reason, "{from}");
    }
}

#[tokio::test]
async fn what_a_caller_may_not_read_connects_nothing() {
    let length = async |world: &World| {
        let way = world.ok("graph_path_between", json!({ "from": "a/1.md", "to": "b/3.md" })).await;
        way["length"].clone()
    };
    let (all, some) = (world(&["read:secret"]).await, world(&[]).await);
    // In turn over the same vault, so that a wrong cache would show.
    for _ in 0..2 {
        assert_eq!((length(&all).await, length(&some).await), (json!(2), json!(3)));
    }
    let both = World { atlas: all.atlas.clone(), caller: some.caller.clone() };
    assert_eq!((length(&all).await, length(&both).await), (json!(2), json!(3)));
    let strength = json!({ "from": "a/1.md", "to": "Tide.md" });
    assert_eq!(all.ok("get_link_strength", strength.clone()).await["co_citation"], 1);
    let hidden = both.ok("get_link_strength", strength).await;
    assert_eq!(
        (&hidden["co_citation"], &hidden["distance"], &hidden["strength"]),
        (&json!(0), &json!(null), &json!(0.0))
    );
    for (name, arguments) in [
        ("graph_centrality", json!({ "limit": 200 })),
        ("graph_centrality", json!({ "limit": 200, "metric": "betweenness" })),
        ("graph_communities", json!({ "min_size": 1 })),
        ("find_link_cycles", json!({})),
        ("suggest_links", json!({ "path": "Tide.md" })),
        ("suggest_links", json!({ "path": "a/1.md" })),
    ] {
        let answer = both.ok(name, arguments.clone()).await.to_string();
        assert!(!answer.contains("secret"), "{name} {arguments}: {answer}");
    }
}

#[tokio::test]
async fn central_notes_communities_and_cycles_are_found() {
    let world = world(&[]).await;
    let ranks = world.ok("graph_centrality", json!({ "limit": 3, "min_incoming_links": 2 })).await;
    assert_eq!((&ranks["nodes"], &ranks["edges"], &ranks["exact"]), (&json!(10), &json!(12), &json!(true)));
    assert!(ranks["results"].as_array().unwrap().iter().all(|note| note["incoming"].as_u64().unwrap() >= 2), "{ranks}");
    let between = world.ok("graph_centrality", json!({ "metric": "betweenness", "limit": 3 })).await;
    assert_eq!(paths(&between["results"]), ["bridge.md", "a/1.md", "b/1.md"]);
    let groups = world.ok("graph_communities", json!({ "max_paths": 2 })).await;
    let sizes: Vec<u64> =
        groups["communities"].as_array().unwrap().iter().map(|group| group["size"].as_u64().unwrap()).collect();
    assert_eq!((sizes, &groups["community_count"], &groups["meaningful"]), (vec![4, 3, 2], &json!(4), &json!(true)));
    assert_eq!(groups["communities"][0]["paths"].as_array().unwrap().len(), 2);
    let cycles = world.ok("find_link_cycles", json!({})).await;
    let expected = json!([
        ["a/1.md", "a/2.md", "a/1.md"],
        ["a/2.md", "a/3.md", "a/2.md"],
        ["b/1.md", "b/3.md", "b/1.md"],
        ["b/1.md", "b/2.md", "b/3.md", "b/1.md"],
    ]);
    assert_eq!((&cycles["cycles"], &cycles["note_count"], &cycles["total"]), (&expected, &json!(6), &json!(4)));
    assert_eq!(world.ok("find_link_cycles", json!({ "limit": 1 })).await["total"], 1);
}

#[tokio::test]
async fn the_score_says_what_it_is_made_of() {
    let world = world(&[]).await;
    let score = world.ok("vault_health_score", json!({ "hub_threshold": 2 })).await;
    let expected = json!({
        "score": 78,
        "total_notes": 9,
        "total_links": 14,
        "metrics": { "orphans": 1, "unresolved_links": 1, "hubs": 4, "cycles": 4 },
        "breakdown": { "orphan_penalty": 3, "unresolved_penalty": 2, "cycle_penalty": 8, "hub_penalty": 9 },
    });
    assert_eq!(score, expected);
    let empty = World::open(&[("pic.png", "x")]).await;
    assert_eq!(empty.ok("vault_health_score", json!({})).await["score"], 100);
}

#[tokio::test]
async fn one_note_may_have_very_many_links() {
    let links: String = (0..40_000).map(|n| format!("[[n{n}]] [[n{}]]\n", n % 7)).collect();
    let world = World::open(&[("many.md", &links), ("n1.md", "[[many]]")]).await;
    let score = world.ok("vault_health_score", json!({})).await;
    let unresolved = 80_000 - 1 - 40_000_u64.div_ceil(7);
    assert_eq!((&score["total_links"], &score["metrics"]["unresolved_links"]), (&json!(80_001), &json!(unresolved)));
    let found = world.ok("find_unresolved_links", json!({ "limit": 1000 })).await;
    assert_eq!(found["total_count"], 39_999);
    let line = |target: &str| {
        let items = found["items"].as_array().unwrap();
        items.iter().find(|item| item["target"] == target).map(|item| item["sources"][0]["line"].clone())
    };
    assert_eq!((line("n0"), line("n100")), (Some(json!(1)), Some(json!(101))));
}

#[tokio::test]
async fn links_are_suggested_where_a_name_or_alias_stands_and_near_in_the_graph() {
    let world = world(&["read:secret"]).await;
    let alone = world.ok("suggest_links", json!({ "path": "alone.md" })).await;
    let expected = json!([{
        "path": "Tide.md", "score": 10, "co_citation": 0, "two_hop": 0,
        "mentions": [{
            "line": 1, "text": "Tide tables name [[#Own]] high water and HIGH WATER again.", "name": "Tide", "link": "[[Tide]]",
        }],
    }]);
    assert_eq!(alone["suggestions"], expected);
    let near = world.ok("suggest_links", json!({ "path": "a/1.md", "limit": 1 })).await;
    let expected = json!([{ "path": "Tide.md", "score": 2, "co_citation": 1, "two_hop": 0 }]);
    assert_eq!((&near["suggestions"], &near["total"]), (&expected, &json!(3)));
    let strength = world.ok("get_link_strength", json!({ "from": "a/1.md", "to": "a/2.md" })).await;
    let expected = json!({
        "from": "a/1.md", "to": "a/2.md", "direct": true, "co_citation": 0, "shared_out_neighbors": 1, "distance": 1, "strength": 0.84,
    });
    assert_eq!(strength, expected);
}

#[tokio::test]
async fn a_suggested_link_is_one_that_can_be_written() {
    let notes = [
        ("n.md", "# About\nThe harbour office opens. Log of today.\nA day at the Harbour Office"),
        ("places/Harbour office.md", ""),
        ("x/Log.md", ""),
        ("y/Log.md", ""),
        ("n-m.md", "[[n]]"),
    ];
    let world = World::open(&notes).await;
    let found = world.ok("suggest_links", json!({ "path": "n.md" })).await;
    assert_eq!(paths(&found["suggestions"]), ["places/Harbour office.md", "x/Log.md"]);
    let links: Vec<&Value> =
        found["suggestions"][0]["mentions"].as_array().unwrap().iter().map(|line| &line["link"]).collect();
    assert_eq!(links, ["[[Harbour office|harbour office]]", "[[Harbour office|Harbour Office]]"]);
    assert_eq!(found["suggestions"][1]["mentions"][0]["link"], "[[x/Log|Log]]");
}
