//! Moves of notes: one commit changes the note and all that link to it, and readers see all or nothing.

use std::collections::BTreeMap;

use atlas_mirror::{Store, StoreOptions};
use atlas_testkit::{Fault, FaultStore, Op, VaultBuilder};
use atlas_vault::VaultPath;
use atlas_vault::resolve::{Files, resolve};
use serde_json::json;

use crate::support::deployment::{Client, Deployment};
use crate::support::note_calls::{create, put, read};
use crate::support::note_calls::{move_note, notes};

/// Text that separates notes in the index.
fn filler() -> String {
    "words of no note's name\n".repeat(400)
}

/// Twenty notes that link to `a/Tide table.md` in all ways, and one that does not.
fn linked() -> VaultBuilder {
    let links = [
        "[[Tide table]]",
        "![[tide TABLE#High water|the table]]",
        "| x | [[a/Tide table\\|t]] |",
        "[t](Tide%20table.md#High%20water 'title')",
        "[t](<Tide table.md>)",
        "[t][r]\r\n\r\n[r]: Tide%20table.md",
        "`[[Tide table]]` and [[Tide table#^id]]  ",
        "é [[nowhere]] %%[[Tide table]]%% [[/a/Tide table]]\r\n",
        "[[ Tide table ]]",
        "![t](a%2FTide%20table.md)",
        "[t]( Tide%20table )",
        "[r]\n\n[r]:TIDE%20table",
        "---\nup: \"[[Tide table]]\" # y\n---\n",
    ];
    let vault = VaultBuilder::new()
        .note("a/Tide table.md", "# High water\n\n[[other]] [x](./beside.md) [[#High water]]\n")
        .note("a/beside.md", "alone, [[other]]\n")
        .note("other.md", "Tide table, but no link\n");
    (0..20).fold(vault, |vault, n| {
        let text = format!("{}\nnote {n}\r\n", links[n % links.len()]);
        vault.note(&format!("n/{n:02}.md"), &text).note(&format!("n/{n:02} filler.md"), &filler())
    })
}

