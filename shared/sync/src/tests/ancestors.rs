//! Paths without state: older versions of the mirror's are recognised, and unrelated folders are refused.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::sync::Arc;

use atlas_testkit::notes::Put;
use atlas_testkit::{CountingStore, VaultBuilder};
use object_store::memory::InMemory;

use super::{Host, agent_deletes, agent_deletes_later, agent_puts, done, files, many, pulled, skipped};
use crate::{Danger, SyncError};

#[tokio::test]
async fn an_old_folder_without_state_does_not_win_over_what_came_after_it() {
    let host = Host::published(VaultBuilder::new().note("a.md", "one").note("b.md", "one")).await;
    let other = host.beside(VaultBuilder::new());
    for text in ["two", "three", "four"] {
        other.sync().await.unwrap();
        other.vault.write("a.md", text.as_bytes());
        other.sync().await.unwrap();
    }
    host.lose_state();
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((0, 0, 0), (0, 1, 0)));
    assert_eq!((summary.conflicts, summary.waiting), (vec![], 0));
    assert_eq!(host.vault.read("a.md"), b"four");
    assert_eq!(files(host.vault.root()), host.mirrored().await);
}

#[tokio::test]
async fn a_second_host_with_an_older_copy_of_the_folder_is_brought_up_to_date() {
    let host = Host::published(many(30)).await;
    let other = host.beside(many(30));
    for number in 0..20 {
        host.vault.write(&format!("{number:03}.md"), format!("changed {number}").as_bytes());
        host.sync().await.unwrap();
    }
    other.vault.write("025.md", b"only here");
    let summary = other.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((1, 1, 0), (0, 20, 0)));
    assert_eq!(summary.conflicts.len(), 1);
    host.sync().await.unwrap();
    assert_eq!(files(host.vault.root()), files(other.vault.root()));
}

#[tokio::test]
async fn with_an_ancestor_older_text_in_the_folder_is_a_person_s_edit() {
    let host = Host::published(VaultBuilder::new().note("a.md", "one").note("b.md", "b")).await;
    agent_puts(&host, Put::note("a.md", "two")).await;
    host.sync().await.unwrap();
    host.vault.write("a.md", b"one");
    assert_eq!(done(&host.sync().await.unwrap()), (0, 1, 0));
    assert_eq!(host.text("a.md").await.unwrap(), "one");
    // Also after a concurrent write.
    agent_puts(&host, Put::note("a.md", "three")).await;
    host.vault.write("a.md", b"two");
    let summary = host.sync().await.unwrap();
    assert_eq!(summary.conflicts.len(), 1);
    assert_eq!(host.vault.read("a.md"), b"two");
}

#[tokio::test]
async fn what_a_person_moves_back_to_where_the_mirror_once_had_it_is_not_taken_for_old() {
    let host = Host::published(VaultBuilder::new().note("a.md", "one").note("b.md", "b")).await;
    let rename = |from, to| std::fs::rename(host.vault.path(from), host.vault.path(to)).unwrap();
    rename("a.md", "c.md");
    host.sync().await.unwrap();
    agent_puts(&host, Put::note("a.md", "two")).await;
    rename("c.md", "a.md");
    let summary = host.sync().await.unwrap();
    assert_eq!(summary.conflicts.len(), 1);
    let folder = files(host.vault.root());
    assert_eq!((&folder["a.md"][..], folder.len()), (&b"one"[..], 3));
    assert_eq!(host.mirrored().await, folder);
}

#[tokio::test]
async fn lost_state_brings_back_what_was_deleted_and_deletes_nothing() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b").note("c.md", "c")).await;
    agent_deletes(&host, "a.md").await;
    host.lose_state();
    assert_eq!(done(&host.sync().await.unwrap()), (1, 0, 0));
    assert_eq!(files(host.vault.root()).len(), 3);
}

#[tokio::test]
async fn history_is_asked_only_for_what_differs() {
    let objects = CountingStore::new(Arc::new(InMemory::new()));
    let host = Host::with_store(many(30), objects.clone());
    for round in 0..12 {
        host.vault.write("000.md", format!("round {round}").as_bytes());
        host.sync().await.unwrap();
    }
    let requests = async || {
        host.lose_state();
        objects.take();
        host.sync().await.unwrap();
        objects.take().count()
    };
    let equal = requests().await;
    host.vault.write("000.md", b"round 0");
    let differs = requests().await;
    assert_eq!(host.vault.read("000.md"), b"round 11");
    // One manifest and some parts of a segment for each of eleven versions, and the new text.
    assert!(differs > equal && differs <= equal + 11 * 4 + 8, "{differs} after {equal}");
}

