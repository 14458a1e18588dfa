use std::collections::BTreeSet;

use atlas_ops::{Atlas, Caller, Limits};
use serde_json::{Value, json};

use super::{Facade, Hints, Resolved, Tool, Toolbox, of};
use crate::operations;

const FACADES: [Facade; 7] =
    [Facade::Agent, Facade::VaultMcp, Facade::Code, Facade::Triad, Facade::Domain, Facade::Connector, Facade::Flat];

/// A deployment without vaults: nothing can be written.
fn empty() -> Atlas {
    Atlas::new([], Limits::default())
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn where_nothing_can_be_written_no_writing_tool_is_listed() {
    let (atlas, caller) = (empty(), Caller::trusted("test"));
    for facade in FACADES {
        let toolbox = Toolbox { facade, atlas: &atlas, caller: &caller };
        let listed = toolbox.listed();
        let writing = listed.iter().filter(|tool| !tool.hints.changes_nothing && !tool.name.ends_with("_domain"));
        let writing: Vec<&str> = writing.map(|tool| tool.name.as_str()).collect();
        let expected: &[&str] = match facade {
            Facade::Agent | Facade::Triad => &["call_capability"],
            // These change something that is not in the vault.
            Facade::Flat => &[
                "approve",
                "refuse",
                "index_vault",
                "reload_vault",
                "reset_vault_cache",
                "start_session",
                "end_session",
            ],
            _ => &[],
        };
        assert!(!listed.is_empty() && writing == expected, "{facade:?}: {writing:?}");
    }
}

#[test]
fn who_may_nothing_sees_nothing_of_the_vault() {
    let (atlas, caller) = (empty(), Caller::nobody());
    let toolbox = Toolbox { facade: Facade::Agent, atlas: &atlas, caller: &caller };
    assert_eq!(names(&toolbox.listed()), ["find_capability", "call_capability"]);
    assert_eq!(toolbox.instructions().matches("search").count(), 0);
}

/// Clients' questions to people depend on it.
#[test]
fn each_operation_gives_the_hints_that_hold() {
    let reads = Hints { changes_nothing: true, destructive: false, idempotent: false, asks_outside: false };
    let adds = Hints { changes_nothing: false, ..reads };
    let (sets, destroys) = (Hints { idempotent: true, ..adds }, Hints { destructive: true, ..adds });
    let replaces = Hints { idempotent: true, ..destroys };
    let table: [(Hints, &[&str]); 5] = [
        (Hints { asks_outside: true, ..reads }, &["knowledge_challenge"]),
        (
            adds,
            &[
                "add_kanban_card",
                "add_observation",
                "append_note",
                "append_to_periodic_note",
                "approve",
                "create_entity",
                "enqueue_capture",
                "end_session",
                "move_kanban_card",
                "note_upsert",
                "start_session",
                "update_task",
                "upload_attachment",
                "upsert_note",
            ],
        ),
        (
            sets,
            &[
                "add_bookmark",
                "add_tag",
                "commit_capture",
                "copy_note",
                "create_periodic_note",
                "find_or_create_periodic_note",
                "index_vault",
                "link_add",
                "link_entities",
                "refuse",
                "reload_vault",
                "reset_vault_cache",
                "vault_sync",
            ],
        ),
        (
            destroys,
            &[
                "edit_note",
                "patch_note",
                "trigger_quickadd",
                "undo_changes",
                "update_base",
                "update_canvas",
                "update_excalidraw",
                "update_table",
            ],
        ),
        (
            replaces,
            &[
                "bulk_create_notes",
                "bulk_move_notes",
                "bulk_set_property",
                "commit_attachment",
                "create_base",
                "create_canvas",
                "create_excalidraw",
                "delete_attachment",
                "delete_note",
                "execute_template",
                "move_attachment",
                "move_note",
                "note_delete",
                "prune_hub_links",
                "remove_bookmark",
                "remove_tag",
                "resolve_conflict",
                "restore_note",
                "rewrite_link",
                "update_frontmatter",
                "write_note",
            ],
        ),
    ];
    for entry in operations() {
        let name = entry.info.name;
        let expected = table.iter().find(|(_, names)| names.contains(&name)).map_or(reads, |(hints, _)| *hints);
        // Tools that need the app answer only that it is not there.
        if !crate::surface::needs_more(&entry.info) {
            assert_eq!(Hints::of(&entry.info), expected, "{name}");
        }
    }
}

/// An invalid example teaches the wrong thing.
#[test]
fn examples_name_arguments_that_there_are() {
    let (atlas, caller) = (empty(), Caller::trusted("test"));
    let of_all = Toolbox { facade: Facade::Triad, atlas: &atlas, caller: &caller }.listed();
    let mut with_example = BTreeSet::new();
    for tool in operations().iter().map(|entry| of(entry)).chain(of_all) {
        let Some((_, example)) = tool.description.split_once("Example: ") else { continue };
        let example: Value = serde_json::from_str(example).unwrap_or_else(|error| panic!("{}: {error}", tool.name));
        let given: BTreeSet<&str> = example.as_object().unwrap().keys().map(String::as_str).collect();
        let known: BTreeSet<&str> = tool.input["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let required = tool.input.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: BTreeSet<&str> = required.filter_map(Value::as_str).collect();
        assert!(given.is_subset(&known) && required.is_subset(&given), "{}: {example}", tool.name);
        with_example.insert(tool.name);
    }
    for entry in operations().iter().filter(|entry| !crate::surface::needs_more(&entry.info)) {
        assert!(with_example.contains(entry.info.name), "{} has no example", entry.info.name);
    }
}

#[test]
fn what_a_list_leaves_out_is_an_argument_and_optional() {
    for (name, rare) in [super::listed::AGENT, super::listed::VAULT_MCP, super::listed::CODE].concat() {
        let entry = operations().iter().find(|entry| entry.info.name == name).unwrap_or_else(|| panic!("{name}"));
        let tool = of(entry);
        let required = tool.input.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        for argument in rare {
            assert!(tool.input["properties"].get(argument).is_some(), "{name} has no argument {argument}");
            assert!(!required.contains(&json!(argument)), "{name} needs {argument}");
        }
    }
}

#[test]
fn a_call_may_use_the_names_of_obsidian_tc_and_a_mistake_is_told_with_what_is_like_it() {
    let (atlas, caller) = (empty(), Caller::trusted("test"));
    let toolbox = Toolbox { facade: Facade::Agent, atlas: &atlas, caller: &caller };
    let call = |arguments: Value| {
        let arguments = arguments.as_object().unwrap().clone();
        toolbox.resolve("call_capability", arguments).unwrap()
    };
    for arguments in [
        json!({ "name": "list_tags", "arguments": { "limit": 1 } }),
        json!({ "action": "list_tags", "args": { "limit": 1 } }),
    ] {
        let Ok(Resolved::Call(entry, arguments)) = call(arguments) else { panic!("it is called") };
        assert_eq!((entry.info.name, Value::from(arguments)), ("list_tags", json!({ "limit": 1 })));
    }
    let error = call(json!({ "name": "list_tag" })).unwrap_err();
    assert_eq!(error.details["suggestions"][0], "list_tags");
    assert!(call(json!({ "name": "🦀" })).unwrap_err().details.get("suggestions").is_none());
    assert!(toolbox.resolve("no_such_tool", serde_json::Map::new()).is_none());
}
