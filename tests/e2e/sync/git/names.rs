//! Names on a branch that a vault has in another form, or cannot have; and what is no file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use super::*;

/// The same name in both Unicode forms: composed, as a mirror has it, and decomposed.
const NFC: &str = "adr/Zo\u{eb}.md";
const NFD: &str = "adr/Zoe\u{308}.md";

impl World {
    /// The files of the branch.
    fn files(&self) -> Vec<String> {
        self.pull();
        let listed = git(&self.clone(), &["ls-files", "-z"]);
        listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
    }

    /// One sync, however it ends.
    fn summary(&self, vault: &VaultBuilder) -> Value {
        serde_json::from_slice(&self.command("host", vault.root(), &[]).output().unwrap().stdout).unwrap()
    }

    /// What Kim has in the clone.
    fn push(&self) {
        git(&self.clone(), &["add", "--all"]);
        git(&self.clone(), &["commit", "--quiet", "--message", "As it is"]);
        git(&self.clone(), &["push", "--quiet", "origin", "HEAD:main"]);
    }
}

/// The paths that the exchange left out.
fn skipped(summary: &Value) -> Vec<&str> {
    let skipped = summary["git"]["skipped"].as_array();
    skipped.into_iter().flatten().map(|skipped| skipped["path"].as_str().unwrap()).collect()
}

fn small() -> VaultBuilder {
    VaultBuilder::new().note("a.md", "a").note("b.md", "b")
}

#[tokio::test]
async fn a_name_in_another_unicode_form_is_one_file_on_both_sides() {
    let world = World::new(&[(NFD, "# Zoe\n"), ("adr/Zoe\u{308}/1.md", "# 1\n"), ("adr/1.md", "# 1\n")]);
    let vault = small();
    let known = vec!["adr/1.md", NFD, "adr/Zoe\u{308}/1.md"];
    let sync = || {
        let summary = world.sync("host", &vault);
        assert!(skipped(&summary).is_empty() && summary["git"]["conflicts"].is_null(), "{summary}");
    };
    sync();
    assert_eq!(world.files(), known);
    // An edit in the folder.
    vault.write(NFD, b"# Zoe, in the folder\n");
    sync();
    assert_eq!(
        (world.files(), world.text(NFD)),
        (known.iter().map(|path| (*path).to_owned()).collect(), "# Zoe, in the folder\n".into())
    );
    // An edit on the branch.
    world.commit("Say more", &[(NFD, "# Zoe, on the branch\n")]);
    sync();
    assert_eq!(read(&vault, NFD), "# Zoe, on the branch\n");
    // An edit of an agent, which is made again as a commit of its own; and a new note in a folder of the branch.
    let agent = Client::over(&world.place.open());
    let edits = json!({ "edits": [{ "op": "append", "text": "And an agent.\n" }] });
    send(&agent, Method::PATCH, NFC, &[], edits).await.ok();
    assert_eq!(create(&agent, "adr/Zo\u{eb}/2.md", "# 2\n").await.status, 201);
    sync();
    assert_eq!(world.files(), ["adr/1.md", NFD, "adr/Zoe\u{308}/1.md", "adr/Zoe\u{308}/2.md"]);
    assert_eq!(world.text(NFD), "# Zoe, on the branch\nAnd an agent.\n");
    assert_eq!(world.log("%an")[..2], ["anonymous", "anonymous"]);
    // Both sides' edits meet in no line, and so in no conflict.
    let text = |one: &str, two: &str| format!("{one}\n\n-\n\n-\n\n-\n\n{two}\n");
    vault.write(NFD, text("one", "two").as_bytes());
    sync();
    vault.write(NFD, text("one, in the folder", "two").as_bytes());
    world.commit("Two", &[(NFD, &text("one", "two, on the branch"))]);
    sync();
    assert_eq!(
        [read(&vault, NFD), world.text(NFD)],
        [(); 2].map(|()| text("one, in the folder", "two, on the branch"))
    );
    // A removal.
    vault.remove(NFD);
    sync();
    assert_eq!(world.files(), ["adr/1.md", "adr/Zoe\u{308}/1.md", "adr/Zoe\u{308}/2.md"]);
    let quiet = world.log("%H");
    sync();
    assert_eq!(world.log("%H"), quiet);
}

#[test]
fn twins_of_one_content_become_one_file_and_others_are_left_as_they_are() {
    let world = World::new(&[(NFD, "# Zoe\n"), (NFC, "# Zoe\n")]);
    let vault = small();
    world.sync("host", &vault);
    assert_eq!((world.files(), read(&vault, NFD)), (vec![NFD.to_owned()], "# Zoe\n".to_owned()));
    world.commit("A twin", &[(NFC, "# Another\n")]);
    vault.write(NFD, b"# Zoe, in the folder\n");
    for is_first in [true, false] {
        let summary = world.summary(&vault);
        assert!(!is_first || skipped(&summary) == [NFD, NFC], "{summary}");
        assert_eq!([world.text(NFD), world.text(NFC)], ["# Zoe\n", "# Another\n"]);
        assert_eq!(read(&vault, NFD), "# Zoe, in the folder\n");
    }
    assert_eq!(world.log("%s")[0], "A twin");
}

#[test]
fn what_a_vault_cannot_have_is_named_and_changes_nothing_there() {
    let world = World::new(&[("adr/1.md", "# 1\n"), ("adr/2.md", "# 2\n")]);
    let vault = small();
    world.sync("host", &vault);
    world.pull();
    let folder = world.clone().join("adr");
    fs::remove_file(folder.join("1.md")).unwrap();
    symlink("2.md", folder.join("1.md")).unwrap();
    fs::write(folder.join(OsStr::from_bytes(b"M\xfcller.md")), "# M\n").unwrap();
    world.push();
    vault.write("adr/2.md", b"# 2. In the folder\n");
    let summary = world.summary(&vault);
    let mut named = skipped(&summary);
    named.sort_unstable();
    assert_eq!(named, ["adr/1.md", "adr/M\u{fffd}ller.md"], "{summary}");
    // A link is no removal of the note, and no note is written over it.
    assert_eq!(read(&vault, "adr/1.md"), "# 1\n");
    vault.write("adr/1.md", b"# 1. In the folder\n");
    world.summary(&vault);
    world.pull();
    assert_eq!(fs::read_link(folder.join("1.md")).unwrap(), Path::new("2.md"));
    assert_eq!(world.text("adr/2.md"), "# 2. In the folder\n");
    // When it is a file again, both sides' texts are there.
    fs::remove_file(folder.join("1.md")).unwrap();
    fs::write(folder.join("1.md"), "# 1. On the branch\n").unwrap();
    world.push();
    world.summary(&vault);
    let adr: Vec<String> = fs::read_dir(vault.root().join("adr"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    for text in ["# 1. In the folder\n", "# 1. On the branch\n"] {
        assert!(adr.iter().any(|found| found == text), "{text}: {adr:?}");
    }
}
