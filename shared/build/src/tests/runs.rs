//! Whole runs, and runs that are repeated or interrupted.

use std::collections::BTreeSet;
use std::time::Duration;

use atlas_mirror::{Retention, VaultId};
use atlas_testkit::{AgingStore, CountingStore, Fault, FaultStore, Op};

use super::*;

const FILES: [(&str, &str); 5] = [
    ("a.md", "# A\n\nSee [[b]].\n"),
    ("b.md", "the lighthouse\n"),
    ("c/d.md", "d\n"),
    ("c/e.canvas", "{}"),
    ("f.md", "f\n"),
];

#[tokio::test]
async fn the_shards_of_a_source_become_one_generation() {
    let site = Site::with(&FILES).await;
    assert_eq!(site.plan("one").await.unwrap().len(), 3);
    let run = site.run("one").await;
    assert_eq!((run.generation, done(&run), run.files, run.left), (1, (5, 0, 0), 5, 0));
    assert_eq!(site.mirrored().await, map(&FILES));
    let head = site.head().await;
    assert_eq!((head.segments().len(), head.manifest().operation.as_str()), (3, "build"));
    let totals = head.manifest().totals;
    assert_eq!((totals.notes, totals.attachments, totals.documents), (4, 1, 5));
}

#[tokio::test]
async fn an_unchanged_source_is_not_read_again_and_makes_no_generation() {
    let counting = CountingStore::new(Arc::new(InMemory::new()));
    let site = Site::on(counting.clone());
    site.put_all(&FILES).await;
    site.run("one").await;
    counting.take();
    let run = site.run("two").await;
    assert_eq!((run.generation, done(&run), run.files), (1, (0, 0, 0), 5));
    let requests = counting.take();
    assert!(requests.of(Op::Get).all(|request| !request.key.starts_with("sources/")), "an object was read again");
    assert!(requests.of(Op::Create).all(|request| !request.key.contains("/segments/")), "a segment was uploaded");
}

#[tokio::test]
async fn a_run_publishes_what_changed_since_the_one_before() {
    let site = Site::with(&FILES).await;
    site.run("one").await;
    site.put("b.md", "the lamp\n").await;
    site.put("g.md", "g\n").await;
    site.delete("c/d.md").await;
    site.delete("f.md").await;
    let run = site.run("two").await;
    assert_eq!((run.generation, done(&run), run.files), (2, (1, 1, 2), 4));
    let expected = [FILES[0], ("b.md", "the lamp\n"), FILES[3], ("g.md", "g\n")];
    assert_eq!(site.mirrored().await, map(&expected));
    let head = site.head().await;
    assert_eq!((head.manifest().totals.notes, head.manifest().totals.documents), (3, 4));
    let b = atlas_sync::head::at(&head, &["b.md"]).await.unwrap().remove("b.md").unwrap().remove(0);
    assert_eq!((b.generation, b.replaces), (2, 1), "history leads from one version to the one before");
}

#[tokio::test]
async fn every_step_can_be_repeated() {
    let site = Site::with(&FILES).await;
    for _ in 0..2 {
        assert_eq!(site.plan("one").await.unwrap().len(), 3);
        let built = site.built("one").await;
        assert_eq!(built.iter().map(|shard| shard.pushes.len()).sum::<usize>(), 5);
    }
    // The source moves on, and a step that is repeated finds what the first one made.
    site.put("a.md", "another text\n").await;
    let again = site.built("one").await;
    let first = site.publish("one").await.unwrap();
    let second = site.publish("one").await.unwrap();
    assert_eq!((first.generation, &first), (1, &second));
    assert_eq!(again[0].pushes[0].path, "a.md");
    assert_eq!(site.mirrored().await, map(&FILES));
    assert_eq!(site.all().await.values().map(Vec::len).max(), Some(1));
}

#[tokio::test]
async fn a_shard_that_is_built_twice_at_once_is_the_same() {
    let site = Site::with(&FILES).await;
    let plan = site.plan("one").await.unwrap();
    let both = futures::future::join(site.build(&plan[0]), site.build(&plan[0])).await;
    let (one, other) = (both.0.unwrap(), both.1.unwrap());
    assert_eq!((&one.entries, &one.pushes), (&other.entries, &other.pushes));
    assert_eq!(one.segments[0].id, other.segments[0].id, "the first result counts");
    site.build(&plan[1]).await.unwrap();
    site.build(&plan[2]).await.unwrap();
    site.publish("one").await.unwrap();
    assert_eq!(site.mirrored().await, map(&FILES));
}

#[tokio::test]
async fn a_run_is_published_whole_or_not_at_all() {
    let site = Site::with(&FILES).await;
    let plan = site.plan("one").await.unwrap();
    site.build(&plan[0]).await.unwrap();
    site.build(&plan[2]).await.unwrap();
    let error = site.publish("one").await.unwrap_err();
    assert!(matches!(error, BuildError::Unbuilt { shard: 1, .. }), "{error}");
    assert!(site.mirror().head().await.is_err(), "nothing is published");
    site.build(&plan[1]).await.unwrap();
    assert_eq!(done(&site.publish("one").await.unwrap()), (5, 0, 0));
}