#[tokio::test]
async fn every_link_to_a_moved_note_leads_there_and_all_else_stays() {
    let deployment = Deployment::of_vault(&linked()).await;
    let client = deployment.client();
    let before = notes(&deployment).await;
    let totals = deployment.mirror().head().await.unwrap().manifest().totals;
    let etag = client.get("/notes/a/Tide%20table.md").await.header("etag").unwrap().to_owned();
    let stale = move_note(&client, "a/Tide table.md", json!({ "to": "b/Tides.md", "if_match": "00" })).await;
    assert_eq!((stale.error(412).1.as_str(), stale.header("etag")), ("note_changed", Some(etag.as_str())));
    let body = json!({ "to": "b/Tides.md", "if_match": etag.trim_matches('"') });
    let moved = move_note(&client, "a/Tide table.md", body).await;
    let answer = moved.ok();
    assert_eq!(
        [&answer["from"], &answer["to"], &answer["generation"], &answer["links"], &answer["notes"]],
        [&json!("a/Tide table.md"), &json!("b/Tides.md"), &json!(2), &json!(21), &json!(21)]
    );
    assert_eq!(moved.header("etag").unwrap().trim_matches('"'), answer["sha256"].as_str().unwrap());
    assert_eq!(moved.header("etag"), client.get("/notes/b/Tides.md").await.header("etag"));

    let mut expected = before.clone();
    expected.remove("a/Tide table.md");
    expected
        .insert("b/Tides.md".to_owned(), "# High water\n\n[[other]] [x](../a/beside.md) [[#High water]]\n".to_owned());
    let links = [
        "[[Tides]]",
        "![[Tides#High water|the table]]",
        "| x | [[b/Tides\\|t]] |",
        "[t](Tides.md#High%20water 'title')",
        "[t](<Tides.md>)",
        "[t][r]\r\n\r\n[r]: Tides.md",
        "`[[Tide table]]` and [[Tides#^id]]  ",
        "é [[nowhere]] %%[[Tide table]]%% [[/b/Tides]]\r\n",
        "[[ Tides ]]",
        "![t](b/Tides.md)",
        "[t]( Tides )",
        "[r]\n\n[r]:Tides",
        "---\nup: \"[[Tides]]\" # y\n---\n",
    ];
    for n in 0..20 {
        let text = format!("{}\nnote {n}\r\n", links[n % links.len()]);
        expected.insert(format!("n/{n:02}.md"), text);
    }
    assert_eq!(notes(&deployment).await, expected);
    let head = deployment.mirror().head().await.unwrap();
    let manifest = head.manifest();
    let changes = (manifest.changes.added, manifest.changes.changed, manifest.changes.removed);
    assert_eq!(
        (changes, manifest.totals.notes, manifest.totals.documents),
        ((1, 20, 1), totals.notes, totals.documents)
    );
    let bytes = |notes: &BTreeMap<String, String>| notes.values().map(String::len).sum::<usize>() as u64;
    assert_eq!(manifest.totals.text_bytes, bytes(&expected));
    let history = client.get("/history/b/Tides.md").await.ok();
    assert_eq!(history["versions"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&history["versions"][0]["operation"], &history["versions"][0]["message"]),
        (&json!("move_note"), &json!("moved from a/Tide table.md"))
    );
    assert_eq!(client.get("/history/n/03.md").await.ok()["versions"].as_array().unwrap().len(), 2);
    // And back: with the original wording.
    let back = move_note(&client, "b/Tides.md", json!({ "to": "a/Tide table.md", "message": "as it was" })).await.ok();
    assert_eq!((&back["backlinks_updated"], &back["links"], &back["notes"]), (&json!(20), &json!(21), &json!(21)));
    assert_eq!(notes(&deployment).await, before);
    assert_eq!(deployment.mirror().head().await.unwrap().manifest().message.as_deref(), Some("as it was"));
    // Later changes by others stay.
    move_note(&client, "a/Tide table.md", json!({ "to": "b/Tides.md" })).await.ok();
    let text = "[[tides]] and more\n";
    put(&client, "n/01.md", &[("if-match", "*")], json!({ "content": text })).await.ok();
    move_note(&client, "b/Tides.md", json!({ "to": "a/Tide table.md" })).await.ok();
    let mut expected = before;
    expected.insert("n/01.md".to_owned(), "[[Tide table]] and more\n".to_owned());
    assert_eq!(notes(&deployment).await, expected);
}

#[tokio::test]
async fn everyone_sees_a_move_at_once() {
    let vault = VaultBuilder::new().note("a/Zanzibar.md", "cloves\n").note("n.md", "by way of [[Zanzibar]] home\n");
    let deployment = Deployment::of_vault(&vault).await;
    let (writer, reader) = (deployment.client(), deployment.client());
    assert_eq!(reader.found("zanzibar").await, ["a/Zanzibar.md", "n.md"]);
    move_note(&writer, "a/Zanzibar.md", json!({ "to": "b/Lamu.md" })).await.ok();
    assert_eq!(reader.found("zanzibar").await, [""; 0]);
    assert_eq!(reader.found("lamu").await, ["b/Lamu.md", "n.md"]);
    let literal = json!({ "query": "way of [[Lamu]] home", "mode": "literal" });
    assert_eq!(reader.post("/search", literal).await.ok()["results"][0]["path"], "n.md");
    assert_eq!(reader.post("/search", json!({ "query": "cloves" })).await.ok()["results"][0]["path"], "b/Lamu.md");
    assert_eq!(reader.get("/notes/a/Zanzibar.md").await.error(404).1, "note_not_found");
    assert_eq!(read(&reader, "b/Lamu.md").await, "cloves\n");
    assert_eq!(reader.get("/notes/a/Zanzibar.md?generation=1").await.ok()["content"], "cloves\n");
}

