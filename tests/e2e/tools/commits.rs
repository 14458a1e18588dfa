//! The commits of a vault, and what each changed.

use std::collections::BTreeMap;

use atlas_access::Caller;
use atlas_mirror::Mirror;
use atlas_ops::{Call, dispatch};
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Delete, Put, by};
use atlas_tools::links::relink_moved;
use jiff::Timestamp;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::Deployment;
use crate::support::note_calls::move_note;
use crate::support::programs::{Place, json_of};
use crate::support::publish::publish;
use crate::support::world::{self, World, caller};

async fn changed() -> (Deployment, Vec<(&'static str, Value)>) {
    let vault = VaultBuilder::new().note("a.md", "one\ntwo\n").note("b.md", "b\n").note("c.md", "see [[b]]\n");
    let calls = vec![
        ("append_note", json!({ "path": "a.md", "content": "three", "session": "s1" })),
        ("write_note", json!({ "path": "d.md", "content": "new\n", "message": "why not" })),
        ("move_note", json!({ "from": "b.md", "to": "e.md" })),
        ("delete_note", json!({ "path": "d.md" })),
        ("delete_note", json!({ "path": "a.md", "hard": true })),
    ];
    (Deployment::of_vault(&vault).await, calls)
}

#[tokio::test]
async fn commits_are_listed_and_filtered_and_come_in_pages() {
    let (deployment, calls) = changed().await;
    let client = deployment.client();
    let agent = Agent::new(&client, ERAS[0]);
    for (name, arguments) in calls {
        agent.answer(name, arguments).await;
    }
    let listed = async |arguments: Value| agent.answer("list_commits", arguments).await;
    let generations = |listed: &Value| -> Vec<u64> {
        listed["commits"].as_array().unwrap().iter().map(|commit| commit["generation"].as_u64().unwrap()).collect()
    };
    let all = listed(json!({})).await;
    assert_eq!((generations(&all), all.get("before")), (vec![6, 5, 4, 3, 2, 1], None));
    let commit = &all["commits"][3];
    assert_eq!(
        (&commit["author"], &commit["operation"], &commit["message"], &commit["added"], &commit["paths"]),
        (&json!("anonymous"), &json!("write_note"), &json!("why not"), &json!(1), &json!(["d.md"]))
    );
    for (filter, expected) in [
        (json!({ "by": "anonymous" }), vec![6, 5, 4, 3, 2]),
        (json!({ "by": "nobody" }), vec![]),
        (json!({ "of_session": "s1" }), vec![2]),
        (json!({ "path": "d.md" }), vec![5, 3]),
        (json!({ "path": "e.md" }), vec![4]),
        (json!({ "since": "2026-01-31T12:00:00Z" }), vec![6, 5, 4, 3, 2]),
        (json!({ "before": 3 }), vec![2, 1]),
        (json!({ "before": 0 }), vec![]),
    ] {
        assert_eq!(generations(&listed(filter.clone()).await), expected, "{filter}");
    }
    let mut seen = Vec::new();
    let mut page = listed(json!({ "limit": 2 })).await;
    loop {
        assert!(generations(&page).len() <= 2);
        seen.extend(generations(&page));
        let Some(before) = page["before"].as_u64() else { break };
        page = listed(json!({ "limit": 2, "before": before })).await;
    }
    assert_eq!(seen, [6, 5, 4, 3, 2, 1]);
    // A host whose clock is slow hides none.
    deployment.mirror().commit(&by("host"), &Put::note("f.md", "f\n")).await.unwrap();
    agent.answer("write_note", json!({ "path": "g.md", "content": "g\n" })).await;
    assert_eq!(generations(&listed(json!({ "since": "2026-01-31T12:00:00Z" })).await), [8, 6, 5, 4, 3, 2]);
}

#[tokio::test]
async fn a_commit_says_what_became_of_each_file() {
    let (deployment, calls) = changed().await;
    let client = deployment.client();
    let agent = Agent::new(&client, ERAS[0]);
    for (name, arguments) in calls {
        agent.answer(name, arguments).await;
    }
    let files =
        async |generation: u64| agent.answer("read_commit", json!({ "generation": generation })).await["files"].clone();
    assert_eq!(files(1).await.as_array().unwrap().len(), 3);
    let appended = files(2).await;
    assert_eq!((&appended[0]["change"], &appended[0]["bytes_before"]), (&json!("changed"), &json!(8)));
    assert!(appended[0]["diff"].as_str().unwrap().contains("+three"), "{appended}");
    assert_eq!(
        files(3).await,
        json!([{ "path": "d.md", "change": "created", "diff": "@@ -1,0 +1,1 @@\n+new\n", "bytes_after": 4 }])
    );
    assert_eq!(
        files(4).await,
        json!([
            { "path": "c.md", "change": "changed", "diff": "@@ -1,1 +1,1 @@\n-see [[b]]\n+see [[e]]\n", "bytes_before": 10, "bytes_after": 10 },
            { "path": "e.md", "change": "moved", "from": "b.md", "bytes_before": 2, "bytes_after": 2 },
        ])
    );
    let thrown = files(5).await;
    assert_eq!((thrown.as_array().unwrap().len(), &thrown[0]["change"]), (1, &json!("trashed")), "{thrown}");
    assert_eq!(files(6).await[0]["change"], "deleted");
    for generation in [0, 99] {
        assert_eq!(
            agent.failure("read_commit", json!({ "generation": generation })).await["code"],
            "generation_not_found"
        );
    }
}

/// Three syncs of a folder in which a note moved, then moved and changed, beside others that came and went.
fn moved(place: &Place) {
    let text = "# Boats\n\nThe ferry leaves at six.\nThe raft leaves never.\n";
    let vault = VaultBuilder::new().note("Open/a.md", text).note("Open/other.md", "# Other\n\nOf nothing else.\n");
    let vault = (0..9).fold(vault, |vault, n| vault.note(&format!("{n}.md"), &format!("# {n}\n")));
    json_of(place.sync(vault.root()).arg("--json"));
    vault.remove("Open/a.md");
    vault.write("Private/b.md", text.as_bytes());
    json_of(place.sync(vault.root()).arg("--json"));
    vault.remove("Private/b.md");
    vault.remove("Open/other.md");
    vault.write("Open/c.md", text.replace("six", "seven").as_bytes());
    vault.write("Open/new.md", b"# New\n\nNothing of this was there before.\n");
    json_of(place.sync(vault.root()).arg("--json"));
}

#[tokio::test]
async fn history_follows_a_note_that_moved() {
    let place = Place::new();
    moved(&place);
    let world = World { atlas: world::atlas(place.mirror(), &json!({})), caller: caller(&[]) };
    let history = world.ok("note_history", json!({ "path": "Open/c.md" })).await;
    let told = |version: &Value| (version["generation"].clone(), version["path"].clone());
    let versions: Vec<_> = history["versions"].as_array().unwrap().iter().map(told).collect();
    let expected = [(json!(3), json!(null)), (json!(2), json!("Private/b.md")), (json!(1), json!("Open/a.md"))];
    assert_eq!(versions, expected, "{history}");
    // Page by page it is the same.
    let first = world.ok("note_history", json!({ "path": "Open/c.md", "limit": 1 })).await;
    assert_eq!((&first["before"], &first["before_path"]), (&json!(3), &json!("Private/b.md")), "{first}");
    let second = world.ok("note_history", json!({ "path": "Private/b.md", "limit": 1, "before": 3 })).await;
    assert_eq!((&second["versions"][0]["generation"], &second["before_path"]), (&json!(2), &json!("Open/a.md")));
    let new = world.ok("note_history", json!({ "path": "Open/new.md" })).await;
    assert_eq!(new["versions"].as_array().unwrap().len(), 1, "{new}");
    let files = world.ok("read_commit", json!({ "generation": 3 })).await["files"].clone();
    assert_eq!((&files[0]["change"], &files[0]["from"]), (&json!("moved"), &json!("Private/b.md")), "{files}");
    assert!(files[0]["diff"].as_str().unwrap().contains("+The ferry leaves at seven."), "{files}");
    // Nobody learns where a note was that they may not read.
    let open = json!({ "readPaths": ["Open/**"] });
    let world = World { atlas: world::atlas(place.mirror(), &open), caller: caller(&[]) };
    let history = world.ok("note_history", json!({ "path": "Open/c.md" })).await;
    assert_eq!(history["versions"].as_array().unwrap().len(), 1, "{history}");
    assert!(!history.to_string().contains("Private"), "{history}");
}

#[tokio::test]
async fn what_a_commit_did_to_hidden_files_is_not_told() {
    let note = |text: &str| {
        BTreeMap::from([("Open/a.md".to_owned(), text.to_owned()), ("Private/b.md".to_owned(), text.to_owned())])
    };
    let private = BTreeMap::from([("Private/b.md".to_owned(), "three".to_owned())]);
    let acl = json!({ "readPaths": ["Open/**"] });
    let world = World::of(&[note("one"), note("two"), private], &acl, caller(&[])).await;
    let listed = world.ok("list_commits", json!({})).await;
    let commits = listed["commits"].as_array().unwrap();
    // The third changed hidden files alone, and is not there.
    assert_eq!(commits.iter().map(|commit| commit["generation"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 1]);
    for commit in commits {
        assert_eq!(commit["paths"], json!(["Open/a.md"]));
        let count = ["added", "changed", "removed"].iter().map(|name| commit[name].as_u64().unwrap()).sum::<u64>();
        assert!(commit.get("message").is_none() && count == 1, "{commit}");
    }
    assert!(!listed.to_string().contains("Private"), "{listed}");
    let read = world.ok("read_commit", json!({ "generation": 2 })).await;
    assert!(read["files"].as_array().unwrap().len() == 1 && !read.to_string().contains("Private"), "{read}");
    assert_eq!(world.refused("read_commit", json!({ "generation": 3 })).await, "generation_not_found");
    assert_eq!(world.refused("list_commits", json!({ "path": "Private/b.md" })).await, "acl_denied");
}

/// Damages the manifest of a generation.
async fn lose(deployment: &Deployment, mirror: &Mirror, generation: u64) {
    let key = mirror.keys().manifest(generation);
    let mut bytes = deployment.objects.get(&key).await.unwrap().bytes().await.unwrap().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    deployment.objects.put(&key, PutPayload::from(bytes)).await.unwrap();
}

#[tokio::test]
async fn a_deletion_and_a_move_are_known_beside_a_lost_generation() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "one\n").note("b.md", "b\n")).await;
    let mirror = deployment.mirror();
    mirror.commit(&by("host"), &Put::note("a.md", "two\n")).await.unwrap();
    mirror.commit(&by("host"), &Delete("a.md".to_owned())).await.unwrap();
    mirror.commit(&by("host"), &Put::note("b.md", "more\n")).await.unwrap();
    move_note(&deployment.client(), "b.md", json!({ "to": "c.md" })).await.ok();
    mirror.commit(&by("host"), &Put::note("d.md", "d\n")).await.unwrap();
    for lost in [4, 5] {
        lose(&deployment, &mirror, lost).await;
    }
    let client = deployment.client();
    let agent = Agent::new(&client, ERAS[0]);
    let history = async |path: &str| agent.answer("note_history", json!({ "path": path })).await;
    let generations = |told: &Value| -> Vec<u64> {
        told["versions"].as_array().unwrap().iter().map(|version| version["generation"].as_u64().unwrap()).collect()
    };
    let told = history("a.md").await;
    assert_eq!((generations(&told), &told["deleted_at_generation"]), (vec![2, 1], &json!(3)), "{told}");
    let told = history("c.md").await;
    assert_eq!(generations(&told)[0], 6, "{told}");
}

