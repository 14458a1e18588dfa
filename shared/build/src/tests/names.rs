//! Which objects belong to the vault, and how they are spelled: as in a sync.

use super::*;

#[tokio::test]
async fn what_belongs_to_the_vault_is_what_belongs_to_it_in_a_sync() {
    let site = Site::with(&[
        ("a.md", "a\n"),
        ("plan.canvas", "{}"),
        ("picture.png", "png"),
        ("nul.json", "a\0b"),
        (".obsidian/app.json", "{}"),
        (".obsidian/workspace.json", "{}"),
        (".obsidian/plugins/quickadd/data.json", "{\"apiKey\":\"sk-1\"}"),
        (".trash/gone.md", "gone\n"),
        (".git/config", "x"),
        ("a/.hidden/b.md", "b\n"),
        (".DS_Store", "x"),
        ("bad:name?.md", "fine in S3\n"),
    ])
    .await;
    site.put("large.json", vec![b' '; (1 << 20) + 1]).await;
    site.put("latin1.md", b"caf\xe9\n").await;
    // A marker of a folder, as consoles leave them.
    site.put("folder", "").await;
    let run = site.run("one").await;
    let all = site.all().await;
    let kinds: Vec<(&str, atlas_segment::Kind)> =
        all.iter().map(|(path, documents)| (path.as_str(), documents[0].kind)).collect();
    use atlas_segment::Kind::{Attachment, Config, Note, Text};
    assert_eq!(
        kinds,
        [
            (".obsidian/app.json", Config),
            ("a.md", Note),
            ("bad:name?.md", Note),
            ("folder", Attachment),
            ("large.json", Attachment),
            ("latin1.md", Note),
            ("nul.json", Attachment),
            ("picture.png", Attachment),
            ("plan.canvas", Text),
        ]
    );
    assert_eq!(run.left, 1, "{:?}", left(&run));
    assert!(left(&run)[0].contains("API key"), "{:?}", left(&run));
    let mirrored = site.mirrored().await;
    assert_eq!((mirrored["picture.png"].as_str(), mirrored["nul.json"].as_str()), ("png", "a\0b"));
    assert_eq!(mirrored["large.json"].len(), (1 << 20) + 1);
    assert_eq!(done(&site.run("two").await), (0, 0, 0));
}

#[tokio::test]
async fn an_invalid_name_and_an_unreadable_file_are_told_and_stop_nothing() {
    let long = format!("{}.md", "x".repeat(600));
    let site = Site::with(&[("a.md", "a\n"), (&long, "long\n"), ("b.md", "b\n")]).await;
    let run = site.run("one").await;
    assert_eq!((done(&run), run.left), ((2, 0, 0), 1), "{:?}", left(&run));
    assert!(left(&run)[0].starts_with("xxx"), "{:?}", left(&run));
}

#[tokio::test]
async fn a_configuration_that_becomes_secret_keeps_its_version_in_the_mirror() {
    let quickadd = ".obsidian/plugins/quickadd/data.json";
    let site = Site::with(&[(quickadd, "{}"), ("a.md", "a\n")]).await;
    site.run("one").await;
    site.put(quickadd, "{\"apiKey\":\"sk-1\"}").await;
    let run = site.run("two").await;
    assert_eq!((done(&run), run.left), ((0, 0, 0), 1));
    let run = site.run("three").await;
    assert_eq!((done(&run), run.left), ((0, 0, 0), 1), "it is read again until it is well");
    site.put(quickadd, "{\"a\":1}").await;
    assert_eq!(done(&site.run("four").await), (0, 1, 0));
}

#[tokio::test]
async fn of_two_spellings_of_a_name_one_counts() {
    // Two shards, since one key sorts among the ASCII letters.
    let (composed, decomposed) = ("caf\u{e9}.md", "cafe\u{301}.md");
    let site = Site::with(&[(decomposed, "decomposed\n"), ("b.md", "b\n"), ("z.md", "z\n")]).await;
    assert_eq!(done(&site.run("one").await), (3, 0, 0));
    assert_eq!(site.text(decomposed).await.unwrap(), "decomposed\n", "as the source spells it");
    site.put(composed, "composed\n").await;
    // The mirror has the one that it had.
    let run = site.run("two").await;
    assert_eq!(run.left, 2, "{:?}", left(&run));
    let all = site.all().await;
    assert_eq!((all.len(), all[composed].len()), (3, 1));
    // What only changes its spelling is neither lost nor twice.
    site.delete(decomposed).await;
    site.run("three").await;
    let all = site.all().await;
    assert_eq!((all.len(), all.get(composed).map(Vec::len)), (3, Some(1)));
    site.put(decomposed, "decomposed again\n").await;
    site.delete(composed).await;
    site.run("four").await;
    let all = site.all().await;
    assert_eq!((all.len(), all.get(composed).map(Vec::len)), (3, Some(1)));
}

#[tokio::test]
async fn of_two_unusual_spellings_in_two_shards_one_counts() {
    let (first, second) = ("e\u{301}\u{e0}.md", "\u{e9}a\u{300}.md");
    let site = Site::with(&[(first, "first\n"), ("a.md", "a\n"), ("z.md", "z\n"), (second, "second\n")]).await;
    assert_eq!(site.plan("one").await.unwrap().len(), 2, "each is in another shard");
    let run = site.run("one").await;
    assert_eq!((done(&run), run.left), ((3, 0, 0), 1), "{:?}", left(&run));
    assert!(site.all().await.values().all(|documents| documents.len() == 1));
    assert_eq!(site.text(first).await.unwrap(), "first\n");
}

#[tokio::test]
async fn rules_that_exclude_files_stop_the_run() {
    let site = Site::with(&[("a.md", "a\n"), ("private/.atlasignore", "*\n"), ("private/b.md", "b\n")]).await;
    let error = site.plan("one").await.unwrap_err().to_string();
    assert!(error.contains("private/.atlasignore"), "{error}");
}

#[tokio::test]
async fn a_runs_name_is_plain() {
    let site = Site::with(&[("a.md", "a\n")]).await;
    for bad in ["", "a/b", "..", "published", &"x".repeat(101)] {
        assert!(matches!(site.plan(bad).await, Err(BuildError::Invalid(_))), "{bad:?} passed");
    }
}
