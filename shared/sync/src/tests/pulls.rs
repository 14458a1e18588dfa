//! Agents' changes are written to the folder completely or not at all, and replace nothing of the person's.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;
use atlas_testkit::time::minute;
use jiff::Timestamp;

use super::{Host, after, agent_deletes, agent_puts, at, done, files, many, pulled, skipped};
use crate::Phase;

/// Syncs until nothing is left to do: both sides are equal.
async fn agree(host: &Host) {
    host.sync().await.unwrap();
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.waiting), ((0, 0, 0), (0, 0, 0), 0), "{summary:?}");
    assert_eq!(host.mirrored().await, files(host.vault.root()));
    // After an hour no replaced file is kept any more.
    host.sync_as(|options| options.began += Duration::from_secs(3700)).await.unwrap();
    assert!(!host.vault.path(".atlas-mirror").exists());
}

#[tokio::test]
async fn a_file_has_the_time_of_the_commit() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a")).await;
    agent_puts(&host, Put::note("a.md", "changed").and("b.md", "new")).await;
    host.sync().await.unwrap();
    for path in ["a.md", "b.md"] {
        let time = fs::metadata(host.vault.path(path)).unwrap().modified().unwrap();
        assert_eq!(Timestamp::try_from(time).unwrap(), minute(0), "{path}");
    }
}

#[tokio::test]
async fn an_edit_that_is_saved_during_the_sync_survives() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b").note("z.md", "z")).await;
    agent_puts(&host, Put::note("a.md", "the agent's").and("new.md", "the agent's")).await;
    agent_deletes(&host, "b.md").await;
    let root = host.vault.root().to_owned();
    let edits = at(Phase::Write, move || {
        for name in ["a.md", "b.md", "new.md"] {
            fs::write(root.join(name), "the person's").unwrap();
        }
    });
    let summary = host.sync_while(edits).await.unwrap();
    assert_eq!((pulled(&summary), summary.waiting, summary.skipped.len()), ((0, 0, 0), 3, 3), "{summary:?}");
    let summary = host.sync().await.unwrap();
    assert_eq!(summary.conflicts.len(), 2);
    agree(&host).await;
    let folder = files(host.vault.root());
    for name in ["a.md", "b.md", "new.md"] {
        assert_eq!(folder[name], b"the person's", "{name}");
    }
    for name in ["a (conflict 2026-01-05 00.00 agent).md", "new (conflict 2026-01-05 00.00 agent).md"] {
        assert_eq!(folder[name], b"the agent's", "{name}");
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_to_is_left_and_named() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    agent_puts(&host, Put::note("a.md", "the agent's").and("c.md", "the agent's")).await;
    host.vault.write("b.md", b"the person's");
    // Nothing can be staged where a file has the name of the staging folder.
    fs::write(host.vault.path(".atlas-mirror"), "").unwrap();
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.waiting), ((0, 1, 0), (0, 0, 0), 2));
    let skipped = skipped(&summary);
    assert!(skipped.iter().all(|skipped| skipped.contains("cannot be written")), "{skipped:?}");
    assert_eq!(host.vault.read("a.md"), b"a");
    fs::remove_file(host.vault.path(".atlas-mirror")).unwrap();
    agree(&host).await;
    assert_eq!(host.vault.read("c.md"), b"the agent's");
}

#[tokio::test]
async fn nothing_is_written_through_a_symbolic_link() {
    let outside = VaultBuilder::new().note("secret.md", "secret");
    let vault = VaultBuilder::new().note("real.md", "real").note("z.md", "z");
    symlink("real.md", vault.path("link.md")).unwrap();
    symlink(outside.root(), vault.path("folder")).unwrap();
    let host = Host::published(vault).await;
    agent_puts(&host, Put::note("link.md", "the agent's").and("folder/secret.md", "x").and("folder/new.md", "x")).await;
    let summary = host.sync().await.unwrap();
    assert_eq!((pulled(&summary), summary.waiting), ((0, 0, 0), 3));
    assert!(skipped(&summary).iter().any(|skipped| skipped.contains("not written through it")), "{summary:?}");
    assert_eq!(files(outside.root()).len(), 1);
    assert_eq!(outside.read("secret.md"), b"secret");
    assert_eq!(host.vault.read("real.md"), b"real");
    // A folder that becomes a link while the sync runs.
    let host = Host::published(VaultBuilder::new().note("folder/secret.md", "mine").note("z.md", "z")).await;
    agent_puts(&host, Put::note("folder/secret.md", "the agent's").and("folder/new.md", "x")).await;
    let (folder, away, to) = (host.vault.path("folder"), host.places.path().join("away"), outside.root().to_owned());
    let swap = at(Phase::Write, move || {
        fs::rename(&folder, &away).unwrap();
        symlink(&to, &folder).unwrap();
    });
    assert_eq!(pulled(&host.sync_while(swap).await.unwrap()), (0, 0, 0));
    assert_eq!(files(outside.root()).len(), 1);
    assert_eq!(outside.read("secret.md"), b"secret");
}

