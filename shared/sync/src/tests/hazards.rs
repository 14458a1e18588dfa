//! Hazards of file systems, other programs and other hosts: no file is lost, and the sync settles.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::sync::Arc;

use atlas_testkit::notes::Put;
use atlas_testkit::{Fault, FaultStore, Op, VaultBuilder};
use jiff::Timestamp;
use object_store::memory::InMemory;

use super::{Host, after, agent_deletes, agent_puts, all_files, at, done, files, many, pulled, skipped};
use crate::Phase;
use crate::folder::Folder;
use crate::report::Reason;
use crate::target::{ExpectedTarget, Target};

/// Saves a file so that its size and time do not show it.
fn change_secretly(host: &Host, path: &str, text: &[u8]) {
    let at = host.vault.path(path);
    let before = fs::metadata(&at).unwrap();
    assert_eq!(before.len(), text.len() as u64);
    fs::write(&at, text).unwrap();
    File::options().append(true).open(&at).unwrap().set_modified(before.modified().unwrap()).unwrap();
}

#[tokio::test]
async fn a_change_that_size_and_time_hide_does_not_keep_the_agent_s_away_for_ever() {
    let host = Host::published(VaultBuilder::new().note("a.md", "one").note("z.md", "z")).await;
    change_secretly(&host, "a.md", b"two");
    agent_puts(&host, Put::note("a.md", "the agent's")).await;
    // The change is found when the file would be replaced.
    let summary = host.sync().await.unwrap();
    assert_eq!((pulled(&summary), summary.waiting), ((0, 0, 0), 1), "{summary:?}");
    let summary = host.sync().await.unwrap();
    assert_eq!((summary.conflicts.len(), summary.waiting), (1, 0), "{summary:?}");
    assert_eq!(host.vault.read("a.md"), b"two");
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}

#[tokio::test]
async fn deletions_that_wait_count_once() {
    let host = Host::published(many(50)).await;
    for number in 0..4 {
        agent_deletes(&host, &format!("{number:03}.md")).await;
    }
    // Nothing can be moved aside.
    fs::write(host.vault.path(".atlas-mirror"), "").unwrap();
    for _ in 0..5 {
        assert_eq!(host.sync().await.unwrap().waiting, 4);
    }
    fs::remove_file(host.vault.path(".atlas-mirror")).unwrap();
    assert_eq!(pulled(&host.sync().await.unwrap()), (0, 0, 4));
}

#[tokio::test]
async fn a_file_that_a_listing_misses_is_not_deleted() {
    // Also if the folder spells its name or that of its folder decomposed.
    for name in ["a.md", "a\u{301}.md", "a\u{301}/o\u{301}.md", "a\u{301}/\u{f3}.md", "\u{e1}/o\u{301}.md"] {
        let host = Host::published(VaultBuilder::new().note(name, "a").note("b.md", "b").note("z.md", "z")).await;
        let mirrored = host.mirrored().await;
        let (at, away) = (host.vault.path(name), host.places.path().join("away"));
        fs::rename(&at, &away).unwrap();
        host.vault.remove("b.md");
        let back = after(Phase::Scan, 1 + name.matches('/').count(), move || fs::rename(&away, &at).unwrap());
        let summary = host.sync_while(back).await.unwrap();
        assert_eq!(done(&summary), (0, 0, 1), "{summary:?}");
        assert!(skipped(&summary).iter().any(|why| why.contains(": it exists")), "{name}: {summary:?}");
        assert_eq!(done(&host.sync().await.unwrap()), (0, 0, 0));
        let kept = mirrored.into_keys().filter(|path| path != "b.md").collect::<Vec<_>>();
        assert_eq!(host.mirrored().await.into_keys().collect::<Vec<_>>(), kept, "{name}");
    }
}

