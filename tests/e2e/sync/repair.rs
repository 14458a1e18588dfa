//! Repair, as shared/sync/README.md describes it, after random damage of every kind of object. All files of any folder
//! are in the mirror again, and lost files are reported.

use std::sync::Arc;

use atlas_mirror::repair::EmptyStart;
use atlas_mirror::{Mirror, MirrorError, Options};
use atlas_sync::{Danger, Summary, SyncError, SyncOptions, sync};
use atlas_testkit::VaultBuilder;
use axum::http::Method;
use jiff::Timestamp;
use object_store::ObjectStoreExt as _;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use tempfile::TempDir;

use crate::support::damage;
use crate::support::damage::{Damage, Kind};
use crate::support::deployment::Deployment;
use crate::support::note_calls::{create, send};
use crate::support::programs::{Place, json_of, refusal_of};
use crate::support::publish::{Files, files};
use crate::support::random;

struct Host {
    folder: TempDir,
    state: TempDir,
}

impl Host {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap() }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn files(&self) -> Files {
        files(self.folder.path()).into_iter().filter(|(path, _)| !path.starts_with('.')).collect()
    }

    async fn sync(&self, mirror: Mirror, repair: bool) -> Result<Summary, SyncError> {
        let root = self.folder.path().to_owned();
        let options = SyncOptions::new(root, self.state.path().to_owned(), "host".to_owned(), Timestamp::now());
        let options = SyncOptions { repair, checksum: true, allow_mass_delete: true, ..options };
        sync(&mirror, &options, Arc::new(())).await
    }
}

/// Two hosts with a folder each, agents, and a store.
struct Site {
    deployment: Deployment,
    hosts: [Host; 2],
}

impl Site {
    /// The first host lacks the agents' last changes; the second has them; both have unpublished changes.
    async fn new() -> Self {
        let site = Self { deployment: Deployment::empty(), hosts: [Host::new(), Host::new()] };
        let [first, second] = &site.hosts;
        for number in 0..6 {
            first.write(&format!("n{number}.md"), &format!("# Note {number}\n\nfirst\n"));
        }
        first.write("pic.png", "\0picture");
        first.write("twin.png", "\0picture");
        site.synced(0).await;
        first.write("n1.md", "second");
        first.write("sub/new.md", "new");
        site.synced(0).await;
        let client = site.deployment.client();
        assert_eq!(create(&client, "agent.md", "by an agent").await.status, 201);
        send(&client, Method::PUT, "n2.md", &[("if-match", "*")], json!({ "content": "an agent's" })).await.ok();
        site.synced(1).await;
        assert_eq!(create(&client, "late.md", "nobody has pulled it").await.status, 201);
        send(&client, Method::PUT, "n3.md", &[("if-match", "*")], json!({ "content": "nobody has pulled this" }))
            .await
            .ok();
        first.write("n4.md", "edited on the first");
        second.write("n5.md", "edited on the second");
        site
    }

    async fn synced(&self, host: usize) -> Summary {
        self.hosts[host].sync(self.deployment.mirror(), false).await.unwrap()
    }

    /// The newest generation's files, all of them readable.
    async fn head(&self) -> Files {
        let folder = tempfile::tempdir().unwrap();
        let options = atlas_sync::ExportOptions { to: folder.path().to_owned(), generation: None, force: false };
        let exported = atlas_sync::export(&self.deployment.mirror(), &options, Arc::new(())).await.unwrap();
        assert!(exported.skipped.is_empty(), "{:?}", exported.skipped);
        files(folder.path()).into_iter().filter(|(path, _)| !path.starts_with('.')).collect()
    }
}

#[tokio::test]
async fn a_segment_whose_directories_are_damaged_is_read_without_them() {
    let deployment = Deployment::empty();
    let mirror = || deployment.mirror_with("main", Options { max_directories: 0, ..Options::default() });
    let host = Host::new();
    for number in 0..400 {
        host.write(&format!("folder/note {number}.md"), &format!("# Note {number}\n\n{}", "harbour ".repeat(number)));
    }
    host.write("picture.png", "\0picture");
    host.sync(mirror(), false).await.unwrap();
    let head = mirror().head().await.unwrap();
    let entry = head.segments().iter().max_by_key(|entry| entry.bytes).unwrap();
    assert!(entry.layout.leaves_directories());
    let key = mirror().keys().segment(entry.id);
    let mut bytes = deployment.objects.get(&key).await.unwrap().bytes().await.unwrap().to_vec();
    let end = entry.layout.bytes as usize;
    let middle = usize::midpoint(end, bytes.len());
    bytes[middle] ^= 1;
    deployment.objects.put(&key, bytes.into()).await.unwrap();

    let empty = Host::new();
    let (root, state) = (empty.folder.path().to_owned(), empty.state.path().to_owned());
    let options = SyncOptions::new(root, state, "host".to_owned(), Timestamp::now());
    let options = SyncOptions { repair: true, join: true, allow_mass_delete: true, ..options };
    sync(&mirror(), &options, Arc::new(())).await.unwrap();
    assert_eq!(empty.files(), host.files());
}