#[tokio::test]
async fn a_file_and_a_folder_may_take_each_other_s_name() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md/c.md", "c").note("z.md", "z")).await;
    agent_deletes(&host, "a.md").await;
    agent_deletes(&host, "b.md/c.md").await;
    agent_puts(&host, Put::note("a.md/inside.md", "inside").and("b.md", "b")).await;
    host.sync().await.unwrap();
    agree(&host).await;
    assert_eq!(host.vault.read("a.md/inside.md"), b"inside");
    // A folder that contains files of the person's stays.
    let host = Host::published(VaultBuilder::new().note("b.md/c.md", "c").note("z.md", "z")).await;
    agent_deletes(&host, "b.md/c.md").await;
    agent_puts(&host, Put::note("b.md", "b")).await;
    host.vault.write("b.md/mine.md", b"mine");
    let summary = host.sync().await.unwrap();
    assert_eq!((pulled(&summary), summary.conflicts.len(), summary.waiting), ((0, 0, 1), 1, 0));
    assert_eq!(host.vault.read("b.md/mine.md"), b"mine");
    agree(&host).await;
    // Also for a file that does not belong to the vault.
    let host = Host::published(VaultBuilder::new().note("b.md/c.md", "c").note("z.md", "z")).await;
    agent_deletes(&host, "b.md/c.md").await;
    agent_puts(&host, Put::note("b.md", "b")).await;
    host.vault.write("b.md/.git/config", b"mine");
    let summary = host.sync().await.unwrap();
    assert_eq!((pulled(&summary), summary.waiting), ((0, 0, 1), 1));
    assert!(skipped(&summary)[0].contains("a folder that is not empty has its name"), "{summary:?}");
    assert_eq!(host.vault.read("b.md/.git/config"), b"mine");
}

#[tokio::test]
async fn names_that_differ_in_case_or_spelling_are_kept_apart_or_together_as_the_folder_has_them() {
    let host =
        Host::published(VaultBuilder::new().note("note.md", "n").note("e\u{301}.md", "e").note("z.md", "z")).await;
    // Renamed in case by an agent, and by the person.
    agent_deletes(&host, "note.md").await;
    agent_puts(&host, Put::note("Note.md", "n").and("\u{e9}.md", "changed")).await;
    fs::rename(host.vault.path("z.md"), host.vault.path("Z.md")).unwrap();
    host.sync().await.unwrap();
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((0, 0, 0), (0, 0, 0)));
    let folder = files(host.vault.root());
    assert_eq!(folder.keys().collect::<Vec<_>>(), ["Note.md", "Z.md", "e\u{301}.md"]);
    assert_eq!(folder["e\u{301}.md"], b"changed");
    assert_eq!(host.mirrored().await.len(), 3);
}

#[tokio::test]
async fn a_mass_deletion_in_the_mirror_stops_unless_it_is_meant() {
    let host = Host::published(many(50)).await;
    for number in 0..6 {
        agent_deletes(&host, &format!("{number:03}.md")).await;
    }
    agent_puts(&host, (6..11).fold(Put::default(), |put, number| put.and(&format!("{number:03}.md"), ""))).await;
    let error = host.refusal().await;
    assert!(error.contains("11 of 50 notes vanished from the mirror") && error.contains("atlas log"), "{error}");
    assert_eq!(files(host.vault.root()).len(), 50);
    let summary = host.sync_as(|options| options.allow_mass_delete = true).await.unwrap();
    assert_eq!(pulled(&summary), (0, 5, 6));
}

#[tokio::test]
async fn deletions_in_the_mirror_add_up_within_a_day_and_moves_are_none() {
    let host = Host::published(many(50)).await;
    for number in 0..8 {
        agent_deletes(&host, &format!("{number:03}.md")).await;
    }
    assert_eq!(pulled(&host.sync().await.unwrap()), (0, 0, 8));
    for number in 8..13 {
        agent_deletes(&host, &format!("{number:03}.md")).await;
    }
    assert!(host.refusal().await.contains("13 of 50 notes"));
    let began = host.options().began + std::time::Duration::from_secs(24 * 3600);
    assert_eq!(pulled(&host.sync_as(|options| options.began = began).await.unwrap()), (0, 0, 5));

    let host = Host::published(many(50)).await;
    for number in 0..40 {
        let text = format!("note {number}\n");
        agent_puts(&host, Put::note(&format!("archive/{number:03}.md"), &text)).await;
        agent_deletes(&host, &format!("{number:03}.md")).await;
    }
    assert_eq!(pulled(&host.sync().await.unwrap()), (40, 0, 40));
    agree(&host).await;
}

