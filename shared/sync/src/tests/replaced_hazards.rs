//! What is kept of replaced files where the file system, or another user, stands in the way.

use std::fs::{self, File, Permissions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::time::{Duration, SystemTime};

use atlas_mirror::{Hash, Id};
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;
use jiff::Timestamp;

use super::replaced::{copy_of, kept, open, settles, sync_after};
use super::{Host, agent_deletes, agent_puts, files, pulled, skipped};
use crate::folder::Folder;
use crate::target::Target;
use crate::target::replaced::{REPLACED, ROOM, Room};

/// Long before any sync.
fn long_ago() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

fn sha256(text: &[u8]) -> [u8; 32] {
    *Hash::of(text).as_bytes()
}

/// A file that was replaced so many seconds ago, and had the content `was`.
fn put_replaced(host: &Host, path: &str, was: Hash, seconds: i64, write: impl FnOnce(&mut File)) -> File {
    let folder = host.vault.path(&format!("{REPLACED}/{path}"));
    fs::create_dir_all(&folder).unwrap();
    let draft = folder.join("draft");
    let mut file = File::create_new(&draft).unwrap();
    write(&mut file);
    file.set_modified(long_ago()).unwrap();
    let found = file.metadata().unwrap();
    let mtime = found.mtime() * 1_000_000_000 + found.mtime_nsec();
    let time = Timestamp::now().as_millisecond() - seconds * 1000;
    let mark = format!("{was}-{time:x}-{mtime:x}-{:x}-{}", found.len(), Id::random().unwrap());
    assert!(mark.len() <= 143, "{mark}");
    fs::rename(draft, folder.join(mark)).unwrap();
    file
}

#[tokio::test]
async fn a_replaced_file_that_cannot_be_kept_makes_no_copy_and_ends_a_deletion() {
    let host = Host::published(VaultBuilder::new().note("a.md", "one").note("b.md", "b").note("z.md", "z")).await;
    fs::create_dir(host.vault.path(".atlas-mirror")).unwrap();
    fs::write(host.vault.path(REPLACED), "").unwrap();
    agent_puts(&host, Put::note("a.md", "two")).await;
    agent_deletes(&host, "b.md").await;
    let summary = host.sync_at_once().await.unwrap();
    assert_eq!((pulled(&summary), summary.waiting, summary.skipped.len()), ((0, 1, 1), 0, 0), "{summary:?}");
    for _ in 0..2 {
        let summary = host.sync_at_once().await.unwrap();
        assert_eq!((summary.conflicts.len(), summary.skipped.len()), (0, 0), "{summary:?}");
        assert_eq!(files(host.vault.root()).into_keys().collect::<Vec<_>>(), ["a.md", "z.md"]);
    }
    settles(&host).await;
}

#[tokio::test]
async fn what_a_killed_sync_left_of_a_known_text_goes_even_if_it_cannot_be_kept() {
    let host = Host::published(VaultBuilder::new().note("a.md", "one").note("z.md", "z")).await;
    fs::create_dir_all(host.vault.path(".atlas-mirror/aside")).unwrap();
    fs::write(host.vault.path(REPLACED), "").unwrap();
    fs::write(host.vault.path(".atlas-mirror/aside/a.md"), "one").unwrap();
    settles(&host).await;
    assert!(!host.vault.path(".atlas-mirror/aside").exists());
}

#[tokio::test]
async fn what_is_written_while_a_replaced_file_is_checked_comes_back_with_the_next_sync() {
    for can_be_kept in [true, false] {
        let host = Host::published(VaultBuilder::new().note("a.md", "one").note("z.md", "z")).await;
        let mut program = File::options().write(true).open(host.vault.path("a.md")).unwrap();
        program.set_modified(long_ago()).unwrap();
        let target = Target::of(&Folder::open(host.vault.root()).unwrap(), Timestamp::now()).unwrap();
        let aside = target.set_aside("a.md", sha256(b"one")).unwrap();
        if !can_be_kept {
            fs::write(host.vault.path(REPLACED), "").unwrap();
        }
        program.seek(SeekFrom::Start(0)).unwrap();
        program.write_all(b"new").unwrap();
        assert_eq!(aside.discard(), Ok(()));
        agent_puts(&host, Put::note("a.md", "the agent's")).await;
        host.vault.write("a.md", b"the agent's");
        let summary = host.sync_at_once().await.unwrap();
        assert_eq!(summary.skipped.len(), 1, "{summary:?}");
        settles(&host).await;
        assert!(files(host.vault.root()).values().any(|text| text == b"new"), "{can_be_kept}");
    }
}

#[tokio::test]
async fn an_agent_s_deletion_is_done_where_the_folder_s_trash_cannot_be_used() {
    for how in ["link", "file", "full"] {
        let host = Host::published(VaultBuilder::new().note("a/b.md", "one").note("z.md", "z")).await;
        let trash = host.vault.path(".trash");
        match how {
            "link" => symlink(host.places.path(), &trash).unwrap(),
            "file" => fs::write(&trash, "").unwrap(),
            _ => (1..=1000).for_each(|number| match number {
                1 => host.vault.write(".trash/a/b.md", b"two"),
                _ => host.vault.write(&format!(".trash/a/b {number}.md"), b"two"),
            }),
        }
        agent_puts(&host, Put::note(".trash/a/b.md", "one")).await;
        agent_deletes(&host, "a/b.md").await;
        let summary = host.sync_at_once().await.unwrap();
        assert_eq!((pulled(&summary), summary.waiting, summary.skipped.len()), ((0, 0, 1), 0, 0), "{how}: {summary:?}");
        assert!(!host.vault.path("a/b.md").exists(), "{how}");
        assert!(kept(&host).values().any(|text| text == b"one"), "{how}");
    }
}

#[test]
fn few_files_of_the_trash_are_read_for_one_that_goes_there() {
    let mut vault = VaultBuilder::new().note("b.md", "text").note(".trash/b.md", "of another size");
    for number in 2..=10 {
        vault = vault.note(&format!(".trash/b {number}.md"), "else");
    }
    let vault = vault.note(".trash/b 11.md", "text");
    let target = Target::of(&Folder::open(vault.root()).unwrap(), Timestamp::now()).unwrap();
    target.trash("b.md", sha256(b"text")).unwrap();
    assert_eq!(vault.read(".trash/b 12.md"), b"text");
}

#[tokio::test]
async fn the_hour_counts_from_the_replacement_and_not_from_the_file_system_s_times() {
    let host = Host::published(VaultBuilder::new().note("a.md", "new").note("z.md", "z")).await;
    put_replaced(&host, "a.md", Hash::of(b"old"), 3700, |file| file.write_all(b"old").unwrap());
    put_replaced(&host, "a.md", Hash::of(b"one"), 3000, |file| file.write_all(b"one").unwrap());
    settles(&host).await;
    let left: Vec<Vec<u8>> = kept(&host).into_values().collect();
    assert_eq!(left, [b"one"]);
    sync_after(&host, Duration::from_secs(700)).await;
    assert!(!host.vault.path(".atlas-mirror").exists());
    // The clock of the file system is behind.
    agent_puts(&host, Put::note("a.md", "newer")).await;
    sync_after(&host, Duration::from_secs(7200)).await;
    sync_after(&host, Duration::from_secs(7200 + 3500)).await;
    assert!(kept(&host).values().any(|text| text == b"new"));
    sync_after(&host, Duration::from_secs(7200 + 3700)).await;
    assert!(!host.vault.path(".atlas-mirror").exists());
}

#[tokio::test]
async fn a_kept_file_is_read_only_if_its_size_or_time_changed_and_before_it_is_deleted() {
    let host = Host::published(VaultBuilder::new().note("a.md", "new").note("z.md", "z")).await;
    // A change that neither shows.
    put_replaced(&host, "a.md", Hash::of(b"old"), 0, |file| file.write_all(b"own").unwrap());
    settles(&host).await;
    let summary = sync_after(&host, Duration::from_secs(3700)).await;
    assert_eq!(host.vault.read(&copy_of(&summary, "a.md")), b"own");
    // One that its size shows.
    let mut file = put_replaced(&host, "z.md", Hash::of(b"old"), 0, |file| file.write_all(b"old").unwrap());
    file.write_all(b"er").unwrap();
    file.set_modified(long_ago()).unwrap();
    let summary = host.sync_at_once().await.unwrap();
    assert_eq!(host.vault.read(&copy_of(&summary, "z.md")), b"older");
}

#[tokio::test]
async fn what_is_kept_is_private_and_for_the_owner_of_the_vault() {
    let host = Host::published(VaultBuilder::new().note("a/b.md", "one").note("z.md", "z")).await;
    fs::set_permissions(host.vault.root(), Permissions::from_mode(0o770)).unwrap();
    // Only root may give files away; others have one owner for all of theirs.
    let is_given = chown(host.vault.root(), Some(4321), Some(1234)).is_ok();
    agent_puts(&host, Put::note("a/b.md", "two")).await;
    host.sync_at_once().await.unwrap();
    let folders = [("", 0o770), ("/replaced", 0o700), ("/replaced/a", 0o700), ("/replaced/a/b.md", 0o700)];
    for (folder, mode) in folders {
        let found = fs::metadata(host.vault.path(&format!(".atlas-mirror{folder}"))).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, mode, "{folder}");
        assert!(!is_given || (found.uid(), found.gid()) == (4321, 1234), "{folder}: {}:{}", found.uid(), found.gid());
    }
}

