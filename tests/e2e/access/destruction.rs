//! Destroying a note's text requires a confirmation, whichever operation does it and in however many steps; and no
//! operation makes a file and a folder of one name.

use atlas_access::{Scope, scope};
use atlas_testkit::{Op, VaultBuilder};
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::{Client, Deployment};
use crate::support::tokens::{bearer, token};
use crate::support::tool_calls::{caller, confirmed, guarded};

const FRONTMATTER: &str = "---\nstatus: draft\ntags:\n- harbour\n---\n";

/// Lines by a person.
fn lines(range: std::ops::Range<usize>) -> String {
    range.map(|n| format!("On day {n} the harbour master wrote {}.\n", n * 7919 % 1009)).collect()
}

fn other(count: usize) -> String {
    (0..count).map(|n| format!("Something else entirely was there, number {n} now.\n")).collect()
}

/// A note of 100 lines with two properties, a list of tasks, and one that is too large for its text to be loaded.
async fn vault() -> Deployment {
    let tasks: String = (0..20).map(|n| format!("- [ ] task{n}\n")).collect();
    let note = format!("{FRONTMATTER}{}", lines(0..100));
    Deployment::of_vault(&VaultBuilder::new().note("n.md", &note).note("tasks.md", &tasks).note("x.md", "other\n"))
        .await
}

/// An agent that may only read and write notes.
fn writer<'a>(client: &'a Client, name: &str) -> Agent<'a> {
    let scopes = [Scope::ReadVault, Scope::WriteVault, Scope::BulkVault];
    Agent::new(client, ERAS[0]).with(bearer(&token(name, &scopes, None)))
}

fn edits(edits: &Value) -> Value {
    json!({ "path": "n.md", "edits": edits })
}

/// Replaces a range of lines, counted from 1.
fn replaced(from: u32, to: u32, text: &str) -> Value {
    edits(&json!([{ "op": "replace_section", "target": { "lines": [from, to] }, "text": text }]))
}

#[tokio::test]
async fn what_destroys_a_note_is_confirmed_whatever_operation_does_it() {
    let note = format!("{FRONTMATTER}{}", lines(0..100));
    let most = lines(20..100);
    let write = |mode: &str, content: &str| json!({ "path": "n.md", "content": content, "mode": mode });
    let bulk = |content: &str| json!({ "items": [{ "path": "n.md", "content": content, "mode": "upsert" }] });
    let patch = |old: &str, new: &str| json!({ "path": "n.md", "old_string": old, "new_string": new });
    let no_properties = json!({ "path": "n.md", "mode": "merge", "patch": { "status": null, "tags": null } });
    let calls = [
        ("write_note", write("upsert", "other words"), true),
        ("write_note", write("upsert", &lines(0..100)), true),
        ("write_note", write("upsert", &format!("{FRONTMATTER}{}", lines(52..100))), true),
        ("write_note", write("upsert", &format!("{FRONTMATTER}{}", lines(48..100))), false),
        ("write_note", write("upsert", &format!("{note}more\n")), false),
        ("write_note", write("upsert", ""), true),
        ("bulk_create_notes", bulk("other words"), true),
        ("bulk_create_notes", bulk(&format!("{note}more\n")), false),
        ("edit_note", replaced(1, 104, "other\n"), true),
        ("edit_note", replaced(10, 90, ""), true),
        ("edit_note", replaced(10, 40, ""), false),
        ("edit_note", edits(&json!([{ "op": "replace_text", "find": most, "replace": "" }])), true),
        (
            "edit_note",
            edits(&json!([{ "op": "replace_text", "find": "harbour master", "replace": "clerk", "count": 100 }])),
            false,
        ),
        (
            "edit_note",
            edits(&json!([{ "op": "remove_property", "name": "status" }, { "op": "remove_property", "name": "tags" }])),
            true,
        ),
        ("edit_note", edits(&json!([{ "op": "remove_property", "name": "status" }])), false),
        ("edit_note", edits(&json!([{ "op": "append", "text": "more" }])), false),
        ("patch_note", patch(&most, "x"), true),
        ("patch_note", patch(&lines(0..20), "x"), false),
        ("update_frontmatter", no_properties, true),
        ("append_note", json!({ "path": "n.md", "content": "more", "idempotency_key": "k" }), false),
        ("upsert_note", json!({ "path": "n.md", "content": "more" }), false),
        ("note_upsert", json!({ "path": "n.md", "content": "more" }), false),
        ("add_tag", json!({ "path": "n.md", "tag": "new" }), false),
        ("update_task", json!({ "path": "tasks.md", "line": 3, "set": { "status": "done" } }), false),
        ("bulk_set_property", json!({ "paths": ["n.md", "x.md"], "key": "status", "value": "done" }), false),
    ];
    for (tool, arguments, destroys) in calls {
        let client = guarded(&vault().await).await;
        let answer = writer(&client, "agent").call(tool, arguments.clone()).await;
        let told: Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
        let code = if answer["isError"] == true { told["code"].as_str().unwrap() } else { "ok" };
        let text = caller(&client, &scope::ALL).checked("read_note", json!({ "path": "n.md" })).await;
        assert_eq!(code, if destroys { "elicit_required" } else { "ok" }, "{tool} {arguments}: {answer}");
        assert!(!destroys || text["content"] == note.as_str(), "{tool} wrote what it was not allowed to");
    }
}

