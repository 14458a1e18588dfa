use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::VaultPath;
use crate::note::LinkKind;
use crate::relink::{Moves, relink};
use crate::resolve::Files;

const BOARD: &str = r##"{
	"nodes":[
		{"id":"a","type":"text","text":"See [[Tides#High|the tides]]\nand ![[map.png]]","x":-10,"y":0,"width":250,"height":60,"plugin":{"z":[1, 2]}},
		{"id":"b","type":"file","file":"Notes/Tides.md","subpath":"#High","x":300,"y":0,"width":400,"height":400},
		{"id":"c","type":"link","url":"https://example.com/","x":0,"y":500,"width":1.5e2,"height":60,"color":"4"},
		{"id":"d","type":"group","label":"Sea","x":-50,"y":-50,"width":900,"height":700}
	],
	"edges":[
		{"id":"e1","fromNode":"a","fromSide":"right","toNode":"b","toSide":"left"},
		{"id":"e2","fromNode":"b","toNode":"c","label":"source"}
	],
	"metadata":{"version":"1.0-1.0"}
}"##;

fn fields(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => panic!("no object"),
    }
}

fn ids(items: &[Fields]) -> Vec<&str> {
    items.iter().filter_map(id).collect()
}

#[test]
fn a_change_leaves_the_rest_as_it_is_written() {
    let change = Change {
        add_nodes: vec![fields(json!({ "type": "text", "text": "new", "x": 1, "y": 2, "width": 3, "height": 4 }))],
        remove_nodes: vec!["b".to_owned()],
        update_nodes: [("c".to_owned(), fields(json!({ "color": null, "x": 7, "label": "L" })))].into(),
        ..Change::default()
    };
    let changed = Canvas::read(BOARD).unwrap().change(&change, 1).unwrap();
    assert_eq!((changed.nodes_removed, changed.edges_removed, changed.nodes_added.len()), (1, 2, 1));
    let [id] = &changed.nodes_added[..] else { panic!() };
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let expected = BOARD
        .replace("\n\t\t{\"id\":\"b\",\"type\":\"file\",\"file\":\"Notes/Tides.md\",\"subpath\":\"#High\",\"x\":300,\"y\":0,\"width\":400,\"height\":400},", "")
        .replace("\"x\":0,\"y\":500,\"width\":1.5e2,\"height\":60,\"color\":\"4\"}", "\"x\":7,\"y\":500,\"width\":1.5e2,\"height\":60,\"label\":\"L\"}")
        .replace("\"height\":700}", &format!("\"height\":700}},\n\t\t{{\"id\":\"{id}\",\"type\":\"text\",\"text\":\"new\",\"x\":1,\"y\":2,\"width\":3,\"height\":4}}"));
    let edges = expected.find("\"edges\":[").unwrap() + "\"edges\":[".len();
    let end = expected.find("\n\t],\n\t\"metadata\"").unwrap();
    let expected = format!("{}]{}", &expected[..edges], &expected[end + 3..]);
    assert_eq!(changed.text, expected);
    assert_eq!(Canvas::read(BOARD).unwrap().change(&Change::default(), 1).unwrap().text, BOARD);
}

#[test]
fn a_new_canvas_is_written_as_obsidian_writes_it() {
    let node =
        |id: &str| fields(json!({ "id": id, "type": "text", "text": "", "x": 0, "y": 0, "width": 10, "height": 10 }));
    let edge = fields(json!({ "id": "e", "fromNode": "a", "toNode": "b" }));
    let created = create(&[node("a"), node("b")], &[edge], 0).unwrap().text;
    let line = |id: &str| {
        format!("\n\t\t{{\"id\":\"{id}\",\"type\":\"text\",\"text\":\"\",\"x\":0,\"y\":0,\"width\":10,\"height\":10}}")
    };
    let expected = format!(
        "{{\n\t\"nodes\":[{},{}\n\t],\n\t\"edges\":[\n\t\t{{\"id\":\"e\",\"fromNode\":\"a\",\"toNode\":\"b\"}}\n\t]\n}}",
        line("a"),
        line("b")
    );
    assert_eq!(created, expected);
    assert_eq!(create(&[], &[], 0).unwrap().text, "{\n\t\"nodes\":[],\n\t\"edges\":[]\n}");
    // Empty files become equal canvases; files with other content keep it.
    for (empty, expected) in [("", expected.as_str()), ("{}", &expected), (" \n", &expected)] {
        let change = Change {
            add_nodes: vec![node("a"), node("b")],
            add_edges: vec![fields(json!({ "id": "e", "fromNode": "a", "toNode": "b" }))],
            ..Change::default()
        };
        assert_eq!(Canvas::read(empty).unwrap().change(&change, 0).unwrap().text, expected);
    }
    let change = Change { add_nodes: vec![node("a")], ..Change::default() };
    let kept = Canvas::read("{\"metadata\":{},\"edges\":[]}").unwrap().change(&change, 0).unwrap().text;
    assert!(kept.starts_with("{\"metadata\":{},\"edges\":[],\"nodes\":[{\"id\":\"a\""), "{kept}");
}

