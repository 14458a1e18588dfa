//! Damaged objects: an answer that reveals no internals, and never a panic.

use atlas_mirror::purge::Purge;
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Put, by};
use futures::TryStreamExt as _;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};
use serde_json::json;

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::Deployment;

#[tokio::test]
async fn whatever_byte_is_flipped_the_answer_is_right_or_an_error() {
    let vault = VaultBuilder::new()
        .note("vault/planning/now.md", "# Now\n\n[[b]] harbour\n")
        .note("vault/b.md", "# Harbour\n\ntext\n");
    let deployment = Deployment::of_vault(&vault).await;
    let right = deployment.client().find("harbour").await;
    let objects: Vec<_> = deployment.objects.list(None).try_collect().await.unwrap();
    let mut errors = 0;
    for object in objects {
        let bytes = deployment.objects.get(&object.location).await.unwrap().bytes().await.unwrap();
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 0x10;
            deployment.objects.put(&object.location, PutPayload::from(damaged)).await.unwrap();
            let client = deployment.client();
            let reply = client.post("/find", json!({ "term": "harbour" })).await;
            if reply.status.is_success() {
                assert_eq!(client.find("harbour").await, right, "{} byte {at}", object.location);
            } else {
                let (code, _, message) = reply.error(500);
                assert!(
                    code == "INTERNAL" && !message.contains("segments/") && !message.contains("manifests/"),
                    "{message}"
                );
                errors += 1;
            }
        }
        deployment.objects.put(&object.location, PutPayload::from(bytes)).await.unwrap();
    }
    assert!(errors > 20);
}

#[tokio::test]
async fn a_damaged_old_generation_takes_away_nothing_else() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "0\n").note("b.md", "0\n")).await;
    let mirror = deployment.mirror();
    for number in 1..=6 {
        let path = if number % 2 == 0 { "a.md" } else { "b.md" };
        mirror.commit(&by("agent"), &Put::note(path, &format!("{number}\n"))).await.unwrap();
    }
    let key = mirror.keys().manifest(4);
    let mut bytes = deployment.objects.get(&key).await.unwrap().bytes().await.unwrap().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    deployment.objects.put(&key, PutPayload::from(bytes)).await.unwrap();
    let client = deployment.client();
    let agent = Agent::new(&client, ERAS[0]);
    let listed = agent.answer("list_commits", json!({})).await;
    let generations: Vec<u64> =
        listed["commits"].as_array().unwrap().iter().map(|commit| commit["generation"].as_u64().unwrap()).collect();
    assert_eq!(generations, [7, 6, 5, 3, 2, 1]);
    // Of the one after the damaged one only the numbers are known.
    let commit = &listed["commits"][2];
    assert_eq!((&commit["changed"], &commit["paths"], &commit["more_files"]), (&json!(1), &json!([]), &json!(1)));
    let changed = agent.answer("list_commits", json!({ "path": "a.md" })).await;
    assert_eq!(changed["commits"].as_array().unwrap().len(), 3, "{changed}");
    // The version that the damaged generation wrote is known by a later one that has it.
    let history = agent.answer("note_history", json!({ "path": "b.md" })).await;
    let generations: Vec<_> = history["versions"].as_array().unwrap().iter().map(|one| &one["generation"]).collect();
    assert_eq!(generations, [6, 5, 2, 1]);
    let (mut seen, mut page) = (Vec::new(), json!({ "path": "b.md", "limit": 1 }));
    loop {
        let told = agent.answer("note_history", page.clone()).await;
        seen.push(told["versions"][0]["generation"].as_u64().unwrap());
        let Some(before) = told.get("before") else { break };
        page["before"] = before.clone();
    }
    assert_eq!(seen, [6, 5, 2, 1]);
    // The damaged generation itself may be asked for.
    let told = agent.answer("note_history", json!({ "path": "b.md", "before": 5 })).await;
    assert_eq!(told["versions"][0]["generation"], 2, "{told}");
    let plan = agent.answer("undo_changes", json!({ "generation": 7 })).await;
    assert!(plan.to_string().contains("a.md") && plan.to_string().contains("\"from_generation\":5"), "{plan}");
    for tool in ["undo_changes", "read_commit"] {
        let refused = agent.failure(tool, json!({ "generation": 5 })).await;
        assert!(refused.to_string().contains("the generation before 5 is lost"), "{tool}: {refused}");
    }
}

#[tokio::test]
async fn what_one_process_purged_no_other_serves_from_memory() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "halyard-42\n").note("b.md", "b\n")).await;
    let mirror = deployment.mirror();
    mirror.commit(&by("owner"), &Put::note("a.md", "elsewhere\n")).await.unwrap();
    let client = deployment.client();
    for _ in 0..2 {
        let reply = client.get("/notes/a.md?generation=1").await;
        assert!(String::from_utf8_lossy(&reply.body).contains("halyard-42"));
    }
    let purge = Purge { path: "a.md".parse().unwrap(), keeps_newest: true };
    assert_eq!(mirror.purge(&by("owner"), &[purge]).await.unwrap().unfinished, None);
    let reply = client.get("/notes/a.md?generation=1").await;
    assert_eq!(reply.status, 404);
    assert!(!String::from_utf8_lossy(&reply.body).contains("halyard"));
}
