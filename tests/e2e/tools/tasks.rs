//! obsidian-tc's tools for tasks.

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tools::{Tools, guarded};
use crate::support::world::World;

const NOTE: &str =
    "# Tasks\n\n- [ ] Water the plants #home 📅 2026-01-04 🔁 every week\n- [x] Old ✅ 2020-01-01\n- [x] Undated\n";

async fn vault() -> Deployment {
    Deployment::of_vault(&VaultBuilder::new().note("a.md", NOTE)).await
}

#[tokio::test]
async fn a_task_changes_where_it_stands_and_as_it_is_written() {
    let client = vault().await.client();
    let tools = Tools::of(&client);
    let set = json!({ "status": "done", "due": "2026-02-01", "done": "2026-01-30", "priority": "high", "recur": null, "add_tags": ["green"], "remove_tags": ["Home"] });
    let answer = tools.good("update_task", json!({ "path": "a.md", "line": 3, "set": set })).await;
    let line = "- [x] Water the plants #green ⏫ 📅 2026-02-01 ✅ 2026-01-30\n";
    assert_eq!(tools.text("a.md").await, NOTE.replace(NOTE.lines().nth(2).unwrap(), line.trim_end()));
    assert_eq!(
        answer["prev_state"],
        json!({ "status": "todo", "description": "Water the plants #home", "due": "2026-01-04", "recur": "every week", "tags": ["home"] })
    );
    assert_eq!(
        answer["new_state"],
        json!({ "status": "done", "description": "Water the plants #green", "due": "2026-02-01", "done": "2026-01-30", "priority": "high", "tags": ["green"] })
    );
    let stale = json!({ "path": "a.md", "line": 3, "set": { "status": "todo" }, "if_match": "0".repeat(64) });
    tools.bad("update_task", stale, "note_changed").await;
    let unchanged = tools.good("update_task", json!({ "path": "a.md", "line": 3 })).await;
    assert_eq!(unchanged["content_hash"], answer["content_hash"]);
}

#[tokio::test]
async fn what_is_no_task_or_no_day_is_told() {
    let client = vault().await.client();
    let tools = Tools::of(&client);
    for (line, set, field) in [
        (1, json!({}), "line"),
        (9, json!({}), "line"),
        (3, json!({ "due": "2026-02-30" }), "set.due"),
        (3, json!({ "due": "soon" }), "set.due"),
        (3, json!({ "description": "two\nlines" }), "set"),
        (3, json!({ "add_tags": ["a b"] }), "set"),
    ] {
        let error =
            tools.bad("update_task", json!({ "path": "a.md", "line": line, "set": set }), "invalid_input").await;
        assert_eq!(error["details"]["field"], field, "{error}");
    }
    let missing = tools.bad("update_task", json!({ "path": "a.md", "line": 1 }), "invalid_input").await;
    assert_eq!(missing["details"]["candidates"][0]["line"], 3);
    tools.bad("update_task", json!({ "path": "no.md", "line": 1 }), "note_not_found").await;
    assert_eq!(tools.text("a.md").await, NOTE);
}

#[tokio::test]
async fn to_open_a_task_that_was_done_long_ago_is_to_be_confirmed() {
    let deployment = vault().await;
    let client = guarded(&deployment);
    let tools = Tools::guarded(&client);
    let reopen = |line: u32| json!({ "path": "a.md", "line": line, "set": { "status": "todo" } });
    let answer = tools.confirmed("update_task", reopen(4)).await;
    assert_eq!((&answer["prev_state"]["status"], &answer["new_state"]["status"]), (&json!("done"), &json!("todo")));
    assert!(tools.text("a.md").await.contains("- [ ] Old ✅ 2020-01-01\n"));
    // The first has no time of completion; the other was completed today.
    tools.good("update_task", reopen(5)).await;
    let today = jiff::Zoned::now().date().to_string();
    tools.good("update_task", json!({ "path": "a.md", "line": 3, "set": { "status": "done", "done": today } })).await;
    tools.good("update_task", reopen(3)).await;
}

#[tokio::test]
async fn a_misspelt_place_is_told_with_what_is_like_it() {
    let vault = VaultBuilder::new()
        .note("Projects/Plan.md", "- [ ] one\n")
        .note("Projects/Empty.md", "no task\n")
        .note("Private/Plans.md", "- [ ] hidden\n");
    let deployment = Deployment::of_vault(&vault).await;
    let config = json!({ "vaults": [{ "id": "main", "acl": { "readPaths": ["Projects/**"] } }] });
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config.to_string())]).await;
    let tools = Tools::of(&client);
    for path in ["Projects/Plan", "Plan.md", "plan", "Projects/Plan.md"] {
        let listed = tools.good("list_tasks", json!({ "paths": [path] })).await;
        assert_eq!(listed["items"][0]["path"], "Projects/Plan.md", "{path}");
    }
    assert_eq!(tools.good("list_tasks", json!({ "paths": ["Empty"] })).await["items"], json!([]));
    assert_eq!(tools.good("list_tasks", json!({ "root": "Projects", "status": ["done"] })).await["items"], json!([]));
    for path in ["Projects/Plann.md", "Private/Plans.md"] {
        let missing = tools.bad("list_tasks", json!({ "paths": [path] }), "note_not_found").await;
        assert_eq!(missing["details"]["suggestions"], json!(["Projects/Plan.md"]), "{missing}");
    }
    for (tool, arguments) in [
        ("list_tasks", json!({})),
        ("list_notes", json!({})),
        ("list_properties", json!({})),
        ("find_notes_by_property", json!({ "key": "status" })),
        ("list_tags", json!({})),
        ("find_notes_by_tag", json!({ "tag": "x" })),
        ("find_orphans", json!({})),
        ("find_unresolved_links", json!({})),
        ("list_attachments", json!({})),
        ("search_vault", json!({ "query": "one" })),
        ("search_vault", json!({ "query": "/one/" })),
        ("search_text", json!({ "query": "one" })),
        ("search_regex", json!({ "pattern": "one" })),
        ("search_jsonlogic", json!({ "logic": { "!": [false] } })),
    ] {
        let below = |root: &str| {
            let mut arguments = arguments.clone();
            arguments["root"] = root.into();
            arguments
        };
        // A folder without such files is no mistake.
        tools.good(tool, below("Projects")).await;
        let missing = tools.bad(tool, below("Projcts"), "note_not_found").await;
        assert_eq!(missing["details"]["suggestions"], json!(["Projects"]), "{missing}");
        // A folder that the caller may not see is as one that is not there.
        let [hidden, none] = ["Private", "Xxivate"].map(below);
        let hidden = tools.bad(tool, hidden, "note_not_found").await.to_string();
        let none = tools.bad(tool, none, "note_not_found").await.to_string();
        assert_eq!(hidden.replace("Private", "X"), none.replace("Xxivate", "X"));
    }
}