#[test]
fn a_byte_order_mark_stays() {
    let text = "\u{feff} {\"nodes\":[{\"id\":\"a\",\"type\":\"file\",\"file\":\"B.md\",\"x\":0,\"y\":0,\"width\":1,\"height\":1}]}";
    let change = Change { update_nodes: [("a".to_owned(), fields(json!({"x": 7})))].into(), ..Change::default() };
    let changed = Canvas::read(text).unwrap().change(&change, 0).unwrap();
    assert_eq!(changed.text, text.replace("\"x\":0", "\"x\":7"));
    assert_eq!(links(text).len(), 1);
    assert!(Canvas::read("\u{feff}").unwrap().nodes().is_empty());
}

#[test]
fn what_is_wrong_is_said() {
    let refused = |change: Change| Canvas::read(BOARD).unwrap().change(&change, 0).unwrap_err().to_string();
    let add = |node: Value| refused(Change { add_nodes: vec![fields(node)], ..Change::default() });
    let add_edge = |edge: Value| refused(Change { add_edges: vec![fields(edge)], ..Change::default() });
    let update = |id: &str, node: Value| {
        refused(Change { update_nodes: [(id.to_owned(), fields(node))].into(), ..Change::default() })
    };
    let text = |more: Value| {
        let mut node =
            fields(json!({ "id": "n", "type": "text", "text": "", "x": 0, "y": 0, "width": 1, "height": 1 }));
        node.extend(fields(more));
        Value::Object(node)
    };
    for (problem, expected) in [
        (add(text(json!({ "id": "a" }))), "the canvas has the id \"a\" already: give the node another"),
        (add(text(json!({ "id": 7 }))), "the id of a node is a string of at most 200 characters"),
        (add(text(json!({ "x": "0" }))), "node \"n\": x is a number, in pixels"),
        (add(text(json!({ "type": "shape" }))), "node \"n\": type is text, file, link or group"),
        (
            add(text(json!({ "type": "file", "file": "../x" }))),
            "node \"n\": a node of type file has a file: its path from the root of the vault",
        ),
        (add(text(json!({ "color": "7" }))), "node \"n\": color is \"1\" (red) to \"6\" (purple), or as \"#ff0000\""),
        (add_edge(json!({ "id": "e", "fromNode": "a" })), "edge \"e\": toNode is the id of a node"),
        (
            add_edge(json!({ "id": "e", "fromNode": "a", "toNode": "z" })),
            "edge \"e\": toNode: the canvas has no node with the id \"z\"",
        ),
        (
            add_edge(json!({ "id": "e", "fromNode": "a", "toNode": "b", "toSide": "up" })),
            "edge \"e\": toSide is top, right, bottom, left",
        ),
        (update("z", json!({})), "the canvas has no node with the id \"z\""),
        (update("a", json!({ "id": "b" })), "node \"a\": its id cannot be changed"),
        (update("a", json!({ "text": null })), "node \"a\": a node of type text has its markdown as text"),
        (
            refused(Change { remove_nodes: vec!["z".to_owned()], ..Change::default() }),
            "the canvas has no node with the id \"z\"",
        ),
    ] {
        assert_eq!(problem, expected);
    }
    for (file, expected) in [
        (
            "{\"nodes\":[\n{\"id\":\"a\"},\n {\"id\":\"a\"}]}",
            "the file is not a canvas: line 3, column 2: two nodes have the id \"a\"",
        ),
        ("{\"nodes\":[\n{}]}", "the file is not a canvas: line 2, column 1: this node has no id"),
        ("{\"nodes\":{}}", "the file is not a canvas: line 1, column 10: invalid type: map, expected an array"),
        ("[]", "the file is not a canvas: line 1, column 1: invalid type: sequence, expected an object"),
        ("{\"nodes\":[", "the file is not a canvas: line 1, column 10: EOF while parsing a list"),
    ] {
        assert_eq!(Canvas::read(file).unwrap_err().to_string(), expected);
    }
}

#[test]
fn files_and_links_in_texts_are_links() {
    let found: Vec<_> = links(BOARD)
        .into_iter()
        .map(|link| (link.kind, link.target, link.subpath, link.line, BOARD[link.destination].to_owned()))
        .collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        found,
        [
            (LinkKind::Wikilink, "Tides".to_owned(), some("High"), 2, "Tides#High".to_owned()),
            (LinkKind::Embed, "map.png".to_owned(), None, 2, "map.png".to_owned()),
            (LinkKind::CanvasFile, "/Notes/Tides.md".to_owned(), some("High"), 3, "Notes/Tides.md".to_owned()),
        ]
    );
    for none in ["", "{}", "{\"nodes\":7}", "{\"nodes\":[{\"file\":1,\"text\":null},7]}", "[", "\u{feff}"] {
        assert_eq!(links(none), []);
    }
}

