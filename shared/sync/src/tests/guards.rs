//! Signs of danger stop a sync before it changes anything.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::location::{self, Variables};
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;
use object_store::ObjectStoreExt as _;
use object_store::memory::InMemory;

use super::{Host, agent_deletes, agent_puts, at, done, many};
use crate::Only;
use crate::progress::Phase;
use crate::state::StateFolder;

async fn is_untouched(host: &Host, files: usize) -> bool {
    host.mirror().head().await.unwrap().generation() == 1 && host.mirrored().await.len() == files
}

#[tokio::test]
async fn a_missing_root_stops() {
    let host = Host::published(many(3)).await;
    let error = host.sync_as(|options| options.root.push("nowhere")).await.unwrap_err().to_string();
    assert!(error.contains("nowhere") && error.contains("mounted"), "{error}");
    let error = host.sync_as(|options| options.root.push("000.md")).await.unwrap_err().to_string();
    assert!(error.contains("000.md"), "{error}");
    assert!(is_untouched(&host, 3).await);
}

#[tokio::test]
async fn a_mass_deletion_stops_unless_it_is_meant() {
    let host = Host::published(many(50)).await;
    (0..11).for_each(|number| host.vault.remove(&format!("{number:03}.md")));
    let error = host.refusal().await;
    assert!(error.contains("11 of 50 notes") && error.contains("--allow-mass-delete"), "{error}");
    assert!(is_untouched(&host, 50).await);
    let summary = host.sync_as(|options| options.allow_mass_delete = true).await.unwrap();
    assert_eq!(done(&summary), (0, 0, 11));
}

#[tokio::test]
async fn notes_that_became_empty_count_as_vanished() {
    let host = Host::published(many(50)).await;
    (0..6).for_each(|number| host.vault.remove(&format!("{number:03}.md")));
    (6..12).for_each(|number| host.vault.write(&format!("{number:03}.md"), b""));
    assert!(host.refusal().await.contains("12 of 50 notes"));
    assert!(is_untouched(&host, 50).await);
}

#[tokio::test]
async fn small_deletions_add_up_within_a_day() {
    let host = Host::published(many(50)).await;
    (0..8).for_each(|number| host.vault.remove(&format!("{number:03}.md")));
    assert_eq!(done(&host.sync().await.unwrap()), (0, 0, 8));
    (8..13).for_each(|number| host.vault.remove(&format!("{number:03}.md")));
    assert!(host.refusal().await.contains("13 of 50 notes"));
    let began = host.options().began + std::time::Duration::from_secs(24 * 3600);
    let tomorrow = host.sync_as(|options| options.began = began).await.unwrap();
    assert_eq!(done(&tomorrow), (0, 0, 5));
}

#[tokio::test]
async fn new_notes_that_get_their_name_and_text_later_are_no_losses() {
    let host = Host::published(many(3)).await;
    for number in 0..15 {
        // Some programs begin with an empty file, others with a template.
        let (first, name) = ([&b""[..], b"template"][number % 2], format!("Idea {number}.md"));
        host.vault.write("Untitled.md", first);
        host.sync().await.unwrap();
        fs::rename(host.vault.path("Untitled.md"), host.vault.path(&name)).unwrap();
        host.vault.write(&name, format!("text {number}").as_bytes());
        assert_eq!(done(&host.sync().await.unwrap()), (1, 0, 1), "{number}");
    }
}

#[tokio::test]
async fn a_file_that_comes_and_goes_on_either_side_is_lost_once() {
    let host = Host::published(many(3)).await;
    for number in 0..15 {
        host.vault.write("a.png", format!("picture {number}").as_bytes());
        host.sync().await.unwrap();
        host.vault.remove("a.png");
        assert_eq!(done(&host.sync().await.unwrap()), (0, 0, 1), "{number}");
        agent_puts(&host, Put::note("agent.md", &format!("text {number}"))).await;
        host.sync().await.unwrap();
        agent_deletes(&host, "agent.md").await;
        host.sync().await.unwrap();
    }
}

