//! Tables in notes, and boards of the plugin Kanban.

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tools::{Tools, guarded};
use crate::support::world::{World, caller};

const TABLES: &str = "# Ports\n\n| Port  | Berths | Note |\n|-------|-------:|------|\n| Aster | 3      | [[A\\|a]] |\n| Bell  | 2      |\n| Bell  | 9      |\n\ntext\n\na|b\n-|-\n1|2\n";
const BOARD: &str = "---\nkanban-plugin: board\n---\n\n## Next (2)\n\n- [ ] Survey\n\tthe quay\n\n\n## Done\n\n**Complete**\n- [x] Fenders\n";

async fn world() -> World {
    World::open(&[("t.md", TABLES), ("board.md", BOARD), ("none.md", "x")]).await
}

async fn text(world: &World, path: &str) -> Value {
    world.ok("note_read", json!({ "path": path })).await["content"].clone()
}

#[tokio::test]
async fn a_table_is_read_and_changed_by_header_and_key() {
    let world = world().await;
    let read = world.ok("read_table", json!({ "path": "t.md", "limit": 2 })).await;
    assert_eq!(
        (&read["headers"], &read["line"], &read["table_count"], &read["row_count"]),
        (&json!(["Port", "Berths", "Note"]), &json!(3), &json!(2), &json!(3))
    );
    assert_eq!(read["rows"], json!([["Aster", "3", "[[A|a]]"], ["Bell", "2"]]));
    assert_eq!(world.ok("read_table", json!({ "path": "t.md", "table_index": 1 })).await["rows"], json!([["1", "2"]]));
    let change = json!({
        "path": "t.md",
        "key_column": "berths",
        "set": [{ "key": "2", "values": { "Berths": 12, "Note": "new|est" } }],
        "add": [{ "Port": "Cove", "Berths": 1 }],
        "remove": ["9"],
        "if_match": read["content_hash"],
    });
    let changed = world.ok("update_table", change.clone()).await;
    assert_eq!(changed["rows"], 3);
    let expected = TABLES.replace(
        "| Bell  | 2      |\n| Bell  | 9      |\n",
        "| Bell  | 12     | new\\|est |\n| Cove  | 1      |          |\n",
    );
    assert_eq!(text(&world, "t.md").await, expected);
    assert_eq!(world.refused("update_table", change).await, "note_changed");
    let arranged = json!({
        "path": "t.md",
        "table_index": 1,
        "add_columns": [{ "name": "Depth", "at": 0, "align": "right" }],
        "set": [{ "key": "1", "values": { "Depth": 12.5 } }],
        "add": [{ "Depth": 7 }, { "Depth": "deep" }],
        "sort_by": { "column": "depth", "numeric": true },
        "format": true,
    });
    assert_eq!(world.ok("update_table", arranged).await["rows"], 3);
    let read = world.ok("read_table", json!({ "path": "t.md", "table_index": 1 })).await;
    assert_eq!(read["headers"][0], "Depth");
    let depths: Vec<&Value> = read["rows"].as_array().unwrap().iter().map(|row| &row[0]).collect();
    assert_eq!(depths, ["7", "12.5", "deep"]);
    assert!(text(&world, "t.md").await.to_string().contains("| ----: |"));
    for (arguments, reason) in [
        (json!({ "path": "t.md", "remove": ["None"] }), "invalid_input"),
        (json!({ "path": "t.md", "add": [{ "Nowhere": "x" }] }), "invalid_input"),
        (json!({ "path": "t.md", "set": [{ "key": "Aster", "values": { "Port": [] } }] }), "invalid_input"),
        (
            json!({ "path": "t.md", "set": [{ "key": "Aster", "values": { "Port": "x" } }], "remove": ["Aster"] }),
            "invalid_input",
        ),
        (json!({ "path": "t.md", "table_index": 2 }), "invalid_input"),
        (json!({ "path": "t.md", "add_columns": [{ "name": "PORT" }] }), "invalid_input"),
        (json!({ "path": "t.md", "sort_by": { "column": "Nowhere" } }), "invalid_input"),
        (json!({ "path": "none.md" }), "invalid_input"),
        (json!({ "path": "absent.md" }), "note_not_found"),
    ] {
        assert_eq!(world.refused("update_table", arguments.clone()).await, reason, "{arguments}");
    }
    let twice = World::open(&[("t.md", TABLES)]).await;
    assert_eq!(twice.refused("update_table", json!({ "path": "t.md", "remove": ["Bell"] })).await, "invalid_input");
}