#[tokio::test]
async fn a_folder_without_state_is_not_joined_with_another_vault_unasked() {
    let host = Host::published(many(30)).await;
    let vault = VaultBuilder::new().note("000.md", "of another vault").note("x.md", "x").note("y.md", "y");
    let other = host.beside(vault.file(".obsidian/app.json", b"{}"));
    let before = (files(other.vault.root()), host.mirrored().await);
    match other.sync().await {
        Err(SyncError::Danger(Danger::Unrelated {
            files: 3,
            shared: 0,
            to_mirror: 2,
            to_folder: 29,
            conflicts: 1,
            ..
        })) => {}
        result => panic!("{result:?}"),
    }
    let refusal = other.refusal().await;
    assert!(refusal.contains("2 files to the mirror and 29 to the folder") && refusal.contains("--join"), "{refusal}");
    assert_eq!((files(other.vault.root()), host.mirrored().await), before);
    let summary = other.sync_as(|options| options.join = true).await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.conflicts.len()), ((4, 1, 0), (29, 0, 0), 1));
    other.sync().await.unwrap();
}

#[tokio::test]
async fn a_folder_that_is_empty_or_mostly_known_needs_no_asking() {
    let host = Host::published(many(30)).await;
    let empty = host.beside(VaultBuilder::new().file(".obsidian/app.json", b"{}"));
    assert_eq!(pulled(&empty.sync().await.unwrap()), (30, 0, 0));
    // Most of it has moved, which is recognised by its text.
    let moved = (0..9).fold(VaultBuilder::new(), |vault, n| vault.note(&format!("new/{n}.md"), &format!("note {n}\n")));
    let moved = host.beside(moved.note("1.md", "1").note("2.md", "2"));
    moved.sync().await.unwrap();
    let mirror = Host::new(VaultBuilder::new().note("a.md", "a"));
    assert_eq!(done(&mirror.sync().await.unwrap()), (1, 0, 0), "an empty mirror is filled");
}

/// A host whose state knows the first of the versions of `a.md`, and one that an agent wrote each since.
async fn behind(versions: &[&str]) -> Host {
    let host = Host::published(VaultBuilder::new().note("a.md", "one\n").note("b.md", "b")).await;
    for text in versions {
        agent_puts(&host, Put::note("a.md", text)).await;
    }
    host
}

#[tokio::test]
async fn a_version_that_something_else_carried_into_the_folder_does_not_win_over_a_later_one() {
    let host = behind(&["one\ntwo\n", "one\ntwo\nthree\n"]).await;
    host.vault.write("a.md", b"one\ntwo\n");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.conflicts.len()), ((0, 0, 0), (0, 1, 0), 0));
    assert_eq!(host.vault.read("a.md"), b"one\ntwo\nthree\n");
    // A line that the agent took back does not come again, also if the note is as it was.
    for taken in ["one\n", "none\n"] {
        let host = behind(&["one\ntwo\n", taken]).await;
        host.vault.write("a.md", b"one\ntwo\n");
        let summary = host.sync().await.unwrap();
        assert_eq!((done(&summary), summary.merged.len(), summary.conflicts.len()), ((0, 0, 0), 0, 0), "{taken}");
        assert_eq!(host.vault.read("a.md"), taken.as_bytes());
    }
}

#[tokio::test]
async fn a_deletion_is_not_undone_by_what_was_carried_into_the_folder_before_it() {
    let host = behind(&["two"]).await;
    agent_puts(&host, Put::note("new.md", "new")).await;
    host.vault.write("a.md", b"two");
    host.vault.write("new.md", b"new");
    host.vault.write("own.md", b"own");
    agent_deletes_later(&host, "a.md").await;
    agent_deletes_later(&host, "new.md").await;
    host.vault.write(".trash/new.md", b"another");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((1, 0, 0), (0, 0, 2)), "{summary:?}");
    assert_eq!(host.mirrored().await.into_keys().collect::<Vec<_>>(), ["b.md", "own.md"]);
    // No sync brought them, so none destroys them.
    let folder = files(host.vault.root());
    let kept = [".trash/a.md", ".trash/new 2.md", ".trash/new.md", "b.md", "own.md"];
    assert_eq!(folder.keys().collect::<Vec<_>>(), kept);
    assert_eq!((&folder[".trash/a.md"][..], &folder[".trash/new 2.md"][..]), (&b"two"[..], &b"new"[..]));
    let told = skipped(&summary);
    assert!(told.len() == 2 && told.iter().all(|told| told.contains("moved to the folder's .trash")), "{told:?}");
}

