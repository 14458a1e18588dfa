//! Files that both sides changed are merged where the changes do not meet; both versions stay in the history.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;
use futures::FutureExt as _;
use object_store::ObjectStore;
use object_store::memory::InMemory;

use super::{Files, Host, agent_puts, at, at_beginning, done, files, pulled};
use crate::{Phase, Summary, set_aside_of};

const NOTE: &str = "---\nstatus: open\ntags: [a]\n---\n# One\n\nfirst\n\n# Two\n\nsecond\n\n# Three\n\nthird\n";

fn person() -> String {
    NOTE.replace("first", "first, by the person")
}

fn agent() -> String {
    NOTE.replace("third", "third, by the agent")
}

fn both() -> String {
    agent().replace("first", "first, by the person")
}

fn merged(summary: &Summary) -> Vec<&str> {
    summary.merged.iter().map(|one| one.path.as_str()).collect()
}

async fn diverged() -> Host {
    let host = Host::published(VaultBuilder::new().note("a.md", NOTE).note("b.md", "b")).await;
    agent_puts(&host, Put::note("a.md", &agent())).await;
    host.vault.write("a.md", person().as_bytes());
    host
}

async fn agree(host: &Host) -> Files {
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.waiting), ((0, 0, 0), (0, 0, 0), 0));
    assert_eq!((summary.merged, summary.conflicts), (Vec::new(), Vec::new()));
    let folder = files(host.vault.root());
    assert_eq!(host.mirrored().await, folder);
    folder
}

/// The texts that `path` has had in the mirror, the oldest first.
async fn history(host: &Host, path: &str) -> Vec<String> {
    let newest = host.mirror().head().await.unwrap().generation();
    let mut texts: Vec<String> = Vec::new();
    for generation in 1..=newest {
        let text = host.mirrored_at(Some(generation)).await.remove(path).unwrap();
        texts.push(String::from_utf8(text).unwrap());
    }
    texts.dedup();
    texts
}

#[tokio::test]
async fn changes_that_do_not_meet_are_merged_on_both_sides() {
    let host = diverged().await;
    let summary = host.sync().await.unwrap();
    assert_eq!((merged(&summary), summary.conflicts.len()), (vec!["a.md"], 0));
    assert_eq!((done(&summary), pulled(&summary), summary.needs_attention()), ((0, 1, 0), (0, 1, 0), false));
    let folder = agree(&host).await;
    assert_eq!(folder.keys().collect::<Vec<_>>(), ["a.md", "b.md"]);
    assert_eq!(folder["a.md"], both().into_bytes());
    assert_eq!(history(&host, "a.md").await, [NOTE.to_owned(), agent(), both()]);
    let newest = host.mirror().head().await.unwrap().generation();
    let before = host.mirrored_at(Some(newest - 1)).await;
    assert!(before.values().any(|text| *text == person().into_bytes()), "the person's version is in the history");
    let head = host.mirror().head().await.unwrap();
    let message = head.manifest().message.clone().unwrap();
    let parents = &summary.merged[0];
    assert!(
        message.contains("a.md") && message.contains(&parents.ours) && message.contains(&parents.theirs),
        "{message}"
    );
}

#[tokio::test]
async fn changes_that_meet_stay_apart_and_are_named() {
    let host = Host::published(VaultBuilder::new().note("a.md", NOTE).note("b.md", "b")).await;
    agent_puts(&host, Put::note("a.md", &NOTE.replace("second", "second, by the agent"))).await;
    host.vault.write("a.md", NOTE.replace("second", "second, by the person").as_bytes());
    let summary = host.sync().await.unwrap();
    assert_eq!((merged(&summary).len(), summary.conflicts.len()), (0, 1));
    assert_eq!(summary.conflicts[0].why.as_deref(), Some("both sides changed line 11"));
    assert_eq!(agree(&host).await.len(), 3);
}

#[tokio::test]
async fn nothing_is_merged_if_nothing_is_to_be() {
    let host = diverged().await;
    let summary = host.sync_as(|options| options.merge = false).await.unwrap();
    assert_eq!((merged(&summary).len(), summary.conflicts.len()), (0, 1));
    assert_eq!(agree(&host).await["a.md"], person().into_bytes());
}

