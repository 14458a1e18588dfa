//! Actions of the plugin QuickAdd.

use std::collections::BTreeMap;

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tools::{Tools, guarded};
use crate::support::world::{World, caller};

const SETTINGS: &str = ".obsidian/plugins/quickadd/data.json";

fn settings() -> String {
    let capture = |name: &str, to: &str, more: Value| {
        let mut choice = json!({
            "id": format!("id-{name}"), "name": name, "type": "Capture", "captureTo": to, "captureToActiveFile": false,
            "createFileIfItDoesntExist": { "enabled": false }, "format": { "enabled": false, "format": "" }, "prepend": true, "task": false,
            "insertAfter": { "enabled": false, "after": "" },
        });
        choice.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        choice
    };
    let template = |name: &str, more: Value| {
        let mut choice = json!({ "id": format!("id-{name}"), "name": name, "type": "Template", "templatePath": "Templates/Meeting.md" });
        choice.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        choice
    };
    let below = json!({ "insertAfter": { "enabled": true, "after": "## {{VALUE:where}}", "insertAtEnd": true, "createIfNotFound": true, "createIfNotFoundLocation": "bottom" }, "task": true });
    let made = json!({ "createFileIfItDoesntExist": { "enabled": true, "createWithTemplate": true, "template": "Templates/Day" }, "format": { "enabled": true, "format": "{{TIME:YYYY}} {{VALUE}} in {{TITLE}}\\n" } });
    json!({
        "choices": [
            capture("Log", "Log.md", json!({})),
            capture("Task", "Log.md", below),
            { "id": "g", "name": "Group", "type": "Multi", "choices": [
                capture("Day", "Days/{{VDATE:day,YYYY}}", made),
                capture("Hidden", "Secret/Log.md", json!({})),
                capture("Here", "", json!({ "captureToActiveFile": true })),
                capture("Script", "Log.md", json!({ "format": { "enabled": true, "format": "{{MACRO:run}}" } })),
            ] },
            template("Meeting", json!({ "folder": { "enabled": true, "folders": ["Meetings", "Other"] }, "fileNameFormat": { "enabled": true, "format": "{{DATE:YYYY}} {{VALUE:topic}}" } })),
            template("Count", json!({ "fileExistsMode": "Increment the file name", "setFileExistsBehavior": true })),
            template("Over", json!({ "fileExistsBehavior": { "kind": "apply", "mode": "overwrite" } })),
            template("Below", json!({ "fileExistsBehavior": { "kind": "apply", "mode": "appendBottom" } })),
            template("Still", json!({ "fileExistsBehavior": { "kind": "apply", "mode": "doNothing" } })),
            { "id": "m", "name": "Run", "type": "Macro", "macro": { "commands": [] } },
        ],
        "globalVariables": { "port": "Harbour" },
        "ai": { "providers": [{ "apiKey": "" }] },
    })
    .to_string()
}

fn notes() -> BTreeMap<String, String> {
    let notes = [
        (SETTINGS, settings()),
        ("Log.md", "---\na: 1\n---\n# Log\n## Quay\n- [ ] Old\n\n## End\n".to_owned()),
        ("Secret/Log.md", "hidden\n".to_owned()),
        (
            "Templates/Meeting.md",
            "# {{TITLE}} at <% tp.date.now('YYYY') %> {{VALUE}} {{GLOBAL_VAR:port}} {{TEMPLATE:Templates/Day.md}}\n"
                .to_owned(),
        ),
        ("Templates/Day.md", "day".to_owned()),
    ];
    notes.into_iter().map(|(path, text)| (path.to_owned(), text)).collect()
}

async fn world() -> World {
    let acl = json!({ "rules": [{ "glob": "Secret/**", "scopes": ["read:secret"] }] });
    World::of(&[notes()], &acl, caller(&[])).await
}

async fn text(world: &World, path: &str) -> String {
    world.ok("note_read", json!({ "path": path })).await["content"].as_str().unwrap().to_owned()
}

fn run(action: &str, args: Value) -> Value {
    json!({ "action_name": action, "args": args })
}

#[tokio::test]
async fn actions_are_listed_with_what_they_need() {
    let world = World { caller: caller(&["read:secret".to_owned()]), ..world().await };
    let listed = world.ok("list_quickadd_actions", json!({})).await;
    let items: Vec<Value> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| json!([item["name"], item["type"], item["group"], item["parameters"], item["needs_app"]]))
        .collect();
    let none = Value::Null;
    let expected = [
        json!(["Log", "capture", none, ["value"], none]),
        json!(["Task", "capture", none, ["value", "where"], none]),
        json!(["Group", "multi", none, none, none]),
        json!(["Day", "capture", "Group", ["day", "value"], none]),
        json!(["Hidden", "capture", "Group", ["value"], none]),
        json!(["Here", "capture", "Group", ["value"], "a capture to the note that is open"]),
        json!(["Script", "capture", "Group", none, "{{MACRO:run}}"]),
        json!(["Meeting", "template", none, ["topic"], none]),
        json!(["Count", "template", none, ["value"], none]),
        json!(["Over", "template", none, ["value"], none]),
        json!(["Below", "template", none, ["value"], none]),
        json!(["Still", "template", none, ["value"], none]),
        json!(["Run", "macro", none, none, "a macro"]),
    ];
    assert_eq!(items, expected);
    assert!(!listed.to_string().contains("Secret"));
    assert_eq!(World::open(&[("a.md", "x")]).await.refused("list_quickadd_actions", json!({})).await, "plugin_missing");
}

