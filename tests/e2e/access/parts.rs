//! Callers who may read a part of a vault: what they decide on, change, and learn beside the notes.

use std::collections::BTreeMap;

use atlas_access::{Caller, Scope, Scopes};
use atlas_ops::pipeline::idempotency::arguments_hash;
use atlas_ops::{Call, Error, dispatch};
use atlas_tools::operations;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment};
use crate::support::obsidian::{Kind, Obsidian, agent};
use crate::support::tokens::{bearer, send, token_of};
use crate::support::world::{World, caller, caller_within};

const QUICKADD: &str = ".obsidian/plugins/quickadd/data.json";

fn hiding() -> Value {
    json!({ "rules": [{ "glob": "secret/**", "scopes": ["team:a"] }] })
}

fn team() -> Caller {
    caller(&["team:a".to_owned()])
}

fn notes(notes: &[(&str, &str)]) -> BTreeMap<String, String> {
    notes.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

fn vault() -> BTreeMap<String, String> {
    let over = json!({ "choices": [{
        "id": "o", "name": "Over", "type": "Template", "templatePath": "secret/T.md",
        "fileNameFormat": { "enabled": true, "format": "open/{{VALUE}}" },
        "fileExistsBehavior": { "kind": "apply", "mode": "overwrite" },
    }] });
    notes(&[
        ("open/n.md", "one\n"),
        ("open/l.md", "see [[open/n]]\n"),
        ("secret/n.md", "hidden\n"),
        ("secret/T.md", "of a template\n"),
        (QUICKADD, &over.to_string()),
    ])
}

/// The same vault, for another caller.
fn by(world: &World, caller: Caller) -> World {
    World { atlas: world.atlas.clone(), caller }
}

fn named(name: &str, scopes: &[&str]) -> Caller {
    Caller::of_scopes(name, Scopes::named(scopes.iter().copied()))
}

/// Those who decide: one who sees all, one without a scope of the list, one for a folder.
fn approvers() -> [Caller; 3] {
    let scopes = Scopes::named(["read:vault", "approve:vault", "team:a"]);
    [
        named("chief", &["read:vault", "approve:vault", "team:a"]),
        named("part", &["read:vault", "approve:vault"]),
        Caller::of_scopes("folder", scopes.within(&["open".to_owned()])),
    ]
}

async fn call(world: &World, name: &str, arguments: &Value, token: Option<&str>) -> Result<Value, Error> {
    let operation = operations().iter().find(|entry| entry.info.name == name).unwrap();
    let call = Call::new(operation, arguments.clone(), world.caller.clone(), || Timestamp::UNIX_EPOCH);
    let confirmation = token.map(str::to_owned);
    dispatch(&world.atlas, Call { confirmation, ..call }).await.map(|answer| answer.value)
}

/// Calls that read or change a hidden note.
fn hidden_calls() -> [(&'static str, Value); 5] {
    [
        ("delete_note", json!({ "path": "secret/n.md" })),
        ("copy_note", json!({ "from": "secret/n.md", "to": "open/c.md" })),
        ("execute_template", json!({ "template": "secret/T.md", "target": "open/n.md", "overwrite": true })),
        ("rewrite_link", json!({ "from_target": "open/n", "to_target": "secret/n", "dry_run": false })),
        ("trigger_quickadd", json!({ "action_name": "Over", "args": { "value": "n" } })),
    ]
}

#[tokio::test]
async fn a_token_is_for_calls_of_which_its_giver_may_read_all() {
    let world = World::of(&[vault()], &hiding(), team()).await;
    let made = async |approver: &World, name: &str, arguments: &Value| {
        let args_hash = arguments_hash(name, arguments);
        let given = approver.ok("approve", json!({ "operation": name, "args_hash": args_hash })).await;
        call(&world, name, arguments, given["token"].as_str()).await
    };
    let [chief, part, folder] = approvers().map(|approver| by(&world, approver));
    for approver in [&part, &folder] {
        for (name, arguments) in hidden_calls() {
            let error = made(approver, name, &arguments).await.unwrap_err();
            assert_eq!(error.reason(), "elicit_required", "{name}: {error:?}");
            let why = error.details["elicit_token"].as_str().unwrap();
            assert!(why.contains("somebody who may not read"), "{name}: {why}");
        }
        world.ok("write_note", json!({ "path": "open/p.md", "content": "x" })).await;
        made(approver, "delete_note", &json!({ "path": "open/p.md" })).await.unwrap();
    }
    let (name, arguments) = &hidden_calls()[0];
    made(&chief, name, arguments).await.unwrap();
}

#[tokio::test]
async fn who_may_not_read_what_a_call_reads_sees_and_decides_nothing_of_it() {
    let world = World::of(&[vault()], &hiding(), team()).await;
    let [chief, part, folder] = approvers().map(|approver| by(&world, approver));
    for (name, arguments) in hidden_calls() {
        let error = call(&world, name, &arguments, None).await.unwrap_err();
        assert_eq!(error.reason(), "elicit_required", "{name}: {error:?}");
        let id = error.details["approval"]["id"].as_str().unwrap();
        for approver in [&part, &folder] {
            let listed = approver.ok("list_approvals", json!({ "id": id })).await;
            assert_eq!((&listed["approvals"], &listed["hidden"]), (&json!([]), &json!(1)), "{name}");
            assert!(!listed.to_string().contains("secret"), "{name}: {listed}");
            for decision in ["approve", "refuse"] {
                assert_eq!(approver.refused(decision, json!({ "id": id })).await, "acl_denied", "{name}");
            }
        }
        assert_eq!(chief.ok("list_approvals", json!({ "id": id })).await["approvals"][0]["operation"], name);
        chief.ok("approve", json!({ "id": id })).await;
    }
}

/// A list of what may be read holds for everybody, so that it makes nobody one who sees a part.
#[tokio::test]
async fn a_command_is_decided_on_where_a_list_says_what_may_be_read() {
    let obsidian = Obsidian::start(Kind::default()).await;
    let hiding = json!([{ "glob": "secret/**", "scopes": ["team:a"] }]);
    let post = async |client: &Client, scopes: &str, uri: &str, body: Value| {
        send(client, "POST", uri, &[bearer(&token_of("person", scopes, None))], &body).await
    };
    for (acl, may_admin) in [
        (json!({ "readPaths": ["**"], "strictReadDefault": true }), true),
        (json!({ "readPaths": ["vault/**"] }), true),
        (json!({ "readPaths": ["**"], "rules": hiding }), false),
        (json!({ "rules": hiding }), false),
    ] {
        let deployment = Deployment::of_demo().await;
        let client = obsidian.place().near(&deployment, json!({ "acl": acl })).await;
        let scopes = [Scope::ReadVault, Scope::WriteVault, Scope::ExecuteCommand];
        let command = json!({ "command_id": "app:go-back" });
        let error = agent(&client, &scopes).failure("execute_command", command).await;
        assert_eq!(error["code"], "elicit_required", "{acl}: {error}");
        let id = &error["details"]["approval"]["id"];
        let admin = "read:vault admin";
        let listed = post(&client, admin, "/list_approvals", json!({ "id": id })).await.ok();
        assert_eq!(listed["approvals"].as_array().unwrap().len(), usize::from(may_admin), "{acl}: {listed}");
        let approved = post(&client, admin, "/approve", json!({ "id": id })).await;
        if may_admin {
            approved.ok();
        } else {
            let (_, reason, message) = approved.error(403);
            assert!(reason == "acl_denied" && message.contains("the whole vault"), "{acl}: {message}");
            post(&client, "read:vault approve:vault team:a", "/approve", json!({ "id": id })).await.ok();
        }
    }
}

#[tokio::test]
async fn a_message_that_an_operation_made_names_no_hidden_note() {
    let mut world = World::of(&[vault()], &hiding(), Caller::trusted("alice")).await;
    world.ok("copy_note", json!({ "from": "secret/n.md", "to": "open/c.md" })).await;
    world.ok("rewrite_link", json!({ "from_target": "open/n", "to_target": "secret/n", "dry_run": false })).await;
    world.ok("write_note", json!({ "path": "open/w.md", "content": "x", "message": "told to all" })).await;
    let asked = [
        ("note_history", json!({ "path": "open/c.md" })),
        ("note_history", json!({ "path": "open/l.md" })),
        ("list_commits", json!({})),
    ];
    for (name, arguments) in &asked {
        assert!(world.told(name, arguments.clone()).await.to_string().contains("secret/n"), "{name} {arguments}");
    }
    for restricted in [caller(&[]), caller_within(&["team:a".to_owned()], Some(&["open".to_owned()]))] {
        world.caller = restricted;
        for (name, arguments) in &asked {
            let told = world.told(name, arguments.clone()).await.to_string();
            assert!(!told.contains("secret") && !told.contains("\"code\""), "{name} {arguments}: {told}");
        }
        assert!(world.told("list_commits", json!({})).await.to_string().contains("told to all"));
    }
}

#[tokio::test]
async fn settings_are_changed_by_those_who_may_write_there() {
    let bookmarks = json!({ "items": [
        { "type": "file", "path": "inbox/a.md" }, { "type": "file", "path": "open/n.md" }, { "type": "url", "url": "https://example.com/" },
        { "type": "folder", "path": "inbox" }, { "type": "folder", "path": "open" },
    ] })
    .to_string();
    let files = notes(&[("inbox/a.md", "a"), ("open/n.md", "n"), (".obsidian/bookmarks.json", &bookmarks)]);
    let app = ["execute:workspace".to_owned()];
    let file = |path: &str| ("add_bookmark", json!({ "type": "file", "target": path, "title": "Mine" }));
    let folder = |path: &str| ("add_bookmark", json!({ "type": "folder", "target": path }));
    let url = || ("add_bookmark", json!({ "type": "url", "target": "https://example.org/" }));
    let saved = || ("save_workspace", json!({ "name": "Desk", "layout": { "main": {} } }));
    let within = caller_within(&app, Some(&["inbox".to_owned()]));
    for (acl, caller, call, is_allowed) in [
        (json!({}), caller(&app), file("open/n.md"), true),
        (json!({}), caller(&app), url(), true),
        (json!({}), caller(&app), saved(), true),
        (json!({ "writePaths": ["inbox/**"] }), caller(&app), file("inbox/a.md"), true),
        (json!({ "writePaths": ["inbox/**"] }), caller(&app), file("open/n.md"), false),
        (json!({ "writePaths": ["inbox/**"] }), caller(&app), url(), false),
        (json!({ "writePaths": ["inbox/**"] }), caller(&app), saved(), false),
        (json!({ "writePaths": ["inbox/**"] }), caller(&app), folder("inbox"), true),
        (json!({ "writePaths": ["inbox/**"] }), caller(&app), folder("open"), false),
        (json!({ "writePaths": ["inbox/**"] }), caller(&app), folder("nowhere"), false),
        (json!({ "readPaths": ["inbox/**"] }), caller(&app), folder("inbox"), true),
        (json!({ "readPaths": ["inbox/**"] }), caller(&app), folder("open"), false),
        (json!({ "readPaths": ["inbox/**"] }), caller(&app), url(), false),
        (json!({ "readPaths": ["**"], "strictReadDefault": true }), caller(&app), url(), true),
        (json!({ "readPaths": ["**"], "strictReadDefault": true }), caller(&app), saved(), true),
        (json!({}), caller(&app), folder(".obsidian"), false),
        (json!({ "writePaths": ["**"] }), caller(&app), url(), true),
        (json!({ "writePaths": [] }), caller(&app), file("inbox/a.md"), false),
        (json!({ "writePaths": [] }), caller(&app), saved(), false),
        (hiding(), caller(&app), url(), false),
        (hiding(), caller(&app), saved(), false),
        (json!({}), within.clone(), file("inbox/a.md"), false),
        (json!({}), within.clone(), folder("inbox"), false),
        (json!({}), within.clone(), url(), false),
        (json!({}), within.clone(), saved(), false),
        (json!({}), within, ("remove_bookmark", json!({ "id": "x" })), false),
    ] {
        let world = World::of(std::slice::from_ref(&files), &acl, caller).await;
        let (name, arguments) = call;
        let told = world.told(name, arguments.clone()).await;
        let reason = &told["details"]["reason"];
        assert_eq!(
            reason,
            &if is_allowed { Value::Null } else { "acl_denied".into() },
            "{acl} {name} {arguments}: {told}"
        );
    }
    for (acl, removable) in [
        (json!({}), [true; 5]),
        (json!({ "readPaths": ["**"] }), [true; 5]),
        (json!({ "writePaths": ["inbox/**"] }), [true, false, false, true, false]),
        (json!({ "deletePaths": ["inbox/**"] }), [true, false, false, true, false]),
        (json!({ "deletePaths": [] }), [false; 5]),
    ] {
        let world = World::of(std::slice::from_ref(&files), &acl, caller(&[])).await;
        let listed = world.ok("list_bookmarks", json!({})).await;
        for (bookmark, is_removable) in listed["items"].as_array().unwrap().iter().zip(removable) {
            let told = world.told("remove_bookmark", json!({ "id": bookmark["id"] })).await;
            assert_eq!(told["removed"] == true, is_removable, "{acl} {bookmark}: {told}");
            assert!(is_removable || told["details"]["reason"] == "acl_denied", "{acl} {bookmark}: {told}");
        }
    }
}

#[tokio::test]
async fn settings_tell_nothing_of_hidden_notes() {
    let open = ("open/n.md", "one\n");
    let shown = json!({ "type": "file", "path": "open/n.md" });
    let folder = json!({ "type": "folder", "path": "open" });
    let all = json!({ "items": [
        shown, { "type": "search", "query": "path:secret plan" }, { "type": "url", "url": "https://secret.example/" },
        { "type": "graph" }, { "type": "folder", "path": "secret" }, { "type": "file", "path": "secret/n.md" }, folder,
    ] });
    let (all, few) = (all.to_string(), json!({ "items": [shown, folder] }).to_string());
    let workspaces = json!({ "workspaces": { "Secret plan": { "main": {} } } }).to_string();
    let actions = json!({ "choices": [
        { "id": "s", "name": "Secret plan", "type": "Macro" },
        { "id": "t", "name": "Twice", "type": "Multi", "choices": [{ "id": "u", "name": "Secret too", "type": "Macro" }] },
    ] });
    let with = notes(&[
        open,
        ("secret/n.md", "hidden\n"),
        (".obsidian/bookmarks.json", &all),
        (".obsidian/workspaces.json", &workspaces),
        (QUICKADD, &actions.to_string()),
    ]);
    let without = notes(&[open, (".obsidian/bookmarks.json", &few)]);
    let asked = ["list_bookmarks", "list_workspaces", "list_quickadd_actions"];
    let within = caller_within(&["team:a".to_owned()], Some(&["open".to_owned()]));
    for restricted in [caller(&[]), within.clone()] {
        let hiding = World::of(std::slice::from_ref(&with), &hiding(), restricted.clone()).await;
        let never = World::of(std::slice::from_ref(&without), &json!({}), caller(&[])).await;
        for name in asked {
            let told = hiding.told(name, json!({})).await;
            assert_eq!(told, never.told(name, json!({})).await, "{name}");
        }
        for action in ["None", "Twice"] {
            let told = hiding.told("trigger_quickadd", json!({ "action_name": action })).await;
            assert!(!told.to_string().contains("Secret"), "{told}");
        }
    }
    // A list of everything hides nothing; one of a part does from everybody.
    let mut everything = hiding();
    everything["readPaths"] = json!(["**"]);
    for acl in [hiding(), everything] {
        let whole = World::of(std::slice::from_ref(&with), &acl, team()).await;
        assert_eq!(whole.ok("list_bookmarks", json!({})).await["total_count"], 7, "{acl}");
        for name in &asked[1..] {
            assert!(whole.ok(name, json!({})).await.to_string().contains("Secret plan"), "{acl} {name}");
        }
    }
    let held_back = json!({ "readPaths": ["open/**"] });
    let held_back = World::of(std::slice::from_ref(&with), &held_back, Caller::trusted("alice")).await;
    for name in asked {
        let told = held_back.told(name, json!({})).await.to_string();
        for hidden in ["Secret", "secret.example", "path:secret", "\"secret\"", "secret/n.md"] {
            assert!(!told.contains(hidden), "{name}: {told}");
        }
    }

    // Nor do sizes to an administrator of a folder.
    let world = World::of(&[with], &json!({}), within).await;
    assert_eq!(world.ok("list_vaults", json!({})).await["vaults"][0]["chunk_count"], Value::Null);
    let vault = world.ok("get_vault", json!({})).await;
    assert_eq!((&vault["cache"]["chunk_count"], &vault["cache"]["db_size_bytes"]), (&Value::Null, &Value::Null));
    let metrics = world.ok("get_metrics", json!({})).await.to_string();
    assert!(metrics.contains("atlas_vault_generation") && !metrics.contains("atlas_vault_notes"), "{metrics}");
    let indexed = world.ok("index_vault", json!({})).await;
    assert_eq!((&indexed["upserted"], &indexed["deleted"], &indexed["unchanged"]), (&json!(1), &json!(0), &json!(0)));
}

#[tokio::test]
async fn a_name_that_a_hidden_note_has_is_as_one_that_is_free() {
    let copy = "open/Plan (conflict 2026-01-31 12.00 agent).md";
    let acl = json!({ "rules": [{ "glob": "open/Plan 2.md", "scopes": ["team:a"] }] });
    let files = [("open/Plan.md", "mine\n"), (copy, "theirs\n"), ("open/Plan 2.md", "hidden\n")];
    let mut told = Vec::new();
    for files in [&files[..], &files[..2]] {
        let world = World::of(&[notes(files)], &acl, caller(&[])).await;
        told.push(world.told("resolve_conflict", json!({ "path": copy, "keep": "both" })).await);
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0]["other"], "open/Plan 3.md", "{}", told[0]);
    let acl = json!({ "rules": [{ "glob": "open/Plan *.md", "scopes": ["team:a"] }, { "glob": copy, "scopes": [] }] });
    for files in [&files[..], &files[..2]] {
        let world = World::of(&[notes(files)], &acl, caller(&[])).await;
        let reason = world.refused("resolve_conflict", json!({ "path": copy, "keep": "both" })).await;
        assert_eq!(reason, "acl_denied");
    }
}
