//! Calls for benchmarks, drawn at random from a vault, with a fixed seed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use atlas_ops::Entry;
use atlas_tools::bridge::context_current::ContextCurrent;
use atlas_tools::bridge::find::Find;
use atlas_tools::bridge::query::Query;
use atlas_tools::graph::graph_centrality::GraphCentrality;
use atlas_tools::graph::graph_communities::GraphCommunities;
use atlas_tools::graph::graph_path_between::GraphPathBetween;
use atlas_tools::graph::suggest_links::SuggestLinks;
use atlas_tools::guardrails::atlas_pack::AtlasPack;
use atlas_tools::links::find_orphans::FindOrphans;
use atlas_tools::links::find_unresolved_links::FindUnresolvedLinks;
use atlas_tools::links::get_backlinks::GetBacklinks;
use atlas_tools::notes::list_notes::ListNotes;
use atlas_tools::notes::read_note::ReadNote;
use atlas_tools::properties::find_notes_by_property::FindNotesByProperty;
use atlas_tools::properties::list_properties::ListProperties;
use atlas_tools::queries::query_notes::QueryNotes;
use atlas_tools::search::Search;
use atlas_tools::tags::find_notes_by_tag::FindNotesByTag;
use atlas_tools::tags::list_tags::ListTags;
use atlas_tools::tasks::list_tasks::ListTasks;
use atlas_tools::vault_mcp::backlinks_search::BacklinksSearch;
use atlas_tools::vault_mcp::graph_neighbors::GraphNeighbors;
use serde_json::{Value, json};

use crate::random::{Random, words};
use crate::vault::Folder;

/// Calls of each kind.
const CALLS: usize = 100;
/// The number of most linked notes that calls are about.
const LINKED: usize = 10;

/// Calls of one kind.
#[derive(Clone)]
pub(crate) struct Calls {
    pub(crate) what: &'static str,
    pub(crate) operation: &'static Entry,
    pub(crate) arguments: Vec<Value>,
}

/// The calls drawn from one vault.
pub(crate) struct Drawn {
    pub(crate) calls: Vec<Calls>,
}