#[test]
fn a_move_rewrites_the_files_and_the_links_and_nothing_else() {
    let path = |text: &str| VaultPath::parse(text).unwrap();
    let files = || Files::from_iter(["Notes/Tides.md", "map.png", "boards/sea.canvas"].map(path));
    let moved = |from: &str, to: &str, text: &str| {
        relink(text, &path("boards/sea.canvas"), &Moves::new([(path(from), path(to))], files()))
            .unwrap()
            .map(|new| new.text)
    };
    let expected =
        BOARD.replace("[[Tides#High", "[[Ebb \\\"and\\\" é#High").replace("Notes/Tides.md", "Ebb \\\"and\\\" é.md");
    assert_eq!(moved("Notes/Tides.md", "Ebb \"and\" é.md", BOARD).unwrap(), expected);
    assert_eq!(moved("map.png", "img/chart.png", BOARD).unwrap(), BOARD.replace("map.png", "chart.png"));
    // A moved canvas keeps its paths, which are relative to the root.
    assert_eq!(moved("boards/sea.canvas", "sea.canvas", BOARD), None);
    let ascii = BOARD.replace("Tides.md", "Tid\\u0065s.md");
    assert_eq!(moved("Notes/Tides.md", "N/Tides.md", &ascii).unwrap(), BOARD.replace("Notes/Tides.md", "N/Tides.md"));
    // No wikilink can refer to such a file, but a node can.
    assert!(
        relink(BOARD, &path("x.canvas"), &Moves::new([(path("Notes/Tides.md"), path("a#b.md"))], files())).is_err()
    );
    let node = "{\"nodes\":[{\"id\":\"a\",\"type\":\"file\",\"file\":\"Notes/Tides.md\"}]}";
    assert_eq!(moved("Notes/Tides.md", "a#b.md", node).unwrap(), node.replace("Notes/Tides.md", "a#b.md"));
    let group =
        "{\"nodes\":[{\"id\":\"a\",\"type\":\"group\",\"background\":\"map.png\",\"backgroundStyle\":\"cover\"}]}";
    assert_eq!(moved("map.png", "img/chart.png", group).unwrap(), group.replace("map.png", "img/chart.png"));
}

#[test]
fn hostile_canvases_are_read_in_time() {
    let many = format!("{{\"nodes\":[{}]}}", vec!["{\"id\":\"a\"}"; 80_000].join(","));
    assert!(Canvas::read(&many).is_err());
    let deep = format!("{{\"nodes\":[{{\"id\":\"a\",\"x\":{}1{}}}]}}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(Canvas::read(&deep).is_err());
    assert_eq!(links(&deep), []);
    let links_only = format!("{{\"nodes\":[{{\"id\":\"a\",\"text\":\"{}\"}}]}}", "[[\\u0061]]".repeat(90_000));
    assert_eq!(links(&links_only).len(), 90_000);
}

proptest! {
    #[test]
    fn a_canvas_after_a_change_is_what_a_model_makes_of_it(
        count in 0..6_usize,
        pairs in prop::collection::vec((0..6_usize, 0..6_usize), 0..6),
        gone in prop::collection::vec(any::<bool>(), 6),
        added in 0..3_usize,
        seed in any::<u64>(),
    ) {
        let node = |id: String| fields(json!({ "id": id, "type": "group", "x": 0, "y": 0, "width": 1, "height": 1 }));
        let nodes: Vec<Fields> = (0..count).map(|at| node(format!("n{at}"))).collect();
        let is_there = |at: usize| at < count;
        let pairs: Vec<(usize, usize)> = pairs.into_iter().filter(|(from, to)| is_there(*from) && is_there(*to)).collect();
        let edges: Vec<Fields> = (0..).zip(&pairs)
            .map(|(at, (from, to)): (usize, _)| fields(json!({ "id": format!("e{at}"), "fromNode": format!("n{from}"), "toNode": format!("n{to}") })))
            .collect();
        let before = create(&nodes, &edges, seed).unwrap().text;
        let change = Change {
            remove_nodes: (0..count).filter(|at| gone[*at]).map(|at| format!("n{at}")).collect(),
            add_nodes: (0..added).map(|_| { let mut node = node(String::new()); node.remove("id"); node }).collect(),
            ..Change::default()
        };
        let changed = Canvas::read(&before).unwrap().change(&change, seed).unwrap();
        let after = Canvas::read(&changed.text).unwrap();
        let kept: Vec<String> = (0..count).filter(|at| !gone[*at]).map(|at| format!("n{at}")).collect();
        let expected: Vec<&str> = kept.iter().chain(&changed.nodes_added).map(String::as_str).collect();
        prop_assert_eq!(ids(after.nodes()), expected);
        let hanging = pairs.iter().filter(|(from, to)| gone[*from] || gone[*to]).count();
        prop_assert_eq!(after.edges().len(), pairs.len() - hanging);
        prop_assert_eq!(changed.edges_removed, hanging);
    }
}