#[tokio::test]
async fn a_file_that_icloud_took_from_the_disk_is_not_taken_for_deleted() {
    let host = Host::published(VaultBuilder::new().note("a/b.md", "b").note("c.md", "c").note("d.md", "d")).await;
    let evict = |name: &str, placeholder: &str| {
        host.vault.remove(name);
        host.vault.write(placeholder, b"bplist00");
    };
    evict("a/b.md", "a/.b.md.icloud");
    evict("c.md", ".c.md.icloud");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((0, 0, 0), (0, 0, 0)), "{summary:?}");
    assert!(skipped(&summary)[0].starts_with("a/b.md: it is in iCloud and not on this disk"), "{summary:?}");
    assert_eq!(host.mirrored().await.into_keys().collect::<Vec<_>>(), ["a/b.md", "c.md", "d.md"]);
    // Meanwhile an agent's version waits for it.
    agent_puts(&host, Put::note("a/b.md", "the agent's")).await;
    host.sync().await.unwrap();
    assert!(!host.vault.path("a/b.md").exists());
    host.vault.remove("a/.b.md.icloud");
    host.vault.write("a/b.md", b"b");
    host.vault.write("c.md", b"c");
    let summary = host.sync().await.unwrap();
    assert_eq!((pulled(&summary), summary.skipped.len()), ((0, 1, 0), 0), "{summary:?}");
    host.vault.remove(".c.md.icloud");
    assert_eq!(host.mirrored().await, files(host.vault.root()));
    assert_eq!(host.vault.read("a/b.md"), b"the agent's");
}

#[tokio::test]
async fn two_hosts_with_settings_of_their_own_come_to_rest() {
    let vault = |settings: &str| VaultBuilder::new().note("a.md", "a").file(".obsidian/app.json", settings.as_bytes());
    let one = Host::published(vault("{\"one\":1}")).await;
    let mut other = Host::new(vault("{\"other\":1}"));
    other.objects = one.objects.clone();
    let summary = other.sync().await.unwrap();
    assert_eq!((done(&summary), summary.conflicts.len(), summary.skipped.len()), ((0, 1, 0), 1, 0), "{summary:?}");
    let copy = summary.conflicts[0].copy.clone().unwrap();
    assert_eq!(other.vault.read(&copy), b"{\"one\":1}");
    assert_eq!(pulled(&one.sync().await.unwrap()), (0, 1, 0));
    for host in [&one, &other] {
        let summary = host.sync().await.unwrap();
        assert_eq!((done(&summary), pulled(&summary), summary.waiting), ((0, 0, 0), (0, 0, 0), 0), "{summary:?}");
        assert_eq!(host.vault.read(".obsidian/app.json"), b"{\"other\":1}");
    }
}

#[tokio::test]
async fn settings_behind_a_symbolic_link_are_not_taken_for_deleted() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").file(".obsidian/app.json", b"{}")).await;
    let shared = host.places.path().join("shared settings");
    fs::rename(host.vault.path(".obsidian"), &shared).unwrap();
    symlink(&shared, host.vault.path(".obsidian")).unwrap();
    let summary = host.sync().await.unwrap();
    assert_eq!(done(&summary), (0, 0, 0));
    assert!(skipped(&summary)[0].contains("symbolic link"), "{summary:?}");
    assert_eq!(host.text(".obsidian/app.json").await.unwrap(), "{}");
}

#[tokio::test]
async fn a_conflict_deep_below_a_long_path_has_a_copy_that_can_be_synced() {
    let folder = ["d".repeat(200), "d".repeat(200), "d".repeat(200), "d".repeat(200)].join("/");
    let path = format!("{folder}/{}.md", "n".repeat(210));
    let host = Host::published(VaultBuilder::new().note(&path, "a").note("z.md", "z")).await;
    agent_puts(&host, Put::note(&path, "the agent's")).await;
    host.vault.write(&path, b"the person's");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), summary.skipped.len()), ((1, 1, 0), 0), "{summary:?}");
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}

#[tokio::test]
async fn a_file_that_is_replaced_stays_as_private_as_it_was() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("z.md", "z")).await;
    let mode = || fs::metadata(host.vault.path("a.md")).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(host.vault.path("a.md"), fs::Permissions::from_mode(0o600)).unwrap();
    agent_puts(&host, Put::note("a.md", "the agent's")).await;
    host.sync().await.unwrap();
    assert_eq!((&host.vault.read("a.md")[..], mode()), (&b"the agent's"[..], 0o600));
}