#[tokio::test]
async fn a_judgement_takes_one_look_at_who_wrote_the_note_and_one_at_what_it_was() {
    let client = guarded(&vault().await).await;
    let agent = writer(&client, "agent");
    let looked = async |arguments: Value| {
        client.requests.take();
        agent.answer("edit_note", arguments).await;
        let requests = client.requests.take();
        requests.of(Op::Get).filter(|one| one.key.contains("/manifests/")).count()
    };
    let appended = || edits(&json!([{ "op": "append", "text": "more" }]));
    let cut = |line: u32| replaced(line, line, "");
    // If the newest commit wrote the note, each write only looks for the generation after the known one.
    let unjudged = looked(appended()).await;
    assert_eq!(looked(appended()).await, unjudged);
    agent.answer("write_note", json!({ "path": "elsewhere.md", "content": "x" })).await;
    assert_eq!(looked(appended()).await, unjudged + 1, "who wrote it");
    agent.answer("write_note", json!({ "path": "elsewhere2.md", "content": "x" })).await;
    assert_eq!(looked(cut(50)).await, unjudged + 2, "who wrote it, and what others left");
}

#[tokio::test]
async fn two_halves_are_a_whole() {
    let client = guarded(&vault().await).await;
    let (agent, second) = (writer(&client, "agent"), writer(&client, "second"));
    agent.checked("edit_note", replaced(6, 54, &other(49))).await;
    // Neither additions in between nor another name make it another note.
    agent.checked("upsert_note", json!({ "path": "n.md", "content": "more" })).await;
    let moved = json!({ "from": "n.md", "to": "m.md", "update_backlinks": false });
    caller(&client, &scope::ALL).checked("move_note", moved).await;
    let mut rest = replaced(55, 103, &other(49));
    rest["path"] = "m.md".into();
    for one in [&agent, &second] {
        assert_eq!(one.failure("edit_note", rest.clone()).await["code"], "elicit_required");
    }
}

#[tokio::test]
async fn callers_that_take_turns_destroy_nothing_unasked() {
    let client = guarded(&vault().await).await;
    let (agent, second) = (writer(&client, "agent"), writer(&client, "second"));
    let cut = |lines: std::ops::Range<usize>, keeps: &str| json!({ "path": "n.md", "old_string": self::lines(lines), "new_string": keeps });
    agent.checked("patch_note", cut(0..40, "")).await;
    assert_eq!(second.failure("patch_note", cut(40..70, "")).await["code"], "elicit_required");
    second.checked("patch_note", cut(40..45, "")).await;
    assert_eq!(agent.failure("patch_note", cut(45..55, "")).await["code"], "elicit_required");
    confirmed(&client, "patch_note", cut(45..55, "")).await;
    second.checked("patch_note", cut(55..70, "")).await;
    assert_eq!(agent.failure("patch_note", cut(70..90, "")).await["code"], "elicit_required");
}

