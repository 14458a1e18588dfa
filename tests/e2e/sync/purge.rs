//! `atlas purge`: a synced secret is erased from the mirror.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use atlas_mirror::location::{self, Variables};
use atlas_mirror::{Mirror, Options, PartCache};
use atlas_testkit::notes::contents;

use crate::support::programs::{Place, json_of, refusal_of};

struct Home {
    place: Place,
}

impl Home {
    fn new() -> Self {
        let place = Place::new();
        fs::create_dir_all(place.path("notes/keys")).unwrap();
        let home = Self { place };
        for note in ["boats.md", "tides.md", "log.md", "crew.md", "ports.md"] {
            home.write(note, format!("# {note}\n"));
        }
        home
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        fs::write(self.place.path("notes").join(path), text).unwrap();
    }

    fn atlas(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = self.place.in_folder(&self.place.path("notes"));
        command.args(arguments);
        command
    }

    fn sync(&self) {
        let output = self.atlas(&["sync", "."]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn purge(&self, path: &str) -> serde_json::Value {
        json_of(&mut self.atlas(&["purge", path, "--confirm", path, "--json"]))
    }

    fn said(&self, name: &str) -> String {
        let output = self.atlas(&["where", "--only", name]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn mirror(&self) -> Mirror {
        let store = location::open(&self.said("store"), &Variables::default()).unwrap();
        let vault = self.said("vault").parse().unwrap();
        Mirror::open(store, vault, Arc::new(PartCache::new(0)), Options::default()).unwrap()
    }

    /// The objects in one of the mirror's folders.
    fn objects(&self, folder: &str) -> usize {
        let store = self.said("store");
        let vault = PathBuf::from(store.strip_prefix("file://").unwrap()).join("vaults").join(self.said("vault"));
        fs::read_dir(vault.join(folder)).map_or(0, Iterator::count)
    }
}

#[tokio::test]
async fn what_is_purged_is_nowhere_in_the_mirror_and_all_else_stays() {
    let home = Home::new();
    let picture: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    home.write("keys/bank.md", "# Bank\n\nThe password is halyard-42.\n");
    home.write("scan.png", &picture);
    home.sync();
    home.write("keys/bank.md", "# Bank\n\nThe password is elsewhere.\n");
    home.write("boats.md", "# Boats\n\nThe ferry.\n");
    fs::remove_file(home.place.path("notes/scan.png")).unwrap();
    home.sync();
    let before = home.mirror();
    let first = before.at(1).await.unwrap().unwrap();
    assert!(contents(&first).await.unwrap()["keys/bank.md"].contains("halyard"));
    assert_eq!(home.objects("blobs"), 1);

    let unsure = refusal_of(&mut home.atlas(&["purge", "keys/bank.md"]));
    assert!(unsure.contains("nothing was erased"), "{unsure}");
    let wrong = refusal_of(&mut home.atlas(&["purge", "keys/bank.md", "--confirm", "bank.md"]));
    assert!(wrong.contains("nothing was erased"), "{wrong}");
    assert_eq!(before.head().await.unwrap().generation(), 2);

    // The folder has a text without the secret, which stays.
    let purged = home.purge("keys/bank.md");
    assert_eq!((&purged["generation"], &purged["generations"]), (&3.into(), &2.into()));
    assert_eq!(purged["removed"], serde_json::json!([]));
    assert_eq!(home.purge("scan.png")["generation"], 4);
    let mirror = home.mirror();
    let head = mirror.head().await.unwrap();
    let texts = contents(&head).await.unwrap();
    assert_eq!(texts.len(), 6, "{texts:?}");
    // The segments contain no dead documents, and the store no object that the newest generation does not refer to.
    assert!(head.segments().iter().all(|entry| entry.deleted.count() == 0));
    assert_eq!((home.objects("segments"), home.objects("blobs")), (head.segments().len(), 0));
    for generation in 1..4 {
        assert!(mirror.at(generation).await.unwrap().is_none(), "{generation}");
    }
    // The folder is in sync with it, and a sync restores nothing.
    home.sync();
    assert_eq!(mirror.head().await.unwrap().generation(), 4);
    assert!(
        json_of(&mut home.atlas(&["doctor", "--json"])).as_array().unwrap().iter().all(|check| check["ok"] == true)
    );
}

#[tokio::test]
async fn a_damaged_generation_does_not_keep_what_is_purged() {
    let home = Home::new();
    home.write("keys/bank.md", "The password is halyard-42.\n");
    home.sync();
    home.write("boats.md", "# Boats\n\nThe ferry.\n");
    home.sync();
    home.write("keys/bank.md", "The password is elsewhere.\n");
    home.sync();
    let mirror = home.mirror();
    let root = PathBuf::from(home.said("store").strip_prefix("file://").unwrap());
    let damaged = root.join(mirror.keys().manifest(2).as_ref());
    let mut bytes = fs::read(&damaged).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&damaged, bytes).unwrap();
    let told = home.atlas(&["doctor"]).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("FAILED history") && told.contains("missing or damaged"), "{told}");
    assert!(!told.contains("--repair"), "{told}");
    // Objects that only the damaged generation may refer to: one old, one that may be of a write in progress.
    let segments = root.join(mirror.keys().segments().as_ref());
    let one = fs::read_dir(&segments).unwrap().next().unwrap().unwrap().path();
    let lost = |digit: &str| segments.join(digit.repeat(one.file_name().unwrap().len()));
    let is_of = |path: &PathBuf, days: u64| {
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(days * 24 * 3600)).unwrap();
    };
    let is_old = |path: &PathBuf| is_of(path, 2);
    // In a bucket that was copied, objects may be newer than the generation that they are of.
    is_of(&root.join(mirror.keys().manifest(1).as_ref()), 4);
    is_of(&damaged, 3);
    for digit in ["1", "2"] {
        fs::copy(&one, lost(digit)).unwrap();
    }
    is_old(&lost("1"));
    let refused = refusal_of(&mut home.atlas(&["purge", "keys/bank.md", "--confirm", "keys/bank.md"]));
    assert!(
        refused.contains("less than 24 hours old") && refused.contains("run the same `atlas purge` again"),
        "{refused}"
    );
    assert!(!lost("1").exists() && lost("2").exists());
    is_old(&lost("2"));
    home.purge("keys/bank.md");
    let head = home.mirror().head().await.unwrap();
    assert_eq!(home.objects("segments"), head.segments().len());
    assert_eq!(contents(&head).await.unwrap()["keys/bank.md"], "The password is elsewhere.\n");
    home.sync();
}

#[tokio::test]
async fn attachments_are_erased_also_beside_those_of_an_earlier_purge() {
    let home = Home::new();
    for (file, note) in [(["a1.bin", "a2.bin"], "a.md"), (["secret.bin", "z.bin"], "b.md")] {
        file.iter().for_each(|file| home.write(file, format!("\0{file}")));
        home.write(note, "# A note\n");
        home.sync();
    }
    let remove = |file: &str| fs::remove_file(home.place.path("notes").join(file)).unwrap();
    remove("a1.bin");
    home.sync();
    home.purge("a1.bin");
    // Collections end the oldest generations first: then one lists the segments of both.
    let oldest = PathBuf::from(home.said("store").strip_prefix("file://").unwrap());
    fs::remove_file(oldest.join(home.mirror().keys().manifest(1).as_ref())).unwrap();
    remove("secret.bin");
    home.sync();
    home.purge("secret.bin");
    assert_eq!(home.objects("blobs"), 2, "those of a2.bin and z.bin");
}

#[tokio::test]
async fn what_the_folder_has_no_more_is_taken_out_of_the_vault() {
    let home = Home::new();
    home.write("keys/bank.md", "halyard-42\n");
    home.sync();
    home.write("keys/bank.md", "halyard-43\n");
    let other = refusal_of(&mut home.atlas(&["purge", "keys/bank.md", "--confirm", "keys/bank.md"]));
    assert!(other.contains("run `atlas sync` first"), "{other}");
    fs::remove_file(home.place.path("notes/keys/bank.md")).unwrap();
    // The folder may only seem to lack it, which a sync finds out.
    let unsynced = refusal_of(&mut home.atlas(&["purge", "keys/bank.md", "--confirm", "keys/bank.md"]));
    assert!(unsynced.contains("run `atlas sync` first"), "{unsynced}");
    home.sync();
    assert_eq!(home.purge("keys/bank.md")["removed"], serde_json::json!([]));
    let head = home.mirror().head().await.unwrap();
    assert_eq!(contents(&head).await.unwrap().len(), 5);
    assert_eq!(head.manifest().totals.notes, 5);
    home.sync();
    assert_eq!(home.mirror().head().await.unwrap().generation(), 3);
}

#[tokio::test]
async fn the_newest_text_stays_however_the_folder_spells_its_name_and_where_there_is_no_folder() {
    let home = Home::new();
    home.write("keys/cafe\u{301}.md", "halyard-42\n");
    home.sync();
    home.write("keys/cafe\u{301}.md", "elsewhere\n");
    std::os::unix::fs::symlink("boats.md", home.place.path("notes/linked.md")).unwrap();
    home.sync();
    let path = "keys/caf\u{e9}.md";
    for path in [path, "linked.md"] {
        assert_eq!(home.purge(path)["removed"], serde_json::json!([]), "{path}");
    }
    let (store, vault) = (home.said("store"), home.said("vault"));
    let away = Place::new();
    let options = ["purge", path, "--confirm", path, "--store", &store, "--vault", &vault, "--json"];
    json_of(away.in_folder(&away.path("")).args(options));
    assert_eq!(contents(&home.mirror().head().await.unwrap()).await.unwrap()[path], "elsewhere\n");
    home.sync();
    assert_eq!(fs::read(home.place.path("notes/keys/cafe\u{301}.md")).unwrap(), b"elsewhere\n");
}

#[test]
fn what_git_exchanges_have_left_is_erased_and_its_clone_is_named() {
    let home = Home::new();
    home.write("keys/bank.md", "halyard-42\n");
    home.sync();
    fs::remove_file(home.place.path("notes/keys/bank.md")).unwrap();
    home.sync();
    let git = PathBuf::from(home.said("state")).join("git");
    for (path, text) in
        [("files/keys/bank.md", "halyard-42\n"), ("texts/1", "halyard-42\n"), ("repository.git/HEAD", "")]
    {
        let path = git.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let output = home.atlas(&["purge", "keys/bank.md", "--confirm", "keys/bank.md"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && said.contains(&format!("its clone in {}", git.join("repository.git").display())),
        "{said}"
    );
    assert_eq!(
        (git.join("files").exists(), git.join("texts").exists(), git.join("repository.git").exists()),
        (false, false, true)
    );
}
