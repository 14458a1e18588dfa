//! Bulk tools: all possible changes are made in one commit, and each item is reported.

use atlas_access::{Scope, scope};
use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::note_calls::notes;
use crate::support::tool_calls::{agent, caller, confirmed, guarded};

async fn generation(deployment: &Deployment) -> u64 {
    deployment.mirror().head().await.unwrap().generation()
}

/// The report on each: its error code, or `ok`.
fn told(results: &Value) -> Vec<&str> {
    let results = results.as_array().unwrap().iter();
    results
        .map(|item| {
            assert_eq!(item["ok"] == true, item.get("error").is_none(), "{item}");
            item["error"]["code"].as_str().unwrap_or("ok")
        })
        .collect()
}

#[tokio::test]
async fn many_notes_are_written_at_once_or_none() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "a\n").note("b.md", "b\n")).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let before = notes(&deployment).await;
    let items = json!([
        { "path": "new.md", "content": "1", "frontmatter": { "k": [1, "x"] } },
        { "path": "a.md", "content": "2" },
        { "path": "new.md", "content": "3" },
        { "path": "none.md", "content": "4", "mode": "overwrite" },
        { "path": "b.md", "content": "b 5", "mode": "upsert" },
    ]);
    let codes = ["ok", "note_exists", "invalid_input", "note_not_found", "ok"];
    let dry = agent.checked("bulk_create_notes", json!({ "items": items, "dry_run": true })).await;
    assert_eq!((&dry["dry_run"], told(&dry["results"])), (&json!(true), codes.to_vec()));
    let counts = |report: &Value| ["processed", "succeeded", "failed"].map(|name| report[name].as_u64().unwrap());
    assert_eq!(counts(&dry), [5, 2, 3]);
    let none = agent.failure("bulk_create_notes", json!({ "items": [items[1], items[3]] })).await;
    assert_eq!((&none["code"], told(&none["details"]["results"])), (&json!("bulk_partial"), vec![codes[1], codes[3]]));
    let first = json!({ "items": [items[1], items[0]], "stop_on_first_error": true });
    let none = agent.failure("bulk_create_notes", first).await;
    assert_eq!(told(&none["details"]["results"]), ["note_exists"]);
    assert_eq!((notes(&deployment).await, generation(&deployment).await), (before.clone(), 1));

    let some = json!({ "items": items, "bulk_idempotency_key": "k" });
    let written = agent.checked("bulk_create_notes", some.clone()).await;
    assert_eq!((told(&written["results"]), &written["generation"]), (codes.to_vec(), &json!(2)));
    assert_eq!((counts(&written), &written["results"][4]["mode_used"]), ([5, 2, 3], &json!("upsert")));
    let mut expected = before;
    expected.insert("b.md".to_owned(), "b 5".to_owned());
    expected.insert("new.md".to_owned(), "---\nk:\n  - 1\n  - x\n---\n1".to_owned());
    let found = notes(&deployment).await;
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    assert_eq!((&found["b.md"], found["new.md"].ends_with("---\n1")), (&expected["b.md"], true));
    let hash = &agent.answer("read_note", json!({ "path": "new.md" })).await["sha256"];
    assert_eq!(&written["results"][0]["content_hash"], hash);
    let again = agent.answer("bulk_create_notes", some).await;
    assert_eq!((&again["results"], &again["generation"]), (&written["results"], &json!(2)));
    let stopped = json!({ "items": [{ "path": "c.md", "content": "6" }, items[1], { "path": "d.md", "content": "7" }], "stop_on_first_error": true });
    let stopped = agent.checked("bulk_create_notes", stopped).await;
    assert_eq!((told(&stopped["results"]), counts(&stopped)), (vec!["ok", "note_exists"], [2, 1, 1]));
    let found = notes(&deployment).await;
    assert_eq!((found.contains_key("c.md"), found.contains_key("d.md")), (true, false));

    // Calls that a person must confirm: many items, and losses.
    let many: Vec<Value> = (0..51).map(|n| json!({ "path": format!("n/{n}.md"), "content": "x" })).collect();
    agent.checked("bulk_create_notes", json!({ "items": many, "dry_run": true })).await;
    confirmed(&client, "bulk_create_notes", json!({ "items": many })).await;
    let lost = json!({ "items": [{ "path": "a.md", "content": "6", "mode": "overwrite" }] });
    confirmed(&client, "bulk_create_notes", lost).await;
    for (items, code) in [
        (json!([]), "invalid_input"),
        (json!(vec![many[0].clone(); 201]), "invalid_input"),
        (json!([{ "path": "x.txt", "content": "x" }]), "path_invalid"),
        (json!([{ "path": ".trash/x.md", "content": "x" }]), "path_invalid"),
    ] {
        let arguments = json!({ "items": items, "dry_run": true });
        assert_eq!(agent.refused("bulk_create_notes", arguments).await, code);
    }
    let other = caller(&client, &[Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault]);
    assert_eq!(other.refused("bulk_create_notes", json!({ "items": [many[0]] })).await, "scope_missing");
}

