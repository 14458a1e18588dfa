//! Names of programs' folders, which a file may have too: a Git worktree has a file `.git`.

use std::sync::Arc;

use atlas_mirror::Hash;
use atlas_segment::Kind;
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::Put;

use super::{Host, agent_puts, done, files, pulled, skipped};
use crate::rules::Tree;
use crate::session::seen;
use crate::state::{Entry, StateFolder};
use crate::{ExportOptions, export};

const OURS: &[u8] = b"gitdir: /home/ida/repository/.git/worktrees/one\n";
const THEIRS: &str = "gitdir: /home/ida/repository/.git/worktrees/two\n";

#[tokio::test]
async fn the_file_of_a_worktree_is_not_published() {
    for tree in [Tree::Vault, Tree::Code] {
        let vault = VaultBuilder::new().note("a.md", "a").file(".git", OURS).file("module/.git", OURS);
        let host = Host::new(vault.file("module/x.rs", b"x").file(".Obsidian", b"x").file(".trash", b"x"));
        host.sync_as(|options| options.tree = tree).await.unwrap();
        assert_eq!(host.mirrored().await.into_keys().collect::<Vec<_>>(), ["a.md", "module/x.rs"], "{tree:?}");
    }
}

#[tokio::test]
async fn the_file_of_another_worktree_comes_into_no_folder() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").file(".git", OURS)).await;
    agent_puts(&host, Put::note(".git", THEIRS).and("module/.GIT", THEIRS).and("b.md", "b")).await;
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), pulled(&summary)), ((0, 0, 0), (1, 0, 0)));
    let told = skipped(&summary);
    assert!(told.len() == 2 && told.iter().all(|told| told.contains("a program's own")), "{told:?}");
    assert_eq!(host.vault.read(".git"), OURS);
    assert!(!host.vault.path("module").exists());
    // Nor does an export write it.
    let to = tempfile::tempdir().unwrap();
    std::fs::write(to.path().join(".git"), OURS).unwrap();
    let options = ExportOptions { to: to.path().to_owned(), generation: None, force: true };
    let exported = export(&host.mirror(), &options, Arc::new(())).await.unwrap();
    assert_eq!((exported.files, exported.skipped.len()), (2, 2));
    assert_eq!(files(to.path()).into_keys().collect::<Vec<_>>(), [".git", "a.md", "b.md"]);
    assert_eq!(std::fs::read(to.path().join(".git")).unwrap(), OURS);
}

#[tokio::test]
async fn one_that_an_earlier_release_published_stays_on_both_sides_and_is_told() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").file(".git", OURS)).await;
    let ours = std::str::from_utf8(OURS).unwrap();
    let states = StateFolder::lock(&host.state()).unwrap();
    agent_puts(&host, Put::note(".git", ours)).await;
    let mut state = states.load().unwrap().unwrap();
    let (kind, sha256, size) = (Kind::Attachment, *Hash::of(OURS).as_bytes(), OURS.len() as u64);
    state.seen = seen(&host.mirror().head().await.unwrap());
    state.entries.push(Arc::new(Entry { path: ".git".into(), sha256, kind, size, mtime_ns: None }));
    state.entries.sort_by(|a, b| a.path.cmp(&b.path));
    states.save(&state).unwrap();
    drop(states);
    // The other worktree's, as that release published it.
    agent_puts(&host, Put::note(".git", THEIRS)).await;
    for _ in 0..2 {
        let summary = host.sync().await.unwrap();
        assert_eq!((done(&summary), pulled(&summary)), ((0, 0, 0), (0, 0, 0)));
        assert!(skipped(&summary)[0].starts_with(".git: "), "{summary:?}");
        assert_eq!(host.vault.read(".git"), OURS);
    }
}
