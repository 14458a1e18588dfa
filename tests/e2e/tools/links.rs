//! The graph of links: backlinks, neighbors, and links that are added.

use std::collections::{BTreeMap, BTreeSet};

use atlas_testkit::VaultBuilder;
use atlas_vault::resolve::{Files, resolve};
use atlas_vault::{VaultPath, parse};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::costs::MAX_WAVES;
use crate::support::deployment::Deployment;
use crate::support::tools::Tools;
use crate::support::world::{World, caller};

fn paths(answer: &Value, field: &str) -> Vec<String> {
    answer[field].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect()
}

async fn harbour() -> World {
    World::open(&[
        ("Tide.md", "# Tide\n\n[[Berth]] and [[nowhere]] and [[Tide]] and [[#Tide]]\n"),
        ("Berth.md", "---\nup: \"[[Tide]]\"\n---\nno other\n"),
        ("log/a.md", "one\n\nSee ![[tide#Tide|high]] and [[Tide]].\n"),
        ("log/b.md", "`[[Tide]]` is code\n\n[x](../Tide.md)\n"),
        ("log/c.md", "`[[Tide]]` is code, [[log/Tide]] is not there\n"),
        ("far.md", "[[log/a]]\n"),
        ("図.md", "[[潮 🌊]]\n"),
        ("deep/潮 🌊.md", "[[図]]\n"),
    ])
    .await
}

#[tokio::test]
async fn backlinks_are_the_notes_that_link_to_one_with_the_line() {
    let world = harbour().await;
    let answer = world.ok("backlinks_search", json!({ "path": "Tide.md" })).await;
    assert_eq!(
        answer,
        json!({
            "results": [
                { "path": "Berth.md", "line": 2, "text": "up: \"[[Tide]]\"" },
                { "path": "log/a.md", "line": 3, "text": "See ![[tide#Tide|high]] and [[Tide]]." },
                { "path": "log/b.md", "line": 3, "text": "[x](../Tide.md)" },
            ],
            "total": 3,
        })
    );
    let only = world.ok("backlinks_search", json!({ "path": "deep/潮 🌊.md", "paths_only": true })).await;
    assert_eq!(only, json!({ "results": [{ "path": "図.md" }], "total": 1 }));
    let page = world.ok("backlinks_search", json!({ "path": "Tide.md", "limit": 2 })).await;
    assert_eq!((paths(&page, "results").len(), page["total"].as_u64()), (2, Some(3)));
    let next = json!({ "path": "Tide.md", "limit": 2, "cursor": page["cursor"] });
    let next = world.ok("backlinks_search", next).await;
    assert_eq!((paths(&next, "results"), next.get("cursor")), (vec!["log/b.md".to_owned()], None));
    let other = json!({ "path": "Berth.md", "cursor": page["cursor"] });
    assert_eq!(world.refused("backlinks_search", other).await, "cursor_invalid");
    assert_eq!(world.refused("backlinks_search", json!({ "path": "absent.md" })).await, "note_not_found");
}

#[tokio::test]
async fn neighbors_are_found_in_both_directions_the_nearest_first() {
    let world = harbour().await;
    let near = world.ok("graph_neighbors", json!({ "path": "Tide.md" })).await;
    assert_eq!(
        near,
        json!({
            "neighbors": [
                { "path": "Berth.md", "depth": 1, "direction": "both" },
                { "path": "log/a.md", "depth": 1, "direction": "in" },
                { "path": "log/b.md", "depth": 1, "direction": "in" },
            ],
            "unresolved": ["nowhere"],
            "truncated": false,
        })
    );
    let further = world.ok("graph_neighbors", json!({ "path": "Tide.md", "depth": 2 })).await;
    assert_eq!(further["neighbors"][3], json!({ "path": "far.md", "depth": 2, "direction": "in", "via": "log/a.md" }));
    assert_eq!(further["neighbors"].as_array().unwrap().len(), 4);
    let cut = world.ok("graph_neighbors", json!({ "path": "Tide.md", "depth": 2, "limit": 3 })).await;
    assert_eq!((paths(&cut, "neighbors").len(), &cut["truncated"]), (3, &json!(true)));
    assert_eq!(world.refused("graph_neighbors", json!({ "path": "Tide.md", "depth": 3 })).await, "validation_error");
}

const TABLE: &str = "| a | b |\n| - | - |\n| 1 | 2 |";

