//! `search` for words beside a scorer that reads every note for every query: the same notes in the same order with the same scores,
//! whatever the index leaves out on its way.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment};
use crate::support::random;
use atlas_testkit::VaultBuilder;

/// Words of the vaults. Those with one stem stand together.
const STEMS: [&[&str]; 6] =
    [&["tide", "tides"], &["harbour", "harbours"], &["moor", "mooring", "moored"], &["quay"], &["frost"], &["signal"]];
/// A word that every text of English has.
const COMMON: &str = "the";

/// As the search has them.
const WEIGHTS: [f32; 8] = [1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 24.0, 48.0];
const LOOKED_AT: usize = 64;

type Words = Vec<&'static str>;

/// A note: the text before its headings, headings with the texts below them, and the notes that it links to, by number.
#[derive(Clone, Debug)]
struct Note {
    name: Words,
    first: Words,
    sections: Vec<(Words, Words)>,
    links: Vec<usize>,
}

impl Note {
    fn name(&self, number: usize) -> String {
        format!("{number:03} {}", self.name.join(" ")).trim_end().to_owned()
    }

    fn text(&self, names: &[String]) -> String {
        let links: String = self.links.iter().map(|to| format!("[[{}]]\n", names[to % names.len()])).collect();
        let sections =
            self.sections.iter().map(|(heading, text)| format!("# {}\n\n{}\n", heading.join(" "), text.join(" ")));
        format!("{}\n{links}{}", self.first.join(" "), sections.collect::<String>())
    }
}

fn words(most: usize) -> impl Strategy<Value = Words> {
    let all: Words = STEMS.iter().flat_map(|stem| stem.iter().copied()).chain([COMMON]).collect();
    prop::collection::vec(prop::sample::select(all), 0..most)
}

fn note() -> impl Strategy<Value = Note> {
    let sections = prop::collection::vec(
        (prop::collection::vec(prop::sample::select(vec!["tide", "quay", "moored"]), 1..3), words(20)),
        0..4,
    );
    (words(3), words(30), sections, prop::collection::vec(any::<usize>(), 0..3))
        .prop_map(|(name, first, sections, links)| Note { name, first, sections, links })
}

/// A note as the exhaustive scorer sees it.
struct Read {
    path: String,
    name: String,
    weights: BTreeMap<String, f32>,
    length: f32,
    /// For each passage its number of words, its words, and those of its heading.
    passages: Vec<(f32, HashSet<String>, HashSet<String>)>,
    linking: usize,
}

fn words_of(text: &str) -> impl Iterator<Item = String> {
    atlas_vault::words(text).map(|word| word.folded.into_owned())
}

fn read(notes: &[Note]) -> Vec<Read> {
    let names: Vec<String> = notes.iter().enumerate().map(|(number, note)| note.name(number)).collect();
    let read_one = |(number, note): (usize, &Note)| {
        let text = note.text(&names);
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        words_of(&text).for_each(|word| *counts.entry(word).or_default() += 1);
        words_of(&names[number]).for_each(|word| *counts.entry(word).or_default() += 5);
        for (heading, _) in &note.sections {
            heading.iter().for_each(|word| *counts.entry((*word).to_owned()).or_default() += 2);
        }
        let level = |count: u32| WEIGHTS.into_iter().rfind(|weight| *weight <= count as f32).unwrap();
        let mut passages: Vec<(f32, HashSet<String>, HashSet<String>)> = Vec::new();
        for part in text.split("# ").enumerate() {
            let (heading, _) = if part.0 == 0 { ("", "") } else { part.1.split_once('\n').unwrap() };
            passages.push((words_of(part.1).count() as f32, words_of(part.1).collect(), words_of(heading).collect()));
        }
        let is_linking =
            |(from, other): &(usize, &Note)| *from != number && other.links.iter().any(|to| to % notes.len() == number);
        Read {
            path: format!("{}.md", names[number]),
            name: names[number].clone(),
            weights: counts.into_iter().map(|(word, count)| (word, level(count))).collect(),
            length: words_of(&text).count() as f32,
            passages,
            linking: notes.iter().enumerate().filter(is_linking).count(),
        }
    };
    notes.iter().enumerate().map(read_one).collect()
}

/// The words of each half of a searched word, with the half's part of the score: its own, and those with its stem.
fn halves(word: &str, notes: &[Read]) -> [(f32, Vec<String>); 2] {
    let stem = STEMS.iter().find(|stem| stem.contains(&word)).map_or(&[][..], |stem| *stem);
    let is_there = |word: &&&str| notes.iter().any(|note| note.weights.contains_key(**word));
    let all: Vec<String> = stem.iter().filter(is_there).map(|word| (*word).to_owned()).collect();
    let own: Vec<String> =
        notes.iter().any(|note| note.weights.contains_key(word)).then(|| word.to_owned()).into_iter().collect();
    if all.len() == own.len() || word == COMMON {
        [(1.0, own), (0.0, Vec::new())]
    } else {
        [(1.0 - 0.6, own), (0.6, all)]
    }
}

