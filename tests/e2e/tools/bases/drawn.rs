//! Drawn filters: what the index decides, and what is evaluated, give the rows of a scan of all notes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::super::dql::scan::Scan;
use super::super::dql::{NAMES, any_note};
use crate::support::random;
use crate::support::world::{World, caller};

fn any_filter() -> impl Strategy<Value = String> {
    let test = prop::sample::select(vec![
        "k == 1",
        "k != 1",
        "k > 1",
        "2 >= k",
        "k > \"1\"",
        "!(\"2\" < k)",
        "l == \"yes\"",
        "l",
        "!l",
        "k + 1 > 2",
        "note[\"Due Date\"] == \"2026-01-02\"",
        "file.hasTag(\"tag\")",
        "file.hasTag(\"t\", \"tag/sub\")",
        "file.inFolder(\"Log\")",
        "file.inFolder(\"\")",
        "file.hasProperty(\"k\")",
        "file.hasLink(\"a\")",
        "file.hasLink(this)",
        "file.name == \"a.md\"",
        "\"Log\" != file.folder",
        "file.folder == \"/\"",
        "file.tags.contains(\"tag\")",
        "file.ext == \"md\"",
        "formula.twice > 2",
        "file.links.length > 1",
        "file.backlinks.length == 0",
        "nothing(k)",
    ]);
    prop_oneof![
        test.clone().prop_map(str::to_owned),
        (test.clone(), prop::sample::select(vec!["&&", "||"]), test.clone())
            .prop_map(|(one, joint, other)| format!("({one}) {joint} !({other})")),
        (test.clone(), test.clone(), test).prop_map(|(one, two, three)| format!("!({one} || {two}) || {three}")),
    ]
}

/// A document: filters of its own and of its view, joined in all ways.
fn any_base() -> impl Strategy<Value = String> {
    let filters = || {
        let joint = prop::sample::select(vec!["and", "or", "not"]);
        (joint, prop::collection::vec(any_filter(), 1..4)).prop_map(|(joint, filters)| json!({ (joint): filters }))
    };
    let sort = prop::sample::select(vec!["[]", "[{\"property\": \"k\", \"direction\": \"DESC\"}]", "[\"l\"]"]);
    (filters(), filters(), sort, prop::sample::select(vec!["1", "3", "null"])).prop_map(|(own, of_view, sort, limit)| {
        format!("filters: {own}\nformulas: {{twice: k * 2}}\nviews: [{{type: table, name: V, filters: {of_view}, sort: {sort}, limit: {limit}, order: [k, file.name]}}]\n")
    })
}

#[test]
fn a_view_shows_what_a_scan_of_all_notes_shows() {
    let mut runner = TestRunner::new(random::cases(32));
    let notes = || prop::collection::btree_map(prop::sample::select(&NAMES[..]), any_note(), 1..6);
    let strategy = (prop::collection::vec(notes(), 1..4), prop::collection::vec(any_base(), 12));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runner.run(&strategy, |(steps, bases)| {
        let mut steps: Vec<BTreeMap<String, String>> = steps
            .into_iter()
            .map(|step| step.into_iter().map(|(path, text)| (path.to_owned(), text)).collect())
            .collect();
        let notes: BTreeMap<String, String> =
            steps.iter().flatten().map(|(path, text)| (path.clone(), text.clone())).collect();
        let scan = Scan::of(&notes).for_bases();
        let texts = bases.iter().enumerate().map(|(at, base)| (format!("{at}.base"), base.clone()));
        steps.push(texts.collect());
        runtime.block_on(async {
            let world = World::of(&steps, &json!({}), caller(&[])).await;
            for (at, base) in bases.iter().enumerate() {
                let asked = json!({ "path": format!("{at}.base"), "this": "a.md", "override_filters": "file.ext != \"base\"", "limit": 1000 });
                let told = world.ok("query_base", asked).await;
                let found: Vec<&str> =
                    told["items"].as_array().unwrap().iter().map(|item| item["note_path"].as_str().unwrap()).collect();
                assert_eq!(found, scan.shown(base, "a.md"), "{base}\n{notes:#?}");
            }
        });
        Ok(())
    });
    result.unwrap();
}
