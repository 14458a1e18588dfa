//! `inspect_acl` compared with the results of the calls that it is asked about.

use std::collections::BTreeMap;

use atlas_access::{Caller, Scopes};
use serde_json::{Value, json};

use crate::support::world::{World, caller};

/// Access lists, each of which refuses in another way.
fn lists() -> [Value; 6] {
    [
        json!({}),
        json!({ "readOnly": true }),
        json!({ "strictReadDefault": true }),
        json!({ "readPaths": ["Open/**", "Team/**"], "writePaths": ["Open/**"], "deletePaths": ["Team/**"] }),
        json!({ "rules": [{ "glob": "Team/**", "scopes": ["team:a"] }, { "glob": "Team/open/**", "scopes": [] }] }),
        json!({ "defaultScopes": ["execute:ocr"], "rules": [{ "glob": "Open/**", "scopes": ["admin"] }] }),
    ]
}

const CALLERS: [&[&str]; 9] = [
    &[],
    &["read:vault"],
    &["write:vault"],
    &["delete:vault"],
    &["read:vault", "write:vault"],
    &["read:vault", "write:vault", "delete:vault", "team:a"],
    &["read:vault", "write:vault", "delete:vault", "execute:*"],
    &["admin", "team:a"],
    &["read:vault", "write:vault", "delete:vault", "bulk:vault", "admin", "team:a"],
];

const PATHS: [&str; 10] = [
    "Open/a.md",
    "Open/new.md",
    "open/a.md",
    "Team/a.md",
    "Team/open/a.md",
    "TEAM/b.md",
    "Else/a.md",
    "Open/.drafts/a.md",
    ".trash/a.md",
    ".obsidian/a.md",
];

/// The call of an operation.
fn call(op: &str, path: &str) -> (&'static str, Value) {
    match op {
        "read" => ("read_note", json!({ "path": path })),
        "write" => ("write_note", json!({ "path": path, "content": "x" })),
        "delete" => ("delete_note", json!({ "path": path })),
        _ => ("ocr_attachment", json!({ "path": path })),
    }
}

#[tokio::test]
async fn what_inspect_acl_allows_is_what_the_call_is_let_through_to() {
    let notes: BTreeMap<String, String> =
        ["Open/a.md", "Team/a.md", "Team/open/a.md"].map(|path| (path.to_owned(), "x".to_owned())).into();
    let (mut allowed, mut refused) = (0, 0);
    for acl in lists() {
        let mut world = World::of(std::slice::from_ref(&notes), &acl, caller(&[])).await;
        for held in CALLERS {
            for (path, op) in PATHS.iter().flat_map(|path| ["read", "write", "delete", "execute"].map(|op| (path, op)))
            {
                world.caller = caller(&[]);
                let told = world.ok("inspect_acl", json!({ "path": path, "op": op, "scopes": held })).await;
                world.caller = Caller::of_scopes("agent", Scopes::named(held.iter().copied()));
                let (tool, arguments) = call(op, path);
                let answer = world.call(tool, arguments).await;
                let reason = answer.as_ref().err().map(|error| error.reason().to_owned()).unwrap_or_default();
                let shut = ["scope_missing", "acl_denied", "read_only_mode", "plugin_missing", "path_invalid"];
                let is_shut = shut.contains(&&*reason);
                let seen = format!("{op} {path} by {held:?} under {acl}: {told} {answer:?}");
                assert_eq!(told["allowed"], !is_shut, "{seen}");
                assert_eq!(told.get("denied_by").is_some(), is_shut, "{seen}");
                // The call reports an invalid path before it checks the access list.
                let is_by_scopes = told["denied_by"] == "scopes";
                assert!(reason == "path_invalid" || is_by_scopes == (reason == "scope_missing"), "{seen}");
                let missing = told["missing_scopes"].as_array().unwrap();
                let required = told["required_scopes"].as_array().unwrap();
                assert!(missing.iter().all(|scope| required.contains(scope)), "{seen}");
                assert!(told["allowed"] == false || missing.is_empty(), "{seen}");
                if is_shut { refused += 1 } else { allowed += 1 }
            }
        }
    }
    assert!(allowed > 100 && refused > 100, "{allowed} {refused}");
}