#[tokio::test]
async fn a_staging_folder_of_another_user_is_named_and_stops_only_what_needs_it() {
    let host = Host::published(VaultBuilder::new().note("a.md", "one").note("b.md", "b").note("z.md", "z")).await;
    let staging = host.vault.path(".atlas-mirror");
    // An empty one would be removed.
    fs::create_dir_all(staging.join("replaced")).unwrap();
    fs::write(staging.join(".gitignore"), "*\n").unwrap();
    fs::set_permissions(&staging, Permissions::from_mode(0o555)).unwrap();
    if fs::write(staging.join("may"), "").is_ok() {
        // Permissions do not hold for root.
        return;
    }
    agent_puts(&host, Put::note("a.md", "two")).await;
    agent_deletes(&host, "b.md").await;
    host.vault.write("z.md", b"the person's");
    let summary = host.sync_at_once().await.unwrap();
    assert_eq!((summary.waiting, summary.skipped.len()), (2, 2), "{summary:?}");
    assert!(skipped(&summary).iter().all(|why| why.contains("belongs to another user, give it")), "{summary:?}");
    assert_eq!(host.text("z.md").await.unwrap(), "the person's");
    fs::set_permissions(&staging, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(pulled(&host.sync_at_once().await.unwrap()), (0, 1, 1));
    settles(&host).await;
}

#[tokio::test]
async fn a_late_save_of_a_decomposed_name_is_treated_as_one_of_another() {
    for (on_disk, path) in [("Zoe\u{308}.md", "Zo\u{eb}.md"), ("Zoe.md", "Zoe.md")] {
        let host = Host::published(VaultBuilder::new().note(on_disk, "one\n").note("z.md", "z")).await;
        let mut logger = open(&host, on_disk);
        agent_puts(&host, Put::note(path, "zero\n")).await;
        host.sync_at_once().await.unwrap();
        assert_eq!(host.vault.read(on_disk), b"zero\n");
        host.vault.remove(on_disk);
        logger.write_all(b"two\n").unwrap();
        let summary = host.sync_at_once().await.unwrap();
        assert_eq!(host.vault.read(&copy_of(&summary, on_disk)), b"one\ntwo\n");
        assert!(!host.vault.path(on_disk).exists());
    }
}

#[tokio::test]
async fn the_oldest_unchanged_files_go_before_their_hour_if_there_are_too_many() {
    let host = Host::published(VaultBuilder::new().note("a.md", "new").note("z.md", "z")).await;
    let old = Hash::of(b"old");
    let write = |text: &'static [u8]| move |file: &mut File| file.write_all(text).unwrap();
    // The oldest was written to, which neither size nor time shows.
    put_replaced(&host, "a.md", old, 3000, write(b"own"));
    put_replaced(&host, "b.md", old, 2000, write(b"old"));
    (2..ROOM.files).for_each(|_| drop(put_replaced(&host, "c.md", old, 1000, write(b"old"))));
    put_replaced(&host, "d.md", old, 0, write(b"old"));
    assert_eq!(kept(&host).len(), ROOM.files + 1);
    host.sync_at_once().await.unwrap();
    let left = kept(&host);
    assert_eq!(left.len(), ROOM.files);
    let has = |name: &str| left.keys().any(|path| path.contains(&format!("/{name}/")));
    assert!(has("a.md") && !has("b.md") && has("c.md") && has("d.md"));
}

#[tokio::test]
async fn the_oldest_unchanged_files_go_before_their_hour_if_they_are_too_large() {
    let host = Host::published(VaultBuilder::new().note("a.md", "new").note("z.md", "z")).await;
    let size = ROOM.bytes / 2 + 1;
    let zeros = Hash::of(&vec![0; usize::try_from(size).unwrap()]);
    for (path, seconds) in [("b.mp4", 2000), ("c.mp4", 1000)] {
        put_replaced(&host, path, zeros, seconds, |file| file.set_len(size).unwrap());
    }
    host.sync_at_once().await.unwrap();
    let left = |name: &str| host.vault.path(&format!("{REPLACED}/{name}")).exists();
    assert!(!left("b.mp4") && left("c.mp4"));
}

#[test]
fn one_sync_keeps_no_more_than_there_is_room_for() {
    let mut room = Room { files: 2, bytes: 10 };
    assert!(!room.take(11) && room.take(10) && !room.take(1) && room.take(0) && !room.take(0));
}