#[tokio::test]
async fn a_dry_run_names_what_it_would_merge() {
    let host = diverged().await;
    let before = host.mirror().head().await.unwrap().generation();
    let summary = host.sync_as(|options| options.dry_run = true).await.unwrap();
    assert_eq!((merged(&summary), summary.conflicts.len()), (vec!["a.md"], 0));
    assert_eq!(summary.merged[0].text, both().into_bytes());
    assert_eq!((done(&summary), pulled(&summary)), ((0, 1, 0), (0, 1, 0)));
    assert_eq!(host.mirror().head().await.unwrap().generation(), before);
    assert_eq!(files(host.vault.root())["a.md"], person().into_bytes());
}

#[tokio::test]
async fn an_older_ancestor_is_found_in_the_history() {
    let host = diverged().await;
    // Two more versions of the agent, and the state of the last sync without its generation's manifest in reach.
    agent_puts(&host, Put::note("a.md", &agent().replace("# Two", "# 2"))).await;
    agent_puts(&host, Put::note("a.md", &agent().replace("# Two", "# II"))).await;
    assert_eq!(merged(&host.sync().await.unwrap()), ["a.md"]);
    assert_eq!(agree(&host).await["a.md"], both().replace("# Two", "# II").into_bytes());
}

#[tokio::test]
async fn properties_and_canvases_are_merged_by_their_parts() {
    let canvas = |x: i32, text: &str| {
        format!(
            "{{\"nodes\":[{{\"id\":\"1\",\"type\":\"text\",\"text\":\"{text}\",\"x\":{x},\"y\":0,\"width\":10,\"height\":10}}],\"edges\":[]}}"
        )
    };
    let host = Host::published(VaultBuilder::new().note("a.md", NOTE).note("b.canvas", &canvas(0, "t"))).await;
    agent_puts(&host, Put::note("a.md", &NOTE.replace("status: open", "status: done"))).await;
    host.vault.write("a.md", NOTE.replace("tags: [a]", "tags: [a, b]").as_bytes());
    assert_eq!(merged(&host.sync().await.unwrap()), ["a.md"]);
    let text = String::from_utf8(agree(&host).await.remove("a.md").unwrap()).unwrap();
    assert!(text.starts_with("---\nstatus: done\ntags: [a, b]\n---\n"), "{text}");
}

#[tokio::test]
async fn a_file_that_is_saved_during_the_merge_is_merged_with_it_next() {
    let host = diverged().await;
    let root = host.vault.root().to_owned();
    let later = person().replace("# Two", "# Second");
    let text = later.clone();
    let save = move || std::fs::write(root.join("a.md"), &text).unwrap();
    let summary = host.sync_while(at(Phase::Commit, save)).await.unwrap();
    assert!(summary.needs_attention(), "the merge waits for the folder");
    assert_eq!(files(host.vault.root())["a.md"], later.clone().into_bytes(), "the person's file was not touched");
    let summary = host.sync().await.unwrap();
    assert_eq!(summary.conflicts, []);
    assert_eq!(agree(&host).await["a.md"], both().replace("# Two", "# Second").into_bytes());
}

#[tokio::test]
async fn a_sync_that_is_killed_between_its_commits_is_completed_by_the_next_one() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let host = Host::with_store(VaultBuilder::new().note("a.md", NOTE).note("b.md", "b"), store);
    host.sync().await.unwrap();
    agent_puts(&host, Put::note("a.md", &agent())).await;
    host.vault.write("a.md", person().as_bytes());
    let state = std::fs::read(host.state().join("state")).unwrap();
    // The second time the phase begins, the first commit has been made.
    let kill = at_beginning(Phase::Commit, 2, || panic!("killed"));
    let killed = AssertUnwindSafe(host.sync_while(kill)).catch_unwind().await;
    assert!(killed.is_err(), "it was killed");
    assert_eq!(std::fs::read(host.state().join("state")).unwrap(), state);
    let between = host.mirrored().await;
    assert_eq!(between["a.md"], agent().into_bytes(), "what the agent wrote stays where it was");
    assert!(between.values().any(|text| *text == person().into_bytes()), "the mirror has both versions");
    let head = host.mirror().head().await.unwrap();
    assert_eq!(set_aside_of(&head, "a.md").await.unwrap().len(), 1);
    assert_eq!(set_aside_of(&head, "b.md").await.unwrap(), []);
    let summary = host.sync().await.unwrap();
    assert_eq!((merged(&summary), summary.conflicts.len()), (vec!["a.md"], 0));
    let folder = agree(&host).await;
    assert_eq!((folder.len(), folder["a.md"].clone()), (2, both().into_bytes()));
}

