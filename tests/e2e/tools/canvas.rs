//! obsidian-tc's tools for canvases, and canvases among the links of a vault.

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tools::{Tools, guarded};

const BOARD: &str = r##"{
	"nodes":[
		{"id":"tides","type":"file","file":"Notes/Tides.md","x":0,"y":0,"width":400,"height":400,"color":"4"},
		{"id":"text","type":"text","text":"Next to [[Berths|the berths]]","x":500,"y":0,"width":250,"height":60,"own":{"z":[1, 2]}},
		{"id":"site","type":"link","url":"https://example.com/","x":0,"y":500,"width":400,"height":300}
	],
	"edges":[
		{"id":"e","fromNode":"tides","toNode":"text"}
	]
}"##;

fn vault() -> VaultBuilder {
    VaultBuilder::new()
        .note("Notes/Tides.md", "# Tides\n")
        .note("Berths.md", "# Berths\n")
        .file("boards/sea.canvas", BOARD.as_bytes())
        .file("boards/odd.canvas", b"{\"nodes\": 7}")
        .file("views/all.base", b"filters: '[[Berths]]'\n")
}

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|item| item["node_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_canvas_is_read_changed_and_queried() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let board = json!({ "path": "boards/sea.canvas" });
    let read = tools.good("read_canvas", board.clone()).await;
    assert_eq!(read["nodes"], serde_json::from_str::<Value>(BOARD).unwrap()["nodes"]);
    let change = json!({
        "path": "boards/sea.canvas",
        "update_nodes": { "tides": { "color": null } },
        "add_nodes": [{ "type": "group", "label": "Sea", "x": 0, "y": 0, "width": 9, "height": 9 }],
        "add_edges": [{ "id": "f", "fromNode": "site", "toNode": "text", "toSide": "left" }],
    });
    let changed = tools.good("update_canvas", change).await;
    let stale = json!({ "path": "boards/sea.canvas", "remove_node_ids": ["tides"], "if_match": read["content_hash"] });
    tools.bad("update_canvas", stale, "note_changed").await;
    let applied = json!({
        "nodes_added": 1, "nodes_removed": 0, "nodes_updated": 1,
        "edges_added": 1, "edges_removed": 0, "edges_updated": 0,
    });
    assert_eq!(changed["applied"], applied);
    let added = changed["added_node_ids"][0].as_str().unwrap();
    let text = tools.text("boards/sea.canvas").await;
    let expected = BOARD
        .replace(",\"color\":\"4\"", "")
        .replace("\"height\":300}", &format!("\"height\":300}},\n\t\t{{\"id\":\"{added}\",\"type\":\"group\",\"label\":\"Sea\",\"x\":0,\"y\":0,\"width\":9,\"height\":9}}"))
        .replace("\"toNode\":\"text\"}", "\"toNode\":\"text\"},\n\t\t{\"id\":\"f\",\"fromNode\":\"site\",\"toNode\":\"text\",\"toSide\":\"left\"}");
    assert_eq!(text, expected);

    for (filter, expected) in [
        (json!({}), vec!["tides", "text", "site", added]),
        (json!({ "type": "file" }), vec!["tides"]),
        (json!({ "file_path_contains": "NOTES/" }), vec!["tides"]),
        (json!({ "text_contains": "berths" }), vec!["text"]),
        (json!({ "text_contains": "sea", "type": "group" }), vec![added]),
        (json!({ "has_edge_to": "text" }), vec!["tides", "site"]),
        (json!({ "color": "4" }), vec![]),
    ] {
        let found = tools.good("query_canvas", json!({ "filter": filter })).await;
        assert_eq!(ids(&found), expected, "{filter}");
        assert_eq!(found["unreadable"], json!(["boards/odd.canvas"]));
    }
    let first = tools.good("query_canvas", json!({ "filter": {}, "root": "boards", "limit": 3 })).await;
    let rest = json!({ "filter": {}, "root": "boards", "limit": 3, "cursor": first["cursor"] });
    assert_eq!([ids(&first), ids(&tools.good("query_canvas", rest).await)].concat(), ["tides", "text", "site", added]);
    assert_eq!(first["total_count"], 4);

    let new = json!({ "path": "boards/new.canvas", "nodes": [{ "type": "text", "text": "a", "x": 0, "y": 0, "width": 9, "height": 9 }] });
    let created = tools.good("create_canvas", new.clone()).await;
    assert_eq!((&created["node_count"], &created["edge_count"]), (&json!(1), &json!(0)));
    let read = tools.good("read_canvas", json!({ "path": "boards/new.canvas" })).await;
    assert_eq!((&read["nodes"][0]["id"], &read["content_hash"]), (&created["node_ids"][0], &created["content_hash"]));
    tools.bad("create_canvas", new, "note_exists").await;
}