#[tokio::test]
async fn tasks_indented_with_tabs_are_listed_and_change_alone() {
    let client = Deployment::of_demo().await.client();
    let tools = Tools::of(&client);
    let path = "vault/planning/backlog.md";
    let texts = [
        "Write down what frozen means: the same millimetre for 15 readings",
        "Tell it apart from a flat calm at slack water",
        "Page [[Tomasz Wrona|Tomasz]], not everybody",
    ];
    for (tool, arguments) in [
        ("list_tasks", json!({ "paths": [path] })),
        ("tasks_filter", json!({ "filter": "path includes planning/backlog" })),
    ] {
        let answer = tools.good(tool, arguments).await;
        for (line, text) in (23..).zip(texts) {
            let found = answer["items"].as_array().unwrap().iter().find(|task| task["line"] == line);
            let found = found.unwrap_or_else(|| panic!("{tool}: line {line} is missing"));
            let status = if line == 23 { "done" } else { "todo" };
            let told = (&found["path"], &found["description"], &found["status"]);
            assert_eq!(told, (&json!(path), &json!(text), &json!(status)), "{tool}");
        }
    }
    let before = tools.text(path).await;
    tools.good("update_task", json!({ "path": path, "line": 24, "set": { "status": "in_progress" } })).await;
    let line = format!("\t- [ ] {}\n", texts[1]);
    assert_eq!(before.lines().nth(23), Some(line.trim_end()));
    assert_eq!(tools.text(path).await, before.replace(&line, &line.replace("[ ]", "[/]")));
}

const SETTINGS: &str = r##"{
    "globalFilter": "#task",
    "taskFormat": "dataview",
    "statusSettings": {
        "coreStatuses": [
            { "symbol": " ", "name": "Todo", "nextStatusSymbol": "x", "availableAsCommand": true, "type": "TODO" },
            { "symbol": "x", "name": "Done", "nextStatusSymbol": " ", "availableAsCommand": true, "type": "DONE" }
        ],
        "customStatuses": [{ "symbol": ">", "name": "Forwarded", "nextStatusSymbol": " ", "type": "DONE" }]
    }
}"##;

#[tokio::test]
async fn tasks_are_those_that_the_settings_of_the_plugin_say() {
    const PLUGIN: &str = ".obsidian/plugins/obsidian-tasks-plugin/data.json";
    const LIST: &str = ".obsidian/community-plugins.json";
    let note = "- [ ] real #task 📅 2026-01-01\n- [ ] shopping item\n- [>] fwd #task\n- [ ] pay rent\n";
    let described = |answer: Value| -> Vec<String> {
        let items = answer["items"].as_array().unwrap().iter();
        items.map(|item| item["description"].as_str().unwrap().split(' ').next().unwrap().to_owned()).collect()
    };
    for (list, is_on) in [(None, true), (Some(r#"["dataview", "obsidian-tasks-plugin"]"#), true), (Some("[]"), false)] {
        let files = [("a.md", note), (PLUGIN, SETTINGS)];
        let world = World::open(&files.into_iter().chain(list.map(|list| (LIST, list))).collect::<Vec<_>>()).await;
        for (filter, on, off) in [
            ("not done", vec!["real"], vec!["real", "shopping", "fwd", "pay"]),
            ("status.name includes Forwarded", vec!["fwd"], vec![]),
            ("status.type is ON_HOLD", vec![], vec![]),
            ("has due date", vec![], vec!["real"]),
            ("has tags", vec![], vec!["real", "fwd"]),
        ] {
            let found = described(world.ok("tasks_filter", json!({ "filter": filter })).await);
            assert_eq!(found, if is_on { on } else { off }, "{filter} {list:?}");
        }
        let done = described(world.ok("list_tasks", json!({ "status": ["done"] })).await);
        assert_eq!(done, if is_on { vec!["fwd"] } else { vec![] });
        let due = json!({ "path": "a.md", "line": 4, "set": { "due": "2026-12-01" } });
        let changed = world.ok("update_task", due).await;
        assert_eq!(changed["new_state"]["due"], "2026-12-01");
        let text = world.ok("note_read", json!({ "path": "a.md" })).await["content"].to_string();
        let field = if is_on { "pay rent  [due:: 2026-12-01]" } else { "pay rent 📅 2026-12-01" };
        assert!(text.contains(field), "{text}");
    }
}
