//! Push-only syncs: the mirror becomes equal to the folder, which is never written to.

use std::fs;

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;

use super::{Files, Host, agent_deletes, agent_puts, files};

async fn pushed(host: &Host) {
    let before = files(host.vault.root());
    let summary = host.sync_as(|options| options.push_only = true).await.unwrap();
    assert_eq!((summary.pulled.sum(), summary.conflicts.len(), summary.waiting), (0, 0, 0));
    assert_eq!(files(host.vault.root()), before);
    let published: Files = before.into_iter().filter(|(path, _)| !path.starts_with(".atlas-mirror/")).collect();
    assert_eq!(host.mirrored().await, published);
}

async fn host() -> Host {
    let host = Host::new(VaultBuilder::new().note("a.md", "a").note("b.md", "b").note("c/d.md", "d").note("e.md", "e"));
    pushed(&host).await;
    host
}

/// Everything that a pull could bring: changes, deletions, new notes, and names that clash.
async fn mirror_goes_its_way(host: &Host) {
    agent_puts(host, Put::note("a.md", "changed")).await;
    agent_deletes(host, "b.md").await;
    agent_puts(host, Put::note("new.md", "new")).await;
    agent_deletes(host, "e.md").await;
    agent_puts(host, Put::note("e.md/below.md", "below")).await;
    agent_deletes(host, "c/d.md").await;
    agent_puts(host, Put::note("c", "a file")).await;
}

#[tokio::test]
async fn nothing_comes_from_the_mirror_where_the_folder_is_the_truth() {
    let host = host().await;
    mirror_goes_its_way(&host).await;
    pushed(&host).await;
    host.vault.write("a.md", b"by hand");
    mirror_goes_its_way(&host).await;
    pushed(&host).await;
}

#[tokio::test]
async fn a_lost_state_writes_nothing_into_the_folder_that_is_the_truth() {
    let host = host().await;
    mirror_goes_its_way(&host).await;
    host.lose_state();
    pushed(&host).await;
    // An older version in the folder counts too.
    host.vault.write("a.md", b"two");
    pushed(&host).await;
    host.vault.write("a.md", b"a");
    host.lose_state();
    pushed(&host).await;
}

#[tokio::test]
async fn a_lost_mirror_and_the_state_of_another_folder_stop_no_folder_that_is_the_truth() {
    let mut host = host().await;
    host.objects = std::sync::Arc::new(object_store::memory::InMemory::new());
    pushed(&host).await;
    // The folder was moved, and its state with it.
    let moved = VaultBuilder::new().note("a.md", "moved").note("f.md", "f");
    host.vault = moved;
    pushed(&host).await;
}

#[tokio::test]
async fn what_another_sync_has_staged_stays_where_the_folder_is_the_truth() {
    let host = host().await;
    fs::create_dir(host.vault.path(".atlas-mirror")).unwrap();
    fs::write(host.vault.path(".atlas-mirror/old-1-0"), "held").unwrap();
    pushed(&host).await;
    assert_eq!(fs::read(host.vault.path(".atlas-mirror/old-1-0")).unwrap(), b"held");
}