#[tokio::test]
async fn a_note_whose_name_clashes_is_left_out_and_the_others_are_written() {
    let vault = VaultBuilder::new().note("a.md", "a\n").note("b.md/inner.md", "b\n").file("plain", b"no ending");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let before = notes(&deployment).await;
    let item = |path: &str| json!({ "path": path, "content": "x" });
    let paths = [
        ("one.md", "ok"),
        ("b.md", "name_taken"),
        ("a.md/x.md", "name_taken"),
        ("plain/deep/x.md", "name_taken"),
        ("two.md/deep/below.md", "ok"),
        ("two.md", "name_taken"),
        ("three.md", "ok"),
        ("three.md/below.md", "name_taken"),
        // The items that these would clash with are not written.
        ("b.md/below.md", "ok"),
        ("none.md", "note_not_found"),
        ("none.md/below.md", "ok"),
        ("one.md", "invalid_input"),
    ];
    let (mut items, codes): (Vec<Value>, Vec<&str>) = paths.iter().map(|(path, code)| (item(path), *code)).unzip();
    items[9]["mode"] = json!("overwrite");
    let dry = agent.checked("bulk_create_notes", json!({ "items": items, "dry_run": true })).await;
    assert_eq!(told(&dry["results"]), codes);
    let stopped = json!({ "items": [items[1], items[0]], "stop_on_first_error": true });
    let none = agent.failure("bulk_create_notes", stopped).await;
    assert_eq!((told(&none["details"]["results"]), notes(&deployment).await), (vec!["name_taken"], before));

    let written = agent.checked("bulk_create_notes", json!({ "items": items })).await;
    assert_eq!((told(&written["results"]), &written["failed"]), (codes, &json!(7)));
    let found = notes(&deployment).await;
    let expected = ["a.md", "b.md/below.md", "b.md/inner.md", "none.md/below.md", "one.md", "plain", "three.md"];
    assert_eq!(found.keys().collect::<Vec<_>>(), [&expected[..], &["two.md/deep/below.md"]].concat());
    let stopped = json!({ "items": [item("c.md"), item("c.md/x.md"), item("d.md")], "stop_on_first_error": true });
    let stopped = agent.checked("bulk_create_notes", stopped).await;
    assert_eq!(told(&stopped["results"]), ["ok", "name_taken"]);
    assert!(!notes(&deployment).await.contains_key("d.md"));
}