#[tokio::test]
async fn a_file_is_restored_if_it_came_after_the_removal_of_its_own_path() {
    let vault = VaultBuilder::new().note("b.md", "b").note("z.md", "z");
    let host = Host::published(vault).await;
    agent_puts(&host, Put::note("a.md", "one")).await;
    agent_puts(&host, Put::note("a.md", "two")).await;
    agent_deletes(&host, "a.md").await;
    host.vault.write("a.md", b"one");
    agent_deletes_later(&host, "z.md").await;
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((1, 0, 0), (0, 0, 1)), "{summary:?}");
    assert_eq!(host.text("a.md").await.as_deref(), Some("one"));
}

#[tokio::test]
async fn an_old_text_that_came_after_another_path_was_removed_is_not_restored() {
    let vault = VaultBuilder::new().note("b.md", "b").note("z.md", "z");
    let host = Host::published(vault).await;
    agent_puts(&host, Put::note("a.md", "two")).await;
    agent_deletes(&host, "z.md").await;
    host.vault.write("a.md", b"two");
    agent_puts(&host, Put::note("a.md", "three")).await;
    agent_deletes_later(&host, "a.md").await;
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((0, 0, 0), (0, 0, 2)), "{summary:?}");
    assert_eq!(files(host.vault.root()).into_keys().collect::<Vec<_>>(), [".trash/a.md", "b.md"]);
}

#[tokio::test]
async fn a_deletion_is_not_undone_because_the_trash_cannot_take_the_file() {
    let elsewhere = tempfile::tempdir().unwrap();
    for is_link in [true, false] {
        let host = behind(&["two"]).await;
        agent_puts(&host, Put::note("new.md", "new")).await;
        host.vault.write("a.md", b"two");
        host.vault.write("new.md", b"new");
        agent_deletes_later(&host, "a.md").await;
        agent_deletes_later(&host, "new.md").await;
        let trash = host.vault.path(".trash");
        match is_link {
            true => symlink(elsewhere.path(), &trash).unwrap(),
            false => fs::write(&trash, "a file").unwrap(),
        }
        let changed = || fs::metadata(host.vault.path("new.md")).map(|file| (file.ctime(), file.ctime_nsec())).unwrap();
        let before = changed();
        for _ in 0..3 {
            let summary = host.sync().await.unwrap();
            assert_eq!((pulled(&summary), summary.waiting), ((0, 0, 0), 2), "{summary:?}");
            let mirrored = host.mirrored().await;
            assert!(!mirrored.contains_key("a.md") && !mirrored.contains_key("new.md"), "{summary:?}");
            let refused = skipped(&summary).into_iter().filter(|told| told.contains("the folder .trash on its way"));
            assert_eq!(refused.count(), 2, "{summary:?}");
        }
        assert_eq!(changed(), before);
        fs::remove_file(&trash).unwrap();
        let summary = host.sync().await.unwrap();
        assert_eq!((pulled(&summary), summary.waiting), ((0, 0, 2), 0), "{summary:?}");
        assert_eq!(host.mirrored().await.into_keys().collect::<Vec<_>>(), ["b.md"]);
        let kept = files(host.vault.root()).into_keys().collect::<Vec<_>>();
        assert_eq!(kept, [".trash/a.md", ".trash/new.md", "b.md"]);
    }
    assert_eq!(files(elsewhere.path()).len(), 0);
}

#[tokio::test]
async fn a_folder_in_the_trash_does_not_keep_a_file_of_its_name_out() {
    let host = behind(&[]).await;
    agent_puts(&host, Put::note("new.md", "new")).await;
    host.vault.write("new.md", b"new");
    agent_deletes_later(&host, "new.md").await;
    host.vault.write(".trash/new.md/x", b"x");
    assert_eq!(pulled(&host.sync().await.unwrap()), (0, 0, 1));
    assert_eq!(host.vault.read(".trash/new 2.md"), b"new");
}

