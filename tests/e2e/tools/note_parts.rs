//! Adding to a note, and reading and changing its parts.

use atlas_access::{Scope, scope};
use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tool_calls::{agent, caller, confirmed, guarded};

#[tokio::test]
async fn what_is_added_stands_where_it_is_asked_for() {
    let text = "---\r\nk: 1 # x\r\n---\r\n# One\r\n\r\nlast";
    let vault = VaultBuilder::new().note("a.md", text).note("empty.md", "");
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    let agent = agent(&client);
    for (more, expected) in [
        (json!({}), format!("{text}\r\nnew")),
        (json!({ "ensure_newline": false }), format!("{text}new")),
        (json!({ "position": "start" }), text.replace("# One", "new\r\n# One")),
        (json!({ "position": "start", "ensure_newline": false }), text.replace("# One", "new# One")),
        // Right above `---` it would be a heading.
        (json!({ "position": "start", "after_frontmatter": false }), format!("new\r\n\r\n{text}")),
        (json!({ "position": "start", "after_frontmatter": false, "ensure_newline": false }), format!("new{text}")),
    ] {
        let mut arguments = json!({ "path": "a.md", "content": "new", "idempotency_key": more.to_string() });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let added = agent.checked("append_note", arguments).await;
        let note = agent.answer("read_note", json!({ "path": "a.md" })).await;
        assert_eq!(note["content"], expected, "{more}");
        assert_eq!(added["inserted_bytes"], expected.len() - text.len(), "{more}");
        assert_eq!((&added["content_hash"], added["updated_at"].is_string()), (&note["sha256"], true));
        assert_eq!(added["position_used"], *more.get("position").unwrap_or(&json!("end")));
        agent.answer("write_note", json!({ "path": "a.md", "mode": "upsert", "content": text })).await;
    }
    let above = json!({ "path": "empty.md", "content": "new", "position": "start", "after_frontmatter": false, "idempotency_key": "above" });
    assert_eq!(agent.checked("append_note", above).await["inserted_bytes"], 3);
    assert_eq!(
        agent.refused("append_note", json!({ "path": "none.md", "content": "x", "idempotency_key": "none" })).await,
        "note_not_found"
    );
    // Once, however often it is called.
    let keyed = json!({ "path": "empty.md", "content": "more", "idempotency_key": "k" });
    let first = agent.checked("append_note", keyed.clone()).await;
    assert_eq!(agent.answer("append_note", keyed).await, first);
    assert_eq!(agent.answer("read_note", json!({ "path": "empty.md" })).await["content"], "new\nmore");
    // Without a key, as often as it is called.
    for _ in 0..2 {
        agent.checked("append_note", json!({ "path": "empty.md", "content": "x" })).await;
    }
    assert_eq!(agent.answer("read_note", json!({ "path": "empty.md" })).await["content"], "new\nmore\nx\nx");
}

#[tokio::test]
async fn text_is_added_to_the_section_of_a_heading_and_to_the_version_that_was_read() {
    let note = "# One\n\nof one\n\n# Two\n\nof two\n";
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", note)).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let under = |heading: &str, position: &str| json!({ "path": "a.md", "content": "- x", "heading": heading, "position": position });
    agent.checked("append_note", under("One", "end")).await;
    agent.checked("append_note", under("## Two", "start")).await;
    let read = agent.answer("read_note", json!({ "path": "a.md" })).await;
    assert_eq!(read["content"], "# One\n\nof one\n- x\n\n# Two\n- x\n\nof two\n");
    let missing = agent.failure("append_note", under("Thre", "end")).await;
    assert_eq!(missing["details"]["candidates"][1]["text"], "Two", "{missing}");
    // One of several is named as it is told.
    agent.checked("write_note", json!({ "path": "b.md", "content": "# A\n\n## Tasks\n\n# B\n\n## Tasks\n" })).await;
    let task = |heading: &str| json!({ "path": "b.md", "content": "- x", "heading": heading });
    for heading in ["Tasks", "tasks"] {
        let several = agent.failure("append_note", task(heading)).await;
        let candidates = several["details"]["candidates"].as_array().unwrap();
        assert!(candidates.iter().any(|one| one["text"] == "B > Tasks"), "{several}");
        assert!(several["message"].as_str().unwrap().ends_with("one of A > Tasks (line 3), B > Tasks (line 7)"));
    }
    agent.checked("append_note", task("B > Tasks (line 7)")).await;
    agent.checked("append_note", task("a")).await;
    let several = agent.answer("read_note", json!({ "path": "b.md" })).await;
    assert_eq!(several["content"], "# A\n\n## Tasks\n- x\n\n# B\n\n## Tasks\n- x\n");
    // A caller who may not read the note learns nothing of its headings.
    let writer = caller(&client, &[Scope::WriteVault]);
    assert_eq!(writer.refused("append_note", under("One", "end")).await, "scope_missing");
    let seen = |version: &Value| json!({ "path": "a.md", "content": "y", "if_match": version });
    agent.checked("append_note", seen(&read["sha256"])).await;
    assert_eq!(agent.refused("append_note", seen(&read["sha256"])).await, "note_changed");
}