#[tokio::test]
async fn a_property_is_set_in_many_notes_and_nothing_else_changes() {
    let vault = VaultBuilder::new()
        .note("a.md", "---\r\nstatus: \"open\"   # why\r\n---\r\ntext\r\n")
        .note("b.md", "no properties\n")
        .note("c.md", "---\nstatus: [1, 2]\nother: x\n---\n")
        .note("bad.md", "---\n: [\n---\n")
        .file("latin.md", b"caf\xe9\n");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let call = |paths: &[&str], value: Value| json!({ "paths": paths, "key": "status", "value": value });
    let bad = ["bad.md", "none.md", "latin.md"];
    let refused = agent.failure("bulk_set_property", call(&bad, json!("done"))).await;
    let codes = ["invalid_input", "note_not_found", "note_not_utf8"];
    assert_eq!((&refused["code"], told(&refused["details"]["results"])), (&json!("bulk_partial"), codes.to_vec()));
    assert_eq!(generation(&deployment).await, 1);

    let mut dry = call(&["a.md", "b.md", "c.md"], json!("done"));
    dry["dry_run"] = json!(true);
    let dry = agent.checked("bulk_set_property", dry).await;
    assert_eq!((&dry["dry_run"], generation(&deployment).await), (&json!(true), 1));
    let set = agent.checked("bulk_set_property", call(&["a.md", "b.md", "c.md"], json!("done"))).await;
    assert_eq!(set["results"], dry["results"]);
    let had: Vec<Option<&Value>> =
        set["results"].as_array().unwrap().iter().map(|item| item.get("prev_value")).collect();
    assert_eq!(had, [Some(&json!("open")), None, Some(&json!([1, 2]))]);
    for (path, expected) in [
        ("a.md", "---\r\nstatus: done   # why\r\n---\r\ntext\r\n"),
        ("b.md", "---\nstatus: done\n---\nno properties\n"),
        ("c.md", "---\nstatus: done\nother: x\n---\n"),
    ] {
        assert_eq!(agent.answer("read_note", json!({ "path": path })).await["content"], expected);
    }
    // Unchanged items make no new generation, and failed items are reported beside them.
    let same = agent.checked("bulk_set_property", call(&["a.md", "none.md", "c.md", "a.md"], json!("done"))).await;
    assert_eq!(told(&same["results"]), ["ok", "note_not_found", "ok", "invalid_input"]);
    assert_eq!((&same["generation"], generation(&deployment).await), (&json!(2), 2));
    let other = agent.checked("bulk_set_property", call(&["b.md", "bad.md"], json!("open"))).await;
    assert_eq!((told(&other["results"]), &other["failed"]), (vec!["ok", "invalid_input"], &json!(1)));
    assert_eq!(agent.answer("read_property", json!({ "path": "b.md", "key": "status" })).await["value"], "open");
    let many: Vec<String> = (0..51).map(|n| format!("{n}.md")).collect();
    let many = json!({ "paths": many, "key": "k", "value": "v" });
    assert_eq!(agent.refused("bulk_set_property", many.clone()).await, "bulk_partial", "none is there");
    for n in 0..51 {
        agent.checked("write_note", json!({ "path": format!("{n}.md"), "content": "x" })).await;
    }
    assert_eq!(agent.refused("bulk_set_property", many).await, "elicit_required");
}

#[tokio::test]
async fn notes_are_moved_together_with_the_links_between_them() {
    let vault = VaultBuilder::new()
        .note("a/One.md", "[[Two]] [t](../b/Two.md)\n")
        .note("b/Two.md", "[[One]] [[./Two]]\n")
        .note("c/Three.md", "[[a/One|x]]\n")
        .note("n.md", "[[One]] [[b/Two#h]] ![[Three]]\n")
        .note("there.md", "x\n");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let before = notes(&deployment).await;
    let call = |moves: &[(&str, &str)]| {
        let moves: Vec<Value> = moves.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect();
        json!({ "moves": moves })
    };
    let bad = call(&[
        ("a/One.md", "there.md"),
        ("none.md", "x.md"),
        ("b/Two.md", "y.md"),
        ("b/Two.md", "z.md"),
        ("c/Three.md", "y.md"),
        ("n.md", "n.md"),
    ]);
    let dry = agent.checked("bulk_move_notes", bad.clone()).await;
    let codes = ["note_exists", "note_not_found", "ok", "invalid_input", "invalid_input", "invalid_input"];
    assert_eq!((&dry["dry_run"], told(&dry["results"])), (&json!(true), codes.to_vec()));
    let mut wet = bad;
    wet["dry_run"] = json!(false);
    let trusted = deployment.client();
    let refused = crate::support::tool_calls::agent(&trusted).failure("bulk_move_notes", wet).await;
    let codes = codes.map(|code| if code == "ok" { "not_done" } else { code });
    assert_eq!((&refused["code"], told(&refused["details"]["results"])), (&json!("bulk_partial"), codes.to_vec()));
    assert_eq!((notes(&deployment).await, generation(&deployment).await), (before.clone(), 1));

    // Two swap their paths, one goes to another's old path, one to a new path.
    let mut ring = call(&[
        ("a/One.md", "b/Two.md"),
        ("b/Two.md", "a/One.md"),
        ("c/Three.md", "there.md"),
        ("there.md", "d/Here.md"),
    ]);
    let dry = agent.checked("bulk_move_notes", ring.clone()).await;
    ring["dry_run"] = json!(false);
    let moved = confirmed(&client, "bulk_move_notes", ring).await;
    assert_eq!((&moved["results"], &moved["total_backlinks_updated"]), (&dry["results"], &json!(3)));
    let expected = [
        ("a/One.md", "[[Two]] [[./One]]\n"),
        ("b/Two.md", "[[One]] [t](../a/One.md)\n"),
        ("d/Here.md", "x\n"),
        ("n.md", "[[Two]] [[a/One#h]] ![[there]]\n"),
        ("there.md", "[[b/Two|x]]\n"),
    ];
    let expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    assert_eq!(notes(&deployment).await, expected);
    let history = agent.answer("note_history", json!({ "path": "a/One.md" })).await;
    assert_eq!(history["versions"].as_array().unwrap().len(), 2);
    let totals = deployment.mirror().head().await.unwrap().manifest().totals;
    assert_eq!((totals.notes, totals.documents), (5, 5));

    let mut back = call(&[
        ("d/Here.md", "there.md"),
        ("there.md", "c/Three.md"),
        ("a/One.md", "b/Two.md"),
        ("b/Two.md", "a/One.md"),
    ]);
    back["dry_run"] = json!(false);
    confirmed(&client, "bulk_move_notes", back).await;
    assert_eq!(notes(&deployment).await, before);
}