#[tokio::test]
async fn a_file_that_is_replaced_keeps_its_owner_and_group() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("z.md", "z")).await;
    let path = host.vault.path("a.md");
    // Only root may give files away; others have one owner for all of theirs.
    let is_given = chown(&path, Some(4321), Some(1234)).is_ok();
    agent_puts(&host, Put::note("a.md", "the agent's")).await;
    host.sync().await.unwrap();
    let found = fs::metadata(&path).unwrap();
    assert_eq!(host.vault.read("a.md"), b"the agent's");
    assert!(!is_given || (found.uid(), found.gid()) == (4321, 1234), "{}:{}", found.uid(), found.gid());
}

#[tokio::test]
async fn a_full_disk_of_the_state_stops_a_sync_before_it_changes_anything() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    let draft = host.state().join("state.new");
    symlink("/dev/full", &draft).unwrap();
    agent_puts(&host, Put::note("b.md", "the agent's")).await;
    for text in ["one", "two", "three"] {
        host.vault.write("a.md", text.as_bytes());
        assert!(host.refusal().await.contains("No space left"));
    }
    assert_eq!((host.text("a.md").await.unwrap(), host.vault.read("b.md")), ("a".to_owned(), b"b".to_vec()));
    fs::remove_file(draft).unwrap();
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.conflicts.len()), ((0, 1, 0), (0, 1, 0), 0), "{summary:?}");
}

#[test]
fn two_syncs_of_one_folder_do_not_take_each_other_s_files() {
    let vault = VaultBuilder::new();
    let target = || Target::of(&Folder::open(vault.root()).unwrap(), Timestamp::now()).unwrap();
    let (one, other) = (target(), target());
    let begun = one.begin().unwrap().append(b"one's").unwrap();
    let half = other.begin().unwrap().append(b"half of the oth").unwrap();
    begun.finish("a.md", 0, ExpectedTarget::Nothing).unwrap();
    drop(half);
    assert_eq!(vault.read("a.md"), b"one's");
}

#[test]
fn a_file_that_is_written_to_after_it_was_looked_at_is_kept() {
    let vault = VaultBuilder::new().note("a.md", "a");
    let target = Target::of(&Folder::open(vault.root()).unwrap(), Timestamp::now()).unwrap();
    // Like an editor that has it open.
    let mut open = File::options().append(true).open(vault.path("a.md")).unwrap();
    let aside = target.set_aside("a.md", *atlas_mirror::Hash::of(b"a").as_bytes()).unwrap();
    std::io::Write::write_all(&mut open, b" and more").unwrap();
    aside.discard().unwrap();
    assert_eq!(all_files(vault.root()).into_values().collect::<Vec<_>>(), [b"*\n".to_vec(), b"a and more".to_vec()]);
}

#[test]
fn what_is_kept_in_the_trash_is_the_expected_version_and_kept_once() {
    let vault = VaultBuilder::new().note("a.md", "saved since").note("b.md", "b").note(".trash/b.md", "b");
    let target = Target::of(&Folder::open(vault.root()).unwrap(), Timestamp::now()).unwrap();
    let remove = |path, text: &[u8]| target.trash(path, *atlas_mirror::Hash::of(text).as_bytes());
    assert_eq!(remove("a.md", b"a"), Err(Reason::Changed));
    assert_eq!(remove("gone/c.md", b"c"), Err(Reason::Changed));
    assert_eq!(remove("b.md", b"b"), Ok(()));
    assert_eq!(files(vault.root()).into_keys().collect::<Vec<_>>(), [".trash/b.md", "a.md"]);
    assert_eq!(vault.read("a.md"), b"saved since");
}

