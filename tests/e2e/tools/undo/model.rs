//! Any history of some callers and sessions, with moves, is undone as a model says.

use std::collections::BTreeMap;

use atlas_testkit::VaultBuilder;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::whole::done;
use super::{ERA, text};
use crate::support::agent::Agent;
use crate::support::deployment::Deployment;
use crate::support::random::cases;

/// The session whose work is undone.
const UNDONE: usize = 0;
/// Two sessions of one caller, and a person.
const WHO: [(&str, Option<&str>); 3] = [("bot", Some("one")), ("bot", Some("two")), ("ida", None)];
const NOTES: usize = 4;

/// A change of one of a few notes.
#[derive(Clone, Debug)]
enum Act {
    Write(usize, u8),
    Delete(usize),
    Move(usize, usize),
}

fn acts() -> impl Strategy<Value = Vec<(usize, Act)>> {
    let act = prop_oneof![
        3 => (0..NOTES, any::<u8>()).prop_map(|(note, text)| Act::Write(note, text)),
        1 => (0..NOTES).prop_map(Act::Delete),
        3 => (0..NOTES, 0..NOTES).prop_map(|(from, to)| Act::Move(from, to)),
    ];
    prop::collection::vec((0..WHO.len(), act), 1..14)
}

/// The commits, the oldest first: whose each is, and the texts of the notes that it changed.
type Commits = Vec<(usize, BTreeMap<usize, Option<String>>)>;

/// The text of each note after the commits before `end`.
fn state(commits: &Commits, end: usize) -> BTreeMap<usize, Option<String>> {
    commits.iter().take(end).flat_map(|(_, changed)| changed.clone()).collect()
}

/// The texts after an undo: each commit is undone, from the newest on, of whose notes none was changed by a commit that
/// stays; a commit that changed one note stays or goes by itself.
fn undone(commits: &Commits) -> BTreeMap<usize, Option<String>> {
    let mut texts = state(commits, commits.len());
    let mut stays: Vec<usize> = Vec::new();
    for (at, (who, changed)) in commits.iter().enumerate().rev() {
        if *who == UNDONE && changed.keys().all(|note| !stays.contains(note)) {
            let before = state(commits, at);
            texts.extend(changed.keys().map(|note| (*note, before.get(note).cloned().flatten())));
        } else {
            stays.extend(changed.keys().copied());
        }
    }
    texts
}

fn call(who: usize, mut arguments: Value) -> (&'static str, Value) {
    let (name, session) = WHO[who];
    if let Some(session) = session {
        arguments["session"] = session.into();
    }
    (name, arguments)
}

#[test]
fn any_history_is_taken_back_as_a_model_says() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(cases(24));
    let result = runner.run(&acts(), |acts| {
        runtime.block_on(async {
            let deployment = Deployment::of_vault(&VaultBuilder::new().note("keep.md", "K\n")).await;
            let app = deployment.app();
            let client = deployment.client();
            let host = Agent::new(&client, ERA);
            let path = |note: usize| format!("n{note}.md");
            let mut commits = Commits::new();
            for (at, (who, act)) in acts.iter().enumerate() {
                let there = state(&commits, commits.len());
                let now = |note: &usize| there.get(note).cloned().flatten();
                let (operation, arguments, changed) = match act {
                    Act::Write(note, text) => {
                        let text = format!("{text} {at}\n");
                        let mut arguments = json!({ "path": path(*note), "content": text });
                        if now(note).is_some() {
                            arguments["if_match"] = "*".into();
                        }
                        ("write_note", arguments, vec![(*note, Some(text))])
                    }
                    Act::Delete(note) if now(note).is_some() => {
                        ("delete_note", json!({ "path": path(*note) }), vec![(*note, None)])
                    }
                    Act::Move(from, to) if now(from).is_some() && now(to).is_none() => {
                        let arguments = json!({ "from": path(*from), "to": path(*to) });
                        ("move_note", arguments, vec![(*from, None), (*to, now(from))])
                    }
                    _ => continue,
                };
                let (name, arguments) = call(*who, arguments);
                done(&app, name, operation, arguments).await.unwrap();
                commits.push((*who, changed.into_iter().collect()));
            }
            if !commits.iter().any(|(who, _)| *who == UNDONE) {
                return Ok(());
            }
            let undo = json!({ "of_session": WHO[UNDONE].1, "upto": 99, "dry_run": false });
            let told = done(&app, "ida", "undo_changes", undo).await.unwrap();
            for (note, expected) in undone(&commits) {
                prop_assert_eq!(text(&host, &path(note)).await, expected, "{} {:?} {}", note, commits, told);
            }
            Ok(())
        })
    });
    result.unwrap();
}
