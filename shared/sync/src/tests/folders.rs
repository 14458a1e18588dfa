//! A sync works on any folder, and reports what it skipped.

use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atlas_testkit::VaultBuilder;

use super::{Host, after, at, done, files, skipped};
use crate::Phase;

#[tokio::test]
async fn bad_notes_are_published_as_they_are() {
    let aliases = {
        let mut bomb = String::from("---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", "));
        }
        bomb + "---\ntext\n"
    };
    let vault = VaultBuilder::new()
        .file("invalid UTF-8.md", b"# a \xff\xfe\xc3 b\n\x80")
        .file("NUL.md", b"a\0b")
        .file("lone CR.md", b"# one\rtwo\rthree")
        .file("BOM.md", b"\xef\xbb\xbf---\ntags: [a]\n---\n# b\n")
        .note("brackets.md", &"[".repeat(100_000))
        .note("closed brackets.md", &("[".repeat(100_000) + &"]".repeat(100_000)))
        .note("quotes.md", &">".repeat(100_000))
        .note("aliases.md", &aliases)
        .note("fence.md", "```rust\nfn main() {\n[[not a link]]")
        .note("long line.md", &"word ".repeat(2_000_000))
        .note("many links.md", &"[[a]] ".repeat(200_000))
        .note("frontmatter.md", "---\n: : [\n---\n")
        .note("empty.md", "")
        .file("odd.canvas", b"{\"nodes\": \xff");
    let host = Host::new(vault);
    let summary = host.sync().await.unwrap();
    assert_eq!(skipped(&summary), [""; 0]);
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}

#[tokio::test]
async fn settings_with_a_secret_are_never_mirrored() {
    let path = ".obsidian/plugins/quickadd/data.json";
    let host = Host::new(
        VaultBuilder::new().note("a.md", "a").file(path, br#"{"choices":[],"ai":{"providers":[{"apiKey":"sk-1"}]}}"#),
    );
    let told = [format!(
        "{path}: it holds an API key or another secret, or is no JSON, so it is not mirrored: take the secret out, and sync again"
    )];
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), skipped(&summary)), ((1, 0, 0), told.to_vec()));
    let mirrored = async || host.mirrored().await.remove(path);
    assert_eq!(mirrored().await, None);
    let without = br#"{"choices":[],"ai":{"providers":[{"apiKey":""}]}}"#;
    fs::write(host.vault.root().join(path), without).unwrap();
    assert_eq!(skipped(&host.sync().await.unwrap()), [""; 0]);
    assert_eq!(mirrored().await.as_deref(), Some(&without[..]));
    // A secret that comes later stays here too, and neither side loses the file.
    let with = br#"{"choices":[{}],"token":"t-2"}"#;
    fs::write(host.vault.root().join(path), with).unwrap();
    assert_eq!(skipped(&host.sync().await.unwrap()), told);
    assert_eq!(mirrored().await.as_deref(), Some(&without[..]));
    assert_eq!(fs::read(host.vault.root().join(path)).unwrap(), with);
}

#[tokio::test]
async fn names_that_no_vault_can_have_are_skipped_by_name() {
    let host =
        Host::new(VaultBuilder::new().note("good.md", "good").note("back\\slash.md", "x").note("line\nfeed.md", "x"));
    fs::write(host.vault.root().join(std::ffi::OsStr::from_bytes(b"not \xff.md")), "x").unwrap();
    let summary = host.sync().await.unwrap();
    assert_eq!(done(&summary), (1, 0, 0));
    let skipped = skipped(&summary);
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    for name in ["back\\\\slash.md: ", "line\\nfeed.md: ", "not \u{fffd}.md: its name is not UTF-8"] {
        assert!(skipped.iter().any(|skipped| skipped.starts_with(name)), "{name}: {skipped:?}");
    }
}

