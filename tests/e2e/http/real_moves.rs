//! Notes of a real vault that move and come back, on the `hub` of `ATLAS_CORPORA` when it is set: the most linked one,
//! and others drawn with a fixed seed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use atlas_segment::Kind;
use atlas_testkit::notes::{contents_where, records};
use atlas_vault::resolve::{Files, names, resolve};
use atlas_vault::{Link, VaultPath, fold};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::note_calls::{move_note, notes};
use crate::support::tools::Tools;

/// Number of notes drawn.
const DRAWN: usize = 200;

type Hashes = BTreeMap<String, [u8; 32]>;

/// The hash of every file, as a new process reads it.
async fn hashes(deployment: &Deployment) -> Hashes {
    let records = records(&deployment.mirror().head().await.unwrap()).await.unwrap();
    records.into_iter().map(|(path, record)| (path, record.sha256)).collect()
}

/// The notes that link to one, and how often each does.
async fn backlinks(tools: &Tools<'_>, path: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut call = json!({ "path": path, "limit": 1000 });
    loop {
        let page = tools.good("get_backlinks", call.clone()).await;
        all.extend(page["items"].as_array().unwrap().iter().cloned());
        match page.get("cursor") {
            Some(cursor) => call["cursor"] = cursor.clone(),
            None => return all,
        }
    }
}

/// A vault, and the meanings of its links.
struct Vault {
    texts: BTreeMap<VaultPath, String>,
    files: Files,
    /// By file name: all links that may mean such a file, each with its note and target.
    by_name: HashMap<String, Vec<(VaultPath, String)>>,
}

impl Vault {
    async fn of(deployment: &Deployment) -> Self {
        let head = deployment.mirror().head().await.unwrap();
        let shown = records(&head).await.unwrap().into_values().filter(|record| record.kind != Kind::Config);
        let files: Files = shown.map(|record| VaultPath::parse(&record.path).unwrap()).collect();
        let texts = notes(deployment).await.into_iter().map(|(path, text)| (VaultPath::parse(&path).unwrap(), text));
        let texts: BTreeMap<VaultPath, String> = texts.filter(|(path, _)| path.is_note()).collect();
        let mut by_name: HashMap<String, Vec<(VaultPath, String)>> = HashMap::new();
        for (path, text) in &texts {
            for Link { target, .. } in internal(text) {
                names(&target).for_each(|name| by_name.entry(name).or_default().push((path.clone(), target.clone())));
            }
        }
        Self { texts, files, by_name }
    }

    /// The notes by number of links to them, the most linked last.
    fn by_links(&self) -> Vec<VaultPath> {
        let mut counts: HashMap<&VaultPath, BTreeSet<(&VaultPath, &String)>> = HashMap::new();
        for (from, target) in self.by_name.values().flatten() {
            if let Some(meant) = resolve(target, from, &self.files).filter(|meant| meant.is_note() && *meant != from) {
                counts.entry(meant).or_default().insert((from, target));
            }
        }
        let mut notes: Vec<&VaultPath> = self.texts.keys().collect();
        notes.sort_by_key(|note| (counts.get(note).map_or(0, BTreeSet::len), *note));
        notes.into_iter().cloned().collect()
    }

    /// Fails unless, after the move from `from` to `to`, the `texts` of the changed notes have the same links with the
    /// same meanings and no other changes, and the links of unchanged notes keep their meanings.
    fn check(&mut self, from: &VaultPath, to: &VaultPath, texts: &BTreeMap<VaultPath, String>) {
        let way = |path: &VaultPath| if path == from { to.clone() } else { path.clone() };
        let may_change = |path: &VaultPath| path == from || fold(path.file_name()) == fold(to.file_name());
        let touched: BTreeSet<String> = [from, to].map(|path| fold(path.file_name())).into();
        let links = touched.iter().filter_map(|name| self.by_name.get(name)).flatten();
        let meant = links.clone().map(|(note, target)| resolve(target, note, &self.files).map(way));
        let meant: Vec<Option<VaultPath>> = meant.collect();
        let mut olds: BTreeMap<&VaultPath, Vec<Option<VaultPath>>> = BTreeMap::new();
        for note in texts.keys() {
            let old = internal(&self.texts[note]).map(|link| resolve(&link.target, note, &self.files).cloned());
            olds.insert(note, old.collect());
        }
        self.files.remove(from);
        self.files.insert(to.clone());
        for ((note, target), meant) in links.zip(meant).filter(|((note, _), _)| !texts.contains_key(note)) {
            let now = resolve(target, note, &self.files);
            assert!(meant.is_none() || meant.as_ref() == now, "{from} to {to}: {target:?} in {note} means {now:?}");
        }
        for (note, text) in texts {
            let (old, here) = (&self.texts[note], way(note));
            let why = format!("{from} to {to}: {note}");
            assert_eq!(without_targets(old), without_targets(text), "{why}");
            let (before, after): (Vec<Link>, Vec<Link>) = (internal(old).collect(), internal(text).collect());
            assert_eq!(before.len(), after.len(), "{why}");
            for ((old, new), meant) in before.iter().zip(&after).zip(&olds[note]) {
                assert_eq!((old.kind, &old.subpath, &old.display), (new.kind, &new.subpath, &new.display), "{why}");
                let now = resolve(&new.target, &here, &self.files);
                match meant {
                    Some(meant) => assert_eq!(Some(&way(meant)), now, "{why}: {old:?} became {new:?}"),
                    None => assert_eq!(old.target, new.target, "{why}"),
                }
                let may = note == from || meant.as_ref().is_some_and(may_change);
                assert!(may || old.target == new.target, "{why}: {old:?} became {new:?}");
            }
        }
        self.files.remove(to);
        self.files.insert(from.clone());
    }
}

