//! Many writers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use atlas_mirror::CommitInfo;
use futures::future::join_all;

use super::{Site, StorePrefix, commit, expect_new, notes_of, whole_history};
use crate::notes::{Delete, Put, by};

pub(super) async fn run(place: &impl Fn() -> StorePrefix, writers: usize, commits: usize) {
    let begun = Instant::now();
    no_commit_is_lost(Site::new(place()), writers, commits).await;
    println!("{writers} writers, {commits} commits each: {:.1?}", begun.elapsed());
    of_writers_of_one_note_the_last_wins(Site::new(place())).await;
}

/// Each writer creates and deletes three notes of its own: every commit adds a segment, and most drop one.
async fn no_commit_is_lost(site: Site, writers: usize, commits: usize) {
    let tasks = (0..writers).map(|writer| {
        let mirror = site.instance();
        tokio::spawn(async move {
            let mut mine = BTreeMap::new();
            for number in 0..commits {
                let name = format!("{writer} {}.md", number % 3);
                let message = Some(format!("{writer} {number}"));
                let info =
                    CommitInfo { message, deadline: Duration::from_secs(600), ..by(&format!("writer {writer}")) };
                let committed = if mine.contains_key(&name) && number % 5 == 4 {
                    mine.remove(&name);
                    mirror.commit(&info, &Delete(name)).await
                } else {
                    let text = format!("number {number}");
                    mine.insert(name.clone(), text.clone());
                    mirror.commit(&info, &Put::note(&name, &text).and(&format!("{writer} also.md"), &text)).await
                };
                assert_eq!(expect_new(committed).manifest().message, info.message);
            }
            mine
        })
    });
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for task in join_all(tasks).await {
        all.extend(task.unwrap());
    }
    let history = whole_history(&site.instance()).await;
    assert_eq!(history.len(), writers * commits);
    let messages: BTreeSet<_> = history.iter().map(|snapshot| snapshot.manifest().message.clone()).collect();
    assert_eq!(messages.len(), writers * commits);
    let mut notes = notes_of(&site.instance()).await.unwrap();
    notes.retain(|name, _| !name.ends_with("also.md"));
    assert_eq!(notes, all);
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
