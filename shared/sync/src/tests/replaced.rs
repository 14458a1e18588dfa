//! What a program writes into a file that it has opened before a sync replaced it is not lost.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::{Duration, SystemTime};

use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;
use jiff::Timestamp;

use super::{Files, Host, agent_deletes, agent_puts, all_files, at, done, files, pulled, skipped};
use crate::report::Reason;
use crate::{Phase, Summary};

/// A file that is open, as in a program that appends to it or writes it anew piece by piece.
pub(super) fn open(host: &Host, path: &str) -> File {
    File::options().append(true).open(host.vault.path(path)).unwrap()
}

/// What is kept of replaced files.
pub(super) fn kept(host: &Host) -> Files {
    all_files(host.vault.root()).into_iter().filter(|(path, _)| path.starts_with(".atlas-mirror/")).collect()
}

/// The copy that a sync has told of.
pub(super) fn copy_of(summary: &Summary, path: &str) -> String {
    let told = summary.skipped.iter().find(|told| told.path == path).expect("a copy");
    let Reason::Late(copy) = &told.reason else { panic!("{told:?}") };
    copy.clone()
}

/// Syncs at once until both sides are equal.
pub(super) async fn settles(host: &Host) {
    host.sync_at_once().await.unwrap();
    let summary = host.sync_at_once().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary), summary.skipped.len()), ((0, 0, 0), (0, 0, 0), 0), "{summary:?}");
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}

pub(super) async fn sync_after(host: &Host, time: Duration) -> Summary {
    host.sync_as(|options| options.began = Timestamp::now() + time).await.unwrap()
}

#[tokio::test]
async fn what_is_appended_to_a_replaced_file_comes_back_as_a_copy() {
    for path in ["n1.md", "a/b/n1.md", &format!("a/{}.md", "\u{65e5}".repeat(80))] {
        let host = Host::published(VaultBuilder::new().note(path, "one\n").note("z.md", "z")).await;
        let mut logger = open(&host, path);
        agent_puts(&host, Put::note(path, "zero\none\n")).await;
        assert_eq!(pulled(&host.sync_at_once().await.unwrap()), (0, 1, 0));
        logger.write_all(b"two\n").unwrap();
        let summary = host.sync_at_once().await.unwrap();
        let copy = copy_of(&summary, path);
        assert!(copy.ends_with(" late-save).md"), "{copy}");
        assert!(skipped(&summary)[0].contains("wrote into it after a sync had replaced it"), "{summary:?}");
        assert_eq!(
            (&host.vault.read(path)[..], &host.vault.read(&copy)[..]),
            (&b"zero\none\n"[..], &b"one\ntwo\n"[..])
        );
        // The program writes on into the copy, and nothing is kept any more.
        logger.write_all(b"three\n").unwrap();
        settles(&host).await;
        assert_eq!(host.text(&copy).await.unwrap(), "one\ntwo\nthree\n");
        assert!(!host.vault.path(".atlas-mirror").exists());
    }
}

#[tokio::test]
async fn the_rest_of_a_save_that_a_sync_came_between_comes_back() {
    let lines: String = (0..40).map(|number| format!("line {number}\n")).collect();
    let host = Host::published(VaultBuilder::new().note("a.md", &lines).note("z.md", "z")).await;
    // An editor truncates the file, and writes its beginning.
    let saved = lines.replace("line 7\n", "line 7, edited\n");
    let (begin, rest) = saved.split_at(200);
    let mut editor = File::create(host.vault.path("a.md")).unwrap();
    editor.write_all(begin.as_bytes()).unwrap();
    agent_puts(&host, Put::note("a.md", &format!("the agent's\n{lines}"))).await;
    host.sync_at_once().await.unwrap();
    editor.write_all(rest.as_bytes()).unwrap();
    drop(editor);
    settles(&host).await;
    let texts = files(host.vault.root());
    assert!(texts.values().any(|text| text == saved.as_bytes()), "{:?}", texts.keys());
    assert!(texts.values().any(|text| text.starts_with(b"the agent's\n")), "{:?}", texts.keys());
}

#[tokio::test]
async fn what_is_written_to_a_removed_file_comes_back_to_its_path() {
    let host = Host::published(VaultBuilder::new().note("a/b.md", "one\n").note("z.md", "z")).await;
    let mut logger = open(&host, "a/b.md");
    agent_deletes(&host, "a/b.md").await;
    assert_eq!(pulled(&host.sync_at_once().await.unwrap()), (0, 0, 1));
    logger.write_all(b"two\n").unwrap();
    let summary = host.sync_at_once().await.unwrap();
    assert_eq!(skipped(&summary).len(), 1, "{summary:?}");
    assert!(skipped(&summary)[0].starts_with("a/b.md: a program wrote into it after a sync had removed it"));
    settles(&host).await;
    assert_eq!(host.text("a/b.md").await.unwrap(), "one\ntwo\n");
    assert!(!host.vault.path(".atlas-mirror").exists());
}