#[tokio::test]
async fn what_properties_and_cards_say_is_not_emptied_unasked() {
    let contact = "---\nname: Anna Smith\nphone: 030 12345\nemail: anna@example.org\nplace: Berlin\n---\n";
    let summary = "---\nsummary: a long precious text that a person wrote\n---\n";
    let card = |n: usize| json!({ "id": format!("c{n}"), "type": "text", "text": format!("idea {n} of the harbour"), "x": n, "y": 0, "width": 9, "height": 9 });
    let canvas = json!({ "nodes": (0..12).map(card).collect::<Vec<_>>(), "edges": [] }).to_string();
    let vault = VaultBuilder::new()
        .note("anna.md", contact)
        .note("one.md", summary)
        .note("two.md", summary)
        .file("Plan.canvas", canvas.as_bytes());
    let client = guarded(&Deployment::of_vault(&vault).await).await;
    let agent = writer(&client, "agent");
    let merged = |patch: Value| json!({ "path": "anna.md", "mode": "merge", "patch": patch });
    let cards = |count: usize, text: &str| {
        let nodes = (0..count).map(|n| (format!("c{n}"), json!({ "text": text }))).collect::<serde_json::Map<_, _>>();
        json!({ "path": "Plan.canvas", "update_nodes": nodes })
    };
    for (tool, arguments) in [
        ("update_frontmatter", merged(json!({ "name": "", "phone": "", "email": "", "place": "" }))),
        ("update_frontmatter", merged(json!({ "name": null, "phone": null, "email": null }))),
        ("bulk_set_property", json!({ "paths": ["one.md", "two.md"], "key": "summary", "value": "" })),
        ("update_canvas", cards(12, "")),
    ] {
        assert_eq!(agent.failure(tool, arguments.clone()).await["code"], "elicit_required", "{tool} {arguments}");
    }
    agent.checked("update_frontmatter", merged(json!({ "place": "Bremen", "status": "open" }))).await;
    agent.checked("update_frontmatter", merged(json!({ "status": "done" }))).await;
    agent.checked("update_canvas", cards(3, "another idea")).await;
}

#[tokio::test]
async fn a_refused_deletion_is_not_made_by_another_tool() {
    let files = VaultBuilder::new().note("n.md", "a\n").file("lone.pdf", b"%PDF\0").file("Plan.canvas", b"{}");
    let client = guarded(&Deployment::of_vault(&files).await).await;
    let agent = caller(&client, &scope::ALL);
    for (tool, path) in [
        ("delete_note", "n.md"),
        ("note_delete", "n.md"),
        ("delete_attachment", "lone.pdf"),
        ("delete_attachment", "Plan.canvas"),
    ] {
        assert_eq!(agent.refused(tool, json!({ "path": path })).await, "elicit_required", "{tool} {path}");
    }
    let absent = json!({ "path": "absent.md" });
    assert_eq!(agent.answer("note_delete", absent).await["deleted"], false, "nobody is asked about nothing");
    assert_eq!(confirmed(&client, "note_delete", json!({ "path": "n.md" })).await["deleted"], true);
}

#[tokio::test]
async fn what_a_person_has_confirmed_is_where_the_next_change_begins() {
    let client = guarded(&vault().await).await;
    let agent = writer(&client, "agent");
    let short = json!({ "path": "n.md", "content": lines(0..40), "mode": "upsert" });
    confirmed(&client, "write_note", short).await;
    let ten = |from: u32| replaced(from, from + 9, "");
    agent.checked("edit_note", ten(1)).await;
    agent.checked("edit_note", ten(1)).await;
    assert_eq!(agent.failure("edit_note", ten(1)).await["code"], "elicit_required");
}

#[tokio::test]
async fn what_an_agent_created_it_may_write_anew() {
    let client = guarded(&vault().await).await;
    let (agent, second) = (writer(&client, "agent"), writer(&client, "second"));
    let write = |content: &str| json!({ "path": "draft.md", "content": content, "mode": "upsert" });
    for content in [lines(0..30), other(30), lines(50..90)] {
        agent.checked("write_note", write(&content)).await;
    }
    assert_eq!(second.failure("write_note", write("mine")).await["code"], "elicit_required");
    second.checked("upsert_note", json!({ "path": "draft.md", "content": "more" })).await;
    assert_eq!(agent.failure("write_note", write(&other(30))).await["code"], "elicit_required");
}

#[tokio::test]
async fn a_note_that_came_out_of_the_trash_is_no_creation() {
    let client = guarded(&vault().await).await;
    let agent = caller(&client, &scope::ALL);
    confirmed(&client, "note_delete", json!({ "path": "n.md" })).await;
    agent.checked("restore_note", json!({ "path": "n.md" })).await;
    let write = json!({ "path": "n.md", "content": "other", "mode": "upsert" });
    assert_eq!(agent.failure("write_note", write).await["code"], "elicit_required");
}

#[tokio::test]
async fn steps_by_way_of_the_trash_add_up_too() {
    let client = guarded(&vault().await).await;
    let agent = caller(&client, &scope::ALL);
    agent.checked("edit_note", replaced(6, 54, &other(49))).await;
    confirmed(&client, "note_delete", json!({ "path": "n.md" })).await;
    agent.checked("restore_note", json!({ "path": "n.md" })).await;
    assert_eq!(agent.refused("edit_note", replaced(55, 103, &other(49))).await, "elicit_required");
}