/// A host whose mirror got forty notes, by the other host.
async fn with_forty_more() -> (Host, Host) {
    let host = Host::published(many(3)).await;
    let other = host.beside(VaultBuilder::new());
    other.sync().await.unwrap();
    (0..40).for_each(|number| other.vault.write(&format!("new/{number}.md"), format!("new {number}").as_bytes()));
    other.sync().await.unwrap();
    (host, other)
}

#[tokio::test]
async fn what_a_person_restores_after_a_deletion_is_theirs() {
    let (host, _) = with_forty_more().await;
    for number in 0..40 {
        agent_deletes(&host, &format!("new/{number}.md")).await;
    }
    (0..40).for_each(|number| host.vault.write(&format!("new/{number}.md"), format!("new {number}").as_bytes()));
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((40, 0, 0), (0, 0, 0)));
    assert_eq!(host.mirrored().await.len(), 43);
}

#[tokio::test]
async fn many_deletions_of_what_no_sync_brought_are_asked_about_and_go_to_the_trash() {
    let (host, other) = with_forty_more().await;
    (0..40).for_each(|number| host.vault.write(&format!("new/{number}.md"), format!("new {number}").as_bytes()));
    (0..40).for_each(|number| other.vault.remove(&format!("new/{number}.md")));
    other.sync_as(|options| options.allow_mass_delete = true).await.unwrap();
    let refusal = host.refusal().await;
    assert!(refusal.contains("40 of 43 notes vanished from the mirror"), "{refusal}");
    assert!(host.vault.path("new/39.md").exists());
    let summary = host.sync_as(|options| options.allow_mass_delete = true).await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((0, 0, 0), (0, 0, 40)));
    let kept = files(host.vault.root()).into_keys().filter(|path| path.starts_with(".trash/new/")).count();
    assert_eq!(kept, 40);
}

#[tokio::test]
async fn a_new_note_that_was_carried_over_is_brought_up_to_date() {
    let host = behind(&[]).await;
    agent_puts(&host, Put::note("new.md", "one")).await;
    agent_puts(&host, Put::note("new.md", "two")).await;
    host.vault.write("new.md", b"one");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.conflicts.len()), ((0, 0, 0), (0, 1, 0), 0));
    assert_eq!(host.vault.read("new.md"), b"two");
}

#[tokio::test]
async fn a_person_s_own_text_beside_later_commits_stays_an_edit() {
    let host = behind(&["two"]).await;
    host.sync().await.unwrap();
    agent_puts(&host, Put::note("b.md", "c")).await;
    agent_deletes(&host, "b.md").await;
    // They undo in the editor what they have seen, and write again what is gone.
    host.vault.write("a.md", b"one\n");
    host.vault.write("b.md", b"mine");
    assert_eq!(done(&host.sync().await.unwrap()), (1, 1, 0));
    assert_eq!((host.text("a.md").await.as_deref(), host.text("b.md").await.as_deref()), (Some("one\n"), Some("mine")));
}

#[tokio::test]
async fn two_syncs_of_one_folder_with_a_state_each_make_no_copies() {
    let host = behind(&[]).await;
    let second = host.state().with_file_name("second");
    for round in 0..4 {
        agent_puts(&host, Put::note("a.md", &format!("round {round}"))).await;
        let one = host.sync().await.unwrap();
        agent_puts(&host, Put::note("a.md", &format!("round {round} again"))).await;
        let other = host.sync_as(|options| options.state.clone_from(&second)).await.unwrap();
        assert_eq!((one.conflicts.len(), other.conflicts.len()), (0, 0), "{round}");
    }
    assert_eq!(files(host.vault.root()).len(), 2);
}

#[tokio::test]
async fn history_is_not_asked_where_nothing_was_carried_over() {
    let objects = CountingStore::new(Arc::new(InMemory::new()));
    let host = Host::with_store(many(30), objects.clone());
    host.sync().await.unwrap();
    let requests = async || {
        objects.take();
        host.sync().await.unwrap();
        objects.take().count()
    };
    let unchanged = requests().await;
    host.vault.write("new.md", b"new");
    let first = requests().await;
    host.vault.write("new too.md", b"new too");
    let second = requests().await;
    assert!(first == second && unchanged < first, "{unchanged}, {first}, {second}");
    agent_puts(&host, Put::note("000.md", "agent")).await;
    agent_puts(&host, Put::note("001.md", "agent")).await;
    host.vault.write("new again.md", b"new again");
    let behind = requests().await;
    assert!(behind <= second + 16, "{behind} after {second}");
}
