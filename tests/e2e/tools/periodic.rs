//! obsidian-tc's tools for periodic notes.

use atlas_testkit::VaultBuilder;
use serde_json::json;

use crate::support::deployment::Deployment;
use crate::support::tools::Tools;
use crate::support::world::{World, caller};

const DAILY: &[u8] = br#"{"folder": "Log", "format": "YYYY/MM-DD", "template": "templates/day"}"#;
const PLUGIN: &[u8] =
    br#"{"weekly": {"enabled": true, "folder": "Weeks", "format": "GGGG-[W]WW"}, "yearly": {"enabled": false}}"#;

fn vault() -> VaultBuilder {
    VaultBuilder::new()
        .file(".obsidian/daily-notes.json", DAILY)
        .file(".obsidian/plugins/periodic-notes/data.json", PLUGIN)
        .note("templates/day.md", "---\nday: {{date}}\n---\n# {{title}} {{date:dddd}}\n\n## Log\n\n## Later\n")
        .file("templates/day.png", b"\x89PNG")
        .note("Log/2026/01-02.md", "second\n")
        .note("Log/2026/01-10.md", "tenth\n")
        .note("Log/2026/other.md", "no day\n")
        .note("Weeks/2026-W01.md", "first\n")
}

#[tokio::test]
async fn a_note_is_found_and_made_where_the_vaults_settings_say() {
    let client = Deployment::of_vault(&vault()).await.client();
    let tools = Tools::of(&client);
    let get = |date: &str| json!({ "period": "daily", "date": date });
    let there = tools.good("get_periodic_note", get("2026-01-02")).await;
    assert_eq!(
        there,
        json!({ "period": "daily", "date": "2026-01-02", "path": "Log/2026/01-02.md", "exists": true, "content": "second\n" })
    );
    let absent = tools.good("get_periodic_note", get("2026-01-03")).await;
    assert_eq!(
        absent,
        json!({ "period": "daily", "date": "2026-01-03", "path": "Log/2026/01-03.md", "exists": false })
    );

    let made = tools.good("create_periodic_note", get("2026-01-03")).await;
    assert_eq!((&made["path"], &made["template_used"]), (&json!("Log/2026/01-03.md"), &json!("templates/day.md")));
    let filled = "---\nday: 2026-01-03\n---\n# 01-03 Saturday\n\n## Log\n\n## Later\n";
    assert_eq!(tools.text("Log/2026/01-03.md").await, filled);
    tools.bad("create_periodic_note", get("2026-01-03"), "note_exists").await;
    let week = json!({ "period": "weekly", "date": "2026-01-07", "template_override": "Log/2026/01-02.md" });
    let made = tools.good("create_periodic_note", week).await;
    assert_eq!(made["path"], "Weeks/2026-W02.md");
    assert_eq!(tools.text("Weeks/2026-W02.md").await, "second\n");

    let find = json!({ "period": "daily", "date": "2026-01-04" });
    let found = tools.good("find_or_create_periodic_note", find.clone()).await;
    assert_eq!((&found["created"], &found["frontmatter"]), (&json!(true), &json!({ "day": "2026-01-04" })));
    let found = tools.good("find_or_create_periodic_note", find).await;
    assert_eq!((&found["created"], found["content"].is_string()), (&json!(false), true));
}