#[tokio::test]
async fn two_spellings_of_one_name_are_skipped_and_what_the_mirror_has_stays() {
    let host = Host::published(VaultBuilder::new().note("\u{e9}.md", "composed")).await;
    host.vault.write("e\u{301}.md", b"decomposed");
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), summary.skipped.len()), ((0, 0, 0), 2));
    assert_eq!(host.text("\u{e9}.md").await.unwrap(), "composed");
    host.vault.remove("\u{e9}.md");
    assert_eq!(done(&host.sync().await.unwrap()), (0, 1, 0));
}

#[tokio::test]
async fn symbolic_links_lead_nowhere_but_to_files_of_the_vault() {
    let outside = VaultBuilder::new().note("secret.md", "secret").note("folder/secret.md", "secret");
    let vault = VaultBuilder::new().note("real/note.md", "text").file(".git/config", b"secret").note("z.md", "z");
    let link = |target: &str, name: &str| symlink(target, vault.path(name)).unwrap();
    link("real/note.md", "inside.md");
    link("../z.md", "real/up.md");
    link(outside.path("secret.md").to_str().unwrap(), "outside.md");
    link(outside.path("folder").to_str().unwrap(), "outside folder");
    link("real", "inside folder");
    link("missing.md", "dangling.md");
    link(".git/config", "hidden.md");
    link("loop.md", "loop.md");
    let host = Host::new(vault);
    let summary = host.sync().await.unwrap();
    let mirrored = host.mirrored().await;
    assert_eq!(mirrored.keys().collect::<Vec<_>>(), ["inside.md", "real/note.md", "real/up.md", "z.md"]);
    assert_eq!(mirrored["inside.md"], b"text");
    assert_eq!(mirrored["real/up.md"], b"z");
    assert_eq!(summary.skipped.len(), 6, "{:?}", summary.skipped);
}

#[tokio::test]
async fn a_file_that_becomes_a_link_out_of_the_vault_is_not_read_and_not_deleted() {
    let outside = VaultBuilder::new().note("secret.md", "secret");
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    host.vault.remove("a.md");
    symlink(outside.path("secret.md"), host.vault.path("a.md")).unwrap();
    let summary = host.sync().await.unwrap();
    assert_eq!((done(&summary), summary.skipped.len()), ((0, 0, 0), 1));
    // Between the listing and the reading, too.
    let (path, secret) = (host.vault.path("b.md"), outside.path("secret.md"));
    host.vault.write("b.md", b"changed");
    let swap = at(Phase::Read, move || {
        fs::remove_file(&path).unwrap();
        symlink(&secret, &path).unwrap();
    });
    let summary = host.sync_while(swap).await.unwrap();
    assert_eq!((done(&summary), summary.skipped.len()), ((0, 0, 0), 2));
    assert_eq!(host.text("a.md").await.unwrap(), "a");
    assert_eq!(host.text("b.md").await.unwrap(), "b");
}

#[tokio::test]
async fn pipes_are_not_read() {
    let host = Host::new(VaultBuilder::new().note("a.md", "a"));
    assert!(Command::new("mkfifo").arg(host.vault.path("pipe.md")).status().unwrap().success());
    let summary = host.sync().await.unwrap();
    assert_eq!(skipped(&summary), ["pipe.md: it is neither a file nor a folder"]);
    // Nor is one that takes a file's place.
    let path = host.vault.path("a.md");
    host.vault.write("a.md", b"changed");
    let swap = at(Phase::Read, move || {
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    });
    let summary = host.sync_while(swap).await.unwrap();
    assert_eq!(
        skipped(&summary),
        ["a.md: it is neither a file nor a folder", "pipe.md: it is neither a file nor a folder"]
    );
    assert_eq!(host.text("a.md").await.unwrap(), "a");
}

