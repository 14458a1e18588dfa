//! Changes on both sides are carried over, and where both changed a file, both versions stay.

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;

use super::{Files, Host, agent_deletes, agent_puts, done, files, many, pulled};
use crate::Summary;

/// The copy's path of `a.md` in the version of `by("agent")`, when both sides changed it.
const COPY: &str = "a (conflict 2026-01-05 00.00 agent).md";

fn conflicts(summary: &Summary) -> Vec<(&str, Option<&str>)> {
    summary.conflicts.iter().map(|one| (one.path.as_str(), one.copy.as_deref())).collect()
}

/// Checks that both sides are equal, and the next sync does nothing.
async fn agree(host: &Host) -> Files {
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.waiting), ((0, 0, 0), (0, 0, 0), 0));
    let folder = files(host.vault.root());
    assert_eq!(host.mirrored().await, folder);
    folder
}

#[tokio::test]
async fn what_only_one_side_changed_goes_to_the_other() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b").note("c.md", "c")).await;
    agent_puts(&host, Put::note("a.md", "the agent's")).await;
    agent_puts(&host, Put::note("new/deep/n.md", "the agent's")).await;
    agent_deletes(&host, "b.md").await;
    host.vault.write("c.md", b"the person's");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.waiting), ((0, 1, 0), (1, 1, 1), 0));
    let folder = agree(&host).await;
    assert_eq!(folder.keys().collect::<Vec<_>>(), ["a.md", "c.md", "new/deep/n.md"]);
    assert_eq!((&folder["a.md"][..], &folder["c.md"][..]), (&b"the agent's"[..], &b"the person's"[..]));
}

#[tokio::test]
async fn what_both_changed_is_there_twice_on_both_sides() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    agent_puts(&host, Put::note("a.md", "the agent's")).await;
    host.vault.write("a.md", b"the person's");
    let summary = host.sync().await.unwrap();
    assert_eq!(conflicts(&summary), [("a.md", Some(COPY))]);
    assert_eq!((done(&summary), pulled(&summary)), ((1, 1, 0), (0, 0, 0)));
    let folder = agree(&host).await;
    assert_eq!((&folder["a.md"][..], &folder[COPY][..]), (&b"the person's"[..], &b"the agent's"[..]));
}

#[tokio::test]
async fn a_copy_takes_no_other_file_s_name_and_is_made_once() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    agent_puts(&host, Put::note("a.md", "the agent's")).await;
    host.vault.write("a.md", b"the person's");
    host.vault.write(COPY, b"somebody's");
    let numbered = "a (conflict 2026-01-05 00.00 agent 2).md";
    assert_eq!(conflicts(&host.sync().await.unwrap()), [("a.md", Some(numbered))]);
    let folder = agree(&host).await;
    assert_eq!((&folder[COPY][..], &folder[numbered][..]), (&b"somebody's"[..], &b"the agent's"[..]));
    // A sync that was killed after it made the copy.
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    agent_puts(&host, Put::note("a.md", "the agent's")).await;
    host.vault.write("a.md", b"the person's");
    host.vault.write(COPY, b"the agent's");
    assert_eq!(conflicts(&host.sync().await.unwrap()), [("a.md", Some(COPY))]);
    assert_eq!(agree(&host).await.len(), 3);
}

#[tokio::test]
async fn an_edit_beats_a_delete() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    agent_deletes(&host, "a.md").await;
    agent_puts(&host, Put::note("b.md", "the agent's")).await;
    host.vault.write("a.md", b"the person's");
    host.vault.remove("b.md");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.conflicts.len()), ((1, 0, 0), (1, 0, 0), 0));
    let folder = agree(&host).await;
    assert_eq!((&folder["a.md"][..], &folder["b.md"][..]), (&b"the person's"[..], &b"the agent's"[..]));
}

#[tokio::test]
async fn equal_changes_on_both_sides_are_none() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    agent_puts(&host, Put::note("a.md", "same")).await;
    agent_deletes(&host, "b.md").await;
    host.vault.write("a.md", b"same");
    host.vault.remove("b.md");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.conflicts.len()), ((0, 0, 0), (0, 0, 0), 0));
    agree(&host).await;
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
        let summary = host.sync_as(|options| options.join = true).await.unwrap();
        assert_eq!((done(&summary), pulled(&summary), summary.unchanged), ((2, 1, 0), (1, 0, 0), 1));
        assert_eq!(summary.conflicts.len(), 1);
        let folder = agree(&host).await;
        assert_eq!((&folder["a.md"][..], &folder["b.md"][..], folder.len()), (&b"a"[..], &b"changed"[..], 5));
        // From now on changes have ancestors again.
        host.vault.write("c.md", b"changed");
        assert_eq!(done(&host.sync().await.unwrap()), (0, 1, 0));
    }
}

#[tokio::test]
async fn two_hosts_come_to_the_same() {
    let one = Host::published(many(30)).await;
    let mut other = Host::new(VaultBuilder::new());
    other.objects = one.objects.clone();
    // The second has nothing yet.
    let summary = other.sync().await.unwrap();
    assert_eq!((summary.generation, done(&summary), pulled(&summary)), (1, (0, 0, 0), (30, 0, 0)));
    other.vault.write("003.md", b"changed there");
    assert_eq!(done(&other.sync().await.unwrap()), (0, 1, 0));
    one.vault.write("004.md", b"changed here");
    let summary = one.sync().await.unwrap();
    assert_eq!((summary.generation, done(&summary), pulled(&summary)), (3, (0, 1, 0), (0, 1, 0)));
    agree(&one).await;
    assert_eq!(pulled(&other.sync().await.unwrap()), (0, 1, 0));
    assert_eq!(agree(&other).await, files(one.vault.root()));
}

#[tokio::test]
async fn writers_that_race_lose_nothing() {
    let host = Host::published(many(40)).await;
    for round in 0..5 {
        host.vault.write(&format!("mine {round}.md"), b"mine");
        let agent = async {
            for number in 0..5 {
                agent_puts(&host, Put::note(&format!("agent {round} {number}.md"), "theirs")).await;
            }
        };
        let (summary, ()) = futures::future::join(host.sync(), agent).await;
        assert_eq!(done(&summary.unwrap()), (1, 0, 0));
    }
    host.sync().await.unwrap();
    assert_eq!(agree(&host).await.len(), 40 + 5 + 25);
    assert_eq!(host.mirror().head().await.unwrap().generation(), 1 + 5 + 25);
}

#[tokio::test]
async fn what_a_folder_cannot_have_stays_in_the_mirror() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a")).await;
    agent_puts(&host, Put::note(".trash/old.md", "deleted by an agent")).await;
    for _ in 0..2 {
        let summary = host.sync().await.unwrap();
        assert_eq!((done(&summary), pulled(&summary), summary.waiting), ((0, 0, 0), (0, 0, 0), 0));
    }
    assert_eq!(host.text(".trash/old.md").await.unwrap(), "deleted by an agent");
}
