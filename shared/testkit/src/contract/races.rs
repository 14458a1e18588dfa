//! Many writers.

use std::collections::BTreeSet;
use std::time::Duration;

use atlas_mirror::CommitInfo;
use futures::future::join_all;

use super::{Place, Site, commit, expect_new, notes_of, whole_history};
use crate::notes::{Delete, Put, by};

pub(super) async fn run(place: &impl Fn() -> Place, writers: usize, commits: usize) {
    no_commit_is_lost(Site::new(place()), writers, commits).await;
    of_writers_of_one_note_the_last_wins(Site::new(place())).await;
}

async fn no_commit_is_lost(site: Site, writers: usize, commits: usize) {
    let tasks = (0..writers).map(|writer| {
        let mirror = site.instance();
        tokio::spawn(async move {
            for number in 0..commits {
                let name = format!("{writer} {number}.md");
                // What a writer adds it may delete again: tombstones race with segments.
                let message = Some(name.clone());
                let info = CommitInfo { message, deadline: Duration::from_secs(600), ..by(&format!("writer {writer}")) };
                let snapshot = match number % 5 {
                    4 => expect_new(mirror.commit(&info, &Delete(format!("{writer} {}.md", number - 1))).await),
                    _ => expect_new(mirror.commit(&info, &Put::note(&name, &name)).await),
                };
                assert_eq!(snapshot.manifest().message, info.message);
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    let history = whole_history(&site.instance()).await;
    assert_eq!(history.len(), writers * commits);
    let messages: BTreeSet<_> = history.iter().map(|snapshot| snapshot.manifest().message.clone()).collect();
    assert_eq!(messages.len(), writers * commits);

    let all = (0..writers).flat_map(|writer| (0..commits).map(move |number| (writer, number)));
    let left = all.filter(|(_, number)| number % 5 != 4 && (number % 5 != 3 || number + 1 == commits));
    let left: BTreeSet<_> = left.map(|(writer, number)| format!("{writer} {number}.md")).collect();
    let notes = notes_of(&site.instance()).await.unwrap();
    assert_eq!(notes.into_keys().collect::<BTreeSet<_>>(), left);
}

async fn of_writers_of_one_note_the_last_wins(site: Site) {
    let tasks = (0..6).map(|writer| {
        let mirror = site.instance();
        async move { commit(&mirror, Put::note("a.md", &format!("by {writer}"))).await.generation() }
    });
    let generations = join_all(tasks).await;
    let (last, _) = generations.iter().enumerate().max_by_key(|(_, generation)| **generation).unwrap();
    let notes = notes_of(&site.instance()).await.unwrap();
    assert_eq!(notes.into_iter().collect::<Vec<_>>(), [("a.md".to_owned(), format!("by {last}"))]);
}
