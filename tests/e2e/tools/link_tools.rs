//! obsidian-tc's tools that change links, as agents call them.

use atlas_access::scope;
use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tool_calls::{caller, confirmed, guarded};

#[tokio::test]
async fn a_file_is_moved_with_the_links_to_it() {
    let vault = VaultBuilder::new()
        .file("img/tide chart.png", b"\x89PNG")
        .note("img/plan.canvas", "{}")
        .note("a.md", "![[tide chart.png|300]] ![x](img/tide%20chart.png) [[plan.canvas]]\n")
        .note("b.md", "[[tide chart]]\n");
    let vault = (0..11).fold(vault, |vault, n| vault.note(&format!("n/{n}.md"), "![[img/plan.canvas]]\n"));
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let call = |from: &str, to: &str| json!({ "from": from, "to": to });
    let moved = agent.checked("move_attachment", call("img/tide chart.png", "files/Tide (1).PNG")).await;
    assert_eq!((&moved["references_updated"], moved["moved_at"].is_string()), (&json!(2), true));
    let expected = "![[Tide (1).PNG|300]] ![x](files/Tide%20%281%29.PNG) [[plan.canvas]]\n";
    assert_eq!(agent.answer("read_note", json!({ "path": "a.md" })).await["content"], expected);
    assert_eq!(agent.answer("read_note", json!({ "path": "b.md" })).await["content"], "[[tide chart]]\n");
    let there = agent.answer("list_notes", json!({ "root": "files", "extensions": ["png"] })).await;
    assert_eq!((&there["items"][0]["sha256"], &there["items"][0]["size"]), (&moved["sha256"], &json!(4)));
    // Many links need a confirmation.
    let plan = confirmed(&client, "move_attachment", call("img/plan.canvas", "files/plan.canvas")).await;
    assert_eq!(plan["references_updated"], 11, "a link by its name alone stays");
    for (from, to, code) in [
        ("img/none.png", "x.png", "note_not_found"),
        ("a.md", "x.md", "path_invalid"),
        ("files/plan.canvas", "x.png", "path_invalid"),
        ("files/plan.canvas", ".x/plan.canvas", "path_invalid"),
        ("files/plan.canvas", "files/plan.canvas", "path_invalid"),
        ("files/Tide (1).PNG", "../x.png", "path_invalid"),
    ] {
        assert_eq!(agent.refused("move_attachment", call(from, to)).await, code, "{from} {to}");
    }
}

#[tokio::test]
async fn links_get_another_target_in_every_form() {
    let link = "[[One]] ![[a/One#H|x]] [t](../a/One.md#h 't') `[[One]]`\n";
    let vault = VaultBuilder::new()
        .note("a/One.md", "# H\n")
        .note("b/Two.md", "[[One]] [[gone]]\n")
        .note("x/n.md", link)
        .note("x/m.md", "[[One|1]] [[gone#h|2]] [[gone.md]]\n")
        .note("y.md", "[[Two]]\n");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let text = async |path: &str| agent.answer("read_note", json!({ "path": path })).await["content"].clone();
    let dry = agent.checked("rewrite_link", json!({ "from_target": "One", "to_target": "b/Two" })).await;
    let modified = json!([
        { "path": "b/Two.md", "occurrences": 1 },
        { "path": "x/m.md", "occurrences": 1 },
        { "path": "x/n.md", "occurrences": 3 },
    ]);
    assert_eq!([&dry["files_modified"], &dry["total_replacements"]], [&modified, &json!(5)]);
    assert_eq!((&dry["dry_run"], text("x/n.md").await), (&json!(true), json!(link)));

    let folder = json!({
        "from_target": "One", "to_target": "Two", "scope": "folder", "folder_path": "x/", "dry_run": false,
        "idempotency_key": "k",
    });
    let done = confirmed(&client, "rewrite_link", folder.clone()).await;
    assert_eq!((&done["total_replacements"], &done["generation"]), (&json!(4), &json!(2)));
    assert_eq!(text("x/n.md").await, "[[Two]] ![[b/Two#H|x]] [t](../b/Two.md#h 't') `[[One]]`\n");
    assert_eq!(text("b/Two.md").await, "[[One]] [[gone]]\n");
    assert_eq!(agent.answer("rewrite_link", folder).await, done);

    let gone = json!({ "from_target": "gone", "to_target": "not yet", "dry_run": false });
    let gone = confirmed(&client, "rewrite_link", gone).await;
    assert_eq!(gone["total_replacements"], 3);
    assert_eq!(text("x/m.md").await, "[[Two|1]] [[not yet#h|2]] [[not yet]]\n");
    for (arguments, code) in [
        (json!({ "from_target": "One", "to_target": "b|c" }), "link_impossible"),
        (json!({ "from_target": "One", "to_target": "Two", "scope": "folder" }), "invalid_input"),
        (json!({ "from_target": "One", "to_target": "Two", "scope": "vault", "folder_path": "x" }), "invalid_input"),
        (json!({ "from_target": "One", "to_target": "Two", "dry_run": false }), "elicit_required"),
    ] {
        assert_eq!(agent.refused("rewrite_link", arguments.clone()).await, code, "{arguments}");
    }
    let none = agent.answer("rewrite_link", json!({ "from_target": "nothing at all", "to_target": "Two" })).await;
    assert_eq!(none["files_modified"], json!([]));
}

