//! Drawings of the plugin Excalidraw.

use std::path::Path;
use std::process::Command;

use atlas_testkit::VaultBuilder;
use atlas_vault::lz_string;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tools::{Tools, guarded};

/// As the plugin writes it.
const HARBOUR: &str = include_str!("harbour.txt");

fn vault() -> VaultBuilder {
    let file = r#"{"type":"excalidraw","elements":[{"id":"a","type":"text","text":"Sluice","x":0,"y":0}],"files":{"f1":{"mimeType":"image/png","dataURL":"data:"}}}"#;
    VaultBuilder::new()
        .note("Plan.md", "# Plan\n")
        .note("Drawings/Harbour.excalidraw.md", HARBOUR)
        .file("Drawings/old.excalidraw", file.as_bytes())
}

/// The same with its drawing compressed.
fn compressed(note: &str) -> String {
    let (before, rest) = note.split_once("```json\n").unwrap();
    let (json, after) = rest.split_once("\n```").unwrap();
    format!("{before}```compressed-json\n{}\n```{after}", lz_string::compress_to_base64(json))
}

#[tokio::test]
async fn a_drawing_is_read_and_changed_and_its_texts_are_found() {
    for note in [HARBOUR.to_owned(), compressed(HARBOUR)] {
        let deployment = Deployment::of_vault(&vault().note("Drawings/Harbour.excalidraw.md", &note)).await;
        let client = deployment.client();
        let tools = Tools::of(&client);
        let path = "Drawings/Harbour.excalidraw.md";
        let read = tools.good("read_excalidraw", json!({ "path": path })).await;
        assert_eq!(read["text_content"], "North quay\n\nSee [[Plan]]\nfor berths");
        let ids: Vec<&Value> = read["elements"].as_array().unwrap().iter().map(|element| &element["id"]).collect();
        assert_eq!(ids, ["quay0001", "name0001", "note0001", "map00001"]);
        assert_eq!(read["embedded_files"], json!([{ "id": "9c1b5e0f", "name": "map.png" }]));
        assert_eq!(read["storage"], if note == HARBOUR { "json" } else { "compressed-json" });
        assert_eq!(read["app_state"]["theme"], "light");
        let text = tools.good("read_excalidraw", json!({ "path": path, "format": "text" })).await;
        assert!(text.get("elements").is_none() && text["text_content"] == read["text_content"]);

        // Words in a drawing are words in its note, and its links are links.
        let found = tools.good("search_text", json!({ "query": "berths" })).await;
        assert_eq!(found["items"][0]["path"], path, "{found}");
        let linked = tools.good("get_backlinks", json!({ "path": "Plan.md" })).await;
        assert_eq!(linked["items"][0]["source_path"], path);
        let none = tools.good("search_vault", json!({ "query": "versionNonce", "mode": "text" })).await;
        assert_eq!(none["items"], json!([]), "{none}");

        let change = json!({
            "path": path,
            "if_match": read["content_hash"],
            "update_elements": { "name0001": { "text": "South quay" } },
            "remove_element_ids": ["quay0001"],
            "add_elements": [{ "type": "text", "text": "Lighthouse", "x": 5, "y": 5 }],
            "update_app_state": { "viewBackgroundColor": "#eeeeee" },
        });
        let changed = tools.good("update_excalidraw", change.clone()).await;
        assert_eq!(changed["applied"], json!({ "added": 1, "removed": 1, "updated": 1 }));
        tools.bad("update_excalidraw", change, "note_changed").await;
        let after = tools.text(path).await;
        let id = changed["added_element_ids"][0].as_str().unwrap();
        let before_the_drawing = |note: &str| note.split_once("```").unwrap().0.to_owned();
        let expected = before_the_drawing(HARBOUR)
            .replace("North quay", "South quay")
            .replace("for berths ^note0001\n\n", &format!("for berths ^note0001\n\nLighthouse ^{id}\n\n"))
            .replace("quay0001: https://example.com/quay\n", "");
        assert_eq!(before_the_drawing(&after), expected);
        let read = tools.good("read_excalidraw", json!({ "path": path })).await;
        assert_eq!(read["text_content"], "South quay\n\nSee [[Plan]]\nfor berths\n\nLighthouse");
        assert_eq!(read["app_state"]["viewBackgroundColor"], "#eeeeee");
        let found = tools.good("search_text", json!({ "query": "lighthouse" })).await;
        assert_eq!(found["items"][0]["path"], path);
    }
}

#[tokio::test]
async fn drawings_are_created_in_every_form_and_files_are_drawings_too() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let file = tools.good("read_excalidraw", json!({ "path": "Drawings/old.excalidraw" })).await;
    assert_eq!((&file["text_content"], &file["storage"]), (&json!("Sluice"), &json!("file")));
    assert_eq!(file["embedded_files"], json!([{ "id": "f1", "name": "image/png" }]));
    let change = json!({ "path": "Drawings/old.excalidraw", "update_elements": { "a": { "text": "Lock" } } });
    tools.good("update_excalidraw", change).await;
    for (path, template, storage) in [
        ("new/a.excalidraw.md", "blank", "json"),
        ("new/b.excalidraw.md", "compressed-json", "compressed-json"),
        ("new/c.md", "custom", "json"),
        ("new/d.excalidraw", "blank", "file"),
    ] {
        let elements =
            json!([{ "type": "text", "text": "Pier", "x": 0, "y": 0 }, { "type": "ellipse", "x": 1, "y": 1 }]);
        let new = json!({ "path": path, "template": template, "elements": elements });
        let created = tools.good("create_excalidraw", new.clone()).await;
        assert_eq!(created["plugin_used"], false);
        let read = tools.good("read_excalidraw", json!({ "path": path })).await;
        assert_eq!((&read["storage"], &read["text_content"]), (&json!(storage), &json!("Pier")));
        assert_eq!(read["content_hash"], created["content_hash"]);
        tools.bad("create_excalidraw", new, "note_exists").await;
    }
}