#[tokio::test]
async fn a_publication_that_is_interrupted_anywhere_is_completed_once() {
    for (op, key) in [
        (Op::Put, "builds/published"),
        (Op::Create, "manifests/00000000000000000002"),
        (Op::Get, "builds/two/00001"),
        (Op::Put, "latest"),
    ] {
        for fault in [Fault::Error, Fault::ErrorAfter] {
            for skip in 0..2 {
                let faults = FaultStore::new(Arc::new(InMemory::new()));
                let site = Site::on(faults.clone());
                site.put_all(&FILES).await;
                site.run("one").await;
                site.put("b.md", "the lamp\n").await;
                site.built("two").await;
                let script = (0..skip).map(|_| None).chain([Some(fault); 4]);
                faults.script(op, key, script);
                let _ = site.publish("two").await;
                faults.heal();
                let run = site.publish("two").await.unwrap();
                assert_eq!((run.generation, done(&run)), (2, (0, 1, 0)), "{op:?} {key} {fault:?} {skip}");
                // The next run builds on it.
                site.put("b.md", "the lens\n").await;
                let run = site.run("three").await;
                assert_eq!((run.generation, done(&run), run.left), (3, (0, 1, 0), 0), "{op:?} {key} {fault:?} {skip}");
            }
        }
    }
}

#[tokio::test]
async fn a_run_builds_on_a_publication_that_nobody_saw_end() {
    let faults = FaultStore::new(Arc::new(InMemory::new()));
    let site = Site::on(faults.clone());
    site.put_all(&FILES).await;
    site.built("one").await;
    faults.script(Op::Put, "builds/published", [None].into_iter().chain([Some(Fault::Error); 4]));
    site.publish("one").await.unwrap_err();
    faults.heal();
    assert_eq!(site.head().await.generation(), 1, "it was committed");
    site.put("b.md", "the lamp\n").await;
    site.delete("f.md").await;
    let run = site.run("two").await;
    assert_eq!((run.generation, done(&run), run.left), (2, (0, 1, 1), 0), "{:?}", left(&run));
}

#[tokio::test]
async fn of_two_runs_at_once_one_begins_again() {
    let site = Site::with(&FILES).await;
    site.run("one").await;
    site.put("b.md", "the lamp\n").await;
    site.built("two").await;
    site.put("b.md", "the lens\n").await;
    site.built("three").await;
    site.publish("three").await.unwrap();
    assert!(matches!(site.publish("two").await, Err(BuildError::Overtaken)));
    assert_eq!(site.text("b.md").await.unwrap(), "the lens\n");
}