#[tokio::test]
async fn cards_are_added_and_moved_and_boards_are_listed() {
    let world = world().await;
    let listed = world.ok("list_kanban_boards", json!({})).await;
    assert_eq!(listed, json!({ "total": 1, "boards": [{ "path": "board.md", "columns": 2, "cards": 2 }] }));
    let board = world.ok("read_kanban_board", json!({ "path": "board.md" })).await;
    let expected = json!([
        { "name": "Next", "limit": 2, "complete": false, "archived": false, "cards": [{ "text": "Survey\nthe quay", "checked": false }] },
        { "name": "Done", "complete": true, "archived": false, "cards": [{ "text": "Fenders", "checked": true }] },
    ]);
    assert_eq!(board["columns"], expected);
    let added = world.ok("add_kanban_card", json!({ "path": "board.md", "column": "next", "text": "Grease" })).await;
    assert_eq!((&added["column"], &added["added"]), (&json!("Next"), &json!("Grease")));
    let moved = json!({ "path": "board.md", "from_column": "Next", "to_column": "Done", "card_text": "survey", "position": "top" });
    let moved = world.ok("move_kanban_card", moved).await;
    assert_eq!((&moved["from"], &moved["to"]), (&json!("Next"), &json!("Done")));
    let expected = BOARD
        .replace("- [ ] Survey\n\tthe quay\n", "- [ ] Grease\n")
        .replace("- [x] Fenders", "- [x] Survey\n\tthe quay\n- [x] Fenders");
    assert_eq!(text(&world, "board.md").await, expected);
    for (name, arguments, reason) in [
        ("read_kanban_board", json!({ "path": "none.md" }), "invalid_input"),
        ("add_kanban_card", json!({ "path": "none.md", "column": "a", "text": "x" }), "invalid_input"),
        ("add_kanban_card", json!({ "path": "board.md", "column": "Later", "text": "x" }), "invalid_input"),
        (
            "add_kanban_card",
            json!({ "path": "board.md", "column": "Next", "text": "x", "if_match": "0" }),
            "note_changed",
        ),
        (
            "move_kanban_card",
            json!({ "path": "board.md", "from_column": "Next", "to_column": "Done", "card_text": "x" }),
            "invalid_input",
        ),
    ] {
        assert_eq!(world.refused(name, arguments.clone()).await, reason, "{name} {arguments}");
    }
}

#[tokio::test]
async fn a_card_needs_no_check_box_and_is_named_without_its_block_id() {
    let board = "---\nkanban-plugin: board\n---\n## Todo\n\n- buy milk ^id1\n- [ ] task\n\n\n## Done\n\n**Fertiggestellt**\n- shipped\n";
    let world = World::open(&[("b.md", board)]).await;
    let read = world.ok("read_kanban_board", json!({ "path": "b.md" })).await;
    let cards =
        json!([{ "text": "buy milk", "block_id": "id1", "checked": false }, { "text": "task", "checked": false }]);
    assert_eq!((&read["columns"][0]["cards"], &read["columns"][1]["complete"]), (&cards, &json!(true)));
    let moved = json!({ "path": "b.md", "from_column": "Todo", "to_column": "Done", "card_text": "buy milk" });
    world.ok("move_kanban_card", moved).await;
    let expected = board.replace("- buy milk ^id1\n", "").replace("- shipped\n", "- shipped\n- [x] buy milk ^id1\n");
    assert_eq!(text(&world, "b.md").await, expected);
}

#[tokio::test]
async fn boards_that_may_not_be_read_are_not_listed_and_a_table_that_goes_waits_for_a_person() {
    let notes = [("open.md", BOARD), ("secret/b.md", BOARD)].map(|(path, text)| (path.to_owned(), text.to_owned()));
    let acl = json!({ "rules": [{ "glob": "secret/**", "scopes": ["read:secret"] }] });
    let world = World::of(&[notes.into()], &acl, caller(&[])).await;
    assert_eq!(world.ok("list_kanban_boards", json!({})).await["total"], 1);
    let rows: String = (0..40).map(|row| format!("| {row} | some words about it |\n")).collect();
    let vault = VaultBuilder::new().note("t.md", &format!("| a | b |\n|---|---|\n{rows}"));
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment);
    let tools = Tools::guarded(&client);
    let remove =
        |count: usize| json!({ "path": "t.md", "remove": (0..count).map(|row| row.to_string()).collect::<Vec<_>>() });
    tools.bad("update_table", remove(39), "elicit_required").await;
    tools.good("update_table", remove(2)).await;
}