#[tokio::test]
async fn notes_that_moved_by_way_of_another_place_are_not_lost() {
    let host = Host::published(many(30)).await;
    for number in 0..20 {
        let name = format!("{number:03}.md");
        let text = host.vault.read(&name);
        host.vault.remove(&name);
        assert_eq!(done(&host.sync().await.unwrap()), (0, 0, 1), "{number}");
        host.vault.write(&format!("archive/{name}"), &text);
        assert_eq!(done(&host.sync().await.unwrap()), (1, 0, 0), "{number}");
    }
}

#[tokio::test]
async fn a_slow_loss_of_a_few_notes_a_sync_is_stopped_within_the_day() {
    for empties in [false, true] {
        let host = Host::published(many(40)).await;
        let mut gone = 0;
        let refusal = loop {
            for number in gone..gone + 2 {
                match empties {
                    true => host.vault.write(&format!("{number:03}.md"), b""),
                    false => host.vault.remove(&format!("{number:03}.md")),
                }
            }
            // Meanwhile there are new notes too.
            host.vault.write(&format!("new {gone}.md"), format!("new {gone}").as_bytes());
            match host.sync().await {
                Ok(_) => gone += 2,
                Err(error) => break error.to_string(),
            }
        };
        assert!(gone == 10 && refusal.contains("12 of") && refusal.contains("within a day"), "{gone}: {refusal}");
    }
}

#[tokio::test]
async fn notes_that_only_moved_are_not_lost() {
    let host = Host::published(many(50)).await;
    fs::create_dir(host.vault.path("archive")).unwrap();
    for number in 0..40 {
        let name = format!("{number:03}.md");
        fs::rename(host.vault.path(&name), host.vault.path("archive").join(&name)).unwrap();
    }
    assert_eq!(done(&host.sync().await.unwrap()), (40, 0, 40));
}

#[tokio::test]
async fn notes_that_an_agent_trashed_count_as_vanished() {
    let host = Host::published(many(50)).await;
    for number in 0..11 {
        let path = format!("{number:03}.md");
        let text = host.text(&path).await.unwrap();
        agent_puts(&host, Put::note(&format!(".trash/{path}"), &text)).await;
        agent_deletes(&host, &path).await;
    }
    let error = host.refusal().await;
    assert!(error.contains("11 of 50 notes vanished from the mirror"), "{error}");
    assert!(host.vault.path("000.md").exists());
}

#[tokio::test]
async fn notes_that_moved_to_where_a_sync_does_not_look_are_not_lost() {
    let host = Host::new((0..20).fold(VaultBuilder::new(), |vault, number| {
        vault.note(&format!("public/{number}.md"), &format!("note {number}"))
    }));
    let published = || Some(Only::of(["public/*.md"]).unwrap());
    host.sync_as(|options| options.only = published()).await.unwrap();
    for number in 0..15 {
        agent_puts(&host, Put::note(&format!("private/{number}.md"), &format!("note {number}"))).await;
        agent_deletes(&host, &format!("public/{number}.md")).await;
    }
    let summary = host.sync_as(|options| options.only = published()).await.unwrap();
    assert_eq!(summary.pulled.removed, 15);
}

#[tokio::test]
async fn an_emptied_root_stops_however_small_it_was() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    host.vault.remove("a.md");
    host.vault.remove("b.md");
    let error = host.refusal().await;
    assert!(error.contains("is empty") && error.contains("--allow-mass-delete"), "{error}");
    assert!(error.contains("from the mirror, delete the sync state"), "{error}");
    assert!(is_untouched(&host, 2).await);
    assert_eq!(done(&host.sync_as(|options| options.allow_mass_delete = true).await.unwrap()), (0, 0, 2));
}

#[tokio::test]
async fn a_root_that_is_not_mounted_any_more_stops() {
    let host = Host::published(many(3)).await;
    let states = StateFolder::lock(&host.state()).unwrap();
    let mut state = states.load().unwrap().unwrap();
    state.mount_point = host.vault.root().canonicalize().unwrap().to_str().unwrap().to_owned();
    states.save(&state).unwrap();
    drop(states);
    let error = host.refusal().await;
    assert!(error.contains("not mounted any more") && error.contains("delete the sync state"), "{error}");
    assert!(is_untouched(&host, 3).await);
}