/// The links of a note to files of its vault.
fn internal(text: &str) -> impl Iterator<Item = Link> {
    atlas_vault::parse(text).links.into_iter().filter(|link| !link.is_external() && !link.target.is_empty())
}

/// A note's text around the targets of its links.
fn without_targets(text: &str) -> Vec<&str> {
    let places: BTreeMap<usize, usize> =
        internal(text).map(|link| (link.destination.start, link.destination.end)).collect();
    let begins = [0].into_iter().chain(places.values().copied());
    begins.zip(places.keys().copied().chain([text.len()])).map(|(begin, end)| &text[begin..end]).collect()
}

/// The destination of `from`: another folder, another name, both, or the name of another note.
fn elsewhere(from: &VaultPath, other: &VaultPath, kind: usize, taken: &Hashes) -> VaultPath {
    let name = match kind {
        0 => from.file_name().to_owned(),
        1 => other.file_name().to_owned(),
        _ => format!("Some (new) name é, {}", from.file_name()),
    };
    let folder = if kind == 2 { from } else { other }.folder().unwrap_or_default();
    let paths = [folder, "moved here/and there"].map(|folder| format!("{folder}/{name}"));
    let free = paths.iter().map(|path| path.trim_start_matches('/')).find(|path| !taken.contains_key(*path));
    VaultPath::parse(free.unwrap()).unwrap()
}

#[tokio::test]
async fn notes_of_a_real_vault_go_somewhere_and_come_back() {
    let Some(corpora) = std::env::var_os("ATLAS_CORPORA").map(PathBuf::from) else {
        println!("skipped: ATLAS_CORPORA is not set");
        return;
    };
    let deployment = Deployment::of(&corpora.join("hub")).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let mut vault = Vault::of(&deployment).await;
    let before = hashes(&deployment).await;
    let by_links = vault.by_links();
    let drawn = prop::collection::vec((any::<Index>(), any::<Index>(), 0..4_usize), DRAWN);
    let drawn = drawn.new_tree(&mut TestRunner::deterministic()).unwrap().current();
    let drawn = drawn.iter().map(|(from, other, kind)| (from.get(&by_links), other.get(&by_links), *kind));
    let best = by_links.last().unwrap();
    let mut rewritten = Vec::new();
    for (from, other, kind) in [(best, &by_links[0], 3)].into_iter().chain(drawn) {
        let to = elsewhere(from, other, kind, &before);
        let linking = backlinks(&tools, from.as_str()).await;
        let there = move_note(&client, from.as_str(), json!({ "to": to.as_str() })).await.ok();
        rewritten.push(there["links"].as_u64().unwrap());
        let moved = hashes(&deployment).await;
        let head = deployment.mirror().head().await.unwrap();
        let changed = contents_where(&head, |path| before.get(path) != moved.get(path)).await.unwrap();
        let was = |path: String| if path == to.as_str() { from.clone() } else { VaultPath::parse(&path).unwrap() };
        let texts: BTreeMap<VaultPath, String> = changed.into_iter().map(|(path, text)| (was(path), text)).collect();
        assert_eq!(moved.len(), before.len(), "{from} to {to}");
        assert!(texts.contains_key(from) && !moved.contains_key(from.as_str()), "{from} to {to}");
        vault.check(from, &to, &texts);
        assert_eq!(backlinks(&tools, to.as_str()).await, linking, "{from} to {to}");
        move_note(&client, to.as_str(), json!({ "to": from.as_str() })).await.ok();
        let back = hashes(&deployment).await;
        let differing: Vec<&String> = before.keys().filter(|path| before.get(*path) != back.get(*path)).collect();
        assert!(differing.is_empty() && back.len() == before.len(), "{from} to {to} and back: {differing:?}");
    }
    println!("{best}: {} links rewritten; {} of {DRAWN} drawn notes", rewritten[0], rewritten[1..].iter().sum::<u64>());
    assert!(rewritten[0] > 100 && rewritten[1..].iter().sum::<u64>() > 200, "{rewritten:?}");
}