#[tokio::test]
async fn added_text_does_not_become_part_of_the_list_table_or_quote_above_it() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("b.md", "text\n")).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    for (number, note) in ["- [ ] Buy milk", "| a |\n| --- |\n| 1 |", "> Words\n> by Maeve"].into_iter().enumerate() {
        for ended in ["", "\n"] {
            for (tool, arguments) in [
                ("append_note", json!({ "content": "new" })),
                ("append_note", json!({ "content": "new", "heading": "A" })),
                ("edit_note", json!({ "edits": [{ "op": "append", "text": "new" }] })),
                ("patch_note", json!({ "operation": "append", "target_heading": "A", "content": "new" })),
                ("upsert_note", json!({ "content": "new" })),
                ("note_upsert", json!({ "content": "new" })),
            ] {
                let path = format!("{tool}{number}{}{}.md", ended.len(), arguments.get("heading").is_some());
                let note = format!("# A\n\n{note}{ended}");
                agent.checked("write_note", json!({ "path": path, "content": note })).await;
                let mut arguments = arguments;
                arguments["path"] = path.as_str().into();
                agent.checked(tool, arguments).await;
                let read = agent.answer("read_note", json!({ "path": path })).await;
                let read = read["content"].as_str().unwrap();
                assert_eq!(read.trim_end(), format!("{}\n\nnew", note.trim_end()), "{tool}");
            }
        }
    }
    agent.checked("write_note", json!({ "path": "links.md", "content": "- item" })).await;
    agent.checked("link_add", json!({ "from": "links.md", "to": "b.md" })).await;
    assert_eq!(agent.answer("read_note", json!({ "path": "links.md" })).await["content"], "- item\n\n[[b]]\n");
}

#[tokio::test]
async fn a_part_is_changed_that_an_anchor_names() {
    let note = "# One\n\nof one ^b\n\n# Two\n\nof two\n";
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", note)).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let patch = |more: Value| {
        let mut patch = json!({ "path": "a.md" });
        patch.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        patch
    };
    let two = json!({ "type": "heading", "heading": "Two" });
    agent.checked("patch_note", patch(json!({ "operation": "append", "anchor": two, "content": "more" }))).await;
    agent
        .checked("patch_note", patch(json!({ "operation": "prepend", "target_heading": "One", "content": "first" })))
        .await;
    let block = json!({ "type": "block", "block_id": "b" });
    agent.checked("patch_note", patch(json!({ "operation": "replace", "anchor": block, "content": "1 ^b" }))).await;
    let text = json!({ "operation": "replace_text", "anchor": two, "old_string": "of", "new_string": "in" });
    assert_eq!(agent.checked("patch_note", patch(text)).await["occurrences_replaced"], 1);
    let read = agent.answer("read_note", json!({ "path": "a.md" })).await;
    assert_eq!(read["content"], "# One\nfirst\n\n1 ^b\n\n# Two\n\nin two\nmore\n");
    for (arguments, field) in [
        (json!({}), "old_string"),
        (json!({ "old_string": "in" }), "new_string"),
        (json!({ "anchor": two, "content": "x" }), "operation"),
        (json!({ "operation": "append", "content": "x" }), "anchor"),
        (json!({ "operation": "append", "anchor": two }), "content"),
        (json!({ "operation": "append", "anchor": two, "old_string": "a", "new_string": "b" }), "content"),
        (
            json!({ "operation": "append", "anchor": two, "content": "x", "expected_occurrences": 2 }),
            "expected_occurrences",
        ),
        (json!({ "operation": "append", "anchor": two, "target_heading": "Two", "content": "x" }), "target_heading"),
        (json!({ "operation": "replace_text", "anchor": two, "content": "x" }), "content"),
    ] {
        let error = agent.failure("patch_note", patch(arguments.clone())).await;
        assert_eq!(
            (&error["code"], &error["details"]["field"]),
            (&json!("invalid_input"), &json!(field)),
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn text_is_replaced_where_it_is_and_nowhere_else() {
    let text = "# One\n\ntide and tide\n\n## Two\n\nberth\n";
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", text)).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let patch = |old: &str, new: &str| json!({ "path": "a.md", "old_string": old, "new_string": new });
    for (old, message) in
        [("zebra", "is not in the note"), ("tide", "2 times"), ("tide", "or set expected_occurrences")]
    {
        let refused = agent.failure("patch_note", patch(old, "x")).await;
        assert_eq!((&refused["code"], &refused["details"]["field"]), (&json!("invalid_input"), &json!("old_string")));
        assert!(refused["message"].as_str().unwrap().contains(message), "{refused}");
    }
    let missing = json!({ "path": "none.md", "old_string": "a", "new_string": "b" });
    assert_eq!(agent.refused("patch_note", missing).await, "note_not_found");
    let mut twice = patch("tide", "ebb");
    twice["expected_occurrences"] = json!(2);
    let patched = agent.checked("patch_note", twice).await;
    assert_eq!((&patched["occurrences_replaced"], patched["updated_at"].is_string()), (&json!(2), true));
    agent.checked("patch_note", patch("## Two", "## Three")).await;
    confirmed(&client, "patch_note", patch("ebb\n\n## Three\n\nberth", "all of it")).await;
    let note = agent.answer("read_note", json!({ "path": "a.md" })).await;
    assert_eq!(note["content"], "# One\n\nebb and all of it\n");
}

#[tokio::test]
async fn a_note_that_is_not_there_is_created_where_that_is_asked_for() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "a")).await;
    let client = deployment.client();
    let agent = agent(&client);
    let add = |path: &str| json!({ "path": path, "content": "- one\n", "create_if_missing": true });
    for (path, expected) in [("log/new.md", "- one\n"), ("log/new.md", "- one\n- one\n"), ("a.md", "a\n- one\n")] {
        agent.checked("append_note", add(path)).await;
        assert_eq!(agent.answer("read_note", json!({ "path": path })).await["content"], expected, "{path}");
    }
    // Of a note that is not there nobody has seen a section or a version.
    for (name, value) in [("heading", json!("One")), ("if_match", json!("0".repeat(64)))] {
        let mut arguments = add("none.md");
        arguments[name] = value;
        assert_eq!(agent.refused("append_note", arguments).await, "note_not_found", "{name}");
    }
}