#[tokio::test]
async fn notes_in_another_language_are_found_and_never_doubled() {
    let vault = VaultBuilder::new()
        .file(".obsidian/daily-notes.json", br#"{"folder": "J", "format": "YYYY-MM-DD dddd", "template": "jt"}"#)
        .file(".obsidian/community-plugins.json", br#"["calendar"]"#)
        .file(".obsidian/plugins/calendar/data.json", br#"{"weekStart": "monday"}"#)
        .file(
            ".obsidian/plugins/periodic-notes/data.json",
            br#"{"daily": {"enabled": true}, "weekly": {"enabled": true}}"#,
        )
        .note("T/jt.md", "# {{date:dddd}}\n")
        .note("J/2026-11-27 Freitag.md", "there\n");
    let client = Deployment::of_vault(&vault).await.client();
    let tools = Tools::of(&client);
    let of = |date: &str| json!({ "period": "daily", "date": date });
    let found = tools.good("find_or_create_periodic_note", of("2026-11-27")).await;
    assert_eq!((&found["path"], &found["created"]), (&json!("J/2026-11-27 Freitag.md"), &json!(false)));
    let listed = tools.good("list_periodic_notes", json!({ "period": "daily" })).await;
    assert_eq!(listed["items"][0]["date"], "2026-11-27");
    let error = tools.bad("create_periodic_note", of("2026-11-28"), "settings_invalid").await;
    assert!(error["message"].as_str().unwrap().contains("context.locale"), "{error}");
    // The plugin is turned off.
    tools.bad("get_periodic_note", json!({ "period": "weekly" }), "plugin_missing").await;

    let vault = vault.file(".obsidian/plugins/calendar/data.json", br#"{"localeOverride": "de"}"#);
    let client = Deployment::of_vault(&vault).await.client();
    let tools = Tools::of(&client);
    let made = tools.good("create_periodic_note", of("2026-11-28")).await;
    assert_eq!((&made["path"], &made["template_used"]), (&json!("J/2026-11-28 Samstag.md"), &json!("T/jt.md")));
    assert_eq!(tools.text("J/2026-11-28 Samstag.md").await, "# Samstag\n");
}

#[tokio::test]
async fn the_language_of_notes_among_many_others_is_found_also_by_digits_alone() {
    let format = br#"{"format": "YYYY-MM-DD dddd"}"#;
    let mut vault =
        VaultBuilder::new().file(".obsidian/daily-notes.json", format).note("2026-11-20 Freitag.md", "there\n");
    for number in 0..600 {
        vault = vault.note(&format!("Zettel {number}.md"), "");
    }
    let client = Deployment::of_vault(&vault).await.client();
    let tools = Tools::of(&client);
    let of = |date: &str| json!({ "period": "daily", "date": date });
    assert_eq!(tools.good("get_periodic_note", of("2026-11-20")).await["content"], "there\n");
    tools.bad("create_periodic_note", of("2026-11-21"), "settings_invalid").await;

    let names = ["2026-11-19", "2026-11-18", "٢٠٢٦-١١-٢٠"];
    let vault = names.iter().fold(VaultBuilder::new(), |vault, name| vault.note(&format!("{name}.md"), "there\n"));
    let client = Deployment::of_vault(&vault).await.client();
    let tools = Tools::of(&client);
    let found = tools.good("find_or_create_periodic_note", of("2026-11-20")).await;
    assert_eq!((&found["content"], &found["created"]), (&json!("there\n"), &json!(false)));
    assert_eq!(tools.good("find_or_create_periodic_note", of("2026-11-21")).await["path"], "2026-11-21.md");
    let client = Deployment::of_vault(&VaultBuilder::new().note("٢٠٢٦-١١-٢٠.md", "there\n")).await.client();
    let found = Tools::of(&client).good("find_or_create_periodic_note", of("2026-11-20")).await;
    assert_eq!((&found["content"], &found["created"]), (&json!("there\n"), &json!(false)));
    let error = Tools::of(&client).bad("find_or_create_periodic_note", of("2026-11-21"), "settings_invalid").await;
    assert!(error["message"].as_str().unwrap().contains("context.locale"), "{error}");
}

#[tokio::test]
async fn settings_of_others_that_cannot_be_read_stop_nothing() {
    let vault = VaultBuilder::new()
        .file(".obsidian/community-plugins.json", b"<<<<<<< HEAD\n[]\n")
        .file(".obsidian/app.json", b"{")
        .file(".obsidian/plugins/calendar/data.json", b"{")
        .note("2026-01-02.md", "- [ ] there\n");
    let client = Deployment::of_vault(&vault).await.client();
    let tools = Tools::of(&client);
    let found = tools.good("get_periodic_note", json!({ "period": "daily", "date": "2026-01-02" })).await;
    assert_eq!(found["exists"], true);
    for (tool, call) in [("list_tasks", json!({})), ("tasks_filter", json!({ "filter": "not done" }))] {
        assert_eq!(tools.good(tool, call).await["items"][0]["description"], "there", "{tool}");
    }
}

#[tokio::test]
async fn a_template_that_is_not_there_is_named() {
    let vault = VaultBuilder::new()
        .file(".obsidian/daily-notes.json", br#"{"template": "lost"}"#)
        .note("2026-01-02.md", "there\n");
    let client = Deployment::of_vault(&vault).await.client();
    let tools = Tools::of(&client);
    let of = |date: &str| json!({ "period": "daily", "date": date });
    let error = tools.bad("find_or_create_periodic_note", of("2026-01-03"), "template_unusable").await;
    assert!(error["message"].as_str().unwrap().contains("lost.md"), "{error}");
    let found = tools.good("find_or_create_periodic_note", of("2026-01-02")).await;
    assert_eq!(found["content"], "there\n");
}

#[tokio::test]
async fn text_is_added_to_a_note_once_or_under_a_heading() {
    let client = Deployment::of_vault(&vault()).await.client();
    let tools = Tools::of(&client);
    let call = |content: &str, more: serde_json::Value| {
        let mut call = json!({ "period": "daily", "date": "2026-01-02", "content": content, "idempotency_key": format!("to-{content}") });
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    let keyed = call("one", json!({ "idempotency_key": "k" }));
    let first = tools.good("append_to_periodic_note", keyed.clone()).await;
    let again = tools.good("append_to_periodic_note", keyed).await;
    for answer in [&first, &again] {
        assert_eq!((&answer["appended_bytes"], &answer["created"]), (&json!(4), &json!(false)));
        assert_eq!(answer["content_hash"], first["content_hash"]);
    }
    tools.good("append_to_periodic_note", call("two", json!({ "heading": "Notes" }))).await;
    tools.good("append_to_periodic_note", call("three", json!({ "heading": "## Notes" }))).await;
    tools.good("append_to_periodic_note", call("!", json!({ "ensure_newline": false }))).await;
    assert_eq!(tools.text("Log/2026/01-02.md").await, "second\none\n\n## Notes\n\ntwo\nthree\n!");
    let made =
        json!({ "period": "daily", "date": "2026-02-01", "content": "x", "heading": "Log", "idempotency_key": "log" });
    let made = tools.good("append_to_periodic_note", made).await;
    assert_eq!((&made["created"], &made["appended_bytes"]), (&json!(true), &json!(2)));
    assert!(tools.text("Log/2026/02-01.md").await.ends_with("## Log\nx\n\n## Later\n"));
}

#[tokio::test]
async fn notes_are_listed_by_date_and_in_pages() {
    let client = Deployment::of_vault(&vault()).await.client();
    let tools = Tools::of(&client);
    let list = |more: serde_json::Value| {
        let mut call = json!({ "period": "daily" });
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tools.good("list_periodic_notes", call)
    };
    let paths = |page: &serde_json::Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap().to_owned()).collect()
    };
    let all = list(json!({})).await;
    assert_eq!(paths(&all), ["Log/2026/01-02.md", "Log/2026/01-10.md"]);
    assert_eq!(all["items"][0]["date"], "2026-01-02");
    let first = list(json!({ "limit": 1 })).await;
    let second = list(json!({ "limit": 1, "cursor": first["cursor"] })).await;
    assert_eq!([paths(&first), paths(&second)].concat(), paths(&all));
    assert_eq!(paths(&list(json!({ "from": "2026-01-03", "to": "2026-01-10" })).await), ["Log/2026/01-10.md"]);
    let weeks = tools.good("list_periodic_notes", json!({ "period": "weekly" })).await;
    assert_eq!(
        (paths(&weeks), &weeks["items"][0]["date"]),
        (vec!["Weeks/2026-W01.md".to_owned()], &json!("2025-12-29"))
    );
}

#[tokio::test]
async fn what_is_not_set_up_or_cannot_be_is_told() {
    let client = Deployment::of_vault(&vault()).await.client();
    let tools = Tools::of(&client);
    for period in ["yearly", "monthly"] {
        for (tool, content) in [
            ("get_periodic_note", None),
            ("create_periodic_note", None),
            ("find_or_create_periodic_note", None),
            ("append_to_periodic_note", Some("x")),
            ("list_periodic_notes", None),
        ] {
            let mut call = json!({ "period": period });
            if let Some(content) = content {
                call["content"] = json!(content);
                call["idempotency_key"] = json!(period);
            }
            let error = tools.bad(tool, call, "plugin_missing").await;
            assert_eq!(error["details"]["plugin"], "periodic-notes");
        }
    }
    for (call, field) in [
        (json!({ "period": "daily", "date": "2026-02-30" }), "date"),
        (json!({ "period": "daily", "timezone": "Nowhere/Else" }), "timezone"),
    ] {
        assert_eq!(tools.bad("get_periodic_note", call, "invalid_input").await["details"]["field"], field);
    }
    let template = json!({ "period": "daily", "template_override": "no.md" });
    tools.bad("create_periodic_note", template, "note_not_found").await;
    let picture = json!({ "period": "daily", "date": "2027-01-02", "template_override": "templates/day.png" });
    tools.bad("create_periodic_note", picture, "template_unusable").await;

    // Without settings, daily notes are where Obsidian puts them.
    let client = Deployment::of_vault(&VaultBuilder::new().note("a.md", "")).await.client();
    let tools = Tools::of(&client);
    let today =
        tools.good("find_or_create_periodic_note", json!({ "period": "daily", "timezone": "Asia/Tokyo" })).await;
    assert_eq!(today["path"].as_str().unwrap(), format!("{}.md", today["date"].as_str().unwrap()));
    let broken = VaultBuilder::new().note("a.md", "").file(".obsidian/daily-notes.json", b"{");
    let client = Deployment::of_vault(&broken).await.client();
    let tools = Tools::of(&client);
    tools.bad("get_periodic_note", json!({ "period": "daily" }), "settings_invalid").await;
}

#[tokio::test]
async fn a_hidden_note_is_not_told_of() {
    let deployment = Deployment::of_vault(&vault()).await;
    let config = json!({ "acl": { "readPaths": ["Weeks/**", "a/**"], "writePaths": ["**"] } }).to_string();
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
    let tools = Tools::of(&client);
    for date in ["2026-01-02", "2026-01-03"] {
        for tool in ["get_periodic_note", "create_periodic_note", "find_or_create_periodic_note"] {
            tools.bad(tool, json!({ "period": "daily", "date": date }), "acl_denied").await;
        }
    }
    let listed = tools.good("list_periodic_notes", json!({ "period": "daily" })).await;
    assert_eq!((&listed["items"], &listed["total_count"]), (&json!([]), &json!(0)));
}

#[tokio::test]
async fn where_a_hidden_periodic_note_is_is_not_told() {
    let settings = r#"{"folder": "Private/Therapy"}"#;
    let notes = [(".obsidian/daily-notes.json", settings), ("a.md", "x")];
    let notes = notes.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    let acl = json!({ "rules": [{ "glob": "Private/**", "scopes": ["team:a"] }] });
    let world = World::of(&[notes], &acl, caller(&[])).await;
    for (name, more) in [
        ("get_periodic_note", json!({})),
        ("create_periodic_note", json!({})),
        ("find_or_create_periodic_note", json!({})),
        ("append_to_periodic_note", json!({ "content": "x", "idempotency_key": "1" })),
    ] {
        let mut arguments = more;
        arguments["period"] = "daily".into();
        let told = world.told(name, arguments).await;
        assert_eq!(told["details"]["reason"], "acl_denied", "{name}: {told}");
        assert!(!told.to_string().contains("Private"), "{name}: {told}");
    }
}