impl Drawn {
    pub(crate) fn of(folder: &Folder) -> Self {
        let texts: Vec<String> = folder
            .notes
            .iter()
            .map(|note| String::from_utf8_lossy(&fs::read(folder.root.path().join(note)).unwrap()).to_lowercase())
            .collect();
        let mut random = Random(20_261_121);
        let mut frequencies: BTreeMap<&str, usize> = BTreeMap::new();
        for text in &texts {
            let words: BTreeSet<&str> = words(text).collect();
            for word in words {
                *frequencies.entry(word).or_default() += 1;
            }
        }
        let with = |test: &dyn Fn(usize) -> bool| -> Vec<&str> {
            frequencies.iter().filter(|(_, notes)| test(**notes)).map(|(word, _)| *word).collect()
        };
        let rare = with(&|notes| notes <= 2);
        let common = with(&|notes| notes * 20 >= texts.len());
        let absent = |random: &mut Random| loop {
            let (a, b) = (random.of(&rare), random.of(&rare));
            let middle = |word: &str| word.char_indices().nth(word.chars().count() / 2).map_or(0, |(at, _)| at);
            let word = format!("{}{}", &a[..middle(a)], &b[middle(b)..]);
            if !texts.iter().any(|text| text.contains(&word)) {
                return word;
            }
        };
        let phrase = |random: &mut Random| loop {
            let text = random.of(&texts);
            let lines: Vec<&str> = text.lines().filter(|line| line.split_whitespace().nth(2).is_some()).collect();
            if lines.is_empty() {
                continue;
            }
            let words: Vec<&str> = random.of(&lines).split(' ').collect();
            let at = random.below(words.len() - 1);
            let phrase: String =
                words[at..].iter().take(2).copied().collect::<Vec<_>>().join(" ").chars().take(100).collect();
            if phrase.trim().chars().count() > 2 {
                return phrase;
            }
        };
        // As people ask: some words of one note, common ones among them.
        let question = |random: &mut Random| loop {
            let text = random.of(&texts);
            let all: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
            if all.len() > 5 {
                let count = 1 + random.below(6);
                return (0..count).map(|_| *random.of(&all)).collect::<Vec<_>>().join(" ");
            }
        };
        let pair = |random: &mut Random| random.of(&rare).chars().take(2).collect::<String>();
        let find = |term: String| json!({ "term": term });
        // The limit gives full results; the words were drawn in lower case.
        let search = |query: &str| json!({ "query": query, "mode": "literal", "case": "insensitive", "limit": 1000 });
        let mut draw = |what, operation, one: &dyn Fn(&mut Random) -> Value| {
            let arguments = (0..CALLS).map(|_| one(&mut random)).collect();
            Calls { what, operation, arguments }
        };
        let linked = most_linked(folder, &texts);
        // The most frequent tags in texts.
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for behind in texts.iter().flat_map(|text| text.split(" #").skip(1)) {
            if let Some(tag) = words(behind).next().filter(|word| behind.starts_with(word)) {
                *counts.entry(tag).or_default() += 1;
            }
        }
        let mut tags: Vec<(&str, usize)> = counts.into_iter().collect();
        tags.sort_by_key(|(_, count)| Reverse(*count));
        let tags: Vec<&str> = tags.iter().take(LINKED).map(|(tag, _)| *tag).collect();
        let query = |text: String| json!({ "query": text });
        let tables: Vec<Value> = tags
            .iter()
            .map(|tag| query(format!("TABLE aliases, file.mtime FROM #{tag} SORT file.mtime DESC LIMIT 20")))
            .collect();
        let tags: Vec<Value> = tags.iter().map(|tag| json!({ "tag": tag })).collect();
        let calls = vec![
            draw("find, rare word", atlas_tools::entry::<Find>(), &|random| find(random.of(&rare).to_string())),
            draw("find, common word", atlas_tools::entry::<Find>(), &|random| find(random.of(&common).to_string())),
            draw("find, absent word", atlas_tools::entry::<Find>(), &|random| find(absent(random))),
            draw("find, two words", atlas_tools::entry::<Find>(), &|random| find(phrase(random))),
            draw("find, two letters", atlas_tools::entry::<Find>(), &|random| find(pair(random))),
            draw("search, rare word", atlas_tools::entry::<Search>(), &|random| search(random.of::<&str>(&rare))),
            draw(
                "context",
                atlas_tools::entry::<ContextCurrent>(),
                &|random| json!({ "include": [random.of(&folder.notes)] }),
            ),
            draw(
                "query",
                atlas_tools::entry::<Query>(),
                &|random| json!({ "question": format!("Where is \"{}\" defined?", random.of(&rare)) }),
            ),
            draw("read", atlas_tools::entry::<ReadNote>(), &|random| json!({ "path": random.of(&folder.notes) })),
            draw(
                "list",
                atlas_tools::entry::<ListNotes>(),
                &|random| json!({ "prefix": random.of(&folder.notes).rsplit_once('/').map_or("", |(folder, _)| folder) }),
            ),
            draw(
                "pack",
                atlas_tools::entry::<AtlasPack>(),
                &|random| json!({ "task": format!("{} {} {}", random.of(&common), random.of(&common), random.of(&rare)) }),
            ),
            of_linked("backlinks", atlas_tools::entry::<BacklinksSearch>(), &linked, &json!({})),
            of_linked(
                "backlinks, paths",
                atlas_tools::entry::<BacklinksSearch>(),
                &linked,
                &json!({ "paths_only": true }),
            ),
            of_linked("neighbors", atlas_tools::entry::<GraphNeighbors>(), &linked, &json!({ "depth": 2 })),
            of_linked("get_backlinks", atlas_tools::entry::<GetBacklinks>(), &linked, &json!({})),
            draw(
                "suggest links",
                atlas_tools::entry::<SuggestLinks>(),
                &|random| json!({ "path": random.of(&folder.notes) }),
            ),
            draw(
                "path between",
                atlas_tools::entry::<GraphPathBetween>(),
                &|random| json!({ "from": random.of(&folder.notes), "to": random.of(&folder.notes) }),
            ),
            draw(
                "search, one to six words",
                atlas_tools::entry::<Search>(),
                &|random| json!({ "query": question(random), "limit": 10 }),
            ),
            always(
                "centrality",
                atlas_tools::entry::<GraphCentrality>(),
                &[json!({}), json!({ "metric": "betweenness" })],
            ),
            always("communities", atlas_tools::entry::<GraphCommunities>(), &[json!({})]),
            always("tags", atlas_tools::entry::<ListTags>(), &[json!({})]),
            always("notes by tag", atlas_tools::entry::<FindNotesByTag>(), &tags),
            always("properties", atlas_tools::entry::<ListProperties>(), &[json!({})]),
            always(
                "notes by property",
                atlas_tools::entry::<FindNotesByProperty>(),
                &["exists", "absent"].map(|op| json!({ "filter": [{ "key": "tags", "op": op }] })),
            ),
            always("table over a tag", atlas_tools::entry::<QueryNotes>(), &tables),
            always(
                "table over properties",
                atlas_tools::entry::<QueryNotes>(),
                &[
                    query("TABLE publish WHERE publish = true SORT file.name LIMIT 50".to_owned()),
                    query("TABLE aliases WHERE contains(aliases, \"a\") LIMIT 50".to_owned()),
                ],
            ),
            always(
                "tasks of a query",
                atlas_tools::entry::<QueryNotes>(),
                &[query("TASK LIMIT 20".to_owned()), query("TASK WHERE !completed LIMIT 20".to_owned())],
            ),
            always(
                "tasks",
                atlas_tools::entry::<ListTasks>(),
                &[
                    json!({ "status": ["todo"] }),
                    json!({ "due": { "after": "2020-01-01" } }),
                    json!({ "tags": ["task"] }),
                ],
            ),
            always("orphans", atlas_tools::entry::<FindOrphans>(), &[json!({})]),
            always(
                "unresolved links",
                atlas_tools::entry::<FindUnresolvedLinks>(),
                &[json!({}), json!({ "group_by": "source" })],
            ),
        ];
        Self { calls }
    }
}

