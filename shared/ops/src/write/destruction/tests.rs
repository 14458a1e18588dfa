use atlas_mirror::Id;
use atlas_mirror::manifest::{Changes, Totals};
use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

/// The manifest of a commit; `by` is none for a sync.
fn manifest(by: Option<&str>, confirmed: bool, origins: BTreeMap<String, Origin>) -> Manifest {
    Manifest {
        format: 1,
        embeddings: None,
        clusters: None,
        vault: "main".parse().unwrap(),
        lineage: Id::from_u128(1),
        generation: 1,
        parent: None,
        nonce: Id::from_u128(2),
        time: Timestamp::UNIX_EPOCH,
        waited_ms: 0,
        author: "someone".to_owned(),
        caller: by.map(str::to_owned),
        confirmed,
        origins,
        operation: "write_note".to_owned(),
        message: None,
        session: None,
        history_from: 0,
        idempotency: None,
        changes: Changes::default(),
        totals: Totals::default(),
        segments: Vec::new(),
    }
}

/// One note, and the commits that wrote it: each with its manifest and the text.
#[derive(Default)]
struct History {
    path: String,
    commits: Vec<(Manifest, String)>,
    /// The path before the newest commit, if that moved the note.
    is_moved: bool,
}

impl History {
    /// A note that `by` created.
    fn created(by: Option<&str>, text: &str) -> Self {
        let commits = vec![(manifest(by, false, BTreeMap::new()), text.to_owned())];
        Self { path: "n.md".to_owned(), commits, is_moved: true }
    }

    fn text(&self) -> &str {
        &self.commits.last().unwrap().1
    }

    fn change(&self, after: Option<(&str, NewState)>) -> DocumentChange {
        let generation = self.commits.len() as u64;
        DocumentChange {
            path: self.path.clone(),
            generation,
            replaces: if self.is_moved { 0 } else { generation - 1 },
            before: Some(self.text().to_owned().into()),
            after: after.map(|(path, state)| (VaultPath::parse(path).unwrap(), state)),
        }
    }

    /// Whether a change by `by` waits for a person; and the origin that it would store.
    fn asks(&self, by: &str, change: &DocumentChange) -> (bool, Option<Origin>) {
        let origin = change.origin(self.commits.last().map(|(manifest, _)| manifest), by);
        let destroys = match change.verdict(&origin) {
            Verdict::Known(destroys) => destroys,
            Verdict::ByOrigin(after) => {
                let before = &self.commits[origin.generation as usize - 1].1;
                change.destroys(Some(&before.clone().into()), after)
            }
        };
        (destroys, change.told(origin))
    }

    /// Writes or moves the note, and returns whether that waited for a person, who approves it if `is_approved`.
    fn commit(&mut self, by: Option<&str>, path: &str, text: &str, is_approved: bool) -> bool {
        let state = if text == self.text() { NewState::Same } else { NewState::Text(text.to_owned().into()) };
        let change = self.change(Some((path, state)));
        let (asks, origin) = by.map_or((false, None), |by| self.asks(by, &change));
        if asks && !is_approved {
            return true;
        }
        let origins = origin.filter(|_| !asks).map(|origin| (path.to_owned(), origin)).into_iter().collect();
        self.is_moved = path != self.path;
        path.clone_into(&mut self.path);
        self.commits.push((manifest(by, asks, origins), text.to_owned()));
        asks
    }

    fn write(&mut self, by: &str, text: &str) -> bool {
        self.commit(Some(by), &self.path.clone(), text, false)
    }
}

fn lines(range: std::ops::Range<usize>) -> String {
    range.map(|n| format!("On day {n} the harbour master wrote {}.\n", n * 7919 % 1009)).collect()
}

