//! A note that is moved and moved back: over drawn vaults everything is restored, byte for byte.

use std::collections::BTreeMap;

use atlas_testkit::VaultBuilder;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::support::deployment::{Deployment, Reply, encoded};
use crate::support::note_calls::{move_note, notes};
use crate::support::random;

const FOLDERS: [&str; 5] = ["", "a/", "a/b/", "c d/", "zz/"];
const NAMES: [&str; 6] = ["Hub", "hub", "Note", "v1.2", "Tide (é)", "日本 語"];

/// Notes that link to one at `hub` and to others, in all forms.
fn any_linked() -> impl Strategy<Value = (BTreeMap<String, String>, String, String)> {
    let path = || (select(&FOLDERS[..]), select(&NAMES[..])).prop_map(|(folder, name)| format!("{folder}{name}.md"));
    let link = (0..16_usize, prop::bool::weighted(0.7), any::<Index>());
    let notes = prop::collection::btree_map(path(), prop::collection::vec(link, 0..6), 2..9);
    (notes, any::<Index>(), path()).prop_filter_map("a way to go", |(notes, hub, to)| {
        let paths: Vec<String> = notes.keys().cloned().collect();
        let hub = hub.get(&paths).clone();
        let texts = notes.iter().map(|(here, links)| {
            let up = "../".repeat(here.matches('/').count());
            let text = links.iter().map(|(form, is_hub, other)| {
                let path = if *is_hub { &hub } else { other.get(&paths) };
                let whole = path.trim_end_matches(".md");
                let name = whole.rsplit('/').next().unwrap();
                let encoded = encoded(whole);
                match form {
                    0 => format!("[[{name}]]"),
                    1 => format!("see [[{whole}|{name}]] there"),
                    2 => format!("[[{}#A heading]]", name.to_lowercase()),
                    3 => format!("- [[{name}.md#^id]] ^own"),
                    4 => format!("![[/{whole}]]"),
                    5 => format!("[[ {name} | 300 ]]"),
                    6 => format!("[t](./{up}{encoded}.md)"),
                    7 => format!("[t]({up}{encoded}.md#A%20heading \"title\")"),
                    8 => format!("![](<{up}{whole}.md>)"),
                    9 => format!("[t]({})", encoded.rsplit('/').next().unwrap()),
                    10 => format!("[t][r{form}]\r\n\r\n[r{form}]: {encoded}"),
                    11 => format!("| [[{whole}\\|t]] |"),
                    12 => format!("`[[{name}]]` %%[[{name}]]%%"),
                    13 => format!("[[./{up}{whole}]]"),
                    14 => "[[nowhere]] [[#A heading]] <https://example.org>".to_owned(),
                    _ => format!("> **[[{name}]]** *[[{}]]*", name.to_uppercase()),
                }
            });
            (here.clone(), text.collect::<Vec<_>>().join("\n\n") + "\n")
        });
        let texts = texts.collect();
        (!notes.contains_key(&to)).then_some((texts, hub, to))
    })
}

#[test]
fn what_is_moved_there_and_back_is_as_it_was() {
    let mut runner = TestRunner::new(random::cases(24));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rewritten = std::cell::Cell::new(0);
    let result = runner.run(&any_linked(), |(texts, from, to)| {
        let links = runtime.block_on(async {
            let vault = texts.iter().fold(VaultBuilder::new(), |vault, (path, text)| vault.note(path, text));
            let deployment = Deployment::of_vault(&vault).await;
            let client = deployment.client();
            let links = |reply: Reply| reply.ok()["links"].as_u64().unwrap();
            let there = links(move_note(&client, &from, json!({ "to": to })).await);
            let moved = notes(&deployment).await;
            links(move_note(&client, &to, json!({ "to": from })).await);
            assert_eq!(notes(&deployment).await, texts, "{from} to {to} and back; there:\n{moved:#?}");
            there
        });
        rewritten.set(rewritten.get() + links);
        Ok(())
    });
    result.unwrap();
    assert!(rewritten.get() > 20, "{} links were rewritten", rewritten.get());
}
