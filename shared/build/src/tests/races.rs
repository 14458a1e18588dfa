//! What changes between the steps of a run.

use std::time::Duration;

use atlas_mirror::MirrorError;

use super::runs::aging;
use super::*;
use crate::records::{Published, Publishing};

#[tokio::test]
async fn of_two_spellings_that_come_while_shards_are_built_one_counts() {
    let (composed, decomposed) = ("caf\u{e9}.md", "cafe\u{301}.md");
    let site = Site::with(&[("a.md", "a\n"), (decomposed, "decomposed\n"), ("z.md", "z\n")]).await;
    let shards = site.plan("one").await.unwrap();
    let [first, second] = &shards[..] else { panic!("two shards") };
    site.build(first).await.unwrap();
    site.put(composed, "composed\n").await;
    site.build(second).await.unwrap();
    let run = site.publish("one").await.unwrap();
    assert_eq!((done(&run), run.left), ((3, 0, 0), 1), "{:?}", left(&run));
    assert!(site.all().await.values().all(|documents| documents.len() == 1));
}

#[tokio::test]
async fn of_two_runs_from_one_state_one_is_published() {
    let site = Site::with(&[("a.md", "a\n"), ("x.md", "x\n")]).await;
    site.run("one").await;
    site.delete("x.md").await;
    site.built("two").await;
    site.put("x.md", "x\n").await;
    site.put("a.md", "changed\n").await;
    site.built("three").await;
    let (three, two) = tokio::join!(site.publish("three"), site.publish("two"));
    assert!(three.is_ok() != two.is_ok(), "{three:?} {two:?}");
    for failed in [three, two].into_iter().filter_map(Result::err) {
        assert!(matches!(failed, BuildError::Claimed { .. } | BuildError::Overtaken), "{failed:?}");
    }
    site.run("four").await;
    assert_eq!(site.mirrored().await, map(&[("a.md", "changed\n"), ("x.md", "x\n")]));
}

#[tokio::test]
async fn a_run_that_is_never_published_stops_others_for_half_a_day() {
    let (aging, mut site) = aging();
    site.put("a.md", "a\n").await;
    site.run("one").await;
    site.put("a.md", "two\n").await;
    site.built("two").await;
    let records = crate::records::Records::of;
    let mirror = site.mirror();
    records(&mirror, "two").unwrap().claim(Some("one"), Some("one"), site.now).await.unwrap();
    site.built("three").await;
    let refused = site.publish("three").await.unwrap_err();
    assert!(matches!(&refused, BuildError::Claimed { run } if run == "two"), "{refused:?}");
    let hours = Duration::from_secs(13 * 3600);
    aging.pass(hours);
    site.now += hours;
    site.put("a.md", "four\n").await;
    assert_eq!(done(&site.run("four").await), (0, 1, 0));
}

#[tokio::test]
async fn a_version_that_was_overtaken_is_decided_again() {
    let site = Site::with(&[("a.md", "one\n"), ("b.md", "one\n")]).await;
    site.run("one").await;
    site.put("a.md", "two\n").await;
    site.put("b.md", "two\n").await;
    site.built("two").await;
    site.agent_deletes("a.md").await;
    site.agent_puts("b.md", "an agent's\n").await;
    let run = site.publish("two").await.unwrap();
    assert_eq!((done(&run), run.left), ((0, 0, 0), 2), "{:?}", left(&run));
    assert_eq!(left(&site.publish("two").await.unwrap()), left(&run), "it is told again");
    let run = site.run("three").await;
    assert_eq!(site.mirrored().await, map(&[("a.md", "two\n"), ("b.md", "an agent's\n")]), "an edit counts more");
    assert!(left(&run)[0].contains("b.md: the source and the mirror have changed it"), "{:?}", left(&run));
}

