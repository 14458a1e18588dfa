//! Tests of access lists.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn acl(config: Value) -> Acl {
    Acl::new(&serde_json::from_value(config).unwrap()).unwrap()
}

fn scopes(text: &str) -> Scopes {
    Scopes::named(text.split(' '))
}

/// Why it is denied, or `-`.
fn denied(acl: &Acl, access: Access, path: &str, caller: &str) -> String {
    acl.check(access, path, &scopes(caller)).err().map_or_else(|| "-".to_owned(), |denied| denied.to_string())
}

#[test]
fn without_lists_all_is_open_but_what_is_closed() {
    let acl = acl(json!({}));
    assert_eq!(denied(&acl, Access::Delete, "a/b.md", ""), "-");
    assert!(acl.reader(&scopes("")).is_none());
    for path in [
        ".obsidian/app.json",
        ".Obsidian/app.json",
        ".git/config",
        ".GIT/config",
        ".trash/a.md",
        ".trash./a.md",
        ".tra\u{17f}h/a.md",
        ".trash",
    ] {
        for access in [Access::Read, Access::Write, Access::Delete] {
            assert_eq!(denied(&acl, access, path, "admin"), "closed_folder", "{path}");
        }
    }
    assert_eq!(denied(&acl, Access::Read, "a/.trash.md", ""), "-");
}

#[test]
fn a_list_of_everything_hides_nothing_and_others_do_from_everybody() {
    let rules = json!([{ "glob": "secret/**", "scopes": ["team:a"] }]);
    for (config, is_open) in [
        (json!({}), true),
        (json!({ "readPaths": ["**"] }), true),
        (json!({ "readPaths": ["Open/**", "**"], "strictReadDefault": true }), true),
        (json!({ "strictReadDefault": true }), false),
        (json!({ "readPaths": [] }), false),
        (json!({ "readPaths": ["**/*"] }), false),
        (json!({ "readPaths": ["*"] }), false),
        (json!({ "readPaths": ["Open/**"] }), false),
    ] {
        let mut config = config;
        config["rules"] = rules.clone();
        let acl = acl(config.clone());
        assert_eq!(acl.reader(&scopes("team:a")).is_none(), is_open, "{config}");
        assert!(acl.reads_most(&scopes("team:a")), "{config}");
        let within = scopes("team:a").within(&["Open".to_owned()]);
        for part in [scopes("admin"), within] {
            assert!(acl.reader(&part).is_some() && !acl.reads_most(&part), "{config} {part:?}");
        }
    }
}

#[test]
fn lists_allow_what_they_have() {
    let acl = acl(
        json!({ "readPaths": ["Open/**", "In/**"], "writePaths": ["In/**", "Out/**"], "deletePaths": ["In/old/**"] }),
    );
    for (access, path, expected) in [
        (Access::Read, "Open/a.md", "-"),
        (Access::Read, "Private/a.md", "readPaths"),
        (Access::Read, "open/a.md", "readPaths"),
        (Access::Read, "Open./a.md", "readPaths"),
        (Access::Write, "In/a.md", "-"),
        (Access::Write, "Open/a.md", "writePaths"),
        // A caller who could write without reading would learn what exists.
        (Access::Write, "Out/a.md", "readPaths"),
        (Access::Delete, "In/a.md", "deletePaths"),
        (Access::Delete, "In/old/a.md", "-"),
    ] {
        assert_eq!(denied(&acl, access, path, ""), expected, "{access:?} {path}");
    }
}