#[tokio::test]
async fn a_replaced_file_is_kept_for_an_hour_and_hidden_from_git() {
    let host = Host::published(VaultBuilder::new().note("a/b.md", "one").note("z.md", "z")).await;
    agent_puts(&host, Put::note("a/b.md", "two")).await;
    host.sync_at_once().await.unwrap();
    for _ in 0..3 {
        settles(&host).await;
        let kept = kept(&host);
        assert_eq!(kept.len(), 2, "{:?}", kept.keys());
        assert_eq!(kept[".atlas-mirror/.gitignore"], b"*\n");
        assert!(kept.iter().any(|(path, text)| path.starts_with(".atlas-mirror/replaced/a/") && text == b"one"));
    }
    // A clock that was set back deletes nothing.
    let yesterday = Timestamp::now() - Duration::from_secs(24 * 3600);
    host.sync_as(|options| options.began = yesterday).await.unwrap();
    sync_after(&host, Duration::from_secs(3500)).await;
    assert_eq!(kept(&host).len(), 2);
    let summary = sync_after(&host, Duration::from_secs(3700)).await;
    assert_eq!((done(&summary), summary.skipped.len()), ((0, 0, 0), 0), "{summary:?}");
    assert!(!host.vault.path(".atlas-mirror").exists());
}

#[tokio::test]
async fn a_text_that_was_written_with_an_older_time_comes_back_before_the_file_is_deleted() {
    let host = Host::published(VaultBuilder::new().note("a.md", "one").note("z.md", "z")).await;
    let mut program = File::options().write(true).open(host.vault.path("a.md")).unwrap();
    agent_puts(&host, Put::note("a.md", "two")).await;
    host.sync_at_once().await.unwrap();
    program.seek(SeekFrom::Start(0)).unwrap();
    program.write_all(b"new").unwrap();
    program.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
    let summary = sync_after(&host, Duration::from_secs(3700)).await;
    assert_eq!(host.vault.read(&copy_of(&summary, "a.md")), b"new");
}

#[tokio::test]
async fn a_text_that_is_known_does_not_come_back() {
    let host = Host::published(VaultBuilder::new().note("a.md", "one").note("z.md", "z")).await;
    let mut program = open(&host, "a.md");
    agent_puts(&host, Put::note("a.md", "one two")).await;
    host.sync_at_once().await.unwrap();
    program.write_all(b" two").unwrap();
    settles(&host).await;
    assert_eq!(files(host.vault.root()).into_keys().collect::<Vec<_>>(), ["a.md", "z.md"]);
    assert_eq!(kept(&host).len(), 2);
    sync_after(&host, Duration::from_secs(3700)).await;
    assert_eq!(kept(&host).len(), 0);
}

#[tokio::test]
async fn what_a_killed_sync_had_moved_aside_may_still_be_written_to() {
    let host = Host::published(VaultBuilder::new().note("a.md", "one\n").note("z.md", "z")).await;
    let mut logger = open(&host, "a.md");
    // Killed after the new file was at its path.
    fs::create_dir_all(host.vault.path(".atlas-mirror/aside")).unwrap();
    fs::rename(host.vault.path("a.md"), host.vault.path(".atlas-mirror/aside/a.md")).unwrap();
    agent_puts(&host, Put::note("a.md", "the agent's")).await;
    host.vault.write("a.md", b"the agent's");
    let summary = host.sync_at_once().await.unwrap();
    assert_eq!((summary.skipped.len(), summary.conflicts.len()), (0, 0), "{summary:?}");
    logger.write_all(b"two\n").unwrap();
    let summary = host.sync_at_once().await.unwrap();
    assert_eq!(host.vault.read(&copy_of(&summary, "a.md")), b"one\ntwo\n");
    // Killed after a folder was made for what is kept, and before it was there.
    fs::create_dir_all(host.vault.path(".atlas-mirror/replaced/b")).unwrap();
    fs::write(host.vault.path(".atlas-mirror/.gitignore"), "*\n").unwrap();
    settles(&host).await;
    assert!(!host.vault.path(".atlas-mirror").exists());
}

#[tokio::test]
async fn what_is_written_while_a_sync_writes_comes_back() {
    let host = Host::published(VaultBuilder::new().note("a.md", "one\n").note("b.md", "b\n").note("z.md", "z")).await;
    let loggers = ["a.md", "b.md"].map(|path| open(&host, path));
    agent_puts(&host, Put::note("a.md", "zero\none\n").and("b.md", "a\nb\n")).await;
    let writes = at(Phase::Commit, move || loggers.iter().for_each(|mut logger| logger.write_all(b"more\n").unwrap()));
    host.vault.write("z.md", b"changed");
    host.sync_while(writes).await.unwrap();
    settles(&host).await;
    let texts: Vec<Vec<u8>> = files(host.vault.root()).into_values().collect();
    for text in ["zero\none\n", "a\nb\n", "one\nmore\n", "b\nmore\n"] {
        assert!(texts.contains(&text.as_bytes().to_vec()), "{text}");
    }
}

#[tokio::test]
async fn every_version_of_a_note_that_is_deleted_again_is_in_the_folder_s_trash() {
    let host = Host::published(VaultBuilder::new().note("a/b.md", "one").note("z.md", "z")).await;
    for text in ["one", "two", "three", "two"] {
        host.vault.write("a/b.md", text.as_bytes());
        host.sync().await.unwrap();
        agent_puts(&host, Put::note(".trash/a/b.md", text)).await;
        agent_deletes(&host, "a/b.md").await;
        let summary = host.sync().await.unwrap();
        assert_eq!((pulled(&summary), summary.skipped.len()), ((0, 0, 1), 0), "{summary:?}");
    }
    let folder = files(host.vault.root());
    let trash: Vec<(&str, &[u8])> = folder.iter().map(|(path, text)| (path.as_str(), &text[..])).collect();
    assert_eq!(
        trash,
        [(".trash/a/b 2.md", &b"two"[..]), (".trash/a/b 3.md", b"three"), (".trash/a/b.md", b"one"), ("z.md", b"z")]
    );
}
