//! The most expensive single requests, over hostile notes and arguments.

use std::fs;
use std::time::{Duration, Instant};

use atlas_ops::Entry;
use atlas_testkit::hostile;
use atlas_tools::links::rewrite_link::RewriteLink;
use atlas_tools::notes::edit_note::EditNote;
use atlas_tools::notes::write_note::WriteNote;
use atlas_tools::tags::list_tags::ListTags;
use atlas_tools::tasks::list_tasks::ListTasks;
use serde_json::{Value, json};

use crate::table::{self, Table};
use crate::vault::Folder;
use crate::world::{World, call};

/// Size of each note: as much as a request may carry.
const BYTES: usize = 900_000;
const MAX_TIME: Duration = Duration::from_secs(1);
const MAX_MEGABYTES: u64 = 256;

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
        for (what, edits) in [("blocks", vec![block; 100]), ("headings", vec![heading; 100]), ("all", vec![all])] {
            let arguments = json!({ "path": path, "edits": edits });
            ask(format!("edits of {what} in {name}"), atlas_tools::entry::<EditNote>(), &arguments);
        }
    }
    let long = json!({ "from_target": "n1", "to_target": "x".repeat(1000) });
    ask("a rewriting of links".to_owned(), atlas_tools::entry::<RewriteLink>(), &long);
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
