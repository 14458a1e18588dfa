//! What `.atlasignore` excludes is not synced, and is never deleted for it.

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;

use super::{Host, agent_deletes, agent_puts, done, files, pulled, skipped};

fn vault() -> VaultBuilder {
    VaultBuilder::new()
        .note("a.md", "a")
        .note("private/b.md", "b")
        .note("work/c.draft.md", "c")
        .note("work/d.md", "d")
        .file("work/.atlasignore", b"# Not yet\n*.draft.md\n")
        .file(".atlasignore", b"private/\n")
}

#[tokio::test]
async fn what_the_rules_exclude_stays_in_the_folder_alone() {
    let host = Host::published(vault()).await;
    let mirrored = host.mirrored().await;
    assert_eq!(mirrored.keys().collect::<Vec<_>>(), [".atlasignore", "a.md", "work/.atlasignore", "work/d.md"]);
    host.vault.write("private/b.md", b"changed");
    host.vault.remove("work/c.draft.md");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), skipped(&summary)), ((0, 0, 0), (0, 0, 0), vec![]));
}

#[tokio::test]
async fn what_is_excluded_later_is_changed_on_neither_side_and_told() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("private/b.md", "b").note("c.md", "c")).await;
    host.vault.write(".atlasignore", b"private/\n");
    host.vault.write("private/b.md", b"the person's");
    let summary = host.sync().await.unwrap();
    assert_eq!(done(&summary), (1, 0, 0), "the rules themselves");
    assert_eq!(host.text("private/b.md").await.unwrap(), "b");
    let told = skipped(&summary);
    assert!(told.len() == 1 && told[0].starts_with("private/b.md: `.atlasignore` excludes it"), "{told:?}");
    agent_deletes(&host, "private/b.md").await;
    host.sync().await.unwrap();
    assert_eq!(files(host.vault.root())["private/b.md"], b"the person's");
    // Without the rules both sides are compared again.
    host.vault.remove(".atlasignore");
    host.sync().await.unwrap();
    assert_eq!(host.text("private/b.md").await.unwrap(), "the person's");
}

#[tokio::test]
async fn what_an_agent_writes_at_an_excluded_path_stays_in_the_mirror() {
    let host = Host::published(vault()).await;
    agent_puts(&host, Put::note("private/agent.md", "the agent's")).await;
    agent_puts(&host, Put::note("private/b.md", "the agent's")).await;
    let summary = host.sync().await.unwrap();
    assert_eq!((pulled(&summary), summary.conflicts.len()), ((0, 0, 0), 0));
    let folder = files(host.vault.root());
    assert_eq!((&folder["private/b.md"][..], folder.contains_key("private/agent.md")), (&b"b"[..], false));
    host.vault.remove(".atlasignore");
    host.sync().await.unwrap();
    assert_eq!(files(host.vault.root())["private/agent.md"], b"the agent's");
}

#[tokio::test]
async fn rules_that_cannot_be_read_publish_nothing() {
    let host = Host::new(vault());
    host.vault.write("work/.atlasignore", &vec![b'x'; 300 << 10]);
    let summary = host.sync().await.unwrap();
    assert!(!host.mirrored().await.keys().any(|path| path.starts_with("work/")), "{summary:?}");
    assert!(skipped(&summary).iter().any(|told| told.contains(".atlasignore has more than")), "{summary:?}");
}