#[tokio::test]
async fn of_two_that_write_the_same_notes_each_is_told_what_it_wrote() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "a")).await;
    let clients = [deployment.client(), deployment.client()];
    for round in 0..6 {
        let calls = clients.iter().enumerate().map(|(writer, client)| {
            let paths = if writer == 0 { ["own 0", "both", "also"] } else { ["also", "own 1", "both"] };
            let item = |name: &&str| json!({ "path": format!("{round}/{name}.md"), "content": format!("by {writer}") });
            let items: Vec<Value> = paths.iter().map(item).collect();
            async move { agent(client).answer("bulk_create_notes", json!({ "items": items })).await }
        });
        let answers = futures::future::join_all(calls).await;
        let mut told: Vec<(String, String)> = Vec::new();
        for (writer, answer) in answers.iter().enumerate() {
            let results = answer["results"].as_array().unwrap().iter();
            let done = results.filter(|item| item["ok"] == true).map(|item| item["path"].as_str().unwrap());
            told.extend(done.map(|path| (path.to_owned(), format!("by {writer}"))));
        }
        told.sort();
        let is_of_round = |(path, _): &(String, String)| path.starts_with(&format!("{round}/"));
        let found: Vec<(String, String)> = notes(&deployment).await.into_iter().filter(is_of_round).collect();
        assert_eq!((found.len(), found), (4, told), "{answers:?}");
    }
}

#[tokio::test]
async fn a_dry_run_of_moves_tells_the_names_that_cannot_be_taken() {
    let vault =
        VaultBuilder::new().note("a.md", "a\n").note("b.md", "b\n").note("c.md/inner.md", "c\n").note("d.md", "d\n");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let moves = json!([
        { "from": "a.md", "to": "c.md" },
        { "from": "b.md", "to": "d.md/below.md" },
        { "from": "c.md/inner.md", "to": "e.md" }
    ]);
    let dry = agent.checked("bulk_move_notes", json!({ "moves": moves })).await;
    // A moved file is not in the way.
    assert_eq!(told(&dry["results"]), ["ok", "name_taken", "ok"]);
    let (two, before) = (json!([moves[1], moves[2]]), notes(&deployment).await);
    let call = json!({ "moves": two, "dry_run": false });
    let none = agent.failure("bulk_move_notes", call).await;
    let codes = vec!["name_taken", "not_done"];
    assert_eq!((&none["code"], told(&none["details"]["results"])), (&json!("bulk_partial"), codes));
    assert_eq!(notes(&deployment).await, before);
}