/// Calls that are the same for every vault.
fn always(what: &'static str, operation: &'static Entry, arguments: &[Value]) -> Calls {
    Calls { what, operation, arguments: arguments.to_vec() }
}

/// Calls about each of the most linked notes.
fn of_linked(what: &'static str, operation: &'static Entry, linked: &[&str], more: &Value) -> Calls {
    let about = |path: &&str| {
        let mut arguments = more.clone();
        arguments["path"] = (*path).into();
        arguments
    };
    Calls { what, operation, arguments: linked.iter().map(about).collect() }
}

/// The notes whose names occur in most wikilinks, without resolving them.
fn most_linked<'f>(folder: &'f Folder, texts: &[String]) -> Vec<&'f str> {
    let mut links: BTreeMap<&str, usize> = BTreeMap::new();
    for link in texts.iter().flat_map(|text| text.split("[[").skip(1)) {
        let target = link.split(['|', '#', ']', '\n']).next().unwrap_or_default();
        *links.entry(target.rsplit('/').next().unwrap_or(target)).or_default() += 1;
    }
    let count = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md").to_lowercase();
        Reverse(links.get(name.as_str()).copied().unwrap_or(0))
    };
    let mut notes: Vec<&str> = folder.notes.iter().map(String::as_str).collect();
    notes.sort_by_key(count);
    notes.truncate(LINKED);
    notes
}