#[tokio::test]
async fn a_link_is_added_once_and_written_as_obsidian_would() {
    let world = World::open(&[
        ("from.md", "text"),
        ("windows.md", "a\r\nb"),
        ("code.md", "```\ncode"),
        ("open table.md", TABLE),
        ("table.md", &format!("{TABLE}\n")),
        ("Tide.md", ""),
        ("a/Log.md", ""),
        ("b/Log.md", ""),
        ("pic.png.md", ""),
        ("a [b].md", ""),
        (".dotfile.md", ""),
    ])
    .await;
    let add = async |from: &str, rest: Value| {
        let mut arguments = json!({ "from": from });
        arguments.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        world.ok("link_add", arguments).await
    };
    assert_eq!(add("from.md", json!({ "to": "Tide.md" })).await, json!({ "added": true, "link": "[[Tide]]" }));
    assert_eq!(add("from.md", json!({ "to": "Tide.md" })).await["added"], false);
    let part = json!({ "to": "a/Log.md", "heading": "High water", "alias": "log" });
    assert_eq!(add("from.md", part.clone()).await["link"], "[[a/Log#High water|log]]");
    assert_eq!(add("from.md", part).await["added"], false);
    let text = world.ok("note_read", json!({ "path": "from.md" })).await["content"].clone();
    assert_eq!(text, "text\n[[Tide]]\n[[a/Log#High water|log]]\n");
    add("windows.md", json!({ "to": "b/Log.md" })).await;
    let text = world.ok("note_read", json!({ "path": "windows.md" })).await["content"].clone();
    assert_eq!(text, "a\r\nb\r\n[[b/Log]]\r\n");
    for (from, text) in [("open table.md", TABLE), ("table.md", &format!("{TABLE}\n"))] {
        add(from, json!({ "to": "Tide.md", "alias": "tide" })).await;
        let text = text.trim_end();
        let with_link = world.ok("note_read", json!({ "path": from })).await["content"].clone();
        assert_eq!(with_link, format!("{text}\n\n[[Tide|tide]]\n"), "{from}");
    }
    let backlinks = world.ok("backlinks_search", json!({ "path": "b/Log.md" })).await;
    assert_eq!(paths(&backlinks, "results"), ["windows.md"]);
    for (arguments, reason) in [
        (json!({ "from": "code.md", "to": "Tide.md" }), "link_impossible"),
        (json!({ "from": "from.md", "to": "a [b].md" }), "link_impossible"),
        (json!({ "from": "from.md", "to": ".dotfile.md" }), "link_impossible"),
        (json!({ "from": "from.md", "to": "absent.md" }), "note_not_found"),
        (json!({ "from": "absent.md", "to": "Tide.md" }), "note_not_found"),
        (json!({ "from": "from.md", "to": "b/Log.md", "alias": "a]]b" }), "validation_error"),
        (json!({ "from": "../x.md", "to": "Tide.md" }), "path_invalid"),
    ] {
        assert_eq!(world.refused("link_add", arguments.clone()).await, reason, "{arguments}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cold_graph_takes_three_waves() {
    let vault = (0..2000).fold(VaultBuilder::new(), |vault, n| {
        vault.note(&format!("n/{n:04}.md"), &format!("[[n/{:04}]] [[hub]] {n}\n", (n * 7) % 2000))
    });
    let deployment = Deployment::of_vault(&vault.note("hub.md", "")).await;
    for (name, arguments) in [
        ("backlinks_search", json!({ "path": "hub.md", "paths_only": true })),
        ("graph_neighbors", json!({ "path": "n/0003.md", "depth": 2 })),
    ] {
        let client = deployment.client();
        let body = json!({ "arguments": arguments });
        let answer = client.post(&format!("/bridge/v1/tools/{name}/call"), body.clone()).await.ok();
        assert_eq!(answer["success"], true, "{answer}");
        let requests = client.requests.take();
        assert!(requests.waves() <= MAX_WAVES, "{name}:\n{requests}");
        client.post(&format!("/bridge/v1/tools/{name}/call"), body).await.ok();
        assert_eq!(client.requests.take().count(), 1, "{name}, warm");
    }
}

const FOLDERS: [&str; 5] = ["", "a/", "a/b/", "b/", "Ä/"];
const NAMES: [&str; 6] = ["Note.md", "note.md", "v1.2.md", "v1.2", "潮.md", "x.png"];

fn any_link() -> impl Strategy<Value = String> {
    let target = prop::sample::select(vec![
        "Note", "note.md", "a/Note", "./Note", "../Note", "/Note", "b/NOTE", "v1.2", "a/v1.2", "v1.2.md", "潮",
        "x.png", "Ä/x.png", "x", "nowhere",
    ]);
    (target, 0..4usize).prop_map(|(target, form)| match form {
        0 => format!("[[{target}]]"),
        1 => format!("![[{target}#part|shown]]"),
        2 => format!("[shown]({target})"),
        _ => format!("`[[{target}]]`"),
    })
}

fn any_file() -> impl Strategy<Value = (String, String)> {
    let path = (prop::sample::select(&FOLDERS[..]), prop::sample::select(&NAMES[..]));
    let text = prop::collection::vec(any_link(), 0..5);
    (path, text).prop_map(|((folder, name), links)| (format!("{folder}{name}"), links.join(" ")))
}

/// The targets of links, from a plain scan: for each file the notes that link to it.
fn scanned(files: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let path = |path: &String| VaultPath::parse(path).unwrap();
    let all: Files = files.keys().map(path).collect();
    let mut linked: BTreeMap<_, BTreeSet<_>> = files.keys().map(|path| (path.clone(), BTreeSet::new())).collect();
    for (from, text) in files.iter().filter(|(from, _)| from.ends_with(".md")) {
        for link in parse(text).links {
            if let Some(to) = resolve(&link.target, &path(from), &all).filter(|to| to.as_str() != from) {
                linked.get_mut(to.as_str()).unwrap().insert(from.clone());
            }
        }
    }
    linked
}

/// However the notes were published, links in both directions, neighbours and orphans equal those of a plain scan.
#[test]
fn the_graph_is_that_of_a_plain_scan() {
    let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    let step = || prop::collection::vec(any_file(), 1..8).prop_map(BTreeMap::from_iter);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let seen = std::cell::Cell::new(0);
    let result = runner.run(&prop::collection::vec(step(), 1..4), |steps: Vec<BTreeMap<String, String>>| {
        let files: BTreeMap<String, String> =
            steps.iter().flatten().map(|(path, text)| (path.clone(), text.clone())).collect();
        let linked = scanned(&files);
        seen.set(seen.get() + linked.values().map(BTreeSet::len).sum::<usize>());
        runtime.block_on(async {
            let world = World::of(&steps, &json!({}), caller(&[])).await;
            let orphans = world.ok("find_orphans", json!({})).await;
            let unlinked = linked.iter().filter(|(path, from)| path.ends_with(".md") && from.is_empty());
            assert_eq!(
                paths(&orphans, "items"),
                unlinked.map(|(path, _)| path.clone()).collect::<Vec<_>>(),
                "{files:#?}"
            );
            for (path, expected) in &linked {
                let answer = world.ok("backlinks_search", json!({ "path": path })).await;
                let found = paths(&answer, "results");
                assert_eq!(found, expected.iter().cloned().collect::<Vec<_>>(), "{path} of {files:#?}");
                assert!(answer["results"].as_array().unwrap().iter().all(|one| one["text"].is_string()), "{answer}");
                let near = world.ok("graph_neighbors", json!({ "path": path })).await;
                let outgoing = linked.iter().filter(|(_, from)| from.contains(path)).map(|(to, _)| to);
                let expected: BTreeSet<String> = expected.iter().chain(outgoing).cloned().collect();
                assert_eq!(paths(&near, "neighbors").into_iter().collect::<BTreeSet<_>>(), expected, "{path}");
                if path.ends_with(".md") {
                    let outgoing = world.ok("get_outgoing_links", json!({ "path": path })).await;
                    let led: BTreeSet<&str> = outgoing["links"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .filter_map(|link| link["target_path"].as_str())
                        .collect();
                    let expected = linked.iter().filter(|(_, from)| from.contains(path)).map(|(to, _)| to.as_str());
                    let own = led.contains(path.as_str()).then_some(path.as_str());
                    assert_eq!(led, expected.chain(own).collect(), "{path} of {files:#?}");
                }
            }
        });
        Ok(())
    });
    result.unwrap();
    assert!(seen.get() > 50, "hardly any links");
}

#[tokio::test]
async fn lines_of_long_notes_come_in_more_pages() {
    let text = format!("[[Tide]] in\n\n{}", "a long list\n".repeat(20_000));
    let names: Vec<String> = (0..7).map(|number| format!("list {number}.md")).collect();
    let mut notes = vec![("Tide.md", "x")];
    notes.extend(names.iter().map(|name| (name.as_str(), text.as_str())));
    let world = World::open(&notes).await;
    let (mut found, mut pages, mut cursor) = (Vec::new(), 0, Value::Null);
    loop {
        let mut call = json!({ "path": "Tide.md", "include_context": true });
        if cursor.is_string() {
            call["cursor"] = cursor;
        }
        let page = world.ok("get_backlinks", call).await;
        for item in page["items"].as_array().unwrap() {
            assert_eq!(item["contexts"], json!([{ "line": 1, "text": "[[Tide]] in" }]));
            found.push(item["source_path"].as_str().unwrap().to_owned());
        }
        pages += 1;
        cursor = page["cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!((found, pages), (names.clone(), 3), "three notes of 240 kB a page");
    let all = world.ok("get_backlinks", json!({ "path": "Tide.md" })).await;
    assert_eq!(all["items"].as_array().unwrap().len(), names.len());
}

#[tokio::test]
async fn links_to_nothing_are_told_where_the_neighbors_are_cut() {
    let notes: Vec<String> = (0..9).map(|number| format!("n{number}.md")).collect();
    let links: String = (0..9).map(|number| format!("[[n{number}]] [[gone {number}]] ")).collect();
    let hub = format!("{links} [[sub/n1]] [[./n1]] [[./gone]] [[x/n1.md]]\n");
    let mut all: Vec<(&str, &str)> = notes.iter().map(|name| (name.as_str(), "[[hub]]\n")).collect();
    all.push(("hub.md", &hub));
    all.push(("far.md", "[[n1]] [[n2]] [[n4]] [[n5]] [[sub/n1]] [[./n1]] [[./gone]] [[x/n1.md]] [[N3]]\n"));
    let world = World::open(&all).await;
    let near = world.ok("graph_neighbors", json!({ "path": "hub.md", "limit": 4 })).await;
    assert_eq!(paths(&near, "neighbors"), ["n0.md", "n1.md", "n2.md", "n3.md"]);
    assert!(near["neighbors"].as_array().unwrap().iter().all(|near| near["direction"] == "both"), "{near}");
    assert_eq!(near["unresolved"], json!(["gone 0", "gone 1", "gone 2", "gone 3"]));
    let near = world.ok("graph_neighbors", json!({ "path": "hub.md", "limit": 10, "depth": 2 })).await;
    let gone = near["unresolved"].as_array().unwrap();
    assert_eq!((near["truncated"].as_bool(), gone.len()), (Some(false), 10), "with sub/n1, as many as there may be");
    assert_eq!(near["unresolved_truncated"], true);
    let near = world.ok("graph_neighbors", json!({ "path": "hub.md", "limit": 1 })).await;
    assert_eq!((&near["unresolved"], &near["unresolved_truncated"]), (&json!(["gone 0"]), &json!(true)));
    // Far below the cut, targets with folders are told apart too.
    let near = world.ok("graph_neighbors", json!({ "path": "far.md", "limit": 3 })).await;
    assert_eq!(near["unresolved"], json!(["sub/n1", "./gone", "x/n1.md"]));
    assert_eq!(near.get("unresolved_truncated"), None);
}

#[tokio::test]
async fn links_of_one_page_of_a_note_come_with_those_of_its_properties() {
    let text = "---\nup: \"[[Tide]]\"\n---\nto [[a]], to [[b]]\n";
    let world = World::open(&[("n.md", text), ("Tide.md", ""), ("a.md", ""), ("b.md", "")]).await;
    let at = |link: &str| text.find(link).unwrap();
    let (a, b) = (at("[[a]]"), at("[[b]]"));
    for (part, expected) in [
        (json!({}), vec!["Tide", "a", "b"]),
        (json!({ "bytes": a }), vec!["Tide"]),
        (json!({ "bytes": a + 1 }), vec!["Tide", "a"]),
        (json!({ "offset": a, "bytes": b - a }), vec!["Tide", "a"]),
        (json!({ "offset": a + 1 }), vec!["Tide", "b"]),
        (json!({ "offset": 1_000_000 }), vec!["Tide"]),
    ] {
        let mut call = part.clone();
        call["path"] = json!("n.md");
        let found = world.ok("get_outgoing_links", call).await;
        let targets = found["links"].as_array().unwrap().iter().map(|link| link["target"].as_str().unwrap());
        assert_eq!(targets.collect::<Vec<_>>(), expected, "{part}");
    }
    assert_eq!(world.refused("get_outgoing_links", json!({ "path": "n.md", "offset": -1 })).await, "validation_error");
}

#[tokio::test]
async fn links_of_one_page_are_found_by_the_bytes_of_a_text_that_is_not_utf_8() {
    let text = [b"[[a]] ".as_slice(), &[0xe9; 100], b" [[b]]\n"].concat();
    let vault = VaultBuilder::new().file("n.md", &text).note("a.md", "").note("b.md", "");
    let client = Deployment::of_vault(&vault).await.client();
    let begin = text.len() - b"[[b]]\n".len();
    for (part, expected) in [
        (json!({ "offset": begin }), vec!["b"]),
        (json!({ "bytes": begin + 1 }), vec!["a", "b"]),
        (json!({ "bytes": begin }), vec!["a"]),
        (json!({ "offset": begin + 1 }), vec![]),
    ] {
        let mut call = part.clone();
        call["path"] = json!("n.md");
        let found = Tools::of(&client).good("get_outgoing_links", call).await;
        let targets = found["links"].as_array().unwrap().iter().map(|link| link["target"].as_str().unwrap());
        assert_eq!(targets.collect::<Vec<_>>(), expected, "{part}");
    }
}