#[tokio::test]
async fn a_folder_that_cannot_be_listed_deletes_nothing_below_it() {
    let vault = VaultBuilder::new().note("a/b/c.md", "c").note("a/d.md", "d").note("e.md", "e").note("f.md", "f");
    let host = Host::published(vault).await;
    host.vault.remove("e.md");
    let (from, to) = (host.vault.path("a"), host.places.path().join("away"));
    // It is listed in its parent, but cannot be opened.
    let gone = after(Phase::Scan, 1, move || fs::rename(&from, &to).unwrap());
    let summary = host.sync_while(gone).await.unwrap();
    assert_eq!(done(&summary), (0, 0, 1));
    assert!(skipped(&summary)[0].starts_with("a: the folder cannot be listed, so nothing below it was changed"));
    assert_eq!(host.mirrored().await.into_keys().collect::<Vec<_>>(), ["a/b/c.md", "a/d.md", "f.md"]);
}

#[tokio::test]
async fn a_file_that_vanishes_is_skipped_and_the_rest_goes_on() {
    for phase in [Phase::Read, Phase::Upload, Phase::Index] {
        let host = Host::published(VaultBuilder::new().note("old.md", "old").file("old.png", b"old")).await;
        host.vault.write("old.md", b"changed");
        host.vault.write("old.png", b"changed");
        host.vault.write("new.md", b"new");
        host.vault.write("new.png", b"new");
        host.vault.write("stays.md", b"stays");
        let root = host.vault.root().to_owned();
        let vanish = at(phase, move || {
            for name in ["old.md", "old.png", "new.md", "new.png"] {
                fs::remove_file(root.join(name)).unwrap();
            }
        });
        let summary = host.sync_while(vanish).await.unwrap();
        let mirrored = host.mirrored().await;
        assert_eq!(mirrored["stays.md"], b"stays", "{phase:?}");
        assert!(mirrored.contains_key("old.md") && mirrored.contains_key("old.png"), "{phase:?}");
        assert!(!summary.skipped.is_empty(), "{phase:?}");
        assert!(
            skipped(&summary).iter().all(|skipped| skipped.ends_with("it vanished while it was being read")),
            "{summary:?}"
        );
        // The next sync sees the real content.
        host.sync().await.unwrap();
        assert_eq!(host.mirrored().await.into_keys().collect::<Vec<_>>(), ["stays.md"], "{phase:?}");
    }
}

#[tokio::test]
async fn a_file_that_keeps_changing_is_skipped() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").file("log.bin", b"begun")).await;
    host.vault.write("log.bin", &vec![0; 30_000_000]);
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (stop, path) = (stop.clone(), host.vault.path("log.bin"));
        std::thread::spawn(move || {
            let mut file = fs::File::options().append(true).open(path).unwrap();
            while !stop.load(Ordering::Relaxed) {
                file.write_all(b"more").unwrap();
            }
        })
    };
    // On a busy machine the writer may not run during the read.
    let path = host.vault.path("log.bin");
    let append =
        at(Phase::Upload, move || fs::File::options().append(true).open(&path).unwrap().write_all(b"more").unwrap());
    let summary = host.sync_while(append).await;
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert_eq!(skipped(&summary.unwrap()), ["log.bin: it kept changing while it was being read"]);
    assert_eq!(host.mirrored().await["log.bin"], b"begun");
}

#[tokio::test]
async fn a_note_that_is_too_large_for_one_is_published_as_an_attachment() {
    let host = Host::new(VaultBuilder::new().note("a.md", "a"));
    let file = fs::File::create(host.vault.path("huge.md")).unwrap();
    file.set_len(crate::folder::MAX_NOTE_BYTES + 1).unwrap();
    let summary = host.sync().await.unwrap();
    assert_eq!((summary.notes, summary.attachments), (1, 1));
    assert_eq!(skipped(&summary), ["huge.md: it is too large for a note and was published as an attachment"]);
}

#[tokio::test]
async fn a_file_that_becomes_a_folder_of_its_name_is_replaced() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a").note("b.md/c.md", "c")).await;
    host.vault.remove("a.md");
    host.vault.write("a.md/inside.md", b"inside");
    fs::remove_dir_all(host.vault.path("b.md")).unwrap();
    host.vault.write("b.md", b"b");
    host.sync().await.unwrap();
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}