#[tokio::test]
async fn what_an_agent_adds_to_a_folder_goes_into_the_one_that_is_there_however_it_is_spelt() {
    let decomposed = "U\u{308}bungen";
    let one = Host::published(VaultBuilder::new().note(&format!("{decomposed}/a.md"), "a").note("z.md", "z")).await;
    agent_puts(&one, Put::note("\u{dc}bungen/neu/b.md", "the agent's")).await;
    assert_eq!(pulled(&one.sync().await.unwrap()), (1, 0, 0));
    assert_eq!(one.vault.read(&format!("{decomposed}/neu/b.md")), b"the agent's");
    assert!(!one.vault.path("\u{dc}bungen").exists());
    // On another host it is the other way round.
    let mut other = Host::new(VaultBuilder::new().note("\u{dc}bungen/c.md", "c"));
    other.objects = one.objects.clone();
    assert_eq!(pulled(&other.sync_as(|options| options.join = true).await.unwrap()), (3, 0, 0));
    assert_eq!(other.vault.read("\u{dc}bungen/a.md"), b"a");
    assert!(!other.vault.path(decomposed).exists());
    for host in [&one, &other, &one, &other] {
        let summary = host.sync().await.unwrap();
        assert_eq!((done(&summary), summary.skipped.len()), ((0, 0, 0), 0), "{summary:?}");
    }
}

#[tokio::test]
async fn attachments_that_vanish_together_stop_a_sync_however_many_notes_there_are() {
    let vault = (0..50).fold(many(50), |vault, number| vault.file(&format!("images/{number}.png"), &[number]));
    let host = Host::published(vault).await;
    // Like images on a disk of their own that is not mounted.
    (0..11).for_each(|number| host.vault.remove(&format!("images/{number}.png")));
    let error = host.refusal().await;
    assert!(error.contains("11 of 50 attachments") && error.contains("--allow-mass-delete"), "{error}");
    // Ten notes and ten attachments are each few, and are not added up.
    host.vault.write("images/10.png", &[10]);
    (0..10).for_each(|number| host.vault.remove(&format!("{number:03}.md")));
    assert_eq!(done(&host.sync().await.unwrap()), (0, 0, 20));
}

#[tokio::test]
async fn an_attachment_that_breaks_off_keeps_nothing_else_waiting() {
    let faults = FaultStore::new(Arc::new(InMemory::new()));
    let one = Host::with_store(VaultBuilder::new().file("a/film.mp4", &[7; 1000]).note("b.md", "b"), faults.clone());
    one.sync().await.unwrap();
    let mut other = Host::new(VaultBuilder::new().note("c.md", "c"));
    other.objects = one.objects.clone();
    faults.always(Op::Get, "/blobs/", Fault::BrokenOff);
    let summary = other.sync_as(|options| options.join = true).await.unwrap();
    assert_eq!((pulled(&summary), done(&summary), summary.waiting), ((1, 0, 0), (1, 0, 0), 1), "{summary:?}");
    assert!(skipped(&summary)[0].contains("could not be fetched to its end"), "{summary:?}");
    faults.heal();
    assert_eq!(pulled(&other.sync().await.unwrap()), (1, 0, 0));
    assert_eq!(other.vault.read("a/film.mp4"), [7; 1000]);
}

#[tokio::test]
async fn a_folder_that_is_renamed_meanwhile_is_not_made_again() {
    let host = Host::published(VaultBuilder::new().note("a/b.md", "b").note("a/c.md", "c").note("z.md", "z")).await;
    agent_puts(&host, Put::note("a/b.md", "the agent's")).await;
    agent_deletes(&host, "a/c.md").await;
    let (from, to) = (host.vault.path("a"), host.vault.path("renamed"));
    let summary = host.sync_while(at(Phase::Write, move || fs::rename(&from, &to).unwrap())).await.unwrap();
    assert_eq!((pulled(&summary), summary.waiting), ((0, 0, 0), 2), "{summary:?}");
    assert!(!host.vault.path("a").exists());
    host.sync().await.unwrap();
    // An edit beats a deletion, and a rename counts as a deletion.
    assert_eq!(
        host.mirrored().await.into_keys().collect::<Vec<_>>(),
        ["a/b.md", "renamed/b.md", "renamed/c.md", "z.md"]
    );
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}