#[test]
fn the_last_rule_that_matches_decides() {
    let acl = acl(json!({
        "defaultScopes": ["read:vault"],
        "rules": [
            { "glob": "Private/**", "scopes": ["team:a", "admin"] },
            { "glob": "Private/shared/**", "scopes": [] },
            { "glob": "Private/shared/secret.md", "scopes": ["team:a"] },
        ],
    }));
    for (path, caller, expected) in [
        ("a.md", "read:vault", "-"),
        ("a.md", "write:vault", "defaultScopes"),
        ("Private/a.md", "read:vault team:a admin", "-"),
        ("Private/a.md", "read:vault team:a", "rules: Private/**"),
        ("Private/shared/a.md", "", "-"),
        ("Private/shared/secret.md", "read:vault", "rules: Private/shared/secret.md"),
        // Another spelling gives no access that either spelling lacks.
        ("private/a.md", "read:vault", "rules: Private/**"),
        ("Private/SHARED/a.md", "read:vault", "rules: Private/**"),
        ("Private/shared/Secret.md", "read:vault", "rules: Private/shared/secret.md"),
        ("Private./a.md", "read:vault", "rules: Private/**"),
    ] {
        assert_eq!(denied(&acl, Access::Read, path, caller), expected, "{path} {caller}");
    }
    let missing = acl.check(Access::Read, "Private/a.md", &scopes("team:a")).unwrap_err();
    assert_eq!(missing, Denied::Scopes { rule: Some("Private/**"), missing: vec!["admin"] });
}

#[test]
fn the_switches_shut() {
    let read_only = acl(json!({ "readOnly": true }));
    assert_eq!(denied(&read_only, Access::Read, "a.md", ""), "-");
    assert_eq!(denied(&read_only, Access::Write, "a.md", "admin"), "readOnly");
    let strict = acl(json!({ "strictReadDefault": true, "writePaths": ["**"] }));
    assert_eq!(denied(&strict, Access::Read, "a.md", "admin"), "strictReadDefault");
    assert_eq!(denied(&strict, Access::Write, "a.md", "admin"), "strictReadDefault");
}

#[test]
fn what_cannot_be_used_is_named() {
    for (config, says) in [
        (json!({ "readPaths": ["/a"] }), "readPaths: \"/a\""),
        (json!({ "rules": [{ "glob": "a/" }] }), "rules: \"a/\""),
        (json!({ "rules": [{ "glob": "a", "scopes": ["two words"] }] }), "rules: \"two words\""),
        (json!({ "defaultScopes": [""] }), "defaultScopes: \"\""),
        (json!({ "writePaths": vec!["a"; 201] }), "writePaths: \"201\""),
    ] {
        let error = Acl::new(&serde_json::from_value(config).unwrap()).unwrap_err().to_string();
        assert!(error.starts_with(says) && error.contains("write"), "{error}");
    }
}

fn any_globs() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[aB]{1,2}(/\\*\\*|/[aB]\\*|\\*\\*|\\*)?[aB.]|\\*\\*", 0..4)
}

proptest! {
    #[test]
    fn what_is_kept_of_a_path_says_what_asking_says(
        read in prop::option::of(any_globs()), strict: bool, default in prop::collection::vec("[xy]", 0..2),
        rules in prop::collection::vec(("[aB]{1,2}(/\\*\\*|\\*\\*)?[aB.]", prop::collection::vec("[xy]", 0..2)), 0..5),
        held in prop::collection::vec("[xy]", 0..2), paths in prop::collection::vec("[aAbB]{1,2}(/[aAbB.]{1,2})?", 1..20),
    ) {
        let rules: Vec<Value> = rules.into_iter().map(|(glob, scopes)| json!({ "glob": glob, "scopes": scopes })).collect();
        let mut config = json!({ "strictReadDefault": strict, "defaultScopes": default, "rules": rules });
        if let Some(read) = read {
            config["readPaths"] = read.into();
        }
        let acl = acl(config);
        let caller = Scopes::named(held.iter().map(String::as_str));
        let reader = acl.reader(&caller);
        for path in &paths {
            let kept = Reading::from_number(acl.reading(path).to_number()).unwrap();
            let may_read = reader.as_ref().is_none_or(|reader| reader.may_read(kept));
            prop_assert_eq!(may_read, acl.check(Access::Read, path, &caller).is_ok(), "{}", path);
        }
    }
}