#[tokio::test]
async fn a_hub_loses_the_links_that_a_policy_names() {
    let hub = "# Hub\n\n- [[one]]\n- [[two]] because it matters\n- [[none]]\n\n[[one]] in a sentence of some length.\n";
    let vault = VaultBuilder::new()
        .note("hub.md", hub)
        .note("one.md", "[[two]] [[hub]]\n")
        .note("two.md", "\n")
        .note("n.md", "[[two]]\n");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let going = async |policy: Value| {
        let dry = agent.checked("prune_hub_links", json!({ "path": "hub.md", "policy": policy })).await;
        assert_eq!((&dry["links_before"], &dry["dry_run"]), (&json!(4), &json!(true)));
        let removed: Vec<(String, u64)> = dry["removed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|link| (link["target"].as_str().unwrap().to_owned(), link["line"].as_u64().unwrap()))
            .collect();
        assert_eq!(dry["links_after"], 4 - removed.len());
        removed
    };
    let of =
        |links: &[(&str, u64)]| links.iter().map(|(target, line)| ((*target).to_owned(), *line)).collect::<Vec<_>>();
    let bare = json!({ "kind": "drop_unannotated_list_items" });
    assert_eq!(going(bare.clone()).await, of(&[("one", 3), ("none", 5)]));
    let prose = json!({ "kind": "drop_no_prose_context", "min_prose_chars": 20 });
    assert_eq!(going(prose).await, of(&[("one", 3), ("two", 4), ("none", 5)]));
    let backlinks = |threshold: f64| json!({ "kind": "drop_below_score", "score_field": "target_backlink_count", "threshold": threshold });
    assert_eq!(going(backlinks(1.0)).await, of(&[("none", 5)]));
    assert_eq!(going(backlinks(2.5)).await, of(&[("one", 3), ("none", 5), ("one", 7)]));
    let top = json!({ "kind": "keep_top_n", "score_field": "target_outgoing_count", "n": 1 });
    assert_eq!(going(top).await, of(&[("two", 4), ("none", 5), ("one", 7)]));
    let is = |name: &str, value: Value| json!({ "==": [{ "var": name }, value] });
    for (logic, dropped) in [
        (json!({ "var": "in_list_item" }), &[("one", 7)][..]),
        (json!({ "!": [{ "var": "in_codeblock" }] }), &[]),
        (is("target", json!("one")), &[("two", 4), ("none", 5)]),
        (is("target_path", json!("two.md")), &[("one", 3), ("none", 5), ("one", 7)]),
        (is("target_path", Value::Null), &[("one", 3), ("two", 4), ("one", 7)]),
        (is("list_item_text", json!("because it matters")), &[("one", 3), ("none", 5), ("one", 7)]),
        (json!({ "in": ["sentence", { "var": "prose_context" }] }), &[("one", 3), ("two", 4), ("none", 5)]),
        (json!({ "and": [is("line", json!(7)), is("col", json!(1))] }), &[("one", 3), ("two", 4), ("none", 5)]),
        (is("target_backlink_count", json!(3)), &[("one", 3), ("none", 5), ("one", 7)]),
        (is("target_outgoing_count", json!(2)), &[("two", 4), ("none", 5)]),
    ] {
        assert_eq!(going(json!({ "kind": "jsonlogic", "logic": logic })).await, of(dropped), "{logic}");
    }

    let by_flags = async |flags: Value| {
        let mut call = json!({ "path": "hub.md" });
        call.as_object_mut().unwrap().extend(flags.as_object().unwrap().clone());
        let dry = agent.checked("prune_hub_links", call).await;
        let line = |link: &Value| link["line"].as_u64().unwrap();
        (dry["policy_used"].clone(), dry["removed"].as_array().unwrap().iter().map(line).collect::<Vec<_>>())
    };
    for (flags, kind, lines) in [
        (json!({}), "drop_unresolved_and_duplicates", &[5, 7][..]),
        (json!({ "remove_unresolved": false }), "drop_duplicates", &[7]),
        (json!({ "remove_duplicates": false }), "drop_unresolved", &[5]),
        (json!({ "policy": { "kind": "drop_duplicates" } }), "drop_duplicates", &[7]),
    ] {
        assert_eq!(by_flags(flags).await, (json!(kind), lines.to_vec()));
    }
    let stale = json!({ "path": "hub.md", "prev_hash": "0".repeat(64) });
    assert_eq!(agent.refused("prune_hub_links", stale).await, "note_changed");
    let neither = json!({ "path": "hub.md", "remove_unresolved": false, "remove_duplicates": false });
    assert_eq!(agent.refused("prune_hub_links", neither).await, "invalid_input");
    let both = json!({ "path": "hub.md", "policy": bare, "remove_duplicates": true });
    assert_eq!(agent.refused("prune_hub_links", both).await, "invalid_input");

    let mut call =
        json!({ "path": "hub.md", "policy": bare, "max_removals": 1, "dry_run": false, "idempotency_key": "one" });
    let pruned = confirmed(&client, "prune_hub_links", call.clone()).await;
    assert_eq!(pruned["removed"].as_array().unwrap().len(), 1);
    let note = agent.answer("read_note", json!({ "path": "hub.md" })).await;
    assert_eq!(
        (&note["content"], &note["sha256"]),
        (&json!(hub.replacen("- [[one]]\n", "", 1)), &pruned["content_hash"])
    );
    call["policy"] = json!({ "kind": "drop_no_prose_context", "min_prose_chars": 25 });
    call["max_removals"] = json!(50);
    call["idempotency_key"] = json!("two");
    confirmed(&client, "prune_hub_links", call).await;
    let expected = "# Hub\n\n- two because it matters\n\n[[one]] in a sentence of some length.\n";
    assert_eq!(agent.answer("read_note", json!({ "path": "hub.md" })).await["content"], expected);
    let many: Vec<u32> = (0..200).collect();
    let endless = json!({ "map": [many.clone(), { "map": [many, 1] }] });
    for (path, policy, code) in [
        ("none.md", json!({ "kind": "drop_no_prose_context" }), "note_not_found"),
        ("hub.md", json!({ "kind": "keep_top_n", "n": 1 }), "invalid_input"),
        ("hub.md", json!({ "kind": "drop_below_score", "score_field": "target_backlink_count" }), "invalid_input"),
        ("hub.md", json!({ "kind": "jsonlogic" }), "invalid_input"),
        ("hub.md", json!({ "kind": "jsonlogic", "logic": { "nothing": [] } }), "invalid_input"),
        ("hub.md", json!({ "kind": "jsonlogic", "logic": endless }), "compute_budget_exceeded"),
    ] {
        assert_eq!(agent.refused("prune_hub_links", json!({ "path": path, "policy": policy })).await, code);
    }
}