#[tokio::test]
async fn what_a_person_confirmed_of_a_place_says_nothing_of_the_text() {
    let client = guarded(&vault().await).await;
    let agent = caller(&client, &scope::ALL);
    agent.checked("edit_note", replaced(6, 54, &other(49))).await;
    confirmed(&client, "move_note", json!({ "from": "n.md", "to": "elsewhere/n.md" })).await;
    let mut rest = replaced(55, 103, &other(49));
    rest["path"] = "elsewhere/n.md".into();
    assert_eq!(agent.refused("edit_note", rest).await, "elicit_required");
    // A note created by a confirmed call is the caller's own.
    let many: Vec<Value> = (0..51).map(|n| json!({ "path": format!("new/{n}.md"), "content": lines(0..9) })).collect();
    confirmed(&client, "bulk_create_notes", json!({ "items": many })).await;
    agent.checked("write_note", json!({ "path": "new/7.md", "content": "other", "mode": "upsert" })).await;
}

#[tokio::test]
async fn what_is_put_into_the_trash_takes_nothing_from_it() {
    let text = "x\n";
    let hash = atlas_mirror::Hash::of(text.as_bytes()).to_string();
    let names = [format!("n ({}).md", &hash[..8]), format!("n ({hash}).md")];
    let files = names.iter().fold(VaultBuilder::new(), |files, name| files.note(name, &lines(0..9)));
    let deployment = Deployment::of_vault(&files).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    for name in &names {
        confirmed(&client, "note_delete", json!({ "path": name })).await;
    }
    for content in [text, "y\n", "z\n"] {
        agent.checked("write_note", json!({ "path": "n.md", "content": content })).await;
        confirmed(&client, "note_delete", json!({ "path": "n.md" })).await;
    }
    for name in &names {
        agent.checked("restore_note", json!({ "path": name })).await;
        assert_eq!(agent.answer("read_note", json!({ "path": name })).await["content"], lines(0..9));
    }
}

#[tokio::test]
async fn who_writes_back_what_was_shown_of_a_note_that_is_no_text_loses_it() {
    let old: Vec<u8> = (0..60).flat_map(|n| [0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, b' ', b'0' + n % 10, b'\n']).collect();
    let deployment = Deployment::of_vault(&VaultBuilder::new().file("old.md", &old)).await;
    let client = guarded(&deployment).await;
    let agent = writer(&client, "agent");
    let shown = agent.answer("read_note", json!({ "path": "old.md" })).await["content"].clone();
    let back = json!({ "path": "old.md", "content": shown, "mode": "upsert" });
    assert_eq!(agent.refused("write_note", back).await, "elicit_required");
}

#[tokio::test]
async fn no_write_makes_a_file_and_a_folder_of_one_name() {
    let files = VaultBuilder::new()
        .note("a.md", "a\n")
        .note("b.md/inner.md", "b\n")
        .note("b.md/deeper/one.md", "c\n")
        .note("deep/c.md/d/e.md", "d\n")
        .file("plain", b"a file without an ending")
        .note("z.md", "z\n");
    let deployment = Deployment::of_vault(&files).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let write = |path: &str| json!({ "path": path, "content": "x" });
    let moved = |from: &str, to: &str| json!({ "from": from, "to": to, "update_backlinks": false });
    for (tool, arguments) in [
        ("write_note", write("a.md/new.md")),
        ("write_note", write("a.md/x/y/new.md")),
        ("write_note", write("b.md")),
        ("write_note", write("b.md/deeper/one.md/new.md")),
        ("write_note", write("deep/c.md")),
        ("write_note", write("plain/new.md")),
        ("upsert_note", write("b.md")),
        ("copy_note", json!({ "from": "z.md", "to": "b.md" })),
        ("move_note", moved("z.md", "b.md")),
    ] {
        assert_eq!(agent.refused(tool, arguments.clone()).await, "name_taken", "{tool} {arguments}");
    }
    for path in ["b.md/new.md", "b.markdown.md", "b.md.md", "deep/new.md", "plain.md", "new/folder/of/notes/x.md"] {
        agent.checked("write_note", write(path)).await;
    }
    // A caller without read:vault does not learn which names are taken.
    caller(&client, &[Scope::WriteVault]).answer("write_note", write("plain/blind.md")).await;
    let reply = crate::support::note_calls::create(&deployment.client(), "a.md/new.md", "x").await;
    assert_eq!(reply.error(409).1, "name_taken");
}