#[tokio::test]
async fn a_move_happens_whole_or_not_at_all() {
    let deployment = Deployment::of_vault(&linked()).await;
    let before = notes(&deployment).await;
    let store = FaultStore::new(deployment.objects.clone());
    let client = Client::over(&Store::new(store.clone(), "", StoreOptions::default()).unwrap());
    let body = json!({ "to": "b/Tides.md" });
    for (op, key) in [(Op::Create, "/manifests/"), (Op::Create, "/segments/")] {
        store.always(op, key, Fault::Refused);
        let failed = move_note(&client, "a/Tide table.md", body.clone()).await;
        assert_eq!(failed.error(403).1, "read_only_mode");
        assert_eq!(
            (notes(&deployment).await, deployment.mirror().head().await.unwrap().generation()),
            (before.clone(), 1)
        );
        store.heal();
    }
    move_note(&client, "a/Tide table.md", body).await.ok();
    assert_eq!(notes(&deployment).await["n/00.md"], before["n/00.md"].replace("Tide table", "Tides"));
}

#[tokio::test]
async fn what_cannot_be_moved_changes_nothing() {
    let vault = linked().note("b/there.md", "x");
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    for (path, body, status, reason) in [
        ("a/Tide table.md", json!({ "to": "b/there.md" }), 409, "note_exists"),
        ("a/none.md", json!({ "to": "b/new.md" }), 404, "note_not_found"),
        ("a/Tide table.md", json!({ "to": "a/Tide table.md" }), 400, "validation_error"),
        ("a/Tide table.md", json!({ "to": "a/table.txt" }), 400, "path_invalid"),
        ("a/Tide table.md", json!({ "to": ".trash/table.md" }), 400, "path_invalid"),
        ("a/Tide table.md", json!({ "to": "../table.md" }), 400, "path_invalid"),
        ("a/Tide table.md", json!({}), 400, "validation_error"),
        ("a/Tide table.md", json!({ "to": "b/new.md", "path": "other.md" }), 400, "validation_error"),
        ("a/Tide table.md", json!({ "to": "b/a#b.md" }), 400, "link_impossible"),
    ] {
        let refused = move_note(&client, path, body.clone()).await;
        assert_eq!(refused.error(status).1, reason, "{body}");
    }
    assert_eq!(deployment.mirror().head().await.unwrap().generation(), 1);
    // Without updates of links it can have any name.
    let alone = json!({ "to": "b/a#b.md", "update_links": false });
    let moved = client.post("/move?path=a/Tide%20table.md", alone).await.ok();
    assert_eq!((&moved["links"], &moved["notes"]), (&json!(0), &json!(0)));
    let notes = notes(&deployment).await;
    assert!(notes["n/00.md"].contains("[[Tide table]]") && notes["b/a#b.md"].contains("(./beside.md)"));
}

#[tokio::test]
async fn a_name_may_change_in_case_only() {
    let vault =
        VaultBuilder::new().note("note.md", "I am [[note]]\n").note("n.md", "[[note]] [[/note]] [x](note.md)\n");
    let deployment = Deployment::of_vault(&vault).await;
    let moved = move_note(&deployment.client(), "note.md", json!({ "to": "Note.md" })).await.ok();
    assert_eq!((&moved["links"], &moved["generation"]), (&json!(0), &json!(2)), "case means nothing to a link");
    let expected = [("Note.md", "I am [[note]]\n"), ("n.md", "[[note]] [[/note]] [x](note.md)\n")];
    assert_eq!(notes(&deployment).await, expected.map(|(path, text)| (path.to_owned(), text.to_owned())).into());
}

#[tokio::test]
async fn links_to_another_note_of_the_new_name_still_lead_to_that() {
    let vault = VaultBuilder::new()
        .note("a/Plan.md", "x\n")
        .note("archive/old/Log.md", "y\n")
        .file("archive/old/Log.canvas", b"{}")
        .note("filler.md", &filler())
        .note("to log.md", "[[Log]] [[log.canvas]]\n")
        .note("to log/filler.md", &filler())
        .note("to plan.md", "[[Plan]]\n");
    let deployment = Deployment::of_vault(&vault).await;
    let moved = move_note(&deployment.client(), "a/Plan.md", json!({ "to": "Log.md" })).await.ok();
    assert_eq!((&moved["links"], &moved["notes"]), (&json!(2), &json!(2)));
    let notes = notes(&deployment).await;
    assert_eq!(notes["to log.md"], "[[archive/old/Log]] [[log.canvas]]\n");
    assert_eq!(notes["to plan.md"], "[[Log]]\n");
}

