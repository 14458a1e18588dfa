//! Arbitrary arguments of every operation, on the demo vault: an answer, or an error that says what to change. The
//! results of `find` equal those of a plain scan. The input is the operation, then its arguments as JSON, or a text to
//! search for.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use atlas_ops::{Atlas, Call, Code, Vault, dispatch};
use atlas_tools::operations;
use atlas_vault::{VaultPath, fold};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::published::{self, Change};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../vaults/demo");

/// The demo vault, published.
struct World {
    runtime: Runtime,
    atlas: Atlas,
    notes: BTreeMap<String, String>,
}

static WORLD: LazyLock<Mutex<World>> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let notes = demo();
    let mirror = published::mirror();
    runtime.block_on(published::commit(&mirror, Change { notes: texts(&notes), replaced: Vec::new() }));
    let atlas = Atlas::new([Vault::new("main", mirror, Default::default())], Default::default());
    Mutex::new(World { runtime, atlas, notes })
});

/// The notes of the demo vault.
pub(crate) fn demo() -> BTreeMap<String, String> {
    let mut notes = BTreeMap::new();
    let mut folders = vec![DEMO.into()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let name = path.strip_prefix(Path::new(DEMO)).unwrap().to_str().unwrap();
                notes.insert(name.to_owned(), std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    notes
}

/// Notes as a segment has them.
pub(crate) fn texts(notes: &BTreeMap<String, String>) -> BTreeMap<VaultPath, &[u8]> {
    notes.iter().map(|(path, text)| (VaultPath::parse(path).unwrap(), text.as_bytes())).collect()
}

/// Calls an operation.
pub fn check(data: &[u8]) {
    let Some((choice, rest)) = data.split_first() else { return };
    let operation = operations()[usize::from(choice & 0x7f) % operations().len()];
    let text = String::from_utf8_lossy(rest);
    let arguments =
        if choice & 0x80 == 0 { plain(operation.info.name, &text) } else { serde_json::from_str(&text).ok() };
    let Some(arguments) = arguments else { return };
    let world = WORLD.lock().unwrap();
    let call = Call::new(operation, arguments.clone(), atlas_ops::Caller::trusted("fuzz"), || Timestamp::UNIX_EPOCH);
    match world.runtime.block_on(dispatch(&world.atlas, call)) {
        Ok(answer) if operation.info.name == "find" => {
            let most = arguments["max_results"].as_f64().unwrap_or(10.0);
            found(&world.notes, &answer.value, most as usize);
        }
        Ok(answer) if operation.info.name == "search" && arguments["mode"] == "literal" => {
            looked_through(&world.notes, &arguments, &answer.value);
        }
        Ok(_) => {}
        Err(error) => {
            assert!(!matches!(error.code, Code::Internal | Code::Unavailable), "{arguments}: {error:?}");
            assert!(error.internal.is_none() && !error.message.is_empty() && !error.reason().is_empty(), "{error:?}");
        }
    }
}

/// Arguments that search for `text`.
fn plain(operation: &str, text: &str) -> Option<Value> {
    Some(match operation {
        "find" => json!({ "term": text, "max_results": 50 }),
        "query" => json!({ "question": text }),
        "context_current" => json!({ "include": [text] }),
        "search" => {
            let mode = ["text", "regex", "literal"][text.len() % 3];
            json!({ "query": text, "mode": mode, "limit": 50, "path_filter": "*.md" })
        }
        "read_note" => json!({ "path": text }),
        "list_notes" => json!({ "prefix": text, "limit": 7 }),
        _ => return None,
    })
}

/// Checks the results of `search` for a literal against a scan of all notes.
fn looked_through(notes: &BTreeMap<String, String>, arguments: &Value, answer: &Value) {
    let is_plain = ["case", "cursor", "context_lines"].iter().all(|name| arguments.get(name).is_none());
    if !is_plain || arguments["path_filter"] != "*.md" {
        return;
    }
    let query = arguments["query"].as_str().unwrap();
    let most = arguments["limit"].as_f64().unwrap_or(50.0) as usize;
    let lines =
        notes.iter().flat_map(|(path, text)| (1..).zip(text.lines()).map(move |(number, line)| (path, number, line)));
    let expected: Vec<(&str, u64)> = lines
        .filter(|(_, _, line)| line.contains(query))
        .map(|(path, number, _)| (path.as_str(), number))
        .take(most)
        .collect();
    let results = answer["results"].as_array().unwrap().iter();
    let found: Vec<(&str, u64)> =
        results.map(|line| (line["path"].as_str().unwrap(), line["line"].as_u64().unwrap())).collect();
    assert_eq!(found, expected, "{query:?}");
}

/// Checks the results of `find` against a scan of all notes.
fn found(notes: &BTreeMap<String, String>, answer: &Value, most: usize) {
    let term = fold(answer["term"].as_str().unwrap());
    let results = answer["results"].as_array().unwrap();
    for result in results {
        let path = result["path"].as_str().unwrap();
        let holds = |text: &str| fold(text).contains(&term);
        match result["quote"].as_str() {
            Some(quote) => assert!(
                notes[path].replace("\r\n", "\n").contains(quote) && holds(quote),
                "{term:?}: {path}: {quote:?}"
            ),
            None => assert!(holds(path), "{path}"),
        }
    }
    let matching = notes.iter().filter(|(path, text)| {
        let name = path.rsplit('/').next().unwrap();
        path.as_str() != "vault/system/search-notes.md"
            && (path.starts_with("vault/") || path.starts_with("agent/"))
            && (fold(name).contains(&term) || !term.contains('\n') && fold(text).contains(&term))
    });
    let matching: Vec<_> = matching.map(|(path, _)| path).collect();
    assert_eq!(results.len(), matching.len().min(most), "{term:?}: {results:?} of {matching:?}");
}