fn trigrams(words: impl Iterator<Item = String>) -> BTreeSet<[char; 3]> {
    words
        .flat_map(|word| {
            format!("  {word} ")
                .chars()
                .collect::<Vec<_>>()
                .windows(3)
                .map(|of| [of[0], of[1], of[2]])
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The paths of all notes with any of the words, best first, with their scores.
fn exhaustive(notes: &[Read], query: &[&str]) -> Vec<(String, f32)> {
    let all = notes.len() as f32;
    let average = notes.iter().map(|note| note.length).sum::<f32>() / all;
    let weight = |note: &Read, of: &[String]| of.iter().filter_map(|word| note.weights.get(word)).sum::<f32>();
    let mut worths = Vec::new();
    for word in query {
        let share = if *word == COMMON { 0.1 } else { 1.0 };
        for (part, of) in halves(word, notes) {
            let count = notes.iter().filter(|note| weight(note, &of) > 0.0).count() as f32;
            worths.push((*word, part * share * ((all - count + 0.5) / (count + 0.5)).ln_1p(), count > 0.0, of));
        }
    }
    let total: f32 = worths.iter().filter(|(_, _, is_there, _)| *is_there).map(|(_, worth, ..)| worth).sum();
    let mut scored: Vec<(f32, &Read)> = Vec::new();
    for note in notes {
        let norm = 1.2 * (1.0 - 0.85 + 0.85 * note.length / average.max(1.0));
        let (mut score, mut covered, mut has) = (0.0f32, 0.0f32, false);
        for (_, worth, _, of) in &worths {
            let weight = weight(note, of);
            if weight > 0.0 {
                score += worth * weight * (1.2 + 1.0) / (weight + norm);
                (covered, has) = (covered + worth, true);
            }
        }
        if total > 0.0 && score > 0.0 {
            score *= 1.0 - 0.1 + 0.1 * covered / total;
        }
        if has {
            scored.push((score, note));
        }
    }
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.path.cmp(&other.1.path)));
    let looked_at = scored.len().min(LOOKED_AT);
    for (score, note) in &mut scored[..looked_at] {
        let mut best = 0.0f32;
        for (length, text, heading) in &note.passages {
            let norm = 0.8 * (1.0 - 0.3 + 0.3 * length / 150.0);
            let mut own = 0.0;
            for (_, worth, _, of) in worths.iter().filter(|(word, ..)| *word != COMMON) {
                if of.iter().any(|word| text.contains(word)) {
                    let weight = if of.iter().any(|word| heading.contains(word)) { 1.5 } else { 1.0 };
                    own += worth * weight * (0.8 + 1.0) / (weight + norm);
                }
            }
            best = best.max(own);
        }
        // A note of one passage has it also by its name.
        if let ([(length, ..)], [_, ..]) = (note.passages.as_slice(), worths.as_slice()) {
            let norm = 0.8 * (1.0 - 0.3 + 0.3 * length / 150.0);
            let has = |(word, _, _, of): &&(&str, f32, bool, Vec<String>)| *word != COMMON && weight(note, of) > 0.0;
            best = worths.iter().filter(has).map(|(_, worth, ..)| worth * (0.8 + 1.0) / (1.0 + norm)).sum();
        }
        *score += 0.7 * best;
    }
    let best = scored[..looked_at].iter().map(|(score, _)| *score).fold(0.0, f32::max);
    let asked = trigrams(query.iter().filter(|word| **word != COMMON).map(|word| (*word).to_owned()));
    for (score, note) in &mut scored[..looked_at] {
        let named = trigrams(words_of(&note.name));
        let likeness = 2.0 * asked.intersection(&named).count() as f32 / (asked.len() + named.len()).max(1) as f32;
        *score += 0.3 * best * likeness;
        *score += *score * 0.05 * (note.linking as f32).ln_1p() / 101f32.ln();
    }
    scored[..looked_at].sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.path.cmp(&other.1.path)));
    scored.into_iter().map(|(score, note)| (note.path.clone(), score)).collect()
}

async fn pages(client: &Client, query: &str, limit: usize) -> Vec<(String, f32)> {
    let mut body = json!({ "query": query, "limit": limit });
    let mut found = Vec::new();
    loop {
        let page: Value = client.post("/search", body.clone()).await.ok();
        for note in page["results"].as_array().unwrap() {
            found.push((note["path"].as_str().unwrap().to_owned(), note["score"].as_f64().unwrap() as f32));
        }
        let Some(cursor) = page.get("cursor") else { return found };
        body["cursor"] = cursor.clone();
    }
}

/// The vault, published in steps, so that it has several segments.
async fn published(notes: &[Note], steps: usize) -> Deployment {
    let names: Vec<String> = notes.iter().enumerate().map(|(number, note)| note.name(number)).collect();
    let (vault, deployment) = (VaultBuilder::new(), Deployment::empty());
    let state = tempfile::tempdir().unwrap();
    for step in 0..steps {
        for (number, note) in notes.iter().enumerate().filter(|(number, _)| number % steps == step) {
            vault.write(&format!("{}.md", names[number]), note.text(&names).as_bytes());
        }
        crate::support::publish::publish(vault.root(), &deployment.mirror(), state.path()).await;
    }
    deployment
}

#[test]
fn the_index_scores_as_a_scorer_that_reads_everything() {
    let strategy = (prop::collection::vec(note(), 1..160), prop::collection::vec(words(5), 4), 1usize..4);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = TestRunner::new(random::cases(6)).run(&strategy, |(notes, queries, steps)| {
        let read = read(&notes);
        runtime.block_on(async {
            let client = published(&notes, steps).await.client();
            for query in queries {
                // A word that no note has is another test's.
                let query: Words =
                    query.into_iter().filter(|word| read.iter().any(|note| note.weights.contains_key(*word))).collect();
                if query.is_empty() {
                    continue;
                }
                let expected = exhaustive(&read, &query);
                for limit in [7, 1000] {
                    let found = pages(&client, &query.join(" "), limit).await;
                    assert_eq!(found.len(), expected.len(), "{query:?}");
                    for ((path, score), (other, expected)) in found.iter().zip(&expected) {
                        assert_eq!(path, other, "{query:?}: {score} {expected}");
                        assert!((score - expected).abs() < 2e-4, "{query:?} {path}: {score} {expected}");
                    }
                }
            }
        });
        Ok(())
    });
    result.unwrap();
}
