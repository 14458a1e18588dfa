//! What agents change in the mirror, beside what changes in the source.

use super::*;

const FILES: [(&str, &str); 3] = [("a.md", "a\n"), ("b.md", "b\n"), ("c.md", "c\n")];

#[tokio::test]
async fn a_write_between_build_and_publication_is_not_lost() {
    let site = Site::with(&FILES).await;
    site.run("one").await;
    site.put("a.md", "source\n").await;
    site.put("b.md", "source\n").await;
    site.delete("c.md").await;
    site.built("two").await;
    site.agent_puts("a.md", "agent\n").await;
    site.agent_puts("c.md", "agent\n").await;
    site.agent_puts("new.md", "agent\n").await;
    let run = site.publish("two").await.unwrap();
    assert_eq!((done(&run), run.left), ((0, 1, 0), 2), "{:?}", left(&run));
    assert!(left(&run)[0].starts_with("a.md: it was changed in the mirror"), "{:?}", left(&run));
    let expected = [("a.md", "agent\n"), ("b.md", "source\n"), ("c.md", "agent\n"), ("new.md", "agent\n")];
    assert_eq!(site.mirrored().await, map(&expected));
    // Nor is it later, and the source's next change is told as a conflict.
    site.put("a.md", "source again\n").await;
    let run = site.run("three").await;
    assert_eq!(site.mirrored().await, map(&expected));
    assert!(left(&run)[0].contains("changed it differently"), "{:?}", left(&run));
}

#[tokio::test]
async fn a_new_note_that_an_agent_writes_first_stays_the_agents() {
    let site = Site::with(&FILES).await;
    site.built("one").await;
    site.agent_puts("b.md", "agent\n").await;
    let run = site.publish("one").await.unwrap();
    assert_eq!((done(&run), run.left), ((2, 0, 0), 1));
    assert_eq!(site.text("b.md").await.unwrap(), "agent\n");
    assert_eq!(site.head().await.manifest().totals.notes, 3);
}

#[tokio::test]
async fn an_equal_write_meanwhile_is_no_conflict() {
    let site = Site::with(&FILES).await;
    site.built("one").await;
    site.agent_puts("b.md", "b\n").await;
    let run = site.publish("one").await.unwrap();
    assert_eq!((done(&run), run.left), ((2, 0, 0), 0));
    let all = site.all().await;
    assert_eq!(all.values().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
}

#[tokio::test]
async fn an_agents_change_stays_while_the_source_is_as_it_was() {
    let site = Site::with(&FILES).await;
    site.run("one").await;
    site.agent_puts("a.md", "agent\n").await;
    site.agent_deletes("b.md").await;
    for run in ["two", "three"] {
        let run = site.run(run).await;
        assert_eq!((done(&run), run.left), ((0, 0, 0), 2), "{:?}", left(&run));
        assert_eq!(site.mirrored().await, map(&[("a.md", "agent\n"), ("c.md", "c\n")]));
    }
    // An edit of the source beats a deletion in the mirror, as in a sync.
    site.put("b.md", "b again\n").await;
    let run = site.run("four").await;
    assert_eq!(done(&run), (1, 0, 0));
    assert_eq!(site.text("b.md").await.unwrap(), "b again\n");
}

#[tokio::test]
async fn a_conflict_is_told_until_it_is_over() {
    let site = Site::with(&FILES).await;
    site.run("one").await;
    site.agent_puts("a.md", "agent\n").await;
    site.put("a.md", "source\n").await;
    for run in ["two", "three"] {
        let run = site.run(run).await;
        assert!(left(&run)[0].contains("changed it differently"), "{:?}", left(&run));
        assert_eq!(site.text("a.md").await.unwrap(), "agent\n");
    }
    site.put("a.md", "agent\n").await;
    assert_eq!(site.run("four").await.left, 0);
    site.put("a.md", "source again\n").await;
    assert_eq!(done(&site.run("five").await), (0, 1, 0), "once equal, the source leads again");
}

#[tokio::test]
async fn of_a_conflict_the_sources_version_comes_when_the_mirrors_is_deleted() {
    let site = Site::with(&FILES).await;
    site.agent_puts("a.md", "agent\n").await;
    let run = site.run("one").await;
    assert_eq!((done(&run), run.left), ((2, 0, 0), 1));
    site.agent_deletes("a.md").await;
    assert_eq!(done(&site.run("two").await), (1, 0, 0));
    assert_eq!(site.text("a.md").await.unwrap(), "a\n");
}

#[tokio::test]
async fn a_deletion_in_the_source_does_not_take_an_agents_edit() {
    let site = Site::with(&FILES).await;
    site.run("one").await;
    site.agent_puts("a.md", "agent\n").await;
    site.delete("a.md").await;
    site.delete("b.md").await;
    let run = site.run("two").await;
    assert_eq!((done(&run), run.left), ((0, 0, 1), 1), "{:?}", left(&run));
    assert_eq!(site.mirrored().await, map(&[("a.md", "agent\n"), ("c.md", "c\n")]));
}

#[tokio::test]
async fn lost_records_delete_and_overwrite_nothing() {
    let site = Site::with(&FILES).await;
    site.run("one").await;
    let mirror = site.mirror();
    for record in mirror.list_state("builds", None).await.unwrap() {
        mirror.delete_state(&format!("builds/{}", record.name)).await.unwrap();
    }
    site.put("a.md", "source\n").await;
    site.delete("b.md").await;
    let run = site.run("two").await;
    assert_eq!((done(&run), run.left), ((0, 0, 0), 1), "{:?}", left(&run));
    assert_eq!(site.mirrored().await, map(&FILES));
}

#[tokio::test]
async fn a_mirror_that_was_begun_anew_is_filled_again() {
    let site = Site::with(&FILES).await;
    site.run("one").await;
    for folder in ["manifests", "segments"] {
        let folder = Path::from(format!("vaults/main/{folder}"));
        let listed = site.objects.list_with_delimiter(Some(&folder)).await.unwrap();
        for object in listed.objects {
            site.objects.delete(&object.location).await.unwrap();
        }
    }
    site.objects.delete(&Path::from("vaults/main/latest")).await.unwrap();
    let run = site.run("two").await;
    assert_eq!((run.generation, done(&run)), (1, (3, 0, 0)));
    assert_eq!(site.mirrored().await, map(&FILES));
}