#[tokio::test]
async fn the_last_copy_of_a_newer_generation_is_not_written_over() {
    let site = Site::new().await;
    let mirror = site.deployment.mirror();
    let head = mirror.head().await.unwrap();
    let (newest, latest) = (mirror.keys().manifest(head.generation()), mirror.keys().latest());
    let objects = &site.deployment.objects;
    let text = objects.get(&newest).await.unwrap().bytes().await.unwrap();
    let (json, _) = std::str::from_utf8(&text).unwrap().rsplit_once(",\"crc32\"").unwrap();
    let json = json.replacen("\"format\":1", "\"format\":99", 1);
    let newer = format!("{json},\"crc32\":\"{:08x}\"}}", crc32fast::hash(json.as_bytes()));
    objects.put(&latest, newer.clone().into()).await.unwrap();
    objects.put(&newest, "damaged".into()).await.unwrap();
    let refused = site.hosts[0].sync(site.deployment.mirror(), true).await.unwrap_err();
    assert!(matches!(refused, SyncError::Mirror(MirrorError::Newer { found: 99, .. })), "{refused:?}");
    assert_eq!(objects.get(&latest).await.unwrap().bytes().await.unwrap(), newer);
}

fn damages() -> impl Strategy<Value = Vec<(Kind, Damage)>> {
    prop::collection::vec((damage::kind(), damage::damage()), 1..4)
}