#[tokio::test]
async fn what_is_no_drawing_is_refused_with_its_place() {
    let deployment = Deployment::of_vault(
        &vault().file("large.excalidraw", "x".repeat(2 << 20).as_bytes()).note(
            "odd.md",
            "---\nexcalidraw-plugin: parsed\n---\n## Drawing\n```json\n{\"elements\":[\n{\"id\":\"a\"},{\"id\":\"a\"}]}\n```\n",
        ),
    )
    .await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let odd = tools.bad("read_excalidraw", json!({ "path": "odd.md" }), "invalid_input").await;
    let message = "odd.md: the JSON is no drawing: line 7, column 12: two elements have the id \"a\"; a person can repair it in Obsidian";
    assert_eq!(odd["message"], message);
    for (tool, arguments, code) in [
        ("read_excalidraw", json!({ "path": "Plan.md" }), "invalid_input"),
        ("read_excalidraw", json!({ "path": "none.excalidraw.md" }), "note_not_found"),
        ("read_excalidraw", json!({ "path": "large.excalidraw" }), "note_too_large"),
        ("read_excalidraw", json!({ "path": "map.png" }), "path_invalid"),
        ("read_excalidraw", json!({ "path": ".obsidian/a.md" }), "path_invalid"),
        ("update_excalidraw", json!({ "path": "none.excalidraw.md" }), "note_not_found"),
        (
            "update_excalidraw",
            json!({ "path": "Drawings/Harbour.excalidraw.md", "remove_element_ids": ["z"] }),
            "invalid_input",
        ),
        ("create_excalidraw", json!({ "path": "a.md", "elements": [{ "type": "cube" }] }), "invalid_input"),
        ("create_excalidraw", json!({ "path": "a.canvas" }), "path_invalid"),
    ] {
        tools.bad(tool, arguments, code).await;
    }
}

#[tokio::test]
async fn a_person_confirms_what_replaces_a_drawing_or_empties_it() {
    let elements: Vec<Value> = (0..30)
        .map(|n| json!({ "id": format!("berth{n:03}"), "type": "text", "text": format!("Berth {n} of the {n} quays"), "x": n, "y": 0 }))
        .collect();
    let deployment = Deployment::of_vault(&vault()).await;
    let client = guarded(&deployment);
    let tools = Tools::guarded(&client);
    let path = "new.excalidraw.md";
    tools.good("create_excalidraw", json!({ "path": path, "template": "compressed-json", "elements": elements })).await;
    let removed = |count: usize| json!({ "path": path, "remove_element_ids": (0..count).map(|n| format!("berth{n:03}")).collect::<Vec<_>>() });
    tools.bad("update_excalidraw", removed(11), "elicit_required").await;
    // All digits of what is compressed change, and little of the drawing.
    tools.good("update_excalidraw", removed(2)).await;
    let other = json!({ "path": "Drawings/Harbour.excalidraw.md", "overwrite": true });
    tools.bad("create_excalidraw", other.clone(), "elicit_required").await;
    tools.confirmed("create_excalidraw", other).await;
}

/// The same text, compressed here and by LZ-String itself, and read by both.
#[test]
fn lz_string_writes_and_reads_the_same() {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/mcp/node_modules/lz-string");
    if !module.is_dir() || Command::new("node").arg("--version").output().is_err() {
        eprintln!("skipped: this needs node, and lz-string in {}: make setup-mcp", module.display());
        return;
    }
    let long: String =
        (0..20_000_u64).map(|n| format!("{:x}é", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 60))).collect();
    let texts = ["", "a", "aaaa", "\u{0}\u{ff}\u{100}\u{ffff}🦀", HARBOUR, &"ab".repeat(10_000), &long];
    let program = "const lz = require(process.argv[1]); const [texts, ours] = JSON.parse(require('fs').readFileSync(0));
        console.log(JSON.stringify({ theirs: texts.map(lz.compressToBase64), read: ours.map(lz.decompressFromBase64) }))";
    let ours: Vec<String> = texts.iter().map(|text| lz_string::compress_to_base64(text)).collect();
    let mut node = Command::new("node");
    node.args(["-e", program]).arg(&module).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut node = node.spawn().unwrap();
    serde_json::to_writer(node.stdin.take().unwrap(), &json!([texts, ours])).unwrap();
    let output = node.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (at, text) in texts.iter().enumerate() {
        assert_eq!(told["theirs"][at], ours[at].as_str());
        assert_eq!(told["read"][at].as_str().unwrap(), *text);
        assert_eq!(lz_string::decompress_from_base64(&ours[at], 1 << 20).as_deref(), Ok(*text));
    }
}