#[tokio::test]
async fn a_move_and_a_write_to_a_linking_note_both_survive() {
    let deployment = Deployment::of_vault(&linked()).await;
    let (mover, writer) = (deployment.client(), deployment.client());
    let mut at = "a/Tide table.md".to_owned();
    for round in 0..8 {
        let to = format!("b/{round}.md");
        let etag = writer.get("/notes/n/00.md").await.header("etag").unwrap().to_owned();
        let line = format!("line {round} to [[{}]]\n", at.trim_end_matches(".md"));
        let content = read(&writer, "n/00.md").await + &line;
        let (headers, body) = ([("if-match", etag.as_str())], json!({ "content": content }));
        let new = format!("new/note {round}.md");
        let (moved, written, created) = futures::join!(
            move_note(&mover, &at, json!({ "to": to })),
            put(&writer, "n/00.md", &headers, body),
            create(&writer, &new, &line),
        );
        moved.ok();
        assert_eq!(created.status, 201);
        let text = read(&mover, "n/00.md").await;
        if written.status == 200 {
            // It came first, and the move rewrote its link too.
            assert!(text.contains(&format!("line {round} to [[b/{round}]]")), "{text}");
        } else {
            assert_eq!(written.error(412).1, "note_changed");
            assert!(!text.contains(&format!("line {round} ")) && text.contains(&format!("[[{round}]]\n")), "{text}");
        }
        assert!(read(&mover, "n/01.md").await.contains(&format!("![[{round}#High water")));
        at = to;
    }
    assert_eq!(deployment.mirror().head().await.unwrap().manifest().totals.notes, 43 + 8);
}

#[tokio::test]
async fn more_links_than_one_call_rewrites_are_refused() {
    let vault =
        (0..4001).fold(VaultBuilder::new().note("a.md", "x\n"), |vault, n| vault.note(&format!("n/{n}.md"), "[[a]]\n"));
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    let (code, reason, message) = move_note(&client, "a.md", json!({ "to": "b.md" })).await.error(413);
    assert_eq!((code.as_str(), reason.as_str()), ("TOO_LARGE", "too_many_links"));
    assert!(message.contains("update_backlinks"), "{message}");
    // One fewer is not too many.
    put(&client, "n/7.md", &[("if-match", "*")], json!({ "content": "no link" })).await.ok();
    assert_eq!(move_note(&client, "a.md", json!({ "to": "b.md" })).await.ok()["notes"], 4000);
    move_note(&client, "b.md", json!({ "to": "c.md", "update_links": false })).await.ok();
    assert_eq!(read(&client, "n/8.md").await, "[[b]]\n");
}

#[tokio::test(start_paused = true)]
async fn a_move_in_a_large_vault_reads_little_of_it() {
    let text = |n: usize| {
        let words: String =
            (0..80).map(|w| format!("{:x} plan ", (n * 7919 + w) * 2_654_435_761 % 4_294_967)).collect();
        let link = if (1000..1020).contains(&n) { "[[Plan]] [p](../a/Plan.md)" } else { "no link" };
        format!("# Note {n}\n\n{words}\n{link}\n")
    };
    let vault = (0..3000).fold(VaultBuilder::new().note("a/Plan.md", "the plan\n"), |vault, n| {
        vault.note(&format!("n{}/{n:04}.md", n / 100), &text(n))
    });
    let deployment = Deployment::of_vault(&vault).await;
    let markdown = deployment.mirror().head().await.unwrap().manifest().totals.text_bytes;
    let client = deployment.client();
    // A process tests once whether the store may be written to.
    create(&client, "first.md", "words").await;
    client.requests.take();
    let moved = move_note(&client, "a/Plan.md", json!({ "to": "b/Scheme.md" })).await.ok();
    assert_eq!((&moved["links"], &moved["notes"]), (&json!(40), &json!(20)));
    // The word is in every note; the beginning of a link to it is not.
    let requests = client.requests.take().without("latest");
    assert!(requests.waves() <= 6 && requests.count() <= 24, "{} waves:\n{requests}", requests.waves());
    assert!(requests.bytes() * 10 <= markdown, "{} bytes of {markdown}\n{requests}", requests.bytes());
    assert_eq!(read(&client, "n10/1007.md").await, text(1007).replace("Plan", "Scheme").replace("../a/", "../b/"));
}