#[tokio::test]
async fn what_is_no_canvas_or_not_allowed_is_refused_with_its_place() {
    let large = format!("{{\"nodes\":[],\"x\":\"{}\"}}", "x".repeat(1 << 20));
    let deployment = Deployment::of_vault(&vault().file("large.canvas", large.as_bytes())).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let odd = tools.bad("read_canvas", json!({ "path": "boards/odd.canvas" }), "invalid_input").await;
    let message = "boards/odd.canvas: the file is not a canvas: line 1, column 11: invalid type: integer `7`, expected an array; a person can repair it in Obsidian";
    assert_eq!(odd["message"], message);
    for (tool, arguments, code) in [
        ("read_canvas", json!({ "path": "none.canvas" }), "note_not_found"),
        ("read_canvas", json!({ "path": "large.canvas" }), "note_too_large"),
        ("read_canvas", json!({ "path": ".obsidian/x.canvas" }), "path_invalid"),
        ("update_canvas", json!({ "path": "large.canvas", "add_nodes": [] }), "note_too_large"),
        ("update_canvas", json!({ "path": "none.canvas" }), "note_not_found"),
        ("update_canvas", json!({ "path": "boards/sea.canvas", "remove_node_ids": ["z"] }), "invalid_input"),
        ("update_canvas", json!({ "path": "boards/sea.canvas", "add_nodes": [{ "type": "text" }] }), "invalid_input"),
        ("create_canvas", json!({ "path": "a.md" }), "path_invalid"),
        ("query_canvas", json!({ "filter": {}, "paths": ["none.canvas"] }), "note_not_found"),
    ] {
        tools.bad(tool, arguments, code).await;
    }
    let found = tools.good("query_canvas", json!({ "filter": {} })).await;
    assert_eq!(found["unreadable"], json!(["boards/odd.canvas", "large.canvas"]));
    let found = tools.good("query_canvas", json!({ "filter": {}, "paths": ["large.canvas"] })).await;
    assert_eq!(found["unreadable"], json!(["large.canvas"]));
}

#[tokio::test]
async fn a_person_confirms_what_replaces_a_canvas_or_empties_it() {
    let nodes: Vec<String> = (0..30)
        .map(|n| format!("{{\"id\":\"n{n}\",\"type\":\"text\",\"text\":\"Berth {n}\",\"x\":{n},\"y\":0,\"width\":9,\"height\":9}}"))
        .collect();
    let board = format!("{{\"nodes\":[{}],\"edges\":[]}}", nodes.join(",\n"));
    let deployment =
        Deployment::of_vault(&VaultBuilder::new().note("a.md", "x").file("b.canvas", board.as_bytes())).await;
    let client = guarded(&deployment);
    let tools = Tools::guarded(&client);
    let removed = |count: usize| json!({ "path": "b.canvas", "remove_node_ids": (0..count).map(|n| format!("n{n}")).collect::<Vec<_>>() });
    tools.bad("update_canvas", removed(11), "elicit_required").await;
    tools.good("update_canvas", removed(2)).await;
    tools.bad("create_canvas", json!({ "path": "b.canvas" }), "note_exists").await;
    let replaced = tools.confirmed("create_canvas", json!({ "path": "b.canvas", "overwrite": true })).await;
    assert_eq!(replaced["node_count"], 0);
    tools.good("create_canvas", json!({ "path": "c.canvas", "overwrite": true })).await;
}

#[tokio::test]
async fn canvases_and_bases_are_in_the_graph_and_keep_their_links() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let sources = async |path: &str| {
        let found = tools.good("get_backlinks", json!({ "path": path, "include_context": true })).await;
        let items = found["items"].as_array().unwrap();
        items.iter().map(|item| item["source_path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(sources("Notes/Tides.md").await, ["boards/sea.canvas"]);
    assert_eq!(sources("Berths.md").await, ["boards/sea.canvas", "views/all.base"]);
    let out = tools.good("get_outgoing_links", json!({ "path": "boards/sea.canvas" })).await;
    let targets: Vec<_> =
        out["links"].as_array().unwrap().iter().map(|link| (&link["target_path"], &link["line"])).collect();
    assert_eq!(targets, [(&json!("Notes/Tides.md"), &json!(3)), (&json!("Berths.md"), &json!(4))]);
    let search = tools.good("backlinks_search", json!({ "path": "Berths.md" })).await;
    assert!(search["results"][0]["text"].as_str().unwrap().contains("[[Berths|the berths]]"), "{search}");

    tools.good("move_note", json!({ "from": "Notes/Tides.md", "to": "Sea/High tides.md" })).await;
    let moved = tools.good("move_note", json!({ "from": "Berths.md", "to": "Quays.md" })).await;
    assert_eq!(moved["backlinks_updated"], 2);
    let expected = BOARD.replace("Notes/Tides.md", "Sea/High tides.md").replace("[[Berths|", "[[Quays|");
    assert_eq!(tools.text("boards/sea.canvas").await, expected);
    assert_eq!(tools.text("views/all.base").await, "filters: '[[Quays]]'\n");
    assert_eq!(sources("Sea/High tides.md").await, ["boards/sea.canvas"]);
    // A moved canvas keeps its files.
    tools.good("move_attachment", json!({ "from": "boards/sea.canvas", "to": "sea.canvas" })).await;
    assert_eq!(tools.text("sea.canvas").await, expected);
    tools.good("rewrite_link", json!({ "from_target": "Quays", "to_target": "High tides", "dry_run": false })).await;
    assert!(tools.text("sea.canvas").await.contains("[[High tides|"));
}