#[tokio::test]
async fn a_move_in_a_lost_generation_is_followed() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "the moved text\n")).await;
    let mirror = deployment.mirror();
    move_note(&deployment.client(), "a.md", json!({ "to": "z.md" })).await.ok();
    mirror.commit(&by("host"), &Put::note("d.md", "d\n")).await.unwrap();
    lose(&deployment, &mirror, 2).await;
    let client = deployment.client();
    let told = Agent::new(&client, ERAS[0]).answer("note_history", json!({ "path": "z.md" })).await;
    let versions: Vec<_> =
        told["versions"].as_array().unwrap().iter().map(|one| (&one["generation"], &one["path"])).collect();
    assert_eq!(versions, [(&json!(3), &json!(null)), (&json!(1), &json!("a.md"))], "{told}");
}

#[tokio::test]
async fn links_follow_moves_that_are_older_than_a_lost_generation() {
    let vault = VaultBuilder::new().note("a.md", "the moved text\n").note("x.md", "[[a]]\n");
    let (deployment, state) = (Deployment::empty(), tempfile::tempdir().unwrap());
    let mirror = deployment.mirror();
    publish(vault.root(), &mirror, state.path()).await;
    vault.remove("a.md");
    vault.write("z.md", b"the moved text\n");
    publish(vault.root(), &mirror, state.path()).await;
    for n in 0..2 {
        mirror.commit(&by("host"), &Put::note("d.md", &format!("{n}\n"))).await.unwrap();
    }
    lose(&deployment, &mirror, 3).await;
    let app = deployment.app();
    let call = Call::new(&relink_moved::ENTRY, json!({ "after": 1 }), Caller::trusted("host"), Timestamp::now);
    let told = dispatch(&app.atlas, call).await.unwrap().value;
    assert_eq!((&told["moved"], &told["links"]), (&json!(1), &json!(1)), "{told}");
}