#[tokio::test]
async fn an_agent_that_writes_between_the_commits_loses_nothing() {
    let host = diverged().await;
    let mirror = host.mirror();
    let other = agent().replace("# Two", "# By another");
    let text = other.clone();
    // The agent's write lands between the plan and the first commit.
    let write = move || {
        let (mirror, text) = (mirror.clone(), text.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime
                .block_on(async {
                    mirror.commit(&atlas_testkit::notes::by("other"), &Put::note("a.md", &text)).await.map(drop)
                })
                .unwrap();
        })
        .join()
        .unwrap();
    };
    let summary = host.sync_while(at(Phase::Commit, write)).await.unwrap();
    assert_eq!(merged(&summary).len(), 0);
    assert!(summary.needs_attention() && summary.skipped.len() == 1, "{summary:?}");
    let summary = host.sync().await.unwrap();
    assert_eq!(merged(&summary), ["a.md"], "{summary:?}");
    assert_eq!(agree(&host).await["a.md"], both().replace("# Two", "# By another").into_bytes());
}

#[tokio::test]
async fn two_hosts_and_an_agent_that_changed_one_note_come_to_the_same() {
    let one = Host::published(VaultBuilder::new().note("a.md", NOTE).note("b.md", "b")).await;
    let two = one.beside(VaultBuilder::new().note("a.md", NOTE).note("b.md", "b"));
    two.sync_as(|options| options.join = true).await.unwrap();
    agent_puts(&one, Put::note("a.md", &agent())).await;
    one.vault.write("a.md", person().as_bytes());
    two.vault.write("a.md", NOTE.replace("second", "second, by the other").as_bytes());
    let summaries = [one.sync().await.unwrap(), two.sync().await.unwrap(), one.sync().await.unwrap()];
    assert!(summaries.iter().all(|summary| summary.conflicts.is_empty()), "{summaries:?}");
    let folder = agree(&one).await;
    assert_eq!(folder["a.md"], both().replace("second", "second, by the other").into_bytes());
    assert_eq!(agree(&two).await, folder);
}

#[tokio::test]
async fn what_was_set_aside_goes_when_the_file_has_changed_since() {
    let host = diverged().await;
    let kill = at_beginning(Phase::Commit, 2, || panic!("killed"));
    assert!(AssertUnwindSafe(host.sync_while(kill)).catch_unwind().await.is_err(), "it was killed");
    host.vault.write("a.md", person().replace("# Two", "# Second").as_bytes());
    assert_eq!(merged(&host.sync().await.unwrap()), ["a.md"]);
    let folder = agree(&host).await;
    assert_eq!(folder.keys().collect::<Vec<_>>(), ["a.md", "b.md"]);
    assert_eq!(folder["a.md"], both().replace("# Two", "# Second").into_bytes());
}

#[tokio::test]
async fn a_merge_that_equals_one_of_both_versions_is_completed() {
    for (agent, person) in [(both(), person()), (agent(), both())] {
        let host = Host::published(VaultBuilder::new().note("a.md", NOTE).note("b.md", "b")).await;
        agent_puts(&host, Put::note("a.md", &agent)).await;
        host.vault.write("a.md", person.as_bytes());
        assert_eq!(merged(&host.sync().await.unwrap()), ["a.md"]);
        let folder = agree(&host).await;
        assert_eq!((folder.len(), &folder["a.md"][..]), (2, both().as_bytes()));
    }
}

#[tokio::test]
async fn files_of_one_name_are_merged_in_one_sync() {
    let vault = VaultBuilder::new().note("one/a.md", NOTE).note("two/a.md", NOTE).note("b.md", "b");
    let host = Host::published(vault).await;
    agent_puts(&host, Put::note("one/a.md", &agent()).and("two/a.md", &agent())).await;
    host.vault.write("one/a.md", person().as_bytes());
    host.vault.write("two/a.md", person().as_bytes());
    assert_eq!(merged(&host.sync().await.unwrap()), ["one/a.md", "two/a.md"]);
    assert_eq!(agree(&host).await.len(), 3);
}

#[tokio::test]
async fn files_whose_lines_belong_together_stay_apart() {
    let base = "{\n  \"a\": 1,\n\n\n  \"z\": 1\n}\n";
    let host = Host::published(VaultBuilder::new().file("a.json", base.as_bytes()).note("b.md", "b")).await;
    agent_puts(&host, Put::note("a.json", &base.replace('{', "{\n  \"new\": 1,"))).await;
    host.vault.write("a.json", base.replace("\"z\": 1", "\"z\": 1,\n  \"new\": 2").as_bytes());
    let summary = host.sync().await.unwrap();
    assert_eq!((merged(&summary).len(), summary.conflicts.len()), (0, 1));
}