#[tokio::test]
async fn what_was_purged_since_a_shard_was_built_is_not_published() {
    let site = Site::with(&[("a.md", "a\n"), ("s.md", "s\n")]).await;
    site.run("one").await;
    site.put("s.md", "secret\n").await;
    site.built("two").await;
    let path = atlas_vault::VaultPath::parse("s.md").unwrap();
    let purge = atlas_mirror::purge::Purge { path, keeps_newest: false };
    site.mirror().purge(&by("owner"), std::slice::from_ref(&purge)).await.unwrap();
    assert!(matches!(site.publish("two").await, Err(BuildError::Purged)));
    // It stops no later one, whatever becomes of history.
    site.delete("s.md").await;
    site.agent_puts("b.md", "b\n").await;
    site.mirror().purge(&by("owner"), &[purge]).await.unwrap();
    site.put("a.md", "three\n").await;
    assert_eq!(done(&site.run("three").await), (0, 1, 0));
}

#[tokio::test]
async fn a_publication_whose_generations_were_collected_stops_others_for_half_a_day() {
    let (aging, mut site) = aging();
    site.put("a.md", "a\n").await;
    site.run("one").await;
    let mirror = site.mirror();
    let publishing = Publishing { run: "two".to_owned(), since: 1, files: 1, time: site.now };
    let begun = Published { publishing: Some(publishing), ..Published::read(&mirror).await.unwrap() };
    begun.write(&mirror).await.unwrap();
    for text in ["two\n", "three\n"] {
        site.agent_puts("b.md", text).await;
    }
    site.objects.delete(&mirror.keys().manifest(2)).await.unwrap();
    let refused = site.plan("three").await.unwrap_err();
    assert!(matches!(refused, BuildError::Mirror(MirrorError::Forgotten { before: 3 })), "{refused:?}");
    let hours = Duration::from_secs(13 * 3600);
    aging.pass(hours);
    site.now += hours;
    site.put("a.md", "four\n").await;
    assert_eq!(done(&site.run("four").await), (0, 1, 0));
}

#[tokio::test]
async fn rules_and_an_emptied_source_are_seen_after_the_plan_too() {
    let site = Site::with(&[("a.md", "a\n"), ("b.md", "b\n")]).await;
    site.run("one").await;
    let shards = site.plan("two").await.unwrap();
    site.put(".atlasignore", "b.md\n").await;
    assert!(matches!(site.build(&shards[0]).await, Err(BuildError::Rules { .. })));
    site.delete(".atlasignore").await;
    site.delete("a.md").await;
    site.delete("b.md").await;
    for shard in &shards {
        site.build(shard).await.unwrap();
    }
    assert!(matches!(site.publish("two").await, Err(BuildError::MassDeletion { lost: 2, of: 2 })));
    assert_eq!(done(&site.publish_whatever("two", true).await.unwrap()), (0, 0, 2));
}

#[tokio::test]
async fn a_shard_that_no_plan_has_is_not_built() {
    let site = Site::with(&[("a.md", "a\n"), ("b.md", "b\n"), ("c.md", "c\n")]).await;
    let mut shard = site.plan("one").await.unwrap().remove(0);
    shard.upto = Some("a.md".to_owned());
    assert!(matches!(site.build(&shard).await, Err(BuildError::Invalid(_))));
}

#[tokio::test]
async fn the_name_of_an_ended_claim_is_not_used_again() {
    let site = Site::with(&[]).await;
    let mirror = site.mirror();
    let records = |run: &'static str| crate::records::Records::of(&mirror, run).unwrap();
    let claim = records("one").claim(None, None, site.now).await.unwrap();
    records("one").end_claim(&claim).await.unwrap();
    mirror.delete_state(&claim).await.unwrap();
    let next = records("two").claim(None, None, site.now).await.unwrap();
    assert_ne!(next, claim);
    assert_eq!(records("two").claim(None, None, site.now).await.unwrap(), next, "a repeated step keeps its claim");
    assert!(matches!(records("three").claim(None, None, site.now).await, Err(BuildError::Claimed { .. })));
}