#[tokio::test]
async fn a_part_is_read_that_an_anchor_names() {
    let note = "---\nk: 1\n---\nabove\n\n# One\n\nof one ^b\n\n## Below\n\nmore\n\n# Two\n\nof two\n";
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", note).note("bare.md", "# One\n")).await;
    let client = deployment.client();
    let agent = agent(&client);
    for (anchor, expected) in [
        (json!({ "type": "heading", "heading": "one" }), "# One\n\nof one ^b\n\n## Below\n\nmore\n"),
        (json!("One > Below"), "## Below\n\nmore\n"),
        (json!({ "type": "block", "block_id": "b" }), "of one ^b\n"),
        (json!("^b"), "of one ^b\n"),
        (json!({ "type": "frontmatter" }), "above\n"),
    ] {
        let read = agent.answer("read_note", json!({ "path": "a.md", "anchor": anchor })).await;
        assert_eq!((&read["content"], &read["frontmatter"]["k"]), (&json!(expected), &json!(1)), "{anchor}");
        assert_eq!(read["bytes"], note.len());
    }
    let nothing = json!({ "path": "bare.md", "anchor": { "type": "frontmatter" } });
    assert_eq!(agent.answer("read_note", nothing).await["content"], "");
    let missing = json!({ "path": "a.md", "anchor": "Tow" });
    let refused = agent.failure("read_note", missing).await;
    assert_eq!(refused["details"]["candidates"][0]["text"], "One", "{refused}");
    // One of several is named as the error names it.
    let twice = VaultBuilder::new().note("b.md", "# A\n\n## Tasks\n\n# B\n\n## Tasks\n\nof b\n");
    let twice = Deployment::of_vault(&twice).await.client();
    let several = self::agent(&twice).failure("read_note", json!({ "path": "b.md", "anchor": "Tasks" })).await;
    assert!(several["message"].as_str().unwrap().contains("B > Tasks (line 7)"), "{several}");
    assert_eq!(several["details"]["example"], json!({ "type": "heading", "heading": "A > Tasks (line 3)" }));
    for anchor in [json!("B > Tasks (line 7)"), json!({ "type": "heading", "heading": "Tasks", "occurrence": 2 })] {
        let part = json!({ "path": "b.md", "anchor": anchor });
        assert_eq!(self::agent(&twice).answer("read_note", part).await["content"], "## Tasks\n\nof b\n");
    }
    for (anchor, said) in
        [(json!(7), "heading"), (json!(""), ""), (json!({ "type": "line" }), "line"), (json!("^"), "")]
    {
        let refused = agent.failure("read_note", json!({ "path": "a.md", "anchor": anchor })).await;
        let (message, field) = (refused["message"].as_str().unwrap(), &refused["details"]["field"]);
        assert!(message.contains(said) && message.starts_with("anchor"), "{anchor}: {refused}");
        assert_eq!(field, "anchor");
    }
}

#[tokio::test]
async fn a_long_part_comes_in_pages() {
    let body = "All the tides of a year. ".repeat(100);
    let vault = VaultBuilder::new().note("a.md", &format!("# One\n\n{body}\n\n# Two\n\nend\n"));
    let deployment = Deployment::of_vault(&vault).await.with_limits(|limits| limits.max_bytes = 1000);
    let client = deployment.client();
    let (mut text, mut offset) = (String::new(), json!(0));
    while !offset.is_null() {
        let part = json!({ "path": "a.md", "offset": offset, "anchor": "# One" });
        let read = agent(&client).checked("read_note", part).await;
        text.push_str(read["content"].as_str().unwrap());
        offset = read["next_offset"].clone();
    }
    assert_eq!(text, format!("# One\n\n{body}\n"));
}
