//! Files that `.atlasignore` excludes are not synced, and no rule deletes one.

use std::sync::Arc;

use atlas_mirror::Hash;
use atlas_segment::Kind;
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;

use super::{Host, agent_deletes, agent_puts, done, files, pulled, skipped};
use crate::session::seen;
use crate::state::{Entry, StateFolder};

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
    // Readers of the mirror are told by which rule.
    let left_out = summary.left_out(jiff::Timestamp::UNIX_EPOCH);
    let told = Some(("private/", "the rule `private/` in .atlasignore excludes it"));
    assert_eq!((left_out.reason("private/b.md"), left_out.files.len()), (told, 1));
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

#[tokio::test]
async fn what_is_excluded_is_deleted_nowhere_when_it_leaves_the_folder() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("private/b.md", "b").note("c.md", "c")).await;
    let other = host.beside(VaultBuilder::new());
    other.sync().await.unwrap();
    host.vault.write(".atlasignore", b"private/\n");
    host.sync().await.unwrap();
    other.sync().await.unwrap();
    std::fs::remove_dir_all(host.vault.path("private")).unwrap();
    host.sync().await.unwrap();
    assert_eq!(host.text("private/b.md").await.unwrap(), "b");
    std::fs::remove_file(other.vault.path(".atlasignore")).unwrap();
    other.sync().await.unwrap();
    assert_eq!(files(other.vault.root())["private/b.md"], b"b");
}

#[tokio::test]
async fn rules_that_cannot_be_applied_as_they_are_written_publish_nothing() {
    type Spoil = fn(&Host);
    let spoil: [(&str, Spoil); 5] = [
        ("is in iCloud", |host| {
            host.vault.remove("work/.atlasignore");
            host.vault.write("work/..atlasignore.icloud", b"x");
        }),
        ("is no file", |host| {
            host.vault.remove("work/.atlasignore");
            std::os::unix::fs::symlink("d.md", host.vault.path("work/.atlasignore")).unwrap();
        }),
        ("save it as UTF-8", |host| host.vault.write("work/.atlasignore", b"\xff*")),
        ("has no rule in line 2", |host| host.vault.write("work/.atlasignore", b"*.draft.md\n[z-a]\n")),
        ("has more rules", |host| {
            host.vault.write("work/.atlasignore", format!("{}\n", "?".repeat(400)).repeat(600).as_bytes());
        }),
    ];
    for (why, spoil) in spoil {
        let host = Host::new(vault());
        spoil(&host);
        let summary = host.sync().await.unwrap();
        assert!(!host.mirrored().await.keys().any(|path| path.starts_with("work/")), "{why}: {summary:?}");
        assert!(skipped(&summary).iter().any(|told| told.contains(why)), "{why}: {summary:?}");
    }
}

#[tokio::test]
async fn rules_in_utf_16_are_applied_and_unusable_ones_of_the_root_are_named_as_the_cause() {
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let host = Host::new(VaultBuilder::new().note("a.md", "a").note("private/b.md", "b"));
    host.vault.write(".atlasignore", &utf_16("\u{feff}private/\r\n"));
    host.sync().await.unwrap();
    assert_eq!(host.mirrored().await.keys().collect::<Vec<_>>(), [".atlasignore", "a.md"]);
    host.vault.write(".atlasignore", b"\xff*");
    let refusal = host.refusal().await;
    assert!(refusal.contains("save it as UTF-8") && !refusal.contains("mounted"), "{refusal}");
}

#[tokio::test]
async fn rules_hold_for_links_configuration_and_every_spelling() {
    let vault = VaultBuilder::new()
        .note("a.md", "a")
        .note("private/b.md", "b")
        .note("Cafe\u{301}/c.md", "c")
        .file(".obsidian/app.json", b"{}")
        .file(".atlasignore", "private/\n.obsidian/\nCafé/\n".as_bytes());
    let host = Host::new(vault);
    std::os::unix::fs::symlink("private/b.md", host.vault.path("link.md")).unwrap();
    host.sync().await.unwrap();
    assert_eq!(host.mirrored().await.keys().collect::<Vec<_>>(), [".atlasignore", "a.md"]);
}

#[tokio::test]
async fn a_vault_of_which_all_is_excluded_is_not_taken_for_an_empty_one() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    host.vault.write(".atlasignore", b"*\n");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), host.mirrored().await.len()), ((0, 0, 0), 2));
}

#[tokio::test]
async fn files_with_keys_and_leftovers_are_not_published_and_one_that_was_is_told_and_deleted_nowhere() {
    let vault = VaultBuilder::new().note("a.md", "a").note(".b.md", "b").file(".env", b"KEY=1").file("n.md~", b"old");
    let host = Host::published(vault.file("deep/id_rsa", b"key")).await;
    assert_eq!(host.mirrored().await.into_keys().collect::<Vec<_>>(), [".b.md", "a.md"]);
    // As a release before did it.
    let states = StateFolder::lock(&host.state()).unwrap();
    agent_puts(&host, Put::note(".env", "KEY=1")).await;
    let mut state = states.load().unwrap().unwrap();
    let (kind, sha256) = (Kind::Attachment, *Hash::of(b"KEY=1").as_bytes());
    state.seen = seen(&host.mirror().head().await.unwrap());
    state.entries.push(Arc::new(Entry { path: ".env".into(), sha256, kind, size: 5, mtime_ns: None }));
    state.entries.sort_by(|a, b| a.path.cmp(&b.path));
    states.save(&state).unwrap();
    drop(states);
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((0, 0, 0), (0, 0, 0)));
    assert!(skipped(&summary)[0].starts_with(".env: files of this name hold keys"), "{summary:?}");
    // A file that others write at such a path is told, and keeps the folder from nothing.
    agent_puts(&host, Put::note(".env", "KEY=2").and("certs/server.pem", "key")).await;
    let told = skipped(&host.sync().await.unwrap());
    assert!(told.len() == 2 && told[1].starts_with("certs/server.pem: files of this name hold keys"), "{told:?}");
    assert!(StateFolder::lock(&host.state()).unwrap().load().unwrap().unwrap().settled);
    assert!(!host.vault.path("certs").exists());
    // Erased there, it stays here.
    agent_deletes(&host, ".env").await;
    assert_eq!(skipped(&host.sync().await.unwrap()), [""; 0]);
    assert_eq!(host.vault.read(".env"), b"KEY=1");
}
