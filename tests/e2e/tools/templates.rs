//! Templates of Obsidian's core plugin and of Templater.

use std::collections::BTreeMap;

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tools::{Tools, guarded};
use crate::support::world::{World, caller};

const NOTES: [(&str, &str); 7] = [
    (".obsidian/templates.json", r#"{ "folder": "Templates", "dateFormat": "DD.MM.YYYY" }"#),
    (".obsidian/plugins/templater-obsidian/data.json", r#"{ "templates_folder": "Templates/Templater" }"#),
    ("Templates/Meeting.md", "# {{title}} on {{date}}\n{{topic}} {{ other }} {{date:YYYY}}\n"),
    (
        "Templates/Templater/Day.md",
        "---\nstatus: open\n---\n# <% tp.file.title %> <% tp.frontmatter.status %>\n<%_ tp.date.now('YYYY', 'P1Y') %> {{topic}}",
    ),
    ("Templates/Templater/Program.md", "one\n<%* tR += await tp.user.mine() %>\n<% tp.system.prompt('x') %>"),
    ("Templates/Secret/Plan.md", "x"),
    ("there.md", "x\n"),
];

async fn world() -> World {
    let notes: BTreeMap<String, String> =
        NOTES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let acl = json!({ "rules": [{ "glob": "Templates/Secret/**", "scopes": ["read:secret"] }] });
    World::of(&[notes], &acl, caller(&[])).await
}

async fn text(world: &World, path: &str) -> Value {
    world.ok("note_read", json!({ "path": path })).await["content"].clone()
}

#[tokio::test]
async fn templates_are_listed_with_what_they_take_and_what_needs_the_app() {
    let listed = world().await.ok("list_templates", json!({})).await;
    let expected = json!([
        { "path": "Templates/Meeting.md", "name": "Meeting", "has_user_functions": false, "parameters": ["other", "topic"] },
        { "path": "Templates/Templater/Day.md", "name": "Day", "has_user_functions": false, "parameters": ["topic"] },
        {
            "path": "Templates/Templater/Program.md", "name": "Program", "has_user_functions": true,
            "needs_app": ["<%* (a program)", "`tp.system.prompt`"],
        },
    ]);
    assert_eq!(listed["items"], expected);
    let none = World::open(&[("a.md", "x")]).await;
    assert_eq!(none.refused("list_templates", json!({})).await, "plugin_missing");
}

#[tokio::test]
async fn a_note_is_made_of_a_template_and_what_runs_a_program_is_refused() {
    let world = world().await;
    let meeting = json!({ "template": "Templates/Meeting.md", "target": "Log/Berths.md", "args": { "topic": "{{date}} <% x %>" } });
    let made = world.ok("execute_template", meeting.clone()).await;
    let content = text(&world, "Log/Berths.md").await;
    let lines: Vec<&str> = content.as_str().unwrap().lines().collect();
    assert!(lines[0].starts_with("# Berths on ") && lines[0].len() == "# Berths on 01.02.2026".len(), "{lines:?}");
    // The caller's values are text and not templates.
    assert_eq!(lines[1], "{{date}} <% x %> {{ other }} 1970");
    assert_eq!(made["expanded_size"], content.as_str().unwrap().len());
    assert_eq!(world.refused("execute_template", meeting).await, "note_exists");
    world
        .ok(
            "execute_template",
            json!({ "template": "Templates/Templater/Day.md", "target": "Day.md", "timezone": "Europe/Berlin" }),
        )
        .await;
    let day = text(&world, "Day.md").await.to_string();
    assert!(day.contains("# Day open1971") && day.contains(" {{topic}}"), "{day}");
    for (arguments, reason) in [
        (json!({ "template": "Templates/Templater/Program.md", "target": "P.md" }), "plugin_missing"),
        (json!({ "template": "Templates/Secret/Plan.md", "target": "P.md" }), "acl_denied"),
        (json!({ "template": "Templates/None.md", "target": "P.md" }), "note_not_found"),
        (json!({ "template": "Templates/Meeting.md", "target": "there.md" }), "note_exists"),
        (json!({ "template": "Templates/Meeting.md", "target": "P.md", "args": { "topic": [] } }), "invalid_input"),
        (json!({ "template": "Templates/Meeting.md", "target": ".obsidian/P.md" }), "path_invalid"),
        (json!({ "template": "Templates/Meeting.md", "target": "P.md", "timezone": "Moon" }), "invalid_input"),
    ] {
        assert_eq!(world.refused("execute_template", arguments.clone()).await, reason, "{arguments}");
    }
}

#[tokio::test]
async fn a_day_among_the_values_is_written_in_the_formats_of_the_template() {
    let template = "{{date}} {{date:dddd D MMMM YYYY}} {{time:HH.mm}} {{title:x}}\n";
    let world = World::open(&[("t.md", template), ("plain.md", "{{date}}\n")]).await;
    let make =
        |template: &str, target: &str, args: Value| json!({ "template": template, "target": target, "args": args });
    let args = json!({ "date": "2026-12-24", "time": "18:30", "title": "Eve" });
    world.ok("execute_template", make("t.md", "a.md", args)).await;
    assert_eq!(text(&world, "a.md").await, "2026-12-24 Thursday 24 December 2026 18.30 Eve\n");
    for args in [json!({ "date": "Christmas" }), json!({ "time": "late" })] {
        let refused = world.call("execute_template", make("t.md", "b.md", args)).await.unwrap_err();
        assert_eq!(refused.reason(), "invalid_input");
        assert!(refused.message.contains("give it as"), "{}", refused.message);
    }
    // Without a format any text will do.
    world.ok("execute_template", make("plain.md", "c.md", json!({ "date": "Christmas" }))).await;
    assert_eq!(text(&world, "c.md").await, "Christmas\n");
}

#[tokio::test]
async fn a_note_is_replaced_once_a_person_has_confirmed_it() {
    let vault = VaultBuilder::new().note("t.md", "# {{title}}\n").note("there.md", "x\n");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment);
    let tools = Tools::guarded(&client);
    let replace = json!({ "template": "t.md", "target": "there.md", "overwrite": true });
    tools.bad("execute_template", replace.clone(), "elicit_required").await;
    tools.confirmed("execute_template", replace).await;
    assert_eq!(tools.text("there.md").await, "# there\n");
}
