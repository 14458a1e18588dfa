//! The mirror moves on while the folder changes.

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Delete, Put, by};

use super::{Host, done, many};

async fn agent_puts(host: &Host, path: &str, text: &str) {
    host.mirror().commit(&by("agent"), &Put::note(path, text)).await.unwrap();
}

async fn agent_deletes(host: &Host, path: &str) {
    host.mirror().commit(&by("agent"), &Delete(path.to_owned())).await.unwrap();
}

#[tokio::test]
async fn what_only_the_mirror_changed_is_left_alone() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b").note("c.md", "c")).await;
    agent_puts(&host, "a.md", "the agent's").await;
    agent_puts(&host, "new.md", "the agent's").await;
    agent_deletes(&host, "b.md").await;
    host.vault.write("c.md", b"the person's");
    for expected in [(0, 1, 0), (0, 0, 0)] {
        let summary = host.sync().await.unwrap();
        assert_eq!((done(&summary), summary.waiting), (expected, 3));
    }
    let mirrored = host.mirrored().await;
    assert_eq!(mirrored["a.md"], b"the agent's");
    assert_eq!(mirrored["new.md"], b"the agent's");
    assert_eq!(mirrored["c.md"], b"the person's");
    assert!(!mirrored.contains_key("b.md"));
}

#[tokio::test]
async fn what_both_changed_is_left_and_named() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    agent_puts(&host, "a.md", "the agent's").await;
    host.vault.write("a.md", b"the person's");
    for _ in 0..2 {
        let summary = host.sync().await.unwrap();
        assert_eq!((done(&summary), summary.conflicts), ((0, 0, 0), vec!["a.md".to_owned()]));
    }
    assert_eq!(host.text("a.md").await.unwrap(), "the agent's");
}

#[tokio::test]
async fn an_edit_beats_a_delete() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    agent_deletes(&host, "a.md").await;
    agent_puts(&host, "b.md", "the agent's").await;
    host.vault.write("a.md", b"the person's");
    host.vault.remove("b.md");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), summary.waiting, summary.conflicts.len()), ((1, 0, 0), 1, 0));
    assert_eq!(host.text("a.md").await.unwrap(), "the person's");
    assert_eq!(host.text("b.md").await.unwrap(), "the agent's");
}

#[tokio::test]
async fn equal_changes_on_both_sides_are_none() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    agent_puts(&host, "a.md", "same").await;
    agent_deletes(&host, "b.md").await;
    host.vault.write("a.md", b"same");
    host.vault.remove("b.md");
    for _ in 0..2 {
        let summary = host.sync().await.unwrap();
        assert_eq!((done(&summary), summary.waiting, summary.conflicts.len()), ((0, 0, 0), 0, 0));
    }
}

#[tokio::test]
async fn lost_state_deletes_nothing_and_is_made_anew() {
    for damage in [
        |state: &std::path::Path| std::fs::remove_file(state).unwrap(),
        |state: &std::path::Path| std::fs::write(state, "x").unwrap(),
    ] {
        let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b").note("c.md", "c")).await;
        damage(&host.state().join("state"));
        host.vault.remove("a.md");
        host.vault.write("b.md", b"changed");
        host.vault.write("d.md", b"new");
        let summary = host.sync().await.unwrap();
        assert_eq!((done(&summary), summary.waiting, summary.unchanged), ((1, 0, 0), 1, 1));
        assert_eq!(summary.conflicts, ["b.md"]);
        assert_eq!(host.text("a.md").await.unwrap(), "a");
        // From now on changes have ancestors again.
        host.vault.write("c.md", b"changed");
        assert_eq!(done(&host.sync().await.unwrap()), (0, 1, 0));
    }
}

#[tokio::test]
async fn a_second_host_finds_the_folder_published() {
    let one = Host::published(many(30)).await;
    let mut other = Host::new(many(30));
    other.objects = one.objects.clone();
    let summary = other.sync().await.unwrap();
    assert_eq!((summary.generation, done(&summary), summary.unchanged), (1, (0, 0, 0), 30));
    other.vault.write("003.md", b"changed there");
    assert_eq!(done(&other.sync().await.unwrap()), (0, 1, 0));
    let summary = one.sync().await.unwrap();
    assert_eq!((summary.generation, done(&summary), summary.waiting), (2, (0, 0, 0), 1));
}

#[tokio::test]
async fn writers_that_race_lose_nothing() {
    let host = Host::published(many(40)).await;
    for round in 0..5 {
        host.vault.write(&format!("mine {round}.md"), b"mine");
        let agent = async {
            for number in 0..5 {
                agent_puts(&host, &format!("agent {round} {number}.md"), "theirs").await;
            }
        };
        let (summary, ()) = futures::future::join(host.sync(), agent).await;
        assert_eq!(done(&summary.unwrap()), (1, 0, 0));
    }
    let mirrored = host.mirrored().await;
    assert_eq!(mirrored.len(), 40 + 5 + 25);
    let head = host.mirror().head().await.unwrap();
    assert_eq!(head.generation(), 1 + 5 + 25);
}

#[tokio::test]
async fn what_a_folder_cannot_have_stays_in_the_mirror() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a")).await;
    agent_puts(&host, ".trash/old.md", "deleted by an agent").await;
    for _ in 0..2 {
        let summary = host.sync().await.unwrap();
        assert_eq!((done(&summary), summary.waiting), ((0, 0, 0), 0));
    }
    assert_eq!(host.text(".trash/old.md").await.unwrap(), "deleted by an agent");
}
