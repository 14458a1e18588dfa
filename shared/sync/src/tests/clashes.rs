//! A file and a folder of one name: the folder keeps it, the file becomes a copy, and all sides are equal.

use std::collections::BTreeMap;

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;

use super::{Files, Host, agent_puts, files};
use crate::report::Reason;

/// The path of the copy of `x.md` by `by("agent")` when there is a folder of that name.
const COPY: &str = "x (conflict 2026-01-05 00.00 agent).md";

/// Checks that all hosts and the mirror are equal, and nothing is left to do.
async fn agree(hosts: &[&Host]) -> Files {
    for _ in 0..3 {
        for host in hosts {
            host.sync().await.unwrap();
        }
    }
    let mirrored = hosts[0].mirrored().await;
    for host in hosts {
        let summary = host.sync().await.unwrap();
        assert_eq!((summary.waiting, summary.skipped, summary.conflicts), (0, vec![], vec![]));
        assert_eq!(files(host.vault.root()), mirrored);
    }
    mirrored
}

fn texts(files: &Files) -> BTreeMap<&str, &str> {
    files.iter().map(|(path, text)| (path.as_str(), std::str::from_utf8(text).unwrap())).collect()
}

#[tokio::test]
async fn a_file_of_the_folder_gives_way_to_a_folder_of_the_mirror() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a")).await;
    let other = host.beside(VaultBuilder::new());
    other.sync().await.unwrap();
    host.vault.write("x.md/y.md", b"in the folder");
    host.sync().await.unwrap();
    other.vault.write("x.md", b"the file");
    let summary = other.sync().await.unwrap();
    let [clash] = &summary.conflicts[..] else { panic!("{summary:?}") };
    assert!(clash.path == "x.md" && clash.is_folder);
    let copy = clash.copy.clone().unwrap();
    assert_eq!(
        texts(&files(other.vault.root())),
        [("a.md", "a"), (&copy, "the file"), ("x.md/y.md", "in the folder")].into()
    );
    assert_eq!(agree(&[&host, &other]).await.len(), 3);
}

#[tokio::test]
async fn what_was_moved_aside_from_a_folder_that_is_a_file_by_now_stands_beside_it() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("d/x.md/y.md", "published")).await;
    host.vault.write(".atlas-mirror/aside/d/x.md/y.md", b"edited");
    host.vault.remove("d/x.md/y.md");
    std::fs::remove_dir(host.vault.root().join("d/x.md")).unwrap();
    host.vault.write("d/x.md", b"the file");
    let summary = host.sync().await.unwrap();
    let [skipped] = &summary.skipped[..] else { panic!("{summary:?}") };
    let Reason::Recovered(copy) = &skipped.reason else { panic!("{skipped:?}") };
    assert!(copy.starts_with("d/y (conflict "), "{copy}");
    assert_eq!(texts(&agree(&[&host]).await), [("a.md", "a"), ("d/x.md", "the file"), (copy, "edited")].into());
}

#[tokio::test]
async fn a_file_of_the_mirror_gives_way_to_a_folder_of_the_folder() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a")).await;
    agent_puts(&host, Put::note("x.md", "the agent's")).await;
    host.vault.write("x.md/deep/y.md", b"the person's");
    let summary = host.sync().await.unwrap();
    assert_eq!(summary.conflicts[0].copy.as_deref(), Some(COPY));
    let expected = [("a.md", "a"), (COPY, "the agent's"), ("x.md/deep/y.md", "the person's")];
    assert_eq!(texts(&agree(&[&host]).await), expected.into());
}

#[tokio::test]
async fn who_makes_a_folder_of_what_another_edits_loses_neither() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("x.md", "x")).await;
    agent_puts(&host, Put::note("x.md", "edited")).await;
    host.vault.remove("x.md");
    host.vault.write("x.md/y.md", b"y");
    let expected = [("a.md", "a"), (COPY, "edited"), ("x.md/y.md", "y")];
    assert_eq!(texts(&agree(&[&host]).await), expected.into());
    // The other way round.
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("x.md/y.md", "y")).await;
    agent_puts(&host, Put::note("x.md/y.md", "edited")).await;
    host.vault.remove("x.md/y.md");
    std::fs::remove_dir(host.vault.path("x.md")).unwrap();
    host.vault.write("x.md", b"x");
    let all = agree(&[&host]).await;
    assert_eq!((&all["x.md/y.md"][..], all.len()), (&b"edited"[..], 3));
}

#[tokio::test]
async fn a_mirror_that_has_both_is_put_right_by_whoever_syncs_next() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a")).await;
    let hosts = [host.beside(VaultBuilder::new()), host.beside(VaultBuilder::new())];
    agent_puts(&host, Put::note("x.md", "the file")).await;
    hosts[0].sync().await.unwrap();
    agent_puts(&host, Put::note("x.md/y.md", "in the folder")).await;
    let exported = host.mirrored().await;
    let expected = [("a.md", "a"), (COPY, "the file"), ("x.md/y.md", "in the folder")];
    assert_eq!(texts(&exported), expected.into(), "an export has what the sides will agree on");
    // One that had the file, one that is empty, and one that had neither.
    let all = agree(&[&hosts[0], &hosts[1], &host]).await;
    assert_eq!(all, exported);
}

#[tokio::test]
async fn hosts_that_make_room_at_the_same_time_make_one_copy() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a")).await;
    let other = host.beside(VaultBuilder::new());
    other.sync().await.unwrap();
    agent_puts(&host, Put::note("x.md", "the file")).await;
    agent_puts(&host, Put::note("x.md/y.md", "in the folder")).await;
    let (one, two) = futures::future::join(host.sync(), other.sync()).await;
    assert!(one.is_ok() && two.is_ok());
    let expected = [("a.md", "a"), (COPY, "the file"), ("x.md/y.md", "in the folder")];
    assert_eq!(texts(&agree(&[&host, &other]).await), expected.into());
}

#[tokio::test]
async fn folders_without_files_are_in_nobody_s_way() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("x.md/deep/y.md", "y")).await;
    host.vault.remove("x.md/deep/y.md");
    host.sync().await.unwrap();
    agent_puts(&host, Put::note("x.md", "the file")).await;
    assert_eq!(texts(&agree(&[&host]).await), [("a.md", "a"), ("x.md", "the file")].into());
}

#[tokio::test]
async fn a_dry_run_says_what_would_give_way() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a")).await;
    agent_puts(&host, Put::note("x.md/y.md", "in the folder")).await;
    host.vault.write("x.md", b"the file");
    let summary = host.sync_as(|options| options.dry_run = true).await.unwrap();
    assert_eq!((summary.conflicts.len(), summary.conflicts[0].path.as_str()), (1, "x.md"));
    assert_eq!(files(host.vault.root()).len(), 2);
}