#[test]
fn whatever_is_damaged_what_any_folder_has_is_in_the_mirror_again() {
    let mut runner = TestRunner::new(Config { max_shrink_iters: 30, ..random::cases(96) });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runner.run(&damages(), |damages| {
        runtime.block_on(async {
            let site = Site::new().await;
            let before = site.hosts.each_ref().map(Host::files);
            // If the newest manifest and its copy are lost, there is no trace of that generation, unless a host has
            // seen it.
            let is_traceless = damages.iter().any(|(kind, _)| matches!(kind, Kind::Latest | Kind::NewestAndLatest));
            for (kind, damage) in damages {
                kind.suffers(&site.deployment.objects, damage).await;
            }
            let [first, second] = &site.hosts;
            let repaired = first.sync(site.deployment.mirror(), true).await.unwrap().repaired.unwrap();
            let is_told = !(repaired.lost.is_empty() && repaired.recovered.is_empty() && repaired.rewound.is_empty())
                || repaired.unnamed > 0
                || repaired.anew.is_some();
            // The second host only syncs; if its last generation does not exist any more, it is told so, and repairs as
            // well.
            for _ in 0..2 {
                if let Err(error) = second.sync(site.deployment.mirror(), false).await {
                    assert!(matches!(error, SyncError::Danger(_)), "{error}");
                    second.sync(site.deployment.mirror(), true).await.unwrap();
                }
                second.sync(site.deployment.mirror(), true).await.unwrap();
                site.synced(0).await;
            }
            let head = site.head().await;
            assert_eq!(first.files(), head, "the first host");
            assert_eq!(second.files(), head, "the second host");
            let texts: Vec<&Vec<u8>> = head.values().collect();
            for (path, text) in [("n4.md", "edited on the first"), ("n5.md", "edited on the second")] {
                assert!(texts.iter().any(|found| *found == text.as_bytes()), "{path} is lost: {head:#?}");
            }
            // The second host's files are newer, except the later changes of agents and of the first host.
            for (path, text) in &before[1] {
                let is_there = texts.contains(&text) || ["n3.md", "n4.md"].contains(&path.as_str());
                assert!(is_there, "{path} of the second host is lost: {head:#?}");
            }
            for path in before[0].keys() {
                assert!(head.contains_key(path), "{path} of the first host is lost: {head:#?}");
            }
            let late = [("late.md", "nobody has pulled it"), ("n3.md", "nobody has pulled this")];
            for (path, text) in late {
                let is_there = texts.iter().any(|found| *found == text.as_bytes());
                assert!(is_there || is_told || is_traceless, "{path} is lost, and nobody was told: {repaired:?}");
            }
            let mirror = site.deployment.mirror();
            let found = mirror.inspect(&mirror.head().await.unwrap(), true).await.unwrap();
            assert_eq!(found.flaws, []);
            assert_eq!(mirror.lost_generation().await.unwrap(), None);
        });
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[tokio::test]
async fn a_host_that_saw_what_was_lost_repairs_a_mirror_that_went_on_without_it() {
    let site = Site::new().await;
    let gone = [Kind::NewestManifest, Kind::NewestAndLatest, Kind::NewestManifest];
    for kind in gone {
        kind.suffers(&site.deployment.objects, Damage::Missing).await;
    }
    let [first, second] = &site.hosts;
    first.sync(site.deployment.mirror(), true).await.unwrap();
    // The number of the generation that the second host saw last was used again.
    let error = second.sync(site.deployment.mirror(), false).await.unwrap_err();
    assert!(matches!(error, SyncError::Danger(Danger::OtherMirror { .. })), "{error}");
    second.sync(site.deployment.mirror(), true).await.unwrap();
    site.synced(0).await;
    let head = site.head().await;
    assert_eq!((first.files(), second.files()), (head.clone(), head.clone()));
    for (path, text) in
        [("n4.md", "edited on the first"), ("n5.md", "edited on the second"), ("agent.md", "by an agent")]
    {
        assert_eq!(String::from_utf8_lossy(&head[path]), text);
    }
}

#[tokio::test]
async fn a_segment_that_is_cut_short_is_no_unchanged_mirror() {
    let site = Site::new().await;
    let mirror = site.deployment.mirror();
    let head = mirror.head().await.unwrap();
    let largest = head.segments().iter().max_by_key(|entry| entry.bytes).unwrap();
    let key = mirror.keys().segment(largest.id);
    let whole = site.deployment.objects.get(&key).await.unwrap().bytes().await.unwrap();
    site.deployment.objects.put(&key, whole.slice(..whole.len() / 2).into()).await.unwrap();
    let host = &site.hosts[1];
    let root = host.folder.path().to_owned();
    let options = SyncOptions::new(root, host.state.path().to_owned(), "host".to_owned(), Timestamp::now());
    let options = SyncOptions { collect: Some(atlas_mirror::Retention::default()), ..options };
    for _ in 0..2 {
        let error = sync(&site.deployment.mirror(), &options, Arc::new(())).await.unwrap_err().to_string();
        assert!(error.contains("sync --repair") && error.contains("segments/"), "{error}");
    }
    host.sync(site.deployment.mirror(), true).await.unwrap();
    sync(&site.deployment.mirror(), &options, Arc::new(())).await.unwrap();
    assert_eq!(site.head().await, host.files());
}

#[tokio::test]
async fn the_lost_manifest_is_put_back_from_the_hint() {
    let site = Site::new().await;
    let newest = site.deployment.mirror().head().await.unwrap();
    let key = site.deployment.mirror().keys().manifest(newest.generation());
    site.deployment.objects.delete(&key).await.unwrap();
    assert_eq!(site.deployment.mirror().lost_generation().await.unwrap(), Some(newest.generation()));
    let error =
        site.deployment.mirror().collect(atlas_mirror::Retention::default(), Timestamp::now()).await.unwrap_err();
    assert!(matches!(error, MirrorError::Damaged { .. }), "{error}");
    let repaired = site.hosts[0].sync(site.deployment.mirror(), true).await.unwrap().repaired.unwrap();
    assert_eq!(repaired.put_back, Some(newest.generation()));
    assert_eq!(site.head().await["late.md"], b"nobody has pulled it");
    let history = site.deployment.mirror().history(newest.generation(), 100).await.unwrap();
    assert_eq!(history.len() as u64, newest.generation());
}

#[tokio::test]
async fn a_mirror_without_a_readable_manifest_is_begun_anew_with_what_folders_have() {
    let site = Site::new().await;
    let newest = site.deployment.mirror().head().await.unwrap();
    let edited = site.hosts.each_ref().map(Host::files);
    Kind::AllManifests.suffers(&site.deployment.objects, Damage::CutAt(100)).await;
    let error = site.hosts[0].sync(site.deployment.mirror(), false).await.unwrap_err().to_string();
    assert!(error.contains("sync --repair"), "{error}");
    let repaired = site.hosts[0].sync(site.deployment.mirror(), true).await.unwrap().repaired.unwrap();
    // The agents' changes after the generation that the first host saw are lost, except those that the second has.
    assert_eq!(repaired.anew, Some(EmptyStart { generation: newest.generation(), seen: 2 }));
    site.synced(1).await;
    site.synced(0).await;
    let head = site.head().await;
    assert_eq!(site.hosts.each_ref().map(Host::files), [head.clone(), head.clone()]);
    for (path, text) in edited.iter().flatten() {
        assert!(head.contains_key(path) && (text.starts_with(b"# Note") || head.values().any(|found| found == text)));
    }
    assert_eq!((head["agent.md"].as_slice(), head.get("late.md")), (b"by an agent".as_slice(), None));
    let mirror = site.deployment.mirror();
    let head = mirror.head().await.unwrap();
    assert_eq!(head.manifest().lineage, newest.manifest().lineage);
    let history = mirror.history(head.generation(), 100).await.unwrap();
    assert_eq!(history.last().unwrap().generation(), newest.generation());
    mirror.collect(atlas_mirror::Retention::default(), Timestamp::now()).await.unwrap();
    assert_eq!(mirror.inspect(&head, true).await.unwrap().flaws, []);
}

/// A set of tombstones is a separate object only if it is long.
#[tokio::test]
async fn damaged_tombstones_bring_nothing_back_that_the_folder_knows_to_be_deleted() {
    for damage in [Damage::Missing, Damage::CutAt(2000), Damage::Flipped(3000)] {
        let (deployment, host) = (Deployment::empty(), Host::new());
        let many = |number: usize| format!("many/{number:04}.md");
        (0..4200).for_each(|number| host.write(&many(number), "x\n"));
        host.sync(deployment.mirror(), false).await.unwrap();
        let gone = |number: &usize| !number.is_multiple_of(84);
        (0..4200).filter(gone).for_each(|number| std::fs::remove_file(host.folder.path().join(many(number))).unwrap());
        host.sync(deployment.mirror(), false).await.unwrap();
        let kept = host.files();
        assert_eq!(damage::tombstones_suffer(&deployment, damage).await, 1);
        let repaired = host.sync(deployment.mirror(), true).await.unwrap().repaired.unwrap();
        assert_eq!(repaired.flaws.len(), 1, "{damage:?}");
        assert_eq!((host.files().len(), repaired.recovered.len()), (kept.len(), 0), "{damage:?}");
        let mirror = deployment.mirror();
        assert_eq!(mirror.inspect(&mirror.head().await.unwrap(), true).await.unwrap().flaws, []);
    }
}

#[tokio::test]
async fn a_damaged_only_manifest_is_begun_anew_from_a_folder_without_a_state() {
    let (deployment, host) = (Deployment::empty(), Host::new());
    host.write("a.md", "a");
    host.write("pic.png", "\0picture");
    host.sync(deployment.mirror(), false).await.unwrap();
    Kind::AllManifests.suffers(&deployment.objects, Damage::Flipped(30)).await;
    let other = Host { folder: host.folder, state: tempfile::tempdir().unwrap() };
    let summary = other.sync(deployment.mirror(), true).await.unwrap();
    assert_eq!(summary.repaired.unwrap().anew, Some(EmptyStart { generation: 1, seen: 0 }));
    assert_eq!((summary.pushed.added, summary.generation), (2, 2));
    let again = other.sync(deployment.mirror(), false).await.unwrap();
    assert_eq!((again.unchanged, again.generation), (2, 2));
}

#[test]
fn what_the_readme_says_to_do_repairs_a_damaged_store() {
    let place = Place::new();
    let vault = VaultBuilder::new().note("a.md", "first\n").note("b.md", "b\n").file("pic.png", b"\0picture");
    assert!(place.sync(vault.root()).status().unwrap().success());
    vault.write("a.md", b"second\n");
    assert!(place.sync(vault.root()).status().unwrap().success());
    let doctor = || {
        let mut command = place.atlas("doctor");
        command.arg("--checksum");
        command
    };
    assert!(doctor().status().unwrap().success());
    let store = place.path("store");
    let objects = files(&store);
    let key = |part: &str| store.join(objects.keys().find(|key| key.contains(part)).unwrap());
    std::fs::remove_file(key("/blobs/")).unwrap();
    let mut segment = std::fs::read(key("/segments/")).unwrap();
    let middle = segment.len() / 2;
    segment[middle] ^= 1;
    std::fs::write(key("/segments/"), segment).unwrap();
    let said = String::from_utf8(doctor().output().unwrap().stdout).unwrap();
    assert!(said.contains("/segments/") && said.contains("sync --repair"), "{said}");
    // The folder has not changed, but success is not reported.
    assert!(refusal_of(&mut place.sync(vault.root())).contains("sync --repair"));
    let mut repair = place.sync(vault.root());
    let summary = json_of(repair.args(["--repair", "--json"]));
    assert_eq!(summary["repaired"]["lost"], json!(null), "{summary}");
    assert!(doctor().status().unwrap().success());
    assert!(place.sync(vault.root()).status().unwrap().success());
    place.exports(vault.root());
}