#[tokio::test]
async fn what_a_killed_sync_had_moved_aside_comes_back() {
    let aside = |host: &Host, path: &str| {
        let to = host.vault.path(".atlas-mirror/aside").join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(host.vault.path(path), to).unwrap();
    };
    let vault = ["a/b.md", "c.md", "d.md"].iter().fold(VaultBuilder::new(), |vault, path| vault.note(path, path));
    let host = Host::published(vault).await;
    // Killed before the new file was there, after it, and after somebody had saved a third.
    aside(&host, "a/b.md");
    aside(&host, "c.md");
    host.vault.write("c.md", b"the agent's");
    aside(&host, "d.md");
    host.vault.write(".atlas-mirror/aside/d.md", b"saved before the kill");
    host.vault.write("d.md", b"saved after it");
    host.vault.write(".atlas-mirror/new-1-7", b"half of a fi");
    let old = SystemTime::from(minute(0));
    fs::File::open(host.vault.path(".atlas-mirror/new-1-7")).unwrap().set_modified(old).unwrap();
    let summary = host.sync().await.unwrap();
    assert_eq!(done(&summary), (1, 2, 0), "{summary:?}");
    assert!(skipped(&summary)[0].starts_with("d.md: a sync was interrupted here"), "{summary:?}");
    agree(&host).await;
    let folder = files(host.vault.root());
    assert_eq!((&folder["a/b.md"][..], &folder["c.md"][..]), (&b"a/b.md"[..], &b"the agent's"[..]));
    assert_eq!(folder["d.md"], b"saved after it");
    assert!(folder.values().any(|text| text == b"saved before the kill") && folder.len() == 4);
}

#[tokio::test]
async fn attachments_go_both_ways_and_are_kept_twice_like_notes() {
    let one =
        Host::published(VaultBuilder::new().file("a.png", b"\0one").file("b.png", b"\0same").note("n.md", "n")).await;
    let mut other = Host::new(VaultBuilder::new());
    other.objects = one.objects.clone();
    other.sync().await.unwrap();
    other.vault.write("a.png", b"\0other");
    other.vault.write("c/large.bin", &vec![7; 9 << 20]);
    other.sync().await.unwrap();
    one.vault.write("a.png", b"\0mine");
    let summary = one.sync().await.unwrap();
    assert_eq!((pulled(&summary), summary.conflicts.len()), ((1, 0, 0), 1));
    agree(&one).await;
    agree(&other).await;
    let folder = files(one.vault.root());
    assert_eq!((&folder["a.png"][..], folder["c/large.bin"].len(), folder.len()), (&b"\0mine"[..], 9 << 20, 5));
    assert!(folder.iter().any(|(path, bytes)| path.contains("(conflict ") && bytes == b"\0other"));
    assert_eq!(files(other.vault.root()), folder);
}

#[tokio::test]
async fn what_went_to_the_trash_goes_to_the_folder_s_trash() {
    let host = Host::published(VaultBuilder::new().note("a/b.md", "b").note("c.md", "c").note("z.md", "z")).await;
    agent_puts(&host, Put::note(".trash/a/b.md", "b")).await;
    agent_deletes(&host, "a/b.md").await;
    agent_deletes(&host, "c.md").await;
    assert_eq!(pulled(&host.sync().await.unwrap()), (0, 0, 2));
    assert_eq!(files(host.vault.root()).into_keys().collect::<Vec<_>>(), [".trash/a/b.md", "z.md"]);
    assert_eq!(pulled(&host.sync().await.unwrap()), (0, 0, 0));
}

#[tokio::test]
async fn nothing_is_pulled_below_a_folder_that_cannot_be_listed() {
    let host = Host::published(VaultBuilder::new().note("a/b.md", "b").note("z.md", "z")).await;
    agent_puts(&host, Put::note("a/b.md", "the agent's").and("a/new.md", "x").and("y.md", "y")).await;
    let (from, to) = (host.vault.path("a"), host.places.path().join("away"));
    let (back, gone) = ((to.clone(), from.clone()), after(Phase::Scan, 1, move || fs::rename(&from, &to).unwrap()));
    let summary = host.sync_while(gone).await.unwrap();
    assert_eq!((pulled(&summary), done(&summary), summary.waiting), ((1, 0, 0), (0, 0, 0), 2));
    assert!(!host.vault.path("a").exists());
    fs::rename(back.0, back.1).unwrap();
    agree(&host).await;
    assert_eq!(host.vault.read("a/b.md"), b"the agent's");
}

#[tokio::test]
async fn a_dry_run_tells_and_does_nothing() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b").note("c.md", "c")).await;
    agent_puts(&host, Put::note("a.md", "the agent's").and("new.md", "x").and("c.md", "the agent's")).await;
    agent_deletes(&host, "b.md").await;
    host.vault.write("c.md", b"the person's");
    host.vault.write("d.md", b"d");
    let before = (files(host.vault.root()), files(&host.state()));
    let summary = host.sync_as(|options| options.dry_run = true).await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((1, 0, 0), (1, 1, 1)));
    assert_eq!((summary.conflicts.len(), summary.uploaded_bytes), (1, 0));
    assert_eq!((files(host.vault.root()), files(&host.state())), before);
}