/// The meaning of every link of every note, if it has one.
fn meanings(notes: &BTreeMap<String, String>, files: &Files) -> Vec<(VaultPath, Option<VaultPath>)> {
    let meanings = notes.iter().flat_map(|(path, text)| {
        let path = VaultPath::parse(path).unwrap();
        let links = atlas_vault::parse(text).links.into_iter().filter(|link| !link.is_external());
        let meant = links.map(|link| resolve(&link.target, &path, files).cloned()).collect::<Vec<_>>();
        meant.into_iter().map(move |meant| (path.clone(), meant))
    });
    meanings.collect()
}

/// On real vaults, every link keeps its meaning, whichever note is moved wherever.
#[tokio::test]
async fn no_link_of_a_real_vault_is_lost() {
    let Some(corpora) = std::env::var_os("ATLAS_CORPORA").map(std::path::PathBuf::from) else {
        println!("skipped: ATLAS_CORPORA is not set");
        return;
    };
    for corpus in ["help", "hub"] {
        let deployment = Deployment::of(&corpora.join(corpus)).await;
        let client = deployment.client();
        let mut before = notes(&deployment).await;
        before.retain(|path, _| path.ends_with(".md"));
        let mut files: Files = before.keys().map(|path| VaultPath::parse(path).unwrap()).collect();
        let mut links = meanings(&before, &files);
        // The most linked, and some others.
        let mut linked: BTreeMap<VaultPath, usize> = BTreeMap::new();
        links.iter().filter_map(|(_, meant)| meant.clone()).for_each(|meant| *linked.entry(meant).or_default() += 1);
        let mut by_links: Vec<(usize, VaultPath)> = linked.into_iter().map(|(path, links)| (links, path)).collect();
        by_links.sort();
        let best = by_links.iter().rev().take(4);
        let moved: Vec<VaultPath> =
            best.chain(by_links.iter().step_by(by_links.len() / 12)).map(|(_, path)| path.clone()).collect();
        let mut count = 0;
        for (round, from) in moved.into_iter().enumerate() {
            let name =
                if round % 2 == 0 { from.file_name().to_owned() } else { format!("Some (new) name é {round}.md") };
            let to = VaultPath::parse(&format!("moved here/{}/{name}", round % 3)).unwrap();
            let answer = move_note(&client, from.as_str(), json!({ "to": to.as_str() })).await;
            if answer.status == 413 {
                assert_eq!(answer.error(413).1, "too_many_links");
                continue;
            }
            count += answer.ok()["links"].as_u64().unwrap();
            files.remove(&from);
            files.insert(to.clone());
            let after = notes(&deployment).await;
            let after: BTreeMap<String, String> = after.into_iter().filter(|(path, _)| path.ends_with(".md")).collect();
            let new_path = |path: VaultPath| if path == from { to.clone() } else { path };
            let mut expected: Vec<_> =
                links.into_iter().map(|(path, meant)| (new_path(path), meant.map(new_path))).collect();
            let mut found = meanings(&after, &files);
            // Notes by path, their links in order.
            expected.sort_by(|one, other| one.0.cmp(&other.0));
            found.sort_by(|one, other| one.0.cmp(&other.0));
            let lost: Vec<_> =
                expected.iter().zip(&found).filter(|(one, other)| one != other && one.1.is_some()).collect();
            assert!(expected.len() == found.len() && lost.is_empty(), "{from} to {to}: {lost:?}");
            if round % 2 == 1 {
                (links, before) = (found, after);
                continue;
            }
            // And back: byte for byte.
            move_note(&client, to.as_str(), json!({ "to": from.as_str() })).await.ok();
            files.remove(&to);
            files.insert(from.clone());
            let mut back = notes(&deployment).await;
            back.retain(|path, _| path.ends_with(".md"));
            let differing = before.iter().find(|(path, text)| back.get(*path) != Some(text));
            assert!(back.len() == before.len() && differing.is_none(), "{from} to {to} and back: {differing:?}");
            links = meanings(&before, &files);
        }
        println!("{corpus}: {count} links rewritten");
        assert!(count > 100);
    }
}