#[tokio::test]
async fn a_mirror_begun_anew_stops() {
    let mut host = Host::published(many(3)).await;
    let other = Host::published(many(3)).await;
    host.objects = other.objects.clone();
    let error = host.refusal().await;
    assert!(error.contains("its lineage is another") && error.contains("delete the sync state"), "{error}");
    host.objects = Arc::new(InMemory::new());
    assert!(host.refusal().await.contains("does not have this vault any more"));
}

#[tokio::test]
async fn a_mirror_that_is_taken_away_during_a_sync_is_not_begun_anew() {
    let place = tempfile::tempdir().unwrap();
    let url = format!("file://{}", place.path().join("store").display());
    let store = location::open(&url, &Variables::default()).unwrap();
    let host = Host::with_store(many(3), store.inner().clone());
    host.sync().await.unwrap();
    host.vault.write("new.md", b"new");
    let (vaults, away) = (place.path().join("store/vaults"), place.path().join("away"));
    let taken = at(Phase::Commit, {
        let (vaults, away) = (vaults.clone(), away.clone());
        move || fs::rename(&vaults, &away).unwrap()
    });
    let error = host.sync_while(taken).await.unwrap_err().to_string();
    assert!(error.contains("its generation 1 was there when this sync began"), "{error}");
    assert!(!vaults.join("main/manifests/00000000000000000001").exists());
    // The store may still be writing the uploads of the stopped sync.
    let put_back = || fs::remove_dir_all(&vaults).and_then(|()| fs::rename(&away, &vaults));
    let mut tries = 0;
    while let Err(error) = put_back() {
        tries += 1;
        assert!(tries < 100, "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(done(&host.sync().await.unwrap()), (1, 0, 0));
    assert_eq!(host.mirrored().await.len(), 4);
}

#[tokio::test]
async fn a_mirror_set_back_to_an_older_generation_stops() {
    let host = Host::published(many(3)).await;
    host.vault.write("000.md", b"second");
    host.sync().await.unwrap();
    let second = host.mirror().keys().manifest(2);
    let latest = host.mirror().keys().latest();
    host.objects.delete(&second).await.unwrap();
    host.objects.delete(&latest).await.unwrap();
    assert!(host.refusal().await.contains("generation 2 was seen, but 1 is its newest"));
    // After a commit on the restored mirror the numbers match again, but the history differs.
    for text in ["a", "b", "c"] {
        let put = atlas_testkit::notes::Put::note("agent.md", text);
        host.mirror().commit(&atlas_testkit::notes::by("agent"), &put).await.unwrap();
        assert!(host.refusal().await.contains("generation 2 is another"), "{text}");
    }
}

#[tokio::test]
async fn one_sync_at_a_time() {
    let host = Host::published(many(3)).await;
    let _held = StateFolder::lock(&host.state()).unwrap();
    let error = host.refusal().await;
    assert!(error.contains("another sync"), "{error}");
}

#[tokio::test]
async fn a_state_of_another_folder_or_inside_the_vault_stops() {
    let host = Host::published(many(3)).await;
    let other = many(3);
    let error = host.sync_as(|options| options.root = other.root().to_owned()).await.unwrap_err().to_string();
    assert!(error.contains("--state"), "{error}");
    let inside = host.vault.path("state/below");
    let error = host.sync_as(|options| options.state = inside.clone()).await.unwrap_err().to_string();
    assert!(error.contains("inside the vault"), "{error}");
    assert!(!inside.exists());
}

#[tokio::test]
async fn a_folder_that_was_away_for_too_long_is_told_what_to_do() {
    let host = Host::published(many(3)).await;
    for text in ["a", "b"] {
        let put = atlas_testkit::notes::Put::note("000.md", text);
        host.mirror().commit(&atlas_testkit::notes::by("agent"), &put).await.unwrap();
    }
    host.objects.delete(&host.mirror().keys().manifest(1)).await.unwrap();
    let error = host.refusal().await;
    assert!(error.contains("generation 1") && error.contains("not kept any more"), "{error}");
    assert!(error.contains("delete the sync state") && !error.contains("check the store's address"), "{error}");
    fs::remove_file(host.state().join("state")).unwrap();
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), summary.conflicts.len()), ((1, 1, 0), 1), "{summary:?}");
}