#[test]
fn callers_that_take_turns_destroy_nothing_unasked() {
    let mut note = History::created(None, &lines(0..40));
    assert!(!note.write("bot", &lines(0..20)), "half of it is half");
    assert!(note.write("bot2", &lines(0..10)));
    assert!(note.write("bot", &lines(0..19)));
    assert!(!note.write("bot2", &(lines(0..20) + "more\n")));
    assert!(note.write("bot", &(lines(0..10) + "more\n")));
    // From what a person wrote or approved, the next change begins.
    assert!(note.commit(Some("bot"), "n.md", &lines(0..10), true));
    assert!(!note.write("bot2", &lines(0..5)));
    assert!(note.write("bot", &lines(0..4)));
    note.commit(None, "n.md", &lines(0..6), false);
    assert!(!note.write("bot", &lines(0..3)));
}

#[test]
fn a_creation_is_its_callers_own_until_another_changes_it() {
    let mut note = History::created(Some("bot"), &lines(0..40));
    assert!(!note.write("bot", &lines(100..140)));
    let deleted = |note: &History, by: &str| note.asks(by, &note.change(None)).0;
    let trashed = |note: &History, by: &str| note.asks(by, &note.change(Some((".trash/n.md", NewState::Trashed)))).0;
    assert!(!deleted(&note, "bot") && !trashed(&note, "bot"));
    assert!(deleted(&note, "bot2") && trashed(&note, "bot2"));
    assert!(note.write("bot2", "mine\n"));
    assert!(!note.write("bot2", &(lines(100..140) + "more\n")));
    assert!(note.write("bot", "mine\n"));
    assert!(deleted(&note, "bot") && trashed(&note, "bot"));
    let persons = History::created(None, "theirs\n");
    assert!(deleted(&persons, "bot") && trashed(&persons, "bot"));
}

#[test]
fn where_history_has_lost_the_origin_a_loss_is_asked_about() {
    let mut note = History::created(None, &lines(0..40));
    note.write("bot", &lines(0..30));
    let after = |text: &str| note.change(Some(("n.md", NewState::Text(text.to_owned().into()))));
    let change = after(&lines(0..29));
    let origin = change.origin(Some(&note.commits[1].0), "bot2");
    let Verdict::ByOrigin(text) = change.verdict(&origin) else { panic!("{origin:?}") };
    assert!(!change.destroys(Some(&lines(0..40).into()), text) && change.destroys(None, text));
    assert!(matches!(after(&(lines(0..30) + "more\n")).verdict(&origin), Verdict::Known(false)));
}

/// One change of the note: its author (one of three callers, else a person), its kind, its lines, and whether a person approves it.
type Step = (usize, usize, usize, usize, bool);

fn changed(text: &str, (_, how, at, count, _): Step, new: usize) -> String {
    let mut kept: Vec<String> = text.lines().map(str::to_owned).collect();
    let from = at % (kept.len() + 1);
    let to = (from + count).min(kept.len());
    let added = (0..count).map(|n| format!("Something else was there, number {new} and {n}."));
    match how {
        0 => drop(kept.drain(from..to)),
        1 => drop(kept.splice(from..to, added)),
        _ => kept.extend(added.take(3)),
    }
    kept.into_iter().map(|line| line + "\n").collect()
}

proptest! {
    #[test]
    fn no_writes_by_any_callers_destroy_what_a_person_left(
        steps in prop::collection::vec((0..4_usize, 0..4_usize, any::<usize>(), 0..14_usize, prop::bool::weighted(0.1)), 1..60),
    ) {
        let mut note = History::created(None, &lines(0..24));
        let mut left = lines(0..24);
        for (new, step) in steps.into_iter().enumerate() {
            let (who, how, .., is_approved) = step;
            let by = ["bot", "bot2", "bot3"].get(who).copied();
            let path = if how == 3 { format!("n{new}.md") } else { note.path.clone() };
            let text = if how == 3 { note.text().to_owned() } else { changed(note.text(), step, new) };
            if path == note.path && text == note.text() {
                continue;
            }
            let asked = note.commit(by, &path, &text, is_approved);
            if by.is_none() || (asked && is_approved) {
                left = text;
            }
            let loss = loss("n.md", &left.clone().into(), &note.text().to_owned().into());
            prop_assert!(!loss.is_some_and(|loss| loss.is_destruction()), "{left}\n->\n{}", note.text());
        }
    }
}