#[tokio::test]
async fn an_emptied_or_half_listed_source_deletes_nothing() {
    let files: Vec<(String, String)> = (0..40).map(|n| (format!("{n:02}.md"), format!("{n}\n"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    let site = Site::with(&files).await;
    site.run("one").await;
    for (key, _) in &files[..20] {
        site.delete(key).await;
    }
    site.built("two").await;
    let error = site.publish("two").await.unwrap_err().to_string();
    assert!(error.contains("20 of 40 files vanished") && error.contains("allow_mass_delete"), "{error}");
    for (key, _) in &files[20..] {
        site.delete(key).await;
    }
    let error = site.plan("three").await.unwrap_err().to_string();
    assert!(error.contains("is empty, and had 40 files"), "{error}");
    assert_eq!(site.head().await.manifest().totals.notes, 40);
    assert_eq!(done(&site.publish_whatever("two", true).await.unwrap()), (0, 0, 20));
}

#[tokio::test]
async fn what_an_emptied_file_had_counts_as_lost() {
    let files: Vec<(String, String)> = (0..40).map(|n| (format!("{n:02}.md"), format!("{n}\n"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    let site = Site::with(&files).await;
    site.run("one").await;
    for (key, _) in &files[..20] {
        site.put(key, "").await;
    }
    site.built("two").await;
    let error = site.publish("two").await.unwrap_err();
    assert!(matches!(error, BuildError::MassDeletion { lost: 20, of: 40 }), "{error}");
}

#[tokio::test]
async fn many_files_in_many_shards_are_all_there_once() {
    let site = Site { size: ShardSize { objects: 250, ..SMALL }, ..Site::with(&[]).await };
    for n in 0..3_000 {
        site.put(&format!("{:02}/{n:04}.md", n % 37), format!("# Note {n}\n\nSee [[{:04}]].\n", n + 1)).await;
    }
    let run = site.run("one").await;
    assert_eq!((done(&run), run.files), ((3_000, 0, 0), 3_000));
    let all = site.all().await;
    assert_eq!((all.len(), all.values().map(Vec::len).max()), (3_000, Some(1)));
    assert_eq!(site.plan("one").await.unwrap().len(), 12);
    for n in (0..3_000).step_by(300) {
        site.put(&format!("{:02}/{n:04}.md", n % 37), "another text\n").await;
    }
    site.delete("00/0037.md").await;
    let run = site.run("two").await;
    assert_eq!(done(&run), (0, 10, 1));
    assert_eq!(site.head().await.manifest().totals.notes, 2_999);
}

#[tokio::test]
async fn a_shard_of_many_segments_is_published_whole() {
    let site = Site { size: ShardSize { objects: 1_000, ..SMALL }, ..Site::with(&[]).await };
    for n in 0..60_u64 {
        // Text that does not compress, so that segments fill.
        let text: String =
            (0..2_000_u64).map(|at| char::from(b'a' + (n.wrapping_mul(at * at + 7) % 26) as u8)).collect();
        site.put(&format!("{n:02}.md"), text).await;
    }
    let plan = site.plan("one").await.unwrap();
    let result = build(&site.mirror(), &site.source(), &plan[0], 8 << 10, Timestamp::now()).await.unwrap();
    assert!(result.segments.len() > 2, "{}", result.segments.len());
    assert_eq!(done(&site.publish("one").await.unwrap()), (60, 0, 0));
    assert_eq!(site.mirrored().await.len(), 60);
}

/// A site whose store's clock begins in 1970.
pub(super) fn aging() -> (Arc<AgingStore>, Site) {
    let aging = AgingStore::new(Arc::new(InMemory::new()));
    let site = Site { now: Timestamp::UNIX_EPOCH, ..Site::on(aging.clone()) };
    (aging, site)
}

#[tokio::test]
async fn records_of_old_runs_are_collected_and_those_of_the_last_are_kept() {
    let (aging, mut site) = aging();
    site.put_all(&FILES).await;
    site.run("one").await;
    site.put("b.md", "the lamp\n").await;
    site.run("two").await;
    site.built("never").await;
    let days = Duration::from_secs(3 * 24 * 3600);
    aging.pass(days);
    site.now += days;
    site.mirror().collect(Retention::default(), site.now).await.unwrap();
    let records = site.mirror().list_state("builds", None).await.unwrap();
    let runs: BTreeSet<&str> = records.iter().map(|record| record.name.split('/').next().unwrap()).collect();
    assert_eq!(runs.into_iter().collect::<Vec<_>>(), ["published", "two"]);
    assert_eq!(done(&site.run("three").await), (0, 0, 0));
}

#[tokio::test]
async fn a_run_whose_segments_may_be_collected_is_not_published() {
    let (aging, mut site) = aging();
    site.put_all(&FILES).await;
    site.built("one").await;
    let hours = Duration::from_secs(11 * 3600);
    aging.pass(hours);
    site.now += hours;
    assert!(matches!(site.publish("one").await, Err(BuildError::Expired { .. })));
    assert_eq!(done(&site.run("two").await), (5, 0, 0));
}

#[tokio::test]
async fn agents_that_write_during_a_publication_lose_nothing() {
    let site = Site::with(&FILES).await;
    site.run("one").await;
    for (key, _) in FILES {
        site.put(key, "changed\n").await;
    }
    site.built("two").await;
    let writing = async {
        for n in 0..20 {
            site.agent_puts(&format!("agent {n:02}.md"), "agent\n").await;
        }
    };
    let (run, ()) = futures::future::join(site.publish("two"), writing).await;
    assert_eq!(done(&run.unwrap()), (0, 5, 0));
    let mirrored = site.mirrored().await;
    assert_eq!(mirrored.len(), 25);
    assert!(FILES.iter().all(|(path, _)| mirrored[*path] == "changed\n"), "{mirrored:?}");
    assert_eq!(site.head().await.generation(), 22);
}

#[tokio::test]
async fn vaults_of_one_store_are_built_apart() {
    let site = Site::with(&FILES).await;
    site.run("one").await;
    let other: VaultId = "other".parse().unwrap();
    let key = Path::from("sources/other/only.md");
    site.objects.put(&key, "only\n".into()).await.unwrap();
    let store = Store::new(site.objects.clone(), "", StoreOptions::default()).unwrap();
    let mirror = Mirror::open(store, other.clone(), Arc::new(PartCache::new(1 << 20)), Options::default()).unwrap();
    let sources = Sources::of(Store::new(site.objects.clone(), "sources", StoreOptions::default()).unwrap());
    let source = sources.vault(&other).unwrap();
    let (_, shards) = plan(&mirror, &source, "one", SMALL, false, Timestamp::now()).await.unwrap();
    for shard in &shards {
        build(&mirror, &source, shard, FULL_BYTES, Timestamp::now()).await.unwrap();
    }
    let run = Run { vault: "other".to_owned(), run: "one".to_owned(), allow_mass_delete: false };
    assert_eq!(done(&publish(&mirror, &run, Timestamp::now()).await.unwrap()), (1, 0, 0));
    assert_eq!(site.mirrored().await, map(&FILES));
}