#[tokio::test]
async fn a_capture_is_added_where_the_action_says() {
    let world = world().await;
    let told = world.ok("trigger_quickadd", run("Log", json!({ "value": "{{DATE}} seen" }))).await;
    assert_eq!((&told["modified_paths"], &told["type"]), (&json!(["Log.md"]), &json!("capture")));
    assert!(told.get("created_paths").is_none());
    world.ok("trigger_quickadd", run("Task", json!({ "value": "New", "where": "Quay" }))).await;
    world.ok("trigger_quickadd", run("id-Task", json!({ "value": "Other", "where": "Sea" }))).await;
    let expected =
        "---\na: 1\n---\n# Log\n## Quay\n- [ ] Old\n- [ ] New\n\n## End\n{{DATE}} seen\n## Sea\n- [ ] Other\n";
    assert_eq!(text(&world, "Log.md").await, expected);
    let day = world.ok("trigger_quickadd", run("Day", json!({ "value": "fog", "day": "2031-05-06" }))).await;
    assert_eq!(day["created_paths"], json!(["Days/2031.md"]));
    let text = text(&world, "Days/2031.md").await;
    assert_eq!(text, "day\n1970 fog in 2031\n");
}

#[tokio::test]
async fn a_note_is_made_of_a_template_and_what_is_there_becomes_what_the_action_says() {
    let world = world().await;
    let meeting =
        json!({ "action_name": "Meeting", "args": { "topic": "Berths", "value": "<% tp.x %>" }, "folder": "Other" });
    let made = world.ok("trigger_quickadd", meeting.clone()).await;
    let path = made["created_paths"][0].as_str().unwrap();
    assert_eq!(path, "Other/1970 Berths.md");
    let title = path.strip_prefix("Other/").and_then(|path| path.strip_suffix(".md")).unwrap();
    let year = &title[..4];
    // The caller's values are text, and no command.
    let expected = format!("# {title} at {year} <% tp.x %> Harbour day\n");
    assert_eq!(text(&world, path).await, expected);
    assert_eq!(world.refused("trigger_quickadd", meeting).await, "note_exists");
    for name in ["Log2", "Log3", "Log4"] {
        let made = world.ok("trigger_quickadd", run("Count", json!({ "value": "Log2" }))).await;
        assert_eq!(made["created_paths"], json!([format!("{name}.md")]));
    }
    let over = world.ok("trigger_quickadd", run("Over", json!({ "value": "Log3" }))).await;
    assert_eq!(over["modified_paths"], json!(["Log3.md"]));
    assert!(text(&world, "Log3.md").await.starts_with("# Log3 at "));
    world.ok("trigger_quickadd", run("Below", json!({ "value": "Log" }))).await;
    let log = text(&world, "Log.md").await;
    assert!(log.starts_with("---\na: 1\n---\n# Log\n") && log.contains("## End\n# Log at "), "{log}");
    let still = world.ok("trigger_quickadd", run("Still", json!({ "value": "Log" }))).await;
    assert!(still.get("modified_paths").is_none() && text(&world, "Log.md").await == log);
}

#[tokio::test]
async fn what_needs_the_app_or_is_wrong_is_refused_by_name() {
    let world = world().await;
    for (call, reason) in [
        (run("Run", json!({})), "plugin_missing"),
        (run("Here", json!({ "value": "x" })), "plugin_missing"),
        (run("Script", json!({})), "plugin_missing"),
        (run("Group", json!({})), "invalid_input"),
        (run("None", json!({})), "invalid_input"),
        (run("Log", json!({})), "invalid_input"),
        (run("Log", json!({ "value": [] })), "invalid_input"),
        (run("Log", json!({ "value": " " })), "invalid_input"),
        (run("Day", json!({ "value": "x", "day": "soon" })), "template_unusable"),
        (run("Meeting", json!({ "topic": "x", "value": "y" })), "invalid_input"),
        (
            json!({ "action_name": "Meeting", "args": { "topic": "x", "value": "y" }, "folder": "Third" }),
            "invalid_input",
        ),
        (json!({ "action_name": "Over", "args": { "value": "y" }, "folder": "Third" }), "invalid_input"),
        (run("Over", json!({ "value": "../x" })), "path_invalid"),
        (run("Over", json!({ "value": ".obsidian/x" })), "path_invalid"),
        (run("Hidden", json!({ "value": "x" })), "acl_denied"),
    ] {
        assert_eq!(world.refused("trigger_quickadd", call.clone()).await, reason, "{call}");
    }
    // It is not said where the action writes.
    let hidden = world.told("trigger_quickadd", run("Hidden", json!({ "value": "x" }))).await;
    assert!(!hidden.to_string().contains("Secret"), "{hidden}");
    let missing = world.told("trigger_quickadd", run("Task", json!({}))).await;
    assert!(missing["message"].as_str().unwrap().contains("give "), "{missing}");
}

#[tokio::test]
async fn a_person_confirms_a_capture_and_what_replaces_a_note() {
    let vault = notes().iter().fold(VaultBuilder::new(), |vault, (path, text)| vault.file(path, text.as_bytes()));
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment);
    let tools = Tools::guarded(&client);
    tools.bad("trigger_quickadd", run("Log", json!({ "value": "x" })), "elicit_required").await;
    tools.confirmed("trigger_quickadd", run("Log", json!({ "value": "x" }))).await;
    tools.good("trigger_quickadd", run("Over", json!({ "value": "New" }))).await;
    tools.bad("trigger_quickadd", run("Over", json!({ "value": "Log" })), "elicit_required").await;
}
