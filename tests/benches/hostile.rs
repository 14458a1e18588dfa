//! The most expensive single requests, over hostile notes and arguments.

use std::fs;
use std::time::{Duration, Instant};

use atlas_ops::Entry;
use atlas_testkit::hostile;
use atlas_tools::graph::find_link_cycles::FindLinkCycles;
use atlas_tools::graph::graph_centrality::GraphCentrality;
use atlas_tools::graph::graph_communities::GraphCommunities;
use atlas_tools::graph::suggest_links::SuggestLinks;
use atlas_tools::graph::vault_health_score::VaultHealthScore;
use atlas_tools::links::find_orphans::FindOrphans;
use atlas_tools::links::find_unresolved_links::FindUnresolvedLinks;
use atlas_tools::links::get_backlinks::GetBacklinks;
use atlas_tools::links::get_outgoing_links::GetOutgoingLinks;
use atlas_tools::links::rewrite_link::RewriteLink;
use atlas_tools::notes::edit_note::EditNote;
use atlas_tools::notes::write_note::WriteNote;
use atlas_tools::queries::eval_dataview_field::EvalDataviewField;
use atlas_tools::queries::query_notes::QueryNotes;
use atlas_tools::queries::search_dql::SearchDql;
use atlas_tools::tags::list_tags::ListTags;
use atlas_tools::tasks::list_tasks::ListTasks;
use atlas_tools::tasks::tasks_filter::TasksFilter;
use serde_json::{Value, json};

use crate::table::{self, Table};
use crate::vault::Folder;
use crate::world::{World, call};

/// Size of each note: as much as a request may carry.
const BYTES: usize = 900_000;
const MAX_TIME: Duration = Duration::from_secs(1);
const MAX_MEGABYTES: u64 = 256;

const EXPRESSIONS: [&str; 4] =
    ["length(file.lists) + length(file.tasks)", "file.lists", "sort(file.lists)", "string(file.outlinks)"];
const QUERIES: [&str; 6] = [
    "TASK",
    "TASK GROUP BY text",
    "LIST file.lists",
    "TABLE file.lists, file.tasks, file.outlinks SORT file.lists",
    "LIST length(file.inlinks) GROUP BY file.outlinks",
    "LIST FLATTEN file.lists AS item",
];

/// The cost of a request, and its name.
type Took<T> = (T, String);

pub(crate) fn measure(table: &mut Table) {
    let notes = hostile::notes(BYTES);
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = |name: &str| format!("{name}.md");
    for (name, text) in &notes {
        fs::write(root.path().join(path(name)), text).unwrap();
    }
    let folder = Folder { name: "hostile", root, notes: notes.iter().map(|(name, _)| path(name)).collect() };
    let world = World::publish(&folder);
    let mut time: Took<Duration> = (Duration::ZERO, String::new());
    let mut memory: Took<u64> = (0, String::new());
    let mut ask = |what: String, operation: &'static Entry, arguments: &Value| {
        let before = forget_peak();
        let begun = Instant::now();
        // A refusal is an answer too.
        drop(world.runtime.block_on(call(&world.warm, operation, arguments)));
        time = (begun.elapsed(), what.clone()).max(time.clone());
        memory = (peak().saturating_sub(before) >> 10, what).max(memory.clone());
    };
    for (name, text) in &notes {
        let path = path(name);
        ask(
            format!("a write of {name}"),
            atlas_tools::entry::<WriteNote>(),
            &json!({ "path": format!("new/{path}"), "content": text }),
        );
        let block = json!({ "op": "insert_after", "target": { "block": "b1" }, "text": "x" });
        let heading = json!({ "op": "append_to_section", "target": { "heading": ["H1"] }, "text": "x" });
        let count = text.matches('a').count();
        let all = json!({ "op": "replace_text", "find": "a", "replace": "a".repeat(100), "count": count.max(2) });
        let lines = json!({ "op": "insert_after", "target": { "lines": [1, 1] }, "text": "x" });
        let property = json!({ "op": "set_property", "name": "x", "value": 1 });
        let of_lists = [("blocks", vec![block; 100]), ("headings", vec![heading; 100]), ("lines", vec![lines; 100])];
        let others = [("properties", vec![property; 100]), ("all", vec![all])];
        for (what, edits) in of_lists.into_iter().chain(others) {
            let arguments = json!({ "path": path, "edits": edits });
            ask(format!("edits of {what} in {name}"), atlas_tools::entry::<EditNote>(), &arguments);
        }
        for (what, operation) in [
            ("backlinks", atlas_tools::entry::<GetBacklinks>()),
            ("links", atlas_tools::entry::<GetOutgoingLinks>()),
            ("suggested links", atlas_tools::entry::<SuggestLinks>()),
        ] {
            ask(format!("{what} of {name}"), operation, &json!({ "path": path }));
        }
        for expression in EXPRESSIONS {
            let arguments = json!({ "path": path, "expression": expression });
            ask(format!("{expression} of {name}"), atlas_tools::entry::<EvalDataviewField>(), &arguments);
        }
    }
    let long = json!({ "from_target": "n1", "to_target": "x".repeat(1000) });
    ask("a rewriting of links".to_owned(), atlas_tools::entry::<RewriteLink>(), &long);
    for (what, operation) in [
        ("health", atlas_tools::entry::<VaultHealthScore>()),
        ("cycles", atlas_tools::entry::<FindLinkCycles>()),
        ("centrality", atlas_tools::entry::<GraphCentrality>()),
        ("communities", atlas_tools::entry::<GraphCommunities>()),
        ("orphans", atlas_tools::entry::<FindOrphans>()),
        ("unresolved links", atlas_tools::entry::<FindUnresolvedLinks>()),
        ("filtered tasks", atlas_tools::entry::<TasksFilter>()),
    ] {
        ask(format!("the {what}"), operation, &json!({}));
    }
    for query in QUERIES {
        ask(format!("rows of {query}"), atlas_tools::entry::<SearchDql>(), &json!({ "dql": query, "limit": 1000 }));
        ask(format!("a table of {query}"), atlas_tools::entry::<QueryNotes>(), &json!({ "query": query }));
    }
    ask("the tasks".to_owned(), atlas_tools::entry::<ListTasks>(), &json!({}));
    ask("the tags".to_owned(), atlas_tools::entry::<ListTags>(), &json!({}));
    let result = format!("time {} ({}); memory {} MB ({})", table::duration(time.0), time.1, memory.0, memory.1);
    let target = format!("{}, {MAX_MEGABYTES} MB", table::duration(MAX_TIME));
    let holds = time.0 <= MAX_TIME && memory.0 <= MAX_MEGABYTES;
    table.row("one request at most, over hostile notes", folder.name, &result, &target, Some(holds));
}

/// Resets the process's peak memory; returns its current memory, in kilobytes.
fn forget_peak() -> u64 {
    // Only on Linux; elsewhere no memory is reported.
    drop(fs::write("/proc/self/clear_refs", "5"));
    peak()
}

fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
